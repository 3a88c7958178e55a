//! The environments on disk, and the locks of those who build and use them.
//!
//! ```text
//! KEY/record.json   its record
//! KEY/root/         its files
//! KEY/held          locked by each run that uses it; its time is that of the last use
//! making/KEY/       a build, with its environment, inputs and scratch; abandoned if its lock is free
//! making/KEY.lock   locked by the process that builds
//! imports/KEY.json  what the scripts of a skill import
//! ```

use std::fs::{File, TryLockError};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use gongfu_core::dependency::Record;
use gongfu_core::port::{InstalledEnvironment, Timestamp};
use gongfu_core::skill::SkillPath;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::tree::measure;
use gongfu_files::Home;
use gongfu_files::disk::{EntryKind, Root, temporary_name};

const RECORD: &str = "record.json";
const ROOT: &str = "root";
const INPUTS: &str = "in";
const SCRATCH: &str = "scratch";
const LEASE: &str = "held";
const BUILDS: &str = "making";
const SCANS: &str = "imports";
/// The longest list of imports, in bytes.
const MAX_SCAN: u64 = 4 * 1024 * 1024;
/// The time after which a list of imports is removed that nobody has read.
const SCAN_AGE: Duration = Duration::from_hours(90 * 24);
/// The longest record, in bytes.
const MAX_RECORD: u64 = 4 * 1024 * 1024;

/// The environments of a home.
#[derive(Debug, Clone)]
pub(crate) struct Storage {
    home: Home,
}

/// An environment that can't be removed while this exists.
#[derive(Debug)]
pub(crate) struct LeasedEnvironment {
    pub(crate) record: Record,
    /// The folder of its files.
    pub(crate) root: PathBuf,
    pub(crate) lease: File,
}

/// The folder of a build, locked against all other processes.
#[derive(Debug)]
pub(crate) struct BuildFolder {
    key: String,
    builds: Root,
    folder: Root,
    /// The inputs, which no step can write to.
    pub(crate) inputs: PathBuf,
    /// The folder in which packages are built.
    pub(crate) scratch: PathBuf,
    /// The environment.
    pub(crate) root: PathBuf,
    _lock: File,
}

impl Storage {
    pub(crate) fn new(home: Home) -> Self {
        Self { home }
    }

    fn folder(&self) -> PathBuf {
        self.home.environments()
    }

    /// An environment and its lease, without which it can be removed; `None` if it does not exist, or is about to go.
    fn lease(&self, key: &str) -> io::Result<Option<(Root, File)>> {
        let Some(folder) = there(Root::open(&self.folder().join(key)))? else {
            return Ok(None);
        };
        let Some(lease) = there(folder.dir().open(LEASE))? else {
            return Ok(None);
        };
        let lease = lease.into_std();
        let is_leased = lease.try_lock_shared().is_ok() && folder.is_linked();
        Ok(is_leased.then_some((folder, lease)))
    }

    /// The environment of this key, leased; `None` if it does not exist, or is damaged.
    pub(crate) fn find(&self, key: &str, now: Timestamp) -> io::Result<Option<LeasedEnvironment>> {
        let Some((folder, lease)) = self.lease(key)? else {
            return Ok(None);
        };
        // A damaged one is replaced by the next build.
        let Ok(record) = read_record(&folder) else {
            return Ok(None);
        };
        let now = Duration::from_millis(u64::try_from(now.0).unwrap_or_default());
        // A home that can't be written is good enough to use it.
        let _ = lease.set_modified(UNIX_EPOCH + now);
        Ok(Some(LeasedEnvironment {
            record,
            root: folder.path().join(ROOT),
            lease,
        }))
    }

    /// Locks an environment against builds and additions; `None` while one runs.
    fn lock(&self, key: &str) -> io::Result<Option<(Root, File)>> {
        let builds = Root::create_private(&self.folder().join(BUILDS))?;
        let lock = builds.dir().create(format!("{key}.lock"))?.into_std();
        match lock.try_lock() {
            Ok(()) => Ok(Some((builds, lock))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Starts a build; `None` while another one of the same key runs.
    pub(crate) fn start_build(&self, key: &str) -> io::Result<Option<BuildFolder>> {
        let Some((builds, lock)) = self.lock(key)? else {
            return Ok(None);
        };
        remove(&builds, key)?;
        builds.dir().create_dir(key)?;
        let folder = Root::open(&builds.path().join(key))?;
        for name in [ROOT, INPUTS, SCRATCH] {
            folder.dir().create_dir(name)?;
        }
        Ok(Some(BuildFolder {
            key: key.to_owned(),
            builds,
            inputs: folder.path().join(INPUTS),
            scratch: folder.path().join(SCRATCH),
            root: folder.path().join(ROOT),
            folder,
            _lock: lock,
        }))
    }

    /// Locks an environment against builds, so that a step can add to its files; `None` while one runs.
    pub(crate) fn start_addition(&self, key: &str) -> io::Result<Option<BuildFolder>> {
        let folder = self.start_build(key)?;
        Ok(folder.map(|folder| BuildFolder {
            root: self.root(key),
            ..folder
        }))
    }

    /// Replaces the record of an environment, and removes what an addition took.
    pub(crate) fn finish_addition(&self, build: &BuildFolder, record: &Record) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(record)?;
        let folder = Root::open(&self.folder().join(&build.key))?;
        folder.replace(RECORD, &text, true)?;
        let builds = Root::open(&self.folder().join(BUILDS))?;
        remove(&builds, &build.key)
    }

    /// Publishes a build, whole or not at all.
    pub(crate) fn publish(&self, build: &BuildFolder, record: &Record) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(record)?;
        build.folder.replace(RECORD, &text, true)?;
        build.folder.dir().create(LEASE)?;
        for name in [INPUTS, SCRATCH] {
            remove(&build.folder, name)?;
        }
        let all = Root::open(&self.folder())?;
        // An environment of this key is damaged, or there would be no build.
        remove(&all, &build.key)?;
        let builds = all.dir().open_dir(BUILDS)?;
        builds.rename(&build.key, all.dir(), &build.key)
    }

    /// All environments, also those whose record can't be read.
    pub(crate) fn list(&self) -> io::Result<Vec<InstalledEnvironment>> {
        let Some(all) = there(Root::open(&self.folder()))? else {
            return Ok(Vec::new());
        };
        let mut entries = all.list(&SkillPath::root())?;
        entries.retain(|entry| {
            entry.kind == EntryKind::Folder && entry.name != BUILDS && entry.name != SCANS
        });
        let stored = entries.into_iter().filter_map(|entry| {
            let folder = there(Root::open(&all.path().join(&entry.name))).transpose()?;
            let record = folder.and_then(|folder| match used(&folder) {
                // Somebody removes it at this moment.
                Err(_) if !folder.is_linked() => Ok(None),
                used => used.map(Some),
            });
            Some(InstalledEnvironment {
                folder: self.root(&entry.name),
                record: record.transpose()?.map_err(|error| error.to_string()),
                key: entry.name,
            })
        });
        Ok(stored.collect())
    }

    /// True if the files of an environment aren't as its record says; `None` while somebody adds to them.
    pub(crate) fn is_changed(&self, key: &str) -> io::Result<Option<bool>> {
        let differs = || {
            // What is removed meanwhile hasn't changed.
            let Some((folder, _lease)) = self.lease(key)? else {
                return Ok(false);
            };
            let (record, root) = (read_record(&folder)?, Root::open(&self.root(key))?);
            let digest = measure(&root)?.digest(record.compiled);
            Ok(digest.to_string() != record.digest)
        };
        if let Ok(false) = differs() {
            return Ok(Some(false));
        }
        // Files come and go while modules are compiled.
        let Some(_lock) = self.lock(key)? else {
            return Ok(None);
        };
        differs().map(Some)
    }

    fn root(&self, key: &str) -> PathBuf {
        self.folder().join(key).join(ROOT)
    }

    /// Removes an environment unless it is in use or doesn't exist; answers whether it did.
    pub(crate) fn remove(&self, key: &str) -> io::Result<bool> {
        let Some(folder) = there(Root::open(&self.folder().join(key)))? else {
            return Ok(false);
        };
        let lease = there(folder.dir().open(LEASE))?.map(cap_std::fs::File::into_std);
        if lease
            .as_ref()
            .is_some_and(|lease| lease.try_lock().is_err())
        {
            return Ok(false);
        }
        let all = Root::open(&self.folder())?;
        let builds = Root::create_private(&all.path().join(BUILDS))?;
        // Another one may be there by now.
        if !folder.is_linked() {
            return Ok(false);
        }
        // Aside first, so that nobody finds half of it.
        let aside = temporary_name(key);
        let moved = there(all.dir().rename(key, builds.dir(), &aside))?;
        remove(&builds, &aside)?;
        Ok(moved.is_some())
    }

    /// The imports that were found; `None` if nobody looked, or they are damaged.
    pub(crate) fn scan<T: DeserializeOwned>(&self, key: &str) -> io::Result<Option<T>> {
        let Some(scans) = there(Root::open(&self.folder().join(SCANS)))? else {
            return Ok(None);
        };
        let path = SkillPath::new(&format!("{key}.json")).map_err(io::Error::other)?;
        let Some(content) = there(scans.read(&path, MAX_SCAN))? else {
            return Ok(None);
        };
        Ok(serde_json::from_slice(&content.bytes).ok())
    }

    /// Keeps the imports that were found.
    pub(crate) fn keep_scan(&self, key: &str, scan: &impl Serialize) -> io::Result<()> {
        let scans = Root::create_private(&self.folder().join(SCANS))?;
        scans.replace(&format!("{key}.json"), &serde_json::to_vec(scan)?, false)
    }

    fn sweep_scans(&self, now: Timestamp) -> io::Result<()> {
        let Some(scans) = there(Root::open(&self.folder().join(SCANS)))? else {
            return Ok(());
        };
        for entry in scans.list(&SkillPath::root())? {
            // Somebody else may just have written or removed it.
            let Some(metadata) = there(scans.dir().metadata(&entry.name))? else {
                continue;
            };
            let made = metadata.modified()?.into_std();
            let made = made.duration_since(UNIX_EPOCH).unwrap_or_default();
            let now = Duration::from_millis(u64::try_from(now.0).unwrap_or_default());
            if now.saturating_sub(made) > SCAN_AGE {
                there(scans.dir().remove_file(&entry.name))?;
            }
        }
        Ok(())
    }

    /// Removes the remains of interrupted builds and removals, and old imports.
    pub(crate) fn sweep(&self, now: Timestamp) -> io::Result<()> {
        self.sweep_scans(now)?;
        let Some(builds) = there(Root::open(&self.folder().join(BUILDS)))? else {
            return Ok(());
        };
        for entry in builds.list(&SkillPath::root())? {
            if entry.name.starts_with('.') {
                remove(&builds, &entry.name)?;
            } else if let Some(key) = entry.name.strip_suffix(".lock") {
                let lock = builds.dir().open(&entry.name)?.into_std();
                if lock.try_lock().is_ok() {
                    remove(&builds, key)?;
                }
            }
        }
        Ok(())
    }
}

impl BuildFolder {
    /// Writes an input.
    pub(crate) fn write_input(&self, name: &str, text: &str) -> io::Result<()> {
        self.folder.dir().write(format!("{INPUTS}/{name}"), text)
    }

    /// Empties everything.
    pub(crate) fn clear(&self) -> io::Result<()> {
        self.clear_environment()?;
        self.clear_scratch()?;
        self.empty(INPUTS)
    }

    /// Empties the environment.
    pub(crate) fn clear_environment(&self) -> io::Result<()> {
        self.empty(ROOT)
    }

    /// Empties the folder in which packages are built.
    pub(crate) fn clear_scratch(&self) -> io::Result<()> {
        self.empty(SCRATCH)
    }

    fn empty(&self, name: &str) -> io::Result<()> {
        remove(&self.folder, name)?;
        self.folder.dir().create_dir(name)
    }

    /// Removes all of a build that isn't published.
    pub(crate) fn discard(&self) -> io::Result<()> {
        remove(&self.builds, &self.key)
    }
}

/// `None` instead of an error that says that something doesn't exist.
fn there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// The record of an environment, and the time of its last use.
fn used(folder: &Root) -> io::Result<(Record, Timestamp)> {
    let used = folder.dir().metadata(LEASE)?.modified()?.into_std();
    let used = used.duration_since(UNIX_EPOCH).unwrap_or_default();
    let used = Timestamp(i64::try_from(used.as_millis()).unwrap_or(i64::MAX));
    Ok((read_record(folder)?, used))
}

fn read_record(folder: &Root) -> io::Result<Record> {
    let path = SkillPath::new(RECORD).map_err(io::Error::other)?;
    let content = folder.read(&path, MAX_RECORD)?;
    Ok(serde_json::from_slice(&content.bytes)?)
}

/// Removes a folder if it exists.
fn remove(parent: &Root, name: &str) -> io::Result<()> {
    there(parent.dir().remove_dir_all(name)).map(|_| ())
}

#[cfg(test)]
pub(crate) mod tests;
