//! Namespaces of our own: the default.

use std::io;
use std::path::PathBuf;

use gongfu_core::sandbox::{Level, Means, Mode, Outcome, Spec};

use super::carry::{self, Strength};
use super::environment::{self, Places};
use super::{Backend, Failure, Surroundings, keep};
use crate::plan::{Kind, Owner, Plan};
use crate::system::View;

/// The outermost process and the first one inside: both are of the new namespace.
const WATCHING: u64 = 2;
/// Where a run may write in any case.
pub(super) const SCRATCH: [&str; 2] = ["/dev/shm", "/tmp"];
/// Where the places are that every program asks for.
pub(super) const PLACES: Places<'static> = Places {
    home: "/workspace",
    scratch: "/tmp",
    programs: "/run/programs",
};

/// The backend.
pub(crate) struct Namespaces;

impl Backend for Namespaces {
    fn level(&self) -> Level {
        Level::Namespaces
    }

    fn run(&self, spec: &Spec, surroundings: &Surroundings<'_>) -> Result<Outcome, Failure> {
        let strength = Strength {
            level: Level::Namespaces,
            processes: Means::ProcessLimit,
            disk: Means::SizedFileSystem,
        };
        let plan = plan(spec, surroundings.tenant)?;
        let ran = carry::out(strength, &plan, spec, surroundings, |_| Ok(()))?;
        keep::what_was_written(spec, surroundings, &keep::layers(spec), ran, &[])
    }
}

/// What the child is to do.
fn plan(spec: &Spec, tenant: Option<Owner>) -> Result<Plan, Failure> {
    let mut view = View::of_the_system()?;
    let kind = Kind::Namespaces {
        sources: view.sources.len(),
        pieces: view.pieces.len(),
    };
    let mut writable: Vec<PathBuf> = SCRATCH.map(PathBuf::from).into();
    for mount in &spec.mounts {
        let missing = |error: io::Error| super::missing(mount, &error);
        match (mount.mode, mount.sources.as_slice()) {
            (Mode::Layered, []) => view.scratch(&mount.target),
            (Mode::Layered, sources) => view.layer(sources, &mount.target).map_err(missing)?,
            (Mode::ReadOnly, [source, ..]) => view.show(source, &mount.target).map_err(missing)?,
            (Mode::ReadWrite, [source, ..]) => view
                .bind(source, &mount.target, true, false)
                .map_err(missing)?,
            (_, []) => {}
        }
        if mount.mode != Mode::ReadOnly {
            writable.push(PathBuf::from(&mount.target));
        }
    }
    let variables = environment::variables(spec, &PLACES)?;
    Ok(Plan {
        sources: view.sources,
        view: view.pieces,
        writable,
        ..environment::plan(kind, spec, tenant, variables, WATCHING)
    })
}
