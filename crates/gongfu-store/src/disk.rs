//! A folder on disk as a handle that nothing leads out of.
//!
//! On Linux every access is one `openat2` with `RESOLVE_BENEATH` (by cap-std, which resolves step
//! by step elsewhere). This is the only module that turns a path of the outside into a handle.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use cap_fs_ext::OpenOptionsSyncExt as _;
use cap_std::fs::{Dir, File, FileType, Metadata, OpenOptions};
use gongfu_core::port::FileContent;
use gongfu_core::skill::SkillPath;
use serde::{Deserialize, Serialize};

mod listing;
mod recalled;
mod trouble;
mod writing;

pub use recalled::{FolderStamp, Listing, Listings};
pub use trouble::{is_escape, is_loop, port_error, put_error, reason, write_error};
pub use writing::{PutError, temporary_name};

/// How much memory is taken for a file before any of it is read, in bytes.
const MAX_RESERVED: u64 = 1024 * 1024;

/// A folder whose inside is reached only through this handle.
#[derive(Debug)]
pub struct Root {
    dir: Dir,
    path: PathBuf,
}

/// What tells a file that changed from one that didn't.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Length in bytes.
    pub size: u64,
    /// Last change of the content, in nanoseconds since 1970.
    pub modified: i64,
    /// Last change of content or attributes, in nanoseconds since 1970; 0 where systems have none.
    pub changed: i64,
    /// The file's number on its file system; 0 where systems have none.
    pub inode: u64,
}

/// Something in a folder.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its name, as the file system has it where that is UTF-8.
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
    /// Its stamp; all zero for anything but files.
    pub stamp: Stamp,
}

/// What an entry of a folder is; links are not followed to tell.
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

impl Root {
    /// Opens a folder by a path of the outside; links in that path itself are followed.
    ///
    /// # Errors
    /// It isn't there, is no folder, or may not be read.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where a path of the outside becomes a handle"
    )]
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = std::fs::canonicalize(path)?;
        let dir = Dir::open_ambient_dir(&path, cap_std::ambient_authority())?;
        Ok(Self { dir, path })
    }

    /// Opens a folder, making it and its parents first where they are missing.
    ///
    /// # Errors
    /// It can't be made or opened.
    #[expect(
        clippy::disallowed_methods,
        reason = "gongfu's own home is made here before it has a handle"
    )]
    pub fn create(path: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(path)?;
        Self::open(path)
    }

    /// The folder's real path, for people and as a key.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The handle.
    pub fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Whether the folder is still part of its file system: a removed one takes nothing.
    #[cfg(unix)]
    pub fn is_linked(&self) -> bool {
        use cap_std::fs::MetadataExt as _;
        let metadata = self.dir.dir_metadata();
        metadata.is_ok_and(|metadata| metadata.nlink() > 0)
    }

    /// Whether the folder is still part of its file system, which can't be told here.
    #[cfg(not(unix))]
    pub fn is_linked(&self) -> bool {
        true
    }

    /// The folder's own name; empty for the root of the file system.
    pub fn name(&self) -> String {
        self.path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    }

    /// A folder below this one, as a handle of its own: nothing leads from there back up.
    ///
    /// # Errors
    /// It isn't there, is no folder, or lies outside.
    pub fn below(&self, path: &SkillPath) -> io::Result<Self> {
        let dir = if path.is_root() {
            self.dir.try_clone()?
        } else {
            self.dir.open_dir(path.as_str())?
        };
        Ok(Self {
            dir,
            path: self.path.join(path.as_str()),
        })
    }

    /// What lies in a folder below, sorted by name.
    ///
    /// # Errors
    /// It isn't there, is no folder, or may not be read. An entry that vanishes meanwhile is left
    /// out.
    pub fn list(&self, path: &SkillPath) -> io::Result<Vec<Entry>> {
        self.list_stamped(path).map(|(entries, _)| entries)
    }

    /// The same with the folder's own stamp, where it has one.
    ///
    /// # Errors
    /// As [`Root::list`].
    pub fn list_stamped(&self, path: &SkillPath) -> io::Result<(Vec<Entry>, Option<FolderStamp>)> {
        let (mut entries, stamp) = listing::read(&self.dir, path)?;
        entries.sort_unstable_by(|left, right| left.name.cmp(&right.name));
        // Most folders hold a few things, and a walk holds ten thousands of folders.
        entries.shrink_to_fit();
        Ok((entries, stamp))
    }

    /// What a path is and its stamp, links followed as long as they stay below this folder.
    ///
    /// # Errors
    /// It isn't there or leads outside.
    pub fn stat(&self, path: &SkillPath) -> io::Result<(EntryKind, Stamp)> {
        let metadata = self.dir.metadata(path.as_str())?;
        Ok((kind_of(metadata.file_type()), stamp_of(&metadata)))
    }

    /// Opens a regular file; never waits for a pipe, never opens a device for long.
    ///
    /// # Errors
    /// It isn't there, leads outside, or is no regular file.
    pub fn open_file(&self, path: &SkillPath) -> io::Result<(File, u64)> {
        let mut options = OpenOptions::new();
        options.read(true).nonblock(true);
        let file = self.dir.open_with(path.as_str(), &options)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other(format!(
                "{} is not a regular file",
                described(kind_of(metadata.file_type()))
            )));
        }
        Ok((file, metadata.len()))
    }

    /// Reads a regular file, at most `limit` bytes of it.
    ///
    /// # Errors
    /// As [`Root::open_file`], or reading fails.
    pub fn read(&self, path: &SkillPath, limit: u64) -> io::Result<FileContent> {
        let (file, size) = self.open_file(path)?;
        // What a file says of its length is a stranger's word: memory is taken as it is read.
        let likely = size.min(limit).min(MAX_RESERVED);
        let mut bytes = Vec::with_capacity(usize::try_from(likely).unwrap_or(0));
        let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes)? as u64;
        let size = size.max(read);
        bytes.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(FileContent { bytes, size })
    }

    /// The real folder that a link below leads to, when that lies outside of this one.
    #[expect(
        clippy::disallowed_methods,
        reason = "tells where a link leads; nothing is opened"
    )]
    pub fn outside(&self, link: &SkillPath) -> Option<PathBuf> {
        let target = std::fs::canonicalize(self.path.join(link.as_str())).ok()?;
        let folder = kind_outside(&target) == Some(EntryKind::Folder);
        (folder && !target.starts_with(&self.path)).then_some(target)
    }
}

/// What a path of the outside is, links followed; `None` when there is nothing, or nothing that
/// may be looked at. For deciding where to look, never for opening what was looked at.
#[expect(
    clippy::disallowed_methods,
    reason = "decides only which folders become roots"
)]
pub fn kind_outside(path: &Path) -> Option<EntryKind> {
    let metadata = std::fs::metadata(path).ok()?;
    if metadata.is_dir() {
        Some(EntryKind::Folder)
    } else if metadata.is_file() {
        Some(EntryKind::File)
    } else {
        Some(EntryKind::Special("a special file"))
    }
}

fn kind_of(file_type: FileType) -> EntryKind {
    if file_type.is_file() {
        EntryKind::File
    } else if file_type.is_dir() {
        EntryKind::Folder
    } else if file_type.is_symlink() {
        EntryKind::Link
    } else {
        EntryKind::Special(special(file_type))
    }
}

#[cfg(unix)]
fn special(file_type: FileType) -> &'static str {
    use cap_std::fs::FileTypeExt as _;
    if file_type.is_fifo() {
        "a named pipe"
    } else if file_type.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn special(_: FileType) -> &'static str {
    "a special file"
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

#[cfg(unix)]
fn stamp_of(metadata: &Metadata) -> Stamp {
    use cap_std::fs::MetadataExt as _;
    let nanoseconds = |seconds: i64, fraction: i64| {
        seconds
            .saturating_mul(1_000_000_000)
            .saturating_add(fraction)
    };
    Stamp {
        size: metadata.len(),
        modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
        changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        inode: metadata.ino(),
    }
}

#[cfg(not(unix))]
fn stamp_of(metadata: &Metadata) -> Stamp {
    let since = metadata
        .modified()
        .ok()
        .and_then(|moment| moment.into_std().duration_since(std::time::UNIX_EPOCH).ok());
    let modified = since
        .and_then(|since| i64::try_from(since.as_nanos()).ok())
        .unwrap_or(0);
    Stamp {
        size: metadata.len(),
        modified,
        changed: 0,
        inode: 0,
    }
}

/// Whether a path of the outside leads to the file that this describes, links followed. For telling
/// that an open file was moved away, never for opening one.
#[cfg(unix)]
#[expect(
    clippy::disallowed_methods,
    reason = "decides only whether an open file is kept open"
)]
pub fn is_at(path: &Path, held: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    use cap_std::fs::MetadataExt as _;
    std::fs::metadata(path)
        .is_ok_and(|there| (held.dev(), held.ino()) == (there.dev(), there.ino()))
}

/// Whether a path of the outside leads to something, for which file can't be told here.
#[cfg(not(unix))]
pub fn is_at(path: &Path, _held: &Metadata) -> bool {
    kind_outside(path).is_some()
}

#[cfg(test)]
mod tests;
