//! A system that tells nothing: nothing can be watched, waiting is for time and for each other.

use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::{Happened, Mark, Unwatchable, Wanted};

/// A queue that can't be made.
#[derive(Debug)]
pub(super) struct Queue(Infallible);

/// Waits for time, or to be woken.
#[derive(Debug, Clone)]
pub struct Waiter(Arc<(Mutex<bool>, Condvar)>);

impl Queue {
    pub(super) fn new() -> Result<Self, Unwatchable> {
        Err(Unwatchable::Other("this system doesn't tell".to_owned()))
    }

    pub(super) fn add(&self, _path: &Path, _wanted: Wanted) -> Result<Mark, Unwatchable> {
        match self.0 {}
    }

    pub(super) fn remove(&self, _mark: Mark) {
        match self.0 {}
    }

    pub(super) fn drain(&self, _told: impl FnMut(Happened<'_>)) {
        match self.0 {}
    }
}

impl Waiter {
    /// Something that waits for time, or to be woken.
    ///
    /// # Errors
    /// Never, on this system.
    pub fn new() -> io::Result<Self> {
        Ok(Self(Arc::default()))
    }

    /// Waits for these events from now on, too: there are none.
    pub fn attend(&mut self, watches: &super::Watches) {
        match watches.system.0 {}
    }

    /// Waits until somebody wakes it or the time is over; nothing is ever known to have happened.
    pub fn wait(&self, patience: Option<Duration>) -> bool {
        self.rest(patience.unwrap_or(Duration::from_secs(3600)));
        false
    }

    /// Waits until somebody wakes it or the time is over.
    pub fn rest(&self, patience: Duration) {
        let (woken, condition) = &*self.0;
        let woken = woken.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = condition.wait_timeout_while(woken, patience, |woken| !*woken);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }

    /// Wakes whoever waits.
    pub fn wake(&self) {
        let (woken, condition) = &*self.0;
        *woken.lock().unwrap_or_else(PoisonError::into_inner) = true;
        condition.notify_all();
    }
}

/// Whether a folder lies on a file system that is changed from elsewhere; not known on this system.
pub fn is_remote(_path: &Path) -> bool {
    false
}
