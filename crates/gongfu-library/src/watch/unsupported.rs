//! A system without watches: waiting is for timeouts and wake-ups.

use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::event::{Interest, Mark, RawEvent, Unwatchable};

/// A queue that can't be made.
#[derive(Debug)]
pub(super) struct Queue(Infallible);

/// Waits for a timeout, or to be woken.
#[derive(Debug, Clone)]
pub(crate) struct Waiter(Arc<(Mutex<bool>, Condvar)>);

impl Queue {
    pub(super) fn new() -> Result<Self, Unwatchable> {
        Err(Unwatchable::Other(
            "this system doesn't report changes".to_owned(),
        ))
    }

    pub(super) fn add(&self, _path: &Path, _wanted: Interest) -> Result<Mark, Unwatchable> {
        match self.0 {}
    }

    pub(super) fn remove(&self, _mark: Mark) {
        match self.0 {}
    }

    pub(super) fn drain(&self, _take: impl FnMut(RawEvent<'_>)) {
        match self.0 {}
    }
}

impl Waiter {
    /// A waiter.
    ///
    /// # Errors
    /// Never, on this system.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(Arc::default()))
    }

    pub(super) fn attach(&mut self, queue: &Queue) {
        match queue.0 {}
    }

    /// Waits for a wake-up or the timeout; there are no events.
    pub(crate) fn wait(&self, timeout: Option<Duration>) -> bool {
        self.rest(timeout.unwrap_or(Duration::from_secs(3600)));
        false
    }

    /// Waits for a wake-up or the timeout.
    pub(crate) fn rest(&self, timeout: Duration) {
        let (woken, condition) = &*self.0;
        let woken = woken.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = condition.wait_timeout_while(woken, timeout, |woken| !*woken);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }

    /// Ends the waiting of every clone.
    pub(crate) fn wake(&self) {
        let (woken, condition) = &*self.0;
        *woken.lock().unwrap_or_else(PoisonError::into_inner) = true;
        condition.notify_all();
    }
}

/// Returns whether a folder lies on a file system that other machines change: unknown on this system.
pub(crate) fn is_remote(_path: &Path) -> bool {
    false
}
