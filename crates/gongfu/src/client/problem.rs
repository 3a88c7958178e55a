//! What can be in the way of a change to a client's configuration, and what to do about it.

use std::path::Path;

use crate::terminal::plain;

/// Why a configuration is not touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// A stable name, for programs.
    pub(crate) code: &'static str,
    /// What is wrong, with the place in the file where there is one.
    pub(crate) message: String,
    /// What to do.
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

    /// The file is not what its format says.
    pub(super) fn unparsable(format: &str, what: &str, (line, column): (usize, usize)) -> Self {
        let what = plain(what);
        let mut rest = what.chars();
        let first = rest.next().map(|first| first.to_lowercase().to_string());
        Self::new(
            "unparsable",
            format!(
                "line {line}, column {column}: this is not {format}: {}{}",
                first.unwrap_or_default(),
                rest.as_str()
            ),
            "mend that line, then try again; nothing was written",
        )
    }

    /// A field holds something else than entries.
    pub(super) fn shape(path: &[&str], is: &str, line: usize) -> Self {
        let what = if path.is_empty() {
            "the file".to_owned()
        } else {
            format!("`{}`", path.join("."))
        };
        Self::new(
            "wrong-shape",
            format!("line {line}: {what} holds {is}, where names with their settings belong"),
            "empty it (`{}`) or remove it, then try again; nothing was written",
        )
    }

    /// A name stands twice, and it isn't clear which one a client takes.
    pub(super) fn twice(path: &[&str], first: usize, second: usize) -> Self {
        Self::new(
            "duplicate-key",
            format!(
                "`{}` is there twice, in lines {first} and {second}",
                path.join(".")
            ),
            "keep one of them, then try again; nothing was written",
        )
    }

    /// The change can't be made so that everything else stays as it is.
    pub(super) fn unusual(what: &str) -> Self {
        Self::new(
            "unusual",
            format!(
                "{what} is written in a way that can't be changed without touching other parts"
            ),
            "make the change by hand: `gongfu client print` shows what belongs there; nothing was written",
        )
    }

    /// The same, about a file.
    pub(super) fn at(mut self, file: &Path) -> Self {
        self.message = format!("{}: {}", plain(&file.to_string_lossy()), self.message);
        self
    }
}
