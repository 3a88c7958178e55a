//! No namespaces at all: where nobody may make any, as inside of a default container.
//!
//! What the program may read and write is held by Landlock, what it may call by seccomp, and where
//! gongfu is root it is another user. The rest of the machine can be seen, so this is for one person
//! alone. Nothing is anywhere else than it is (`folders.rs`).

use std::io;
use std::path::{Path, PathBuf};

use gongfu_core::sandbox::{Level, Means, Outcome, Spec};

use super::carry::{self, Strength};
use super::copied::{Copied, Maker};
use super::folders::{Folders, OtherNames};
use super::{Backend, Failure, Surroundings, keep};
use crate::place::Place;
use crate::plan::{Kind, Piece};
use crate::system::View;

/// The backend.
pub(crate) struct Lite;

impl Backend for Lite {
    fn level(&self) -> Level {
        Level::Lite
    }

    fn run(&self, spec: &Spec, surroundings: &Surroundings<'_>) -> Result<Outcome, Failure> {
        let tenant = surroundings.tenant;
        if rustix::process::geteuid().is_root() && tenant.is_none() {
            let why = "gongfu is root here and can be nobody else; run it as another user";
            return Err(Failure::Unavailable(why.to_owned()));
        }
        let strength = Strength {
            level: Level::Lite,
            processes: Means::Watchdog,
            disk: Means::Watchdog,
        };
        let copied = Copied::of(spec, tenant, Maker::Tenant)?;
        let place = Place::new(tenant.is_some())?;
        let (system, other_names) = system()?;
        let folders = Folders::new(&place.path, spec, tenant, &other_names)?;
        let kind = Kind::Lite {
            folder: folders.whole.clone(),
            readable: [system, folders.readable.clone()].concat(),
        };
        let plan = folders.plan(kind, spec, tenant)?;
        let before = copied.fill(&folders.copies)?;
        let mut ran = carry::out(strength, &plan, spec, surroundings, |_| Ok(()))?;
        ran.layers = copied.kept(folders.copies);
        keep::what_was_written(spec, surroundings, &copied.layers(), ran, &before)
    }
}

/// What of the machine every run may read, and what programs have other names there.
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
