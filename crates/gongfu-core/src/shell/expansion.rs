//! What begins with a dollar.

use super::Unreadable;
use super::arithmetic;
use super::cursor::begins_name;
use super::parser::Parser;
use super::syntax::{Operation, Part, Word};
use super::word::Parts;

impl Parser<'_> {
    /// What begins with a dollar; one that begins nothing is text.
    pub(super) fn dollar(&mut self, parts: &mut Parts, is_quoted: bool) -> Result<(), Unreadable> {
        let from = self.cursor.place();
        self.cursor.accept(b'$');
        let Some(next) = self.cursor.peek() else {
            parts.text('$');
            return Ok(());
        };
        let part = match next {
            b'(' if arithmetic::is_next(&mut self.cursor) => {
                self.cursor.accept_all("((");
                Part::Arithmetic(self.arithmetic(from, "$((")?)
            }
            b'(' => {
                self.cursor.at += 1;
                let list = self.subshell(from, "$(")?;
                Part::Substitution { list, is_quoted }
            }
            b'[' => {
                self.cursor.at += 1;
                Part::Arithmetic(self.until(b']', from, "$[", true)?)
            }
            b'{' => {
                self.cursor.at += 1;
                self.cursor.enter()?;
                let part = self.braced(from, is_quoted)?;
                self.cursor.leave();
                part
            }
            b'\'' if !is_quoted => {
                self.cursor.at += 1;
                self.ansi_quoted(from)?
            }
            b'"' if !is_quoted => {
                parts.extend(self.double_quoted()?);
                return Ok(());
            }
            _ => {
                if let Some(name) = self.short_name(next) {
                    Part::Parameter {
                        name,
                        operation: Operation::None,
                        has_colon: false,
                        is_quoted,
                    }
                } else {
                    parts.text('$');
                    return Ok(());
                }
            }
        };
        parts.part(part);
        Ok(())
    }

    /// A name, a digit or a special one, without braces.
    fn short_name(&mut self, next: u8) -> Option<String> {
        if begins_name(next) {
            return self.name();
        }
        let is_one = next.is_ascii_digit() || b"@*#?-$!".contains(&next);
        if is_one {
            self.cursor.at += 1;
        }
        is_one.then(|| char::from(next).to_string())
    }

    /// What stands in `${ … }`.
    fn braced(&mut self, from: usize, is_quoted: bool) -> Result<Part, Unreadable> {
        if matches!(self.cursor.peek(), Some(b' ' | b'\t' | b'\n' | b'|')) {
            // What a command says, without another shell.
            self.cursor.accept(b'|');
            let list = self.list()?;
            self.end(from)?;
            return Ok(Part::Substitution { list, is_quoted });
        }
        let second = self.cursor.peek_second();
        let is_followed = second.is_some_and(|byte| byte != b'}');
        let is_indirect = is_followed && self.cursor.accept(b'!');
        // `#` is a parameter as well, with what may become of one.
        let is_parameter = matches!(second, Some(b':' | b'-' | b'=' | b'+' | b'?' | b'%' | b'/'));
        let is_length = !is_indirect && is_followed && !is_parameter && self.cursor.accept(b'#');
        let name = self.long_name()?;
        let mut words = Vec::new();
        if self.cursor.accept(b'[') {
            words.push(self.until(b']', from, "[", false)?);
        }
        let has_colon = self.cursor.peek() == Some(b':')
            && matches!(self.cursor.peek_second(), Some(b'-' | b'=' | b'?' | b'+'));
        if has_colon {
            self.cursor.at += 1;
        }
        let is_simple = words.is_empty() && !is_indirect && !is_length;
        let operation = match self.cursor.peek() {
            Some(b'}') => {
                self.cursor.at += 1;
                match (words.pop(), is_indirect || is_length) {
                    (None, false) => Operation::None,
                    (Some(subscript), false) => Operation::Element(subscript),
                    (word, true) => Operation::Other(word.into_iter().collect()),
                }
            }
            Some(operator @ (b'-' | b'=' | b'+' | b'?')) if is_simple => {
                self.cursor.at += 1;
                let word = self.until(b'}', from, "${", is_quoted)?;
                match operator {
                    b'-' => Operation::Default(word),
                    b'=' => Operation::Assign(word),
                    b'?' => Operation::Check(word),
                    _ => Operation::Alternative(word),
                }
            }
            operator => {
                // Patterns have quotes of their own, wherever they stand.
                let is_pattern = matches!(operator, Some(b'#' | b'%' | b'/' | b'^' | b','));
                words.push(self.until(b'}', from, "${", is_quoted && !is_pattern)?);
                Operation::Other(words)
            }
        };
        Ok(Part::Parameter {
            name,
            operation,
            has_colon,
            is_quoted,
        })
    }

    /// A name in braces: of a variable, of an argument, or a special one.
    fn long_name(&mut self) -> Result<String, Unreadable> {
        match self.cursor.peek() {
            Some(byte) if begins_name(byte) => Ok(self.name().unwrap_or_default()),
            Some(byte) if byte.is_ascii_digit() => {
                let mut digits = String::new();
                while let Some(byte) = self.cursor.peek().filter(u8::is_ascii_digit) {
                    digits.push(char::from(byte));
                    self.cursor.at += 1;
                }
                Ok(digits)
            }
            Some(byte) if b"@*#?-$!".contains(&byte) => {
                self.cursor.at += 1;
                Ok(char::from(byte).to_string())
            }
            _ => Err(self.cursor.unexpected()),
        }
    }

    fn end(&mut self, from: usize) -> Result<(), Unreadable> {
        if self.cursor.accept(b'}') {
            return Ok(());
        }
        match self.cursor.peek() {
            None => Err(Unreadable::Unended {
                at: from,
                open: "${",
                close: "}",
            }),
            Some(_) => Err(self.cursor.unexpected()),
        }
    }

    /// What is calculated, up to the parentheses that end it.
    pub(super) fn arithmetic(
        &mut self,
        from: usize,
        open: &'static str,
    ) -> Result<Word, Unreadable> {
        let word = self.until(b')', from, open, true)?;
        if self.cursor.accept(b')') {
            return Ok(word);
        }
        Err(Unreadable::Unended {
            at: from,
            open,
            close: "))",
        })
    }
}
