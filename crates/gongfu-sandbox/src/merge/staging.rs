//! A place for files on their way into a folder: one rename puts each where it belongs, and one takes it away.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{self, AtFlags, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::file_time::FileTime;
use crate::locked_folder::{LockedFolder, remove_left_behind};

/// The start of its name.
pub(super) const PREFIX: &str = ".gongfu-";

/// The identity and the content of an entry, as far as the system tells. A rename doesn't change it.
#[derive(PartialEq, Eq)]
struct Identity {
    inode: u64,
    mode: u32,
    size: i64,
    modified: FileTime,
}

impl Identity {
    #[expect(
        clippy::useless_conversion,
        reason = "its fields differ between systems"
    )]
    fn of(found: &Stat) -> Self {
        Self {
            inode: found.st_ino,
            mode: found.st_mode.into(),
            size: found.st_size,
            modified: FileTime::modified(found),
        }
    }
}

/// A locked folder in the target of a merge. What a killed process left in such a folder is removed by the next
/// merge into the same target.
pub(super) struct Staging {
    folder: LockedFolder,
    count: u64,
}

impl Staging {
    /// Makes one in a folder.
    ///
    /// # Errors
    /// The folder can't be written.
    pub(super) fn new(target: &OwnedFd) -> io::Result<Self> {
        remove_left_behind(target, PREFIX);
        Ok(Self {
            folder: LockedFolder::new(target.try_clone()?, PREFIX)?,
            count: 0,
        })
    }

    /// A handle of it.
    pub(super) fn handle(&self) -> &OwnedFd {
        &self.folder.handle
    }

    /// A name in it that is free.
    pub(super) fn name(&mut self) -> CString {
        self.count += 1;
        CString::new(self.count.to_string()).unwrap_or_default()
    }

    /// Makes an empty file that only this process can read.
    ///
    /// # Errors
    /// The disk is full.
    pub(super) fn file(&mut self) -> io::Result<(CString, OwnedFd)> {
        let name = self.name();
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o600);
        let made = fs::openat(&self.folder.handle, &*name, flags, mode)?;
        Ok((name, made))
    }

    /// Puts a staged entry where nothing is; returns whether nothing was.
    ///
    /// # Errors
    /// The folder can't be written.
    pub(super) fn put(&self, staged: &CStr, target: &OwnedFd, name: &CStr) -> io::Result<bool> {
        let handle = &self.folder.handle;
        match rename(handle, staged, target, name, Rename::New) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Puts a staged entry in the place of another one, and removes that. Returns whether it was still the entry
    /// that was `found`; else all is as it was.
    ///
    /// # Errors
    /// The folder can't be written.
    pub(super) fn replace(
        &self,
        staged: &CStr,
        target: &OwnedFd,
        name: &CStr,
        found: &Stat,
    ) -> io::Result<bool> {
        let handle = &self.folder.handle;
        rename(handle, staged, target, name, Rename::Exchange)?;
        if is_same(handle, staged, found)? {
            // Dropping the staging folder would remove it as well, but needs room until then.
            let _ = fs::unlinkat(handle, staged, AtFlags::empty());
            return Ok(true);
        }
        // Somebody changed it in between: it goes back.
        rename(handle, staged, target, name, Rename::Exchange)?;
        Ok(false)
    }

    /// Removes an entry that is no folder. Returns whether it was still the one that was `found`; else it stays.
    ///
    /// # Errors
    /// The folder can't be written.
    pub(super) fn remove(
        &mut self,
        target: &OwnedFd,
        name: &CStr,
        found: &Stat,
    ) -> io::Result<bool> {
        let taken = self.name();
        let handle = &self.folder.handle;
        rename(target, name, handle, &taken, Rename::New)?;
        if is_same(handle, &taken, found)? {
            fs::unlinkat(handle, &*taken, AtFlags::empty())?;
            return Ok(true);
        }
        rename(handle, &taken, target, name, Rename::New)?;
        Ok(false)
    }
}

fn is_same(folder: &OwnedFd, name: &CStr, found: &Stat) -> io::Result<bool> {
    let now = fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(Identity::of(&now) == Identity::of(found))
}

/// The terms of a rename.
#[derive(Clone, Copy)]
enum Rename {
    /// It fails where something is already.
    New,
    /// The two entries change places.
    Exchange,
}

/// Renames an entry. Where the file system knows no such terms, they are checked before.
#[cfg(target_os = "linux")]
fn rename(
    from: &OwnedFd,
    name: &CStr,
    to: &OwnedFd,
    new_name: &CStr,
    terms: Rename,
) -> rustix::io::Result<()> {
    use rustix::fs::RenameFlags;
    let flags = match terms {
        Rename::New => RenameFlags::NOREPLACE,
        Rename::Exchange => RenameFlags::EXCHANGE,
    };
    match fs::renameat_with(from, name, to, new_name, flags) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            rename_checked(from, name, to, new_name, terms)
        }
        renamed => renamed,
    }
}

#[cfg(not(target_os = "linux"))]
use rename_checked as rename;

fn rename_checked(
    from: &OwnedFd,
    name: &CStr,
    to: &OwnedFd,
    new_name: &CStr,
    terms: Rename,
) -> rustix::io::Result<()> {
    match terms {
        Rename::New => match fs::statat(to, new_name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => fs::renameat(from, name, to, new_name),
            Ok(_) => Err(Errno::EXIST),
            Err(error) => Err(error),
        },
        Rename::Exchange => {
            let mut aside = name.to_bytes().to_vec();
            aside.extend(b"-aside");
            let aside = CString::new(aside).unwrap_or_default();
            fs::renameat(to, new_name, from, &*aside)?;
            fs::renameat(from, name, to, new_name)?;
            fs::renameat(from, &*aside, from, name)
        }
    }
}
