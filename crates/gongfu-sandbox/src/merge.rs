//! Merges the layer of a run into the folder that keeps it.
//!
//! An untrusted program wrote the layer: no link in it is followed, and only folders, files and links that stay inside are
//! merged. It is walked by handles after every process of the run has ended, so it doesn't change meanwhile.
//! Others may be at work in the target, so no link is followed there either, nothing crosses into another
//! mount, and no work of theirs is overwritten (`apply.rs`).
//!
//! The target may itself be a layer above other folders, as that of a skill is. Then it keeps only what a run
//! wrote: a file that is the same below isn't kept, so that it doesn't hide a later version, and a removal from
//! below isn't remembered. The file is back in the next run, which is reported. Bytecode of Python isn't kept either.

mod apply;
mod below;
mod changes;
pub(crate) mod flat;
mod folder_notes;
mod git;
pub(crate) mod hold;
mod judge;
mod links;
mod mentions;
pub(crate) mod name;
mod removals;
mod room;
mod scan;
mod staging;

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::time::Instant;

use rustix::fs::{self, Stat};

use gongfu_core::change::{Change, Holding, MAX_REMOVALS};

pub(crate) use apply::beside;
pub(crate) use below::Below;
pub(crate) use changes::Changes;
pub(crate) use folder_notes::{FolderNotes, KnownFolder};
pub(crate) use judge::join_moves;
pub(crate) use scan::Node;

use self::apply::{Applier, Pass, Place};
use self::judge::Judge;
use self::scan::{FolderBefore, Scan};
use crate::copier::Before;
use crate::file_time::{Beginning, FileTime, note_change};
use crate::plan::UnixId;
use crate::poll::is_readable;

/// The deepest nesting of folders.
pub(crate) const MAX_DEPTH: usize = 64;
/// The message for a change that came too late.
const LATE: &str = "the time limit left no time to save it";
/// The terms of a merge.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    /// The beginning of the run: it saw no later change.
    pub(crate) began: Beginning,
    /// The name of the run, in the names of files that lie beside others'.
    pub(crate) run: &'a str,
    /// The owner of new files; `None` for this process's own.
    pub(crate) owner: Option<UnixId>,
    /// The time at which it stops; later entries are refused.
    pub(crate) deadline: Instant,
    /// Readable once the run is cancelled.
    pub(crate) cancel: BorrowedFd<'a>,
    /// A person allowed the changes: links may lead out.
    pub(crate) is_allowed: bool,
    /// Paths below the target that the run didn't see: nothing there is removed.
    pub(crate) unseen: &'a [PathBuf],
}

impl Terms<'_> {
    fn is_cancelled(&self) -> bool {
        is_readable(self.cancel)
    }

    /// Returns whether the deadline has passed.
    fn is_late(&self) -> bool {
        Instant::now() > self.deadline
    }
}

/// The bytes that may still be written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    pub(crate) left: u64,
    /// The reason why nothing more is, for people.
    pub(crate) why: &'static str,
}

impl Budget {
    /// The budget of a run.
    pub(crate) fn of_run(bytes: u64) -> Self {
        Self {
            left: bytes,
            why: "it exceeds the disk limit",
        }
    }

    /// The part of it for what is kept beside skills, where that takes no more than so many bytes.
    pub(crate) fn beside_skills(self, room: u64) -> Self {
        if room >= self.left {
            return self;
        }
        Self {
            left: room,
            why: "the files of runs beside skills would exceed 1 GiB; a person can list them with `gongfu layer list` and make room with `gongfu layer clear`",
        }
    }
}

/// The context of a folder besides the content of its layer.
#[derive(Default)]
pub(crate) struct FolderContext<'a> {
    /// The folders below the target.
    pub(crate) below: Below,
    /// The content of the layer at its beginning, where it is a copy: unchanged files aren't merged.
    pub(crate) before: Option<&'a Before>,
    /// The folders of the target that were there when the run began, as far as they are known.
    pub(crate) known: Option<KnownFolder>,
}

/// The changes in a layer, and the folder that they are for.
pub(crate) struct Merge {
    layer: OwnedFd,
    target: OwnedFd,
    nodes: Vec<Node>,
    changes: Changes,
}

impl Merge {
    /// Finds the changes in a layer within a budget, from which they are then taken. Cancelling ends it early.
    ///
    /// # Errors
    /// The layer can't be read.
    pub(crate) fn scan(
        layer: OwnedFd,
        target: OwnedFd,
        context: &FolderContext<'_>,
        terms: &Terms<'_>,
        budget: &mut Budget,
    ) -> io::Result<Self> {
        let mut scan = Scan {
            terms,
            is_copy: context.before.is_some(),
            is_above_skill: !context.below.is_empty(),
            budget: *budget,
            modes: BTreeMap::new(),
        };
        let nodes = scan.folder(&layer, context, 0, 0)?;
        *budget = scan.budget;
        Ok(Self::of(layer, target, nodes))
    }

    /// These changes, whose files are in a folder.
    pub(crate) fn of(layer: OwnedFd, target: OwnedFd, nodes: Vec<Node>) -> Self {
        Self {
            layer,
            target,
            nodes,
            changes: Changes::default(),
        }
    }

    /// The number of files that the changes take away, besides those that git ignores; `root` is the path of the
    /// target on this machine. One above the limit stands for all above it.
    ///
    /// # Errors
    /// The target can't be read.
    pub(crate) fn removals(&self, root: &Path) -> io::Result<usize> {
        removals::count(&self.nodes, &self.target, root)
    }

    /// Marks the changes that wait for a person; `root` is the path of the target on this machine, and the run took
    /// `removals` files away from all its folders together.
    ///
    /// # Errors
    /// The target can't be read.
    pub(crate) fn judge(
        &mut self,
        holding: &Holding,
        root: &Path,
        removals: usize,
    ) -> io::Result<()> {
        if self.nodes.is_empty() {
            return Ok(());
        }
        let takes_many = removals > MAX_REMOVALS;
        Judge::new(holding, root).mark(&mut self.nodes, &self.layer, &self.target, takes_many)
    }

    /// Takes out the changes that wait, which are then no part of this merge any more; the run began at `began`.
    pub(crate) fn take_held(&mut self, began: Beginning) -> Vec<Node> {
        hold::drop_done(&mut self.nodes);
        let mut held = hold::take(&mut self.nodes);
        hold::note_folders(&mut held, &self.target, began.time());
        held
    }

    /// The state of the folder that the changes are for.
    ///
    /// # Errors
    /// It isn't there any more.
    pub(crate) fn target(&self) -> io::Result<Stat> {
        Ok(fs::fstat(&self.target)?)
    }

    /// The folder that the changes are for.
    pub(crate) fn folder(&self) -> &OwnedFd {
        &self.target
    }

    /// Copies the files of changes of this merge into a folder.
    ///
    /// # Errors
    /// A file can't be read or written.
    pub(crate) fn copy(&self, nodes: &[Node], to: &OwnedFd) -> io::Result<()> {
        hold::copy(nodes, &self.layer, to)
    }

    /// Refuses all changes.
    pub(crate) fn refuse(&mut self, why: &str) {
        let nodes = std::mem::take(&mut self.nodes);
        self.report(&nodes, |_| Change::Refused(why.to_owned()));
    }

    /// Reports changes that are no part of the merge any more.
    pub(crate) fn report(&mut self, nodes: &[Node], change: impl Fn(&str) -> Change) {
        let changes = &mut self.changes;
        hold::list(nodes, "", &mut |path, _, why| {
            changes.add(path, change(why));
        });
    }

    /// Applies the changes. Cancelling stops it between two files.
    ///
    /// # Errors
    /// The target can't be read. Whatever else fails is in the changes.
    pub(crate) fn apply(mut self, terms: &Terms<'_>) -> io::Result<Changes> {
        let mut changes = self.changes;
        if !self.nodes.is_empty() {
            let before = FolderBefore {
                modified: FileTime::modified(&fs::fstat(&self.target)?),
                is_moved: false,
            };
            let stopped = room::lack(&self.nodes, &self.target)?;
            let mut applier = Applier {
                terms,
                began: terms.began.time(),
                root: &self.target,
                staging: None,
                changes,
                stopped,
            };
            for pass in [Pass::Create, Pass::Replace, Pass::Remove] {
                let place = Place {
                    layer: &self.layer,
                    target: &self.target,
                    before,
                    path: "",
                };
                applier.walk(pass, &mut self.nodes, place);
            }
            note_change();
            changes = applier.changes;
        }
        Ok(changes)
    }
}

/// Returns whether a link at this path stays inside of the merged folder.
///
/// It may climb only before it descends, because what it descends through may be a link by then. The folders
/// above a link are real ones, so a chain of such links stays inside as well.
fn stays_inside(path: &str, to: &CStr) -> bool {
    let Ok(to) = to.to_str() else {
        return false;
    };
    let mut above = path.matches('/').count();
    let mut descends = false;
    for component in Path::new(to).components() {
        match component {
            Component::Normal(_) => descends = true,
            Component::CurDir => {}
            Component::ParentDir if descends => return false,
            Component::ParentDir => match above.checked_sub(1) {
                Some(less) => above = less,
                None => return false,
            },
            Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests;
