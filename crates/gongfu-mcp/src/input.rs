//! The end of the client's input, seen by the server itself.
//!
//! `rmcp` waits five seconds after it for everything that runs; a subscription runs for ever, and a
//! client that closed its end and waits for the server's would wait in vain.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;

/// How long after the end of the input, or the last answer since, an answer is waited for.
const GRACE: Duration = Duration::from_millis(300);

/// What is known of the session's end.
#[derive(Debug, Default)]
struct State {
    /// Nothing more comes from the client.
    ended: bool,
    /// How many calls were answered.
    answered: u64,
}

/// The end of the input, which many wait for.
#[derive(Debug, Clone, Default)]
pub(crate) struct End(Arc<watch::Sender<State>>);

impl End {
    /// Tells all who wait that nothing more comes.
    fn reach(&self) {
        self.0.send_modify(|state| state.ended = true);
    }

    /// Notes that a call is done: those that wait behind it have their turn.
    pub(crate) fn answered(&self) {
        self.0
            .send_modify(|state| state.answered = state.answered.wrapping_add(1));
    }

    /// Waits for the end of the input.
    pub(crate) async fn reached(&self) {
        // It fails only without a sender, which is this very one.
        let _ = self.0.subscribe().wait_for(|state| state.ended).await;
    }

    /// Waits until the input has ended and no call was answered for a short while: what runs longer
    /// answers somebody who left.
    pub(crate) async fn quiet(&self) {
        let mut state = self.0.subscribe();
        let _ = state.wait_for(|state| state.ended).await;
        while let Ok(Ok(())) = tokio::time::timeout(GRACE, state.changed()).await {}
    }
}

/// Input that tells of its end.
pub(crate) struct Input<R> {
    from: R,
    end: End,
}

impl<R> Input<R> {
    /// Input that tells `end` of its own.
    pub(crate) fn new(from: R, end: End) -> Self {
        Self { from, end }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Input<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.from).poll_read(context, buffer);
        let ended = match &read {
            Poll::Ready(Ok(())) => buffer.filled().len() == before && buffer.remaining() > 0,
            Poll::Ready(Err(error)) => error.kind() != io::ErrorKind::Interrupted,
            Poll::Pending => false,
        };
        if ended {
            self.end.reach();
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::{End, Input};

    #[tokio::test]
    async fn the_end_is_told_once_all_is_read() {
        let end = End::default();
        let mut input = Input::new(&b"abc"[..], end.clone());
        let mut some = [0; 3];
        input.read_exact(&mut some).await.unwrap();
        assert!(!end.0.borrow().ended);
        assert_eq!(input.read(&mut some).await.unwrap(), 0);
        end.reached().await;
        end.quiet().await;
    }
}
