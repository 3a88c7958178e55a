//! Diagnostics of a skill: the finding, its place, its severity and its fix.

use std::ops::Range;

use super::finding::Finding;
use super::severity::Severity;

/// A place in a text file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
}

/// One finding at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The finding.
    pub finding: Finding,
    /// The file, relative to the skill's folder; `None` when it is about the folder itself.
    pub file: Option<String>,
    /// The bytes of the file that it is about.
    pub span: Option<Range<usize>>,
    /// The line and column at which `span` starts.
    pub position: Option<Position>,
    /// The change that fixes it without judgement, when there is one.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// A finding about the skill's folder as a whole.
    pub fn about_folder(finding: Finding) -> Self {
        Self {
            finding,
            file: None,
            span: None,
            position: None,
            fix: None,
        }
    }

    /// A finding about a file, at no place in particular.
    pub fn about_file(finding: Finding, file: impl Into<String>) -> Self {
        Self {
            file: Some(file.into()),
            ..Self::about_folder(finding)
        }
    }

    /// Adds the change that fixes it.
    #[must_use]
    pub fn with_fix(mut self, edits: Vec<Edit>) -> Self {
        self.fix = Some(Fix::Edits(edits));
        self
    }

    /// Adds the new name of its file that fixes it.
    #[must_use]
    pub fn with_rename(mut self, name: &'static str) -> Self {
        self.fix = Some(Fix::Rename(name));
        self
    }

    /// The edits that fix it, if edits do.
    pub fn edits(&self) -> Option<&[Edit]> {
        match &self.fix {
            Some(Fix::Edits(edits)) => Some(edits),
            Some(Fix::Rename(_)) | None => None,
        }
    }

    /// Returns true if `--fix` fixes it.
    pub fn fixable(&self) -> bool {
        self.fix.is_some()
    }

    /// Returns its severity.
    pub fn severity(&self) -> Severity {
        self.finding.severity()
    }

    /// Returns true if a host that is given the skill's files under the skill's name finds this error, too:
    /// what the folder is called, it isn't told.
    pub fn is_breach(&self) -> bool {
        self.severity() == Severity::Error
            && !matches!(self.finding, Finding::NameDiffersFromFolder { .. })
    }
}

/// A change of one file that needs no judgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fix {
    /// Replacements in it; in any order, never overlapping.
    Edits(Vec<Edit>),
    /// Another name for it, in the same folder.
    Rename(&'static str),
}

/// One replacement in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edit {
    /// Offset of the first byte that goes.
    pub start: usize,
    /// Offset behind the last byte that goes; equal to `start` for an insertion.
    pub end: usize,
    /// The text in its place.
    pub replacement: String,
}
