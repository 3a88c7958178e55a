//! Change sets in words: the diff of what waits, and what applying it did.

use std::fmt::Write as _;

use gongfu_core::change::{ChangeSet, Difference, Excerpt, Going, HeldKind, Present, Survivor};
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
/// The longest diff that a person is asked about over a client, in characters.
pub(crate) const MAX_ASKED: usize = 8_192;
/// The permissions of new files that need no words.
const USUAL_MODES: [u32; 2] = [0o644, 0o755];
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
    #[serde(default, skip_serializing_if = "String::is_empty")]
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
    /// The diff of each change.
    pub diffs: Vec<ChangeDiff>,
}

impl ShownSet {
    /// Returns whether the diffs show all that the set does.
    pub fn is_whole(&self) -> bool {
        self.diffs.iter().all(|diff| diff.is_whole)
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
    let diffs = differences.iter().map(diff).collect();
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
    let path = one_line(&change.path);
    let mut shown = ChangeText {
        text: String::new(),
        is_whole: true,
    };
    if let Some(kept) = &difference.kept {
        shown.kept(kept, &difference.before);
    }
    let word = match &change.kind {
        HeldKind::Written { executable, .. } => {
            shown.written(&path, difference, *executable);
            "written"
        }
        HeldKind::Linked { to } => {
            shown.line(&format!("-> {}", one_line(to)));
            shown.taken(&path, &difference.before);
            "linked"
        }
        HeldKind::Removed => {
            shown.taken(&path, &difference.before);
            "removed"
        }
        HeldKind::Folder => {
            shown.line("(a folder)");
            shown.taken(&path, &difference.before);
            "folder"
        }
    };
    ChangeDiff {
        path,
        change: word,
        why: change.why.clone(),
        diff: shown.text,
        is_whole: shown.is_whole,
    }
}

/// The text about a change.
struct ChangeText {
    text: String,
    /// It is all that the change does.
    is_whole: bool,
}

impl ChangeText {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Shows what applying the change does with what somebody changed since the run began.
    fn kept(&mut self, kept: &Survivor, before: &Present) {
        let what = match before {
            Present::Folder(_) => "files changed in it since the run began are kept",
            _ => "it changed since the run began and is kept",
        };
        match &kept.beside {
            Some(beside) => self.line(&format!(
                "({what}; the run's version is saved beside it as {})",
                one_line(beside)
            )),
            None => self.line(&format!("({what})")),
        }
    }

    /// Shows a file that is written.
    fn written(&mut self, path: &str, difference: &Difference, is_executable: bool) {
        if is_executable {
            self.line("(executable)");
        }
        let after = difference.after.as_ref();
        let (before, old_mode) = match &difference.before {
            Present::File { excerpt, mode } => (Some(excerpt), Some(*mode)),
            other => {
                self.taken(path, other);
                (None, None)
            }
        };
        match (old_mode, difference.mode) {
            (Some(old), Some(new)) if old != new => {
                self.line(&format!("(permissions {old:04o} -> {new:04o})"));
            }
            (None, Some(new)) if !USUAL_MODES.contains(&new) => {
                self.line(&format!("(permissions {new:04o})"));
            }
            _ => {}
        }
        if after.is_none() {
            self.line("(its new content can't be read)");
            self.is_whole = false;
            return;
        }
        if before == after && text(after).is_some() {
            self.line("(content unchanged)");
            return;
        }
        self.compared(path, before, after);
    }

    /// Shows what goes from a path.
    fn taken(&mut self, path: &str, before: &Present) {
        match before {
            Present::Nothing => {}
            Present::File { excerpt, .. } => self.compared(path, Some(excerpt), None),
            Present::Link { to } => self.line(&format!("(removes the link -> {})", one_line(to))),
            Present::Folder(going) => self.going(going),
            Present::Other => self.line("(removes something that is neither a file nor a folder)"),
            Present::Unknown => {
                self.line("(the current content can't be read)");
                self.is_whole = false;
            }
        }
    }

    /// Shows what goes from a folder.
    fn going(&mut self, going: &Going) {
        let Going { files, folders, .. } = going;
        let more = if going.is_cut { "at least " } else { "" };
        if files + folders > 0 || going.is_cut {
            self.line(&format!(
                "(removes {more}{} and {} below it)",
                counted(*files, "file"),
                counted(*folders, "folder")
            ));
        }
        for name in &going.names {
            self.line(&format!("- {}", one_line(name)));
        }
        if !going.is_named() {
            let rest = (files + folders).saturating_sub(going.names.len());
            self.line(&format!("… and {more}{rest} more"));
            self.is_whole = false;
        }
    }

    /// Shows the difference between two files.
    fn compared(&mut self, path: &str, before: Option<&Excerpt>, after: Option<&Excerpt>) {
        let (diff, is_whole) = compared(path, before, after);
        self.text.push_str(&diff);
        self.is_whole &= is_whole;
    }
}

/// A number of things in words.
fn counted(number: usize, what: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{number} {what}{end}")
}

/// A text of one line in which a person sees every character.
fn one_line(text: &str) -> String {
    visible(text).replace('\n', "\\n")
}

/// The diff of a file that is to be written, and whether a person can be asked about it: all of it is shown.
pub(crate) fn file_diff(path: &str, before: Option<Vec<u8>>, after: Vec<u8>) -> (String, bool) {
    let excerpt = |bytes: Vec<u8>| Excerpt {
        size: bytes.len() as u64,
        bytes,
    };
    let (before, after) = (before.map(excerpt), excerpt(after));
    let (mut diff, is_whole) = compared(&one_line(path), before.as_ref(), Some(&after));
    let is_short = diff.chars().count() <= MAX_ASKED;
    if !is_short {
        diff = diff.chars().take(MAX_ASKED).collect();
        diff.push('…');
    }
    (diff, is_whole && is_short)
}

/// The difference between two files, of which one may be missing, and whether all of it is shown.
fn compared(path: &str, before: Option<&Excerpt>, after: Option<&Excerpt>) -> (String, bool) {
    let (Some(old), Some(new)) = (text(before), text(after)) else {
        let length = |one: Option<&Excerpt>| {
            one.map_or_else(|| "nothing".to_owned(), |one| format!("{} bytes", one.size))
        };
        return (
            format!(
                "(binary or too long to show: {} before, {} after)\n",
                length(before),
                length(after)
            ),
            false,
        );
    };
    let (from, to) = (
        before.map_or("/dev/null", |_| path),
        after.map_or("/dev/null", |_| path),
    );
    if old == new {
        let is_there = before.is_some() && after.is_some();
        let what = if is_there { "" } else { "(an empty file)\n" };
        return (what.to_owned(), true);
    }
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
