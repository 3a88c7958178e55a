//! Merges the layer of a run into the folder that keeps it.
//!
//! An untrusted program wrote the layer: no link in it is followed, and only folders, files and links that stay inside are
//! merged. It is walked by handles after every process of the run has ended, so it doesn't change meanwhile.
//! Others may be at work in the target, so no link is followed there either.
//!
//! The target may itself be a layer above other folders, as that of a skill is. Then it keeps only what a run
//! wrote: a file that is the same below isn't kept, so that it doesn't hide a later version, and a removal from
//! below isn't remembered. The file is back in the next run, which is reported.

mod below;

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Component, Path};
use std::time::Instant;

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use gongfu_core::sandbox::Change;

pub(crate) use below::Below;

use crate::copier::Before;
use crate::folder::{names, open_folder};
use crate::plan::UnixId;
use crate::poll::is_readable;
use crate::random;

/// The deepest nesting of folders.
const MAX_DEPTH: usize = 64;
/// The most changes that are listed; those beyond it are merged all the same.
const MAX_LISTED: usize = 10_000;
/// The most bytes of all listed paths together.
const MAX_LISTED_BYTES: usize = 1024 * 1024;
/// The message for a removal from below a layer.
const REMOVAL_REFUSED: &str =
    "what lies there stays as it is, whatever a run removes: it is there again in the next one";
/// The longest path, in bytes.
const MAX_PATH: usize = 4096;

/// The changes of a run, by path.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) listed: Vec<(String, Change)>,
    /// Their number.
    pub(crate) total: usize,
    bytes: usize,
}

impl Changes {
    fn add(&mut self, path: &str, change: Change) {
        self.total += 1;
        self.bytes += path.len();
        if self.listed.len() < MAX_LISTED && self.bytes <= MAX_LISTED_BYTES {
            self.listed.push((path.to_owned(), change));
        }
    }
}

/// The terms of a merge.
pub(crate) struct Terms<'a> {
    /// The owner of new files; `None` for this process's own.
    pub(crate) owner: Option<UnixId>,
    /// The time at which it stops; later entries are refused.
    pub(crate) deadline: Instant,
    /// Readable once the run is cancelled.
    pub(crate) cancel: BorrowedFd<'a>,
}

impl Terms<'_> {
    fn is_cancelled(&self) -> bool {
        is_readable(self.cancel)
    }
}

/// The context of a folder besides the content of its layer.
#[derive(Default)]
pub(crate) struct FolderContext<'a> {
    /// The folders below the target.
    pub(crate) below: Below,
    /// The content of the layer at its beginning, where it is a copy: unchanged files aren't merged.
    pub(crate) before: Option<&'a Before>,
}

/// Merges a layer into a folder. Cancelling stops it between two files.
///
/// # Errors
/// The folder can't be written, or is full. What was merged until then stays.
pub(crate) fn merge(
    layer: OwnedFd,
    target: OwnedFd,
    context: &FolderContext<'_>,
    terms: &Terms<'_>,
    bytes: &mut u64,
) -> io::Result<Changes> {
    let mut merging = Merging {
        terms,
        is_copy: context.before.is_some(),
        left: *bytes,
        changes: Changes::default(),
    };
    merging.folder(&layer, &target, context, "", 0)?;
    *bytes = merging.left;
    merging
        .changes
        .listed
        .sort_by(|one, other| one.0.cmp(&other.0));
    Ok(merging.changes)
}

struct Merging<'a> {
    terms: &'a Terms<'a>,
    /// The layer is a copy, in which nothing marks a removal.
    is_copy: bool,
    /// The bytes that may still be written: with links and holes files may grow in the merge.
    left: u64,
    changes: Changes,
}

impl Merging<'_> {
    fn folder(
        &mut self,
        layer: &OwnedFd,
        target: &OwnedFd,
        context: &FolderContext<'_>,
        path: &str,
        depth: usize,
    ) -> io::Result<()> {
        let there = names(layer)?;
        if let Some(before) = context.before.filter(|_| !self.is_late()) {
            self.remove_missing(target, &context.below, before, path, &there)?;
        }
        for name in there {
            if self.terms.is_cancelled() {
                return Ok(());
            }
            let below = format!("{path}{}", name.to_string_lossy());
            if below.len() > MAX_PATH {
                let why = "its path is too long";
                self.changes.add(path, Change::Refused(why.to_owned()));
                continue;
            }
            match self.entry(layer, target, context, &name, &below, depth) {
                Ok(()) => {}
                // The next file would fail as well.
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
        context: &FolderContext<'_>,
        name: &CStr,
        below: &str,
        depth: usize,
    ) -> io::Result<()> {
        let found = fs::statat(layer, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if context
            .before
            .is_some_and(|before| before.is_unchanged(name, &found))
        {
            return Ok(());
        }
        let under = &context.below;
        let kind = FileType::from_raw_mode(found.st_mode);
        let why = match kind {
            _ if self.is_late() => "there was no time left to bring it out",
            FileType::CharacterDevice if found.st_rdev == 0 && !self.is_copy => {
                return self.remove(target, under, name, below);
            }
            FileType::Directory if depth >= MAX_DEPTH => "it lies too deep",
            FileType::RegularFile
                if u64::try_from(found.st_size).is_ok_and(|size| size > self.left) =>
            {
                "it is more than may be written"
            }
            FileType::Directory => {
                // A script may have denied access to its own user.
                fs::chmodat(layer, name, Mode::from_raw_mode(0o700), AtFlags::empty())?;
                let from = open_folder(layer, name)?;
                let (to, is_new) = self.open_target(target, name, &from)?;
                let inside = FolderContext {
                    below: under.folder(name),
                    before: context.before.and_then(|before| before.folder(name)),
                };
                self.folder(&from, &to, &inside, &format!("{below}/"), depth + 1)?;
                if self.is_replacement(&from) && under.has(name) {
                    self.changes
                        .add(below, Change::Refused(REMOVAL_REFUSED.to_owned()));
                }
                if is_new && (under.has(name) || inside.before.is_some()) {
                    // A folder that isn't empty stays.
                    let _ = fs::unlinkat(target, name, AtFlags::REMOVEDIR);
                }
                return Ok(());
            }
            FileType::RegularFile => {
                let mode = Mode::from_raw_mode(0o600);
                fs::chmodat(layer, name, mode, AtFlags::empty())?;
                if under.has_same(layer, name, &found)? {
                    return self.uncover(target, name, below, &found);
                }
                return self.file(layer, target, name, below, &found);
            }
            FileType::Symlink if under.has_same(layer, name, &found)? => {
                return self.uncover(target, name, below, &found);
            }
            FileType::Symlink => return self.link(layer, target, name, below),
            _ => "it is neither a file nor a folder",
        };
        self.changes.add(below, Change::Refused(why.to_owned()));
        Ok(())
    }

    /// Returns whether the deadline has passed.
    fn is_late(&self) -> bool {
        Instant::now() > self.terms.deadline
    }

    /// Returns whether a folder of a layer replaces another one.
    fn is_replacement(&self, from: &OwnedFd) -> bool {
        !self.is_copy && is_opaque(from)
    }

    /// Removes a file that the run has removed, unless it is below.
    fn remove(
        &mut self,
        target: &OwnedFd,
        under: &Below,
        name: &CStr,
        path: &str,
    ) -> io::Result<()> {
        let was_there = remove(target, name, MAX_DEPTH)?;
        if under.has(name) {
            self.changes
                .add(path, Change::Refused(REMOVAL_REFUSED.to_owned()));
        } else if was_there {
            self.changes.add(path, Change::Removed);
        }
        Ok(())
    }

    /// Removes the files that a copy doesn't have any more.
    fn remove_missing(
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
            match self.remove(target, under, name, &below) {
                Ok(()) => {}
                Err(error) if is_final(&error) => return Err(error),
                Err(error) => self.changes.add(&below, Change::Refused(error.to_string())),
            }
        }
        Ok(())
    }

    /// Uncovers a file below that the run has restored.
    fn uncover(
        &mut self,
        target: &OwnedFd,
        name: &CStr,
        path: &str,
        found: &Stat,
    ) -> io::Result<()> {
        if remove(target, name, MAX_DEPTH)? {
            let change = match FileType::from_raw_mode(found.st_mode) {
                FileType::Symlink => Change::Linked,
                _ => Change::Written(u64::try_from(found.st_size).unwrap_or_default()),
            };
            self.changes.add(path, change);
        }
        Ok(())
    }

    /// Opens or makes a folder in the target; returns whether it is new.
    fn open_target(
        &self,
        target: &OwnedFd,
        name: &CStr,
        from: &OwnedFd,
    ) -> io::Result<(OwnedFd, bool)> {
        if self.is_replacement(from) {
            remove(target, name, MAX_DEPTH)?;
        }
        match open_folder(target, name) {
            Ok(folder) => return Ok((folder, false)),
            Err(Errno::NOENT) => {}
            Err(Errno::NOTDIR | Errno::LOOP) => {
                remove(target, name, MAX_DEPTH)?;
            }
            Err(error) => return Err(error.into()),
        }
        fs::mkdirat(target, name, Mode::from_raw_mode(0o755))?;
        let made = open_folder(target, name)?;
        self.give(&made)?;
        Ok((made, true))
    }

    fn give(&self, made: &OwnedFd) -> rustix::io::Result<()> {
        let Some(UnixId { user, group }) = self.terms.owner else {
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
        let (temporary, to) = make_temporary(target)?;
        let mut to = File::from(to);
        let copied = io::copy(&mut (&mut from).take(self.left), &mut to).and_then(|length| {
            self.left -= length;
            fs::fchmod(&to, Mode::from_raw_mode(found.st_mode & 0o777))?;
            self.give(&OwnedFd::from(to))?;
            Ok(length)
        });
        let length = match copied {
            Ok(length) => length,
            Err(error) => {
                let _ = fs::unlinkat(target, &*temporary, AtFlags::empty());
                return Err(error);
            }
        };
        replace(target, &temporary, name)?;
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
        let temporary = temporary_name()?;
        fs::symlinkat(&*to, target, &*temporary)?;
        replace(target, &temporary, name)?;
        self.changes.add(path, Change::Linked);
        Ok(())
    }
}

/// Returns whether an error means that nothing more can be merged.
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

/// Returns whether a folder of an overlay hides the folders below it.
fn is_opaque(folder: &OwnedFd) -> bool {
    let mut value = [0_u8; 1];
    let length = fs::fgetxattr(folder, c"user.overlay.opaque", &mut value[..]);
    length == Ok(1) && value == *b"y"
}

/// A name for a temporary file that can't be guessed.
fn temporary_name() -> io::Result<CString> {
    let number = random::bytes::<12>()?
        .iter()
        .fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    Ok(CString::new(format!(".gongfu-{number:024x}"))?)
}

fn make_temporary(target: &OwnedFd) -> io::Result<(CString, OwnedFd)> {
    let name = temporary_name()?;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let made = fs::openat(target, &*name, flags, Mode::from_raw_mode(0o600))?;
    Ok((name, made))
}

/// Renames a temporary file, and replaces any entry of that name.
fn replace(target: &OwnedFd, temporary: &CStr, name: &CStr) -> io::Result<()> {
    let mut renamed = fs::renameat(target, temporary, target, name);
    if matches!(renamed, Err(Errno::ISDIR | Errno::EXIST | Errno::NOTEMPTY)) {
        remove(target, name, MAX_DEPTH)?;
        renamed = fs::renameat(target, temporary, target, name);
    }
    if renamed.is_err() {
        let _ = fs::unlinkat(target, temporary, AtFlags::empty());
    }
    Ok(renamed?)
}

/// Removes a file, or a folder with everything in it; returns whether there was one.
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

/// Returns whether a link at this path stays inside of the merged folder.
///
/// It may climb only before it descends, because what it descends through may be a link by then. The folders
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
