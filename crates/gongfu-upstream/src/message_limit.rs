//! A limit for messages of programs: one that is too long ends the session, where it would otherwise be dropped and a
//! call would wait for it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// The longest message, in bytes. A power of two, at which no buffer that grows by doubling has room left over.
pub(crate) const MAX_MESSAGE: usize = 32 * 1024 * 1024;

/// Reads what a program writes, until a message is too long.
pub(crate) struct MessageLimit<R> {
    reader: R,
    /// The bytes of the message that is being read.
    length: usize,
    limit: usize,
    is_exceeded: Arc<AtomicBool>,
}

impl<R> MessageLimit<R> {
    /// A limit of so many bytes, and the sign that it was exceeded.
    pub(crate) fn new(reader: R, limit: usize) -> (Self, Arc<AtomicBool>) {
        let is_exceeded = Arc::new(AtomicBool::new(false));
        let limited = Self {
            reader,
            length: 0,
            limit,
            is_exceeded: Arc::clone(&is_exceeded),
        };
        (limited, is_exceeded)
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for MessageLimit<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.reader).poll_read(context, buffer))?;
        let read = buffer.filled().get(before..).unwrap_or_default();
        let last = read.iter().rposition(|byte| *byte == b'\n');
        self.length = match last {
            Some(at) => read.len() - at - 1,
            None => self.length + read.len(),
        };
        if self.length > self.limit {
            self.is_exceeded.store(true, Ordering::Release);
            buffer.set_filled(before);
            return Poll::Ready(Err(io::Error::other("a message is too long")));
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use tokio::io::AsyncReadExt as _;

    use super::MessageLimit;

    #[tokio::test]
    async fn only_a_message_beyond_the_limit_ends_the_reading() {
        let text = b"four\nmore\nfour\n".repeat(100);
        let (mut good, is_exceeded) = MessageLimit::new(&text[..], 5);
        let mut read = Vec::new();
        good.read_to_end(&mut read).await.unwrap();
        assert_eq!((read, is_exceeded.load(Ordering::Acquire)), (text, false));
        // It comes in pieces, and no piece alone is too long.
        let pieces = (&b"four\nsix"[..]).chain(&b"six"[..]);
        let (mut long, is_exceeded) = MessageLimit::new(pieces, 5);
        assert!(long.read_to_end(&mut Vec::new()).await.is_err());
        assert!(is_exceeded.load(Ordering::Acquire));
    }
}
