//! The ends of pipes and sockets that wake nobody for nothing.
//!
//! A socket of tokio's, and the writing end of a pipe, wake their thread whenever the other end has read something, since
//! that makes room. In a call that passes two processes this is every second time that they wake. These ask for room only
//! once there was none.

use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncWrite, BufReader};
use tokio::net::unix::pipe;

/// The bytes that are read at once.
const BUFFER: usize = 64 * 1024;

/// The reading end of a socket.
pub(crate) type SocketReader = BufReader<pipe::Receiver>;

/// The reading end of a socket, and the socket to write to, which doesn't block.
///
/// # Errors
/// It can't be used.
pub(crate) fn split(socket: tokio::net::UnixStream) -> io::Result<(SocketReader, UnixStream)> {
    let writer = socket.into_std()?;
    // A stream is read as a pipe is, and a pipe's end hears of nothing but what it can read.
    let reader = pipe::Receiver::from_owned_fd_unchecked(writer.try_clone()?.into())?;
    Ok((BufReader::with_capacity(BUFFER, reader), writer))
}

/// Waits until there is room to write.
///
/// # Errors
/// It can't be waited for.
pub(crate) async fn room(socket: &UnixStream) -> io::Result<()> {
    let waiting = pipe::Sender::from_owned_fd_unchecked(socket.try_clone()?.into())?;
    waiting.writable().await
}

/// The writing end of a pipe.
pub(crate) struct PipeWriter {
    pipe: std::fs::File,
    /// Waits for room, and writes what had none.
    waiting: Option<pipe::Sender>,
}

impl PipeWriter {
    /// # Errors
    /// It is no pipe that can be written to.
    pub(crate) fn new(pipe: OwnedFd) -> io::Result<Self> {
        let pipe = pipe::Sender::from_owned_fd(pipe)?.into_nonblocking_fd()?;
        Ok(Self {
            pipe: pipe.into(),
            waiting: None,
        })
    }
}

impl AsyncWrite for PipeWriter {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut waiting = match self.waiting.take() {
            Some(waiting) => waiting,
            None => match self.pipe.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    pipe::Sender::from_owned_fd(self.pipe.try_clone()?.into())?
                }
                written => return Poll::Ready(written),
            },
        };
        let written = Pin::new(&mut waiting).poll_write(context, bytes);
        if written.is_pending() {
            self.waiting = Some(waiting);
        }
        written
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::unix::pipe;

    use super::PipeWriter;

    #[tokio::test]
    async fn pipe_takes_more_than_it_has_room_for() {
        let (sender, mut receiver) = pipe::pipe().unwrap();
        let sender: OwnedFd = sender.into_blocking_fd().unwrap();
        let mut writer = PipeWriter::new(sender).unwrap();
        let sent: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
        let writing = async {
            writer.write_all(&sent).await.unwrap();
            assert!(writer.waiting.is_none());
            drop(writer);
        };
        let mut received = Vec::new();
        let reading = receiver.read_to_end(&mut received);
        let ((), read) = tokio::join!(writing, reading);
        assert_eq!(read.unwrap(), sent.len());
        assert_eq!(received, sent);
    }

    #[tokio::test]
    async fn pipe_without_a_reader_is_an_error() {
        let (sender, receiver) = pipe::pipe().unwrap();
        let mut writer = PipeWriter::new(sender.into_blocking_fd().unwrap()).unwrap();
        let sent = vec![0; 1_000_000];
        let writing = writer.write_all(&sent);
        let closing = async {
            tokio::task::yield_now().await;
            drop(receiver);
        };
        let (written, ()) = tokio::join!(writing, closing);
        assert_eq!(written.unwrap_err().kind(), std::io::ErrorKind::BrokenPipe);
    }
}
