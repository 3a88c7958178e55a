//! How many runs there are at once, and how fast they are begun: to make a sandbox takes longer than most
//! of what is run in it, and whoever asks the server for something else is to be answered in between.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many runs there are at once for each processor; others wait.
const RUNS: usize = 4;
/// How many times longer than the last beginning took is rested before the next one of a queue.
const RESTS: u64 = 2;
/// The longest rest between two beginnings, in microseconds.
const LONGEST_REST: u64 = 20_000;

/// The pace of a runner.
#[derive(Debug)]
pub(crate) struct Pace {
    room: Arc<Semaphore>,
    starts: Arc<Semaphore>,
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
            starts: Arc::new(Semaphore::new((processors / 2).max(1))),
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

    /// Waits until one more may be begun.
    pub(crate) async fn start(self: &Arc<Self>) -> Start {
        let permit = Arc::clone(&self.starts).acquire_owned().await.ok();
        Start {
            _permit: permit,
            pace: Arc::clone(self),
            begun: Instant::now(),
        }
    }

    /// Whether as many are being begun as may be.
    pub(crate) fn is_busy(&self) -> bool {
        self.starts.available_permits() == 0
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
pub(crate) struct Start {
    _permit: Option<OwnedSemaphorePermit>,
    pace: Arc<Pace>,
    begun: Instant,
}

impl Start {
    /// Rests where there is a queue: it isn't worked off any faster than others can be answered beside
    /// it. Holds up the thread.
    pub(crate) fn rest(&mut self) {
        if self.pace.waiting.load(Ordering::Relaxed) > 0 {
            let took = self.pace.took.load(Ordering::Relaxed);
            let rest = took.saturating_mul(RESTS).min(LONGEST_REST);
            std::thread::sleep(Duration::from_micros(rest));
        }
        self.begun = Instant::now();
    }
}

impl Drop for Start {
    fn drop(&mut self) {
        let took = u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(LONGEST_REST);
        self.pace.took.store(took, Ordering::Relaxed);
    }
}
