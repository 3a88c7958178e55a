//! Containers that are kept warm, each leased to one run at a time.

use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use gongfu_sandbox::backend::{ChildHandle, Failure, RunContext};

use super::container::Container;
use super::shape::Shape;
use super::{Settings, daemon};

/// How many are kept at most; each takes a few megabytes, most of them its runtime's.
const MOST: usize = 16;

/// The containers of a runner.
#[derive(Debug)]
pub(crate) struct Containers {
    settings: Settings,
    idle: Mutex<Idle>,
    swept: Once,
}

#[derive(Debug, Default)]
struct Idle {
    /// The last one was used last.
    kept: Vec<(Shape, Container)>,
    /// Nothing is kept any more.
    is_closed: bool,
}

impl Containers {
    /// None yet, of this daemon.
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings,
            idle: Mutex::default(),
            swept: Once::new(),
        }
    }

    /// Which daemon makes them.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// A container for a run of this shape, which nobody else has, and the run as it was begun in it.
    pub(super) fn lease(
        &self,
        shape: &Shape,
        context: &RunContext<'_>,
    ) -> Result<(Container, ChildHandle), Failure> {
        // A trial tries whether one can be begun.
        while !context.is_trial
            && let Some(container) = self.take(shape)
        {
            // One that ended meanwhile can't begin anything.
            if let Ok(begun) = container.begin(shape) {
                return Ok((container, begun));
            }
        }
        self.swept.call_once(|| {
            let _ = daemon::with(&self.settings, None, daemon::sweep);
        });
        let container = Container::make(shape, &self.settings, context.cancel)?;
        let begun = container.begin(shape)?;
        Ok((container, begun))
    }

    fn take(&self, shape: &Shape) -> Option<Container> {
        let mut gone = Vec::new();
        let mut idle = self.idle();
        let mut found = None;
        for (kept, container) in std::mem::take(&mut idle.kept).into_iter().rev() {
            if !container.is_there() {
                gone.push(container);
            } else if found.is_none() && kept == *shape {
                found = Some(container);
            } else {
                idle.kept.insert(0, (kept, container));
            }
        }
        drop(idle);
        drop(gone);
        found
    }

    /// Keeps a container for the next run, if nothing of this one is left in it for certain.
    pub(super) fn give_back(&self, shape: Shape, mut container: Container) {
        if !shape.is_for_many() || !container.clean() {
            container.end();
            return;
        }
        let mut idle = self.idle();
        if idle.is_closed {
            drop(idle);
            container.end();
            return;
        }
        idle.kept.push((shape, container));
        let oldest = (idle.kept.len() > MOST).then(|| idle.kept.remove(0));
        drop(idle);
        drop(oldest);
    }

    /// Takes away all that are kept; none is kept after it.
    pub(crate) fn close(&self) {
        let mut idle = self.idle();
        idle.is_closed = true;
        let kept = std::mem::take(&mut idle.kept);
        drop(idle);
        // All of them end before the first is waited for.
        for (_, container) in &kept {
            container.let_go();
        }
        drop(kept);
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
