//! Pipelines: steps that call tools, in the order of their dependencies (spec, "Pipelines").
//!
//! A [`Pipeline`] is a definition, in Rust or read from a file. A [`Plan`] is one that was checked. A [`Run`] says what
//! to do next. Calls no tool and knows no clock; the driver of the agent does.
//!
//! A parameter of a step is any JSON value. In it, a string that begins with one of these is computed when the step
//! starts:
//!
//! | begins with | stands for |
//! |---|---|
//! | `input:PATH` | that part of the run's input |
//! | `STEP:PATH` | that part of the output of a step of this pipeline |
//! | `expr:EXPRESSION` | the value of an expression |
//! | `literal:TEXT` | the text after it, whatever it looks like |
//!
//! A path is `name.other[0]["odd name"]`, and may be empty for the whole. Whatever names the output of another step
//! depends on it, so that `dependsOn` is needed only for an order that no value says.

mod call;
mod check;
mod event;
mod expression;
mod mistake;
mod outcome;
mod path;
mod plan;
mod reading;
mod run;
mod scope;
mod template;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

pub use call::{NotRunning, Ready, StartError, StepError};
pub use check::{Tool, check};
pub use event::Event;
pub use mistake::Mistake;
pub use outcome::{Outcome, Status, TraceEntry};
pub use plan::Plan;
pub use reading::{FileKind, from_value, read};
pub use run::{ResumeError, Run};
pub use scope::{Function, Scope, StepIdentity};

/// The JSON schema of a file with a pipeline.
pub const SCHEMA: &str = include_str!("pipeline/schema.json");
/// The highest number of steps of a pipeline.
pub const MAX_STEPS: usize = 200;
/// The longest definition, in bytes of JSON, and the longest file.
pub const MAX_DEFINITION: usize = 256 * 1024;
/// The longest input of a run, in bytes of JSON.
pub const MAX_INPUT: usize = 256 * 1024;
/// The longest output of a step after its `transform`, and the longest value of a parameter, in bytes of JSON.
pub const MAX_OUTPUT: usize = 512 * 1024;
/// The longest outputs of all steps of a run together, in bytes of JSON.
pub const MAX_OUTPUTS: usize = 8 * 1024 * 1024;
/// The deepest input, output and value of a parameter, in lists and objects: a log with a deeper one can't be read.
pub const MAX_DEPTH: usize = 64;
/// The highest number of attempts of a step.
pub const MAX_RETRIES: u32 = 100;
/// The longest wait before another attempt, in milliseconds: an hour.
pub const MAX_RETRY_DELAY: u64 = 3_600_000;
/// The time that an attempt has where its step says nothing, in milliseconds: ten minutes.
pub const DEFAULT_TIMEOUT: u64 = 600_000;
/// The longest time that an attempt may have, in milliseconds: a day.
pub const MAX_TIMEOUT: u64 = 86_400_000;

/// The longest name of a pipeline or a step.
const MAX_NAME: usize = 64;

/// The definition of a pipeline.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pipeline {
    /// Its name: letters, digits, `-` and `_`.
    pub name: String,
    /// Its purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The inputs that a run takes; `None` if it takes any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<BTreeMap<String, Input>>,
    /// Its steps, in any order.
    pub steps: Vec<Step>,
}

/// An input of a pipeline.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Input {
    /// Its meaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// True if a run can't start without it.
    #[serde(skip_serializing_if = "is_false")]
    pub required: bool,
    /// Its value where a run doesn't say one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

/// A step: one call of a tool.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// Its name: letters, digits and `_`, so that expressions can say `steps.NAME`.
    pub name: String,
    /// The tool that it calls.
    pub tool: String,
    /// The arguments of the call.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, Param>,
    /// The steps that must end before it, besides those whose outputs it uses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// The condition under which it runs; else it is skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<Rule>,
    /// The highest number of attempts in all.
    pub retries: u32,
    /// The wait before each further attempt, in milliseconds.
    pub retry_delay: u64,
    /// The time that an attempt has, in milliseconds; `None` for [`DEFAULT_TIMEOUT`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// The effect of its failure on the pipeline.
    pub error_strategy: ErrorStrategy,
    /// The way from the tool's result to the output of the step that others see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transform: Option<Rule>,
}

/// The effect of a failed step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ErrorStrategy {
    /// No further step starts, and the pipeline fails.
    #[default]
    Fail,
    /// The output of the step is `{_error: MESSAGE}`, and the others run.
    Continue,
}

/// The value of a parameter.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Param {
    /// A value, in which some strings are computed: see the module.
    Value(Value),
    /// A function of the inputs and outputs, in definitions in Rust alone.
    Function(Function),
}

/// A condition, or a transformation.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Rule {
    /// An expression over `input`, `steps`, `run`, and in a transformation `output`.
    Expression(String),
    /// A function of the same, in definitions in Rust alone.
    Function(Function),
}

impl Step {
    /// A step without parameters, that is tried once.
    pub fn new(name: impl Into<String>, tool: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            tool: tool.into(),
            params: BTreeMap::new(),
            depends_on: Vec::new(),
            when: None,
            retries: 1,
            retry_delay: 0,
            timeout: None,
            error_strategy: ErrorStrategy::Fail,
            transform: None,
        }
    }

    /// The same step with another parameter.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Param>) -> Self {
        self.params.insert(name.into(), value.into());
        self
    }

    /// The same step after these others.
    #[must_use]
    pub fn after<const N: usize>(mut self, names: [&str; N]) -> Self {
        self.depends_on.extend(names.map(str::to_owned));
        self
    }
}

impl<T: Into<Value>> From<T> for Param {
    fn from(value: T) -> Self {
        Self::Value(value.into())
    }
}

impl From<Function> for Param {
    fn from(function: Function) -> Self {
        Self::Function(function)
    }
}

impl From<&str> for Rule {
    fn from(expression: &str) -> Self {
        Self::Expression(expression.to_owned())
    }
}

impl From<Function> for Rule {
    fn from(function: Function) -> Self {
        Self::Function(function)
    }
}

impl Pipeline {
    /// The definition as JSON; `None` if a part of it is a function.
    pub fn definition(&self) -> Option<Value> {
        serde_json::to_value(self).ok()
    }
}

/// The length of a value of a run in bytes of JSON, or why it can't be one.
fn measured(value: &Value, limit: usize) -> Result<usize, String> {
    if is_deeper(value, MAX_DEPTH) {
        return Err(format!("is nested deeper than {MAX_DEPTH} levels"));
    }
    let bytes = bounded(value, limit);
    bytes
        .map(|bytes| bytes.len())
        .map_err(|_| format!("is longer than {limit} bytes"))
}

fn is_deeper(value: &Value, levels: usize) -> bool {
    let inner = |value| {
        levels
            .checked_sub(1)
            .is_none_or(|levels| is_deeper(value, levels))
    };
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(inner),
        Value::Object(fields) => levels == 0 || fields.values().any(inner),
        _ => false,
    }
}

/// A value as JSON text of at most `limit` bytes.
fn bounded(value: &impl Serialize, limit: usize) -> Result<Vec<u8>, serde_json::Error> {
    struct Writer {
        bytes: Vec<u8>,
        limit: usize,
    }
    impl std::io::Write for Writer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.bytes.len() + bytes.len() > self.limit {
                return Err(std::io::ErrorKind::FileTooLarge.into());
            }
            self.bytes.extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let bytes = Vec::new();
    let mut writer = Writer { bytes, limit };
    serde_json::to_writer(&mut writer, value)?;
    Ok(writer.bytes)
}

/// The output of a step that was skipped.
fn skipped() -> Value {
    Value::Object(Map::from_iter([("_skipped".to_owned(), true.into())]))
}

/// The output of a step that failed.
fn failed(error: &str) -> Value {
    Value::Object(Map::from_iter([("_error".to_owned(), error.into())]))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(truth: &bool) -> bool {
    !truth
}

#[cfg(test)]
mod tests;
