//! Copies of folders, for sandboxes that can't put a layer above them.
//!
//! What is copied may have been written by strangers, and others may be at work in it meanwhile: it is
//! walked by handles, no link is followed, and nothing but folders, files and links comes along. What
//! the copies were at their beginning is remembered: what is otherwise afterwards is what the run
//! changed.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, Timespec, Timestamps};
use rustix::io::Errno;

/// How deep folders may lie in each other.
const DEEPEST: usize = 64;
/// What a file takes at least, and by how much it takes more.
const PAGE: u64 = 4096;
/// How coarse the clock of files may be, in nanoseconds.
const TICK: i128 = 20_000_000;

/// What a folder held when it was copied.
#[derive(Debug, Default)]
pub(crate) struct Before(BTreeMap<CString, Mark>);

#[derive(Debug)]
enum Mark {
    Folder(Before),
    Other(Stamp),
    /// Something else lies there.
    Hidden,
}

/// By what a file is known to be unchanged; the second of the times can't be set by anybody.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    mode: u32,
    inode: u64,
    size: i64,
    written: i128,
    changed: i128,
}

impl Before {
    /// Whether a file or link is still what it was, or is no part of this.
    pub(crate) fn has(&self, name: &CStr, found: &Stat) -> bool {
        match self.0.get(name) {
            Some(Mark::Other(stamp)) => *stamp == Stamp::of(found),
            Some(Mark::Hidden) => true,
            Some(Mark::Folder(_)) | None => false,
        }
    }

    /// What the folder of this name held, if there was one.
    pub(crate) fn folder(&self, name: &CStr) -> Option<&Self> {
        match self.0.get(name) {
            Some(Mark::Folder(before)) => Some(before),
            _ => None,
        }
    }

    /// The names of all that there was.
    pub(crate) fn names(&self) -> impl Iterator<Item = &CStr> {
        let there = self.0.iter();
        let there = there.filter(|(_, mark)| !matches!(mark, Mark::Hidden));
        there.map(|(name, _)| name.as_c_str())
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
            written: nanoseconds(found.st_mtime.into(), found.st_mtime_nsec),
            changed: nanoseconds(found.st_ctime.into(), found.st_ctime_nsec),
        }
    }
}

fn nanoseconds(seconds: i64, rest: impl TryInto<i64>) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(rest.try_into().unwrap_or_default())
}

/// Copies, or finds out what copying would take.
#[derive(Debug)]
pub(crate) struct Copier {
    /// How many bytes more there may be.
    bytes: u64,
    /// How many files and folders more there may be.
    files: u64,
    /// When the last of the files was written, and the first of the copies made.
    newest: i128,
    begun: i128,
}

impl Copier {
    /// One that copies so much at most.
    pub(crate) fn new(bytes: u64, files: u64) -> Self {
        Self {
            bytes,
            files,
            newest: i128::MIN,
            begun: i128::MAX,
        }
    }

    /// How many bytes and files more there may be.
    #[cfg(any(target_os = "linux", test))]
    pub(crate) fn left(&self) -> (u64, u64) {
        (self.bytes, self.files)
    }

    /// Goes through folders that lie above each other, the first on top, without copying; or through
    /// one file.
    ///
    /// # Errors
    /// One can't be read, there is too much in them, or a link lies where a place in them is to be.
    pub(crate) fn measure(&mut self, sources: &[PathBuf], places: &[PathBuf]) -> io::Result<()> {
        match opened(sources)? {
            Opened::Folders(from) => self.folder(&from, None, &Places::of(places), 0).map(drop),
            Opened::File(from) => {
                let size = fs::fstat(&from)?.st_size;
                self.take(u64::try_from(size).unwrap_or_default())
            }
        }
    }

    /// Copies folders that lie above each other, the first on top, into an empty one, but for what lies
    /// where there are other places in it; or one file into an empty one.
    ///
    /// # Errors
    /// One can't be read, there is too much in them, or the copy can't be written.
    pub(crate) fn copy(
        &mut self,
        sources: &[PathBuf],
        places: &[PathBuf],
        to: &OwnedFd,
    ) -> io::Result<Before> {
        match opened(sources)? {
            Opened::Folders(from) => self.folder(&from, Some(to), &Places::of(places), 0),
            Opened::File(from) => {
                let mut to = File::from(to.try_clone()?);
                let from = File::from(from);
                let copied = io::copy(&mut from.take(self.bytes.saturating_add(1)), &mut to)?;
                self.take(copied)?;
                Ok(Before::default())
            }
        }
    }

    /// Waits until whatever is written from now on has another time than what was copied.
    pub(crate) fn settle(&self) {
        if self.newest >= self.begun.saturating_sub(TICK) {
            let tick = u64::try_from(TICK).unwrap_or_default();
            std::thread::sleep(std::time::Duration::from_nanos(tick));
        }
    }

    fn folder(
        &mut self,
        from: &[OwnedFd],
        to: Option<&OwnedFd>,
        places: &Places<'_>,
        depth: usize,
    ) -> io::Result<Before> {
        if depth > DEEPEST {
            return Err(io::Error::other("its folders lie too deep in each other"));
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
            let below = places.below(&name);
            let fits = there.first().is_none_or(|(_, found)| below.fits(found));
            if !fits {
                let why = "what lies where something else is to be seen in it is no folder";
                return Err(io::Error::other(why));
            }
            let mark = match below {
                Below::Itself => None,
                Below::Nothing => self.entry(&name, &there, to, &Places(Vec::new()), depth)?,
                Below::Places(below) => self.entry(&name, &there, to, &Places(below), depth)?,
            };
            if let Some(mark) = mark {
                before.0.insert(name, mark);
            }
        }
        places.mark(&mut before);
        Ok(before)
    }

    fn entry(
        &mut self,
        name: &CStr,
        there: &[(&OwnedFd, Stat)],
        to: Option<&OwnedFd>,
        places: &Places<'_>,
        depth: usize,
    ) -> io::Result<Option<Mark>> {
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
        self.files = less.ok_or_else(|| io::Error::other("there are too many files in it"))?;
        match kind(found) {
            FileType::Directory => {
                // What lies below something else than a folder is hidden.
                let folders = there
                    .iter()
                    .take_while(|(_, found)| kind(found) == FileType::Directory);
                let mut below = Vec::new();
                for (parent, _) in folders {
                    below.extend(open(parent, name, OFlags::DIRECTORY)?);
                }
                let made = to.map(|to| made_folder(to, name)).transpose()?;
                let before = self.folder(&below, made.as_ref(), places, depth + 1)?;
                if let Some(made) = &made {
                    fs::fchmod(made, mode(found))?;
                }
                Ok(Some(Mark::Folder(before)))
            }
            FileType::RegularFile => self.file(parent, name, found, to).map(Some),
            _ => {
                let Some(to) = to else {
                    return Ok(Some(Mark::Other(Stamp::of(found))));
                };
                let leads = fs::readlinkat(parent, name, Vec::new())?;
                fs::symlinkat(&*leads, to, name)?;
                let made = fs::statat(to, name, AtFlags::SYMLINK_NOFOLLOW)?;
                Ok(Some(Mark::Other(Stamp::of(&made))))
            }
        }
    }

    fn file(
        &mut self,
        parent: &OwnedFd,
        name: &CStr,
        found: &Stat,
        to: Option<&OwnedFd>,
    ) -> io::Result<Mark> {
        let Some(to) = to else {
            let size = u64::try_from(found.st_size).unwrap_or_default();
            self.take(size)?;
            return Ok(Mark::Other(Stamp::of(found)));
        };
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let made = fs::openat(to, name, flags, Mode::from_raw_mode(0o600))?;
        let mut made = File::from(made);
        let mut permissions = Mode::empty();
        let mut found = *found;
        // One that can't be read can't be read in the copy.
        if let Some(from) = open(parent, name, OFlags::NONBLOCK)? {
            found = fs::fstat(&from)?;
            permissions = mode(&found);
            let from = File::from(from);
            let copied = io::copy(&mut from.take(self.bytes.saturating_add(1)), &mut made)?;
            self.take(copied)?;
        }
        let made = OwnedFd::from(made);
        fs::fchmod(&made, permissions)?;
        fs::futimens(&made, &written(&found))?;
        let made = Stamp::of(&fs::fstat(&made)?);
        self.newest = self.newest.max(made.written);
        self.begun = self.begun.min(made.changed);
        Ok(Mark::Other(made))
    }

    fn take(&mut self, bytes: u64) -> io::Result<()> {
        let less = self.bytes.checked_sub(bytes.next_multiple_of(PAGE));
        self.bytes = less.ok_or_else(|| io::Error::other("there is too much in it"))?;
        Ok(())
    }
}

/// What is copied.
enum Opened {
    Folders(Vec<OwnedFd>),
    File(OwnedFd),
}

fn opened(sources: &[PathBuf]) -> io::Result<Opened> {
    let open = |path: &PathBuf, also| {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | also;
        fs::openat(CWD, path, flags, Mode::empty())
    };
    if let [one] = sources {
        match open(one, OFlags::DIRECTORY) {
            Ok(folder) => return Ok(Opened::Folders(vec![folder])),
            Err(Errno::NOTDIR) => {
                let file = open(one, OFlags::NONBLOCK)?;
                let kind = FileType::from_raw_mode(fs::fstat(&file)?.st_mode);
                if kind != FileType::RegularFile {
                    return Err(io::Error::other("it is neither a file nor a folder"));
                }
                return Ok(Opened::File(file));
            }
            Err(error) => return Err(error.into()),
        }
    }
    let folders = sources.iter().map(|path| open(path, OFlags::DIRECTORY));
    Ok(Opened::Folders(folders.collect::<Result<_, _>>()?))
}

/// Paths below a folder at which something else lies.
struct Places<'a>(Vec<&'a Path>);

/// What of them lies below a name.
enum Below<'a> {
    Nothing,
    /// The name is one of them.
    Itself,
    Places(Vec<&'a Path>),
}

impl Below<'_> {
    /// Whether something can be there all the same, hidden or as a folder around the places.
    fn fits(&self, found: &Stat) -> bool {
        let kind = FileType::from_raw_mode(found.st_mode);
        match self {
            Self::Nothing => true,
            Self::Itself => matches!(kind, FileType::Directory | FileType::RegularFile),
            Self::Places(_) => kind == FileType::Directory,
        }
    }
}

impl<'a> Places<'a> {
    fn of(places: &'a [PathBuf]) -> Self {
        Self(places.iter().map(PathBuf::as_path).collect())
    }

    fn below(&self, name: &CStr) -> Below<'a> {
        let name = Path::new(OsStr::from_bytes(name.to_bytes()));
        let places = self
            .0
            .iter()
            .filter_map(|place| place.strip_prefix(name).ok());
        let places: Vec<&Path> = places.collect();
        if places.iter().any(|place| place.as_os_str().is_empty()) {
            Below::Itself
        } else if places.is_empty() {
            Below::Nothing
        } else {
            Below::Places(places)
        }
    }

    /// Says that they are no part of what there was, nor are folders that are there for them alone.
    fn mark(&self, before: &mut Before) {
        for place in &self.0 {
            let Some(first) = place.components().next() else {
                continue;
            };
            let Ok(name) = CString::new(first.as_os_str().as_bytes()) else {
                continue;
            };
            let below = self.below(&name);
            let mark = before.0.entry(name);
            match below {
                Below::Itself => {
                    mark.or_insert(Mark::Hidden);
                }
                Below::Places(below) => {
                    let mark = mark.or_insert_with(|| Mark::Folder(Before::default()));
                    if let Mark::Folder(folder) = mark {
                        Places(below).mark(folder);
                    }
                }
                Below::Nothing => {}
            }
        }
    }
}

/// Opens what is read; nothing, where that isn't allowed or it has gone.
fn open(parent: &OwnedFd, name: &CStr, also: OFlags) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | also;
    match fs::openat(parent, name, flags, Mode::empty()) {
        Ok(handle) => Ok(Some(handle)),
        Err(Errno::ACCESS | Errno::PERM | Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn made_folder(parent: &OwnedFd, name: &CStr) -> io::Result<OwnedFd> {
    match fs::mkdirat(parent, name, Mode::from_raw_mode(0o700)) {
        // Another place lies below it.
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
fn written(found: &Stat) -> Timestamps {
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
