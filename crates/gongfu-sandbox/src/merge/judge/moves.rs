//! Lets the two halves of a move wait together: what a run took away, and what it made of it.
//!
//! A layer shows a move as a removal and as new files. Applying one half alone would lose the files or double them.
//! A move keeps the times of files, so the halves are found by those.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CStr;
use std::os::fd::OwnedFd;

use rustix::fs::{self, AtFlags, FileType};

use crate::file_time::FileTime;
use crate::folder::{names, open_folder, open_folder_of_mount};
use crate::merge::apply::is_folder;
use crate::merge::scan::{Kind, Node};
use crate::merge::{MAX_DEPTH, Merge};

/// The reason for people.
const MOVED: &str = "the other half of a move waits";
/// The reason for a folder in which no halves can be looked for.
const UNREADABLE: &str = "it can't be read, and may hold the other half of a move";
/// The most files of one change that are compared.
const MAX_FILES: usize = 200_000;

/// A file as a move keeps it: its type, its length, and the time of its content.
type Mark = (u32, i64, FileTime);

/// The files of a change that waits as a whole or not at all.
#[derive(Default)]
struct Files {
    takes: BTreeSet<Mark>,
    makes: BTreeSet<Mark>,
}

/// Lets changes wait that belong to one that does, perhaps to one of another folder.
pub(crate) fn join_moves<'a>(merges: impl Iterator<Item = &'a mut Merge>) {
    let merges: Vec<&mut Merge> = merges.collect();
    let mut reasons = merges.iter().map(|merge| super::first_reason(&merge.nodes));
    if reasons.all(|reason| reason.is_none()) {
        return;
    }
    let mut changes = Vec::new();
    for merge in merges {
        collect(
            &mut merge.nodes,
            &merge.layer,
            Some(&merge.target),
            &mut changes,
        );
    }
    let (nodes, files): (Vec<&mut Node>, Vec<Files>) = changes.into_iter().unzip();
    let mut is_held: Vec<bool> = nodes.iter().map(|node| node.held.is_some()).collect();
    spread(&files, &mut is_held);
    for (node, is_held) in nodes.into_iter().zip(is_held) {
        if is_held && node.held.is_none() {
            super::hold_all(std::slice::from_mut(node), MOVED);
        }
    }
}

/// Marks the changes that are halves of moves with those that wait, and so on from these.
fn spread(changes: &[Files], is_held: &mut [bool]) {
    let (mut takers, mut makers) = (Halves::new(), Halves::new());
    for (number, change) in changes.iter().enumerate() {
        for mark in &change.takes {
            takers.entry(*mark).or_default().push(number);
        }
        for mark in &change.makes {
            makers.entry(*mark).or_default().push(number);
        }
    }
    let numbers = (0_usize..).zip(&*is_held);
    let mut work: Vec<usize> = numbers
        .filter(|(_, is_held)| **is_held)
        .map(|(number, _)| number)
        .collect();
    while let Some(change) = work.pop().and_then(|number| changes.get(number)) {
        // Each mark is followed once: after that all changes with it wait.
        let made = change.takes.iter().filter_map(|mark| makers.remove(mark));
        let taken = change.makes.iter().filter_map(|mark| takers.remove(mark));
        for number in made.chain(taken).flatten() {
            if let Some(is_held) = is_held.get_mut(number).filter(|is_held| !**is_held) {
                *is_held = true;
                work.push(number);
            }
        }
    }
}

/// The numbers of the changes that take or make files, by the files' marks.
type Halves = BTreeMap<Mark, Vec<usize>>;

/// Finds the changes that wait as a whole or not at all, with their files.
fn collect<'a>(
    nodes: &'a mut [Node],
    layer: &OwnedFd,
    target: Option<&OwnedFd>,
    changes: &mut Vec<(&'a mut Node, Files)>,
) {
    for node in nodes {
        if is_way(node) {
            match open_folder(layer, &node.name) {
                Ok(layer) => {
                    let inside =
                        target.and_then(|target| open_folder_of_mount(target, &node.name).ok());
                    if let Kind::Folder(folder) = &mut node.kind {
                        collect(&mut folder.nodes, &layer, inside.as_ref(), changes);
                    }
                    continue;
                }
                // Nobody knows which moves it has a half of.
                Err(_) => super::hold_all(std::slice::from_mut(node), UNREADABLE),
            }
        }
        let mut files = Files::default();
        if let Some(target) = target {
            files.takes = marks(target, &node.name);
        }
        if !matches!(node.kind, Kind::Removal) {
            files.makes = marks(layer, &node.name);
        }
        changes.push((node, files));
    }
}

/// Returns whether a folder of changes is only on the way to them.
fn is_way(node: &Node) -> bool {
    matches!(&node.kind, Kind::Folder(folder) if !folder.is_opaque && node.held.is_none())
}

/// The files of an entry.
fn marks(folder: &OwnedFd, name: &CStr) -> BTreeSet<Mark> {
    let mut found = BTreeSet::new();
    add_marks(folder, name, 0, &mut found);
    found
}

fn add_marks(folder: &OwnedFd, name: &CStr, depth: usize, found: &mut BTreeSet<Mark>) {
    let Ok(stat) = fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
        return;
    };
    if is_folder(&stat) {
        if depth <= MAX_DEPTH
            && let Ok(inside) = open_folder_of_mount(folder, name)
        {
            for name in names(&inside).unwrap_or_default() {
                add_marks(&inside, &name, depth + 1, found);
            }
        }
    } else if found.len() < MAX_FILES {
        let kind = FileType::from_raw_mode(stat.st_mode).as_raw_mode();
        found.insert((kind, stat.st_size, FileTime::modified(&stat)));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::ffi::CStr;
    use std::fs::File;
    use std::time::{Duration, Instant};

    use rustix::fs::stat;

    use super::{Files, Kind, Mark, Merge, Node, UNREADABLE, join_moves, spread};
    use crate::file_time::FileTime;
    use crate::merge::scan::Folder;

    #[test]
    fn long_chain_of_moves_waits_as_a_whole() {
        let time = FileTime::modified(&stat("/").unwrap());
        let mark = |length| -> BTreeSet<Mark> { BTreeSet::from([(0, length, time)]) };
        let chain = |length| Files {
            takes: mark(length),
            makes: mark(length + 1),
        };
        let mut changes: Vec<Files> = (0..30_000).map(chain).collect();
        // It belongs to none of the others.
        changes.push(chain(40_000));
        let mut is_held = vec![false; changes.len()];
        is_held[29_999] = true;
        let begun = Instant::now();
        spread(&changes, &mut is_held);
        let waiting = is_held.iter().filter(|is_held| **is_held);
        assert_eq!(waiting.count(), 30_000);
        assert!(!is_held[30_000]);
        assert!(begun.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn folder_that_cannot_be_read_waits_and_no_other_for_it() {
        let [layer, target] = [(), ()].map(|()| tempfile::tempdir().unwrap());
        let file = |name: &CStr| {
            let (size, mode) = (0, 0o644);
            Node::new(name.to_owned(), Kind::File { size, mode }, false)
        };
        // The layer has no folder of this name.
        let folder = Folder {
            nodes: vec![file(c"inside")],
            ..Folder::default()
        };
        let folder = Node::new(c"folder".to_owned(), Kind::Folder(folder), false);
        let mut waiting = file(c"waiting");
        waiting.held = Some("why".to_owned());
        let [layer, target] = [layer, target].map(|at| File::open(at.path()).unwrap().into());
        let mut merge = Merge::of(layer, target, vec![folder, file(c"other"), waiting]);
        join_moves(std::iter::once(&mut merge));
        let reasons: Vec<Option<&str>> = merge
            .nodes
            .iter()
            .map(|node| node.held.as_deref())
            .collect();
        assert_eq!(reasons, [Some(UNREADABLE), None, Some("why")]);
    }
}
