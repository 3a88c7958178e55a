//! The layers that a run writes to; their files are merged into folders of the host in the end.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use gongfu_core::sandbox::{Artifact, Change, Mode, Mount, Outcome, Reason, Spec};

use super::execute::RunResult;
use super::{Failure, RunContext};
use crate::copier::Before;
use crate::file_time::Beginning;
use crate::merge::{self, Below, Changes, FolderContext, Terms};
use crate::plan::UnixId;
use crate::random;

/// The time that merging may take besides the rest of the run's.
const MERGE_TIMEOUT: Duration = Duration::from_secs(30);

/// The layers of a run as they were before it, where they are copies.
pub struct Baseline {
    /// The time before they were copied.
    pub(super) began: Beginning,
    pub(super) layers: Vec<Before>,
}

/// A layer that a run wrote to.
#[derive(Debug, Clone, Copy)]
pub struct Layer<'a> {
    /// Its path in the view.
    target: &'a str,
    /// The folder that it is merged into; `None` where it is dropped.
    keep: Option<&'a PathBuf>,
    /// The folders below that one, which stay as they are.
    below: &'a [PathBuf],
}

impl<'a> Layer<'a> {
    /// The layer of a mount.
    pub(super) fn of(mount: &'a Mount) -> Self {
        Self {
            target: &mount.target,
            keep: match mount.mode {
                // The run wrote to a copy.
                Mode::ReadWrite => mount.sources.first(),
                Mode::ReadOnly | Mode::Layered => mount.keep.as_ref(),
            },
            below: match mount.sources.split_first() {
                Some((first, below))
                    if mount.mode == Mode::Layered && Some(first) == mount.keep.as_ref() =>
                {
                    below
                }
                _ => &[],
            },
        }
    }
}

/// The layers of those mounts that have one, in their order.
#[cfg(target_os = "linux")]
pub(super) fn layers(job: &Spec) -> Vec<Layer<'_>> {
    let is_layer = |mount: &&Mount| mount.mode == Mode::Layered && !mount.sources.is_empty();
    let layers = job.mounts.iter().filter(is_layer);
    layers.map(Layer::of).collect()
}

/// Merges the layers of a run; returns its outcome with the changes. `baseline` is their state before
/// it, where they are copies.
///
/// It doesn't matter why the run ended: a timeout takes the time, and not the results. Only a cancelled run isn't
/// merged, because nobody would learn about the changes.
///
/// # Errors
/// The layers of the run can't be reached.
pub fn merge_layers(
    job: &Spec,
    context: &RunContext<'_>,
    layers: &[Layer<'_>],
    result: RunResult,
    baseline: Option<&Baseline>,
) -> Result<Outcome, Failure> {
    let mut outcome = result.outcome;
    let Some(handles) = result
        .layers
        .filter(|_| outcome.reason != Reason::Cancelled)
    else {
        return Ok(outcome);
    };
    if handles.len() != layers.len() {
        return Err(io::Error::other("the run's layers can't be reached").into());
    }
    // The merge may write as much as the run, and take the rest of its time.
    let mut bytes = job.limits.disk;
    let left = job.limits.wall.saturating_sub(outcome.took);
    let deadline = Instant::now() + left + MERGE_TIMEOUT;
    let began = baseline.map_or(result.began, |baseline| baseline.began);
    let run = format!("{:08x}", u32::from_le_bytes(random::bytes()?));
    let is_root = rustix::process::geteuid().is_root();
    for (number, (layer, handle)) in layers.iter().zip(handles).enumerate() {
        let Some(target) = layer.keep else {
            continue;
        };
        let merge = || {
            std::fs::create_dir_all(target)?;
            let target = File::open(target)?;
            let found = target.metadata()?;
            let owner = UnixId {
                user: found.uid(),
                group: found.gid(),
            };
            let terms = Terms {
                began,
                run: &run,
                owner: is_root.then_some(owner),
                deadline,
                cancel: context.cancel,
            };
            let below = layer.below.iter().map(|path| Ok(File::open(path)?.into()));
            let folder_context = FolderContext {
                below: Below::new(below.collect::<io::Result<_>>()?),
                before: baseline.and_then(|baseline| baseline.layers.get(number)),
            };
            merge::merge(handle, target.into(), &folder_context, &terms, &mut bytes)
        };
        // What was merged before is told all the same.
        let Changes { listed, total, .. } = merge().unwrap_or_else(Changes::failed);
        let seen = |path: String| {
            format!("{}/{path}", layer.target)
                .trim_end_matches('/')
                .to_owned()
        };
        let listed = listed.into_iter().map(|(path, change)| Artifact {
            path: seen(path),
            change: match change {
                Change::Conflict(beside) => Change::Conflict(beside.map(seen)),
                change => change,
            },
        });
        outcome.artifacts.extend(listed);
        outcome.changed += total;
    }
    Ok(outcome)
}
