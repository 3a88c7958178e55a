//! Folders that one process holds by a lock, for its temporary files.
//!
//! One without a lock was left behind by a process that was killed, and is removed. Untrusted programs may have
//! written in them, so removing follows no link, and copes with any depth.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{self, AtFlags, FileType, FlockOperation, Mode, flock};
use rustix::io::Errno;

use crate::folder::{names, open_folder};
use crate::random;

/// The number of names that are tried.
const MAX_TRIES: u32 = 8;

/// A locked folder. Dropping it removes it.
#[derive(Debug)]
pub(crate) struct LockedFolder {
    parent: OwnedFd,
    pub(crate) name: CString,
    pub(crate) handle: OwnedFd,
    /// It stays when this is dropped.
    is_kept: bool,
}

impl LockedFolder {
    /// Makes one in a folder; its name has this prefix, and can't be guessed.
    ///
    /// # Errors
    /// The parent can't be written.
    pub(crate) fn new(parent: OwnedFd, prefix: &str) -> io::Result<Self> {
        for _ in 0..MAX_TRIES {
            let random = u64::from_le_bytes(random::bytes()?);
            let name = CString::new(format!("{prefix}{}-{random:016x}", std::process::id()))?;
            match fs::mkdirat(&parent, &*name, Mode::from_raw_mode(0o700)) {
                Err(Errno::EXIST) => continue,
                made => made?,
            }
            let Ok(handle) = open_folder(&parent, &name) else {
                continue;
            };
            // Another process may have removed it as left behind.
            let is_locked = flock(&handle, FlockOperation::NonBlockingLockExclusive).is_ok();
            if is_locked && is_there(&parent, &name, &handle)? {
                return Ok(Self {
                    parent,
                    name,
                    handle,
                    is_kept: false,
                });
            }
        }
        Err(io::Error::other("can't create a folder for it"))
    }
}

impl LockedFolder {
    /// Gives the folder, which isn't empty, a name by which it stays; if that is taken, it is removed.
    ///
    /// # Errors
    /// The name is taken.
    pub(crate) fn rename(mut self, name: &CStr) -> io::Result<()> {
        fs::renameat(&self.parent, &*self.name, &self.parent, name)?;
        self.is_kept = true;
        Ok(())
    }
}

impl Drop for LockedFolder {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        let _ = clear(&self.handle);
        let _ = fs::unlinkat(&self.parent, &*self.name, AtFlags::REMOVEDIR);
    }
}

/// Removes those folders with this prefix that dead processes of the same user left behind.
pub(crate) fn remove_left_behind(parent: &OwnedFd, prefix: &str) {
    for name in names(parent).unwrap_or_default() {
        if !name.to_bytes().starts_with(prefix.as_bytes()) {
            continue;
        }
        let Ok(handle) = open_folder(parent, &name) else {
            continue;
        };
        let is_ours = fs::fstat(&handle)
            .is_ok_and(|found| found.st_uid == rustix::process::geteuid().as_raw());
        if is_ours && flock(&handle, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = clear(&handle);
            let _ = fs::unlinkat(parent, &*name, AtFlags::REMOVEDIR);
        }
    }
}

/// Returns whether a folder still has this name.
///
/// # Errors
/// The parent can't be searched.
pub(crate) fn is_there(parent: &OwnedFd, name: &CStr, handle: &OwnedFd) -> io::Result<bool> {
    let opened = fs::fstat(handle)?;
    match fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok((found.st_dev, found.st_ino) == (opened.st_dev, opened.st_ino)),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Removes everything in a folder. Deeper folders are moved up first, so that no depth is too deep.
///
/// # Errors
/// Something can't be removed.
pub fn clear(folder: &OwnedFd) -> io::Result<()> {
    let mut moved = 0_u64;
    loop {
        let all = names(folder)?;
        if all.is_empty() {
            return Ok(());
        }
        for name in all {
            if remove(folder, &name)? {
                continue;
            }
            let below = open(folder, &name)?;
            for name in names(&below)? {
                if remove(&below, &name)? {
                    continue;
                }
                // Only a writable folder can be moved.
                drop(open(&below, &name)?);
                loop {
                    moved += 1;
                    let up = format!(".{moved}");
                    match fs::renameat(&below, &*name, folder, up) {
                        Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                        renamed => break renamed?,
                    }
                }
            }
            fs::unlinkat(folder, &*name, AtFlags::REMOVEDIR)?;
        }
    }
}

/// Removes a file or an empty folder; returns whether it was one.
fn remove(parent: &OwnedFd, name: &CStr) -> io::Result<bool> {
    match fs::unlinkat(parent, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(true),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    match fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::NOTEMPTY | Errno::EXIST | Errno::ACCESS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Opens a folder, and gives its owner the right to do so.
fn open(parent: &OwnedFd, name: &CStr) -> io::Result<OwnedFd> {
    let found = fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
        return Err(Errno::NOTDIR.into());
    }
    fs::chmodat(parent, name, Mode::from_raw_mode(0o700), AtFlags::empty())?;
    Ok(open_folder(parent, name)?)
}

#[cfg(test)]
mod tests {
    use super::{LockedFolder, remove_left_behind};

    #[test]
    fn removes_only_what_nobody_holds() {
        let parent = tempfile::tempdir().unwrap();
        let path = |name: &str| parent.path().join(name);
        for name in ["some-0-left/inside", "other-0-left"] {
            std::fs::create_dir_all(path(name)).unwrap();
        }
        let handle = || std::fs::File::open(parent.path()).unwrap().into();
        let held = LockedFolder::new(handle(), "some-").unwrap();
        remove_left_behind(&handle(), "some-");
        assert!(!path("some-0-left").exists());
        assert!(path("other-0-left").exists());
        assert!(path(held.name.to_str().unwrap()).exists());
        drop(held);
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 1);
    }
}
