//! The logs of runs in a space, and the records that list them.

use gongfu_core::pipeline::Event;
use gongfu_core::port::{PortError, RecordKey, Space, read_record, update_record};
use gongfu_core::text::clipped;
use gongfu_hub::{Problem, ToolError};
use serde::{Deserialize, Serialize};

use crate::mark;

/// The most entries that are read of a log.
const MAX_ENTRIES: usize = 100_000;

/// A run in a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunInfo {
    /// Its id.
    pub id: String,
    /// The pipeline.
    pub pipeline: String,
    /// The time of its start (RFC 3339).
    pub started: String,
    /// The time of its last start or end.
    pub updated: String,
    /// True if it succeeded, false if it failed; `None` while it runs, and where it was interrupted.
    pub success: Option<bool>,
    /// The process that writes the log; another one that takes over ends it.
    writer: String,
}

/// The log of one run.
pub(super) struct RunLog {
    space: Space,
    id: String,
    writer: String,
    record: RecordKey,
    log: RecordKey,
}

/// The runs of a space, the latest first.
pub(super) async fn list(space: &Space) -> Result<Vec<RunInfo>, ToolError> {
    let prefix = key("pipeline-run").map_err(|_| unknown("pipeline-run"))?;
    let found = space.records().list(&prefix).await.map_err(broken)?;
    let infos = found.iter();
    let mut infos: Vec<RunInfo> = infos
        .filter_map(|(_, record)| serde_json::from_slice(&record.value).ok())
        .collect();
    infos.sort_by(|one, other| (&other.updated, &other.id).cmp(&(&one.updated, &one.id)));
    Ok(infos)
}

fn key(text: &str) -> Result<RecordKey, ToolError> {
    RecordKey::new(text).map_err(|_| unknown(text))
}

fn unknown(id: &str) -> ToolError {
    let reason = format!("there is no run `{}`", clipped(id, 64, '?'));
    Problem::wrong_value("run", reason, "use the id that a run printed at its start").error()
}

fn broken(error: PortError) -> ToolError {
    Problem::broken("the runs of pipelines", &error).error()
}

fn fault(error: serde_json::Error) -> ToolError {
    let reason = error.to_string();
    Problem::Fault { reason }.error()
}

/// The events of a log. A crash may have cut the last line, or the last one before the run was resumed; any other line
/// that can't be read is an error, with its number.
fn readable(lines: &[Vec<u8>]) -> Result<Vec<Event>, (usize, serde_json::Error)> {
    let mut events = Vec::with_capacity(lines.len());
    let mut cut = None;
    for (number, line) in (1..).zip(lines) {
        let event = serde_json::from_slice(line).map_err(|error| (number, error));
        let is_after_crash = matches!(event, Ok(Event::Resumed {}));
        if let Some(error) = cut.take().filter(|_| !is_after_crash) {
            return Err(error);
        }
        match event {
            Ok(event) => events.push(event),
            Err(error) if number == 1 => return Err(error),
            Err(error) => cut = Some(error),
        }
    }
    Ok(events)
}

impl RunLog {
    /// A new run.
    pub(super) async fn create(
        space: &Space,
        pipeline: &str,
        writer: &str,
    ) -> Result<Self, ToolError> {
        let now = space.now().to_string();
        for attempt in 0..mark::MAX_IDS {
            let id = mark::id(&now, writer, attempt);
            let log = Self::of(space, &id, writer)?;
            let info = RunInfo {
                id,
                pipeline: pipeline.to_owned(),
                started: now.clone(),
                updated: now.clone(),
                success: None,
                writer: writer.to_owned(),
            };
            let value = serde_json::to_vec(&info).map_err(fault)?;
            match space.records().set(&log.record, None, Some(&value)).await {
                Ok(_) => return Ok(log),
                Err(PortError::Conflict(_)) => {}
                Err(error) => return Err(broken(error)),
            }
        }
        let reason = "there is no free id for a run".to_owned();
        Err(Problem::Fault { reason }.error())
    }

    /// An existing run and its events.
    pub(super) async fn open(
        space: &Space,
        id: &str,
        writer: &str,
    ) -> Result<(Self, Vec<Event>), ToolError> {
        let log = Self::of(space, id, writer)?;
        let read = || space.records().entries(&log.log, MAX_ENTRIES);
        if read().await.map_err(broken)?.is_empty() {
            return Err(unknown(id));
        }
        // Read after the claim: whatever wrote it until now adds nothing any more.
        log.update(|_| ()).await?;
        let lines = read().await.map_err(broken)?;
        let events = readable(&lines).map_err(|(line, error)| {
            let reason = format!("line {line} of its log can't be read: {error}");
            Problem::wrong_value("run", reason, "start the pipeline again").error()
        })?;
        Ok((log, events))
    }

    fn of(space: &Space, id: &str, writer: &str) -> Result<Self, ToolError> {
        if id.contains('/') {
            return Err(unknown(id));
        }
        Ok(Self {
            space: space.clone(),
            id: id.to_owned(),
            writer: writer.to_owned(),
            record: key(&format!("pipeline-run/{id}")).map_err(|_| unknown(id))?,
            log: key(&format!("pipelines/{id}")).map_err(|_| unknown(id))?,
        })
    }

    /// The id of the run.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Takes the run over from the process that wrote it before.
    pub(super) async fn claim(&self, pipeline: &str) -> Result<(), ToolError> {
        self.update(|info| {
            pipeline.clone_into(&mut info.pipeline);
            info.success = None;
        })
        .await
    }

    async fn update(&self, change: impl Fn(&mut RunInfo) + Send + Sync) -> Result<(), ToolError> {
        let now = self.space.now().to_string();
        let records = self.space.records();
        let updated = update_record(records, &self.record, |info: &mut RunInfo| {
            info.id.clone_from(&self.id);
            info.writer.clone_from(&self.writer);
            info.updated.clone_from(&now);
            change(info);
        });
        updated.await.map_err(broken)
    }

    /// Adds events.
    pub(super) async fn add(&self, events: &[Event]) -> Result<(), ToolError> {
        let records = self.space.records();
        for event in events {
            let info: RunInfo = read_record(records, &self.record).await.map_err(broken)?;
            if info.writer != self.writer {
                let reason = format!("another process continued the run `{}`", self.id);
                let hint = "wait until it is done there";
                return Err(Problem::wrong_value("run", reason, hint).error());
            }
            let line = serde_json::to_vec(event).map_err(fault)?;
            records.append(&self.log, &line).await.map_err(broken)?;
            if let Event::Ended { success, .. } = event {
                self.update(|info| info.success = Some(*success)).await?;
            }
        }
        Ok(())
    }
}
