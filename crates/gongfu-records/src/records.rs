//! Records as JSON files, each changed under a lock that all processes of a home respect.
//!
//! ```text
//! KEY.json          a record of one segment, such as `approvals`
//! KEY.lock          held while that record changes
//! records/A/B.json  the record `A/B`
//! records/A.lock    held while a record below `A` changes
//! KEY/KEY.jsonl     a log of one segment; `records/A/B/B.jsonl` is the log `A/B`
//! ```

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use gongfu_core::port::{
    LogHold, MAX_VALUE, Pending, PortError, Record, RecordKey, Records, Version, check_entry,
    check_value, ready,
};
use gongfu_core::skill::{Digest, SkillPath};
use gongfu_files::Home;
use gongfu_files::disk::{self, EntryKind, Root};

use crate::log::{Log, LogReader};

/// The folder of the records and logs with several segments.
const FOLDER: &str = "records";
/// The logs that stay open. Above it those of several segments are closed, of which there may be any number, such as
/// one for each session of the agent.
const MAX_OPEN: usize = 64;

/// The records and logs of one owner, below a home.
#[derive(Debug)]
pub struct FileRecords {
    home: Home,
    logs: Mutex<HashMap<RecordKey, Log>>,
}

impl FileRecords {
    /// Records below a home; a file is created when it is first written.
    pub fn new(home: Home) -> Self {
        Self {
            home,
            logs: Mutex::default(),
        }
    }

    /// The file of a record, for whatever watches it.
    pub fn path_of(&self, key: &RecordKey) -> PathBuf {
        self.folder_of(key).join(file_name(key))
    }

    fn folder_of(&self, key: &RecordKey) -> PathBuf {
        match key.as_str().rsplit_once('/') {
            None => self.home.path().to_owned(),
            Some((above, _)) => self.home.path().join(FOLDER).join(above),
        }
    }

    fn read(&self, key: &RecordKey) -> Result<Option<Record>, PortError> {
        match opened(&self.folder_of(key))? {
            Some(folder) => read(&folder, key),
            None => Ok(None),
        }
    }

    fn write(
        &self,
        key: &RecordKey,
        expected: Option<Version>,
        value: Option<&[u8]>,
    ) -> Result<Option<Version>, PortError> {
        if let Some(value) = value {
            check_value(value).map_err(|why| PortError::Denied(format!("not a record: {why}")))?;
        }
        let place = self.path_of(key);
        let failed = |error: io::Error| unavailable(disk::error_at(&place, &error));
        let _lock = self.lock(key).map_err(failed)?;
        let folder = Root::create_private(&self.folder_of(key)).map_err(failed)?;
        let current = read(&folder, key)?.map(|record| record.version);
        if current != expected {
            let why = format!("the record `{key}` has another version");
            return Err(PortError::Conflict(why));
        }
        let name = file_name(key);
        let written = match value {
            Some(value) => folder.replace(&name, value, true),
            None => folder.remove(&name).map(drop),
        };
        written.map_err(failed)?;
        Ok(value.map(Digest::of))
    }

    /// Waits until no other process changes the record; the lock ends with the handle.
    fn lock(&self, key: &RecordKey) -> io::Result<File> {
        let (folder, name) = match key.as_str().split_once('/') {
            None => (self.home.open()?, key.as_str()),
            Some((first, _)) => (self.home.folder(FOLDER)?, first),
        };
        disk::lock(&folder, &format!("{name}.lock"))
    }

    fn find(&self, prefix: &RecordKey) -> Result<Vec<(RecordKey, Record)>, PortError> {
        let mut keys = vec![prefix.clone()];
        let mut folders = vec![prefix.to_string()];
        while let Some(above) = folders.pop() {
            let folder = self.home.path().join(FOLDER).join(&above);
            let Some(folder) = opened(&folder)? else {
                continue;
            };
            for entry in folder.list(&SkillPath::root()).map_err(unavailable)? {
                let name = format!("{above}/{}", entry.name);
                match (entry.kind, name.strip_suffix(".json")) {
                    (EntryKind::Folder, _) => folders.push(name),
                    (EntryKind::File, Some(key)) => keys.extend(RecordKey::new(key).ok()),
                    _ => {}
                }
            }
        }
        keys.sort_unstable();
        let records = keys.into_iter().map(|key| {
            let record = self.read(&key)?;
            Ok(record.map(|record| (key, record)))
        });
        records.filter_map(Result::transpose).collect()
    }

    /// Does something with a log, which stays open between calls.
    fn with_log<T>(
        &self,
        log: &RecordKey,
        work: impl FnOnce(&mut Log) -> io::Result<T>,
    ) -> Result<T, PortError> {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        if logs.len() >= MAX_OPEN && !logs.contains_key(log) {
            logs.retain(|key, _| !key.as_str().contains('/'));
        }
        let log = logs.entry(log.clone()).or_insert_with(|| {
            let (folder, name) = self.place_of_log(log);
            Log::new(folder, name)
        });
        work(log).map_err(unavailable)
    }

    /// The folder of a log, and its name there.
    fn place_of_log<'k>(&self, log: &'k RecordKey) -> (PathBuf, &'k str) {
        let (key, home) = (log.as_str(), self.home.path());
        match key.rsplit_once('/') {
            None => (home.join(key), key),
            Some((_, name)) => (home.join(FOLDER).join(key), name),
        }
    }

    /// A reader of a log, for a person who follows it.
    pub fn log_reader(&self, log: &RecordKey) -> LogReader {
        let (folder, name) = self.place_of_log(log);
        LogReader::new(folder, name)
    }
}

/// The name of a record's file in its folder.
fn file_name(key: &RecordKey) -> String {
    let key = key.as_str();
    format!("{}.json", key.rsplit('/').next().unwrap_or(key))
}

/// A folder, unless it is missing.
fn opened(path: &Path) -> Result<Option<Root>, PortError> {
    match Root::open(path) {
        Ok(folder) => Ok(Some(folder)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let why = format!("{} can't be opened: {error}", path.display());
            Err(PortError::Unavailable(why))
        }
    }
}

fn read(folder: &Root, key: &RecordKey) -> Result<Option<Record>, PortError> {
    let name = SkillPath::new(&file_name(key)).map_err(|error| PortError::Other(error.into()))?;
    let place = folder.path().join(name.as_str()).display().to_string();
    let content = match folder.read(&name, MAX_VALUE) {
        Ok(content) => content,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let why = format!("{place} can't be read: {}", disk::reason(&error));
            return Err(PortError::Unavailable(why));
        }
    };
    check_value(&content.bytes).map_err(|why| {
        PortError::Unavailable(format!("{place} is damaged ({why}); repair or remove it"))
    })?;
    Ok(Some(Record {
        version: Digest::of(&content.bytes),
        value: content.bytes,
        place,
    }))
}

fn unavailable(error: io::Error) -> PortError {
    PortError::Unavailable(error.to_string())
}

impl Records for FileRecords {
    fn get<'a>(&'a self, key: &'a RecordKey) -> Pending<'a, Option<Record>> {
        ready(self.read(key))
    }

    fn set<'a>(
        &'a self,
        key: &'a RecordKey,
        expected: Option<Version>,
        value: Option<&'a [u8]>,
    ) -> Pending<'a, Option<Version>> {
        ready(self.write(key, expected, value))
    }

    fn list<'a>(&'a self, prefix: &'a RecordKey) -> Pending<'a, Vec<(RecordKey, Record)>> {
        ready(self.find(prefix))
    }

    fn append<'a>(&'a self, log: &'a RecordKey, entry: &'a [u8]) -> Pending<'a, ()> {
        let appended =
            check_entry(entry).and_then(|()| self.with_log(log, |log| log.append(entry)));
        ready(appended)
    }

    fn entries<'a>(&'a self, log: &'a RecordKey, limit: usize) -> Pending<'a, Vec<Vec<u8>>> {
        ready(self.with_log(log, |log| log.entries(limit)))
    }

    fn hold_log<'a>(&'a self, log: &'a RecordKey) -> Pending<'a, Option<LogHold>> {
        ready(self.with_log(log, |log| log.hold()))
    }

    fn remove_log<'a>(&'a self, log: &'a RecordKey) -> Pending<'a, ()> {
        ready(self.with_log(log, Log::remove))
    }
}

#[cfg(test)]
mod tests;
