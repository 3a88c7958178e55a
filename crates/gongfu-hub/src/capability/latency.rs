//! The duration of past calls, as the audit has it.

use std::collections::HashMap;

use gongfu_core::audit;
use gongfu_core::port::PortError;
use serde::Deserialize;

use super::LatencyHint;
use crate::call::Call;
use crate::error::ToolError;
use crate::problem::Problem;

/// The newest entries of the audit that are read.
const MAX_READ: usize = 2_000;

/// An entry of the audit, as far as it is needed here.
#[derive(Deserialize)]
struct Entry {
    phase: String,
    tool: String,
    outcome: String,
    #[serde(default)]
    skill: Option<String>,
    #[serde(default)]
    ended: Option<String>,
    #[serde(default)]
    milliseconds: Option<u64>,
    #[serde(default)]
    waited: Option<u64>,
}

/// The durations of past calls in a space, in milliseconds.
#[derive(Default)]
pub(super) struct Durations {
    tools: HashMap<String, Vec<u64>>,
    skills: HashMap<String, Vec<u64>>,
}

impl Durations {
    /// Reads them.
    ///
    /// # Errors
    /// The audit can't be read.
    pub(super) async fn read(call: &Call) -> Result<Self, ToolError> {
        let broken = |error: &PortError| Problem::broken("the audit", error).error();
        let log = audit::key().map_err(|error| broken(&error))?;
        let entries = call.space.records().entries(&log, MAX_READ).await;
        let mut durations = Self::default();
        for entry in entries.map_err(|error| broken(&error))? {
            if let Ok(entry) = serde_json::from_slice(&entry) {
                durations.add(entry);
            }
        }
        Ok(durations)
    }

    /// Counts a call that ended well.
    fn add(&mut self, entry: Entry) {
        let Some(milliseconds) = entry.milliseconds else {
            return;
        };
        if entry.phase != "end" || entry.outcome != "ok" {
            return;
        }
        let took = milliseconds.saturating_sub(entry.waited.unwrap_or(0));
        // Only a command has such an end: it ran with that skill.
        if let (Some(skill), Some("exit 0")) = (entry.skill, entry.ended.as_deref()) {
            self.skills.entry(skill).or_default().push(took);
        }
        self.tools.entry(entry.tool).or_default().push(took);
    }

    /// That of the calls of a tool.
    pub(super) fn of_tool(&self, name: &str) -> Option<LatencyHint> {
        median(self.tools.get(name)?)
    }

    /// That of the commands that ran with a skill.
    pub(super) fn of_skill(&self, full_name: &str) -> Option<LatencyHint> {
        median(self.skills.get(full_name)?)
    }
}

fn median(took: &[u64]) -> Option<LatencyHint> {
    let mut sorted = took.to_vec();
    sorted.sort_unstable();
    Some(LatencyHint {
        milliseconds: *sorted.get(sorted.len() / 2)?,
        calls: sorted.len(),
    })
}
