//! Limits the number of runs at once, and their rate: building a sandbox takes longer than most programs in it,
//! and requests must be answered in between.
//!
//! The kernel doesn't preempt a thread that makes namespaces, whatever the priorities. So the more requests
//! are answered, the longer the next run of a queue waits before it starts, up to a limit.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The number of runs at once for each processor.
const RUNS_PER_PROCESSOR: usize = 4;
/// Dialogues at once for each processor. They mostly wait for their callers, who may run something for them: with
/// the slots of runs, they would keep those from starting.
const DIALOGUES_PER_PROCESSOR: usize = 16;
/// The pause before a waiting start looks again whether its run is still wanted.
const START_POLL: Duration = Duration::from_millis(20);
/// The delay of the next start for each request that was answered since the last one.
const DELAY_PER_ANSWER: Duration = Duration::from_millis(1);
/// The longest delay: with it one answer in a hundred is late.
const MAX_DELAY: Duration = Duration::from_millis(40);
/// The pause before a delayed start looks again whether it may go on.
const DELAY_POLL: Duration = Duration::from_millis(5);
/// A run that has waited for so long starts without a delay: clients give up after a minute.
const MAX_WAIT: Duration = Duration::from_secs(45);

/// The throttle of a runner.
#[derive(Debug)]
pub(crate) struct Throttle {
    runs: Arc<Semaphore>,
    dialogues: Arc<Semaphore>,
    /// The number of runs that may start by now.
    starts: Mutex<usize>,
    started: Condvar,
    /// The number of runs that wait for a slot.
    waiting: AtomicUsize,
    /// The number of requests that were answered since the last start.
    answers: AtomicU32,
}

/// The right to run, until it is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    _permit: OwnedSemaphorePermit,
    /// When the run was asked for.
    pub(crate) since: Instant,
}

/// The right to start a run, until it is dropped.
#[derive(Debug)]
pub(crate) struct Start<'a> {
    throttle: &'a Throttle,
}

/// The delay of the next start after so many answers, for a run that has waited for so long.
fn delay(answers: u32, waited: Duration) -> Duration {
    if waited > MAX_WAIT {
        return Duration::ZERO;
    }
    DELAY_PER_ANSWER.saturating_mul(answers).min(MAX_DELAY)
}

impl Throttle {
    /// A throttle for a machine with so many processors.
    pub(crate) fn new(processors: usize) -> Self {
        Self {
            runs: Arc::new(Semaphore::new(RUNS_PER_PROCESSOR * processors)),
            dialogues: Arc::new(Semaphore::new(DIALOGUES_PER_PROCESSOR * processors)),
            starts: Mutex::new((processors / 2).max(1)),
            started: Condvar::new(),
            waiting: AtomicUsize::new(0),
            answers: AtomicU32::new(0),
        }
    }

    /// Counts an answered request.
    pub(crate) fn count_answer(&self) {
        // When it wraps, one delay is too short.
        self.answers.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits for a slot of a run, or of a dialogue.
    pub(crate) async fn slot(&self, is_dialogue: bool) -> Option<Slot> {
        let since = Instant::now();
        let _waiting = Waiting::new(&self.waiting);
        let slots = if is_dialogue {
            &self.dialogues
        } else {
            &self.runs
        };
        // The semaphore is never closed.
        let permit = Arc::clone(slots).acquire_owned().await.ok()?;
        Some(Slot {
            _permit: permit,
            since,
        })
    }

    /// Waits until a run that was asked for at `since` may start; `None` once it isn't wanted any more. Blocks
    /// the thread.
    pub(crate) fn start(&self, since: Instant, is_wanted: impl Fn() -> bool) -> Option<Start<'_>> {
        let mut starts = self.starts();
        while *starts == 0 {
            let waited = self.started.wait_timeout(starts, START_POLL);
            starts = waited.unwrap_or_else(PoisonError::into_inner).0;
            if !is_wanted() {
                return None;
            }
        }
        *starts -= 1;
        drop(starts);
        let start = Start { throttle: self };
        let delayed = Instant::now();
        while self.waiting.load(Ordering::Relaxed) > 0 {
            let delay = delay(self.answers.load(Ordering::Relaxed), since.elapsed());
            let left = delay.saturating_sub(delayed.elapsed());
            if left.is_zero() {
                break;
            }
            std::thread::sleep(left.min(DELAY_POLL));
            if !is_wanted() {
                return None;
            }
        }
        self.answers.store(0, Ordering::Relaxed);
        Some(start)
    }

    fn starts(&self) -> MutexGuard<'_, usize> {
        self.starts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts a run that waits.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Start<'_> {
    fn drop(&mut self) {
        *self.throttle.starts() += 1;
        self.throttle.started.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_grows_with_the_answers() {
        assert_eq!(delay(0, Duration::ZERO), Duration::ZERO);
        assert_eq!(delay(7, Duration::ZERO), DELAY_PER_ANSWER * 7);
        assert_eq!(delay(u32::MAX, MAX_WAIT), MAX_DELAY);
        let longer = MAX_WAIT + Duration::from_nanos(1);
        assert_eq!(delay(u32::MAX, longer), Duration::ZERO);
    }

    #[tokio::test]
    async fn delays_a_queue_only_while_requests_are_answered() {
        let throttle = Throttle::new(1);
        let mut slots = Vec::new();
        for _ in 0..RUNS_PER_PROCESSOR {
            slots.push(throttle.slot(false).await.expect("a slot is free"));
        }
        let answer = || {
            for _ in 0..1_000 {
                throttle.count_answer();
            }
        };
        let is_delayed = || {
            let begun = Instant::now();
            let start = throttle.start(begun, || true).expect("it is wanted");
            drop(start);
            begun.elapsed() >= MAX_DELAY
        };
        let mut next = Box::pin(throttle.slot(false));
        let polls = std::cell::Cell::new(0);
        let count = || {
            polls.set(polls.get() + 1);
            true
        };
        answer();
        drop(throttle.start(Instant::now(), count));
        assert_eq!(polls.get(), 0, "no run waits for a slot");
        let waits = std::future::poll_fn(|context| {
            let waits = Future::poll(next.as_mut(), context).is_pending();
            std::task::Poll::Ready(waits)
        });
        assert!(waits.await, "one more run waits for a slot");
        assert!(throttle.slot(true).await.is_some(), "a dialogue doesn't");
        answer();
        assert!(is_delayed(), "requests were answered");
        drop(throttle.start(Instant::now(), count));
        assert_eq!(polls.get(), 0, "no request was answered since");
        answer();
        assert!(throttle.start(Instant::now(), || false).is_none());
        assert_eq!(
            *throttle.starts(),
            1,
            "an unwanted run keeps no other waiting"
        );
    }
}
