//! Redirections and here-documents.

use super::ParseError;
use super::parser::{Parser, Pending};
use super::tree::{Operator, Part, Redirection, Word, plain};

/// Operators, each before those that it begins with.
const OPERATORS: [(&str, Operator); 12] = [
    ("<<<", Operator::Text),
    ("<<-", Operator::Document(0)),
    ("<<", Operator::Document(0)),
    ("<&", Operator::Read),
    ("<>", Operator::Write),
    ("<", Operator::Read),
    (">>", Operator::Write),
    (">&", Operator::Write),
    (">|", Operator::Write),
    (">", Operator::Write),
    ("&>>", Operator::Write),
    ("&>", Operator::Write),
];

impl Parser<'_> {
    /// A redirection, if one begins here.
    pub(super) fn redirection(&mut self) -> Result<Option<Redirection>, ParseError> {
        self.skip_blanks();
        let before = self.cursor.at;
        let descriptor = self.cursor.skip_while(|byte| byte.is_ascii_digit());
        let is_process = self.cursor.is_at_process();
        let mut operators = OPERATORS.into_iter().filter(|_| !is_process);
        let found = operators.find(|(spelling, _)| self.cursor.accept(spelling));
        let Some((spelling, mut operator)) = found else {
            self.cursor.at = before;
            return Ok(None);
        };
        self.skip_blanks();
        let mut target = self.word()?;
        if let Operator::Document(index) = &mut operator {
            *index = self.documents.len();
            self.announce(&target, spelling == "<<-")?;
            target.clear();
        }
        let is_descriptor = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        let is_other = match operator {
            Operator::Write => spelling == ">&" && plain(&target).is_some_and(is_descriptor),
            _ => !descriptor.bytes().all(|digit| digit == b'0'),
        };
        if is_other {
            operator = Operator::Other;
        }
        Ok(Some(Redirection { operator, target }))
    }

    /// Notes a here-document.
    fn announce(&mut self, word: &Word, strips_tabs: bool) -> Result<(), ParseError> {
        let mut delimiter = String::new();
        for part in word {
            match part {
                Part::Text(text) | Part::Quoted(text) => delimiter.push_str(text),
                // Nothing is expanded here, and shells disagree about what it is then.
                Part::Dynamic(_) => return Err(self.cursor.unexpected()),
            }
        }
        self.pending.push(Pending {
            index: self.documents.len(),
            delimiter,
            is_quoted: word.iter().any(|part| matches!(part, Part::Quoted(_))),
            strips_tabs,
        });
        self.documents.push(Word::new());
        Ok(())
    }

    /// Reads the here-documents that begin at this line.
    pub(super) fn read_documents(&mut self) -> Result<(), ParseError> {
        for pending in std::mem::take(&mut self.pending) {
            let origin = self.cursor.at;
            let body = self.document(&pending);
            let word = if pending.is_quoted {
                vec![Part::Quoted(body)]
            } else {
                self.nested(&body, origin, |parser| {
                    parser.within("<<", |parser| parser.quoted_text(None))
                })?
            };
            if let Some(document) = self.documents.get_mut(pending.index) {
                *document = word;
            }
        }
        Ok(())
    }

    /// The body of a here-document, up to its delimiter or the end of the text.
    fn document(&mut self, pending: &Pending) -> String {
        let mut body = String::new();
        let mut is_continued = false;
        while !self.cursor.rest().is_empty() {
            let mut line = self.cursor.skip_while(|byte| byte != b'\n');
            self.cursor.accept("\n");
            if pending.strips_tabs {
                line = line.trim_start_matches('\t');
            }
            if line == pending.delimiter && !is_continued {
                break;
            }
            let backslashes = line.bytes().rev().take_while(|byte| *byte == b'\\').count();
            is_continued = !pending.is_quoted && backslashes % 2 == 1;
            body.push_str(line);
            body.push('\n');
        }
        body
    }
}
