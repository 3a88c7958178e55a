//! The events of a run: its log, and its progress for people.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something that happened in a run. The events of a run in order are all that is needed to resume it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "event",
    rename_all = "snake_case",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum Event {
    /// The run starts.
    Started {
        /// Its id.
        run: String,
        /// The name of the pipeline.
        pipeline: String,
        /// The definition of the pipeline, if it can be written.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        definition: Option<Value>,
        /// The input, with defaults.
        input: Value,
    },
    /// An attempt starts, after its delay.
    StepStarted {
        /// The step.
        step: String,
        /// The number of the attempt; the first one is 1.
        attempt: u32,
    },
    /// The condition of a step doesn't hold.
    StepSkipped {
        /// The step.
        step: String,
    },
    /// A step has its output.
    StepFinished {
        /// The step.
        step: String,
        /// The output, after `transform`.
        output: Value,
        /// The duration of the attempt.
        duration_ms: u64,
    },
    /// An attempt failed.
    StepFailed {
        /// The step.
        step: String,
        /// The error, for people.
        error: String,
        /// The duration of the attempt.
        duration_ms: u64,
        /// True if another attempt follows.
        again: bool,
    },
    /// The run continues after its process ended, or after a failure. What was running runs again.
    Resumed {},
    /// The run is over.
    Ended {
        /// True if no step failed that had to succeed.
        success: bool,
        /// The reason why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}
