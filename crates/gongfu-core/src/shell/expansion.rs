//! Expansions: the commands in them. Their values are only known at run time.

use super::ParseError;
use super::compound::is_arithmetic;
use super::parser::Parser;
use super::tree::{List, Part, Word, push_text};

impl Parser<'_> {
    /// An expansion behind a dollar; a dollar without one is text.
    pub(super) fn dollar(&mut self, word: &mut Word, is_quoted: bool) -> Result<(), ParseError> {
        self.cursor.at += 1;
        let is_special = |byte: u8| byte.is_ascii_digit() || b"@*#?-$!".contains(&byte);
        let list = match self.cursor.peek() {
            Some(b'(') if is_arithmetic(&self.cursor) => self.arithmetic()?,
            Some(b'(') => self.within("$(", Self::parentheses)?,
            Some(b'{') => self.braced(is_quoted)?,
            Some(b'\'') if !is_quoted => self.within("$'", Self::escaped_quote)?,
            Some(b'"') if !is_quoted => {
                word.extend(self.double_quoted()?);
                return Ok(());
            }
            Some(byte) if is_special(byte) => {
                self.cursor.at += 1;
                List::new()
            }
            _ => {
                if self.name().is_empty() {
                    push_text(word, "$");
                    return Ok(());
                }
                List::new()
            }
        };
        word.push(Part::Dynamic(list));
        Ok(())
    }

    /// `${ … }`, behind the dollar.
    fn braced(&mut self, is_quoted: bool) -> Result<List, ParseError> {
        self.cursor.at += 1;
        if matches!(self.cursor.peek(), Some(b' ' | b'\t' | b'\n' | b'|')) {
            // `${ command; }`: a substitution without a subshell.
            self.cursor.accept("|");
            return self.within("${", |parser| {
                let list = parser.list()?;
                parser.cursor.expect("}")?;
                Ok(list)
            });
        }
        // `#` and `!` are parameters as well as operators before one.
        let _ = self.cursor.accept("#") || self.cursor.accept("!");
        if self.name().is_empty() {
            let is_special = |byte: u8| byte.is_ascii_digit() || b"@*?-$!".contains(&byte);
            self.cursor.skip_while(is_special);
        }
        // Patterns have quotes of their own, even in double quotes.
        let is_pattern = matches!(self.cursor.peek(), Some(b'#' | b'%' | b'/' | b'^' | b','));
        self.enclosed("${", b'}', is_quoted && !is_pattern)
    }

    /// `$'…'`, behind the dollar. Its escapes aren't decoded, so its value isn't known.
    fn escaped_quote(&mut self) -> Result<List, ParseError> {
        self.cursor.at += 1;
        loop {
            match self.cursor.character() {
                None => return Err(self.cursor.unexpected()),
                Some('\'') => return Ok(List::new()),
                Some('\\') => drop(self.cursor.character()),
                Some(_) => {}
            }
        }
    }

    /// `` `…` ``: read by itself once its backslashes are removed.
    pub(super) fn back_quoted(&mut self, is_quoted: bool) -> Result<Part, ParseError> {
        self.within("`", |parser| {
            parser.cursor.at += 1;
            let origin = parser.cursor.at;
            let mut inner = String::new();
            loop {
                match parser.cursor.character() {
                    None => return Err(parser.cursor.unexpected()),
                    Some('`') => break,
                    Some('\\') => {
                        let escaped = parser.cursor.character();
                        let is_removed =
                            |c| matches!(c, '`' | '\\' | '$') || (is_quoted && c == '"');
                        if !escaped.is_some_and(is_removed) {
                            inner.push('\\');
                        }
                        inner.extend(escaped);
                    }
                    Some(c) => inner.push(c),
                }
            }
            parser.nested(&inner, origin, |inner| Ok(Part::Dynamic(inner.whole()?)))
        })
    }
}
