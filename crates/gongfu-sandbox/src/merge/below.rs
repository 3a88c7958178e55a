//! The folders below the target of a merge, where that is itself a layer above others. They never change.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;

use rustix::fs::{self, AtFlags, FileType, Stat};

use crate::folder::{open_file, open_folder};

/// The part of two files that is compared at once, in bytes.
const BUFFER: usize = 64 * 1024;

/// Folders above each other, the top one first.
#[derive(Debug, Default)]
pub(crate) struct Below {
    folders: Vec<OwnedFd>,
}

impl Below {
    /// These folders.
    pub(crate) fn new(folders: Vec<OwnedFd>) -> Self {
        Self { folders }
    }

    /// Returns whether the target lies above no folder.
    pub(super) fn is_empty(&self) -> bool {
        self.folders.is_empty()
    }

    /// Finds the top folder with an entry of this name, and the entry.
    fn find(&self, name: &CStr) -> Option<(&OwnedFd, Stat)> {
        self.folders.iter().find_map(|folder| {
            let found = fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            Some((folder, found))
        })
    }

    /// Returns whether there is an entry of this name.
    pub(super) fn has(&self, name: &CStr) -> bool {
        self.find(name).is_some()
    }

    /// The folders of this name that are visible together.
    pub(super) fn folder(&self, name: &CStr) -> Self {
        let is_folder = |folder: &&OwnedFd| {
            let found = fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
            // A folder without the entry hides nothing.
            found.map_or(true, |found| {
                FileType::from_raw_mode(found.st_mode) == FileType::Directory
            })
        };
        let folders = self.folders.iter().take_while(is_folder);
        Self {
            folders: folders
                .filter_map(|folder| open_folder(folder, name).ok())
                .collect(),
        }
    }

    /// Returns whether an entry of a layer is the same here: a file of the same content, whatever its mode, or a link
    /// to the same target.
    ///
    /// # Errors
    /// One of the two can't be read.
    pub(super) fn has_same(&self, layer: &OwnedFd, name: &CStr, found: &Stat) -> io::Result<bool> {
        match self.find(name) {
            Some((folder, known)) => is_same_entry((layer, name, found), (folder, name, &known)),
            None => Ok(false),
        }
    }
}

/// An entry of a folder: its folder, its name, and what the system tells of it.
type Entry<'a> = (&'a OwnedFd, &'a CStr, &'a Stat);

/// Returns whether two entries are files of the same content, whatever their modes, or links to the same target.
///
/// # Errors
/// One of the two can't be read.
pub(super) fn is_same_entry(one: Entry<'_>, other: Entry<'_>) -> io::Result<bool> {
    let [kind, other_kind] = [one.2, other.2].map(|found| FileType::from_raw_mode(found.st_mode));
    if kind != other_kind {
        return Ok(false);
    }
    match kind {
        FileType::RegularFile if one.2.st_size == other.2.st_size => {
            is_same(open_file(one.0, one.1)?, open_file(other.0, other.1)?)
        }
        FileType::Symlink => {
            let to = |entry: Entry<'_>| fs::readlinkat(entry.0, entry.1, Vec::new());
            Ok(to(one)? == to(other)?)
        }
        _ => Ok(false),
    }
}

fn is_same(one: File, other: File) -> io::Result<bool> {
    let (mut mine, mut theirs) = (Vec::with_capacity(BUFFER), Vec::with_capacity(BUFFER));
    loop {
        let fill = |file: &File, bytes: &mut Vec<u8>| {
            bytes.clear();
            file.take(BUFFER as u64).read_to_end(bytes)
        };
        let read = fill(&one, &mut mine)?;
        fill(&other, &mut theirs)?;
        if mine != theirs {
            return Ok(false);
        }
        if read == 0 {
            return Ok(true);
        }
    }
}
