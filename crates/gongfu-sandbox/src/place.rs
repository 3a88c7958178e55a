//! A folder of a run's own on the machine's disk, for sandboxes in which nothing else can be one.
//!
//! Whoever made it holds a lock on it for as long as it lives: what nobody holds was left behind by one
//! that was killed, and is swept away. What strangers wrote in it is removed without following a link,
//! however deep it lies.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Once;

use rustix::fs::{self, AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

use crate::random;

/// How the names of such folders begin.
const PREFIX: &str = "gongfu-run-";
/// How often another name is tried.
const TRIES: u32 = 8;

/// A folder that is removed in the end.
#[derive(Debug)]
pub(crate) struct Place {
    parent: OwnedFd,
    name: CString,
    handle: OwnedFd,
    /// Where it lies.
    pub(crate) path: PathBuf,
}

impl Place {
    /// Makes one; others may come through it, where `is_passage`, but not look into it. The first one
    /// of a process sweeps away what others left behind.
    ///
    /// # Errors
    /// There can't be one.
    pub(crate) fn new(is_passage: bool) -> io::Result<Self> {
        static SWEPT: Once = Once::new();
        SWEPT.call_once(sweep);
        let above = std::fs::canonicalize(std::env::temp_dir())?;
        let parent = fs::openat(CWD, &above, folder_flags(), Mode::empty())?;
        for _ in 0..TRIES {
            let random = u64::from_le_bytes(random::bytes()?);
            let name = format!("{PREFIX}{}-{random:016x}", std::process::id());
            let path = above.join(&name);
            let name = CString::new(name)?;
            match fs::mkdirat(&parent, &*name, Mode::from_raw_mode(0o700)) {
                Err(Errno::EXIST) => continue,
                made => made?,
            }
            let Ok(handle) = fs::openat(&parent, &*name, folder_flags(), Mode::empty()) else {
                continue;
            };
            // Somebody who sweeps may have been faster.
            let is_held = flock(&handle, FlockOperation::NonBlockingLockExclusive).is_ok();
            if !is_held || !is_there(&parent, &name, &handle)? {
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

impl Drop for Place {
    fn drop(&mut self) {
        emptied(&self.handle, &self.path);
        let _ = fs::unlinkat(&self.parent, &*self.name, AtFlags::REMOVEDIR);
    }
}

/// Removes what others of the same user have left behind that were killed.
fn sweep() {
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
        let Ok(handle) = fs::openat(&parent, &*name, folder_flags(), Mode::empty()) else {
            continue;
        };
        let is_ours = fs::fstat(&handle)
            .is_ok_and(|found| found.st_uid == rustix::process::geteuid().as_raw());
        if is_ours && flock(&handle, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let path = above.join(OsStr::from_bytes(name.to_bytes()));
            emptied(&handle, &path);
            let _ = fs::unlinkat(&parent, &*name, AtFlags::REMOVEDIR);
        }
    }
}

/// Removes all that a folder of a run holds, as far as that can be.
#[cfg(target_os = "linux")]
fn emptied(folder: &OwnedFd, _path: &Path) {
    let _ = clear(folder);
}

/// Removes all that a folder of a run holds, as far as that can be: also what a script has marked as not
/// to be changed, or has let nobody remove.
#[cfg(target_os = "macos")]
fn emptied(folder: &OwnedFd, path: &Path) {
    use std::process::{Command, Stdio};

    if clear(folder).is_ok() {
        return;
    }
    let unlock: [(&str, &[&str]); 2] = [
        ("/usr/bin/chflags", &["-R", "-P", "nouchg,nouappnd"]),
        ("/bin/chmod", &["-R", "-P", "-N"]),
    ];
    for (program, arguments) in unlock {
        let mut command = Command::new(program);
        command.args(arguments).arg(path).env_clear();
        let _ = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
    }
    let _ = clear(folder);
}

/// Whether a folder still has this name.
fn is_there(parent: &OwnedFd, name: &CStr, handle: &OwnedFd) -> io::Result<bool> {
    let opened = fs::fstat(handle)?;
    match fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok((found.st_dev, found.st_ino) == (opened.st_dev, opened.st_ino)),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Removes all that a folder holds. What lies deeper is brought up first, so that no depth is too deep.
///
/// # Errors
/// Something can't be removed.
pub(crate) fn clear(folder: &OwnedFd) -> io::Result<()> {
    let mut brought = 0_u64;
    loop {
        let names = names(folder)?;
        if names.is_empty() {
            return Ok(());
        }
        for name in names {
            if is_removed(folder, &name)? {
                continue;
            }
            let below = opened(folder, &name)?;
            for name in self::names(&below)? {
                if is_removed(&below, &name)? {
                    continue;
                }
                // To be moved, it must be open to whoever moves it.
                drop(opened(&below, &name)?);
                loop {
                    brought += 1;
                    let up = format!(".{brought}");
                    match fs::renameat(&below, &*name, folder, up) {
                        Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                        moved => break moved?,
                    }
                }
            }
            fs::unlinkat(folder, &*name, AtFlags::REMOVEDIR)?;
        }
    }
}

/// Removes a file or an empty folder; answers whether it was one.
fn is_removed(parent: &OwnedFd, name: &CStr) -> io::Result<bool> {
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

/// A folder, opened to its owner where a script has shut it.
fn opened(parent: &OwnedFd, name: &CStr) -> io::Result<OwnedFd> {
    let found = fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
        return Err(Errno::NOTDIR.into());
    }
    fs::chmodat(parent, name, Mode::from_raw_mode(0o700), AtFlags::empty())?;
    Ok(fs::openat(parent, name, folder_flags(), Mode::empty())?)
}

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

fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::{Place, folder_flags, fs, sweep};

    #[test]
    fn nothing_is_left_of_it_and_what_it_links_to_stays() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("file"), "x").unwrap();
        let place = Place::new(false).unwrap();
        let path = place.path.clone();
        let shut = path.join("shut/folder");
        std::fs::create_dir_all(&shut).unwrap();
        std::fs::write(shut.join("file"), "x").unwrap();
        std::os::unix::fs::symlink(outside.path(), path.join("link")).unwrap();
        for shut in [&*shut, &path.join("shut")] {
            std::fs::set_permissions(shut, std::fs::Permissions::from_mode(0o0)).unwrap();
        }
        // Deeper than any path can say.
        let mut deep = fs::openat(fs::CWD, &path, folder_flags(), fs::Mode::empty()).unwrap();
        let name = "d".repeat(250);
        for _ in 0..20 {
            fs::mkdirat(&deep, &*name, fs::Mode::from_raw_mode(0o700)).unwrap();
            deep = fs::openat(&deep, &*name, folder_flags(), fs::Mode::empty()).unwrap();
        }
        // Somebody lives in it.
        sweep();
        assert!(path.exists());
        drop(place);
        assert!(!path.exists());
        assert!(outside.path().join("file").exists());
    }

    #[test]
    fn what_nobody_holds_is_swept_away() {
        let left = std::env::temp_dir().join(format!("{}0-left", super::PREFIX));
        std::fs::create_dir_all(left.join("skill")).unwrap();
        sweep();
        assert!(!left.exists());
    }
}
