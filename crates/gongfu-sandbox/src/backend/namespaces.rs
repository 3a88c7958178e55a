//! Namespaces of our own: the default.

use std::path::{Path, PathBuf};

use gongfu_core::sandbox::{HOME, Level, Means, Mode, Outcome, Spec};

use super::execute::execute;
use super::layer::{layers, merge_layers};
use super::program::{self, Places};
use super::{Backend, Failure, HostView, Profile, RunContext};
use crate::plan::{Isolation, Launch, Plan, UnixId};
use crate::system::{View, place};

/// The supervisor and init are both of the run's user namespace.
const OTHER_PROCESSES: u64 = 2;
/// Everything that a run writes lies in one file system, wherever the view shows it; this is one place.
pub(super) const FILE_SYSTEM: &str = "/tmp";
/// The folders that every run may write to.
pub const SCRATCH: [&str; 3] = ["/dev/shm", "/tmp", HOME];
/// The folders that every program asks for.
pub const PLACES: Places<'static> = Places {
    home: HOME,
    scratch: "/tmp",
    programs: "/run/programs",
};

/// The backend.
pub(crate) struct Namespaces;

static PROFILE: Profile = Profile {
    level: Level::new("namespaces"),
    about: "namespaces, Landlock and seccomp",
    is_single_tenant: false,
    is_opt_in: false,
    reaches_hosts: true,
    host: HostView::Hidden,
    processes: Means::ProcessLimit,
    disk: Means::SizedFileSystem,
};

impl Backend for Namespaces {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn execute(&self, job: &Spec, context: &RunContext<'_>) -> Result<Outcome, Failure> {
        let plan = plan(job, context.tenant)?;
        let layers = layers(job)?;
        let result = execute(self, &plan, job, context, |_| Ok(()))?;
        merge_layers(job, context, layers, result, None)
    }
}

fn plan(job: &Spec, tenant: Option<UnixId>) -> Result<Plan, Failure> {
    let mut view = View::of_the_system()?;
    let mut writable: Vec<PathBuf> = SCRATCH.map(PathBuf::from).into();
    for mount in &job.mounts {
        let at = &place(&mount.target);
        // An overlay keeps what it once saw, and so does a hidden file that is replaced on the machine.
        let is_own = |source: &PathBuf| source.as_path() == Path::new(&**at);
        let hides = |at: &str| {
            job.hidden
                .iter()
                .any(|path| Path::new(path).starts_with(at))
        };
        let added = match (mount.mode, mount.sources.as_slice()) {
            (Mode::Layered, []) => {
                view.add_scratch(at);
                Ok(())
            }
            (Mode::Layered, sources) => view.add_layer(sources, at),
            (Mode::ReadOnly, [source]) if is_own(source) && !hides(at) => {
                view.add_own(source, at, false)
            }
            (Mode::ReadWrite, [source]) if is_own(source) => view.add_own(source, at, true),
            (Mode::ReadOnly, [source, ..]) => view.add_nameless(source, at),
            (Mode::ReadWrite, [source, ..]) => view.add_bind(source, at, true, false),
            (_, []) => Ok(()),
        };
        added.map_err(|error| super::missing(mount, &error))?;
        if mount.mode != Mode::ReadOnly {
            writable.push(PathBuf::from(&**at));
        }
    }
    for (at, to) in &job.links {
        view.add_other_name(at, to);
    }
    for at in &job.hidden {
        view.add_hidden(&place(at));
    }
    let variables = program::view_variables(job, &PLACES)?;
    Ok(Plan {
        sources: view.sources,
        view: view.pieces,
        writable,
        is_proxied: !job.reach.is_off(),
        file_systems: vec![FILE_SYSTEM.to_owned()],
        ..program::plan(
            Some(Launch::Namespaces),
            Isolation::Full,
            job,
            tenant,
            variables,
            OTHER_PROCESSES,
        )
    })
}
