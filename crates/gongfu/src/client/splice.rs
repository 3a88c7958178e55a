//! Cutting and putting in text by byte ranges: what isn't named stays as it is, byte for byte.
//!
//! Knows lines and white space, and nothing of any format.

use std::ops::Range;

/// One change of a text: what stands in `range` becomes `text`.
pub(super) struct Edit {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

impl Edit {
    /// Puts text in at a place.
    pub(super) fn insert(at: usize, text: impl Into<String>) -> Self {
        Self {
            range: at..at,
            text: text.into(),
        }
    }

    /// Takes a range out.
    pub(super) fn cut(range: Range<usize>) -> Self {
        Self {
            range,
            text: String::new(),
        }
    }
}

/// The text with all edits made; they must not overlap, and those at one place keep their order.
pub(super) fn spliced(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| edit.range.start);
    let mut new = String::with_capacity(text.len() + 256);
    let mut at = 0;
    for edit in edits {
        new.push_str(part(text, at..edit.range.start));
        new.push_str(&edit.text);
        at = edit.range.end.max(at);
    }
    new.push_str(part(text, at..text.len()));
    new
}

/// A part of a text; empty where there is none.
pub(super) fn part(text: &str, range: Range<usize>) -> &str {
    text.get(range).unwrap_or_default()
}

/// What the text breaks its lines with.
pub(super) fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if part(text, 0..at).ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Where the line of a place begins.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    part(text, 0..at).rfind('\n').map_or(0, |before| before + 1)
}

/// Where the line of a place ends, its line break not included.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    let rest = part(text, at..text.len());
    let end = rest.find('\n').unwrap_or(rest.len());
    let line = part(rest, 0..end);
    at + if end < rest.len() {
        line.strip_suffix('\r').unwrap_or(line).len()
    } else {
        end
    }
}

/// The white space that the line of a place begins with.
pub(super) fn indent(text: &str, at: usize) -> &str {
    let line = part(text, line_start(text, at)..at);
    let end = line
        .find(|character| !matches!(character, ' ' | '\t'))
        .unwrap_or(line.len());
    part(line, 0..end)
}

/// Whether nothing but white space stands before a place in its line.
pub(super) fn begins_line(text: &str, at: usize) -> bool {
    let before = part(text, line_start(text, at)..at);
    before.bytes().all(|byte| matches!(byte, b' ' | b'\t'))
}

/// How long the line break at a place is; 0 where there is none.
pub(super) fn break_at(text: &str, at: usize) -> usize {
    let rest = part(text, at..text.len());
    if rest.starts_with("\r\n") {
        2
    } else {
        usize::from(rest.starts_with('\n'))
    }
}

/// How long the line break just before a place is; 0 where there is none.
pub(super) fn break_before(text: &str, at: usize) -> usize {
    let before = part(text, 0..at);
    if before.ends_with("\r\n") {
        2
    } else {
        usize::from(before.ends_with('\n'))
    }
}

/// Line and column of a place, both from 1, the column in characters.
pub(super) fn position(text: &str, at: usize) -> (usize, usize) {
    let before = part(text, 0..text.floor_char_boundary(at));
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    (line, column)
}
