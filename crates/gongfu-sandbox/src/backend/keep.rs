//! Brings what a run wrote to where it is to stay, and says what that was.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use gongfu_core::sandbox::{Artifact, Mode, Mount, Outcome, Reason, Spec};

use super::carry::Ran;
use super::{Failure, Surroundings};
use crate::copies::Before;
use crate::merge::{self, Below, Changes, Known, Terms};
use crate::plan::Owner;

/// How much longer than a run it may take to bring what it wrote to where it is to stay.
const MERGING: Duration = Duration::from_secs(30);

/// A layer that a run wrote to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layer<'a> {
    /// Where the run saw it.
    pub(super) seen: &'a str,
    /// Where what is in it is to stay; `None` for nowhere.
    pub(super) keep: Option<&'a PathBuf>,
    /// What lies below that place, which stays as it is.
    pub(super) below: &'a [PathBuf],
}

/// The layers of those mounts that have one, in their order.
#[cfg(target_os = "linux")]
pub(super) fn layers(spec: &Spec) -> Vec<Layer<'_>> {
    let is_layer = |mount: &&Mount| mount.mode == Mode::Layered && !mount.sources.is_empty();
    let layers = spec.mounts.iter().filter(is_layer).map(|mount| Layer {
        seen: &mount.target,
        keep: mount.keep.as_ref(),
        below: below(mount),
    });
    layers.collect()
}

/// Brings it there; answers how the run ended. `before` is what the layers held at their beginning, where
/// they are copies.
///
/// However the run ended, what it wrote until then may be what somebody needs: a timeout takes the time and
/// not the results. Only where nobody waits any more nothing is brought: nobody could be told.
pub(super) fn what_was_written(
    spec: &Spec,
    surroundings: &Surroundings<'_>,
    layers: &[Layer<'_>],
    ran: Ran,
    before: &[Before],
) -> Result<Outcome, Failure> {
    let mut outcome = ran.outcome;
    if outcome.reason == Reason::Cancelled {
        return Ok(outcome);
    }
    if ran.stood && ran.layers.len() != layers.len() {
        return Err(Failure::Io(io::Error::other(
            "what was written can't be reached",
        )));
    }
    // What a run may write it may also leave, whatever it makes of it, and in the time that it has left.
    let mut left = spec.limits.disk;
    let by = Instant::now() + spec.limits.wall.saturating_sub(outcome.took) + MERGING;
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
        let terms = Terms {
            owner: rustix::process::geteuid().is_root().then_some(owner),
            by,
            cancel: surroundings.cancel,
        };
        let known = Known {
            below: opened(layer.below)?,
            before: before.get(number),
        };
        let Changes { listed, total, .. } =
            merge::merge(handle, target.into(), &known, &terms, &mut left)?;
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

/// What lies below the place that keeps what is written, where that is the uppermost of several sources.
pub(super) fn below(mount: &Mount) -> &[PathBuf] {
    match mount.sources.split_first() {
        Some((first, below))
            if mount.mode == Mode::Layered && Some(first) == mount.keep.as_ref() =>
        {
            below
        }
        _ => &[],
    }
}

fn opened(paths: &[PathBuf]) -> io::Result<Below> {
    let folders = paths.iter().map(|path| Ok(File::open(path)?.into()));
    folders.collect::<io::Result<_>>().map(Below::new)
}
