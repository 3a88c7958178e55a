//! One rename of a transaction, which can be repeated and taken back.

use std::io;
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, Metadata, MetadataExt as _};
use serde::{Deserialize, Serialize};

use crate::disk::{self, Root};

/// An entry of a file system, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EntryId {
    device: u64,
    inode: u64,
}

impl EntryId {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }

    /// The entry of this name, no link followed; `None` where nothing is.
    pub(super) fn at(dir: &Dir, name: &str) -> io::Result<Option<Self>> {
        match dir.symlink_metadata(name) {
            Ok(metadata) => Ok(Some(Self::of(&metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// An entry that takes the place of another one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Step {
    /// The folder of the place.
    pub(super) folder: PathBuf,
    /// The name of the place.
    pub(super) name: String,
    /// The name of the new entry among what is staged. Afterwards the old one has it.
    pub(super) staged: String,
    /// The entry at the place before, if there is one.
    pub(super) old: Option<EntryId>,
    /// The entry at the place afterwards, if there is one.
    pub(super) new: Option<EntryId>,
}

impl Step {
    /// Creates the folder of the place where it is missing, and sees that the step can be made.
    pub(super) fn prepare(&self) -> io::Result<()> {
        let folder =
            Root::create(&self.folder).map_err(|error| disk::error_at(&self.folder, &error))?;
        let device = folder.dir().dir_metadata()?.dev();
        if self.new.or(self.old).is_some_and(|id| id.device != device) {
            let path = self.path();
            let why = format!(
                "{} is on another file system than the folder above it",
                path.display()
            );
            return Err(io::Error::other(why));
        }
        Ok(())
    }

    /// Makes the change, unless it was made.
    pub(super) fn apply(&self, staged: &Dir) -> io::Result<()> {
        let folder = self.open()?;
        let here = EntryId::at(folder.dir(), &self.name)?;
        if here == self.new {
            return Ok(());
        }
        if here.is_none() && self.is_between(staged)? {
            return finish_exchange(staged, &self.staged, folder.dir(), &self.name);
        }
        if here != self.old {
            let path = self.path();
            let why = format!(
                "{} was changed by another program meanwhile",
                path.display()
            );
            return Err(io::Error::other(why));
        }
        let renamed = match (self.old, self.new) {
            (Some(_), Some(_)) => exchange(staged, &self.staged, folder.dir(), &self.name),
            (None, Some(_)) => staged.rename(&self.staged, folder.dir(), &self.name),
            (_, None) => folder.dir().rename(&self.name, staged, &self.staged),
        };
        renamed.map_err(|error| disk::error_at(&self.path(), &error))
    }

    /// Returns true if a crash came between the renames of an exchange.
    fn is_between(&self, staged: &Dir) -> io::Result<bool> {
        let aside = EntryId::at(staged, &aside(&self.staged))?;
        Ok(self.new.is_some() && aside.is_some() && aside == self.old)
    }

    /// Takes the change back, if it was made.
    pub(super) fn revert(&self, staged: &Dir) -> io::Result<()> {
        let folder = self.open()?;
        let here = EntryId::at(folder.dir(), &self.name)?;
        if here != self.new || here == self.old {
            return Ok(());
        }
        match (self.old, self.new) {
            (Some(_), Some(_)) => exchange(staged, &self.staged, folder.dir(), &self.name),
            (None, Some(_)) => folder.dir().rename(&self.name, staged, &self.staged),
            (_, None) => staged.rename(&self.staged, folder.dir(), &self.name),
        }
    }

    fn open(&self) -> io::Result<Root> {
        Root::open(&self.folder).map_err(|error| disk::error_at(&self.folder, &error))
    }

    fn path(&self) -> PathBuf {
        Path::new(&self.folder).join(&self.name)
    }
}

/// Exchanges two entries, at no moment without one of them where the system can promise that.
fn exchange(staged: &Dir, staged_name: &str, folder: &Dir, name: &str) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{RenameFlags, renameat_with};
        use rustix::io::Errno;

        match renameat_with(staged, staged_name, folder, name, RenameFlags::EXCHANGE) {
            // Not every file system can.
            Err(Errno::INVAL | Errno::NOSYS) => {}
            outcome => return Ok(outcome?),
        }
    }
    folder.rename(name, staged, aside(staged_name))?;
    finish_exchange(staged, staged_name, folder, name)
}

/// The second part of an exchange by renames: the old entry is aside.
fn finish_exchange(staged: &Dir, staged_name: &str, folder: &Dir, name: &str) -> io::Result<()> {
    let aside = aside(staged_name);
    if let Err(error) = staged.rename(staged_name, folder, name) {
        staged.rename(&aside, folder, name)?;
        return Err(error);
    }
    staged.rename(&aside, staged, staged_name)
}

/// The name of an old entry that is between its place and the new one's.
fn aside(staged: &str) -> String {
    format!("{staged}.old")
}
