//! The layers that a run writes to; their files are merged into folders of the host in the end.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gongfu_core::change::{Change, Holding};
use gongfu_core::sandbox::{Mode, Mount, Outcome, Reason, SKILL, Spec};
use rustix::fs::OFlags;

use super::execute::RunResult;
use super::{Failure, RunContext};
use crate::change_sets::NewSet;
use crate::copier::Before;
use crate::file_time::Beginning;
use crate::folder::open_real;
use crate::merge::{Below, Budget, Changes, FolderContext, FolderNotes, Merge, Terms, join_moves};
use crate::plan::UnixId;
use crate::random;

/// The time that merging may take besides the rest of the run's.
const MERGE_TIMEOUT: Duration = Duration::from_secs(30);

/// The time of a run beside which no folders are noted.
#[cfg(target_os = "linux")]
const SHORT_RUN: Duration = Duration::from_millis(50);

/// The layers of a run as they were before it, where they are copies.
pub struct Baseline {
    /// The time before they were copied.
    pub(super) began: Beginning,
    pub(super) layers: Vec<Before>,
}

/// A layer that a run writes to. Its folders are opened before the run: whatever happens to their names meanwhile,
/// the changes get into the folders that the run saw.
#[derive(Debug)]
pub struct Layer<'a> {
    mount: &'a Mount,
    /// The folder that it is merged into; `None` where it is dropped.
    keep: Option<OwnedFd>,
    /// The folders below that one, which stay as they are.
    below: Vec<OwnedFd>,
    /// The notes of what is in it as the run begins; copies have their own.
    notes: Option<FolderNotes>,
}

impl<'a> Layer<'a> {
    /// The layer of a mount.
    ///
    /// # Errors
    /// A folder can't be opened.
    pub(super) fn of(mount: &'a Mount) -> Result<Self, Failure> {
        let (keep, below) = match mount.mode {
            // The run writes to a copy.
            Mode::ReadWrite => (mount.sources.first(), &[][..]),
            Mode::ReadOnly => (mount.keep.as_ref(), &[][..]),
            Mode::Layered => match mount.sources.split_first() {
                Some((first, below)) if Some(first) == mount.keep.as_ref() => (Some(first), below),
                _ => (mount.keep.as_ref(), &[][..]),
            },
        };
        let open = |path: &PathBuf| {
            let opened = open_real(path, OFlags::RDONLY | OFlags::DIRECTORY);
            opened.map_err(|error| super::missing(mount, &error))
        };
        if let Some(keep) = keep {
            std::fs::create_dir_all(keep)?;
        }
        Ok(Self {
            mount,
            keep: keep.map(open).transpose()?,
            below: below.iter().map(open).collect::<Result<_, _>>()?,
            notes: None,
        })
    }
}

/// The layers of those mounts that have one, in their order.
///
/// # Errors
/// A folder that keeps one can't be opened.
#[cfg(target_os = "linux")]
pub(super) fn layers(job: &Spec) -> Result<Vec<Layer<'_>>, Failure> {
    let is_layer = |mount: &&Mount| mount.mode == Mode::Layered && !mount.sources.is_empty();
    let layers = job.mounts.iter().filter(is_layer);
    let layer = |mount| {
        let mut layer = Layer::of(mount)?;
        let notes = |keep| FolderNotes::begin(keep, SHORT_RUN);
        layer.notes = layer.keep.as_ref().and_then(notes);
        Ok(layer)
    };
    layers.map(layer).collect()
}

/// The targets of other mounts below this one, and what is hidden in it, relative to it.
pub(super) fn nested(job: &Spec, mount: &Mount) -> Vec<PathBuf> {
    let mounts = job.mounts.iter().map(|other| &other.target);
    let below = mounts.chain(&job.hidden).filter_map(|other| {
        let below = Path::new(other).strip_prefix(&mount.target).ok()?;
        (!below.as_os_str().is_empty()).then(|| below.to_owned())
    });
    below.collect()
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
    layers: Vec<Layer<'_>>,
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
        return Err(io::Error::other("can't open the run's layers").into());
    }
    // The merge may write as much as the run, and take the rest of its time.
    let mut budget = Budget::of_run(job.limits.disk);
    let left = job.limits.wall.saturating_sub(outcome.took);
    let run = format!("{:08x}", u32::from_le_bytes(random::bytes()?));
    let terms = Terms {
        began: baseline.map_or(result.began, |baseline| baseline.began),
        run: &run,
        owner: None,
        deadline: Instant::now() + left + MERGE_TIMEOUT,
        cancel: context.cancel,
        is_allowed: false,
        unseen: &[],
    };
    let mut merges = Vec::new();
    for (number, (layer, handle)) in layers.into_iter().zip(handles).enumerate() {
        let Some(keep) = layer.keep else {
            continue;
        };
        let folder_context = FolderContext {
            below: Below::new(layer.below),
            before: baseline.and_then(|baseline| baseline.layers.get(number)),
            known: layer.notes.and_then(|notes| notes.end(&keep)),
        };
        let whole = budget;
        if layer.mount.target == SKILL {
            budget = budget.beside_skills(job.limits.layer);
        }
        let before = budget.left;
        let scanned = Merge::scan(handle, keep, &folder_context, &terms, &mut budget);
        let written = before.saturating_sub(budget.left);
        budget = Budget {
            left: whole.left.saturating_sub(written),
            ..whole
        };
        match scanned {
            Ok(merge) => merges.push((layer.mount, merge)),
            Err(error) => add_changes(&mut outcome, layer.mount, Changes::failed(error)),
        }
    }
    if let Some(holding) = &job.holding {
        outcome.held = hold(job, holding, &mut merges, &terms);
    }
    let is_root = rustix::process::geteuid().is_root();
    for (mount, merge) in merges {
        let merge = || {
            let owner = merge.target()?;
            let owner = UnixId {
                user: owner.st_uid,
                group: owner.st_gid,
            };
            let terms = Terms {
                owner: is_root.then_some(owner),
                unseen: &nested(job, mount),
                ..terms
            };
            merge.apply(&terms)
        };
        // What was merged before is told all the same.
        add_changes(&mut outcome, mount, merge().unwrap_or_else(Changes::failed));
    }
    Ok(outcome)
}

/// Takes the changes that wait for a person out of merges, and keeps them; returns the id of their set.
fn hold(
    job: &Spec,
    holding: &Holding,
    merges: &mut [(&Mount, Merge)],
    terms: &Terms<'_>,
) -> Option<String> {
    let mut judged = Vec::new();
    let mut removals = 0;
    for (mount, merge) in merges {
        let mount: &Mount = mount;
        let host = mount.keep.as_ref().or(mount.sources.first());
        let Some(host) = host.filter(|_| holding.targets.contains(&mount.target)) else {
            continue;
        };
        match merge.removals(host) {
            Ok(files) => {
                removals += files;
                judged.push((mount, host, merge));
            }
            Err(error) => merge.refuse(&error.to_string()),
        }
    }
    judged.retain_mut(|(_, host, merge)| {
        let marked = merge.judge(holding, host, removals);
        marked
            .map_err(|error| merge.refuse(&error.to_string()))
            .is_ok()
    });
    join_moves(judged.iter_mut().map(|(_, _, merge)| &mut **merge));
    let mut all = Vec::new();
    for (mount, host, merge) in judged {
        let nodes = merge.take_held(terms.began);
        if !nodes.is_empty() {
            all.push((mount, host, merge, nodes));
        }
    }
    if all.is_empty() {
        return None;
    }
    let keep = || {
        let mut set = NewSet::new(holding, terms.run, terms.began)?;
        for (mount, host, merge, nodes) in &all {
            set.add(merge, nodes, (&mount.target, host), nested(job, mount))?;
        }
        set.publish()
    };
    let kept = keep();
    for (_, _, merge, nodes) in all {
        merge.report(&nodes, |why| match &kept {
            Ok(_) => Change::Held(why.to_owned()),
            Err(error) => Change::Refused(format!(
                "it needs approval ({why}), but can't be saved: {error}"
            )),
        });
    }
    kept.ok()
}

fn add_changes(outcome: &mut Outcome, mount: &Mount, changes: Changes) {
    outcome.changed += changes.total;
    outcome.artifacts.extend(changes.artifacts(&mount.target));
}
