//! Quotes: what stands in them is text, but for what is expanded in double ones.

use super::Unreadable;
use super::cursor::Cursor;
use super::parser::Parser;
use super::syntax::{Part, Word};

impl Parser<'_> {
    /// `'…'`
    pub(super) fn single_quoted(&mut self) -> Result<Part, Unreadable> {
        let from = self.cursor.place();
        self.cursor.accept(b'\'');
        let rest = self.cursor.rest();
        let Some(end) = rest.find('\'') else {
            return Err(unended(from, "'"));
        };
        let text = rest.get(..end).unwrap_or_default().to_owned();
        self.cursor.at += end + 1;
        Ok(Part::Quoted(text))
    }

    /// `"…"`
    pub(super) fn double_quoted(&mut self) -> Result<Word, Unreadable> {
        let from = self.cursor.place();
        self.cursor.accept(b'"');
        self.cursor.enter()?;
        let mut parts = Word::new();
        let mut text = String::new();
        loop {
            match self.cursor.peek() {
                None => return Err(unended(from, "\"")),
                Some(b'"') => {
                    self.cursor.at += 1;
                    break;
                }
                _ => self.quoted_piece(&mut parts, &mut text, true)?,
            }
        }
        self.cursor.leave();
        // What is empty is a word as well.
        if !text.is_empty() || parts.is_empty() {
            parts.push(Part::Quoted(text));
        }
        Ok(parts)
    }

    /// A part of what stands in double quotes, or in a here-document, where those are text.
    pub(super) fn quoted_piece(
        &mut self,
        parts: &mut Word,
        text: &mut String,
        has_quotes: bool,
    ) -> Result<(), Unreadable> {
        let expanded = match self.cursor.peek() {
            Some(b'\\') => {
                self.cursor.at += 1;
                let is_escape = |next| match next {
                    b'$' | b'`' | b'\\' => true,
                    b'"' => has_quotes,
                    _ => false,
                };
                if !self.cursor.raw(0).is_some_and(is_escape) {
                    text.push('\\');
                }
                text.extend(self.cursor.character());
                return Ok(());
            }
            Some(b'`') => vec![self.back_quoted(has_quotes)?],
            Some(b'$') => {
                let mut inner = super::word::Parts::default();
                self.dollar(&mut inner, true)?;
                inner.finish()
            }
            _ => {
                text.extend(self.cursor.character());
                return Ok(());
            }
        };
        for part in expanded {
            match part {
                // A dollar that begins nothing.
                Part::Text(literal) => text.push_str(&literal),
                part => {
                    if !text.is_empty() {
                        parts.push(Part::Quoted(std::mem::take(text)));
                    }
                    parts.push(part);
                }
            }
        }
        Ok(())
    }

    /// `` `…` ``: what stands in it is read by itself, once its backslashes are taken away.
    pub(super) fn back_quoted(&mut self, is_quoted: bool) -> Result<Part, Unreadable> {
        let from = self.cursor.place();
        self.cursor.accept(b'`');
        self.cursor.enter()?;
        let mut inner = String::new();
        loop {
            match self.cursor.character() {
                None => return Err(unended(from, "`")),
                Some('`') => break,
                Some('\\') => {
                    let next = self.cursor.character();
                    let is_escape = match next {
                        Some('`' | '\\' | '$') => true,
                        Some('"') => is_quoted,
                        _ => false,
                    };
                    if !is_escape {
                        inner.push('\\');
                    }
                    inner.extend(next);
                }
                Some(character) => inner.push(character),
            }
        }
        let mut parser = Parser {
            cursor: Cursor::new(&inner, self.cursor.depth(), from),
            pending: Vec::new(),
            documents: std::mem::take(&mut self.documents),
        };
        let list = parser.whole()?;
        self.documents = parser.documents;
        self.cursor.leave();
        Ok(Part::Substitution { list, is_quoted })
    }

    /// `$'…'`: text with escapes, by the manual of `bash`.
    pub(super) fn ansi_quoted(&mut self, from: usize) -> Result<Part, Unreadable> {
        // Where it ends is said before anything is decoded: `\\c` takes no quote with it.
        let rest = self.cursor.rest();
        let mut characters = rest.char_indices();
        let end = loop {
            match characters.next() {
                None => return Err(unended(from, "$'")),
                Some((_, '\\')) => {
                    characters.next();
                }
                Some((at, '\'')) => break at,
                Some(_) => {}
            }
        };
        let inner = rest.get(..end).unwrap_or_default();
        if inner.contains("\\x{") {
            return Err(self.cursor.unexpected());
        }
        let mut quoted = Parser {
            cursor: Cursor::new(inner, self.cursor.depth(), self.cursor.place()),
            pending: Vec::new(),
            documents: Vec::new(),
        };
        self.cursor.at += end + 1;
        let mut bytes = Vec::new();
        while let Some(character) = quoted.cursor.character() {
            if character == '\\' {
                quoted.escape(&mut bytes);
            } else {
                push(&mut bytes, character);
            }
        }
        // What comes after a NUL is left out, as the shell does.
        let end = bytes.iter().position(|byte| *byte == 0);
        bytes.truncate(end.unwrap_or(bytes.len()));
        Ok(Part::Quoted(String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn escape(&mut self, bytes: &mut Vec<u8>) {
        let Some(character) = self.cursor.character() else {
            bytes.push(b'\\');
            return;
        };
        match character {
            'a' => bytes.push(7),
            'b' => bytes.push(8),
            'e' | 'E' => bytes.push(27),
            'f' => bytes.push(12),
            'n' => bytes.push(b'\n'),
            'r' => bytes.push(b'\r'),
            't' => bytes.push(b'\t'),
            'v' => bytes.push(11),
            '\\' | '\'' | '"' | '?' => push(bytes, character),
            'c' => {
                let control = self.cursor.character().map_or(0, u32::from) & 0x1f;
                bytes.push(u8::try_from(control).unwrap_or_default());
            }
            '0'..='7' => {
                self.cursor.at -= 1;
                let value = self.digits(8, 3).unwrap_or_default() & 0xff;
                bytes.push(u8::try_from(value).unwrap_or_default());
            }
            'x' => self.number(bytes, character, 2, true),
            'u' => self.number(bytes, character, 4, false),
            'U' => self.number(bytes, character, 8, false),
            _ => {
                bytes.push(b'\\');
                push(bytes, character);
            }
        }
    }

    /// A character by its number: a byte, or one of Unicode's.
    fn number(&mut self, bytes: &mut Vec<u8>, letter: char, most: usize, is_byte: bool) {
        match self.digits(16, most) {
            None => {
                bytes.push(b'\\');
                push(bytes, letter);
            }
            Some(value) if is_byte => bytes.push(u8::try_from(value & 0xff).unwrap_or_default()),
            Some(value) => {
                push(
                    bytes,
                    char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER),
                );
            }
        }
    }

    fn digits(&mut self, radix: u32, most: usize) -> Option<u32> {
        let mut value = None;
        for _ in 0..most {
            let digit = self
                .cursor
                .raw(0)
                .and_then(|byte| char::from(byte).to_digit(radix));
            let Some(digit) = digit else {
                break;
            };
            value = Some(value.unwrap_or(0_u32).wrapping_mul(radix) + digit);
            self.cursor.at += 1;
        }
        value
    }
}

fn push(bytes: &mut Vec<u8>, character: char) {
    bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

fn unended(at: usize, quote: &'static str) -> Unreadable {
    let close = if quote == "$'" { "'" } else { quote };
    Unreadable::Unended {
        at,
        open: quote,
        close,
    }
}
