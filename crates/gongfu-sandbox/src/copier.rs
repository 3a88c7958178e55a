//! Copies folders, for sandboxes that can't mount an overlay.
//!
//! Untrusted programs may have written the sources, and others may change them meanwhile: they are walked by handles, no
//! link is followed, and only folders, files and links are copied. The state of each copy at its beginning is
//! remembered, so that the run's changes can be found.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, Timespec, Timestamps};
use rustix::io::Errno;

use crate::folder::open_real;

/// The deepest nesting of folders.
const MAX_DEPTH: usize = 64;
/// The unit in which files take space.
const PAGE: u64 = 4096;
/// The resolution of the clock of files, in nanoseconds.
const CLOCK_TICK: i128 = 20_000_000;

/// The content of a folder when it was copied.
#[derive(Debug, Default)]
pub struct Before {
    entries: BTreeMap<CString, Entry>,
    inode: Option<u64>,
}

#[derive(Debug)]
enum Entry {
    Folder(Before),
    Other(Stamp),
    /// Another mount lies there.
    MountPoint,
}

/// The properties of a file that has not changed. The time of its last change can't be set.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    mode: u32,
    inode: u64,
    size: i64,
    modified: i128,
    changed: i128,
}

impl Before {
    /// Returns whether a file or link hasn't changed, or is a mount point.
    pub(crate) fn is_unchanged(&self, name: &CStr, found: &Stat) -> bool {
        match self.entries.get(name) {
            Some(Entry::Other(stamp)) => *stamp == Stamp::of(found),
            Some(Entry::MountPoint) => true,
            Some(Entry::Folder(_)) | None => false,
        }
    }

    /// The content of the folder of this name, if there was one.
    pub(crate) fn folder(&self, name: &CStr) -> Option<&Self> {
        match self.entries.get(name) {
            Some(Entry::Folder(before)) => Some(before),
            _ => None,
        }
    }

    /// The inode of the folder that was copied; of the top one, if it was several.
    pub(crate) fn inode(&self) -> Option<u64> {
        self.inode
    }

    /// The names of all entries but mount points.
    pub(crate) fn names(&self) -> impl Iterator<Item = &CStr> {
        let entries = self.entries.iter();
        let entries = entries.filter(|(_, entry)| !matches!(entry, Entry::MountPoint));
        entries.map(|(name, _)| name.as_c_str())
    }
}

impl Stamp {
    #[expect(
        clippy::useless_conversion,
        reason = "its fields differ between systems"
    )]
    fn of(found: &Stat) -> Self {
        Self {
            mode: found.st_mode.into(),
            inode: found.st_ino,
            size: found.st_size,
            modified: nanoseconds(found.st_mtime.into(), found.st_mtime_nsec),
            changed: nanoseconds(found.st_ctime.into(), found.st_ctime_nsec),
        }
    }
}

fn nanoseconds(seconds: i64, rest: impl TryInto<i64>) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(rest.try_into().unwrap_or_default())
}

/// Copies folders and files, or measures them.
#[derive(Debug)]
pub(crate) struct Copier {
    /// The bytes that may still be copied.
    bytes: u64,
    /// The files and folders that may still be copied.
    files: u64,
    /// The newest modification of a copied file, and the start of copying.
    newest: i128,
    start: i128,
}

impl Copier {
    /// A copier of at most so many bytes and files.
    pub(crate) fn new(bytes: u64, files: u64) -> Self {
        Self {
            bytes,
            files,
            newest: i128::MIN,
            start: i128::MAX,
        }
    }

    /// The bytes that may still be copied.
    #[cfg(target_os = "linux")]
    pub(crate) fn bytes_left(&self) -> u64 {
        self.bytes
    }

    /// Measures an overlay of folders, the first on top, or a file.
    ///
    /// # Errors
    /// A source can't be read, is too large, or has a link where a mount point must be.
    pub(crate) fn measure(
        &mut self,
        sources: &Sources<'_>,
        mount_points: &[PathBuf],
    ) -> io::Result<()> {
        match sources.open()? {
            SourceHandles::Folders(from) => self
                .folder(&from, None, &MountPoints::of(mount_points), 0)
                .map(drop),
            SourceHandles::File(from) => {
                let size = fs::fstat(&from)?.st_size;
                self.take(u64::try_from(size).unwrap_or_default())
            }
        }
    }

    /// Copies an overlay of folders, the first on top, into an empty folder, except what lies at mount points; or
    /// a file into an empty file.
    ///
    /// # Errors
    /// A source can't be read or is too large, or the copy can't be written.
    pub(crate) fn copy(
        &mut self,
        sources: &Sources<'_>,
        mount_points: &[PathBuf],
        to: &OwnedFd,
    ) -> io::Result<Before> {
        match sources.open()? {
            SourceHandles::Folders(from) => {
                self.folder(&from, Some(to), &MountPoints::of(mount_points), 0)
            }
            SourceHandles::File(from) => {
                let mut to = File::from(to.try_clone()?);
                let from = File::from(from);
                let copied = io::copy(&mut from.take(self.bytes.saturating_add(1)), &mut to)?;
                self.take(copied)?;
                Ok(Before::default())
            }
        }
    }

    /// Waits until every later change gets another time than the copies have.
    pub(crate) fn settle(&self) {
        if self.newest >= self.start.saturating_sub(CLOCK_TICK) {
            let tick = u64::try_from(CLOCK_TICK).unwrap_or_default();
            std::thread::sleep(std::time::Duration::from_nanos(tick));
        }
    }

    fn folder(
        &mut self,
        from: &[OwnedFd],
        to: Option<&OwnedFd>,
        mount_points: &MountPoints<'_>,
        depth: usize,
    ) -> io::Result<Before> {
        if depth > MAX_DEPTH {
            return Err(io::Error::other("its folders are nested too deeply"));
        }
        let mut names: BTreeMap<CString, Vec<(&OwnedFd, Stat)>> = BTreeMap::new();
        for folder in from {
            for entry in Dir::read_from(folder)? {
                let entry = entry?;
                let name = entry.file_name();
                if matches!(name.to_bytes(), b"." | b"..") {
                    continue;
                }
                match fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(found) => {
                        let there = names.entry(name.to_owned()).or_default();
                        there.push((folder, found));
                    }
                    Err(Errno::NOENT) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        let mut before = Before::default();
        for (name, there) in names {
            let below = mount_points.below(&name);
            let fits = there.first().is_none_or(|(_, found)| below.fits(found));
            if !fits {
                let why = "a mount point in it is not a folder";
                return Err(io::Error::other(why));
            }
            let entry = match below {
                Below::Itself => None,
                Below::Nothing => self.entry(&name, &there, to, &MountPoints(Vec::new()), depth)?,
                Below::MountPoints(below) => {
                    self.entry(&name, &there, to, &MountPoints(below), depth)?
                }
            };
            if let Some(entry) = entry {
                before.entries.insert(name, entry);
            }
        }
        mount_points.mark(&mut before);
        Ok(before)
    }

    fn entry(
        &mut self,
        name: &CStr,
        there: &[(&OwnedFd, Stat)],
        to: Option<&OwnedFd>,
        mount_points: &MountPoints<'_>,
        depth: usize,
    ) -> io::Result<Option<Entry>> {
        let Some((parent, found)) = there.first() else {
            return Ok(None);
        };
        let kind = |found: &Stat| FileType::from_raw_mode(found.st_mode);
        if !matches!(
            kind(found),
            FileType::Directory | FileType::RegularFile | FileType::Symlink
        ) {
            return Ok(None);
        }
        let less = self.files.checked_sub(1);
        self.files = less.ok_or_else(|| io::Error::other("it has too many files"))?;
        match kind(found) {
            FileType::Directory => {
                // A file hides the folders below it.
                let folders = there
                    .iter()
                    .take_while(|(_, found)| kind(found) == FileType::Directory);
                let mut below = Vec::new();
                for (parent, _) in folders {
                    below.extend(open(parent, name, OFlags::DIRECTORY)?);
                }
                let made = to.map(|to| make_folder(to, name)).transpose()?;
                let mut before = self.folder(&below, made.as_ref(), mount_points, depth + 1)?;
                before.inode = Some(found.st_ino);
                if let Some(made) = &made {
                    fs::fchmod(made, mode(found))?;
                }
                Ok(Some(Entry::Folder(before)))
            }
            FileType::RegularFile => self.file(parent, name, found, to).map(Some),
            _ => {
                let Some(to) = to else {
                    return Ok(Some(Entry::Other(Stamp::of(found))));
                };
                let leads = fs::readlinkat(parent, name, Vec::new())?;
                fs::symlinkat(&*leads, to, name)?;
                let made = fs::statat(to, name, AtFlags::SYMLINK_NOFOLLOW)?;
                Ok(Some(Entry::Other(Stamp::of(&made))))
            }
        }
    }

    fn file(
        &mut self,
        parent: &OwnedFd,
        name: &CStr,
        found: &Stat,
        to: Option<&OwnedFd>,
    ) -> io::Result<Entry> {
        let Some(to) = to else {
            let size = u64::try_from(found.st_size).unwrap_or_default();
            self.take(size)?;
            return Ok(Entry::Other(Stamp::of(found)));
        };
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let made = fs::openat(to, name, flags, Mode::from_raw_mode(0o600))?;
        let mut made = File::from(made);
        let mut permissions = Mode::empty();
        let mut found = *found;
        // A file that can't be read becomes a copy that can't be read.
        if let Some(from) = open(parent, name, OFlags::NONBLOCK)? {
            found = fs::fstat(&from)?;
            permissions = mode(&found);
            let from = File::from(from);
            let copied = io::copy(&mut from.take(self.bytes.saturating_add(1)), &mut made)?;
            self.take(copied)?;
        }
        let made = OwnedFd::from(made);
        fs::fchmod(&made, permissions)?;
        fs::futimens(&made, &modified(&found))?;
        let made = Stamp::of(&fs::fstat(&made)?);
        self.newest = self.newest.max(made.modified);
        self.start = self.start.min(made.changed);
        Ok(Entry::Other(made))
    }

    fn take(&mut self, bytes: u64) -> io::Result<()> {
        let less = self.bytes.checked_sub(bytes.next_multiple_of(PAGE));
        self.bytes = less.ok_or_else(|| io::Error::other("it is too large"))?;
        Ok(())
    }
}

/// Handles of the sources.
enum SourceHandles {
    Folders(Vec<OwnedFd>),
    File(OwnedFd),
}

/// The folders that are copied above each other, the first on top, or a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sources<'a> {
    pub(crate) paths: &'a [PathBuf],
    /// The paths are real ones: a link means that somebody has put it there.
    pub(crate) are_real: bool,
}

impl Sources<'_> {
    fn open(&self) -> io::Result<SourceHandles> {
        let open = |path: &PathBuf, also| {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC | also;
            if self.are_real {
                open_real(path, flags)
            } else {
                Ok(fs::openat(CWD, path, flags, Mode::empty())?)
            }
        };
        if let [one] = self.paths {
            match open(one, OFlags::DIRECTORY) {
                Ok(folder) => return Ok(SourceHandles::Folders(vec![folder])),
                Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                    let file = open(one, OFlags::NONBLOCK)?;
                    let kind = FileType::from_raw_mode(fs::fstat(&file)?.st_mode);
                    if kind != FileType::RegularFile {
                        return Err(io::Error::other("it is neither a file nor a folder"));
                    }
                    return Ok(SourceHandles::File(file));
                }
                Err(error) => return Err(error),
            }
        }
        let folders = self.paths.iter().map(|path| open(path, OFlags::DIRECTORY));
        Ok(SourceHandles::Folders(folders.collect::<io::Result<_>>()?))
    }
}

/// Paths below a folder at which other mounts lie.
struct MountPoints<'a>(Vec<&'a Path>);

/// The mount points below a name.
enum Below<'a> {
    Nothing,
    /// The name itself.
    Itself,
    MountPoints(Vec<&'a Path>),
}

impl Below<'_> {
    /// Returns whether a file can lie there: below a mount point, or as a folder around some.
    fn fits(&self, found: &Stat) -> bool {
        let kind = FileType::from_raw_mode(found.st_mode);
        match self {
            Self::Nothing => true,
            Self::Itself => matches!(kind, FileType::Directory | FileType::RegularFile),
            Self::MountPoints(_) => kind == FileType::Directory,
        }
    }
}

impl<'a> MountPoints<'a> {
    fn of(paths: &'a [PathBuf]) -> Self {
        Self(paths.iter().map(PathBuf::as_path).collect())
    }

    fn below(&self, name: &CStr) -> Below<'a> {
        let name = Path::new(OsStr::from_bytes(name.to_bytes()));
        let below = self
            .0
            .iter()
            .filter_map(|path| path.strip_prefix(name).ok());
        let below: Vec<&Path> = below.collect();
        if below.iter().any(|path| path.as_os_str().is_empty()) {
            Below::Itself
        } else if below.is_empty() {
            Below::Nothing
        } else {
            Below::MountPoints(below)
        }
    }

    /// Notes the mount points, and the folders that are only there for them.
    fn mark(&self, before: &mut Before) {
        for path in &self.0 {
            let Some(first) = path.components().next() else {
                continue;
            };
            let Ok(name) = CString::new(first.as_os_str().as_bytes()) else {
                continue;
            };
            let below = self.below(&name);
            let entry = before.entries.entry(name);
            match below {
                Below::Itself => {
                    entry.or_insert(Entry::MountPoint);
                }
                Below::MountPoints(below) => {
                    let entry = entry.or_insert_with(|| Entry::Folder(Before::default()));
                    if let Entry::Folder(folder) = entry {
                        MountPoints(below).mark(folder);
                    }
                }
                Below::Nothing => {}
            }
        }
    }
}

/// Opens a source; `None` where that isn't allowed, or it has gone.
fn open(parent: &OwnedFd, name: &CStr, also: OFlags) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | also;
    match fs::openat(parent, name, flags, Mode::empty()) {
        Ok(handle) => Ok(Some(handle)),
        Err(Errno::ACCESS | Errno::PERM | Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn make_folder(parent: &OwnedFd, name: &CStr) -> io::Result<OwnedFd> {
    match fs::mkdirat(parent, name, Mode::from_raw_mode(0o700)) {
        // A mount point lies below it.
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(fs::openat(parent, name, flags, Mode::empty())?)
}

fn mode(found: &Stat) -> Mode {
    Mode::from_raw_mode(found.st_mode & 0o777)
}

#[expect(
    clippy::useless_conversion,
    reason = "its fields differ between systems"
)]
fn modified(found: &Stat) -> Timestamps {
    let time = Timespec {
        tv_sec: found.st_mtime.into(),
        tv_nsec: found.st_mtime_nsec.try_into().unwrap_or_default(),
    };
    Timestamps {
        last_access: time,
        last_modification: time,
    }
}

#[cfg(test)]
mod tests;
