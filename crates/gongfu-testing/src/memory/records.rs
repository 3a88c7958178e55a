//! Records and logs in memory.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use gongfu_core::port::{Pending, PortError, Record, RecordKey, Records, Version, ready};
use gongfu_core::skill::Digest;
use serde_json::{Map, Value};

/// The records and logs of one space.
#[derive(Debug, Default)]
pub struct MemoryRecords {
    records: Mutex<BTreeMap<RecordKey, Vec<u8>>>,
    logs: Mutex<HashMap<RecordKey, Vec<Vec<u8>>>>,
    /// The reason why nothing can be appended, if that is scripted.
    broken_logs: Mutex<Option<String>>,
}

impl MemoryRecords {
    /// The bytes of a record, valid or not.
    pub fn stored(&self, key: &RecordKey) -> Option<Vec<u8>> {
        self.records.lock().unwrap().get(key).cloned()
    }

    /// Replaces the bytes of a record, valid or not.
    pub fn damage(&self, key: &RecordKey, bytes: &[u8]) {
        let mut records = self.records.lock().unwrap();
        records.insert(key.clone(), bytes.to_vec());
    }

    fn replace(
        &self,
        key: &RecordKey,
        expected: Option<Version>,
        value: Option<&[u8]>,
    ) -> Result<Option<Version>, PortError> {
        if let Some(value) = value {
            check(value).map_err(|why| PortError::Denied(format!("not a record: {why}")))?;
        }
        let mut records = self.records.lock().unwrap();
        let current = records.get(key).map(|value| record(key, value));
        if current.transpose()?.map(|record| record.version) != expected {
            let why = format!("the record `{key}` has another version");
            return Err(PortError::Conflict(why));
        }
        match value {
            Some(value) => records.insert(key.clone(), value.to_vec()),
            None => records.remove(key),
        };
        Ok(value.map(Digest::of))
    }

    /// Makes every following append fail for this reason, or work again.
    pub fn break_logs(&self, reason: Option<&str>) {
        *self.broken_logs.lock().unwrap() = reason.map(str::to_owned);
    }
}

impl Records for MemoryRecords {
    fn get<'a>(&'a self, key: &'a RecordKey) -> Pending<'a, Option<Record>> {
        let records = self.records.lock().unwrap();
        ready(records.get(key).map(|value| record(key, value)).transpose())
    }

    fn set<'a>(
        &'a self,
        key: &'a RecordKey,
        expected: Option<Version>,
        value: Option<&'a [u8]>,
    ) -> Pending<'a, Option<Version>> {
        ready(self.replace(key, expected, value))
    }

    fn list<'a>(&'a self, prefix: &'a RecordKey) -> Pending<'a, Vec<(RecordKey, Record)>> {
        let below = format!("{prefix}/");
        let records = self.records.lock().unwrap();
        let found = records
            .iter()
            .filter(|(key, _)| *key == prefix || key.as_str().starts_with(&below))
            .map(|(key, value)| Ok((key.clone(), record(key, value)?)));
        ready(found.collect())
    }

    fn append<'a>(&'a self, log: &'a RecordKey, entry: &'a [u8]) -> Pending<'a, ()> {
        if let Some(reason) = &*self.broken_logs.lock().unwrap() {
            return ready(Err(PortError::Unavailable(reason.clone())));
        }
        if entry.contains(&b'\n') {
            let why = "an entry of a log is one line".to_owned();
            return ready(Err(PortError::Denied(why)));
        }
        let mut logs = self.logs.lock().unwrap();
        logs.entry(log.clone()).or_default().push(entry.to_vec());
        ready(Ok(()))
    }

    fn entries<'a>(&'a self, log: &'a RecordKey, limit: usize) -> Pending<'a, Vec<Vec<u8>>> {
        let logs = self.logs.lock().unwrap();
        let all = logs.get(log).map(Vec::as_slice).unwrap_or_default();
        ready(Ok(all[all.len().saturating_sub(limit)..].to_vec()))
    }
}

fn record(key: &RecordKey, value: &[u8]) -> Result<Record, PortError> {
    let place = format!("the record `{key}`");
    check(value).map_err(|why| {
        PortError::Unavailable(format!("{place} is damaged ({why}); repair or remove it"))
    })?;
    Ok(Record {
        value: value.to_vec(),
        version: Digest::of(value),
        place,
    })
}

/// Checks that a value is a JSON object.
fn check(value: &[u8]) -> Result<(), serde_json::Error> {
    serde_json::from_slice::<Map<String, Value>>(value).map(drop)
}
