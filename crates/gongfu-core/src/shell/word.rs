//! Words: text, quotes and what is expanded, side by side.

use super::Unreadable;
use super::cursor::ends_word;
use super::parser::Parser;
use super::syntax::{Part, Word};

/// Collects the parts of a word.
#[derive(Default)]
pub(super) struct Parts {
    parts: Word,
    text: String,
}

impl Parts {
    pub(super) fn text(&mut self, character: char) {
        self.text.push(character);
    }

    pub(super) fn part(&mut self, part: Part) {
        self.end_text();
        self.parts.push(part);
    }

    fn end_text(&mut self) {
        if !self.text.is_empty() {
            self.parts.push(Part::Text(std::mem::take(&mut self.text)));
        }
    }

    pub(super) fn extend(&mut self, word: Word) {
        self.end_text();
        self.parts.extend(word);
    }

    pub(super) fn finish(mut self) -> Word {
        self.end_text();
        self.parts
    }
}

impl Parser<'_> {
    /// A word.
    pub(super) fn word(&mut self) -> Result<Word, Unreadable> {
        let before = self.cursor.at;
        let word = self.word_or_nothing()?;
        if self.cursor.at == before {
            return Err(self.cursor.unexpected());
        }
        Ok(word)
    }

    /// A word; an empty one where none stands.
    pub(super) fn word_or_nothing(&mut self) -> Result<Word, Unreadable> {
        self.read_word()
    }

    /// A pattern, as `case` has it.
    pub(super) fn pattern(&mut self) -> Result<Word, Unreadable> {
        let before = self.cursor.at;
        let word = self.read_word()?;
        if self.cursor.at == before {
            return Err(self.cursor.unexpected());
        }
        Ok(word)
    }

    fn read_word(&mut self) -> Result<Word, Unreadable> {
        let mut parts = Parts::default();
        while let Some(next) = self.cursor.peek() {
            let second = self.cursor.peek_second();
            if matches!(next, b'<' | b'>') && second == Some(b'(') {
                parts.part(self.process()?);
            } else if second == Some(b'(') && matches!(next, b'?' | b'*' | b'+' | b'@' | b'!') {
                self.cursor.at += 1;
                parts.part(self.nested_pattern()?);
            } else if ends_word(next) {
                break;
            } else {
                self.piece(&mut parts)?;
            }
        }
        Ok(parts.finish())
    }

    /// What stands in `<( … )` and `>( … )`.
    fn process(&mut self) -> Result<Part, Unreadable> {
        let from = self.cursor.place();
        self.cursor.at += 1;
        self.cursor.accept(b'(');
        Ok(Part::Process(self.subshell(from, "<(")?))
    }

    /// A pattern in parentheses.
    fn nested_pattern(&mut self) -> Result<Part, Unreadable> {
        let from = self.cursor.place();
        self.cursor.accept(b'(');
        let word = self.until(b')', from, "(", false)?;
        Ok(Part::Pattern(word))
    }

    /// A quote, an expansion or a character outside of quotes.
    fn piece(&mut self, parts: &mut Parts) -> Result<(), Unreadable> {
        match self.cursor.peek() {
            Some(b'\\') => {
                self.cursor.at += 1;
                // At the end of a text it stands for itself.
                let character = self.cursor.character().unwrap_or('\\');
                parts.part(Part::Quoted(character.to_string()));
            }
            Some(b'\'') => parts.part(self.single_quoted()?),
            Some(b'"') => parts.extend(self.double_quoted()?),
            Some(b'`') => parts.part(self.back_quoted(false)?),
            Some(b'$') => self.dollar(parts, false)?,
            _ => parts.text(self.cursor.character().unwrap_or_default()),
        }
        Ok(())
    }

    /// Everything up to a byte that isn't quoted, as a word; goes over the byte. Parentheses and brackets
    /// within have to be closed.
    pub(super) fn until(
        &mut self,
        end: u8,
        from: usize,
        open: &'static str,
        is_quoted: bool,
    ) -> Result<Word, Unreadable> {
        self.cursor.enter()?;
        let begin = match end {
            b')' => b'(',
            b']' => b'[',
            // Braces needn't be closed in what stands in braces.
            _ => 0,
        };
        let mut parts = Parts::default();
        let mut depth = 0_usize;
        loop {
            let Some(next) = self.cursor.peek() else {
                let close = match end {
                    b')' => ")",
                    b']' => "]",
                    _ => "}",
                };
                return Err(Unreadable::Unended {
                    at: from,
                    open,
                    close,
                });
            };
            if next == end && depth == 0 {
                self.cursor.at += 1;
                break;
            }
            if next == end {
                depth -= 1;
            } else if next == begin {
                depth += 1;
            }
            match next {
                b'\'' if is_quoted && end == b')' => return Err(self.cursor.unexpected()),
                b'\'' if is_quoted => parts.text(self.cursor.character().unwrap_or_default()),
                b'<' | b'>' if !is_quoted && self.cursor.peek_second() == Some(b'(') => {
                    parts.part(self.process()?);
                }
                b'$' => self.dollar(&mut parts, is_quoted)?,
                b'`' => parts.part(self.back_quoted(is_quoted)?),
                _ => self.piece(&mut parts)?,
            }
        }
        self.cursor.leave();
        Ok(parts.finish())
    }

    /// The words of `[[ … ]]`, operators among them.
    pub(super) fn test(&mut self, from: usize) -> Result<Vec<Word>, Unreadable> {
        self.cursor.enter()?;
        let mut words = Vec::new();
        loop {
            self.skip_lines()?;
            if self.accept_test_end() {
                self.cursor.leave();
                return Ok(words);
            }
            let Some(next) = self.cursor.peek() else {
                return Err(Unreadable::Unended {
                    at: from,
                    open: "[[",
                    close: "]]",
                });
            };
            let is_process = matches!(next, b'<' | b'>') && self.cursor.peek_second() == Some(b'(');
            if ends_word(next) && !is_process {
                // An operator, or a part of a regular expression.
                let character = self.cursor.character().unwrap_or_default();
                words.push(vec![Part::Text(character.to_string())]);
            } else {
                words.push(self.pattern()?);
            }
        }
    }

    fn accept_test_end(&mut self) -> bool {
        let before = self.cursor.at;
        let is_it = self.cursor.accept_all("]]") && self.cursor.peek().is_none_or(ends_word);
        if !is_it {
            self.cursor.at = before;
        }
        is_it
    }
}
