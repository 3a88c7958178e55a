//! The error of a call: a problem, as it goes over any surface.

use std::fmt;

use serde_json::{Map, Value};

use crate::error_code::ErrorCode;
use crate::output::ToolResult;
use crate::problem::Problem;

/// Why a call failed: a code for programs, a message and a hint for people and models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolError {
    /// The problem.
    pub problem: Problem,
    /// The stage of the gate that refused the call, if one did.
    pub refused_by: Option<&'static str>,
    /// The failure in the form that the tool's own clients know; without it, in gongfu's.
    pub rendered: Option<Box<ToolResult>>,
}

impl ToolError {
    /// For programs.
    pub fn code(&self) -> ErrorCode {
        self.problem.code()
    }

    /// The error as JSON: `code`, `message`, `hint` and what the problem adds to them.
    pub fn to_json(&self) -> Map<String, Value> {
        let text = self.problem.text();
        let mut json = self.problem.details();
        json.insert("code".to_owned(), self.code().as_str().into());
        json.insert("message".to_owned(), text.message.into());
        json.insert("hint".to_owned(), text.hint.into());
        json
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.problem.text();
        write!(
            formatter,
            "{}: {}\nhint: {}",
            self.code(),
            text.message,
            text.hint
        )
    }
}

impl std::error::Error for ToolError {}

impl From<Problem> for ToolError {
    fn from(problem: Problem) -> Self {
        Self {
            problem,
            refused_by: None,
            rendered: None,
        }
    }
}

impl Problem {
    /// The problem as the error of a call.
    pub fn error(self) -> ToolError {
        self.into()
    }
}
