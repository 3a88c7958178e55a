//! The backend: `sandbox-exec` makes the system enforce a profile (`profile.rs`).
//!
//! The run's folders keep their paths (`backend/folders.rs`), and the run has gongfu's own user, so this is for a
//! single person. It can't enforce everything:
//!
//! - Memory, processes and disk space are watched, and not limited as a whole.
//! - Unlinked files don't count, nor does a process that leaves its parent and its group between two looks. It
//!   ends with the run all the same.
//! - A run may kill or stop its init (`kill -9 -1`). Then every known process is killed, but it is unknown
//!   whether one is left, and nothing that the run wrote is collected.
//! - A run sees that files and processes exist, the name of the machine, and the service that names its users.
//!
//! Each runner tries whether a run comes to its end, and each run tries whether a signal stays inside.

use std::path::{Path, PathBuf};

use gongfu_core::sandbox::{Level, Means, Outcome, Spec};

use super::profile::{self, RunRights};
use crate::backend::copy::{MountCopies, MountedBy};
use crate::backend::execute::execute;
use crate::backend::folders::{Folders, OtherNames};
use crate::backend::layer::merge_layers;
use crate::backend::{Backend, Failure, HostView, Profile, RunContext};
use crate::plan::Launch;
use crate::platform;
use crate::run_dir::RunDir;

/// The program that runs others under a profile.
const PROGRAM: &str = "/usr/bin/sandbox-exec";
/// The folders of programs that have other names, the first one first.
const FOLDERS: [&str; 3] = ["/opt/homebrew/bin", "/usr/local/bin", "/usr/bin"];
/// Other names of programs that scripts use.
const OTHER_NAMES: [(&str, &str); 2] = [("python", "python3"), ("pip", "pip3")];

/// The backend.
pub(crate) struct Seatbelt;

static PROFILE: Profile = Profile {
    level: Level::new("seatbelt"),
    about: "seatbelt: sandbox-exec of macOS; for one person alone",
    is_single_tenant: true,
    is_opt_in: false,
    reaches_hosts: false,
    host: HostView::Open,
    processes: Means::Watchdog,
    disk: Means::Watchdog,
};

impl Backend for Seatbelt {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn execute(&self, job: &Spec, context: &RunContext<'_>) -> Result<Outcome, Failure> {
        let tenant = context.tenant_but_root()?;
        if !Path::new(PROGRAM).exists() {
            let why = "`/usr/bin/sandbox-exec`, which is part of macOS, is missing; update macOS, or run gongfu on Linux";
            return Err(Failure::Unavailable(why.to_owned()));
        }
        let copies = MountCopies::new(job, tenant, MountedBy::Tenant)?;
        let run_dir = RunDir::new(tenant.is_some())?;
        let folders = Folders::new(&run_dir.path, job, tenant, &other_names())?;
        let rights = RunRights {
            itself: &platform::this_program()?,
            readable: &folders.readable,
            writable: &folders.writable,
        };
        let profile = profile::profile(&rights);
        let launch = Launch::Seatbelt {
            program: PathBuf::from(PROGRAM),
            folder: folders.whole.clone(),
            profile: profile.map_err(|error| Failure::Refused(error.to_string()))?,
        };
        // The profile says what may be read.
        let plan = folders.plan(launch, Vec::new(), job, tenant)?;
        let layers = copies.layers()?;
        let baseline = copies.fill(&folders.copies)?;
        let mut result = execute(self, &plan, job, context, |_| Ok(()))?;
        result.layers = result.layers.map(|_| copies.only_layers(folders.copies));
        merge_layers(job, context, layers, result, Some(&baseline))
    }

    fn lost(&self, is_ready: bool, stderr: &str) -> Failure {
        if is_ready {
            return Failure::lost();
        }
        let said = stderr.lines().next().unwrap_or("no output");
        let said = said.strip_prefix("sandbox-exec: ").unwrap_or(said);
        Failure::Unavailable(format!(
            "sandbox-exec can't start it ({said}); sandboxes can't be nested, so start gongfu outside of one, and make gongfu's program readable by its user"
        ))
    }
}

/// The other names that programs here don't have already.
fn other_names() -> OtherNames {
    let found = |name: &str| {
        let mut places = FOLDERS.iter().map(|folder| Path::new(folder).join(name));
        places.find(|place| place.exists())
    };
    let missing = OTHER_NAMES.iter().filter(|(name, _)| found(name).is_none());
    let names = missing.filter_map(|(name, program)| Some(((*name).to_owned(), found(program)?)));
    names.collect()
}
