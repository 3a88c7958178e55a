//! The turn of a call among those that its server does at once.

use std::sync::{Arc, Mutex, PoisonError};

use gongfu_core::port::Asker;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Link;

/// The turn of a call, which it gives up while a person is asked.
pub(super) struct Turn {
    calls: Arc<Semaphore>,
    permit: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Turn {
    /// Waits for a turn.
    pub(super) async fn new(calls: &Arc<Semaphore>) -> Arc<Self> {
        let turn = Self {
            calls: Arc::clone(calls),
            permit: Mutex::default(),
        };
        turn.take().await;
        Arc::new(turn)
    }

    fn set(&self, permit: Option<OwnedSemaphorePermit>) {
        *self.permit.lock().unwrap_or_else(PoisonError::into_inner) = permit;
    }

    async fn take(&self) {
        // It is never closed, so there is always a permit in the end.
        self.set(Arc::clone(&self.calls).acquire_owned().await.ok());
    }
}

impl Link {
    /// The same asker: it lets other calls have the turn of this one, and an answer goes only to a server that is
    /// approved still.
    pub(super) fn asker(&self, ask: Asker, turn: &Arc<Turn>) -> Asker {
        let (link, turn) = (self.this.clone(), Arc::clone(turn));
        Arc::new(move |question| {
            let (link, turn, asking) = (link.clone(), Arc::clone(&turn), ask(question));
            Box::pin(async move {
                turn.set(None);
                let answer = asking.await;
                turn.take().await;
                let Some(link) = link.upgrade() else {
                    return Ok(None);
                };
                link.touch();
                let pin = link.upstream.recent_pin().await?;
                link.upstream.covered(&pin)?;
                answer
            })
        })
    }

    /// Returns true while a call or a request goes on.
    pub(super) fn is_busy(&self) -> bool {
        // Each holds the semaphore, also while it waits.
        Arc::strong_count(&self.calls) > 1
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt as _;
    use tokio::sync::Semaphore;

    use super::Turn;

    #[tokio::test]
    async fn call_whose_person_is_asked_lets_another_one_have_its_turn() {
        let calls = Arc::new(Semaphore::new(1));
        let first = Turn::new(&calls).await;
        assert!(Turn::new(&calls).now_or_never().is_none());
        first.set(None);
        let second = Turn::new(&calls).now_or_never().unwrap();
        assert!(first.take().now_or_never().is_none());
        drop(second);
        first.take().now_or_never().unwrap();
        drop(first);
        assert_eq!(Arc::strong_count(&calls), 1);
    }
}
