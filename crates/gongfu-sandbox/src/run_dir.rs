//! Temporary folders of runs on the disk, for sandboxes that can't mount anything.
//!
//! The server holds a lock on each folder. One without a lock was left behind by a server that was killed, and
//! is removed. Untrusted programs wrote in them, so removing follows no link, and copes with any depth.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Once;

use rustix::fs::{self, AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

use crate::folder::{names, open_folder};
use crate::{platform, random};

/// The start of their names.
const PREFIX: &str = "gongfu-run-";
/// The number of names that are tried.
const MAX_TRIES: u32 = 8;

/// A temporary folder. Dropping it removes it.
#[derive(Debug)]
pub struct RunDir {
    parent: OwnedFd,
    name: CString,
    handle: OwnedFd,
    /// Its path.
    pub path: PathBuf,
}

impl RunDir {
    /// Makes one; where it `is_passage`, other users may pass through it, but not list it. The first one of a
    /// process removes those of dead servers.
    ///
    /// # Errors
    /// The folder for temporary files can't be written.
    pub fn new(is_passage: bool) -> io::Result<Self> {
        static SWEEP: Once = Once::new();
        SWEEP.call_once(remove_left_behind);
        let above = std::fs::canonicalize(std::env::temp_dir())?;
        let parent = fs::openat(CWD, &above, folder_flags(), Mode::empty())?;
        for _ in 0..MAX_TRIES {
            let random = u64::from_le_bytes(random::bytes()?);
            let name = format!("{PREFIX}{}-{random:016x}", std::process::id());
            let path = above.join(&name);
            let name = CString::new(name)?;
            match fs::mkdirat(&parent, &*name, Mode::from_raw_mode(0o700)) {
                Err(Errno::EXIST) => continue,
                made => made?,
            }
            let Ok(handle) = open_folder(&parent, &name) else {
                continue;
            };
            // Another server may have removed it as left behind.
            let is_locked = flock(&handle, FlockOperation::NonBlockingLockExclusive).is_ok();
            if !is_locked || !is_there(&parent, &name, &handle)? {
                continue;
            }
            if is_passage {
                fs::fchmod(&handle, Mode::from_raw_mode(0o711))?;
            }
            return Ok(Self {
                parent,
                name,
                handle,
                path,
            });
        }
        Err(io::Error::other("no folder of its own can be made for it"))
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        empty(&self.handle, &self.path);
        let _ = fs::unlinkat(&self.parent, &*self.name, AtFlags::REMOVEDIR);
    }
}

/// Removes the folders that dead servers of the same user left behind.
fn remove_left_behind() {
    let Ok(above) = std::fs::canonicalize(std::env::temp_dir()) else {
        return;
    };
    let Ok(parent) = fs::openat(CWD, &above, folder_flags(), Mode::empty()) else {
        return;
    };
    for name in names(&parent).unwrap_or_default() {
        if !name.to_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        let Ok(handle) = open_folder(&parent, &name) else {
            continue;
        };
        let is_ours = fs::fstat(&handle)
            .is_ok_and(|found| found.st_uid == rustix::process::geteuid().as_raw());
        if is_ours && flock(&handle, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let path = above.join(OsStr::from_bytes(name.to_bytes()));
            empty(&handle, &path);
            let _ = fs::unlinkat(&parent, &*name, AtFlags::REMOVEDIR);
        }
    }
}

/// Removes everything in a run's folder, as far as possible.
fn empty(folder: &OwnedFd, path: &Path) {
    if clear(folder).is_err() {
        platform::make_removable(path);
        let _ = clear(folder);
    }
}

/// Returns whether a folder still has this name.
fn is_there(parent: &OwnedFd, name: &CStr, handle: &OwnedFd) -> io::Result<bool> {
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

fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::{RunDir, folder_flags, fs, remove_left_behind};

    #[test]
    fn removes_everything_but_the_targets_of_links() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("file"), "x").unwrap();
        let run_dir = RunDir::new(false).unwrap();
        let path = run_dir.path.clone();
        let closed = path.join("closed/folder");
        std::fs::create_dir_all(&closed).unwrap();
        std::fs::write(closed.join("file"), "x").unwrap();
        std::os::unix::fs::symlink(outside.path(), path.join("link")).unwrap();
        for closed in [&*closed, &path.join("closed")] {
            std::fs::set_permissions(closed, std::fs::Permissions::from_mode(0o0)).unwrap();
        }
        // Deeper than the longest path.
        let mut deep = fs::openat(fs::CWD, &path, folder_flags(), fs::Mode::empty()).unwrap();
        let name = "d".repeat(250);
        for _ in 0..20 {
            fs::mkdirat(&deep, &*name, fs::Mode::from_raw_mode(0o700)).unwrap();
            deep = fs::openat(&deep, &*name, folder_flags(), fs::Mode::empty()).unwrap();
        }
        // It is locked.
        remove_left_behind();
        assert!(path.exists());
        drop(run_dir);
        assert!(!path.exists());
        assert!(outside.path().join("file").exists());
    }

    #[test]
    fn removes_folders_of_dead_servers() {
        let left = std::env::temp_dir().join(format!("{}0-left", super::PREFIX));
        std::fs::create_dir_all(left.join("skill")).unwrap();
        remove_left_behind();
        assert!(!left.exists());
    }
}
