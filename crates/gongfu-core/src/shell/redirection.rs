//! From where commands read and where they write, and here-documents.

use super::Unreadable;
use super::cursor::{Cursor, begins_name, is_of_name};
use super::parser::Parser;
use super::syntax::{Part, Redirection, Word};

/// A here-document that begins at the next line.
pub(super) struct Pending {
    /// Which of the documents it is.
    number: usize,
    /// The line that ends it.
    end: String,
    /// Nothing in it is expanded.
    is_quoted: bool,
    /// Tabs at the beginning of lines are taken away.
    strips_tabs: bool,
}

impl Parser<'_> {
    pub(super) fn redirections(&mut self) -> Result<Vec<Redirection>, Unreadable> {
        let mut all = Vec::new();
        loop {
            self.skip_blanks();
            match self.redirection()? {
                Some(one) => all.push(one),
                None => return Ok(all),
            }
        }
    }

    /// A redirection, if one stands here.
    pub(super) fn redirection(&mut self) -> Result<Option<Redirection>, Unreadable> {
        let before = self.cursor.at;
        let handle = self.skip_handle();
        let Some(kind) = self.operator() else {
            self.cursor.at = before;
            return Ok(None);
        };
        self.skip_blanks();
        let redirection = match kind {
            Operator::Read => Redirection::Read(self.word()?),
            Operator::Write => Redirection::Write(self.word()?),
            Operator::Text => Redirection::Text(self.word()?),
            Operator::Duplicate => Redirection::Duplicate(self.word()?),
            Operator::Copy => Redirection::Copy(self.word()?),
            Operator::Document { strips_tabs } => self.document(strips_tabs)?,
        };
        let reads = matches!(
            redirection,
            Redirection::Read(_)
                | Redirection::Text(_)
                | Redirection::Document(_)
                | Redirection::Copy(_)
        );
        let is_other = match handle {
            Handle::Default => false,
            Handle::Number(number) => number != u32::from(!reads),
            Handle::Named => true,
        };
        Ok(Some(if is_other {
            Redirection::Other(Box::new(redirection))
        } else {
            redirection
        }))
    }

    /// Goes over a number or a `{name}` that says which handle it is.
    fn skip_handle(&mut self) -> Handle {
        if self.cursor.raw(0) == Some(b'{') && self.cursor.raw(1).is_some_and(begins_name) {
            let mut ahead = 1;
            while self.cursor.raw(ahead).is_some_and(is_of_name) {
                ahead += 1;
            }
            let is_it = self.cursor.raw(ahead) == Some(b'}')
                && matches!(self.cursor.raw(ahead + 1), Some(b'<' | b'>'));
            if !is_it {
                return Handle::Default;
            }
            self.cursor.at += ahead + 1;
            return Handle::Named;
        }
        let before = self.cursor.at;
        let mut number: Option<u32> = None;
        while let Some(digit) = self.cursor.peek().filter(u8::is_ascii_digit) {
            let digits = number.unwrap_or_default().saturating_mul(10);
            number = Some(digits.saturating_add(u32::from(digit - b'0')));
            self.cursor.at += 1;
        }
        if !matches!(self.cursor.peek(), Some(b'<' | b'>')) {
            self.cursor.at = before;
            return Handle::Default;
        }
        number.map_or(Handle::Default, Handle::Number)
    }

    fn operator(&mut self) -> Option<Operator> {
        let cursor = &mut self.cursor;
        let is_process =
            matches!(cursor.peek(), Some(b'<' | b'>')) && cursor.peek_second() == Some(b'(');
        if is_process {
            return None;
        }
        // Those that begin like others come first.
        let operators: [(&str, Operator); 11] = [
            ("<<<", Operator::Text),
            ("<<-", Operator::Document { strips_tabs: true }),
            ("<<", Operator::Document { strips_tabs: false }),
            ("<&", Operator::Copy),
            ("<>", Operator::Write),
            ("<", Operator::Read),
            (">>", Operator::Write),
            (">&", Operator::Duplicate),
            (">|", Operator::Write),
            (">", Operator::Write),
            ("&>", Operator::Write),
        ];
        let found = operators
            .into_iter()
            .find(|(text, _)| cursor.accept_all(text));
        let (text, operator) = found?;
        if text == "&>" {
            cursor.accept(b'>');
        }
        Some(operator)
    }

    fn document(&mut self, strips_tabs: bool) -> Result<Redirection, Unreadable> {
        let before = self.cursor.at;
        let word = self.word()?;
        let said = self
            .cursor
            .slice(before, self.cursor.at)
            .replace("\\\n", "");
        let is_quoted = said.contains(['\\', '\'', '"']);
        let mut end = String::new();
        for part in &word {
            match part {
                Part::Text(text) | Part::Quoted(text) => end.push_str(text),
                // Nothing is expanded in it, so that it isn't clear what it means.
                _ => return Err(self.cursor.unexpected()),
            }
        }
        let number = self.documents.len();
        self.documents.push(Word::new());
        self.pending.push(Pending {
            number,
            end,
            is_quoted,
            strips_tabs,
        });
        Ok(Redirection::Document(number))
    }

    /// Reads the here-documents that begin at this line.
    pub(super) fn read_documents(&mut self) -> Result<(), Unreadable> {
        for pending in std::mem::take(&mut self.pending) {
            let from = self.cursor.place();
            let mut body = String::new();
            let mut joined = String::new();
            loop {
                let rest = self.cursor.rest();
                if rest.is_empty() {
                    break;
                }
                let (line, length) = match rest.find('\n') {
                    Some(end) => (rest.get(..end).unwrap_or_default(), end + 1),
                    None => (rest, rest.len()),
                };
                self.cursor.at += length;
                if !pending.is_quoted && is_continued(line) && length > line.len() {
                    // The next line is a part of this one, and ends nothing.
                    joined.push_str(line);
                    joined.push('\n');
                    continue;
                }
                let whole = std::mem::take(&mut joined) + line;
                let line = whole.as_str();
                let line = if pending.strips_tabs {
                    line.trim_start_matches('\t')
                } else {
                    line
                };
                if line.replace("\\\n", "") == pending.end {
                    break;
                }
                body.push_str(line);
                body.push('\n');
            }
            body.push_str(&joined);
            let word = if pending.is_quoted {
                vec![Part::Quoted(body)]
            } else {
                self.expanded(&body, from)?
            };
            if let Some(document) = self.documents.get_mut(pending.number) {
                *document = word;
            }
        }
        Ok(())
    }

    /// A here-document in which things are expanded.
    fn expanded(&mut self, body: &str, from: usize) -> Result<Word, Unreadable> {
        let mut parser = Parser {
            cursor: Cursor::new(body, self.cursor.depth(), from),
            pending: Vec::new(),
            documents: std::mem::take(&mut self.documents),
        };
        parser.cursor.enter()?;
        let mut parts = Word::new();
        let mut text = String::new();
        while parser.cursor.peek().is_some() {
            parser.quoted_piece(&mut parts, &mut text, false)?;
        }
        self.documents = parser.documents;
        if !text.is_empty() {
            parts.push(Part::Quoted(text));
        }
        Ok(parts)
    }
}

/// Whether a backslash takes the end of a line away.
fn is_continued(line: &str) -> bool {
    let backslashes = line.bytes().rev().take_while(|byte| *byte == b'\\').count();
    backslashes % 2 == 1
}

/// Which handle a redirection says that it is about.
enum Handle {
    /// The one that its operator is about.
    Default,
    /// The one of this number.
    Number(u32),
    /// One whose number is put into a variable.
    Named,
}

/// What a redirection does.
enum Operator {
    Read,
    Write,
    Text,
    Duplicate,
    Copy,
    Document { strips_tabs: bool },
}
