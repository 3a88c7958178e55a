//! The end of the client's input, seen by the server itself.
//!
//! `rmcp` waits five seconds after it for everything that runs; a subscription runs for ever, and a
//! client that closed its end and waits for the server's would wait in vain.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

/// How long after the end of the input, or the last sign of life since, an answer is waited for.
pub(crate) const GRACE: Duration = Duration::from_millis(300);

/// What is known of the session's end.
#[derive(Debug, Default)]
struct State {
    /// Nothing more comes from the client.
    ended: bool,
    /// How often something went on since.
    signs: u64,
}

/// The end of the input, which many wait for.
#[derive(Debug, Clone, Default)]
pub(crate) struct End(Arc<watch::Sender<State>>);

impl End {
    /// Tells all who wait that nothing more comes.
    pub(crate) fn reach(&self) {
        self.0
            .send_if_modified(|state| !std::mem::replace(&mut state.ended, true));
    }

    /// Notes that a call is done, or that the client took a part of an answer: those that wait
    /// behind it have their turn.
    pub(crate) fn answered(&self) {
        self.0.send_if_modified(|state| {
            state.signs = state.signs.wrapping_add(1);
            state.ended
        });
    }

    /// Waits for the end of the input.
    pub(crate) async fn reached(&self) {
        // It fails only without a sender, which is this very one.
        let _ = self.0.subscribe().wait_for(|state| state.ended).await;
    }

    /// Waits until the input has ended and nothing was answered for a short while: what runs longer
    /// answers somebody who left.
    pub(crate) async fn quiet(&self) {
        let mut state = self.0.subscribe();
        let _ = state.wait_for(|state| state.ended).await;
        while let Ok(Ok(())) = tokio::time::timeout(GRACE, state.changed()).await {}
    }
}

#[cfg(test)]
mod tests {
    use super::{End, GRACE};

    #[tokio::test(start_paused = true)]
    async fn each_answer_gives_those_behind_it_time() {
        let end = End::default();
        end.answered();
        end.reach();
        end.reached().await;
        let quiet = end.quiet();
        tokio::pin!(quiet);
        for _ in 0..5 {
            let early = tokio::time::timeout(GRACE * 2 / 3, &mut quiet).await;
            assert!(early.is_err());
            end.answered();
        }
        quiet.await;
    }
}
