//! The threads on which runs are carried out. They have a low priority, so that requests are answered first.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The pause before looking again whether threads have ended.
const POLL: Duration = Duration::from_millis(1);

/// Their niceness: a third of the share of the threads that answer requests, and three times that of runs.
#[cfg(target_os = "linux")]
const NICE: i32 = 5;

/// Lowers the priority of this thread, where the system allows it.
#[cfg(target_os = "linux")]
pub(crate) fn lower_priority() {
    let _ = crate::child::priority::lower(NICE);
}

/// Does nothing: macOS has priorities of whole processes, and this one answers requests.
#[cfg(target_os = "macos")]
pub(crate) fn lower_priority() {}

/// The threads of a runner.
#[derive(Debug, Default)]
pub(crate) struct Threads(Mutex<Vec<JoinHandle<()>>>);

impl Threads {
    /// Does some work on a thread of its own.
    ///
    /// # Errors
    /// There can be no more threads.
    pub(crate) fn spawn(&self, name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let thread = std::thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(move || {
            lower_priority();
            work();
        })?;
        let mut all = self.all();
        all.retain(|thread| !thread.is_finished());
        all.push(thread);
        Ok(())
    }

    /// Waits until all of them have ended, but no longer than this.
    pub(crate) fn join(&self, timeout: Duration) {
        let deadline = Instant::now() + timeout;
        let is_done = || {
            let mut all = self.all();
            let itself = std::thread::current().id();
            all.retain(|thread| !thread.is_finished() && thread.thread().id() != itself);
            all.is_empty()
        };
        while !is_done() && Instant::now() < deadline {
            std::thread::sleep(POLL);
        }
    }

    fn all(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
