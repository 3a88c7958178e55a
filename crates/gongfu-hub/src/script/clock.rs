//! The clock of a script: it stands while a call of the script waits for a person.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The clock.
#[derive(Debug, Default)]
pub(super) struct Clock(Mutex<Pauses>);

#[derive(Debug, Default)]
struct Pauses {
    /// The calls that wait.
    waiting: usize,
    /// Since when at least one waits.
    since: Option<Instant>,
    /// The pauses before.
    before: Duration,
}

impl Clock {
    /// Stops it until the answer is dropped.
    pub(super) fn pause(self: &Arc<Self>) -> Pause {
        let mut pauses = self.lock();
        pauses.waiting += 1;
        pauses.since.get_or_insert_with(Instant::now);
        drop(pauses);
        Pause(Arc::clone(self))
    }

    /// The time that it stood so far.
    pub(super) fn paused(&self) -> Duration {
        let pauses = self.lock();
        let now = pauses.since.map(|since| since.elapsed());
        pauses.before + now.unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Pauses> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that waits.
pub(super) struct Pause(Arc<Clock>);

impl Drop for Pause {
    fn drop(&mut self) {
        let mut pauses = self.0.lock();
        pauses.waiting -= 1;
        if pauses.waiting == 0
            && let Some(since) = pauses.since.take()
        {
            pauses.before += since.elapsed();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::time::advance;

    use super::Clock;

    #[tokio::test(start_paused = true)]
    async fn clock_stands_while_any_call_waits() {
        let clock = Arc::new(Clock::default());
        let second = Duration::from_secs(1);
        advance(second).await;
        assert_eq!(clock.paused(), Duration::ZERO);
        let one = clock.pause();
        advance(second).await;
        let two = clock.pause();
        drop(one);
        advance(second).await;
        assert_eq!(clock.paused(), second * 2);
        drop(two);
        advance(second).await;
        assert_eq!(clock.paused(), second * 2);
    }
}
