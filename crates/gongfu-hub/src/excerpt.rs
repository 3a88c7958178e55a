//! Parts of a text: a range of lines, cut at what one answer may carry.

use std::ops::Range;

use gongfu_core::skill::source_text;

use crate::output::{Content, Document};
use crate::problem::Problem;

/// The most bytes of text in one answer.
pub const MAX_ANSWER: usize = 64 * 1024;

/// The most bytes of a document in one answer of a dialect, whose tools know no lines.
pub const MAX_WHOLE: usize = 1024 * 1024;

/// The part of a text that is asked for; lines and columns count from 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextRange {
    /// The first line.
    pub start_line: Option<usize>,
    /// The last line.
    pub end_line: Option<usize>,
    /// The first character of the first line.
    pub start_column: Option<usize>,
}

impl TextRange {
    /// Returns true if any of them is given.
    pub fn is_range(&self) -> bool {
        *self != Self::default()
    }
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt<'text> {
    /// The part, as it stands in the text.
    pub text: &'text str,
    /// The note about what isn't shown and how to get it; `None` when the part is all that was asked for and it
    /// is clear where it stands.
    pub note: Option<String>,
}

impl From<Excerpt<'_>> for Document {
    fn from(excerpt: Excerpt<'_>) -> Self {
        let mut content = vec![Content::text(excerpt.text)];
        content.extend(excerpt.note.map(Content::text));
        Self(content)
    }
}

/// Takes the wanted lines out of `within`, a range of `text` in bytes.
///
/// # Errors
/// The range is empty, turned round or behind the end.
pub fn cut(text: &str, within: Range<usize>, wanted: TextRange) -> Result<Excerpt<'_>, Problem> {
    if !wanted.is_range() && within.len() <= MAX_ANSWER {
        let text = text.get(within).unwrap_or_default();
        return Ok(Excerpt { text, note: None });
    }
    let lines = source_text::line_starts(text);
    let total = if lines.last() == Some(&text.len()) && lines.len() > 1 {
        lines.len() - 1
    } else {
        lines.len()
    };
    let line_of = |offset: usize| lines.partition_point(|&line| line <= offset).max(1);
    let first = wanted
        .start_line
        .unwrap_or_else(|| line_of(within.start).min(total));
    let last = wanted.end_line.unwrap_or(usize::MAX);
    let wrong =
        |name: &str, reason: String, hint: &str| Err(Problem::wrong_value(name, reason, hint));
    if first == 0 || first > total {
        return wrong(
            "start_line",
            format!("the text has {total} lines"),
            &format!("use a line from 1 to {total}"),
        );
    }
    if last < first {
        return wrong(
            "end_line",
            format!("it is before line {first}, where the text starts"),
            &format!("use {first} or more"),
        );
    }
    let at = |line: usize| lines.get(line - 1).copied().unwrap_or(text.len());
    let mut start = if wanted.start_line.is_some() {
        at(first)
    } else {
        within.start
    };
    let end = if wanted.end_line.is_some() {
        at(last.saturating_add(1).min(total + 1))
    } else {
        within.end
    };
    if wanted.start_column.is_some() && wanted.start_line.is_none() {
        let reason = "it counts in a line, and start_line isn't given".to_owned();
        return wrong("start_column", reason, "pass start_line as well");
    }
    if let Some(column) = wanted.start_column {
        let line = text.get(at(first)..at(first + 1)).unwrap_or_default();
        match line.char_indices().nth(column.saturating_sub(1)) {
            Some((offset, _)) if column > 0 => start = at(first) + offset,
            _ => {
                return wrong(
                    "start_column",
                    format!("line {first} has {} characters", line.chars().count()),
                    "use a column from 1 to that number",
                );
            }
        }
    }
    let stop = stop(text, &lines, start, end.max(start));
    let shown = text.get(start..stop).unwrap_or_default();
    let note = (stop < end).then(|| {
        let next = line_of(stop);
        let until = wanted.end_line.map_or_else(String::new, |last| format!(", end_line={last}"));
        let begin = at(next);
        let column = if begin < stop { format!(", start_column={}", text.get(begin..stop).unwrap_or_default().chars().count() + 1) } else { String::new() };
        let shown_to = if begin < stop { next } else { next - 1 };
        format!("[lines {}-{shown_to} of {total}: cut at {MAX_ANSWER} bytes; continue with start_line={next}{column}{until}]", line_of(start))
    });
    Ok(Excerpt { text: shown, note })
}

/// Takes a whole text from a byte on, as far as one answer of a dialect goes.
///
/// # Errors
/// The offset lies behind the end.
pub fn whole(text: &str, offset: Option<usize>) -> Result<Excerpt<'_>, Problem> {
    let start = offset.unwrap_or(0);
    if start > text.len() {
        return Err(Problem::wrong_value(
            "offset",
            format!("the text has {} bytes", text.len()),
            "use the offset from the previous answer",
        ));
    }
    let start = text.floor_char_boundary(start);
    let end = text.floor_char_boundary(start.saturating_add(MAX_WHOLE));
    let total = text.len();
    let note = (end < total)
        .then(|| format!("[cut at byte {end} of {total}: call again with offset={end}]"));
    Ok(Excerpt {
        text: text.get(start..end).unwrap_or_default(),
        note,
    })
}

/// Returns the end of an answer that starts at `start`: the end of the last line that fits, or a place inside
/// of a line that is too long for any answer.
fn stop(text: &str, lines: &[usize], start: usize, end: usize) -> usize {
    if end - start <= MAX_ANSWER {
        return end;
    }
    let most = text.floor_char_boundary(start + MAX_ANSWER);
    let fitting = lines
        .get(
            lines
                .partition_point(|&line| line <= most)
                .saturating_sub(1),
        )
        .copied()
        .unwrap_or(most);
    if fitting > start { fitting } else { most }
}

#[cfg(test)]
mod tests {
    use super::{MAX_ANSWER, MAX_WHOLE, TextRange, cut, whole};

    fn lines(start: usize, end: usize) -> TextRange {
        TextRange {
            start_line: Some(start),
            end_line: Some(end),
            start_column: None,
        }
    }

    fn text(of: &str, wanted: TextRange) -> Result<String, String> {
        cut(of, 0..of.len(), wanted)
            .map(|part| part.text.to_owned())
            .map_err(|problem| problem.text().message)
    }

    #[test]
    fn lines_are_taken_whole() {
        let four = "a\nb\r\né\nd";
        assert_eq!(text(four, TextRange::default()), Ok(four.to_owned()));
        assert_eq!(text(four, lines(2, 3)), Ok("b\r\né\n".to_owned()));
        assert_eq!(text(four, lines(4, 99)), Ok("d".to_owned()));
        assert_eq!(text("a\n", lines(1, 1)), Ok("a\n".to_owned()));
        for (wanted, named) in [
            (lines(0, 1), "start_line"),
            (lines(5, 6), "start_line"),
            (lines(3, 2), "end_line"),
            (
                TextRange {
                    start_line: Some(1),
                    start_column: Some(9),
                    end_line: None,
                },
                "start_column",
            ),
        ] {
            assert!(
                text(four, wanted).unwrap_err().contains(named),
                "{wanted:?}"
            );
        }
    }

    /// Reads on as the notes say until there is no note; the parts together are the text.
    fn read_on(whole: &str) -> (String, usize) {
        let (mut all, mut wanted, mut answers) = (String::new(), TextRange::default(), 0);
        loop {
            let part = cut(whole, 0..whole.len(), wanted).unwrap();
            assert!(part.text.len() <= MAX_ANSWER);
            all.push_str(part.text);
            answers += 1;
            let Some(note) = part.note else {
                return (all, answers);
            };
            let number = |name: &str| {
                note.split_once(&format!("{name}=")).map(|(_, rest)| {
                    rest.split(|c: char| !c.is_ascii_digit())
                        .next()
                        .unwrap()
                        .parse()
                        .unwrap()
                })
            };
            wanted = TextRange {
                start_line: number("start_line"),
                start_column: number("start_column"),
                end_line: None,
            };
        }
    }

    #[test]
    fn a_long_document_comes_in_parts() {
        let text = "é".repeat(MAX_WHOLE);
        let (mut all, mut offset) = (String::new(), None);
        loop {
            let part = whole(&text, offset).unwrap();
            all.push_str(part.text);
            let Some(note) = part.note else { break };
            let digits = note.rsplit('=').next().unwrap().trim_end_matches(']');
            offset = Some(digits.parse().unwrap());
        }
        assert_eq!(all, text);
        assert!(whole("ab", Some(3)).is_err());
        assert_eq!(whole("ab", Some(2)).unwrap().text, "");
    }

    #[test]
    fn notes_lead_through_any_text() {
        let normal = "line of text\n".repeat(20_000);
        let one_line = "é".repeat(100_000);
        let mixed = format!(
            "short\n{}\nshort\n{}",
            "x".repeat(200_000),
            "y\n".repeat(50_000)
        );
        for whole in [normal, one_line, mixed, String::new(), "\n".repeat(100_000)] {
            let (all, answers) = read_on(&whole);
            assert_eq!(all, whole);
            assert!(
                answers <= whole.len() / (MAX_ANSWER / 2) + 2,
                "{answers} answers"
            );
        }
    }
}
