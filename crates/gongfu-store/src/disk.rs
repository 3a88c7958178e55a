//! A folder on disk as a handle that nothing leads out of.
//!
//! On Linux every access is one `openat2` with `RESOLVE_BENEATH` (by cap-std, which resolves step
//! by step elsewhere). This is the only module that turns a path of the outside into a handle.

use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use cap_fs_ext::OpenOptionsSyncExt as _;
use cap_std::fs::{Dir, File, FileType, Metadata, OpenOptions};
use gongfu_core::port::{FileContent, PortError};
use gongfu_core::skill::SkillPath;
use serde::{Deserialize, Serialize};

mod listing;

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
        let mut entries = listing::read(&self.dir, path)?;
        entries.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(entries)
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
        let mut bytes = Vec::with_capacity(usize::try_from(size.min(limit)).unwrap_or(0));
        let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes)? as u64;
        let size = size.max(read);
        bytes.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(FileContent { bytes, size })
    }

    /// Replaces a file as a whole: written beside it, then renamed over it.
    ///
    /// With `durable` the content is on the disk before this returns.
    ///
    /// # Errors
    /// It can't be written.
    pub fn replace(&self, name: &str, bytes: &[u8], durable: bool) -> io::Result<()> {
        self.write_beside(name, bytes, None, durable)
    }
}

impl Root {
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

/// A name beside `name` that no other writer of any process uses, not even one whose process id
/// comes again: as it does in containers.
pub fn temporary_name(name: &str) -> String {
    let random = std::hash::RandomState::new().build_hasher().finish();
    format!(".{name}.{random:016x}")
}

impl Root {
    /// Writes new content into a file that must still hold `expected`; its permissions stay.
    ///
    /// # Errors
    /// It changed meanwhile, is a link, or can't be written; then it is as it was.
    pub fn rewrite(&self, path: &SkillPath, expected: &[u8], bytes: &[u8]) -> io::Result<()> {
        let folder = self.below(&path.parent())?;
        let name = path.file_name();
        let metadata = folder.dir.symlink_metadata(name)?;
        if !metadata.is_file() {
            return Err(io::Error::other(format!(
                "{} is never written through",
                described(kind_of(metadata.file_type()))
            )));
        }
        if self.read(path, metadata.len().saturating_add(1))?.bytes != expected {
            return Err(io::Error::other("it changed meanwhile"));
        }
        if metadata.permissions().readonly() {
            return Err(io::Error::from(io::ErrorKind::PermissionDenied));
        }
        if other_names(&metadata) {
            return Err(io::Error::other(
                "it has other names (hard links) that would be left behind",
            ));
        }
        folder.write_beside(name, bytes, Some(&metadata), true)
    }

    fn write_beside(
        &self,
        name: &str,
        bytes: &[u8],
        like: Option<&Metadata>,
        durable: bool,
    ) -> io::Result<()> {
        use std::io::Write as _;
        let temporary = temporary_name(name);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let written = self
            .dir
            .open_with(&temporary, &options)
            .and_then(|mut file| {
                file.write_all(bytes)?;
                if let Some(like) = like {
                    keep_owner(&file, like)?;
                    file.set_permissions(like.permissions())?;
                }
                if durable { file.sync_all() } else { Ok(()) }
            });
        let renamed = written.and_then(|()| self.dir.rename(&temporary, &self.dir, name));
        if renamed.is_err() {
            // The error that matters is the one above.
            let _ = self.dir.remove_file(&temporary);
        }
        renamed?;
        // The handle itself may be one that can't be synced, so the folder is opened anew.
        if durable {
            self.dir.open(".")?.sync_all()
        } else {
            Ok(())
        }
    }
}

#[cfg(unix)]
fn other_names(metadata: &Metadata) -> bool {
    use cap_std::fs::MetadataExt as _;
    metadata.nlink() > 1
}

#[cfg(not(unix))]
fn other_names(_: &Metadata) -> bool {
    false
}

/// Gives a new file the owner of the one that it will replace.
#[cfg(unix)]
fn keep_owner(file: &File, like: &Metadata) -> io::Result<()> {
    use cap_std::fs::MetadataExt as _;
    let own = file.metadata()?;
    if (own.uid(), own.gid()) == (like.uid(), like.gid()) {
        return Ok(());
    }
    let kept = std::os::unix::fs::fchown(file, Some(like.uid()), Some(like.gid()));
    kept.map_err(|error| io::Error::other(format!("its owner can't be kept: {error}")))
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
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

/// Whether an error says that a path would lead out of its root.
pub fn is_escape(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

/// Whether an error says that links lead in a circle.
pub fn is_loop(error: &io::Error) -> bool {
    // Stable Rust has no error kind for it; the number is that of Linux, macOS and the BSDs.
    let number = if cfg!(target_os = "linux") { 40 } else { 62 };
    error.raw_os_error() == Some(number)
}

/// The reason of an error in words for people, without numbers or paths.
pub fn reason(error: &io::Error) -> String {
    if is_escape(error) {
        return "it leads out of its folder".to_owned();
    }
    if is_loop(error) {
        return "its links lead in a circle".to_owned();
    }
    match error.kind() {
        io::ErrorKind::NotFound => "it points to nothing".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::NotADirectory => "it is not a folder".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        _ => error.to_string(),
    }
}

/// An error of the disk as one of the port's.
pub fn port_error(error: io::Error) -> PortError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => PortError::NotFound,
        io::ErrorKind::PermissionDenied => PortError::Denied(reason(&error)),
        io::ErrorKind::Other => PortError::Denied(error.to_string()),
        _ if is_loop(&error) => PortError::Denied(reason(&error)),
        _ => PortError::Other(Box::new(error)),
    }
}

#[cfg(test)]
mod tests;
