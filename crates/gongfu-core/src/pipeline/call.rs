//! The calls that a run asks for, and their failures.

use serde_json::{Map, Value};

use super::scope::StepIdentity;

/// A call to make.
#[derive(Debug, Clone, PartialEq)]
pub struct Ready {
    /// The step.
    pub step: String,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub params: Map<String, Value>,
    /// The number of the attempt; the first one is 1.
    pub attempt: u32,
    /// The time that it has, in milliseconds.
    pub timeout_ms: u64,
    /// The ids of the run and of the step, for a tool that does its work only once.
    pub identity: StepIdentity,
}

/// The failure of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepError {
    /// The message for people.
    pub message: String,
    /// True if another attempt can't succeed either.
    pub is_final: bool,
}

/// The reason why a run can't start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StartError(pub(super) String);

/// A result for a step that isn't running.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the step `{0}` is not running")]
pub struct NotRunning(pub(super) String);

impl StepError {
    /// An error after which another attempt may succeed.
    pub fn new(message: impl Into<String>) -> Self {
        let (message, is_final) = (message.into(), false);
        Self { message, is_final }
    }

    /// An error that another attempt would meet too.
    pub fn last(message: impl Into<String>) -> Self {
        let (message, is_final) = (message.into(), true);
        Self { message, is_final }
    }
}
