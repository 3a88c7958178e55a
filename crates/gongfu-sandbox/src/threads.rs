//! Threads that carry out runs, begin children and clear away after them: they stand behind those that
//! answer requests, so that nobody's run holds up anybody's answer.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::cgroup::{Crew, Groups};

/// How often it is looked whether they are done.
const ROUND: Duration = Duration::from_millis(1);

/// How nice they are: a third of what those threads get that answer requests, and three times of what
/// runs get.
#[cfg(target_os = "linux")]
const NICE: i32 = 5;

/// Has this thread stand behind others; where it can't be, it stands where it is.
#[cfg(target_os = "linux")]
pub(crate) fn stand_behind() {
    let _ = crate::child::lower_priority(NICE);
}

/// A program stands behind others as a whole, and so would who answers.
#[cfg(target_os = "macos")]
pub(crate) fn stand_behind() {}

/// The threads of a runner.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    begun: Mutex<Vec<JoinHandle<()>>>,
    crew: Mutex<Place>,
}

/// The control group that they are in.
#[derive(Debug, Default)]
enum Place {
    #[default]
    Unknown,
    /// They may be in none where there is none.
    Known(Option<Arc<Crew>>),
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
        let crew = groups.and_then(|groups| self.crew(groups));
        let behind = move || {
            stand_behind();
            // Where it can't come into it, it stays where it is.
            let _ = crew.map(|crew| crew.enter());
            work();
        };
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(behind)?;
        let mut begun = locked(&self.begun);
        begun.retain(|thread| !thread.is_finished());
        begun.push(thread);
        Ok(())
    }

    fn crew(&self, groups: &Groups) -> Option<Arc<Crew>> {
        let mut place = locked(&self.crew);
        if let Place::Known(crew) = &*place {
            return crew.clone();
        }
        let crew = groups.crew().map(Arc::new);
        *place = Place::Known(crew.clone());
        crew
    }

    /// Waits until what was begun is done, but not for longer than this; then takes away what they were
    /// in.
    pub(crate) fn end(&self, patience: Duration) {
        let by = Instant::now() + patience;
        let is_done = || {
            let mut begun = locked(&self.begun);
            let itself = std::thread::current().id();
            begun.retain(|thread| !thread.is_finished() && thread.thread().id() != itself);
            begun.is_empty()
        };
        while !is_done() && Instant::now() < by {
            std::thread::sleep(ROUND);
        }
        *locked(&self.crew) = Place::Known(None);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
