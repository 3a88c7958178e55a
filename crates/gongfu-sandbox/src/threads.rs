//! Threads that carry out runs, begin children and clear away after them: they stand behind those that
//! answer requests, so that nobody's run holds up anybody's answer.

use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

use crate::cgroup::{Crew, Groups};

/// How nice they are: a third of what those threads get that answer requests, and three times of what
/// runs get.
#[cfg(target_os = "linux")]
const NICE: i32 = 5;

/// Has this thread stand behind others; where it can't be, it stands where it is.
#[cfg(target_os = "linux")]
fn stand_behind() {
    let _ = crate::child::lower_priority(NICE);
}

/// A program stands behind others as a whole, and so would who answers.
#[cfg(target_os = "macos")]
fn stand_behind() {}

/// The threads of a runner.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    begun: Mutex<Vec<JoinHandle<()>>>,
    /// The control group that they are in, where they may be in one.
    crew: OnceLock<Option<Arc<Crew>>>,
}

impl Threads {
    /// Does something on a thread of its own; in a control group, if those are given.
    ///
    /// # Errors
    /// There can be no more.
    pub(crate) fn begin(
        &self,
        name: &str,
        groups: Option<&'static Groups>,
        work: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        let crew = groups.and_then(|groups| {
            let made = || groups.crew().map(Arc::new);
            self.crew.get_or_init(made).clone()
        });
        let behind = move || {
            stand_behind();
            // Where it can't come into it, it stays where it is.
            let _ = crew.map(|crew| crew.enter());
            work();
        };
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(behind)?;
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.retain(|thread| !thread.is_finished());
        begun.push(thread);
        Ok(())
    }

    /// Waits until what was begun is done; what it begins meanwhile as well.
    pub(crate) fn wait(&self) {
        loop {
            let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(thread) = begun.pop() else {
                return;
            };
            drop(begun);
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}
