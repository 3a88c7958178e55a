//! Changes in several folders: all of them or none, after a crash as well.
//!
//! New entries are staged in a folder beside those that they replace. What is to be renamed is recorded in gongfu's home
//! first, never in the folder that changes: a stranger's repository could bring a record of its own. After a crash, the
//! next transaction in that folder finishes the renames, or removes what was staged.

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};

use crate::disk::{self, Root, TreeKind};
use crate::home::Home;

mod step;

use step::{EntryId, Step};

/// The folder of the home with the records.
const RECORDS: &str = "imports";
/// The beginning of the name of a folder of what is staged.
const STAGED: &str = ".gongfu-import-";

/// Changes that are made together.
///
/// One process at a time changes below a folder. Dropped without [`Transaction::commit`], it leaves nothing.
#[derive(Debug)]
pub struct Transaction {
    journal: Journal,
    base: PathBuf,
    staged: Root,
    steps: Vec<Step>,
    is_committed: bool,
}

/// The record of a transaction that has begun.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    /// The folder where things are staged.
    staged: PathBuf,
    /// The identity of that folder: another one isn't removed. None before it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<EntryId>,
    /// The renames, once all is staged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    steps: Option<Vec<Step>>,
}

/// The place of a record, held by one process.
#[derive(Debug)]
struct Journal {
    records: Root,
    name: String,
    _lock: std::fs::File,
}

/// The remains of a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recovery {
    /// Nothing.
    Nothing,
    /// Changes that weren't complete; they were removed.
    Removed,
    /// Changes that were complete; they were made.
    Completed,
}

/// Finishes or removes what a crash left below a folder.
///
/// # Errors
/// Another process is changing the folder, or the changes can be neither made nor taken back.
pub fn recover(home: &Home, base: &Path) -> io::Result<()> {
    Journal::open(home, base)?.recover().map(drop)
}

impl Transaction {
    /// Starts changes below a folder, which is created where it is missing; finishes what a crash left there.
    ///
    /// # Errors
    /// Another process is changing the folder, it can't be written, or what a crash left can't be finished.
    pub fn begin(home: &Home, base: &Path) -> io::Result<Self> {
        let journal = Journal::open(home, base)?;
        journal.recover()?;
        let base = Root::create(base)?;
        let name = disk::random_name(STAGED);
        let mut record = Record {
            staged: base.path().join(&name),
            id: None,
            steps: None,
        };
        journal.write(&record)?;
        base.dir().create_dir(&name)?;
        let staged = Root::open(&record.staged)?;
        record.id = Some(EntryId::of(&staged.dir().dir_metadata()?));
        journal.write(&record)?;
        Ok(Self {
            journal,
            base: base.path().to_owned(),
            staged,
            steps: Vec::new(),
            is_committed: false,
        })
    }

    /// The real path of the folder.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// A folder from elsewhere in place of what is at a path. It is moved, or copied from another file system.
    ///
    /// # Errors
    /// It can't be read or moved, or what is at the path can't be looked at.
    pub fn move_folder(&mut self, at: &Path, from: &Path) -> io::Result<()> {
        let name = self.next_name();
        let (Some(parent), Some(own)) = (from.parent(), from.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let parent = Root::open(parent)?;
        match parent.dir().rename(own, self.staged.dir(), &name) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                return self.copy_folder(at, from);
            }
            moved => moved?,
        }
        self.add(at, Some(name))
    }

    /// The copy of a folder from elsewhere in place of what is at a path.
    ///
    /// # Errors
    /// It can't be read or copied, or what is at the path can't be looked at.
    pub fn copy_folder(&mut self, at: &Path, from: &Path) -> io::Result<()> {
        let name = self.next_name();
        self.staged.create_folder_exact(Path::new(&name), 0o755)?;
        let copy = Root::open(&self.staged.path().join(&name))?;
        copy_tree(&Root::open(from)?, &copy)?;
        self.add(at, Some(name))
    }

    /// A new file in place of what is at a path.
    ///
    /// # Errors
    /// It can't be created, or what is at the path can't be looked at.
    pub fn put_file(&mut self, at: &Path, bytes: &[u8]) -> io::Result<()> {
        let name = self.next_name();
        let mode = disk::mode_outside(at).unwrap_or(0o644);
        let mut file = self.staged.create_exact(Path::new(&name), mode)?;
        file.write_all(bytes)?;
        self.add(at, Some(name))
    }

    /// A new link in place of what is at a path.
    ///
    /// # Errors
    /// It can't be created, or what is at the path can't be looked at.
    pub fn put_link(&mut self, at: &Path, target: &Path) -> io::Result<()> {
        let name = self.next_name();
        self.staged.create_link_exact(Path::new(&name), target)?;
        self.add(at, Some(name))
    }

    /// Nothing in place of what is at a path.
    ///
    /// # Errors
    /// The entry at the path can't be looked at.
    pub fn remove(&mut self, at: &Path) -> io::Result<()> {
        self.add(at, None)
    }

    /// Makes all changes. After an error, all is as it was.
    ///
    /// # Errors
    /// A change can't be made.
    pub fn commit(mut self) -> io::Result<()> {
        self.staged.sync_system()?;
        for step in &self.steps {
            step.prepare()?;
        }
        self.journal.write(&Record {
            staged: self.staged.path().to_owned(),
            id: Some(EntryId::of(&self.staged.dir().dir_metadata()?)),
            steps: Some(self.steps.clone()),
        })?;
        self.is_committed = true;
        self.journal.apply(&self.staged, &self.steps)
    }

    fn next_name(&self) -> String {
        self.steps.len().to_string()
    }

    fn add(&mut self, at: &Path, staged: Option<String>) -> io::Result<()> {
        let (Some(parent), Some(name)) = (at.parent(), at.file_name().and_then(OsStr::to_str))
        else {
            return Err(io::Error::other(format!(
                "{} can't be changed",
                at.display()
            )));
        };
        let parent = disk::real_outside(parent);
        let new = match &staged {
            Some(staged) => {
                Some(EntryId::at(self.staged.dir(), staged)?.ok_or(io::ErrorKind::NotFound)?)
            }
            None => None,
        };
        let old = match Root::open(&parent) {
            Ok(folder) => EntryId::at(folder.dir(), name)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(disk::error_at(&parent, &error)),
        };
        self.steps.push(Step {
            folder: parent,
            name: name.to_owned(),
            staged: staged.unwrap_or_else(|| self.next_name()),
            old,
            new,
        });
        Ok(())
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if !self.is_committed {
            // A failure leaves the record, and so the next transaction removes it.
            let _ = self.journal.finish(&self.staged);
        }
    }
}

impl Journal {
    fn open(home: &Home, base: &Path) -> io::Result<Self> {
        let base = disk::real_outside(base);
        let records = home.folder(RECORDS)?;
        let key = gongfu_core::skill::Digest::of(base.as_os_str().as_encoded_bytes()).hex(32);
        let lock = disk::lock(&records, &format!("{key}.lock"))?;
        Ok(Self {
            records,
            name: format!("{key}.json"),
            _lock: lock,
        })
    }

    fn write(&self, record: &Record) -> io::Result<()> {
        let text = serde_json::to_vec(record)?;
        self.records.replace(&self.name, &text, true)?;
        self.records.dir().open(".")?.sync_all()
    }

    /// Makes the changes, or takes them back where one fails.
    fn apply(&self, staged: &Root, steps: &[Step]) -> io::Result<()> {
        let mut done = 0;
        let applied = steps.iter().try_for_each(|step| {
            step.apply(staged.dir())?;
            done += 1;
            Ok::<_, io::Error>(())
        });
        if let Err(error) = applied {
            for step in steps.iter().take(done + 1).rev() {
                step.revert(staged.dir())?;
            }
            self.finish(staged)?;
            return Err(error);
        }
        staged.sync_system()?;
        self.finish(staged)
    }

    /// Removes what is staged, then the record.
    fn finish(&self, staged: &Root) -> io::Result<()> {
        remove_tree(staged.path())?;
        self.records.remove(&self.name).map(drop)
    }

    fn recover(&self) -> io::Result<Recovery> {
        let path = gongfu_core::skill::SkillPath::new(&self.name).map_err(io::Error::other)?;
        let bytes = match self.records.read(&path, u64::MAX) {
            Ok(content) => content.bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Recovery::Nothing),
            Err(error) => return Err(error),
        };
        let record: Record = serde_json::from_slice(&bytes).map_err(|why| {
            let path = self.records.path().join(&self.name);
            io::Error::other(format!(
                "{} can't be read: {why}; remove it",
                path.display()
            ))
        })?;
        let staged = match Root::open(&record.staged) {
            Ok(staged) if record.id.is_none() => {
                // Nothing was staged yet, and a folder with anything in it isn't the one that was meant.
                if let (Some(parent), Some(name)) =
                    (staged.path().parent(), record.staged.file_name())
                {
                    let _ = Root::open(parent)?.dir().remove_dir(name);
                }
                return self.records.remove(&self.name).map(|_| Recovery::Removed);
            }
            Ok(staged) if Some(EntryId::of(&staged.dir().dir_metadata()?)) == record.id => staged,
            // It is gone, so that all was done.
            Ok(_) => return self.records.remove(&self.name).map(|_| Recovery::Nothing),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return self.records.remove(&self.name).map(|_| Recovery::Nothing);
            }
            Err(error) => return Err(error),
        };
        match record.steps {
            None => self.finish(&staged).map(|()| Recovery::Removed),
            Some(steps) => {
                for step in &steps {
                    step.prepare()?;
                }
                self.apply(&staged, &steps).map(|()| Recovery::Completed)
            }
        }
    }
}

/// Copies the files, folders and links of a folder into an empty one.
///
/// # Errors
/// An entry can't be read or written, or is neither a file, a folder nor a link.
pub fn copy_tree(from: &Root, to: &Root) -> io::Result<()> {
    from.walk(|entry| match entry.kind {
        TreeKind::Folder => to.create_folder_exact(&entry.path, entry.mode),
        TreeKind::File => {
            let mut file = to.create_exact(&entry.path, entry.mode)?;
            io::copy(&mut from.open_exact(&entry.path)?, &mut file).map(drop)
        }
        TreeKind::Link(target) => to.create_link_exact(&entry.path, &target),
        TreeKind::Other(why) => Err(io::Error::other(format!("{}: {why}", entry.path.display()))),
    })
}

/// Removes a folder, also where a program took the right to write from folders in it.
pub(crate) fn remove_tree(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(());
    };
    let parent = Root::open(parent)?;
    if parent.dir().remove_dir_all(name).is_ok() {
        return Ok(());
    }
    open_up(parent.dir(), Path::new(name));
    match parent.dir().remove_dir_all(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Lets their owner change the folders of a tree.
fn open_up(dir: &Dir, folder: &Path) {
    use cap_std::fs::{Permissions, PermissionsExt as _};

    let _ = dir.set_permissions(folder, Permissions::from_mode(0o700));
    let Ok(entries) = dir.read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(dir, &folder.join(entry.file_name()));
        }
    }
}

#[cfg(test)]
mod tests;
