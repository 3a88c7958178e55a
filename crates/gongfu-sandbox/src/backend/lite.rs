//! No namespaces: for machines that don't allow any, as inside of a default container.
//!
//! Landlock restricts the files of the program, seccomp its system calls, and where gongfu is root it is
//! another user. The rest of the machine is visible, so this is for a single person. The run's folders keep
//! their paths on the machine (`folders.rs`).

use std::io;
use std::path::{Path, PathBuf};

use gongfu_core::sandbox::{Level, Means, Outcome, Spec};

use super::copy::{MountCopies, MountedBy};
use super::execute::execute;
use super::folders::{Folders, OtherNames};
use super::layer::merge_layers;
use super::{Backend, Failure, HostView, Profile, RunContext};
use crate::plan::{Launch, Piece};
use crate::run_dir::RunDir;
use crate::system::View;

/// The backend.
pub(crate) struct Lite;

static PROFILE: Profile = Profile {
    level: Level::new("lite"),
    about: "lite: Landlock and seccomp, without namespaces; for one person alone",
    is_single_tenant: true,
    is_opt_in: false,
    reaches_hosts: false,
    host: HostView::Open,
    processes: Means::Watchdog,
    disk: Means::Watchdog,
};

impl Backend for Lite {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn execute(&self, job: &Spec, context: &RunContext<'_>) -> Result<Outcome, Failure> {
        let tenant = context.tenant_but_root()?;
        let copies = MountCopies::new(job, tenant, MountedBy::Tenant)?;
        let run_dir = RunDir::new(tenant.is_some())?;
        let (system, other_names) = system()?;
        let folders = Folders::new(&run_dir.path, job, tenant, &other_names)?;
        let launch = Launch::Direct {
            folder: folders.whole.clone(),
        };
        let readable = [system, folders.readable.clone()].concat();
        let plan = folders.plan(launch, readable, job, tenant)?;
        let layers = copies.layers()?;
        let baseline = copies.fill(&folders.copies)?;
        let mut result = execute(self, &plan, job, context, |_| Ok(()))?;
        result.layers = result.layers.map(|_| copies.only_layers(folders.copies));
        merge_layers(job, context, layers, result, Some(&baseline))
    }
}

/// The parts of the system that every run may read, and the other names of its programs.
fn system() -> io::Result<(Vec<PathBuf>, OtherNames)> {
    let view = View::of_the_system()?;
    let (mut readable, mut other_names) = (Vec::new(), OtherNames::new());
    for piece in &view.pieces {
        match piece {
            Piece::Bind {
                source,
                device: false,
                ..
            } => readable.extend(view.sources.get(*source).map(|one| one.path.clone())),
            Piece::Link { at, to } => {
                if let Ok(name) = Path::new(at).strip_prefix("/run/programs") {
                    let name = name.to_string_lossy().into_owned();
                    other_names.push((name, PathBuf::from(to)));
                }
            }
            _ => {}
        }
    }
    Ok((readable, other_names))
}
