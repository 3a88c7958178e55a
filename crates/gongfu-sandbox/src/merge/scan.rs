//! Finds the changes in a layer, before the first of them is applied.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{self, AtFlags, FileType, Mode, Stat};

use super::{Budget, FolderContext, LATE, MAX_DEPTH, Terms};
use serde::{Deserialize, Serialize};

use crate::copier::Before;
use crate::file_time::{FileTime, may_be_moved_since};
use crate::folder::{names, open_folder};

/// The longest path, in bytes.
const MAX_PATH: usize = 4096;

/// A change of an entry.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Node {
    #[serde(with = "super::name")]
    pub(super) name: CString,
    pub(super) kind: Kind,
    /// An entry of this name is in a folder below the target.
    #[serde(skip)]
    pub(super) is_below: bool,
    /// Why it waits for a person, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) held: Option<String>,
}

impl Node {
    pub(super) fn new(name: CString, kind: Kind, is_below: bool) -> Self {
        Self {
            name,
            kind,
            is_below,
            held: None,
        }
    }

    /// Returns whether nothing stays of what was at its path.
    pub(super) fn replaces(&self) -> bool {
        match &self.kind {
            Kind::Folder(folder) => folder.is_opaque,
            Kind::File { .. } | Kind::Link(_) | Kind::Removal => true,
            Kind::Restored(_) | Kind::Refused(_) | Kind::Done => false,
        }
    }

    /// Returns whether it may take something away that was there.
    pub(super) fn removes(&self) -> bool {
        let inside = match &self.kind {
            Kind::Folder(folder) => &*folder.nodes,
            _ => &[],
        };
        self.replaces() || inside.iter().any(Self::removes)
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Folder(Folder),
    File {
        size: u64,
        /// Its permissions.
        mode: u32,
    },
    Link(#[serde(with = "super::name")] CString),
    /// The run has removed it.
    Removal,
    /// The run has restored what lies below the target: the target's own version goes. The size of a file.
    Restored(Option<u64>),
    /// It isn't applied, and why, for people.
    Refused(String),
    /// It has been applied.
    Done,
}

/// The changes in a folder.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Folder {
    pub(super) nodes: Vec<Node>,
    /// It replaces the folder that was there: whatever isn't in it is removed.
    pub(super) is_opaque: bool,
    /// It was there before, and the layer is a copy of it.
    pub(super) is_copied: bool,
    /// Its permissions, where it is made.
    #[serde(default = "usual_mode")]
    pub(super) mode: u32,
    /// The inode of the folder that the run changed, where that is known.
    pub(super) inode: Option<u64>,
    /// It was made in the target.
    #[serde(skip)]
    pub(super) is_new: bool,
    /// The target's own folder before the first change was applied.
    #[serde(skip)]
    pub(super) before: Option<FolderBefore>,
}

/// A folder of the target before a merge.
#[derive(Debug, Clone, Copy)]
pub(super) struct FolderBefore {
    /// Its last modification.
    pub(super) modified: FileTime,
    /// Somebody may have moved it there since the run began: the run saw another one.
    pub(super) is_moved: bool,
}

impl Folder {
    /// Returns whether there are changes of files in it.
    pub(super) fn has_files(&self) -> bool {
        self.nodes.iter().any(|node| match &node.kind {
            Kind::Folder(folder) => folder.has_files(),
            _ => true,
        })
    }

    /// The same without the changes in it.
    pub(super) fn alone(&self) -> Self {
        Self {
            is_opaque: self.is_opaque,
            is_copied: self.is_copied,
            mode: self.mode,
            inode: self.inode,
            ..Self::default()
        }
    }

    /// Returns whether the folder of this name in the target may be another one than the run saw;
    /// `parent_modified` is the last modification of the folder that it is in.
    pub(super) fn is_moved(
        &self,
        found: &Stat,
        parent_modified: FileTime,
        began: FileTime,
    ) -> bool {
        match self.inode {
            Some(inode) => inode != found.st_ino,
            None => may_be_moved_since(found, parent_modified, began),
        }
    }
}

/// A walk through a layer.
pub(super) struct Scan<'a> {
    pub(super) terms: &'a Terms<'a>,
    /// The layer is a copy, in which nothing marks a removal.
    pub(super) is_copy: bool,
    /// The layer lies above a skill.
    pub(super) is_above_skill: bool,
    /// With links and holes files may grow in the merge.
    pub(super) budget: Budget,
    /// The permissions of files with several names, by their inodes: reading one by its first name changes them.
    pub(super) modes: BTreeMap<u64, u32>,
}

impl Scan<'_> {
    /// The changes in a folder of a layer. Cancelling ends the walk early.
    ///
    /// # Errors
    /// The folder can't be read.
    pub(super) fn folder(
        &mut self,
        layer: &OwnedFd,
        context: &FolderContext<'_>,
        path_length: usize,
        depth: usize,
    ) -> io::Result<Vec<Node>> {
        let names = names(layer)?;
        let mut nodes = Vec::new();
        if let Some(before) = context.before.filter(|_| !self.terms.is_late()) {
            nodes.extend(removals(before, &names, context));
        }
        for name in names {
            if self.terms.is_cancelled() {
                break;
            }
            if self.is_above_skill && is_bytecode(&name) {
                continue;
            }
            let path_length = path_length + 1 + name.as_bytes().len();
            let kind = if path_length > MAX_PATH {
                Ok(Some(Kind::Refused("its path is too long".to_owned())))
            } else {
                self.entry(layer, context, &name, path_length, depth)
            };
            let kind = kind.unwrap_or_else(|error| Some(Kind::Refused(error.to_string())));
            let is_below = context.below.has(&name);
            nodes.extend(kind.map(|kind| Node::new(name, kind, is_below)));
        }
        nodes.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(nodes)
    }

    fn entry(
        &mut self,
        layer: &OwnedFd,
        context: &FolderContext<'_>,
        name: &CStr,
        path_length: usize,
        depth: usize,
    ) -> io::Result<Option<Kind>> {
        let found = fs::statat(layer, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let before = context.before;
        if before.is_some_and(|before| before.is_unchanged(name, &found)) {
            return Ok(None);
        }
        let refused = |why: &str| Ok(Some(Kind::Refused(why.to_owned())));
        match FileType::from_raw_mode(found.st_mode) {
            _ if self.terms.is_late() => refused(LATE),
            FileType::CharacterDevice if found.st_rdev == 0 && !self.is_copy => {
                Ok(Some(Kind::Removal))
            }
            FileType::Directory if depth >= MAX_DEPTH => refused("it is nested too deeply"),
            FileType::Directory => {
                // A script may have denied access to its own user.
                fs::chmodat(layer, name, Mode::from_raw_mode(0o700), AtFlags::empty())?;
                let from = open_folder(layer, name)?;
                let began = self.terms.began.time();
                let known = context.known.as_ref();
                let (known, inode) = known.and_then(|known| known.folder(name, began)).unzip();
                let inside = FolderContext {
                    below: context.below.folder(name),
                    before: before.and_then(|before| before.folder(name)),
                    known,
                };
                Ok(Some(Kind::Folder(Folder {
                    nodes: self.folder(&from, &inside, path_length, depth + 1)?,
                    is_opaque: !self.is_copy && is_opaque(&from),
                    is_copied: inside.before.is_some(),
                    // Its owner reaches what is in it.
                    mode: found.st_mode & 0o777 | 0o700,
                    inode: inside.before.and_then(Before::inode).or(inode),
                    ..Folder::default()
                })))
            }
            FileType::RegularFile => {
                let permissions = self.permissions(&found);
                fs::chmodat(layer, name, Mode::from_raw_mode(0o600), AtFlags::empty())?;
                if context.below.has_same(layer, name, &found)? {
                    return Ok(Some(Kind::Restored(Some(size(&found)))));
                }
                let size = size(&found);
                let Some(left) = self.budget.left.checked_sub(size) else {
                    return refused(self.budget.why);
                };
                self.budget.left = left;
                Ok(Some(Kind::File {
                    size,
                    mode: permissions,
                }))
            }
            FileType::Symlink if context.below.has_same(layer, name, &found)? => {
                Ok(Some(Kind::Restored(None)))
            }
            FileType::Symlink => {
                let to = fs::readlinkat(layer, name, Vec::new())?;
                Ok(Some(Kind::Link(to)))
            }
            _ => refused("it is neither a file nor a folder"),
        }
    }

    /// The permissions that the run gave a file.
    fn permissions(&mut self, found: &Stat) -> u32 {
        let mode = found.st_mode & 0o777;
        if found.st_nlink > 1 {
            *self.modes.entry(found.st_ino).or_insert(mode)
        } else {
            mode
        }
    }
}

/// The permissions of folders in change sets of earlier versions, which don't tell them.
fn usual_mode() -> u32 {
    0o755
}

/// The files that a copy doesn't have any more.
fn removals(before: &Before, names: &[CString], context: &FolderContext<'_>) -> Vec<Node> {
    let there: BTreeSet<&CStr> = names.iter().map(CString::as_c_str).collect();
    let gone = before.names().filter(|name| !there.contains(name));
    let gone = gone.map(|name| {
        let is_below = context.below.has(name);
        Node::new(name.to_owned(), Kind::Removal, is_below)
    });
    gone.collect()
}

/// Returns whether Python would run an entry of this name in place of the script beside it: none is kept for later
/// runs, which compile anew.
fn is_bytecode(name: &CStr) -> bool {
    let name = name.to_bytes().to_ascii_lowercase();
    name == b"__pycache__" || name.ends_with(b".pyc")
}

fn size(found: &Stat) -> u64 {
    u64::try_from(found.st_size).unwrap_or_default()
}

/// Returns whether a folder of an overlay hides the folders below it.
fn is_opaque(folder: &OwnedFd) -> bool {
    let mut value = [0_u8; 1];
    let length = fs::fgetxattr(folder, c"user.overlay.opaque", &mut value[..]);
    length == Ok(1) && value == *b"y"
}
