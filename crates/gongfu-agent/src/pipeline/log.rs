//! The logs of runs: their events, and what their records say.

use gongfu_core::pipeline::Event;
use gongfu_core::port::Space;
use gongfu_core::text::clipped;
use gongfu_hub::{Problem, ToolError};
use serde::{Deserialize, Serialize};

use crate::log::{Log, LogHead, LogInfo};

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

impl LogInfo for RunInfo {
    const RECORDS: &'static str = "pipeline-run";
    const LOGS: &'static str = "pipelines";
    const NAME: &'static str = "the runs of pipelines";

    fn head(&mut self) -> LogHead<'_> {
        LogHead {
            id: &mut self.id,
            started: &mut self.started,
            updated: &mut self.updated,
            writer: &mut self.writer,
        }
    }

    fn unknown(id: &str) -> ToolError {
        let reason = format!("there is no run `{}`", clipped(id, 64, '?'));
        Problem::wrong_value("run", reason, "use the id that a run printed at its start").error()
    }

    fn taken(id: &str) -> ToolError {
        let reason = format!("another process continued the run `{id}`");
        Problem::wrong_value("run", reason, "wait until it is done there").error()
    }
}

/// The log of one run.
pub(super) struct RunLog(Log<RunInfo>);

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
        let info = RunInfo {
            pipeline: pipeline.to_owned(),
            ..RunInfo::default()
        };
        Log::create(space, writer, &info).await.map(Self)
    }

    /// An existing run and its events.
    pub(super) async fn open(
        space: &Space,
        id: &str,
        writer: &str,
    ) -> Result<(Self, Vec<Event>), ToolError> {
        let log = Log::open(space, id, writer, true).await?;
        let log = log.ok_or_else(|| RunInfo::taken(id))?;
        // Read after the claim: whatever wrote it until now adds nothing any more.
        let events = readable(&log.lines().await?).map_err(|(line, error)| {
            let reason = format!("line {line} of its log can't be read: {error}");
            Problem::wrong_value("run", reason, "start the pipeline again").error()
        })?;
        Ok((Self(log), events))
    }

    /// The id of the run.
    pub(super) fn id(&self) -> &str {
        self.0.id()
    }

    /// Notes that the run is resumed, with this pipeline.
    pub(super) async fn note_resumed(&self, pipeline: &str) -> Result<(), ToolError> {
        let noted = self.0.update(|info| {
            pipeline.clone_into(&mut info.pipeline);
            info.success = None;
        });
        noted.await.map(drop)
    }

    /// Adds events.
    pub(super) async fn add(&self, events: &[Event]) -> Result<(), ToolError> {
        for event in events {
            self.0.add(event).await?;
            if let Event::Ended { success, .. } = event {
                self.0.update(|info| info.success = Some(*success)).await?;
            }
        }
        Ok(())
    }
}
