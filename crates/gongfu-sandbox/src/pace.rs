//! How many runs there are at once, and how fast they are begun: to make a sandbox takes longer than most
//! of what is run in it, and whoever asks the server for something else is to be answered in between.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many runs there are at once for each processor; others wait.
const RUNS: usize = 4;
/// How many times longer than the last beginning took is rested before the next one of a queue.
const RESTS: u64 = 2;
/// How often whoever waits for a start looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(20);
/// The longest rest between two beginnings, in microseconds.
const LONGEST_REST: u64 = 20_000;

/// The pace of a runner.
#[derive(Debug)]
pub(crate) struct Pace {
    room: Arc<Semaphore>,
    /// How many more may be begun at once.
    starts: Mutex<usize>,
    started: Condvar,
    /// How many wait for room.
    waiting: AtomicUsize,
    /// How long the last beginning took, in microseconds.
    took: AtomicU64,
}

impl Pace {
    /// That of a machine with so many processors.
    pub(crate) fn new(processors: usize) -> Self {
        Self {
            room: Arc::new(Semaphore::new(RUNS * processors)),
            starts: Mutex::new((processors / 2).max(1)),
            started: Condvar::new(),
            waiting: AtomicUsize::new(0),
            took: AtomicU64::new(0),
        }
    }

    /// Waits until there is room for one more run; it has it for as long as it keeps this.
    pub(crate) async fn room(&self) -> Option<OwnedSemaphorePermit> {
        let _waiting = Waiting::new(&self.waiting);
        // It is never closed.
        Arc::clone(&self.room).acquire_owned().await.ok()
    }

    /// Waits until one more may be begun, and rests before where there is a queue: it isn't worked off any
    /// faster than others can be answered beside it. `None` once nobody wants it. Holds up the thread.
    pub(crate) fn start(&self, is_wanted: impl Fn() -> bool) -> Option<Start<'_>> {
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
        if self.waiting.load(Ordering::Relaxed) > 0 {
            let took = self.took.load(Ordering::Relaxed);
            let rest = took.saturating_mul(RESTS).min(LONGEST_REST);
            std::thread::sleep(Duration::from_micros(rest));
        }
        Some(Start {
            pace: self,
            begun: Instant::now(),
        })
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
    begun: Instant,
}

impl Drop for Start<'_> {
    fn drop(&mut self) {
        let took = u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(LONGEST_REST);
        self.pace.took.store(took, Ordering::Relaxed);
        *self.pace.left() += 1;
        self.pace.started.notify_one();
    }
}
