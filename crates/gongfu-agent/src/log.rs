//! Logs that have one writer at a time, and the records that list them.

use std::marker::PhantomData;
use std::time::Instant;

use gongfu_core::port::{LogHold, PortError, RecordKey, Space, read_record, update_record};
use gongfu_core::skill::Digest;
use gongfu_hub::{Call, Problem, ToolError};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The most entries that are read of a log.
const MAX_ENTRIES: usize = 100_000;
/// The attempts to find a free id.
const MAX_IDS: u32 = 16;

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

    /// The fields that every record has.
    fn head(&mut self) -> LogHead<'_>;

    /// There is no such log.
    fn unknown(id: &str) -> ToolError;

    /// The log has a writer.
    fn running(id: &str) -> ToolError;
}

/// The fields of a record that every log has.
pub(crate) struct LogHead<'a> {
    pub(crate) id: &'a mut String,
    /// The time of its start (RFC 3339).
    pub(crate) started: &'a mut String,
    /// The time of the last change of the record.
    pub(crate) updated: &'a mut String,
}

/// A log that this writes.
pub(crate) struct Log<I> {
    keys: Keys<I>,
    space: Space,
    /// Ends with the writer, however that ends.
    _hold: LogHold,
}

/// The keys of a log.
struct Keys<I> {
    id: String,
    record: RecordKey,
    log: RecordKey,
    info: PhantomData<I>,
}

/// An id for what a call starts: the date, the time, and digits that differ with each attempt.
pub(crate) fn new_id(call: &Call, attempt: u32) -> String {
    let now = call.space.now();
    let text = now.to_string();
    let digits: String = text.chars().filter(char::is_ascii_digit).take(14).collect();
    let (date, time) = digits.split_at_checked(8).unwrap_or((&digits, ""));
    let salt = format!("{}/{}/{}/{attempt}", std::process::id(), call.id, now.0);
    format!("{date}-{time}-{}", Digest::of(salt.as_bytes()).hex(6))
}

/// The milliseconds since a moment.
pub(crate) fn milliseconds(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
}

pub(crate) fn fault(error: &dyn std::error::Error) -> ToolError {
    let reason = error.to_string();
    Problem::Fault { reason }.error()
}

fn broken<I: LogInfo>(error: PortError) -> ToolError {
    Problem::broken(I::NAME, &error).error()
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

/// The record of a log; an empty one where there is only the log.
pub(crate) async fn info<I: LogInfo>(space: &Space, id: &str) -> Result<I, ToolError> {
    let keys = Keys::<I>::of(id)?;
    let info = read_record(space.records(), &keys.record).await;
    info.map_err(broken::<I>)
}

/// The lines of a log; there is at least one.
pub(crate) async fn lines<I: LogInfo>(space: &Space, id: &str) -> Result<Vec<Vec<u8>>, ToolError> {
    Keys::<I>::of(id)?.lines(space, MAX_ENTRIES).await
}

/// Returns true if something writes the log.
pub(crate) async fn is_running<I: LogInfo>(space: &Space, id: &str) -> Result<bool, ToolError> {
    let keys = Keys::<I>::of(id)?;
    let hold = space.records().hold_log(&keys.log).await;
    Ok(hold.map_err(broken::<I>)?.is_none())
}

/// Removes a log and its record, unless something writes it.
pub(crate) async fn remove<I: LogInfo>(space: &Space, id: &str) -> Result<(), ToolError> {
    let keys = Keys::<I>::of(id)?;
    let (records, key) = (space.records(), &keys.record);
    if records.get(key).await.map_err(broken::<I>)?.is_none() {
        keys.lines(space, 1).await?;
    }
    let _hold = keys.hold(space).await?;
    records.remove_log(&keys.log).await.map_err(broken::<I>)?;
    // The record last: what a crash leaves is listed, and can be removed again.
    if let Some(record) = records.get(key).await.map_err(broken::<I>)? {
        let removed = records.set(key, Some(record.version), None).await;
        removed.map_err(broken::<I>)?;
    }
    Ok(())
}

impl<I: LogInfo> Keys<I> {
    fn of(id: &str) -> Result<Self, ToolError> {
        if id.contains('/') {
            return Err(I::unknown(id));
        }
        let key = |kind: &str| RecordKey::new(format!("{kind}/{id}")).map_err(|_| I::unknown(id));
        Ok(Self {
            id: id.to_owned(),
            record: key(I::RECORDS)?,
            log: key(I::LOGS)?,
            info: PhantomData,
        })
    }

    /// The last lines; there is at least one.
    async fn lines(&self, space: &Space, limit: usize) -> Result<Vec<Vec<u8>>, ToolError> {
        let lines = space.records().entries(&self.log, limit).await;
        let lines = lines.map_err(broken::<I>)?;
        if lines.is_empty() {
            return Err(I::unknown(&self.id));
        }
        Ok(lines)
    }

    async fn hold(&self, space: &Space) -> Result<LogHold, ToolError> {
        let hold = space.records().hold_log(&self.log).await;
        hold.map_err(broken::<I>)?
            .ok_or_else(|| I::running(&self.id))
    }
}

impl<I: LogInfo> Log<I> {
    /// A new log under a free id, with this in its record.
    pub(crate) async fn create(call: &Call, info: &I) -> Result<Self, ToolError> {
        let (space, now) = (&call.space, call.space.now().to_string());
        for attempt in 0..MAX_IDS {
            let keys = Keys::<I>::of(&new_id(call, attempt))?;
            let hold = keys.hold(space).await?;
            let mut info = info.clone();
            let head = info.head();
            head.id.clone_from(&keys.id);
            head.started.clone_from(&now);
            head.updated.clone_from(&now);
            let value = serde_json::to_vec(&info).map_err(|error| fault(&error))?;
            match space.records().set(&keys.record, None, Some(&value)).await {
                Ok(_) => {
                    return Ok(Self {
                        keys,
                        space: space.clone(),
                        _hold: hold,
                    });
                }
                Err(PortError::Conflict(_)) => {}
                Err(error) => return Err(broken::<I>(error)),
            }
        }
        let reason = "no free id for a log was found".to_owned();
        Err(Problem::Fault { reason }.error())
    }

    /// An existing log, which has no other writer.
    pub(crate) async fn open(space: &Space, id: &str) -> Result<Self, ToolError> {
        let keys = Keys::<I>::of(id)?;
        // Before it is taken, so that an id without a log leaves nothing.
        keys.lines(space, 1).await?;
        let hold = keys.hold(space).await?;
        Ok(Self {
            keys,
            space: space.clone(),
            _hold: hold,
        })
    }

    /// The id.
    pub(crate) fn id(&self) -> &str {
        &self.keys.id
    }

    /// Changes the record; answers the new one.
    pub(crate) async fn update(
        &self,
        change: impl Fn(&mut I) + Send + Sync,
    ) -> Result<I, ToolError> {
        let now = self.space.now().to_string();
        let (records, key) = (self.space.records(), &self.keys.record);
        let updated = update_record(records, key, |info: &mut I| {
            let head = info.head();
            head.id.clone_from(&self.keys.id);
            head.updated.clone_from(&now);
            change(info);
            info.clone()
        });
        updated.await.map_err(broken::<I>)
    }

    /// Adds an entry.
    pub(crate) async fn add(&self, entry: &impl Serialize) -> Result<(), ToolError> {
        let line = serde_json::to_vec(entry).map_err(|error| fault(&error))?;
        let appended = self.space.records().append(&self.keys.log, &line).await;
        appended.map_err(broken::<I>)
    }
}
