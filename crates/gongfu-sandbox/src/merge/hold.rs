//! Sets the changes apart that wait for a person.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;

use gongfu_core::change::HeldKind;
use rustix::fs::{self, Mode, OFlags, Stat};

use super::scan::{Folder, Kind, Node};
use crate::file_time::FileTime;
use crate::folder::{open_file, open_folder, open_folder_of_mount};

/// Drops the changes that turned out to be none, with folders that hold nothing else.
pub(super) fn drop_done(nodes: &mut Vec<Node>) {
    nodes.retain_mut(|node| match &mut node.kind {
        Kind::Folder(folder) if !folder.nodes.is_empty() => {
            drop_done(&mut folder.nodes);
            folder.is_opaque || !folder.nodes.is_empty()
        }
        kind => !matches!(kind, Kind::Done),
    });
}

/// Takes the changes that wait out of the others, with the folders that they are in.
pub(super) fn take(nodes: &mut Vec<Node>) -> Vec<Node> {
    let mut held: Vec<Node> = nodes.extract_if(.., |node| node.held.is_some()).collect();
    nodes.retain_mut(|node| {
        let Kind::Folder(folder) = &mut node.kind else {
            return true;
        };
        let inside = take(&mut folder.nodes);
        if inside.is_empty() {
            return true;
        }
        let kind = Kind::Folder(Folder {
            nodes: inside,
            is_opaque: false,
            ..folder.alone()
        });
        held.push(Node::new(node.name.clone(), kind, false));
        // A folder that holds nothing else isn't made.
        folder.is_opaque || !folder.nodes.is_empty()
    });
    held
}

/// Notes the folders that changes are for, as long as they are those that the run saw: until the changes are applied,
/// much may be written to them. One that can't be read isn't noted.
pub(super) fn note_folders(nodes: &mut [Node], target: &OwnedFd, began: FileTime) {
    let Ok(parent) = fs::fstat(target) else {
        return;
    };
    for node in nodes {
        let Kind::Folder(folder) = &mut node.kind else {
            continue;
        };
        let inside = open_folder_of_mount(target, &node.name);
        let Ok((inside, found)) = inside.and_then(|inside| {
            let found = fs::fstat(&inside)?;
            Ok((inside, found))
        }) else {
            continue;
        };
        if !folder.is_moved(&found, FileTime::modified(&parent), began) {
            folder.inode = Some(found.st_ino);
            note_folders(&mut folder.nodes, &inside, began);
        }
    }
}

/// Copies the files of changes from a layer into a folder.
///
/// # Errors
/// A file can't be read or written.
pub(super) fn copy(nodes: &[Node], layer: &OwnedFd, to: &OwnedFd) -> io::Result<()> {
    for node in nodes {
        let name = &*node.name;
        match &node.kind {
            Kind::Folder(folder) => {
                fs::mkdirat(to, name, Mode::from_raw_mode(0o700))?;
                copy(
                    &folder.nodes,
                    &open_folder(layer, name)?,
                    &open_folder(to, name)?,
                )?;
            }
            Kind::File { size, .. } => {
                let from = open_file(layer, name)?;
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                let made = fs::openat(to, name, flags, Mode::from_raw_mode(0o600))?;
                io::copy(&mut from.take(*size), &mut File::from(made))?;
            }
            Kind::Link(target) => fs::symlinkat(&**target, to, name)?,
            Kind::Removal | Kind::Restored(_) | Kind::Refused(_) | Kind::Done => {}
        }
    }
    Ok(())
}

/// A change in a list.
pub(crate) struct ListEntry<'a> {
    /// Its path below the merged folder, which may be no text.
    pub(crate) path: &'a [u8],
    node: &'a Node,
    /// The folders on the way to it.
    above: &'a [&'a Folder],
    /// It is a folder, in which only what the run left there stays.
    pub(crate) is_opaque: bool,
}

impl ListEntry<'_> {
    pub(crate) fn name(&self) -> &CStr {
        &self.node.name
    }

    /// The reason why it waits.
    pub(crate) fn why(&self) -> Option<&str> {
        self.node.held.as_deref()
    }

    /// Its kind; `None` if it changes nothing.
    pub(crate) fn kind(&self) -> Option<HeldKind> {
        match &self.node.kind {
            Kind::Folder(_) => Some(HeldKind::Folder),
            Kind::File { size, mode } => Some(HeldKind::Written {
                bytes: *size,
                executable: mode & 0o111 != 0,
            }),
            Kind::Link(to) => Some(HeldKind::Linked {
                to: to.to_string_lossy().into_owned(),
            }),
            Kind::Removal => Some(HeldKind::Removed),
            Kind::Restored(_) | Kind::Refused(_) | Kind::Done => None,
        }
    }

    /// True if it is only a folder on the way to other changes, as far as the list can tell.
    pub(crate) fn is_way(&self) -> bool {
        let Kind::Folder(folder) = &self.node.kind else {
            return false;
        };
        self.node.held.is_none() || !folder.is_opaque && !folder.nodes.is_empty()
    }

    /// Returns whether somebody may have moved a folder to where it is: that on the way at this depth, or this one.
    pub(crate) fn is_moved(
        &self,
        depth: usize,
        found: &Stat,
        parent_modified: FileTime,
        began: FileTime,
    ) -> bool {
        let own = match &self.node.kind {
            Kind::Folder(folder) => Some(folder),
            _ => None,
        };
        let folder = self.above.get(depth).copied().or(own);
        folder.is_some_and(|folder| folder.is_moved(found, parent_modified, began))
    }

    /// The permissions that a file gets.
    pub(crate) fn mode(&self) -> Option<u32> {
        match self.node.kind {
            Kind::File { mode, .. } => Some(mode),
            _ => None,
        }
    }

    /// Returns whether a folder is there afterwards.
    pub(crate) fn is_folder(&self) -> bool {
        matches!(self.node.kind, Kind::Folder(_))
    }

    /// The names of the entries that change in a folder.
    pub(crate) fn names(&self) -> BTreeSet<&CStr> {
        match &self.node.kind {
            Kind::Folder(folder) => folder.nodes.iter().map(|node| &*node.name).collect(),
            _ => BTreeSet::new(),
        }
    }
}

/// Calls `tell` for each change with its path, its kind and the reason why it waits.
pub(crate) fn list(nodes: &[Node], path: &str, tell: &mut impl FnMut(&str, HeldKind, &str)) {
    each(nodes, path.as_bytes(), &mut |listed| {
        if let Some(kind) = listed.kind().filter(|_| !listed.is_way()) {
            let why = listed.why().unwrap_or_default();
            tell(&String::from_utf8_lossy(listed.path), kind, why);
        }
    });
}

/// Calls `tell` for each change, and for the folders on the way to changes.
pub(crate) fn each(nodes: &[Node], path: &[u8], tell: &mut impl FnMut(&ListEntry<'_>)) {
    each_in(nodes, path, &mut Vec::new(), false, tell);
}

fn each_in<'a>(
    nodes: &'a [Node],
    path: &[u8],
    above: &mut Vec<&'a Folder>,
    is_opaque: bool,
    tell: &mut impl FnMut(&ListEntry<'_>),
) {
    for node in nodes {
        let path = [path, node.name.to_bytes()].concat();
        let folder = match &node.kind {
            Kind::Folder(folder) => Some(folder),
            _ => None,
        };
        // A folder in one that is replaced replaces what is there as well.
        let is_opaque = folder.is_some_and(|folder| is_opaque || folder.is_opaque);
        tell(&ListEntry {
            path: &path,
            node,
            above,
            is_opaque,
        });
        if let Some(folder) = folder {
            let inside = [&*path, b"/"].concat();
            above.push(folder);
            each_in(&folder.nodes, &inside, above, is_opaque, tell);
            above.pop();
        }
    }
}
