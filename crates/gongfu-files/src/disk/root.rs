//! The handle of a folder, and the only place that turns an outside path into one.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use cap_fs_ext::OpenOptionsSyncExt as _;
use cap_std::fs::{Dir, File, Metadata, MetadataExt as _, OpenOptions};
use gongfu_core::port::FileContent;
use gongfu_core::skill::SkillPath;

use super::entry::{Entry, EntryKind, FolderStamp, Stamp, described, kind_of, stamp_of};
use super::listing;

/// The most memory that is reserved for a file before it is read, in bytes.
const MAX_RESERVED: u64 = 1024 * 1024;

/// A folder whose inside is reached only through this handle.
#[derive(Debug)]
pub struct Root {
    dir: Dir,
    path: PathBuf,
}

impl Root {
    /// Opens a folder by an outside path; links in that path are followed.
    ///
    /// # Errors
    /// It isn't there, is no folder, or may not be read.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where an outside path becomes a handle"
    )]
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = std::fs::canonicalize(path)?;
        let dir = Dir::open_ambient_dir(&path, cap_std::ambient_authority())?;
        Ok(Self { dir, path })
    }

    /// Opens a folder; creates it and its parents where they are missing.
    ///
    /// # Errors
    /// It can't be created or opened.
    #[expect(
        clippy::disallowed_methods,
        reason = "a folder is created here before it has a handle"
    )]
    pub fn create(path: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(path)?;
        Self::open(path)
    }

    /// The same, where no other user of the machine may enter a folder that it creates.
    ///
    /// # Errors
    /// It can't be created or opened.
    #[expect(
        clippy::disallowed_methods,
        reason = "gongfu's own home is created here before it has a handle"
    )]
    pub fn create_private(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt as _;

        let mut builder = std::fs::DirBuilder::new();
        let created = builder.recursive(true).mode(0o700).create(path);
        created.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
                let why = format!("{} or one of its parents is not a folder", path.display());
                io::Error::new(error.kind(), why)
            }
            _ => error,
        })?;
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

    /// Returns whether the folder is still part of its file system: a removed one takes no new file.
    pub fn is_linked(&self) -> bool {
        let metadata = self.dir.dir_metadata();
        metadata.is_ok_and(|metadata| metadata.nlink() > 0)
    }

    /// Waits until everything that was written to the folder's file system is on the disk.
    ///
    /// # Errors
    /// The disk fails.
    pub fn sync_system(&self) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        return Ok(rustix::fs::syncfs(self.dir.open(".")?)?);
        #[cfg(not(target_os = "linux"))]
        {
            rustix::fs::sync();
            Ok(())
        }
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

    /// Lists a folder below, by name.
    ///
    /// # Errors
    /// It isn't there, is no folder, or may not be read. An entry that vanishes meanwhile is left
    /// out.
    pub fn list(&self, path: &SkillPath) -> io::Result<Vec<Entry>> {
        self.list_stamped(path).map(|(entries, _)| entries)
    }

    /// Lists a folder below with the folder's own stamp, where it has one.
    ///
    /// # Errors
    /// As [`Root::list`].
    pub fn list_stamped(&self, path: &SkillPath) -> io::Result<(Vec<Entry>, Option<FolderStamp>)> {
        let (mut entries, stamp) = listing::read(&self.dir, path)?;
        entries.sort_unstable_by(|left, right| left.name.cmp(&right.name));
        // Most folders have a few entries, and a walk holds ten thousands of folders.
        entries.shrink_to_fit();
        Ok((entries, stamp))
    }

    /// The kind and the stamp of a path; links are followed as long as they stay below this folder.
    ///
    /// # Errors
    /// It isn't there or leads outside.
    pub fn stat(&self, path: &SkillPath) -> io::Result<(EntryKind, Stamp)> {
        let metadata = self.dir.metadata(path.as_str())?;
        Ok((kind_of(metadata.file_type()), stamp_of(&metadata)))
    }

    /// Opens a regular file; never waits for a pipe.
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
        // The length of a file isn't trusted: more memory is taken only as it is read.
        let likely = size.min(limit).min(MAX_RESERVED);
        let mut bytes = Vec::with_capacity(usize::try_from(likely).unwrap_or(0));
        let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes)? as u64;
        let size = size.max(read);
        bytes.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(FileContent { bytes, size })
    }

    /// The real path of what lies at a path; `None` where nothing does.
    #[expect(
        clippy::disallowed_methods,
        reason = "tells where a path leads; nothing is opened"
    )]
    pub fn real(&self, path: &SkillPath) -> Option<PathBuf> {
        std::fs::canonicalize(self.path.join(path.as_str())).ok()
    }

    /// The real folder that a link below leads to, if that lies outside of this one.
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

/// The real path of an outside one: without links as far as it is there.
#[expect(
    clippy::disallowed_methods,
    reason = "tells which folder is meant; nothing is opened"
)]
pub fn real_outside(path: &Path) -> PathBuf {
    let found = path.ancestors().find_map(|above| {
        let real = std::fs::canonicalize(above).ok()?;
        let below = path.strip_prefix(above).ok()?;
        Some(real.join(below).components().collect())
    });
    found.unwrap_or_else(|| path.to_owned())
}

/// The kind of an outside path, links followed; `None` when there is nothing, or nothing that may
/// be looked at. For deciding where to look, never for opening what was found.
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

/// A folder, whichever path leads to it: a bind mount shows it by another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FolderId {
    device: u64,
    inode: u64,
}

/// The identity of an outside folder, links followed. For deciding which folder is meant, never for opening it.
#[expect(
    clippy::disallowed_methods,
    reason = "tells which folder is meant; nothing is opened"
)]
pub fn id_outside(path: &Path) -> Option<FolderId> {
    use std::os::unix::fs::MetadataExt as _;

    let metadata = std::fs::metadata(path)
        .ok()
        .filter(std::fs::Metadata::is_dir)?;
    Some(FolderId {
        device: metadata.dev(),
        inode: metadata.ino(),
    })
}

/// The permissions of an outside path, links followed. For telling people about them.
#[expect(
    clippy::disallowed_methods,
    reason = "tells who may enter a folder; nothing is opened"
)]
pub fn mode_outside(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;

    let metadata = std::fs::metadata(path).ok()?;
    Some(metadata.permissions().mode() & 0o7777)
}

/// The number of the user who owns what lies at an outside path; of a link that leads somewhere, the link itself.
/// For deciding whose a folder is, never for opening it.
#[expect(
    clippy::disallowed_methods,
    reason = "tells whose a file is; nothing is opened"
)]
pub fn owner_outside(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;

    kind_outside(path)?;
    let metadata = std::fs::symlink_metadata(path).ok()?;
    Some(metadata.uid())
}

/// The identity and the length of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStatus {
    /// Its device and inode.
    pub id: (u64, u64),
    /// Its length in bytes.
    pub length: u64,
}

impl From<&Metadata> for FileStatus {
    fn from(metadata: &Metadata) -> Self {
        Self {
            id: (metadata.dev(), metadata.ino()),
            length: metadata.len(),
        }
    }
}

/// The file to which an outside path leads, links followed. For telling that a file was moved away, never for opening
/// one.
#[expect(
    clippy::disallowed_methods,
    reason = "decides only whether an open file is kept open"
)]
pub fn status_at(path: &Path) -> Option<FileStatus> {
    use std::os::unix::fs::MetadataExt as _;

    let metadata = std::fs::metadata(path).ok()?;
    Some(FileStatus {
        id: (metadata.dev(), metadata.ino()),
        length: metadata.len(),
    })
}

/// Returns whether an outside path leads to an open file, links followed.
pub fn is_at(path: &Path, open: &Metadata) -> bool {
    status_at(path).is_some_and(|found| found.id == FileStatus::from(open).id)
}
