//! Containers that are kept warm, each leased to one run at a time.

use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use gongfu_sandbox::backend::{ChildHandle, Failure, RunContext};

use super::container::Container;
use super::container_spec::ContainerSpec;
use super::{Settings, daemon};

/// The most idle containers; each takes a few megabytes, most of them its runtime's.
const MAX_IDLE: usize = 16;

/// The containers of a runner.
#[derive(Debug)]
pub(crate) struct Containers {
    settings: Settings,
    idle: Mutex<Idle>,
    /// Removes the containers of dead servers once.
    sweep: Once,
}

#[derive(Debug, Default)]
struct Idle {
    /// The most recently used one is last.
    containers: Vec<(ContainerSpec, Container)>,
    /// No container is kept any more.
    is_closed: bool,
}

impl Containers {
    /// An empty pool for this daemon.
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings,
            idle: Mutex::default(),
            sweep: Once::new(),
        }
    }

    /// The daemon's settings.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Leases a container of this specification to one run; returns it with the run, which waits for its plan.
    pub(super) fn lease(
        &self,
        spec: &ContainerSpec,
        context: &RunContext<'_>,
    ) -> Result<(Container, ChildHandle), Failure> {
        // A trial tries whether one can be made.
        while !context.is_trial
            && let Some(container) = self.take(spec)
        {
            // It may have ended meanwhile.
            if let Ok(run) = container.start_run() {
                return Ok((container, run));
            }
        }
        self.sweep.call_once(|| {
            let _ = daemon::with(&self.settings, None, daemon::remove_left_behind);
        });
        let container = Container::new(spec, &self.settings, context.cancel)?;
        let run = container.start_run()?;
        Ok((container, run))
    }

    /// Takes an idle container of this specification, and drops those that have ended.
    fn take(&self, spec: &ContainerSpec) -> Option<Container> {
        let mut idle = self.idle();
        let all = std::mem::take(&mut idle.containers);
        let (living, ended): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|(_, container)| container.is_idle());
        idle.containers = living;
        let at = idle.containers.iter().rposition(|(own, _)| own == spec);
        let found = at.map(|at| idle.containers.remove(at).1);
        drop(idle);
        drop(ended);
        found
    }

    /// Keeps a container for the next run, if nothing of this one is left in it for certain.
    pub(super) fn give_back(&self, spec: ContainerSpec, container: Container) {
        if !spec.is_reusable() || !container.clean() {
            return;
        }
        let mut idle = self.idle();
        if idle.is_closed {
            drop(idle);
            return;
        }
        idle.containers.push((spec, container));
        let oldest = (idle.containers.len() > MAX_IDLE).then(|| idle.containers.remove(0));
        drop(idle);
        drop(oldest);
    }

    /// Removes all idle containers; none is kept after it.
    pub(crate) fn close(&self) {
        let mut idle = self.idle();
        idle.is_closed = true;
        let containers = std::mem::take(&mut idle.containers);
        drop(idle);
        // All of them are released before the first is waited for.
        for (_, container) in &containers {
            container.release();
        }
        drop(containers);
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
