//! The bytes of a SKILL.md as text: encoding, byte order mark, lines and columns.
//!
//! Knows nothing of frontmatter or Markdown.

use std::borrow::Cow;
use std::sync::OnceLock;

use super::diagnostic::{Diagnostic, Edit, Position};
use super::finding::Finding;

const UTF8_MARK: &[u8] = &[0xEF, 0xBB, 0xBF];
/// Above this share of characters that no text holds, a file is not text.
const ODD_SHARE: usize = 20;

/// A decoded file that can say where a byte of it stands.
#[derive(Debug, Clone)]
pub struct SourceText {
    /// The text, without a byte order mark.
    pub text: String,
    /// Bytes of the file before `text`; only meaningful when `exact`.
    pub lead: usize,
    /// True if `text` is the file's bytes as they are, so that edits can be made.
    pub exact: bool,
    /// The offsets of lines, once they are asked for.
    lines: OnceLock<Vec<usize>>,
    file: &'static str,
}

impl SourceText {
    /// Decodes a file; `None` when it is not text.
    ///
    /// UTF-8 with or without a mark, and UTF-16 with one; wrong bytes become U+FFFD. What is odd
    /// is added to `diagnostics`.
    pub fn decode(
        bytes: &[u8],
        file: &'static str,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Self> {
        let (text, lead, exact, utf16) = match bytes {
            [0xFF, 0xFE, rest @ ..] => {
                (Cow::Owned(utf16(rest, u16::from_le_bytes)), 2, false, true)
            }
            [0xFE, 0xFF, rest @ ..] => {
                (Cow::Owned(utf16(rest, u16::from_be_bytes)), 2, false, true)
            }
            _ => {
                let rest = bytes.strip_prefix(UTF8_MARK).unwrap_or(bytes);
                let lead = bytes.len() - rest.len();
                match std::str::from_utf8(rest) {
                    Ok(text) => (Cow::Borrowed(text), lead, true, false),
                    Err(_) => (String::from_utf8_lossy(rest), lead, false, false),
                }
            }
        };
        let replaced = if exact {
            0
        } else {
            text.matches(char::REPLACEMENT_CHARACTER).count()
        };
        // Hardly any text holds one, and looking at bytes is many times faster than at characters.
        // To the end in any case: many bytes are looked at in one step then.
        let suspect = |any, byte| any | may_be_control(byte);
        let controls = if text.bytes().fold(false, suspect) {
            text.chars().filter(|&c| is_odd_control(c)).count()
        } else {
            0
        };
        let odd = replaced + controls;
        if odd > 0 && odd.saturating_mul(ODD_SHARE) > text.chars().count() {
            return None;
        }
        let source = Self {
            lines: OnceLock::new(),
            text: text.into_owned(),
            lead,
            exact,
            file,
        };
        if utf16 {
            diagnostics.push(Diagnostic::about_file(Finding::EncodingUtf16, file));
        } else if lead > 0 {
            // A second mark would be one again.
            let marks = source.text.trim_start_matches('\u{feff}');
            let mark = Edit {
                start: 0,
                end: lead + source.text.len() - marks.len(),
                replacement: String::new(),
            };
            let found = Diagnostic {
                position: Some(Position { line: 1, column: 1 }),
                ..Diagnostic::about_file(Finding::ByteOrderMark, file)
            };
            diagnostics.push(if exact {
                found.with_fix(vec![mark])
            } else {
                found
            });
        }
        if replaced > 0
            && let Some(at) = source.text.find(char::REPLACEMENT_CHARACTER)
        {
            diagnostics.push(source.found(
                Finding::EncodingInvalid { count: replaced },
                at,
                at + char::REPLACEMENT_CHARACTER.len_utf8(),
            ));
        }
        if controls > 0
            && let Some((at, first)) = source.text.char_indices().find(|&(_, c)| is_odd_control(c))
        {
            diagnostics.push(source.found(
                Finding::ControlCharacters {
                    count: controls,
                    first,
                },
                at,
                at + first.len_utf8(),
            ));
        }
        Some(source)
    }

    /// A finding about the bytes `start..end` of the text.
    pub fn found(&self, finding: Finding, start: usize, end: usize) -> Diagnostic {
        Diagnostic {
            span: self
                .exact
                .then_some(start + self.lead..end.max(start) + self.lead),
            position: Some(self.position(start)),
            ..Diagnostic::about_file(finding, self.file)
        }
    }

    /// An edit of the file that replaces the bytes `start..end` of the text.
    ///
    /// `None` when the text isn't the file's bytes as they are: then nothing can be edited safely.
    pub fn edit(&self, start: usize, end: usize, replacement: impl Into<String>) -> Option<Edit> {
        self.exact.then(|| Edit {
            start: start + self.lead,
            end: end + self.lead,
            replacement: replacement.into(),
        })
    }

    /// The line and column of a byte of the text.
    pub fn position(&self, offset: usize) -> Position {
        let offset = self.text.floor_char_boundary(offset.min(self.text.len()));
        let lines = self.lines();
        let line = lines.partition_point(|&start| start <= offset);
        let start = lines.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let column = self
            .text
            .get(start..offset)
            .map_or(0, |before| before.chars().count());
        Position {
            line: line.max(1),
            column: column + 1,
        }
    }

    /// Returns the number of lines; a last line without a line break counts.
    pub fn line_count(&self) -> usize {
        let lines = self.lines();
        let last = lines.last().copied().unwrap_or(0);
        if last == self.text.len() {
            lines.len().saturating_sub(1)
        } else {
            lines.len()
        }
    }

    /// The offset at which a line (from 1) starts; the text's length behind the last one.
    pub fn line_start(&self, line: usize) -> usize {
        let start = self.lines().get(line.saturating_sub(1)).copied();
        start.unwrap_or(self.text.len())
    }

    /// The line break of the first line; a line feed where there is one line alone.
    pub fn newline(&self) -> &'static str {
        let first = self.text.get(..self.line_start(2)).unwrap_or_default();
        if first.ends_with("\r\n") {
            "\r\n"
        } else {
            "\n"
        }
    }

    fn lines(&self) -> &[usize] {
        self.lines.get_or_init(|| line_starts(&self.text))
    }
}

/// Returns true if a character is a control character that no text holds.
fn is_odd_control(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{c}' | '\u{85}')
}

/// Returns true if a byte of UTF-8 is such a character, or may be the first of one: those behind ASCII
/// begin with 0xC2.
fn may_be_control(byte: u8) -> bool {
    let plain = matches!(byte, b'\n' | b'\r' | b'\t' | b'\x0c');
    (byte < b' ' && !plain) || byte == 0x7f || byte == 0xC2
}

/// Offsets at which lines start; `\n`, `\r\n` and a lone `\r` end one.
pub fn line_starts(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let mut starts = vec![0];
    let ends = memchr::memchr2_iter(b'\n', b'\r', bytes)
        .filter(|&at| bytes.get(at) == Some(&b'\n') || bytes.get(at + 1) != Some(&b'\n'));
    starts.extend(ends.map(|at| at + 1));
    starts
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks(2).map(|pair| match pair {
        [high, low] => unit([*high, *low]),
        _ => 0xFFFD,
    });
    char::decode_utf16(units)
        .map(|decoded| decoded.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::SourceText;
    use crate::skill::{Diagnostic, Position};

    fn decode(bytes: &[u8]) -> (Option<SourceText>, Vec<&'static str>) {
        let mut diagnostics: Vec<Diagnostic> = Vec::new();
        let text = SourceText::decode(bytes, "SKILL.md", &mut diagnostics);
        (
            text,
            diagnostics
                .iter()
                .map(|found| found.finding.code())
                .collect(),
        )
    }

    #[test]
    fn text_is_told_from_binary() {
        assert!(decode(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0").0.is_none());
        assert!(decode(&[0; 100]).0.is_none());
        assert!(
            decode(&(0..=255).cycle().take(4096).collect::<Vec<u8>>())
                .0
                .is_none()
        );
        let one_nul = format!("{}\0", "text ".repeat(20));
        assert_eq!(decode(one_nul.as_bytes()).1, ["control-characters"]);
        let latin = [&b"caf\xe9 and so on, "[..], &b"many words ".repeat(5)].concat();
        assert_eq!(decode(&latin).1, ["encoding-invalid"]);
    }

    #[test]
    fn byte_order_marks_are_dropped_and_reported() {
        let (text, codes) = decode(b"\xEF\xBB\xBF---\n");
        assert_eq!(text.map(|found| found.text).as_deref(), Some("---\n"));
        assert_eq!(codes, ["byte-order-mark"]);
        let utf16: Vec<u8> = "\u{feff}名"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let (text, codes) = decode(&utf16);
        assert_eq!(text.map(|found| found.text).as_deref(), Some("名"));
        assert_eq!(codes, ["encoding-utf16"]);
    }

    #[test]
    fn lines_end_in_three_ways() {
        let (text, _) = decode("a\r\nbé\rc\nd".as_bytes());
        let Some(text) = text else {
            panic!("this is text")
        };
        assert_eq!(text.line_count(), 4);
        assert_eq!(text.position(3), Position { line: 2, column: 1 });
        assert_eq!(text.position(7), Position { line: 3, column: 1 });
        assert_eq!(
            text.position(5),
            Position { line: 2, column: 2 },
            "inside a character: its start"
        );
        assert_eq!(text.line_start(9), text.text.len());
    }
}
