//! The sandbox of macOS: what a program may do is said by a profile (`profile.rs`), and `sandbox-exec` has
//! the system hold it.
//!
//! Nothing is anywhere else than it is (`folders.rs`), and the run is whoever runs gongfu, so this is for
//! one person alone. What can't be held here:
//!
//! - Memory, processes and what is written are watched, and not limited as a whole.
//! - Files without a name aren't counted; nor is a process that leaves its parent and its group between
//!   two looks, though it ends with the run.
//! - A run may end or stop the first process of its sandbox (`kill -9 -1`). Then all is ended that is known,
//!   nobody can say that nobody is left, and so nothing is kept of what it wrote.
//! - That a file or a process is there may be seen, what the machine is called as well, and the one service
//!   that names its users.
//!
//! None of it was ever tried on macOS: each runner tries for itself whether a run comes to its end, and
//! whether a signal stays inside is tried with each run.

use std::path::{Path, PathBuf};

use gongfu_core::sandbox::{Level, Means, Outcome, Spec};

use super::carry::{self, Strength};
use super::copied::{Copied, Maker};
use super::folders::{Folders, OtherNames};
use super::profile::{self, Allowed};
use super::{Backend, Failure, Surroundings, keep};
use crate::begun;
use crate::place::Place;
use crate::plan::Kind;

/// What has a program held by a profile.
const PROGRAM: &str = "/usr/bin/sandbox-exec";
/// Where programs lie that scripts may call by other names, the first place first.
const FOLDERS: [&str; 3] = ["/opt/homebrew/bin", "/usr/local/bin", "/usr/bin"];
/// What scripts call a program that a system has under another name.
const OTHER_NAMES: [(&str, &str); 2] = [("python", "python3"), ("pip", "pip3")];

/// The backend.
pub(crate) struct Seatbelt;

impl Backend for Seatbelt {
    fn level(&self) -> Level {
        Level::Seatbelt
    }

    fn run(&self, spec: &Spec, surroundings: &Surroundings<'_>) -> Result<Outcome, Failure> {
        let tenant = surroundings.tenant;
        if rustix::process::geteuid().is_root() {
            let why = "gongfu is root here and can be nobody else; run it as another user";
            return Err(Failure::Unavailable(why.to_owned()));
        }
        if !Path::new(PROGRAM).exists() {
            let why = "`/usr/bin/sandbox-exec` isn't there, which is part of macOS; update macOS, or \
                       run gongfu on Linux";
            return Err(Failure::Unavailable(why.to_owned()));
        }
        let strength = Strength {
            level: Level::Seatbelt,
            processes: Means::Watchdog,
            disk: Means::Watchdog,
        };
        let copied = Copied::of(spec, tenant, Maker::Tenant)?;
        let place = Place::new(tenant.is_some())?;
        let folders = Folders::new(&place.path, spec, tenant, &other_names())?;
        let allowed = Allowed {
            itself: &begun::itself()?,
            readable: &folders.readable,
            writable: &folders.writable,
        };
        let profile = profile::profile(&allowed);
        let kind = Kind::Seatbelt {
            program: PathBuf::from(PROGRAM),
            folder: folders.whole.clone(),
            profile: profile.map_err(|error| Failure::Refused(error.to_string()))?,
        };
        let plan = folders.plan(kind, spec, tenant)?;
        let before = copied.fill(&folders.copies)?;
        let mut ran = carry::out(strength, &plan, spec, surroundings, |_| Ok(()))?;
        ran.layers = copied.kept(folders.copies);
        keep::what_was_written(spec, surroundings, &copied.layers(), ran, &before)
    }
}

/// The names by which scripts call programs that the system calls otherwise.
fn other_names() -> OtherNames {
    let found = |name: &str| {
        let mut places = FOLDERS.iter().map(|folder| Path::new(folder).join(name));
        places.find(|place| place.exists())
    };
    let missing = OTHER_NAMES.iter().filter(|(name, _)| found(name).is_none());
    let names = missing.filter_map(|(name, program)| Some(((*name).to_owned(), found(program)?)));
    names.collect()
}
