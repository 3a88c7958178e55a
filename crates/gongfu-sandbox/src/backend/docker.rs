//! Containers of a Docker daemon: where an operator wants what is run to be the daemon's.
//!
//! A container is kept warm for each owner and for what its runs see. Its first process is this program
//! (`child/keeper.rs`), bound into it; it carries out one run at a time, as the first process does that
//! namespaces of our own have, ends all of it, and clears what it wrote. The daemon makes containers and
//! takes them away, and is asked for nothing in between: outputs, input and layers go by handles over a
//! socket between the server and that process. So a daemon that hangs or dies keeps no run from its end,
//! and no program from being ended.

mod body;
mod container;
mod daemon;
mod image;
mod machine;
pub mod plain;
mod pool;
mod shape;

use std::io;
use std::os::fd::OwnedFd;

use gongfu_core::sandbox::{Docker, Level, Means, Outcome, Spec};

use super::carry::{self, Strength};
use super::copied::{Copied, Maker};
use super::namespaces::PLACES;
use super::{Backend, Failure, Surroundings, environment, keep};
use crate::plan::{Kind, Plan};

pub(crate) use pool::Containers;
use shape::Shape;

/// Where a daemon listens if nobody says otherwise.
const SOCKET: &str = "/var/run/docker.sock";
/// How many processes of the same user there may be elsewhere: the system counts a user's, and the
/// container's control group is what holds those of a run.
const OTHERS: u64 = 1 << 20;

/// The backend.
pub(crate) struct Contained;

impl Backend for Contained {
    fn level(&self) -> Level {
        Level::Docker
    }

    fn run(&self, spec: &Spec, surroundings: &Surroundings<'_>) -> Result<Outcome, Failure> {
        let tenant = surroundings.tenant;
        if rustix::process::geteuid().is_root() && tenant.is_none() {
            let why = "gongfu is root here and can be nobody else; run it as another user";
            return Err(Failure::Unavailable(why.to_owned()));
        }
        let strength = Strength {
            level: Level::Docker,
            processes: Means::ControlGroup,
            // Each place has a file system of a fixed size; all of them together are watched.
            disk: Means::Watchdog,
        };
        let containers = surroundings.containers;
        let copied = Copied::of(spec, tenant, Maker::Root)?;
        let shape = Shape::of(spec, surroundings, containers.settings())?;
        let (mut container, begun) = containers.lease(&shape, surroundings)?;
        let plan = plan(spec, &shape, &container)?;
        let mut before = Vec::new();
        let fills = |layers: &[OwnedFd]| {
            before = copied.fill(&container.folders(&shape, layers)?)?;
            Ok(())
        };
        let ran = carry::out_by(Some(begun), strength, &plan, spec, surroundings, fills);
        let ran = ran.and_then(|mut ran| {
            if ran.stood {
                ran.layers = copied.kept(container.folders(&shape, &ran.layers)?);
            }
            keep::what_was_written(spec, surroundings, &copied.layers(), ran, &before)
        });
        if ran.is_ok() {
            containers.give_back(shape, container);
        } else {
            // Nobody knows what it is good for.
            container.end();
        }
        ran
    }
}

/// What the first process of the container is to do.
fn plan(spec: &Spec, shape: &Shape, container: &container::Container) -> Result<Plan, Failure> {
    let kind = Kind::Docker {
        memories: container.memories.clone(),
    };
    let places = environment::Places {
        programs: &container.programs,
        ..PLACES
    };
    let variables = environment::variables(spec, &places)?;
    let mut plan = Plan {
        sources: shape.sources.clone(),
        view: shape.seen(),
        writable: shape.writable(&container.memories),
        ..environment::plan(kind, spec, shape.tenant, variables, OTHERS)
    };
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
