//! Records and logs in memory.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use gongfu_core::port::{
    ChainBreak, ChainEntry, ChainHead, LogChain, LogEntry, LogHold, LogHolds, Pending, PortError,
    Record, RecordChange, RecordKey, Records, Transactions, Version, check_commit, check_value,
    ready,
};
use gongfu_core::skill::Digest;

/// The records and logs of one space.
#[derive(Debug, Default)]
pub struct MemoryRecords {
    records: Mutex<BTreeMap<RecordKey, Vec<u8>>>,
    logs: Mutex<HashMap<RecordKey, Vec<Vec<u8>>>>,
    /// The reason why nothing can be appended, if that is scripted.
    broken_logs: Mutex<Option<String>>,
    holds: LogHolds,
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

    /// Makes all changes and adds all entries, or none of them.
    fn apply(
        &self,
        changes: &[RecordChange<'_>],
        entries: &[LogEntry<'_>],
    ) -> Result<Vec<Option<Version>>, PortError> {
        check_commit(changes, entries)?;
        let mut records = self.records.lock().unwrap();
        for change in changes {
            let current = records.get(change.key);
            let current = current.map(|value| record(change.key, value)).transpose()?;
            if current.map(|record| record.version) != change.expected {
                let why = format!("the record `{}` has another version", change.key);
                return Err(PortError::Conflict(why));
            }
        }
        let reason = self.broken_logs.lock().unwrap();
        if let (Some(reason), false) = (&*reason, entries.is_empty()) {
            return Err(PortError::Unavailable(reason.clone()));
        }
        let mut logs = self.logs.lock().unwrap();
        for LogEntry { log, entry } in entries {
            let log = logs.entry((*log).clone()).or_default();
            log.push(entry.to_vec());
        }
        let apply = |change: &RecordChange<'_>| {
            match change.value {
                Some(value) => records.insert(change.key.clone(), value.to_vec()),
                None => records.remove(change.key),
            };
            change.value.map(Digest::of)
        };
        Ok(changes.iter().map(apply).collect())
    }

    fn chain(&self, log: &RecordKey) -> Vec<ChainEntry> {
        let logs = self.logs.lock().unwrap();
        let entries = logs.get(log).into_iter().flatten();
        let empty = ChainHead::of_empty("memory", log);
        let chained = entries.scan(empty, |head, entry| {
            *head = head.after(entry);
            Some(ChainEntry {
                number: head.number,
                entry: entry.clone(),
                hash: head.hash,
            })
        });
        chained.collect()
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
        let change = RecordChange {
            key,
            expected,
            value,
        };
        let versions = self.apply(&[change], &[]);
        ready(versions.map(|versions| versions.into_iter().next().flatten()))
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
        ready(self.apply(&[], &[LogEntry { log, entry }]).map(drop))
    }

    fn entries<'a>(&'a self, log: &'a RecordKey, limit: usize) -> Pending<'a, Vec<Vec<u8>>> {
        let logs = self.logs.lock().unwrap();
        let all = logs.get(log).map(Vec::as_slice).unwrap_or_default();
        ready(Ok(all[all.len().saturating_sub(limit)..].to_vec()))
    }

    fn hold_log<'a>(&'a self, log: &'a RecordKey) -> Pending<'a, Option<LogHold>> {
        ready(Ok(self.holds.take("memory", log.as_str())))
    }

    fn remove_log<'a>(&'a self, log: &'a RecordKey) -> Pending<'a, ()> {
        self.logs.lock().unwrap().remove(log);
        ready(Ok(()))
    }
}

impl Transactions for MemoryRecords {
    fn commit<'a>(
        &'a self,
        changes: &'a [RecordChange<'a>],
        entries: &'a [LogEntry<'a>],
    ) -> Pending<'a, Vec<Option<Version>>> {
        ready(self.apply(changes, entries))
    }
}

/// The chain is computed when it is asked for, so it is always whole.
impl LogChain for MemoryRecords {
    fn verify<'a>(&'a self, log: &'a RecordKey) -> Pending<'a, Result<ChainHead, ChainBreak>> {
        let entries = self.chain(log);
        let empty = ChainHead::of_empty("memory", log);
        let head = entries.last().map_or(empty, |last| ChainHead {
            number: last.number,
            hash: last.hash,
        });
        ready(Ok(Ok(head)))
    }

    fn entries_after<'a>(
        &'a self,
        log: &'a RecordKey,
        number: u64,
        limit: usize,
    ) -> Pending<'a, Vec<ChainEntry>> {
        let entries = self.chain(log).into_iter();
        let after = entries.filter(|entry| entry.number > number);
        ready(Ok(after.take(limit).collect()))
    }
}

fn record(key: &RecordKey, value: &[u8]) -> Result<Record, PortError> {
    let place = format!("the record `{key}`");
    check_value(value).map_err(|why| {
        PortError::Unavailable(format!("{place} is damaged ({why}); repair or remove it"))
    })?;
    Ok(Record {
        value: value.to_vec(),
        version: Digest::of(value),
        place,
    })
}
