//! Looks at what is at the paths of a change set now, and tells what applying it does there, by the rules of
//! [`crate::merge`].

use std::ffi::{CStr, CString, OsStr};
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use gongfu_core::change::{Excerpt, Going, Present};
use rustix::fs::{self, AtFlags, FileType, Stat};
use rustix::io::Errno;

use crate::file_time::{FileTime, has_changed_since};
use crate::folder::{names, open_file, open_folder_of_mount};
use crate::merge::MAX_DEPTH;
use crate::merge::hold::ListEntry;

/// The files and folders of one change that are named.
const MAX_NAMED: usize = 20;
/// The files and folders of one set that are counted.
pub(super) const MAX_COUNTED: usize = 50_000;

/// A look at the folder that changes are for.
pub(super) struct Look<'a> {
    pub(super) target: &'a OwnedFd,
    /// The time at which the run began: what changed since stays.
    pub(super) began: FileTime,
    /// Paths that the run didn't see, which stay as well.
    pub(super) unseen: &'a [PathBuf],
    /// The limit of bytes that are read of a file.
    pub(super) limit: u64,
    /// The files and folders that may still be counted.
    pub(super) left: &'a mut usize,
}

/// The entry at the path of a change, and whether it stays, at least in part.
pub(super) struct Finding {
    pub(super) present: Present,
    pub(super) stays: bool,
}

impl From<Present> for Finding {
    fn from(present: Present) -> Self {
        Self {
            present,
            stays: false,
        }
    }
}

impl Look<'_> {
    /// Looks at the path of a change.
    pub(super) fn at(&mut self, listed: &ListEntry<'_>) -> Finding {
        let (parent, name) = match parent(self.target, listed.path) {
            Ok(found) => found,
            Err(error) => return missing(error).into(),
        };
        let is_moved = self.is_moved(listed);
        let found = match fs::statat(&parent, &*name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => found,
            Err(error) => return missing(error).into(),
        };
        let present = match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile => {
                excerpt_of(&parent, &name, self.limit).map(|excerpt| Present::File {
                    excerpt,
                    mode: found.st_mode & 0o7777,
                })
            }
            FileType::Symlink => {
                let to = fs::readlinkat(&parent, &*name, Vec::new());
                to.ok().map(|to| Present::Link {
                    to: to.to_string_lossy().into_owned(),
                })
            }
            FileType::Directory => {
                return self.folder(listed, &parent, &name, &found, is_moved);
            }
            _ => Some(Present::Other),
        };
        Finding {
            present: present.unwrap_or(Present::Unknown),
            stays: is_moved || has_changed_since(&found, self.began),
        }
    }

    /// Returns whether somebody may have moved a folder of this path to where it is.
    fn is_moved(&self, listed: &ListEntry<'_>) -> bool {
        let look = || {
            let mut folder = self.target.try_clone().map_err(|_| Errno::MFILE)?;
            let names = listed.path.split(|byte| *byte == b'/');
            for (depth, name) in names.enumerate() {
                let modified = FileTime::modified(&fs::fstat(&folder)?);
                folder = open_folder_of_mount(&folder, &name_of(name)?)?;
                if listed.is_moved(depth, &fs::fstat(&folder)?, modified, self.began) {
                    return Ok(true);
                }
            }
            rustix::io::Result::Ok(false)
        };
        // What can't be opened is no folder.
        look().unwrap_or_default()
    }

    /// Looks at a folder that is changed.
    fn folder(
        &mut self,
        listed: &ListEntry<'_>,
        parent: &OwnedFd,
        name: &CStr,
        found: &Stat,
        is_moved: bool,
    ) -> Finding {
        let is_replaced = !listed.is_folder();
        let mut going = Going::default();
        if !is_replaced && !listed.is_opaque {
            return Present::Folder(going).into();
        }
        let path = Path::new(OsStr::from_bytes(listed.path));
        if is_moved || is_replaced && self.is_kept(parent, found, path) {
            return Finding {
                present: Present::Folder(going),
                stays: true,
            };
        }
        let Ok(folder) = open_folder_of_mount(parent, name) else {
            return Present::Unknown.into();
        };
        let changed = listed.names();
        let goes = |name: &CStr| !changed.contains(name);
        let is_gone = self.inside(&folder, path, Path::new(""), &goes, &mut going);
        Finding {
            present: Present::Folder(going),
            stays: !is_gone,
        }
    }

    /// Returns whether a folder stays with all that is in it.
    fn is_kept(&self, parent: &OwnedFd, found: &Stat, path: &Path) -> bool {
        // Somebody may have moved it here.
        let is_moved = has_changed_since(found, self.began)
            && fs::fstat(parent).map_or(true, |parent| FileTime::modified(&parent) >= self.began);
        is_moved || self.unseen.iter().any(|unseen| unseen == path)
    }

    /// Counts what goes in a folder; returns whether all of it does. `shown` is the path of the folder below that of
    /// the change.
    fn inside(
        &mut self,
        folder: &OwnedFd,
        path: &Path,
        shown: &Path,
        goes: &dyn Fn(&CStr) -> bool,
        going: &mut Going,
    ) -> bool {
        let Ok(mut names) = names(folder) else {
            going.is_cut = true;
            return false;
        };
        names.sort_unstable();
        let mut is_gone = true;
        for name in names.iter().filter(|name| goes(name)) {
            let own = Path::new(OsStr::from_bytes(name.to_bytes()));
            is_gone &= self.entry(folder, name, &path.join(own), &shown.join(own), going);
        }
        is_gone
    }

    /// Counts an entry, with everything in it, if it goes.
    fn entry(
        &mut self,
        parent: &OwnedFd,
        name: &CStr,
        path: &Path,
        shown: &Path,
        going: &mut Going,
    ) -> bool {
        let Some(left) = self.left.checked_sub(1) else {
            going.is_cut = true;
            return true;
        };
        *self.left = left;
        let Ok(found) = fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) else {
            going.is_cut = true;
            return false;
        };
        let text = shown.to_string_lossy();
        if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
            let is_unseen = self.unseen.iter().any(|unseen| unseen == path);
            if is_unseen || has_changed_since(&found, self.began) {
                return false;
            }
            add(going, text.into_owned());
            going.files += 1;
            return true;
        }
        if self.is_kept(parent, &found, path) {
            return false;
        }
        let folder = open_folder_of_mount(parent, name);
        let Some(folder) = folder
            .ok()
            .filter(|_| path.components().count() <= MAX_DEPTH)
        else {
            going.is_cut = true;
            return false;
        };
        let is_gone = self.inside(&folder, path, shown, &|_| true, going);
        if is_gone {
            add(going, format!("{text}/"));
            going.folders += 1;
        }
        is_gone
    }
}

/// Names something that goes, if there is room.
fn add(going: &mut Going, name: String) {
    if going.names.len() < MAX_NAMED {
        going.names.push(name);
    }
}

/// The entry at a path that can't be opened.
fn missing(error: Errno) -> Present {
    match error {
        // Where a file or a link is in the place of a folder, that change is told by itself.
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP => Present::Nothing,
        _ => Present::Unknown,
    }
}

/// Opens the folder that a path is in.
fn parent(folder: &OwnedFd, path: &[u8]) -> rustix::io::Result<(OwnedFd, CString)> {
    let mut folder = folder.try_clone().map_err(|_| Errno::MFILE)?;
    let mut above: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    let last = name_of(above.pop().unwrap_or_default())?;
    for one in above {
        folder = open_folder_of_mount(&folder, &name_of(one)?)?;
    }
    Ok((folder, last))
}

fn name_of(name: &[u8]) -> rustix::io::Result<CString> {
    CString::new(name).map_err(|_| Errno::INVAL)
}

/// The beginning of a file at a path below a folder; `None` if it can't be read.
pub(super) fn excerpt(folder: &OwnedFd, path: &[u8], limit: u64) -> Option<Excerpt> {
    let (folder, name) = parent(folder, path).ok()?;
    excerpt_of(&folder, &name, limit)
}

fn excerpt_of(folder: &OwnedFd, name: &CStr, limit: u64) -> Option<Excerpt> {
    let file = open_file(folder, name).ok()?;
    let found = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).ok()?;
    Some(Excerpt {
        bytes,
        size: found.len(),
    })
}
