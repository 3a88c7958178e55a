//! The severity of a finding.

use serde::Serialize;

/// The severity of a finding; a skill with an error is loadable perhaps, but not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Breaks a rule of the format.
    Error,
    /// Breaks no rule, but somebody will trip over it.
    Warning,
    /// Worth knowing.
    Info,
}

impl Severity {
    /// The word for it: `error`, `warning`, `info`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}
