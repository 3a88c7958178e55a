//! The outcome of a run, in the form that programs read.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// True if all steps ran or were skipped, apart from failures that the pipeline allows.
    pub success: bool,
    /// The name of the pipeline.
    pub pipeline_id: String,
    /// The outputs by step: `{_skipped: true}` for one that was skipped, and `{_error: MESSAGE}` for one that was
    /// allowed to fail.
    pub outputs: Map<String, Value>,
    /// The steps that started or were skipped, by layer.
    pub trace: Vec<TraceEntry>,
    /// The duration of the run.
    pub duration_ms: u64,
    /// The reason why it failed.
    pub error: Option<String>,
}

/// A step in the trace of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceEntry {
    /// The step.
    pub step: String,
    /// Its end.
    pub status: Status,
    /// The duration of all its attempts, without the waits between.
    pub duration_ms: u64,
    /// The number of its last attempt; 0 if the tool wasn't called.
    pub attempt: u32,
}

/// The end of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It has an output.
    Ok,
    /// No attempt succeeded.
    Failed,
    /// Its condition didn't hold.
    Skipped,
}
