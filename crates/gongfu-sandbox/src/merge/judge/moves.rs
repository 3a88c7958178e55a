//! Lets the two halves of a move wait together: what a run took away, and what it made of it.
//!
//! A layer shows a move as a removal and as new files. Applying one half alone would lose the files or double them.
//! A move keeps the times of files, so the halves are found by those.

use std::collections::BTreeSet;
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
/// The most files of one change that are compared.
const MAX_FILES: usize = 200_000;

/// A file as a move keeps it: its type, its length, and the time of its content.
type Mark = (u32, i64, FileTime);

/// A change that waits as a whole or not at all.
#[derive(Default)]
struct Unit {
    is_held: bool,
    /// Its files count among those that wait.
    is_joined: bool,
    takes: BTreeSet<Mark>,
    makes: BTreeSet<Mark>,
}

impl Unit {
    /// Returns whether it is the other half of a move.
    fn belongs_to(&self, other: &Self) -> bool {
        !self.takes.is_disjoint(&other.makes) || !self.makes.is_disjoint(&other.takes)
    }
}

/// Lets changes wait that belong to one that does, perhaps to one of another folder.
pub(crate) fn join_moves<'a>(merges: impl Iterator<Item = &'a mut Merge>) {
    let mut merges: Vec<&mut Merge> = merges.collect();
    let mut reasons = merges.iter().map(|merge| super::first_reason(&merge.nodes));
    if reasons.all(|reason| reason.is_none()) {
        return;
    }
    let mut units = Vec::new();
    for merge in &mut merges {
        collect(
            &mut merge.nodes,
            &merge.layer,
            Some(&merge.target),
            &mut units,
        );
    }
    let mut held = Unit::default();
    let mut has_grown = true;
    while has_grown {
        has_grown = false;
        for unit in units.iter_mut().filter(|unit| !unit.is_joined) {
            if unit.is_held || unit.belongs_to(&held) {
                (unit.is_held, unit.is_joined, has_grown) = (true, true, true);
                held.takes.extend(std::mem::take(&mut unit.takes));
                held.makes.extend(std::mem::take(&mut unit.makes));
            }
        }
    }
    let mut held = units.iter().map(|unit| unit.is_held);
    for merge in merges {
        mark(&mut merge.nodes, &mut held);
    }
}

/// The folder of changes, if it is only on the way to them.
fn way(node: &mut Node) -> Option<&mut [Node]> {
    match &mut node.kind {
        Kind::Folder(folder) if !folder.is_opaque && node.held.is_none() => Some(&mut folder.nodes),
        _ => None,
    }
}

fn collect(nodes: &mut [Node], layer: &OwnedFd, target: Option<&OwnedFd>, units: &mut Vec<Unit>) {
    for node in nodes {
        let name = node.name.clone();
        let is_held = node.held.is_some();
        if let Some(nodes) = way(node) {
            if let Ok(layer) = open_folder(layer, &name) {
                let target = target.and_then(|target| open_folder_of_mount(target, &name).ok());
                collect(nodes, &layer, target.as_ref(), units);
            }
            continue;
        }
        let mut unit = Unit {
            is_held,
            ..Unit::default()
        };
        if let Some(target) = target {
            unit.takes = marks(target, &name);
        }
        if !matches!(node.kind, Kind::Removal) {
            unit.makes = marks(layer, &name);
        }
        units.push(unit);
    }
}

/// Marks the changes in the order in which they were collected.
fn mark(nodes: &mut [Node], held: &mut impl Iterator<Item = bool>) {
    for node in nodes {
        if let Some(nodes) = way(node) {
            mark(nodes, held);
        } else if held.next() == Some(true) && node.held.is_none() {
            super::hold_all(std::slice::from_mut(node), MOVED);
        }
    }
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
