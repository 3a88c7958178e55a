//! A reading position in the characters of a frontmatter, with the reference's idea of lines and
//! columns. It knows nothing of YAML beyond its classes of characters.

use super::token::Mark;

/// What the text is taken to end with; the character itself is refused before scanning starts.
pub(super) const END: char = '\0';

/// Whether `character` breaks a line or ends the text.
pub(super) const fn is_break_or_end(character: char) -> bool {
    matches!(character, END) || is_break(character)
}

/// Whether `character` breaks a line. Only `\n` starts a new line in the count of lines.
pub(super) const fn is_break(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Whether an indicator such as `-` or `:` counts as one when `character` follows it.
pub(super) const fn is_blank_or_end(character: char) -> bool {
    matches!(character, ' ' | '\t') || is_break_or_end(character)
}

/// A reading position in a text.
#[derive(Debug)]
pub(super) struct Cursor<'text> {
    text: &'text [char],
    mark: Mark,
}

impl<'text> Cursor<'text> {
    pub(super) const fn new(text: &'text [char]) -> Self {
        Self {
            text,
            mark: Mark {
                index: 0,
                line: 0,
                column: 0,
            },
        }
    }

    pub(super) const fn mark(&self) -> Mark {
        self.mark
    }

    pub(super) const fn column(&self) -> usize {
        self.mark.column
    }

    /// The character here, or [`END`].
    pub(super) fn current(&self) -> char {
        self.ahead(0)
    }

    /// The character `distance` further on, or [`END`].
    pub(super) fn ahead(&self, distance: usize) -> char {
        self.mark
            .index
            .checked_add(distance)
            .and_then(|index| self.text.get(index))
            .copied()
            .unwrap_or(END)
    }

    /// Moves over one character. A byte order mark takes no column.
    pub(super) fn advance(&mut self) {
        let Some(&character) = self.text.get(self.mark.index) else {
            return;
        };
        self.mark.index += 1;
        if character == '\n' {
            self.mark.line += 1;
            self.mark.column = 0;
        } else if character != '\u{feff}' {
            self.mark.column += 1;
        }
    }

    pub(super) fn advance_by(&mut self, count: usize) {
        for _ in 0..count {
            self.advance();
        }
    }

    /// Moves over spaces and tells how many there were.
    pub(super) fn skip_spaces(&mut self) -> usize {
        let mut count = 0;
        while self.current() == ' ' {
            self.advance();
            count += 1;
        }
        count
    }

    /// Moves over a line break, if there is one, and returns the character it stands for.
    pub(super) fn line_break(&mut self) -> Option<char> {
        let character = self.current();
        if !is_break(character) {
            return None;
        }
        self.advance();
        Some(match character {
            '\u{2028}' | '\u{2029}' => character,
            _ => '\n',
        })
    }

    /// Whether a line that ends the document, `...`, begins at the character here.
    pub(super) fn at_document_end(&self) -> bool {
        (0..3).all(|distance| self.ahead(distance) == '.') && is_blank_or_end(self.ahead(3))
    }
}
