//! How many runs there are at once, and how fast they are begun: to make a sandbox takes longer than most
//! of what is run in it, and whoever asks the server for something else is to be answered in between.
//!
//! A system that is in the middle of making namespaces leaves its processor to nobody, however high they
//! stand. So the more is asked, the longer it is until the next run of a queue is begun, up to a limit;
//! where nobody asks, it is begun at once.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many runs there are at once for each processor; others wait.
const RUNS: usize = 4;
/// How often whoever waits for a start looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(20);
/// For how long the next one of a queue isn't begun, for each answer that somebody else was given since
/// the last one was.
const REST: Duration = Duration::from_millis(1);
/// The longest rest between two beginnings: what stays of it is one answer in a hundred that is late.
const LONGEST_REST: Duration = Duration::from_millis(40);
/// How often whoever rests looks whether it has to go on.
const NAP: Duration = Duration::from_millis(5);
/// Whoever has waited for so long is begun without a rest: clients give up after a minute.
const PATIENCE: Duration = Duration::from_secs(45);

/// The pace of a runner.
#[derive(Debug)]
pub(crate) struct Pace {
    room: Arc<Semaphore>,
    /// How many more may be begun at once.
    starts: Mutex<usize>,
    started: Condvar,
    /// How many wait for room.
    waiting: AtomicUsize,
    /// How many answers others were given since the last beginning.
    answers: AtomicU32,
}

/// That a run may be there, for as long as it keeps this.
#[derive(Debug)]
pub(crate) struct Room {
    _permit: OwnedSemaphorePermit,
    /// Since when it waits to be begun.
    pub(crate) since: Instant,
}

/// How long the next one of a queue isn't begun, after it has waited for so long.
fn rest(answers: u32, waited: Duration) -> Duration {
    if waited > PATIENCE {
        return Duration::ZERO;
    }
    REST.saturating_mul(answers).min(LONGEST_REST)
}

impl Pace {
    /// That of a machine with so many processors.
    pub(crate) fn new(processors: usize) -> Self {
        Self {
            room: Arc::new(Semaphore::new(RUNS * processors)),
            starts: Mutex::new((processors / 2).max(1)),
            started: Condvar::new(),
            waiting: AtomicUsize::new(0),
            answers: AtomicU32::new(0),
        }
    }

    /// Notes that somebody is answered something that is no run.
    pub(crate) fn make_way(&self) {
        // It wraps after so many that a rest too short is no loss.
        self.answers.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until there is room for one more run; it has it for as long as it keeps this.
    pub(crate) async fn room(&self) -> Option<Room> {
        let since = Instant::now();
        let _waiting = Waiting::new(&self.waiting);
        // It is never closed.
        let permit = Arc::clone(&self.room).acquire_owned().await.ok()?;
        Some(Room {
            _permit: permit,
            since,
        })
    }

    /// Waits until one more may be begun that waits since then, and rests before where there is a queue
    /// and others are answered. `None` once nobody wants it. Holds up the thread.
    pub(crate) fn start(&self, since: Instant, is_wanted: impl Fn() -> bool) -> Option<Start<'_>> {
        let mut left = self.left();
        while *left == 0 {
            let waited = self.started.wait_timeout(left, LOOK);
            left = waited.unwrap_or_else(PoisonError::into_inner).0;
            if !is_wanted() {
                return None;
            }
        }
        *left -= 1;
        drop(left);
        // Whatever becomes of it, the next one is let in.
        let start = Start { pace: self };
        let resting = Instant::now();
        while self.waiting.load(Ordering::Relaxed) > 0 {
            let rest = rest(self.answers.load(Ordering::Relaxed), since.elapsed());
            let left = rest.saturating_sub(resting.elapsed());
            if left.is_zero() {
                break;
            }
            std::thread::sleep(left.min(NAP));
            if !is_wanted() {
                return None;
            }
        }
        self.answers.store(0, Ordering::Relaxed);
        Some(start)
    }

    /// Whether as many are being begun as may be.
    pub(crate) fn is_busy(&self) -> bool {
        *self.left() == 0
    }

    fn left(&self) -> MutexGuard<'_, usize> {
        self.starts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts somebody who waits, for as long as they do.
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

/// One that is being begun, until this is let go of.
#[derive(Debug)]
pub(crate) struct Start<'a> {
    pace: &'a Pace,
}

impl Drop for Start<'_> {
    fn drop(&mut self) {
        *self.pace.left() += 1;
        self.pace.started.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_is_asked_the_longer_a_queue_rests() {
        assert_eq!(rest(0, Duration::ZERO), Duration::ZERO);
        assert_eq!(rest(7, Duration::ZERO), REST * 7);
        assert_eq!(rest(u32::MAX, PATIENCE), LONGEST_REST);
        let longer = PATIENCE + Duration::from_nanos(1);
        assert_eq!(rest(u32::MAX, longer), Duration::ZERO);
    }

    #[tokio::test]
    async fn a_queue_rests_while_others_are_answered_and_nobody_else_does() {
        let pace = Pace::new(1);
        let mut rooms = Vec::new();
        for _ in 0..RUNS {
            rooms.push(pace.room().await.expect("there is room"));
        }
        let answered = || {
            for _ in 0..1_000 {
                pace.make_way();
            }
        };
        let rested = || {
            let begun = Instant::now();
            let start = pace.start(begun, || true).expect("it is wanted");
            drop(start);
            begun.elapsed() >= LONGEST_REST
        };
        let mut next = Box::pin(pace.room());
        let naps = std::cell::Cell::new(0);
        let counted = || {
            naps.set(naps.get() + 1);
            true
        };
        answered();
        drop(pace.start(Instant::now(), counted));
        assert_eq!(naps.get(), 0, "nobody waits for room");
        let waits = std::future::poll_fn(|context| {
            let waits = Future::poll(next.as_mut(), context).is_pending();
            std::task::Poll::Ready(waits)
        });
        assert!(waits.await, "one more waits for room");
        answered();
        assert!(rested(), "others were answered");
        // What was answered before the last beginning counts no more.
        drop(pace.start(Instant::now(), counted));
        assert_eq!(naps.get(), 0, "nobody was answered meanwhile");
        answered();
        assert!(pace.start(Instant::now(), || false).is_none());
        assert!(!pace.is_busy(), "whoever is not wanted keeps nobody out");
    }
}
