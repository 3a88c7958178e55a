//! Change sets in words: the diff of what waits, and what applying it did.

use std::fmt::Write as _;

use gongfu_core::change::{ChangeSet, Difference, Excerpt, HeldChange, HeldKind};
use gongfu_core::port::PortError;
use gongfu_core::skill::Digest;
use gongfu_core::text::visible;
use schemars::JsonSchema;
use serde::Serialize;
use similar::TextDiff;

use crate::call::Call;
use crate::error::ToolError;
use crate::problem::Problem;

/// The bytes of a file that a diff is made of.
const MAX_COMPARED: u64 = 256 * 1024;
/// The limit of changes whose diff is shown.
const MAX_DIFFS: usize = 200;
/// The longest diff that a person is asked about over a client, in characters.
pub(crate) const MAX_ASKED: usize = 8_192;
/// The lines around a change.
const CONTEXT: usize = 3;

/// A change that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangeDiff {
    /// The path that the run saw.
    pub path: String,
    /// `written`, `linked`, `removed` or `folder`.
    pub change: &'static str,
    /// The reason why it waits.
    pub why: String,
    /// The change itself, as a unified diff where both sides are text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub diff: String,
    /// True if the diff shows all that the change does.
    #[serde(skip)]
    pub is_whole: bool,
}

/// A change set with its diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownSet {
    /// The set.
    pub set: ChangeSet,
    /// The diff of each change; at most 200.
    pub diffs: Vec<ChangeDiff>,
}

impl ShownSet {
    /// Returns whether the diffs show all that the set does.
    pub fn is_whole(&self) -> bool {
        self.diffs.len() == self.set.changes.len() && self.diffs.iter().all(|diff| diff.is_whole)
    }

    /// The digest of the set; a set never changes.
    pub(crate) fn digest(&self) -> Digest {
        let set = &self.set;
        let changes = set
            .changes
            .iter()
            .map(|change| (&change.host, &change.kind));
        let all = (&set.id, set.made, &set.about, changes.collect::<Vec<_>>());
        Digest::of(&serde_json::to_vec(&all).unwrap_or_default())
    }

    /// The set with its diffs as text, a line break after each line.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for diff in &self.diffs {
            let _ = writeln!(text, "{} ({}): {}", diff.path, diff.change, diff.why);
            text.push_str(&diff.diff);
        }
        let more = self.set.changes.len().saturating_sub(self.diffs.len());
        if more > 0 {
            let _ = writeln!(text, "… and {more} more");
        }
        text
    }
}

/// The change sets that wait.
///
/// # Errors
/// They can't be read.
pub(crate) async fn list(call: &Call) -> Result<Vec<ChangeSet>, ToolError> {
    let listing = call.space.changes().list().await;
    listing.map_err(|error| failed("", error))
}

/// A change set with its diff.
///
/// # Errors
/// No such set waits, or it can't be read.
pub(crate) async fn show(call: &Call, id: &str) -> Result<ShownSet, ToolError> {
    let showing = call.space.changes().show(id, MAX_COMPARED).await;
    let (set, differences) = showing.map_err(|error| failed(id, error))?;
    let diffs = differences.iter().take(MAX_DIFFS).map(diff).collect();
    Ok(ShownSet { set, diffs })
}

/// Explains why a change set can't be used.
pub(crate) fn failed(id: &str, error: PortError) -> ToolError {
    match error {
        PortError::NotFound => Problem::ChangeSetUnknown { id: id.to_owned() }.error(),
        PortError::Conflict(reason) => {
            let id = id.to_owned();
            Problem::ChangeSetBusy { id, reason }.error()
        }
        error => Problem::broken("the change sets", &error).error(),
    }
}

/// Describes a change.
fn diff(difference: &Difference) -> ChangeDiff {
    let change = &difference.change;
    let (word, (diff, is_whole)) = match &change.kind {
        HeldKind::Written { executable, .. } => {
            let (mut diff, is_whole) = compared(&change.path, difference);
            if *executable {
                diff.insert_str(0, "(executable)\n");
            }
            ("written", (diff, is_whole))
        }
        HeldKind::Removed => ("removed", compared(&change.path, difference)),
        HeldKind::Linked { to } => ("linked", (format!("-> {}\n", visible(to)), true)),
        HeldKind::Folder => {
            let what = "(a folder in the place of what is there)\n";
            ("folder", (what.to_owned(), true))
        }
    };
    ChangeDiff {
        path: visible(&change.path).into_owned(),
        change: word,
        why: change.why.clone(),
        diff,
        is_whole,
    }
}

/// The diff of a file that is to be written, and whether a person can be asked about it: all of it is shown.
pub(crate) fn file_diff(path: &str, before: Option<Vec<u8>>, after: Vec<u8>) -> (String, bool) {
    let excerpt = |bytes: Vec<u8>| Excerpt {
        size: bytes.len() as u64,
        bytes,
    };
    let difference = Difference {
        change: HeldChange {
            path: path.to_owned(),
            host: path.to_owned(),
            kind: HeldKind::Written {
                bytes: after.len() as u64,
                executable: false,
            },
            why: String::new(),
        },
        before: before.map(excerpt),
        after: Some(excerpt(after)),
    };
    let (mut diff, is_whole) = compared(path, &difference);
    let is_short = diff.chars().count() <= MAX_ASKED;
    if !is_short {
        diff = diff.chars().take(MAX_ASKED).collect();
        diff.push('…');
    }
    (diff, is_whole && is_short)
}

/// The difference between two files, and whether all of it is shown.
fn compared(path: &str, difference: &Difference) -> (String, bool) {
    let (before, after) = (difference.before.as_ref(), difference.after.as_ref());
    let is_gone = matches!(difference.change.kind, HeldKind::Removed);
    let (Some(old), Some(new)) = (text(before), text(after)) else {
        let length = |one: Option<&Excerpt>| {
            one.map_or_else(|| "nothing".to_owned(), |one| format!("{} bytes", one.size))
        };
        return (
            format!(
                "(no text, or too long to be shown: {} before, {} after)\n",
                length(before),
                length(after)
            ),
            false,
        );
    };
    if is_gone && before.is_none() {
        return (String::new(), true);
    }
    let name = visible(path);
    let (from, to) = (
        before.map_or("/dev/null", |_| &*name),
        after.map_or("/dev/null", |_| &*name),
    );
    let diff = TextDiff::from_lines(old, new);
    let mut unified = diff.unified_diff();
    let unified = unified.context_radius(CONTEXT).header(from, to).to_string();
    (visible(&unified).into_owned(), true)
}

/// The whole of a file as text; empty for a missing one.
fn text(excerpt: Option<&Excerpt>) -> Option<&str> {
    let Some(excerpt) = excerpt else {
        return Some("");
    };
    let is_whole = excerpt.bytes.len() as u64 == excerpt.size;
    let is_text = is_whole && !excerpt.bytes.contains(&0);
    is_text.then(|| std::str::from_utf8(&excerpt.bytes).ok())?
}
