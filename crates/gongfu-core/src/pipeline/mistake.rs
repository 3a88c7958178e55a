//! The mistakes of a pipeline, for people.

use std::fmt;

/// A mistake in a pipeline or its file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mistake {
    /// The line, from 1, where it is known.
    pub line: Option<usize>,
    /// The step that has it, if it is known by its name.
    pub step: Option<String>,
    /// The field, such as `params.data[0]`; empty for the whole.
    pub field: String,
    /// The message for people: what is wrong and what to do.
    pub what: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(formatter, "line {line}: ")?;
        }
        if let Some(step) = &self.step {
            write!(formatter, "step `{step}`, ")?;
        }
        if !self.field.is_empty() {
            write!(formatter, "`{}`: ", self.field)?;
        }
        formatter.write_str(&self.what)
    }
}
