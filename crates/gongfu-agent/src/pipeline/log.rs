//! The logs of runs: their events, and what their records say.

use gongfu_core::pipeline::Event;
use gongfu_core::port::Space;
use gongfu_core::text::clipped;
use gongfu_hub::{Call, Problem, ToolError};
use serde::{Deserialize, Serialize};

use crate::log::{self, Log, LogHead, LogInfo};

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
        }
    }

    fn unknown(id: &str) -> ToolError {
        let reason = format!("there is no run `{}`", clipped(id, 64, '?'));
        Problem::wrong_value("run", reason, "use the id that a run printed at its start").error()
    }

    fn running(id: &str) -> ToolError {
        let reason = format!("the run `{id}` is running");
        let hint = "wait until it is done, or stop it where it was started";
        Problem::wrong_value("run", reason, hint).error()
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

/// The events of a run so far.
pub(super) async fn events(space: &Space, id: &str) -> Result<Vec<Event>, ToolError> {
    let lines = log::lines::<RunInfo>(space, id).await?;
    readable(&lines).map_err(|(line, error)| {
        let reason = format!("line {line} of its log can't be read: {error}");
        Problem::wrong_value("run", reason, "start the pipeline again").error()
    })
}

impl RunLog {
    /// A new run.
    pub(super) async fn create(call: &Call, pipeline: &str) -> Result<Self, ToolError> {
        let info = RunInfo {
            pipeline: pipeline.to_owned(),
            ..RunInfo::default()
        };
        Log::create(call, &info).await.map(Self)
    }

    /// An existing run that nothing else writes.
    pub(super) async fn open(space: &Space, id: &str) -> Result<Self, ToolError> {
        Log::open(space, id).await.map(Self)
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
