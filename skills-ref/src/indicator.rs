//! Decides from one character which token is next, and reads it. The scanner owns the queue of
//! tokens.

use crate::cursor::{END, is_blank_or_end};
use crate::reason::YamlProblem;
use crate::scanner::Scanner;
use crate::token::{Fault, Kind, Mark, Step};

impl Scanner<'_> {
    /// Reads on until at least one more token, or a comment, is in the queue.
    pub(crate) fn fetch(&mut self) -> Step<()> {
        if let Some(mark) = self.skip_to_token() {
            self.push(Kind::Comment, mark);
            return Ok(());
        }
        self.drop_stale_candidate()?;
        self.close_collections(Some(self.cursor.column()));
        let mark = self.cursor.mark();
        let blank_follows = is_blank_or_end(self.cursor.ahead(1));
        let refused = |problem| Err(Fault::yaml(problem, mark.index));
        match self.cursor.current() {
            END => self.fetch_end(mark),
            '%' if mark.column == 0 => refused(YamlProblem::Directive),
            '.' if mark.column == 0 && self.cursor.at_document_end() => {
                self.fetch_document_end(mark)
            }
            '[' | '{' => refused(YamlProblem::FlowStyle),
            '-' if blank_follows => self.fetch_entry(mark),
            '?' if blank_follows => self.fetch_key(mark),
            ':' if blank_follows => self.fetch_value(mark),
            '*' => refused(YamlProblem::Alias),
            '&' => refused(YamlProblem::Anchor),
            '!' => refused(YamlProblem::Tag),
            style @ ('|' | '>') => {
                self.key_allowed = true;
                self.drop_candidate()?;
                let token = self.scan_block(style == '>')?;
                self.append(token);
                Ok(())
            }
            quote @ ('\'' | '"') => {
                self.save_candidate()?;
                self.key_allowed = false;
                let token = self.scan_quoted(quote)?;
                self.append(token);
                Ok(())
            }
            character if cannot_begin_plain(character) => {
                refused(YamlProblem::UnexpectedCharacter { character })
            }
            _ => {
                self.save_candidate()?;
                self.key_allowed = false;
                let token = self.scan_plain();
                self.append(token);
                Ok(())
            }
        }
    }

    fn fetch_end(&mut self, mark: Mark) -> Step<()> {
        self.close_collections(None);
        self.drop_candidate()?;
        self.key_allowed = false;
        self.finish(mark);
        Ok(())
    }

    fn fetch_document_end(&mut self, mark: Mark) -> Step<()> {
        self.close_collections(None);
        self.drop_candidate()?;
        self.key_allowed = false;
        self.cursor.advance_by(3);
        self.push(Kind::DocumentEnd, mark);
        Ok(())
    }

    fn fetch_entry(&mut self, mark: Mark) -> Step<()> {
        if !self.key_allowed {
            return Err(Fault::yaml(YamlProblem::EntryNotAllowedHere, mark.index));
        }
        if self.open_collection(mark.column) {
            self.push(Kind::SequenceStart, mark);
        }
        self.drop_candidate()?;
        self.cursor.advance();
        self.push(Kind::Entry, mark);
        Ok(())
    }

    fn fetch_key(&mut self, mark: Mark) -> Step<()> {
        if !self.key_allowed {
            return Err(Fault::yaml(YamlProblem::KeyNotAllowedHere, mark.index));
        }
        if self.open_collection(mark.column) {
            self.push(Kind::MappingStart, mark);
        }
        self.drop_candidate()?;
        self.cursor.advance();
        self.push(Kind::Key, mark);
        Ok(())
    }

    fn fetch_value(&mut self, mark: Mark) -> Step<()> {
        if self.confirm_candidate() {
            // Two simple keys cannot follow each other on one line.
            self.key_allowed = false;
        } else {
            if !self.key_allowed {
                return Err(Fault::yaml(YamlProblem::ValueNotAllowedHere, mark.index));
            }
            if self.open_collection(mark.column) {
                self.push(Kind::MappingStart, mark);
            }
        }
        self.cursor.advance();
        self.push(Kind::Value, mark);
        Ok(())
    }
}

/// True for a character that cannot begin an unquoted value; `-`, `?` and `:` are looked at before,
/// when a blank follows them.
const fn cannot_begin_plain(character: char) -> bool {
    matches!(
        character,
        '\t' | ',' | ']' | '}' | '#' | '%' | '@' | '`' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}
