//! Brings what a run wrote to where it is to stay, and says what that was.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;

use gongfu_core::sandbox::{Artifact, Mode, Mount, Outcome, Spec};

use super::Failure;
use super::carry::Ran;
use crate::copies::Before;
use crate::merge::{self, Changes};
use crate::plan::Owner;

/// The mounts whose changes lie in layers, in the order of these.
pub(super) fn layered(spec: &Spec) -> impl Iterator<Item = &Mount> + Clone {
    let is_layer = |mount: &&Mount| mount.mode == Mode::Layered && !mount.sources.is_empty();
    spec.mounts.iter().filter(is_layer)
}

/// Brings it there; answers how the run ended. `before` is what the layers held at their beginning, where
/// they are copies.
pub(super) fn what_was_written(
    spec: &Spec,
    ran: Ran,
    before: &[Before],
) -> Result<Outcome, Failure> {
    let mut outcome = ran.outcome;
    if ran.stood && ran.layers.len() != layered(spec).count() {
        return Err(Failure::Io(io::Error::other(
            "what was written can't be reached",
        )));
    }
    // What a run may write it may also leave, whatever it makes of it.
    let mut left = spec.limits.disk;
    for (number, (mount, layer)) in layered(spec).zip(ran.layers).enumerate() {
        let Some(target) = &mount.keep else {
            continue;
        };
        std::fs::create_dir_all(target)?;
        let target = File::open(target)?;
        let found = target.metadata()?;
        let owner = Owner {
            user: found.uid(),
            group: found.gid(),
        };
        let owner = rustix::process::geteuid().is_root().then_some(owner);
        let Changes { listed, total, .. } =
            merge::merge(layer, target.into(), owner, &mut left, before.get(number))?;
        let seen = |path: String| format!("{}/{path}", mount.target);
        let listed = listed.into_iter().map(|(path, change)| Artifact {
            path: seen(path),
            change,
        });
        outcome.artifacts.extend(listed);
        outcome.changed += total;
    }
    Ok(outcome)
}
