//! Writes messages to a socket: at once where it has room, which takes no other task, else in the background.

use std::io::{self, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::stream;

/// The writing end of a line between a client and the process.
pub(super) struct Writer {
    socket: Socket,
    /// Writes what had no room; ends with the writer.
    _background: JoinSet<()>,
}

#[derive(Clone)]
struct Socket(Arc<State>);

struct State {
    stream: UnixStream,
    rest: Mutex<Rest>,
    /// Tells that there is a rest.
    left: Notify,
    /// Tells that there is no rest any more.
    written: Notify,
}

/// The bytes that had no room.
#[derive(Default)]
struct Rest {
    bytes: Vec<u8>,
    /// True once nobody reads the other end.
    is_broken: bool,
}

impl Writer {
    /// A writer to a stream that doesn't block.
    pub(super) fn new(stream: UnixStream) -> Self {
        let socket = Socket(Arc::new(State {
            stream,
            rest: Mutex::default(),
            left: Notify::new(),
            written: Notify::new(),
        }));
        let mut background = JoinSet::new();
        background.spawn(write_rest(socket.clone()));
        Self {
            socket,
            _background: background,
        }
    }

    /// Sends a message. Once nobody reads the other end, messages are dropped: the reader of this end tells of that.
    pub(super) fn send(&self, message: &[u8]) {
        let mut rest = self.socket.rest();
        if rest.bytes.is_empty() && !rest.is_broken {
            let written = self.socket.try_write(message, &mut rest);
            rest.bytes
                .extend_from_slice(message.get(written..).unwrap_or_default());
        } else if !rest.is_broken {
            rest.bytes.extend_from_slice(message);
        }
        let is_left = !rest.bytes.is_empty();
        drop(rest);
        if is_left {
            self.socket.0.left.notify_one();
        }
    }

    /// Waits until all messages are on their way: they reach the other end even if this process ends.
    pub(super) async fn written(&self) {
        loop {
            let written = self.socket.0.written.notified();
            if self.socket.rest().bytes.is_empty() {
                return;
            }
            written.await;
        }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // The reading end may outlive it. Where this fails, the other end is closed already.
        let _ = self.stream.shutdown(Shutdown::Write);
    }
}

impl Socket {
    fn rest(&self) -> MutexGuard<'_, Rest> {
        self.0.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes as much as there is room for; answers how much.
    fn try_write(&self, bytes: &[u8], rest: &mut Rest) -> usize {
        match (&self.0.stream).write(bytes) {
            Ok(written) => written,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(_) => {
                rest.is_broken = true;
                bytes.len()
            }
        }
    }
}

async fn write_rest(socket: Socket) {
    loop {
        socket.0.left.notified().await;
        while !socket.rest().bytes.is_empty() {
            let room = stream::room(&socket.0.stream).await;
            let mut rest = socket.rest();
            if room.is_err() {
                rest.bytes.clear();
                rest.is_broken = true;
            }
            let bytes = std::mem::take(&mut rest.bytes);
            let written = socket.try_write(&bytes, &mut rest);
            rest.bytes = bytes;
            rest.bytes.drain(..written);
        }
        socket.0.written.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;
    use tokio::net::UnixStream;

    use super::Writer;

    fn writer(stream: UnixStream) -> Writer {
        Writer::new(stream.into_std().unwrap())
    }

    #[tokio::test]
    async fn messages_arrive_whole_and_in_order_however_slowly_they_are_read() {
        let (one, mut other) = UnixStream::pair().unwrap();
        let writer = writer(one);
        let mut expected = Vec::new();
        for number in 0..200_u32 {
            let message = vec![u8::try_from(number).unwrap(); 10_000];
            writer.send(&message);
            expected.extend(message);
        }
        let reading = async {
            let mut read = vec![0; expected.len()];
            other.read_exact(&mut read).await.unwrap();
            read
        };
        let ((), read) = tokio::join!(writer.written(), reading);
        assert_eq!(read, expected);
    }

    #[tokio::test]
    async fn nobody_waits_for_an_end_that_is_closed() {
        let (one, other) = UnixStream::pair().unwrap();
        let writer = writer(one);
        writer.send(&vec![0; 10_000_000]);
        drop(other);
        writer.written().await;
        writer.send(b"more");
        writer.written().await;
    }

    #[tokio::test]
    async fn end_of_a_writer_is_seen_while_the_other_half_is_open() {
        let (one, mut other) = UnixStream::pair().unwrap();
        let (_reader, one) = crate::stream::split(one).unwrap();
        drop(Writer::new(one));
        assert_eq!(other.read(&mut [0]).await.unwrap(), 0);
    }
}
