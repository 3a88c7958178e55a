//! A reading position in the characters of a frontmatter, with the reference's idea of lines and
//! columns. It knows nothing of YAML beyond its classes of characters.

use crate::token::Mark;

/// Stands for the end of the text; the character itself is refused before scanning starts.
pub(crate) const END: char = '\0';

/// True when `character` breaks a line or ends the text.
pub(crate) const fn is_break_or_end(character: char) -> bool {
    matches!(character, END) || is_break(character)
}

/// True when `character` breaks a line. Only `\n` starts a new line in the count of lines.
pub(crate) const fn is_break(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// True when an indicator such as `-` or `:` counts as one before `character`.
pub(crate) const fn is_blank_or_end(character: char) -> bool {
    matches!(character, ' ' | '\t') || is_break_or_end(character)
}

/// A reading position in a text.
#[derive(Debug)]
pub(crate) struct Cursor<'text> {
    text: &'text [char],
    mark: Mark,
}

impl<'text> Cursor<'text> {
    pub(crate) const fn new(text: &'text [char]) -> Self {
        Self {
            text,
            mark: Mark {
                index: 0,
                line: 0,
                column: 0,
            },
        }
    }

    pub(crate) const fn mark(&self) -> Mark {
        self.mark
    }

    pub(crate) const fn column(&self) -> usize {
        self.mark.column
    }

    /// The character here, or [`END`].
    pub(crate) fn current(&self) -> char {
        self.ahead(0)
    }

    /// The character `distance` further on, or [`END`].
    pub(crate) fn ahead(&self, distance: usize) -> char {
        self.mark
            .index
            .checked_add(distance)
            .and_then(|index| self.text.get(index))
            .copied()
            .unwrap_or(END)
    }

    /// Moves over one character. A byte order mark takes no column.
    pub(crate) fn advance(&mut self) {
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

    pub(crate) fn advance_by(&mut self, count: usize) {
        for _ in 0..count {
            self.advance();
        }
    }

    /// Moves over spaces and tells how many there were.
    pub(crate) fn skip_spaces(&mut self) -> usize {
        let mut count = 0;
        while self.current() == ' ' {
            self.advance();
            count += 1;
        }
        count
    }

    /// Moves over a line break, if there is one, and returns the character it stands for.
    pub(crate) fn line_break(&mut self) -> Option<char> {
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

    /// True when a line that ends the document, `...`, begins here.
    pub(crate) fn at_document_end(&self) -> bool {
        (0..3).all(|distance| self.ahead(distance) == '.') && is_blank_or_end(self.ahead(3))
    }
}
