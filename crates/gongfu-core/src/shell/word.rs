//! Words and quotes.

use super::ParseError;
use super::parser::Parser;
use super::tree::{List, Part, Word, commands_in, push_text};

impl Parser<'_> {
    /// A word.
    pub(super) fn word(&mut self) -> Result<Word, ParseError> {
        let before = self.cursor.at;
        let mut word = Word::new();
        self.rest_of_word(&mut word)?;
        if self.cursor.at == before {
            return Err(self.cursor.unexpected());
        }
        Ok(word)
    }

    /// Reads on up to the end of a word.
    pub(super) fn rest_of_word(&mut self, word: &mut Word) -> Result<(), ParseError> {
        while let Some(next) = self.cursor.peek() {
            let is_open = self.cursor.peek_second() == Some(b'(');
            if is_open && matches!(next, b'?' | b'*' | b'+' | b'@' | b'!') {
                self.cursor.at += 2;
                word.push(Part::Dynamic(self.enclosed("(", b')', false)?));
            } else if self.cursor.is_at_process() {
                word.push(self.process()?);
            } else if self.cursor.is_at_word_end() {
                break;
            } else {
                self.piece(word)?;
            }
        }
        Ok(())
    }

    /// `<( … )` and `>( … )`
    fn process(&mut self) -> Result<Part, ParseError> {
        self.cursor.at += 1;
        Ok(Part::Dynamic(self.within("<(", Self::parentheses)?))
    }

    /// A quote, an expansion, or a character outside of both.
    fn piece(&mut self, word: &mut Word) -> Result<(), ParseError> {
        match self.cursor.peek() {
            Some(b'\\') if self.cursor.accept("\\\n") => {}
            Some(b'\\') => {
                self.cursor.at += 1;
                // At the end of a text it stands for itself.
                let character = self.cursor.character().unwrap_or('\\');
                word.push(Part::Quoted(character.to_string()));
            }
            Some(b'\'') => word.push(self.within("'", |parser| {
                parser.cursor.at += 1;
                let text = parser.cursor.skip_while(|byte| byte != b'\'');
                parser.cursor.expect("'")?;
                Ok(Part::Quoted(text.to_owned()))
            })?),
            Some(b'"') => word.extend(self.double_quoted()?),
            Some(b'`') => word.push(self.back_quoted(false)?),
            Some(b'$') => self.dollar(word, false)?,
            _ => {
                let character = self.cursor.character().unwrap_or_default();
                push_text(word, character.encode_utf8(&mut [0; 4]));
            }
        }
        Ok(())
    }

    /// `"…"`
    pub(super) fn double_quoted(&mut self) -> Result<Word, ParseError> {
        self.within("\"", |parser| {
            parser.cursor.at += 1;
            let word = parser.quoted_text(Some('"'))?;
            parser.cursor.expect("\"")?;
            Ok(word)
        })
    }

    /// Text in which only dollars, back quotes and backslashes are special: up to a quote, or all of a
    /// here-document.
    pub(super) fn quoted_text(&mut self, end: Option<char>) -> Result<Word, ParseError> {
        let mut word = Word::new();
        let mut text = String::new();
        loop {
            let mut expanded = Word::new();
            match self.cursor.peek() {
                None => break,
                Some(b'"') if end.is_some() => break,
                Some(b'$') => self.dollar(&mut expanded, true)?,
                Some(b'`') => expanded.push(self.back_quoted(end.is_some())?),
                Some(b'\\') if self.cursor.accept("\\\n") => {}
                Some(b'\\') => {
                    self.cursor.at += 1;
                    let escaped = self.cursor.character();
                    if !escaped.is_some_and(|c| matches!(c, '$' | '`' | '\\') || Some(c) == end) {
                        text.push('\\');
                    }
                    text.extend(escaped);
                }
                Some(_) => text.extend(self.cursor.character()),
            }
            for part in expanded {
                match part {
                    // A dollar that begins nothing.
                    Part::Text(dollar) => text.push_str(&dollar),
                    part => word.extend([Part::Quoted(std::mem::take(&mut text)), part]),
                }
            }
        }
        // Nothing in quotes is a word too.
        word.push(Part::Quoted(text));
        Ok(word)
    }

    /// The commands up to a byte outside of quotes, which is skipped. Parentheses and brackets have to be
    /// balanced.
    pub(super) fn enclosed(
        &mut self,
        open: &'static str,
        close: u8,
        is_quoted: bool,
    ) -> Result<List, ParseError> {
        self.within(open, |parser| {
            let nested = match close {
                b')' => Some(b'('),
                b']' => Some(b'['),
                // Braces needn't be balanced within braces.
                _ => None,
            };
            let mut word = Word::new();
            let mut depth = 0_usize;
            loop {
                let next = parser.cursor.peek();
                if next == Some(close) && depth == 0 {
                    parser.cursor.at += 1;
                    return Ok(commands_in(word));
                }
                depth += usize::from(next == nested && nested.is_some());
                depth -= usize::from(next == Some(close));
                match next {
                    None => return Err(parser.cursor.unexpected()),
                    // Shells disagree about quotes in arithmetic.
                    Some(b'\'') if is_quoted && close == b')' => {
                        return Err(parser.cursor.unexpected());
                    }
                    Some(b'\'') if is_quoted => parser.cursor.at += 1,
                    Some(b'$') => parser.dollar(&mut word, is_quoted)?,
                    Some(b'`') => word.push(parser.back_quoted(is_quoted)?),
                    _ if !is_quoted && parser.cursor.is_at_process() => {
                        word.push(parser.process()?);
                    }
                    _ => parser.piece(&mut word)?,
                }
            }
        })
    }
}
