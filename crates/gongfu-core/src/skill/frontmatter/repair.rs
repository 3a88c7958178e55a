//! Reading YAML that lacks quotes: values that mean something to YAML are quoted, one by one,
//! until the text parses.
//!
//! What was quoted is kept, so that places can be told in the text as it stands in the file, and
//! the same quotes can be written there.

use std::ops::Range;

use crate::skill::diagnostic::Edit;
use crate::skill::yaml::{self, Kind, Node, YamlError};

/// The limit of values that are quoted before a text counts as not YAML at all.
const MAX_REPAIRS: usize = 64;
/// The limit of bytes that are parsed again for that, so that a long text isn't parsed as often as
/// a short one may be.
const MAX_PARSED_AGAIN: usize = 512 * 1024;

/// A value that is put in double quotes.
#[derive(Debug, Clone)]
pub(super) struct Repair {
    /// The field that it belongs to.
    pub(super) field: String,
    /// The bytes of the value in the text as it stands in the file.
    pub(super) value: Range<usize>,
    /// Offsets of the characters in it that need a backslash.
    escapes: Vec<usize>,
    line: usize,
}

/// Parses a text, with as few values quoted as it takes; the error is that of the text as it is.
pub(super) fn parse(text: &str) -> (Result<Option<Node>, YamlError>, Vec<Repair>) {
    let first = match yaml::parse(text) {
        Err(error @ YamlError::Syntax { .. }) => error,
        other => return (other, Vec::new()),
    };
    let mut candidates = unquoted_values(text);
    let mut repairs: Vec<Repair> = Vec::new();
    let mut line = line_of(text, first.offset());
    let most = (MAX_PARSED_AGAIN / text.len().max(1)).min(MAX_REPAIRS);
    while repairs.len() < most {
        // The parser reports a plain value's fault on its line or, for a value that looks like the
        // start of something, on a line further down.
        let Some(nearest) = candidates.iter().rposition(|known| known.line <= line) else {
            break;
        };
        repairs.push(candidates.remove(nearest));
        repairs.sort_by_key(|known| known.value.start);
        let repaired = apply(text, &repairs);
        match yaml::parse(&repaired) {
            Ok(node) => return (Ok(node), repairs),
            Err(error) => line = line_of(&repaired, error.offset()),
        }
    }
    (Err(first), Vec::new())
}

fn line_of(text: &str, offset: usize) -> usize {
    let before = text.get(..text.floor_char_boundary(offset));
    before.unwrap_or(text).matches('\n').count()
}

impl Repair {
    /// The edits that make the value a double-quoted one, touching nothing else.
    pub(super) fn edits(&self) -> impl Iterator<Item = Edit> {
        let insert = |at: usize, what: &str| Edit {
            start: at,
            end: at,
            replacement: what.to_owned(),
        };
        std::iter::once(insert(self.value.start, "\""))
            .chain(self.escapes.iter().map(move |&at| insert(at, "\\")))
            .chain(std::iter::once(insert(self.value.end, "\"")))
    }
}

fn apply(text: &str, repairs: &[Repair]) -> String {
    let mut out = String::with_capacity(text.len() + repairs.len() * 2);
    let mut done = 0;
    for edit in repairs.iter().flat_map(Repair::edits) {
        out.push_str(text.get(done..edit.start).unwrap_or_default());
        out.push_str(&edit.replacement);
        done = edit.end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

/// The way back from places in the repaired text to the text as it stands in the file.
pub(super) struct WayBack {
    /// The places of insertions in the repaired text, with the bytes inserted up to there; in order.
    inserted: Vec<(usize, usize)>,
}

impl WayBack {
    /// The way back over these repairs, which stand in order.
    pub(super) fn over(repairs: &[Repair]) -> Self {
        let mut inserted = Vec::new();
        let mut sum = 0;
        for edit in repairs.iter().flat_map(Repair::edits) {
            let at = edit.start + sum;
            sum += edit.replacement.len();
            inserted.push((at, sum));
        }
        Self { inserted }
    }

    /// Returns the place in the file of a part of the repaired text.
    pub(super) fn original(&self, span: &Range<usize>) -> Range<usize> {
        let back = |offset: usize| {
            let before = self.inserted.partition_point(|&(at, _)| at < offset);
            let last = before
                .checked_sub(1)
                .and_then(|last| self.inserted.get(last));
            offset.saturating_sub(last.map_or(0, |&(_, sum)| sum))
        };
        back(span.start)..back(span.end)
    }
}

/// Values that quoting can change: `key: value` lines whose value, alone, isn't a plain scalar.
fn unquoted_values(text: &str) -> Vec<Repair> {
    let mut found = Vec::new();
    let mut offset = 0;
    let mut block: Option<usize> = None;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let start = offset;
        offset += line.len();
        let indent = line.len() - line.trim_start_matches(' ').len();
        if line.trim().is_empty() || block.is_some_and(|outer| indent > outer) {
            continue;
        }
        block = None;
        let Some(entry) = Entry::of(line) else {
            continue;
        };
        if entry.value.starts_with(['|', '>']) {
            block = Some(indent);
            continue;
        }
        let at = start + entry.at;
        let value = at..at + value_length(text.get(at..).unwrap_or_default(), indent);
        let content = text.get(value.clone()).unwrap_or_default();
        if needs_quotes(content) {
            let special = content
                .char_indices()
                .filter(|&(_, c)| c == '"' || c == '\\');
            found.push(Repair {
                field: entry.key.to_owned(),
                escapes: special.map(|(offset, _)| at + offset).collect(),
                value,
                line: number,
            });
        }
    }
    found
}

/// The length of a plain value with the lines that continue it: deeper indented, no list items.
fn value_length(text: &str, indent: usize) -> usize {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    let mut length = first.trim_end().len();
    if first.starts_with(['"', '\'', '[', '{']) {
        return length;
    }
    let mut offset = first.len();
    for line in lines {
        let depth = line.len() - line.trim_start_matches(' ').len();
        if line.trim().is_empty() || depth <= indent || line.trim_start().starts_with("- ") {
            break;
        }
        length = offset + line.trim_end().len();
        offset += line.len();
    }
    length
}

/// Returns true if a value, alone, is something else to YAML than the text it looks like.
fn needs_quotes(value: &str) -> bool {
    match yaml::parse(&format!("k: {value}\n")).map(|node| node.map(|node| node.kind)) {
        Ok(Some(Kind::Mapping(entries))) => entries.len() != 1,
        _ => true,
    }
}

/// A line that reads `key: value`.
pub(super) struct Entry<'line> {
    /// The key, without the dash of a list item before it.
    pub(super) key: &'line str,
    /// The value, without the blanks around it.
    pub(super) value: &'line str,
    /// Offset of the value in the line.
    pub(super) at: usize,
}

impl<'line> Entry<'line> {
    /// Splits a line; `None` when it has no value, or a key that nobody would write.
    pub(super) fn of(line: &'line str) -> Option<Self> {
        let line = line.trim_end();
        let colon = line.find(": ").or_else(|| line.find(":\t"))?;
        let (key, rest) = line.split_at(colon);
        let key = key.trim_start_matches(['-', ' ']).trim_end();
        let value = rest.get(1..)?.trim_start();
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ' | '.');
        let usual = !value.is_empty() && !key.is_empty() && key.chars().all(plain);
        usual.then_some(Self {
            key,
            value,
            at: line.len() - value.len(),
        })
    }
}
