//! Counts the files that changes take away, besides those that git ignores.

mod rules;

use std::cell::OnceCell;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use gongfu_core::change::MAX_REMOVALS;
use rustix::fs::{self, AtFlags};

use self::rules::Rules;
use super::MAX_DEPTH;
use super::apply::is_folder;
use super::scan::{Kind, Node};
use crate::folder::{each_name, names, open_folder_of_mount};

/// Counts the files that changes take away, up to one more than a run may without a person.
///
/// # Errors
/// The target can't be read.
pub(super) fn count(nodes: &[Node], target: &OwnedFd, root: &Path) -> io::Result<usize> {
    let mut count = Count::default();
    let place = Place::new(target, Above::Root(root));
    count.nodes(nodes, &place, 0, false)?;
    Ok(count.files)
}

/// Returns whether nothing stays of several entries of a folder, whatever new ones it gets.
///
/// # Errors
/// The target can't be read.
pub(super) fn are_all(nodes: &[Node], target: &OwnedFd) -> io::Result<bool> {
    if !nodes.iter().any(Node::removes) {
        return Ok(false);
    }
    are_all_of(each_name(target)?, nodes, target)
}

/// The same for entries of a folder, which are read up to the first that stays.
fn are_all_of(
    there: impl Iterator<Item = io::Result<CString>>,
    nodes: &[Node],
    target: &OwnedFd,
) -> io::Result<bool> {
    let mut gone = 0;
    for name in there {
        let name = name?;
        if *name == *c".git" {
            continue;
        }
        if stays(&name, nodes, target, 0)? {
            return Ok(false);
        }
        gone += 1;
    }
    Ok(gone > 1)
}

/// Returns whether an entry of a folder stays: what it was, or something in it.
fn stays(name: &CStr, nodes: &[Node], target: &OwnedFd, depth: usize) -> io::Result<bool> {
    let Some(node) = find(nodes, name) else {
        return Ok(true);
    };
    let was_folder =
        || fs::statat(target, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|found| is_folder(&found));
    match &node.kind {
        Kind::Removal => Ok(false),
        Kind::File { .. } | Kind::Link(_) => Ok(!was_folder()),
        Kind::Folder(folder) => {
            if folder.is_opaque || !was_folder() || depth > MAX_DEPTH {
                return Ok(false);
            }
            let Ok(inside) = open_folder_of_mount(target, name) else {
                return Ok(true);
            };
            let mut is_empty = true;
            for name in each_name(&inside)? {
                is_empty = false;
                if stays(&name?, &folder.nodes, &inside, depth + 1)? {
                    return Ok(true);
                }
            }
            Ok(is_empty)
        }
        _ => Ok(true),
    }
}

/// The change of this name, among those of a folder in the order of their names.
fn find<'a>(nodes: &'a [Node], name: &CStr) -> Option<&'a Node> {
    let found = nodes.binary_search_by(|node| (*node.name).cmp(name));
    found.ok().and_then(|at| nodes.get(at))
}

/// A folder of the target.
struct Place<'a> {
    folder: &'a OwnedFd,
    above: Above<'a>,
    /// The rules of git for it, which are read for the first entry that goes.
    rules: OnceCell<Rules>,
}

/// The way to a folder.
enum Above<'a> {
    /// It is the target, which has this path.
    Root(&'a Path),
    /// It is in another one, and has this name.
    Folder(&'a Place<'a>, &'a CStr),
}

impl<'a> Place<'a> {
    fn new(folder: &'a OwnedFd, above: Above<'a>) -> Self {
        let rules = OnceCell::new();
        Self {
            folder,
            above,
            rules,
        }
    }

    fn rules(&self) -> &Rules {
        self.rules.get_or_init(|| match self.above {
            Above::Root(path) => Rules::at(path, self.folder),
            Above::Folder(place, name) => place.rules().folder(name, self.folder),
        })
    }
}

#[derive(Default)]
struct Count {
    files: usize,
}

impl Count {
    /// Counts what changes of a folder take away; those in one that is replaced replace what they are put over.
    fn nodes(
        &mut self,
        nodes: &[Node],
        place: &Place<'_>,
        depth: usize,
        is_replaced: bool,
    ) -> io::Result<()> {
        let target = place.folder;
        for node in nodes {
            if self.is_over() || depth > MAX_DEPTH {
                break;
            }
            let name = &*node.name;
            match &node.kind {
                Kind::Folder(folder) if is_replaced || node.removes() => {
                    let Ok(inside) = open_folder_of_mount(target, name) else {
                        continue;
                    };
                    let inside = Place::new(&inside, Above::Folder(place, name));
                    let is_replaced = is_replaced || folder.is_opaque;
                    self.nodes(&folder.nodes, &inside, depth + 1, is_replaced)?;
                    if is_replaced {
                        self.others(&folder.nodes, &inside, depth + 1)?;
                    }
                }
                Kind::Removal => self.entry(name, place, depth)?,
                // A file in the place of a file takes nothing away.
                Kind::File { .. } | Kind::Link(_) => {
                    let found = fs::statat(target, name, AtFlags::SYMLINK_NOFOLLOW);
                    if found.is_ok_and(|found| is_folder(&found)) {
                        self.entry(name, place, depth)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Counts the entries of a folder that are not among its changes.
    fn others(&mut self, nodes: &[Node], place: &Place<'_>, depth: usize) -> io::Result<()> {
        for name in each_name(place.folder)? {
            if self.is_over() {
                break;
            }
            let name = name?;
            if find(nodes, &name).is_none() {
                self.entry(&name, place, depth)?;
            }
        }
        Ok(())
    }

    /// Counts an entry of the target with everything in it.
    fn entry(&mut self, name: &CStr, place: &Place<'_>, depth: usize) -> io::Result<()> {
        let Ok(found) = fs::statat(place.folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
            return Ok(());
        };
        if !is_folder(&found) {
            if !place.rules().ignores_file(name) {
                self.files += 1;
            }
            return Ok(());
        }
        let Ok(inside) = open_folder_of_mount(place.folder, name) else {
            return Ok(());
        };
        let inside = Place::new(&inside, Above::Folder(place, name));
        if depth > MAX_DEPTH || inside.rules().ignores_all() {
            return Ok(());
        }
        for name in names(inside.folder)? {
            if self.is_over() {
                break;
            }
            self.entry(&name, &inside, depth + 1)?;
        }
        Ok(())
    }

    /// Returns whether more goes than may without a person; the rest needs no count.
    fn is_over(&self) -> bool {
        self.files > MAX_REMOVALS
    }
}

#[cfg(test)]
mod tests;
