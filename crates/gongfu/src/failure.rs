//! The failure of a command: what is wrong, and what to do.

use std::fmt;

use serde::Serialize;

/// A failure that a person can do something about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Failure {
    /// A stable name, for programs.
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// The next step.
    pub(crate) hint: String,
    /// The exit code.
    #[serde(skip)]
    pub(crate) exit: u8,
}

impl Failure {
    /// A failure that ends the command with 1.
    pub(crate) fn new(
        code: &'static str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            code,
            message: message.into(),
            hint: hint.into(),
            exit: 1,
        }
    }

    /// A command that was used wrongly, which ends with 2.
    pub(crate) fn usage(
        code: &'static str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            exit: 2,
            ..Self::new(code, message, hint)
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
