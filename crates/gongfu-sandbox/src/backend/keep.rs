//! Brings what a run wrote to where it is to stay, and says what that was.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use gongfu_core::sandbox::{Artifact, Mode, Mount, Outcome, Spec};

use super::Failure;
use super::carry::Ran;
use crate::copies::Before;
use crate::merge::{self, Changes};
use crate::plan::Owner;

/// A layer that a run wrote to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layer<'a> {
    /// Where the run saw it.
    pub(super) seen: &'a str,
    /// Where what is in it is to stay; `None` for nowhere.
    pub(super) keep: Option<&'a PathBuf>,
}

/// The layers of those mounts that have one, in their order.
pub(super) fn layers(spec: &Spec) -> Vec<Layer<'_>> {
    let is_layer = |mount: &&Mount| mount.mode == Mode::Layered && !mount.sources.is_empty();
    let layers = spec.mounts.iter().filter(is_layer).map(|mount| Layer {
        seen: &mount.target,
        keep: mount.keep.as_ref(),
    });
    layers.collect()
}

/// Brings it there; answers how the run ended. `before` is what the layers held at their beginning, where
/// they are copies.
pub(super) fn what_was_written(
    spec: &Spec,
    layers: &[Layer<'_>],
    ran: Ran,
    before: &[Before],
) -> Result<Outcome, Failure> {
    let mut outcome = ran.outcome;
    if ran.stood && ran.layers.len() != layers.len() {
        return Err(Failure::Io(io::Error::other(
            "what was written can't be reached",
        )));
    }
    // What a run may write it may also leave, whatever it makes of it.
    let mut left = spec.limits.disk;
    for (number, (layer, handle)) in layers.iter().zip(ran.layers).enumerate() {
        let Some(target) = layer.keep else {
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
            merge::merge(handle, target.into(), owner, &mut left, before.get(number))?;
        let seen = |path: String| format!("{}/{path}", layer.seen);
        let listed = listed.into_iter().map(|(path, change)| Artifact {
            path: seen(path),
            change,
        });
        outcome.artifacts.extend(listed);
        outcome.changed += total;
    }
    Ok(outcome)
}
