//! A change set as it is written down.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use gongfu_core::change::{ChangeSet, HeldChange};
use rustix::fs::{self, OFlags};
use serde::{Deserialize, Serialize};

use crate::file_time::Beginning;
use crate::folder::open_real;
use crate::merge::hold::{self, ListEntry};
use crate::merge::{Node, flat, name};

/// The version of this form; a set of another one isn't read.
pub(super) const FORMAT: u32 = 2;

/// The part of a set that every version has.
#[derive(Debug, Deserialize)]
pub(super) struct Head {
    pub(super) format: u32,
}

/// A change set.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Set {
    pub(super) format: u32,
    pub(super) id: String,
    /// The time, in milliseconds since 1970.
    pub(super) made: u64,
    pub(super) about: String,
    /// The length of all its files together.
    pub(super) bytes: u64,
    /// The beginning of its run, which saw no later change.
    pub(super) began: Beginning,
    pub(super) folders: Vec<SetFolder>,
}

/// The changes of one folder.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SetFolder {
    /// Its guest path.
    pub(super) target: String,
    /// Its path on this machine.
    #[serde(with = "name")]
    pub(super) host: CString,
    /// The folder that must be there.
    pub(super) identity: Identity,
    /// Paths below it that the run didn't see.
    #[serde(default)]
    pub(super) unseen: Vec<PathBuf>,
    #[serde(with = "flat")]
    pub(super) nodes: Vec<Node>,
}

/// The marks that tell a folder from every other one on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    /// The id of its file system, or of the device where the file system has none.
    file_system: u64,
    inode: u64,
    /// The time at which it was made, in nanoseconds since 1970, where the file system knows: a later folder may get
    /// the same inode, and a later file system the same id.
    made: Option<u64>,
}

impl Identity {
    /// The identity of an open folder.
    ///
    /// # Errors
    /// It can't be read.
    pub(super) fn of(folder: &OwnedFd) -> io::Result<Self> {
        let found = std::fs::File::from(folder.try_clone()?).metadata()?;
        let made = found.created().ok();
        let made = made.and_then(|made| made.duration_since(UNIX_EPOCH).ok());
        let file_system = fs::fstatvfs(folder)?.f_fsid;
        Ok(Self {
            file_system: if file_system == 0 {
                found.dev()
            } else {
                file_system
            },
            inode: found.ino(),
            made: made.and_then(|made| u64::try_from(made.as_nanos()).ok()),
        })
    }

    /// Checks that a folder that is there now is the one with this identity. The id of a file system may be another
    /// one after a reboot; then the time at which the folder was made has to tell it.
    ///
    /// # Errors
    /// It is another one.
    fn check(&self, found: &Self) -> io::Result<()> {
        let is_as_old = self.made.zip(found.made).map(|(one, two)| one == two);
        let is_same_file_system = self.file_system == found.file_system;
        let why = match is_as_old.unwrap_or(is_same_file_system) {
            true if self.inode == found.inode => return Ok(()),
            _ if is_same_file_system => "another folder has taken its place",
            _ => {
                "another file system is mounted there now; the set was created for the previous one"
            }
        };
        Err(io::Error::other(why))
    }
}

impl Set {
    /// The set for people.
    pub(super) fn shown(&self) -> ChangeSet {
        let mut changes = Vec::new();
        for folder in &self.folders {
            folder.each(&mut |listed, change| {
                if !listed.is_way() {
                    changes.push(change);
                }
            });
        }
        ChangeSet {
            id: self.id.clone(),
            made: self.made,
            about: self.about.clone(),
            changes,
        }
    }
}

impl SetFolder {
    fn host(&self) -> PathBuf {
        Path::new(OsStr::from_bytes(self.host.to_bytes())).to_owned()
    }

    /// Opens the folder on this machine.
    ///
    /// # Errors
    /// It isn't there, or another one is in its place.
    pub(super) fn open(&self) -> io::Result<OwnedFd> {
        let opened = open_real(&self.host(), OFlags::RDONLY | OFlags::DIRECTORY)?;
        self.identity.check(&Identity::of(&opened)?)?;
        Ok(opened)
    }

    /// Calls `tell` for each change, and for the folders on the way to changes.
    pub(super) fn each(&self, tell: &mut impl FnMut(&ListEntry<'_>, HeldChange)) {
        let host = self.host();
        hold::each(&self.nodes, b"", &mut |listed| {
            let Some(kind) = listed.kind() else {
                return;
            };
            let path = OsStr::from_bytes(listed.path);
            let change = HeldChange {
                path: format!("{}/{}", self.target, path.to_string_lossy()),
                host: host.join(path).display().to_string(),
                kind,
                why: listed.why().unwrap_or("it has changes waiting").to_owned(),
            };
            tell(listed, change);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::Identity;

    #[test]
    fn folder_is_known_by_its_inode_and_its_age_or_its_file_system() {
        let then = Identity {
            file_system: 1,
            inode: 2,
            made: Some(3),
        };
        let is_same = |file_system, inode, made| {
            let found = Identity {
                file_system,
                inode,
                made,
            };
            then.check(&found).is_ok()
        };
        assert!(is_same(1, 2, Some(3)));
        assert!(is_same(1, 2, None));
        // As after a reboot.
        assert!(is_same(9, 2, Some(3)));
        assert!(!is_same(9, 2, None));
        assert!(!is_same(9, 2, Some(4)));
        assert!(!is_same(1, 2, Some(4)));
        assert!(!is_same(1, 9, Some(3)));
        assert!(!is_same(9, 9, Some(3)));
    }
}
