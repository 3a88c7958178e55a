//! A position in a text, and the constructs that are open there.

use super::{MAX_DEPTH, ParseError};

/// A position in a text.
pub(super) struct Cursor<'a> {
    text: &'a str,
    pub(super) at: usize,
    /// The position of the text in the text that was given.
    pub(super) origin: usize,
    /// The openings that aren't closed yet, with their positions.
    pub(super) open: Vec<(&'static str, usize)>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            origin: 0,
            open: Vec::new(),
        }
    }

    /// The text from here on.
    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next byte.
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The byte after the next one.
    pub(super) fn peek_second(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at + 1).copied()
    }

    /// Returns true if a process substitution begins here: `<(` or `>(`.
    pub(super) fn is_at_process(&self) -> bool {
        matches!(self.peek(), Some(b'<' | b'>')) && self.peek_second() == Some(b'(')
    }

    /// Returns true if a word ends here.
    pub(super) fn is_at_word_end(&self) -> bool {
        self.rest().chars().next().is_none_or(ends_word)
    }

    /// Skips this text if it comes next.
    pub(super) fn accept(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text);
        if is_next {
            self.at += text.len();
        }
        is_next
    }

    /// Skips this text, which has to come next.
    pub(super) fn expect(&mut self, text: &str) -> Result<(), ParseError> {
        if self.accept(text) {
            return Ok(());
        }
        Err(self.unexpected())
    }

    /// Skips the next character.
    pub(super) fn character(&mut self) -> Option<char> {
        let character = self.rest().chars().next()?;
        self.at += character.len_utf8();
        Some(character)
    }

    /// Skips bytes as long as they fit, and returns them.
    pub(super) fn skip_while(&mut self, fits: impl Fn(u8) -> bool) -> &'a str {
        let start = self.at;
        while self.peek().is_some_and(&fits) {
            self.at += 1;
        }
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Opens a construct.
    pub(super) fn enter(&mut self, open: &'static str) -> Result<(), ParseError> {
        let at = self.origin + self.at;
        if self.open.len() >= MAX_DEPTH {
            return Err(ParseError::TooDeep(at));
        }
        self.open.push((open, at));
        Ok(())
    }

    /// The error for whatever comes next; at the end of the text, for what is still open.
    pub(super) fn unexpected(&self) -> ParseError {
        let mut characters = self.rest().chars();
        match (characters.next(), self.open.last()) {
            (Some(first), _) => {
                let others = characters.take_while(|c| !ends_word(*c)).take(20);
                ParseError::Unexpected {
                    at: self.origin + self.at,
                    found: std::iter::once(first).chain(others).collect(),
                }
            }
            (None, Some((open, at))) => ParseError::Unclosed { open, at: *at },
            (None, None) => ParseError::UnexpectedEnd,
        }
    }
}

/// Returns true if a character ends a word where it isn't quoted.
fn ends_word(character: char) -> bool {
    matches!(
        character,
        ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')'
    )
}
