//! What a run wrote comes to where it is to stay.
//!
//! The layer was written by strangers: nothing in it is followed, and nothing but folders, files and
//! links that stay inside comes out of it. It is walked by handles after every process of the run
//! has ended, so nothing in it changes meanwhile; where it comes to, others may be at work, and there
//! as well no link is followed.
//!
//! A folder that is itself a layer above others, as that of a skill is, keeps what a run wrote and nothing
//! else: what is as it is below, even where it may be used otherwise, isn't kept, so that it doesn't hide a
//! later version; and what was removed from below isn't remembered, so that it is there again in the next
//! run, which is said.

mod below;

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Component, Path};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{self, AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use gongfu_core::sandbox::Change;

pub(crate) use below::Below;

use crate::copies::Before;
use crate::plan::Owner;
use crate::random;

/// How deep folders may lie in each other.
const DEEPEST: usize = 64;
/// The most changes that are listed; those beyond it happen all the same.
const LISTED: usize = 10_000;
/// How many bytes the paths of those that are listed may have together.
const LISTED_BYTES: usize = 1024 * 1024;
/// What is said of what a run took away from below a layer.
const STAYS: &str =
    "what lies there stays as it is, whatever a run removes: it is there again in the next one";
/// The longest path, in bytes.
const LONGEST: usize = 4096;

/// What a run changed, by path.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) listed: Vec<(String, Change)>,
    /// How many there are.
    pub(crate) total: usize,
    bytes: usize,
}

impl Changes {
    fn add(&mut self, path: &str, change: Change) {
        self.total += 1;
        self.bytes += path.len();
        if self.listed.len() < LISTED && self.bytes <= LISTED_BYTES {
            self.listed.push((path.to_owned(), change));
        }
    }
}

/// On which terms something is brought.
pub(crate) struct Terms<'a> {
    /// Whom it belongs to, where that isn't whoever brings it.
    pub(crate) owner: Option<Owner>,
    /// Until when: what isn't there by then stays behind.
    pub(crate) by: Instant,
    /// Readable once nobody wants it any more.
    pub(crate) cancel: BorrowedFd<'a>,
}

impl Terms<'_> {
    fn is_unwanted(&self) -> bool {
        let mut watched = [PollFd::from_borrowed_fd(self.cancel, PollFlags::IN)];
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        matches!(poll(&mut watched, Some(&at_once)), Ok(1))
    }
}

/// What is known of a folder, besides what the layer has in it.
#[derive(Default)]
pub(crate) struct Known<'a> {
    /// What lies below the folder that it comes to.
    pub(crate) below: Below,
    /// What the layer held at its beginning, where it is a copy: what is still so stays behind.
    pub(crate) before: Option<&'a Before>,
}

/// Brings a layer to a folder. What nobody wants any more ends it between two files.
///
/// # Errors
/// The folder can't be written, or is full. What was brought until then stays.
pub(crate) fn merge(
    layer: OwnedFd,
    target: OwnedFd,
    known: &Known<'_>,
    terms: &Terms<'_>,
    left: &mut u64,
) -> io::Result<Changes> {
    let mut merging = Merging {
        terms,
        is_copy: known.before.is_some(),
        left: *left,
        changes: Changes::default(),
    };
    merging.folder(&layer, &target, known, "", 0)?;
    *left = merging.left;
    merging
        .changes
        .listed
        .sort_by(|one, other| one.0.cmp(&other.0));
    Ok(merging.changes)
}

struct Merging<'a> {
    terms: &'a Terms<'a>,
    /// In a copy nothing says that something else is gone.
    is_copy: bool,
    /// How many more bytes may be written: links and holes make more of a file than it took.
    left: u64,
    changes: Changes,
}

impl Merging<'_> {
    fn folder(
        &mut self,
        layer: &OwnedFd,
        target: &OwnedFd,
        known: &Known<'_>,
        path: &str,
        depth: usize,
    ) -> io::Result<()> {
        let there = names(layer)?;
        if let Some(before) = known.before.filter(|_| !self.is_over()) {
            self.gone(target, &known.below, before, path, &there)?;
        }
        for name in there {
            if self.terms.is_unwanted() {
                return Ok(());
            }
            let below = format!("{path}{}", name.to_string_lossy());
            if below.len() > LONGEST {
                let why = "its path is too long";
                self.changes.add(path, Change::Refused(why.to_owned()));
                continue;
            }
            match self.entry(layer, target, known, &name, &below, depth) {
                Ok(()) => {}
                // Of these the next one would die as well.
                Err(error) if is_final(&error) => return Err(error),
                Err(error) => self.changes.add(&below, Change::Refused(error.to_string())),
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        layer: &OwnedFd,
        target: &OwnedFd,
        known: &Known<'_>,
        name: &CStr,
        below: &str,
        depth: usize,
    ) -> io::Result<()> {
        let found = fs::statat(layer, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if known.before.is_some_and(|before| before.has(name, &found)) {
            return Ok(());
        }
        let under = &known.below;
        let kind = FileType::from_raw_mode(found.st_mode);
        let why = match kind {
            _ if self.is_over() => "there was no time left to bring it out",
            FileType::CharacterDevice if found.st_rdev == 0 && !self.is_copy => {
                return self.removed(target, under, name, below);
            }
            FileType::Directory if depth >= DEEPEST => "it lies too deep",
            FileType::RegularFile
                if u64::try_from(found.st_size).is_ok_and(|size| size > self.left) =>
            {
                "it is more than may be written"
            }
            FileType::Directory => {
                // A script may have shut out its own user, and so us.
                fs::chmodat(layer, name, Mode::from_raw_mode(0o700), AtFlags::empty())?;
                let from = open_folder(layer, name)?;
                let (to, is_new) = self.opened(target, name, &from)?;
                let inside = Known {
                    below: under.folder(name),
                    before: known.before.and_then(|before| before.folder(name)),
                };
                self.folder(&from, &to, &inside, &format!("{below}/"), depth + 1)?;
                if self.is_renewed(&from) && under.has(name) {
                    self.changes.add(below, Change::Refused(STAYS.to_owned()));
                }
                if is_new && (under.has(name) || inside.before.is_some()) {
                    // One that holds something stays.
                    let _ = fs::unlinkat(target, name, AtFlags::REMOVEDIR);
                }
                return Ok(());
            }
            FileType::RegularFile => {
                let mode = Mode::from_raw_mode(0o600);
                fs::chmodat(layer, name, mode, AtFlags::empty())?;
                if under.has_same(layer, name, &found)? {
                    return self.restored(target, name, below, &found);
                }
                return self.file(layer, target, name, below, &found);
            }
            FileType::Symlink if under.has_same(layer, name, &found)? => {
                return self.restored(target, name, below, &found);
            }
            FileType::Symlink => return self.link(layer, target, name, below),
            _ => "it is neither a file nor a folder",
        };
        self.changes.add(below, Change::Refused(why.to_owned()));
        Ok(())
    }

    /// Whether there is no time left.
    fn is_over(&self) -> bool {
        Instant::now() > self.terms.by
    }

    /// Whether a folder of a layer was made where there was another one.
    fn is_renewed(&self, from: &OwnedFd) -> bool {
        !self.is_copy && is_opaque(from)
    }

    /// Takes away what is gone, as far as it isn't below.
    fn removed(
        &mut self,
        target: &OwnedFd,
        under: &Below,
        name: &CStr,
        path: &str,
    ) -> io::Result<()> {
        let was_there = remove(target, name, DEEPEST)?;
        if under.has(name) {
            self.changes.add(path, Change::Refused(STAYS.to_owned()));
        } else if was_there {
            self.changes.add(path, Change::Removed);
        }
        Ok(())
    }

    /// Takes away what a copy no longer has.
    fn gone(
        &mut self,
        target: &OwnedFd,
        under: &Below,
        before: &Before,
        path: &str,
        there: &[CString],
    ) -> io::Result<()> {
        let there: BTreeSet<&CStr> = there.iter().map(CString::as_c_str).collect();
        for name in before.names().filter(|name| !there.contains(name)) {
            let below = format!("{path}{}", name.to_string_lossy());
            match self.removed(target, under, name, &below) {
                Ok(()) => {}
                Err(error) if is_final(&error) => return Err(error),
                Err(error) => self.changes.add(&below, Change::Refused(error.to_string())),
            }
        }
        Ok(())
    }

    /// Lets what is below be seen again, where something else was kept above it.
    fn restored(
        &mut self,
        target: &OwnedFd,
        name: &CStr,
        path: &str,
        found: &Stat,
    ) -> io::Result<()> {
        if remove(target, name, DEEPEST)? {
            let change = match FileType::from_raw_mode(found.st_mode) {
                FileType::Symlink => Change::Linked,
                _ => Change::Written(u64::try_from(found.st_size).unwrap_or_default()),
            };
            self.changes.add(path, change);
        }
        Ok(())
    }

    /// The folder of this name in the target, and whether it wasn't there and was made.
    fn opened(&self, target: &OwnedFd, name: &CStr, from: &OwnedFd) -> io::Result<(OwnedFd, bool)> {
        if self.is_renewed(from) {
            remove(target, name, DEEPEST)?;
        }
        match open_folder(target, name) {
            Ok(folder) => return Ok((folder, false)),
            Err(Errno::NOENT) => {}
            Err(Errno::NOTDIR | Errno::LOOP) => {
                remove(target, name, DEEPEST)?;
            }
            Err(error) => return Err(error.into()),
        }
        fs::mkdirat(target, name, Mode::from_raw_mode(0o755))?;
        let made = open_folder(target, name)?;
        self.own(&made)?;
        Ok((made, true))
    }

    fn own(&self, made: &OwnedFd) -> rustix::io::Result<()> {
        let Some(Owner { user, group }) = self.terms.owner else {
            return Ok(());
        };
        let user = rustix::process::Uid::from_raw(user);
        let group = rustix::process::Gid::from_raw(group);
        fs::fchown(made, Some(user), Some(group))
    }

    fn file(
        &mut self,
        layer: &OwnedFd,
        target: &OwnedFd,
        name: &CStr,
        path: &str,
        found: &Stat,
    ) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut from = File::from(fs::openat(layer, name, flags, Mode::empty())?);
        let (beside, to) = made_beside(target)?;
        let mut to = File::from(to);
        let copied = io::copy(&mut (&mut from).take(self.left), &mut to).and_then(|length| {
            self.left -= length;
            fs::fchmod(&to, Mode::from_raw_mode(found.st_mode & 0o777))?;
            self.own(&OwnedFd::from(to))?;
            Ok(length)
        });
        let length = match copied {
            Ok(length) => length,
            Err(error) => {
                let _ = fs::unlinkat(target, &*beside, AtFlags::empty());
                return Err(error);
            }
        };
        replace(target, &beside, name)?;
        self.changes.add(path, Change::Written(length));
        Ok(())
    }

    fn link(
        &mut self,
        layer: &OwnedFd,
        target: &OwnedFd,
        name: &CStr,
        path: &str,
    ) -> io::Result<()> {
        let to = fs::readlinkat(layer, name, Vec::new())?;
        if !stays_inside(path, &to) {
            let why = "it is a link that leads out";
            self.changes.add(path, Change::Refused(why.to_owned()));
            return Ok(());
        }
        let beside = beside()?;
        fs::symlinkat(&*to, target, &*beside)?;
        replace(target, &beside, name)?;
        self.changes.add(path, Change::Linked);
        Ok(())
    }
}

/// The names in a folder; it isn't kept open while they are looked at.
fn names(folder: &OwnedFd) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            names.push(entry.file_name().to_owned());
        }
    }
    Ok(names)
}

/// Whether nothing more can be brought to where it is to stay.
fn is_final(error: &io::Error) -> bool {
    let number = error.raw_os_error().map(Errno::from_raw_os_error);
    let ends = [
        Errno::NOSPC,
        Errno::DQUOT,
        Errno::IO,
        Errno::MFILE,
        Errno::NFILE,
        Errno::ROFS,
    ];
    number.is_some_and(|number| ends.contains(&number))
}

fn open_folder(parent: &OwnedFd, name: &CStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat(parent, name, flags, Mode::empty())
}

/// Whether a folder of a layer hides what was below it.
fn is_opaque(folder: &OwnedFd) -> bool {
    let mut value = [0_u8; 1];
    let length = fs::fgetxattr(folder, c"user.overlay.opaque", &mut value[..]);
    length == Ok(1) && value == *b"y"
}

/// A name that nobody else has.
fn beside() -> io::Result<CString> {
    let number = random::bytes::<12>()?
        .iter()
        .fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    Ok(CString::new(format!(".gongfu-{number:024x}"))?)
}

fn made_beside(target: &OwnedFd) -> io::Result<(CString, OwnedFd)> {
    let name = beside()?;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let made = fs::openat(target, &*name, flags, Mode::from_raw_mode(0o600))?;
    Ok((name, made))
}

/// Gives a file the name that it is meant to have, whatever has it now.
fn replace(target: &OwnedFd, beside: &CStr, name: &CStr) -> io::Result<()> {
    let mut renamed = fs::renameat(target, beside, target, name);
    if matches!(renamed, Err(Errno::ISDIR | Errno::EXIST | Errno::NOTEMPTY)) {
        remove(target, name, DEEPEST)?;
        renamed = fs::renameat(target, beside, target, name);
    }
    if renamed.is_err() {
        let _ = fs::unlinkat(target, beside, AtFlags::empty());
    }
    Ok(renamed?)
}

/// Takes away a file, or a folder with all that is in it; answers whether there was one.
fn remove(parent: &OwnedFd, name: &CStr, depth: usize) -> io::Result<bool> {
    match fs::unlinkat(parent, name, AtFlags::empty()) {
        Ok(()) => return Ok(true),
        Err(Errno::NOENT) => return Ok(false),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    if depth == 0 {
        return Err(Errno::NAMETOOLONG.into());
    }
    let folder = open_folder(parent, name)?;
    for entry in names(&folder)? {
        remove(&folder, &entry, depth - 1)?;
    }
    fs::unlinkat(parent, name, AtFlags::REMOVEDIR)?;
    Ok(true)
}

/// Whether a link at this path leads to a place in the same folder that the path begins in.
///
/// It may climb only before it descends: what it descends through may be a link by then. The folders
/// above a link are real ones, so a chain of such links stays inside as well.
fn stays_inside(path: &str, to: &CStr) -> bool {
    let Ok(to) = to.to_str() else {
        return false;
    };
    let mut above = path.matches('/').count();
    let mut descends = false;
    for component in Path::new(to).components() {
        match component {
            Component::Normal(_) => descends = true,
            Component::CurDir => {}
            Component::ParentDir if descends => return false,
            Component::ParentDir => match above.checked_sub(1) {
                Some(less) => above = less,
                None => return false,
            },
            Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests;
