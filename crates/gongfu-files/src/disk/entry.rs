//! Entries of folders: their kinds, and the stamps that show a change.

use cap_std::fs::{FileType, FileTypeExt as _, Metadata, MetadataExt as _};
use serde::{Deserialize, Serialize};

/// The state of a file: another stamp means that it may have changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Length in bytes.
    pub size: u64,
    /// Last change of the content, in nanoseconds since 1970.
    pub modified: i64,
    /// Last change of content or attributes, in nanoseconds since 1970.
    pub changed: i64,
    /// The file's number on its file system.
    pub inode: u64,
}

/// The state of a folder: another stamp means that its entries may have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderStamp {
    /// Last change of the entries, in nanoseconds since 1970.
    pub(super) modified: i64,
    /// Last change of entries or attributes, in nanoseconds since 1970.
    pub changed: i64,
    /// The folder's number on its file system.
    pub(super) inode: u64,
    /// The file system. The next start of the machine may give it another number, which only means
    /// that everything is listed once more.
    pub(super) device: u64,
}

impl FolderStamp {
    /// Returns whether both folders are on one file system.
    pub fn is_beside(&self, other: &Self) -> bool {
        self.device == other.device
    }
}

/// An entry of a folder.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its name, as the file system has it where that is UTF-8.
    pub name: String,
    /// Its kind.
    pub kind: EntryKind,
    /// Its stamp; all zero for anything but files.
    pub stamp: Stamp,
}

/// The kind of an entry; links are not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A named pipe, socket or device.
    Special(&'static str),
    /// Its name is not UTF-8 or no path can hold it.
    Unnameable,
}

/// An entry's kind, for people.
pub fn described(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::File => "a file",
        EntryKind::Folder => "a folder",
        EntryKind::Link => "a link",
        EntryKind::Special(what) => what,
        EntryKind::Unnameable => "a file of that name",
    }
}

pub(super) fn kind_of(file_type: FileType) -> EntryKind {
    if file_type.is_file() {
        EntryKind::File
    } else if file_type.is_dir() {
        EntryKind::Folder
    } else if file_type.is_symlink() {
        EntryKind::Link
    } else if file_type.is_fifo() {
        EntryKind::Special("a named pipe")
    } else if file_type.is_socket() {
        EntryKind::Special("a socket")
    } else {
        EntryKind::Special("a device")
    }
}

pub(super) fn stamp_of(metadata: &Metadata) -> Stamp {
    Stamp {
        size: metadata.len(),
        modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
        changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        inode: metadata.ino(),
    }
}

pub(super) fn nanoseconds(seconds: i64, fraction: i64) -> i64 {
    seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(fraction)
}
