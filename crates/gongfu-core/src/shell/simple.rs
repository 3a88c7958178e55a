//! Commands with arguments, and what is assigned before them.

use super::Unreadable;
use super::cursor::{begins_name, ends_word, is_of_name};
use super::parser::{Parser, plain};
use super::syntax::{Assignment, Command, Simple, Value, Word};

/// Builtins whose arguments may be assignments of arrays.
const DECLARING: [&str; 5] = ["declare", "export", "local", "readonly", "typeset"];
/// The longest subscript of what is assigned, in bytes: longer ones are no assignments.
const SUBSCRIPT: usize = 1024;

impl Parser<'_> {
    pub(super) fn simple(&mut self) -> Result<Command, Unreadable> {
        let mut simple = Simple::default();
        loop {
            self.skip_blanks();
            if let Some(redirection) = self.redirection()? {
                simple.redirections.push(redirection);
                continue;
            }
            let Some(next) = self.cursor.peek() else {
                break;
            };
            let is_process = matches!(next, b'<' | b'>') && self.cursor.peek_second() == Some(b'(');
            if ends_word(next) && !is_process {
                break;
            }
            let declares = simple
                .words
                .first()
                .and_then(|word| plain(word))
                .is_some_and(|name| DECLARING.contains(&name));
            if (simple.words.is_empty() || declares)
                && let Some(assignment) = self.assignment()?
            {
                if simple.words.is_empty() {
                    simple.assignments.push(assignment);
                } else {
                    simple.declared.push(assignment);
                }
                continue;
            }
            simple.words.push(self.word()?);
        }
        let name = match simple.words.as_slice() {
            [name] if simple.assignments.is_empty() && simple.redirections.is_empty() => {
                plain(name)
            }
            _ => None,
        };
        if let Some(name) = name
            && self.cursor.peek() == Some(b'(')
        {
            let name = name.to_owned();
            self.cursor.accept(b'(');
            self.skip_blanks();
            if !self.cursor.accept(b')') {
                return Err(self.cursor.unexpected());
            }
            return self.body(name);
        }
        let is_empty = simple.words.is_empty()
            && simple.assignments.is_empty()
            && simple.redirections.is_empty();
        if is_empty {
            return Err(self.cursor.unexpected());
        }
        Ok(Command::Simple(simple))
    }

    /// An assignment, if one stands here.
    fn assignment(&mut self) -> Result<Option<Assignment>, Unreadable> {
        let before = self.cursor.at;
        let Some(name) = self.name() else {
            return Ok(None);
        };
        let opens = self.cursor.at;
        if self.cursor.peek() == Some(b'[') && !self.has_assigned_subscript() {
            self.cursor.at = before;
            return Ok(None);
        }
        self.cursor.at = opens;
        let subscript = if self.cursor.accept(b'[') {
            let from = self.cursor.place();
            Some(self.until(b']', from, "[", false)?)
        } else {
            None
        };
        let adds = self.cursor.peek_second() == Some(b'=') && self.cursor.accept(b'+');
        if !self.cursor.accept(b'=') {
            self.cursor.at = before;
            return Ok(None);
        }
        let value = if self.cursor.peek() == Some(b'(') {
            let words = self.array()?;
            if self.cursor.peek().is_some_and(|next| !ends_word(next)) {
                return Err(self.cursor.unexpected());
            }
            Value::Array(words)
        } else {
            Value::Word(self.word_or_nothing()?)
        };
        Ok(Some(Assignment {
            name,
            subscript,
            adds,
            value,
        }))
    }

    /// A name of a variable, if one stands here.
    pub(super) fn name(&mut self) -> Option<String> {
        let mut name = String::new();
        while let Some(byte) = self.cursor.peek() {
            let fits = if name.is_empty() {
                begins_name(byte)
            } else {
                is_of_name(byte)
            };
            if !fits {
                break;
            }
            name.push(char::from(byte));
            self.cursor.at += 1;
        }
        (!name.is_empty()).then_some(name)
    }

    /// Whether what stands in brackets here is followed by what assigns.
    fn has_assigned_subscript(&self) -> bool {
        let rest = self.cursor.rest().as_bytes();
        let mut depth = 0_usize;
        let mut bytes = rest.iter().take(SUBSCRIPT).enumerate();
        while let Some((index, byte)) = bytes.next() {
            match byte {
                b'\\' => {
                    bytes.next();
                }
                b'\'' | b'"' => {
                    // What is quoted is no bracket.
                    for (_, other) in bytes.by_ref() {
                        if other == byte {
                            break;
                        }
                    }
                }
                b'[' => depth += 1,
                b']' => depth -= 1,
                b'\n' => return false,
                _ => {}
            }
            if depth == 0 {
                return matches!(
                    (rest.get(index + 1), rest.get(index + 2)),
                    (Some(b'='), _) | (Some(b'+'), Some(b'='))
                );
            }
        }
        false
    }

    fn array(&mut self) -> Result<Vec<Word>, Unreadable> {
        let from = self.cursor.place();
        self.cursor.accept(b'(');
        self.cursor.enter()?;
        let mut words = Vec::new();
        loop {
            self.skip_lines()?;
            if self.cursor.accept(b')') {
                self.cursor.leave();
                return Ok(words);
            }
            if self.cursor.peek().is_none() {
                return Err(Unreadable::Unended {
                    at: from,
                    open: "(",
                    close: ")",
                });
            }
            words.push(self.word()?);
        }
    }
}
