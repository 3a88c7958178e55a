//! Brings what a run wrote to where it is to stay, and says what that was.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, Instant};

use gongfu_core::sandbox::{Artifact, Mode, Mount, Outcome, Reason, Spec};

use super::carry::Ran;
use super::{Failure, Surroundings};
use crate::copies::Before;
use crate::merge::{self, Below, Changes, Known, Terms};
use crate::plan::Owner;

/// How much longer than a run it may take to bring what it wrote to where it is to stay.
const MERGING: Duration = Duration::from_secs(30);

/// The mounts whose changes lie in layers, in the order of these.
pub(super) fn layered(spec: &Spec) -> impl Iterator<Item = &Mount> + Clone {
    let is_layer = |mount: &&Mount| mount.mode == Mode::Layered && !mount.sources.is_empty();
    spec.mounts.iter().filter(is_layer)
}

/// Brings it there; answers how the run ended. `before` is what the layers held at their beginning, where
/// they are copies.
///
/// However the run ended, what it wrote until then may be what somebody needs: a timeout takes the time and
/// not the results. Only where nobody waits any more nothing is brought: nobody could be told.
pub(super) fn what_was_written(
    spec: &Spec,
    surroundings: &Surroundings<'_>,
    ran: Ran,
    before: &[Before],
) -> Result<Outcome, Failure> {
    let mut outcome = ran.outcome;
    if outcome.reason == Reason::Cancelled {
        return Ok(outcome);
    }
    if ran.stood && ran.layers.len() != layered(spec).count() {
        return Err(Failure::Io(io::Error::other(
            "what was written can't be reached",
        )));
    }
    // What a run may write it may also leave, whatever it makes of it, and in the time that it has left.
    let mut left = spec.limits.disk;
    let by = Instant::now() + spec.limits.wall.saturating_sub(outcome.took) + MERGING;
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
        let terms = Terms {
            owner: rustix::process::geteuid().is_root().then_some(owner),
            by,
            cancel: surroundings.cancel,
        };
        let known = Known {
            below: below(mount)?,
            before: before.get(number),
        };
        let Changes { listed, total, .. } =
            merge::merge(layer, target.into(), &known, &terms, &mut left)?;
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

/// What lies below the place that keeps what is written, where that is the uppermost of several sources.
fn below(mount: &Mount) -> io::Result<Below> {
    let below = match mount.sources.split_first() {
        Some((first, below)) if Some(first) == mount.keep.as_ref() => below,
        _ => &[],
    };
    let folders = below.iter().map(|path| Ok(File::open(path)?.into()));
    folders.collect::<io::Result<_>>().map(Below::new)
}
