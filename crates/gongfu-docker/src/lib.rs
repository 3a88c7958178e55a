//! Containers of a Docker daemon: a kind of sandbox for operators who want what is run to be the daemon's.
//!
//! A container is kept warm for each owner and for what its runs see. Its init is this program
//! ([`ContainerInit`](gongfu_sandbox::backend::ContainerInit)), bound into it; it carries out one run at a time, as init
//! of our own namespaces does, kills every process of it, and removes what it wrote. The daemon makes containers and
//! takes them away, and is asked for nothing in between: outputs, input and layers go by handles over a
//! socket between the server and that process. So a daemon that hangs or dies keeps no run from its end,
//! and no program from being ended.
//!
//! The only crate that names bollard. It knows no other kind of sandbox.
#![cfg(target_os = "linux")]

mod body;
mod container;
mod daemon;
mod image;
mod machine;
pub mod plain;
mod pool;
mod seccomp;
mod shape;

use std::io;
use std::os::fd::OwnedFd;

use gongfu_core::sandbox::{Level, Means, Outcome, Spec};
use gongfu_sandbox::backend::{
    self, Backend, Failure, HostView, MountCopies, MountedBy, PLACES, Places, Plan, Profile,
    RunContext,
};

use pool::Containers;
use shape::Shape;

/// Where a daemon listens if nobody says otherwise.
const SOCKET: &str = "/var/run/docker.sock";

/// Which Docker daemon makes containers, and of what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// The socket that it listens on, as a path or as `unix:///a/path`; `None` for the usual one.
    pub socket: Option<String>,
    /// The image whose programs runs see, which must be there; `None` for the programs of this machine.
    pub image: Option<String>,
}

/// The kind of sandbox, with the containers that it keeps warm.
#[derive(Debug)]
pub struct Docker {
    containers: Containers,
}

impl Docker {
    /// Containers of this daemon; none is made yet.
    pub fn new(settings: Settings) -> Self {
        Self {
            containers: Containers::new(settings),
        }
    }
}

static PROFILE: Profile = Profile {
    level: Level::new("docker"),
    about: "docker: a hardened container of a Docker daemon, Landlock and seccomp",
    is_single_tenant: false,
    // A daemon is root of the machine.
    is_opt_in: true,
    reaches_hosts: false,
    host: HostView::Paths,
    processes: Means::ControlGroup,
    // Each place has a file system of a fixed size; all of them together are watched.
    disk: Means::Watchdog,
};

impl Backend for Docker {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn execute(&self, spec: &Spec, context: &RunContext<'_>) -> Result<Outcome, Failure> {
        let tenant = context.tenant_but_root()?;
        let containers = &self.containers;
        let copies = MountCopies::new(spec, tenant, MountedBy::Root)?;
        let shape = Shape::of(spec, context, containers.settings())?;
        let (mut container, child) = containers.lease(&shape, context)?;
        let plan = plan(spec, &shape, &container)?;
        let mut before = Vec::new();
        let fill = |layers: &[OwnedFd]| {
            before = copies.fill(&container.folders(&shape, layers)?)?;
            Ok(())
        };
        let result = backend::execute_in(Some(child), self, &plan, spec, context, fill);
        let outcome = result.and_then(|mut result| {
            if let Some(layers) = &result.layers {
                let folders = container.folders(&shape, layers)?;
                result.layers = Some(copies.only_layers(folders));
            }
            backend::merge_layers(spec, context, &copies.layers(), result, &before)
        });
        if outcome.is_ok() && !context.is_trial {
            containers.give_back(shape, container);
        } else {
            // Nobody knows what it is good for.
            container.end();
        }
        outcome
    }

    fn lost(&self, _is_ready: bool, _stderr: &str) -> Failure {
        unavailable(
            "its container was ended from outside in the middle of the run, and nothing that it wrote is kept; \
             see whether the Docker daemon still runs (`docker info`), and what the machine's log says",
        )
    }

    fn close(&self) {
        self.containers.close();
    }
}

/// What the first process of the container is to do.
fn plan(spec: &Spec, shape: &Shape, container: &container::Container) -> Result<Plan, Failure> {
    let places = Places {
        programs: &container.programs,
        ..PLACES
    };
    let variables = backend::variables(spec, &places)?;
    let mut plan = backend::plan(spec, shape.tenant, variables, container.memories.clone());
    plan.sources.clone_from(&shape.sources);
    plan.view = shape.seen();
    plan.writable = shape.writable(&container.memories);
    if let (gongfu_core::sandbox::Command::Line(_), Some(shell)) = (&spec.command, &container.shell)
        && let Some(program) = plan.arguments.first_mut()
    {
        program.clone_from(shell);
    }
    Ok(plan)
}

/// Says that something can't be done with the daemon, and why.
fn unavailable(why: impl Into<String>) -> Failure {
    Failure::Unavailable(why.into())
}

/// Says of an error of the system what it was about.
fn about(what: &str) -> impl Fn(io::Error) -> Failure + '_ {
    move |error| unavailable(format!("{what}: {error}"))
}
