//! A log that has one writer at a time, and the record that lists it.

use std::marker::PhantomData;

use gongfu_core::port::{PortError, RecordKey, Space, read_record, update_record};
use gongfu_hub::{Problem, ToolError};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::mark;

/// The most entries that are read of a log.
const MAX_ENTRIES: usize = 100_000;

/// The record of a log.
pub(crate) trait LogInfo:
    Serialize + DeserializeOwned + Default + Clone + PartialEq + Send + Sync
{
    /// The key of the records, before the id.
    const RECORDS: &'static str;
    /// The key of the logs, before the id.
    const LOGS: &'static str;
    /// The name of the logs in an error.
    const NAME: &'static str;

    /// The fields that every log has.
    fn head(&mut self) -> LogHead<'_>;

    /// There is no such log.
    fn unknown(id: &str) -> ToolError;

    /// Another writer has the log.
    fn taken(id: &str) -> ToolError;
}

/// The fields of a record that every log has.
pub(crate) struct LogHead<'a> {
    pub(crate) id: &'a mut String,
    /// The time of its start (RFC 3339).
    pub(crate) started: &'a mut String,
    /// The time of the last change of the record.
    pub(crate) updated: &'a mut String,
    /// What writes the log now; empty for nothing.
    pub(crate) writer: &'a mut String,
}

/// A log.
pub(crate) struct Log<I> {
    space: Space,
    id: String,
    writer: String,
    record: RecordKey,
    log: RecordKey,
    info: PhantomData<I>,
}

/// The records of all logs, the one with the latest change first.
pub(crate) async fn list<I: LogInfo>(space: &Space) -> Result<Vec<I>, ToolError> {
    let prefix = RecordKey::new(I::RECORDS).map_err(|_| I::unknown(""))?;
    let found = space.records().list(&prefix).await;
    let found = found.map_err(broken::<I>)?;
    let infos = found.iter();
    let mut infos: Vec<I> = infos
        .filter_map(|(_, record)| serde_json::from_slice(&record.value).ok())
        .collect();
    infos.sort_by_cached_key(|info| {
        let mut info = info.clone();
        let LogHead { id, updated, .. } = info.head();
        std::cmp::Reverse((std::mem::take(updated), std::mem::take(id)))
    });
    Ok(infos)
}

/// The lines of a log.
pub(crate) async fn lines<I: LogInfo>(space: &Space, id: &str) -> Result<Vec<Vec<u8>>, ToolError> {
    Log::<I>::of(space, id, "")?.lines().await
}

fn broken<I: LogInfo>(error: PortError) -> ToolError {
    Problem::broken(I::NAME, &error).error()
}

impl<I: LogInfo> Log<I> {
    fn of(space: &Space, id: &str, writer: &str) -> Result<Self, ToolError> {
        if id.contains('/') {
            return Err(I::unknown(id));
        }
        let key = |kind: &str| RecordKey::new(format!("{kind}/{id}")).map_err(|_| I::unknown(id));
        Ok(Self {
            space: space.clone(),
            id: id.to_owned(),
            writer: writer.to_owned(),
            record: key(I::RECORDS)?,
            log: key(I::LOGS)?,
            info: PhantomData,
        })
    }

    /// A new log under a free id, with this in its record.
    pub(crate) async fn create(space: &Space, writer: &str, info: &I) -> Result<Self, ToolError> {
        let now = space.now().to_string();
        for attempt in 0..mark::MAX_IDS {
            let log = Self::of(space, &mark::id(&now, writer, attempt), writer)?;
            let mut info = info.clone();
            let head = info.head();
            head.id.clone_from(&log.id);
            head.started.clone_from(&now);
            head.updated.clone_from(&now);
            writer.clone_into(head.writer);
            let value = serde_json::to_vec(&info).map_err(|error| fault(&error))?;
            match space.records().set(&log.record, None, Some(&value)).await {
                Ok(_) => return Ok(log),
                Err(PortError::Conflict(_)) => {}
                Err(error) => return Err(broken::<I>(error)),
            }
        }
        let reason = "no free id for a log was found".to_owned();
        Err(Problem::Fault { reason }.error())
    }

    /// An existing log, with this writer from now on; `None` where it has another one that isn't to be replaced. A
    /// writer that is replaced adds nothing any more.
    pub(crate) async fn open(
        space: &Space,
        id: &str,
        writer: &str,
        replaces_writer: bool,
    ) -> Result<Option<Self>, ToolError> {
        let log = Self::of(space, id, writer)?;
        // Before it is claimed, so that an id without a log leaves no record.
        log.lines().await?;
        let claimed = update_record(log.space.records(), &log.record, |info: &mut I| {
            let head = info.head();
            let is_free = replaces_writer || head.writer.is_empty();
            if is_free {
                head.id.clone_from(&log.id);
                head.writer.clone_from(&log.writer);
            }
            is_free
        });
        let is_claimed = claimed.await.map_err(broken::<I>)?;
        Ok(is_claimed.then_some(log))
    }

    /// Removes a log and its record. Its writer adds nothing any more.
    pub(crate) async fn remove(space: &Space, id: &str) -> Result<(), ToolError> {
        let log = Self::of(space, id, "")?;
        let (records, key) = (space.records(), &log.record);
        if records.get(key).await.map_err(broken::<I>)?.is_none() {
            log.lines().await?;
        }
        let freed = update_record(records, key, |info: &mut I| info.head().writer.clear());
        freed.await.map_err(broken::<I>)?;
        records.remove_log(&log.log).await.map_err(broken::<I>)?;
        // The record last: what a crash leaves is listed, and can be removed again.
        if let Some(record) = records.get(key).await.map_err(broken::<I>)? {
            let removed = records.set(key, Some(record.version), None).await;
            removed.map_err(broken::<I>)?;
        }
        Ok(())
    }

    /// The id.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The lines; there is at least one.
    pub(crate) async fn lines(&self) -> Result<Vec<Vec<u8>>, ToolError> {
        let lines = self.space.records().entries(&self.log, MAX_ENTRIES).await;
        let lines = lines.map_err(broken::<I>)?;
        if lines.is_empty() {
            return Err(I::unknown(&self.id));
        }
        Ok(lines)
    }

    /// Changes the record, as long as this is the writer; answers the record.
    pub(crate) async fn update(
        &self,
        change: impl Fn(&mut I) + Send + Sync,
    ) -> Result<I, ToolError> {
        let now = self.space.now().to_string();
        let updated = update_record(self.space.records(), &self.record, |info: &mut I| {
            if *info.head().writer == self.writer {
                info.head().updated.clone_from(&now);
                change(info);
            }
            info.clone()
        });
        updated.await.map_err(broken::<I>)
    }

    /// Leaves the log to whatever wants to write it next.
    pub(crate) async fn release(&self) -> Result<(), ToolError> {
        let released = update_record(self.space.records(), &self.record, |info: &mut I| {
            let LogHead { writer, .. } = info.head();
            if *writer == self.writer {
                writer.clear();
            }
        });
        released.await.map_err(broken::<I>)
    }

    /// Adds an entry, as long as this is the writer.
    pub(crate) async fn add(&self, entry: &impl Serialize) -> Result<(), ToolError> {
        let line = serde_json::to_vec(entry).map_err(|error| fault(&error))?;
        let records = self.space.records();
        let read = read_record(records, &self.record).await;
        let mut info: I = read.map_err(broken::<I>)?;
        if *info.head().writer != self.writer {
            return Err(I::taken(&self.id));
        }
        let appended = records.append(&self.log, &line).await;
        appended.map_err(broken::<I>)
    }
}

pub(crate) fn fault(error: &dyn std::error::Error) -> ToolError {
    let reason = error.to_string();
    Problem::Fault { reason }.error()
}
