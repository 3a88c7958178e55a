//! Where in a text somebody reads.

use super::{DEEPEST, Unreadable};

/// A place in a text, and how deep it is.
pub(super) struct Cursor<'a> {
    text: &'a str,
    pub(super) at: usize,
    depth: usize,
    /// Where the text begins, in the text that was given.
    pub(super) origin: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str, depth: usize, origin: usize) -> Self {
        Self {
            text,
            at: 0,
            depth,
            origin,
        }
    }

    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Where this is in the text that was given.
    pub(super) fn place(&self) -> usize {
        self.origin + self.at
    }

    /// The text from here on.
    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn slice(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or_default()
    }

    /// The byte so far from here, as it stands.
    pub(super) fn raw(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    /// Goes over line ends that a backslash takes away.
    fn skip_continuations(&mut self) {
        while self.raw(0) == Some(b'\\') && self.raw(1) == Some(b'\n') {
            self.at += 2;
        }
    }

    /// The next byte; line ends that a backslash takes away are gone over.
    pub(super) fn peek(&mut self) -> Option<u8> {
        self.skip_continuations();
        self.raw(0)
    }

    /// The byte after the next one.
    pub(super) fn peek_second(&mut self) -> Option<u8> {
        self.skip_continuations();
        let mut ahead = 1;
        while self.raw(ahead) == Some(b'\\') && self.raw(ahead + 1) == Some(b'\n') {
            ahead += 2;
        }
        self.raw(ahead)
    }

    /// Goes over the next byte if it is this one.
    pub(super) fn accept(&mut self, byte: u8) -> bool {
        let is_it = self.peek() == Some(byte);
        if is_it {
            self.at += 1;
        }
        is_it
    }

    /// Goes over these bytes if they are next.
    pub(super) fn accept_all(&mut self, bytes: &str) -> bool {
        let before = self.at;
        let all = bytes.bytes().all(|byte| self.accept(byte));
        if !all {
            self.at = before;
        }
        all
    }

    /// The next character; goes over it.
    pub(super) fn character(&mut self) -> Option<char> {
        let character = self.rest().chars().next()?;
        self.at += character.len_utf8();
        Some(character)
    }

    /// Goes one deeper, until [`Cursor::leave`].
    pub(super) fn enter(&mut self) -> Result<(), Unreadable> {
        if self.depth >= DEEPEST {
            return Err(Unreadable::TooDeep(self.place()));
        }
        self.depth += 1;
        Ok(())
    }

    pub(super) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// That what is next can't stand there.
    pub(super) fn unexpected(&mut self) -> Unreadable {
        let Some(first) = self.peek().map(|_| self.rest()) else {
            return Unreadable::Ended;
        };
        let end = first
            .char_indices()
            .take(20)
            .find(|(index, character)| *index > 0 && is_delimiter(*character))
            .map(|(index, _)| index);
        let shown = first.chars().take(20).collect::<String>();
        let found = end.and_then(|end| first.get(..end)).unwrap_or(&shown);
        Unreadable::Unexpected {
            at: self.place(),
            found: found.escape_debug().to_string(),
        }
    }
}

fn is_delimiter(character: char) -> bool {
    u8::try_from(character).is_ok_and(ends_word)
}

/// Whether a byte ends a word where it isn't quoted.
pub(super) fn ends_word(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')'
    )
}

/// Whether a name may begin with a byte.
pub(super) fn begins_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

/// Whether a name may hold a byte.
pub(super) fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
