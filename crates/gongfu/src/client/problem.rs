//! Reasons to leave a configuration alone that lie in its text, each with what to do about it.

use std::path::Path;

use serde_json::Value;

use crate::failure::Failure;
use crate::terminal::plain;

/// The file is not in its format.
pub(super) fn unparsable(format: &str, reason: &str, (line, column): (usize, usize)) -> Failure {
    let reason = plain(reason);
    let mut rest = reason.chars();
    let first = rest.next().map(|first| first.to_lowercase().to_string());
    let reason = first.unwrap_or_default() + rest.as_str();
    Failure::new(
        "FILE_INVALID",
        format!("line {line}, column {column}: not valid {format}: {reason}"),
        "fix that line, then try again; nothing was written",
    )
}

/// A bracket of the file is never closed.
pub(super) fn unclosed(format: &str, bracket: char, (line, column): (usize, usize)) -> Failure {
    let missing = if bracket == '{' { '}' } else { ']' };
    Failure::new(
        "FILE_INVALID",
        format!(
            "not valid {format}: the `{bracket}` at line {line}, column {column} is never closed"
        ),
        format!("add the missing `{missing}`, then try again; nothing was written"),
    )
}

/// Another value is where an object is needed.
pub(super) fn shape(path: &[&str], value: &Value, line: usize) -> Failure {
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
    Failure::new(
        "FILE_SHAPE",
        format!("line {line}: {holder} is {kind}, but must be an object"),
        "empty it (`{}`) or remove it, then try again; nothing was written",
    )
}

/// A name is there twice, and clients differ in which one counts.
pub(super) fn duplicate(path: &[&str], first: usize, second: usize) -> Failure {
    let name = path.join(".");
    Failure::new(
        "FILE_DUPLICATE",
        format!("`{name}` occurs twice, on lines {first} and {second}"),
        "keep one of them, then try again; nothing was written",
    )
}

/// An edit would change other parts of the file.
pub(super) fn unusual(path: &[&str]) -> Failure {
    let name = path.join(".");
    Failure::new(
        "FILE_UNUSUAL",
        format!(
            "the way `{name}` is written, it can't be changed without touching other parts of the file"
        ),
        "edit it by hand: `gongfu client print NAME` prints the entry; nothing was written",
    )
}

/// The same failure, with the file that it is about.
pub(super) fn at(mut failure: Failure, file: &Path) -> Failure {
    failure.message = format!("{}: {}", plain(&file.to_string_lossy()), failure.message);
    failure
}

/// The line and column of a byte, both from 1, the column in characters.
pub(super) fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..text.floor_char_boundary(at)).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().count() - before[..line_start].chars().count() + 1;
    (line, column)
}
