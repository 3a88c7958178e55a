//! The Docker backend, for operators who want runs to be containers of their daemon.
//!
//! Warm containers are kept for each owner and each set of mounts. Init of a container is this program
//! ([`ContainerInit`](gongfu_sandbox::backend::ContainerInit)), mounted into it: it executes one run at a time, kills
//! every process of it, and removes what it wrote. The daemon only creates and removes containers. Output, input
//! and layers are handles that go over a socket between the server and init, so a daemon that hangs or dies
//! disturbs no run.
//!
//! The only crate that names bollard. It knows no other backend.
#![cfg(target_os = "linux")]

mod container;
mod container_spec;
mod create_body;
mod daemon;
mod image;
pub mod plain;
mod pool;
mod seccomp;
mod server;

use std::io;
use std::os::fd::OwnedFd;

use gongfu_core::sandbox::{Level, Means, Outcome, Spec};
use gongfu_sandbox::backend::{
    self, Backend, Failure, HostView, MountCopies, MountedBy, PLACES, Places, Plan, Profile,
    RunContext,
};

use container_spec::ContainerSpec;
use pool::Containers;

/// The socket of a daemon that the settings don't name.
const SOCKET: &str = "/var/run/docker.sock";

/// The settings of the backend: the daemon and the image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// The socket that it listens on, as a path or as `unix:///a/path`; `None` for the usual one.
    pub socket: Option<String>,
    /// The image with the programs, which the daemon must have; `None` for the host's programs.
    pub image: Option<String>,
}

/// The backend, with its warm containers.
#[derive(Debug)]
pub struct Docker {
    containers: Containers,
}

impl Docker {
    /// A backend with these settings; it has no container yet.
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
    // Each file system has a fixed size; all of them together are watched.
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
        let container_spec = ContainerSpec::of(spec, context, containers.settings())?;
        let (container, child) = containers.lease(&container_spec, context)?;
        let plan = plan(spec, &container_spec, &container)?;
        let layers = copies.layers()?;
        let mut baseline = None;
        let fill = |layers: &[OwnedFd]| {
            baseline = Some(copies.fill(&container.folders(&container_spec, layers)?)?);
            Ok(())
        };
        let result = backend::execute_in(Some(child), self, &plan, spec, context, fill);
        let outcome = result.and_then(|mut result| {
            if let Some(layers) = &result.layers {
                let folders = container.folders(&container_spec, layers)?;
                result.layers = Some(copies.only_layers(folders));
            }
            backend::merge_layers(spec, context, layers, result, baseline.as_ref())
        });
        // After a failure its state is unknown.
        if outcome.is_ok() && !context.is_trial {
            containers.give_back(container_spec, container);
        }
        outcome
    }

    fn lost(&self, _is_ready: bool, _stderr: &str) -> Failure {
        unavailable(
            "its container was killed from outside during the run, and what it wrote is lost; check whether the Docker daemon still runs (`docker info`), and the machine's log",
        )
    }

    fn close(&self) {
        self.containers.close();
    }
}

/// The plan for init of the container.
fn plan(
    spec: &Spec,
    container_spec: &ContainerSpec,
    container: &container::Container,
) -> Result<Plan, Failure> {
    let places = Places {
        programs: &container.programs,
        ..PLACES
    };
    let variables = backend::view_variables(spec, &places)?;
    let file_systems = container.file_systems.clone();
    let mut plan = backend::plan(spec, container_spec.tenant, variables, file_systems);
    plan.sources.clone_from(&container_spec.sources);
    plan.view = container_spec.view();
    plan.writable = container_spec.writable(&container.file_systems);
    if let (gongfu_core::sandbox::Command::Line(_), Some(shell)) = (&spec.command, &container.shell)
        && let Some(program) = plan.arguments.first_mut()
    {
        program.clone_from(shell);
    }
    Ok(plan)
}

/// The failure of a sandbox that can't be made, with the reason.
fn unavailable(why: impl Into<String>) -> Failure {
    Failure::Unavailable(why.into())
}

/// Adds to an error of the system the step that failed.
fn failed_to(what: &str) -> impl Fn(io::Error) -> Failure + '_ {
    move |error| unavailable(format!("{what}: {error}"))
}
