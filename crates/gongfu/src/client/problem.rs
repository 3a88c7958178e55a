//! Reasons to leave a client's configuration alone, each with what to do about it.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::terminal::plain;

/// A reason not to read or change a configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Problem {
    /// A stable name, for programs.
    pub(crate) code: &'static str,
    /// The fault, and its place in the file.
    pub(crate) message: String,
    /// Advice.
    pub(crate) hint: String,
}

impl Problem {
    pub(super) fn new(
        code: &'static str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            code,
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// The file is not in its format.
    pub(super) fn unparsable(format: &str, reason: &str, (line, column): (usize, usize)) -> Self {
        let reason = plain(reason);
        let mut rest = reason.chars();
        let first = rest.next().map(|first| first.to_lowercase().to_string());
        let reason = first.unwrap_or_default() + rest.as_str();
        Self::new(
            "unparsable",
            format!("line {line}, column {column}: not valid {format}: {reason}"),
            "fix that line, then try again; nothing was written",
        )
    }

    /// Another value is where an object is needed.
    pub(super) fn shape(path: &[&str], value: &Value, line: usize) -> Self {
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        let holder = if path.is_empty() {
            "the file".to_owned()
        } else {
            format!("`{}`", path.join("."))
        };
        Self::new(
            "wrong-shape",
            format!("line {line}: {holder} is {kind}, but must be an object"),
            "empty it (`{}`) or remove it, then try again; nothing was written",
        )
    }

    /// A name is there twice, and clients differ in which one counts.
    pub(super) fn duplicate(path: &[&str], first: usize, second: usize) -> Self {
        let name = path.join(".");
        Self::new(
            "duplicate-key",
            format!("`{name}` occurs twice, on lines {first} and {second}"),
            "keep one of them, then try again; nothing was written",
        )
    }

    /// An edit would change other parts of the file.
    pub(super) fn unusual(path: &[&str]) -> Self {
        let name = path.join(".");
        Self::new(
            "unusual",
            format!(
                "the way `{name}` is written, it can't be changed without touching other parts of the file"
            ),
            "edit it by hand: `gongfu client print NAME` prints the entry; nothing was written",
        )
    }

    /// The same problem, with its file.
    pub(super) fn at(mut self, file: &Path) -> Self {
        self.message = format!("{}: {}", plain(&file.to_string_lossy()), self.message);
        self
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::new(problem.code, problem.message, problem.hint)
    }
}

/// The line and column of a byte, both from 1, the column in characters.
pub(super) fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..text.floor_char_boundary(at)).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().count() - before[..line_start].chars().count() + 1;
    (line, column)
}
