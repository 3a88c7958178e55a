//! A change set as it is written down.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use gongfu_core::change::{ChangeSet, HeldChange};
use rustix::fs::{self, OFlags};
use serde::{Deserialize, Serialize};

use crate::file_time::Beginning;
use crate::folder::open_real;
use crate::merge::{Node, hold, name};

/// The version of this form; a set of another one isn't read.
pub(super) const FORMAT: u32 = 1;

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
    pub(super) inode: u64,
    /// Paths below it that the run didn't see.
    #[serde(default)]
    pub(super) unseen: Vec<PathBuf>,
    pub(super) nodes: Vec<Node>,
}

impl Set {
    /// The set for people.
    pub(super) fn shown(&self) -> ChangeSet {
        let mut changes = Vec::new();
        for folder in &self.folders {
            folder.each(&mut |_, change| changes.push(change));
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
        if fs::fstat(&opened)?.st_ino != self.inode {
            return Err(io::Error::other("another folder is in its place now"));
        }
        Ok(opened)
    }

    /// Calls `tell` for each change with its path below the folder.
    pub(super) fn each(&self, tell: &mut impl FnMut(&CStr, HeldChange)) {
        let host = self.host();
        hold::list(&self.nodes, "", &mut |path, kind, why| {
            let change = HeldChange {
                path: format!("{}/{path}", self.target),
                host: host.join(path).display().to_string(),
                kind,
                why: why.to_owned(),
            };
            tell(&CString::new(path).unwrap_or_default(), change);
        });
    }
}
