//! Commands with arguments, and the assignments before them.

use super::ParseError;
use super::parser::Parser;
use super::tree::{Command, List, Part, Simple, Word, commands_in, plain, push_text};

/// Builtins whose arguments may assign arrays.
const DECLARING: [&str; 5] = ["declare", "export", "local", "readonly", "typeset"];

impl Parser<'_> {
    pub(super) fn simple(&mut self) -> Result<Command, ParseError> {
        let mut simple = Simple::default();
        loop {
            if let Some(redirection) = self.redirection()? {
                simple.redirections.push(redirection);
                continue;
            }
            if self.cursor.is_at_word_end() && !self.cursor.is_at_process() {
                break;
            }
            let (word, assigns) = match simple.words.first().map(plain) {
                None => self.word_or_assignment(true)?,
                Some(Some(name)) if DECLARING.contains(&name) => self.word_or_assignment(false)?,
                Some(_) => (self.word()?, false),
            };
            if assigns {
                simple.assignments.push(word);
            } else {
                simple.words.push(word);
            }
        }
        let is_alone = simple.assignments.is_empty() && simple.redirections.is_empty();
        match simple.words.as_slice() {
            [word] if is_alone && self.cursor.peek() == Some(b'(') => {
                let name = plain(word).ok_or_else(|| self.cursor.unexpected())?;
                self.cursor.expect("(")?;
                self.skip_blanks();
                self.cursor.expect(")")?;
                self.function(name)
            }
            [] if is_alone => Err(self.cursor.unexpected()),
            _ => Ok(Command::Simple(simple)),
        }
    }

    /// A word, and whether it is an assignment.
    fn word_or_assignment(&mut self, may_have_subscript: bool) -> Result<(Word, bool), ParseError> {
        let mut word = Word::new();
        let name = self.name();
        let is_name = !name.is_empty();
        push_text(&mut word, name);
        if is_name && may_have_subscript && self.cursor.accept("[") {
            let subscript = self.enclosed("[", b']', false)?;
            push_text(&mut word, "[");
            word.push(Part::Dynamic(subscript));
            push_text(&mut word, "]");
        }
        let assigns = is_name && (self.cursor.accept("+=") || self.cursor.accept("="));
        if assigns && self.cursor.peek() == Some(b'(') {
            let array = self.within("(", Self::array)?;
            word.push(Part::Dynamic(array));
        } else {
            self.rest_of_word(&mut word)?;
        }
        Ok((word, assigns))
    }

    /// The value of an array: the commands in it.
    fn array(&mut self) -> Result<List, ParseError> {
        self.cursor.expect("(")?;
        let mut words = Word::new();
        loop {
            self.skip_lines()?;
            if self.cursor.accept(")") {
                break;
            }
            words.extend(self.word()?);
        }
        if self.cursor.is_at_word_end() {
            return Ok(commands_in(words));
        }
        Err(self.cursor.unexpected())
    }
}
