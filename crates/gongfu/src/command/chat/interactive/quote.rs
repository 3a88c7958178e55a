//! Somebody else's text in a question to the person: each row has a mark, and blanks can't push anything off the screen.
//! Knows no terminal.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar as _;

use crate::table::{count, width as columns_of};
use crate::terminal::shown;

/// The beginning of a row.
const MARK: &str = "  │ ";
/// The blanks, and the blank lines, that are shown as they are.
const MAX_BLANKS: usize = 16;
const MAX_BLANK_LINES: usize = 2;
/// The default width, and the minimum width of text, in columns.
const WIDTH: usize = 80;
const LEAST: usize = 10;

/// The rows of a text for a terminal of so many columns. Longer runs of blanks, and of blank lines, are shown as their number.
pub(super) fn quoted(text: &str, width: Option<usize>) -> Vec<String> {
    let room = width
        .unwrap_or(WIDTH)
        .saturating_sub(columns_of(MARK))
        .max(LEAST);
    let text = shown(text);
    let mut rows = Vec::new();
    let mut blank = 0;
    for line in text.lines().map(Some).chain([None]) {
        if let Some("") = line.map(|line| line.trim_matches(is_blank)) {
            blank += 1;
            continue;
        }
        if blank <= MAX_BLANK_LINES {
            rows.extend(std::iter::repeat_n(MARK.trim_end().to_owned(), blank));
        } else {
            rows.push(format!("  ┊ {blank} blank lines"));
        }
        blank = 0;
        if let Some(line) = line {
            broken(&squeezed(line), room, &mut rows);
        }
    }
    rows
}

/// The length of a text in words, such as `61 lines, 1042 characters`.
pub(super) fn length(text: &str) -> String {
    let lines = count(text.lines().count(), "line");
    format!("{lines}, {}", count(text.chars().count(), "character"))
}

/// Returns true for a character that leaves its place empty.
fn is_blank(letter: char) -> bool {
    letter.is_whitespace() || letter == '\u{2800}'
}

/// A line with a number in place of each long run of blanks.
fn squeezed(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while !rest.is_empty() {
        let word = rest.find(is_blank).unwrap_or(rest.len());
        let (said, after) = rest.split_at(word);
        let end = after.find(|letter| !is_blank(letter));
        let (blanks, after) = after.split_at(end.unwrap_or(after.len()));
        text.push_str(said);
        match blanks.chars().count() {
            few if few <= MAX_BLANKS => text.extend(std::iter::repeat_n(' ', few)),
            many => {
                let _ = write!(text, " ⟨{many} blanks⟩ ");
            }
        }
        rest = after;
    }
    text
}

/// Adds a line as rows of at most so many columns.
fn broken(line: &str, room: usize, rows: &mut Vec<String>) {
    let (mut row, mut columns) = (MARK.to_owned(), 0);
    for letter in line.chars() {
        let width = letter.width().unwrap_or(0).max(1);
        if columns + width > room {
            rows.push(std::mem::replace(&mut row, MARK.to_owned()));
            columns = 0;
        }
        row.push(letter);
        columns += width;
    }
    rows.push(row);
}

#[cfg(test)]
mod tests;
