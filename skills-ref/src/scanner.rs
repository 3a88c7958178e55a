//! Cuts a frontmatter into tokens the way the reference's scanner does.
//!
//! The reference attaches comments to tokens while it looks ahead, and how far it has looked
//! decides where a comment ends up; so the queue of tokens is part of the behaviour and not only a
//! buffer. What comes of the tokens is the business of the grammar.
//!
//! The text never holds `---`, since the frontmatter ends there: the start of a document need not
//! be recognised.

use std::collections::VecDeque;

use crate::cursor::{Cursor, is_break_or_end};
use crate::reason::YamlProblem;
use crate::token::{Fault, Kind, Mark, Step, Token};

/// A simple key stands on one line and has at most this many characters before its colon.
const MAX_SIMPLE_KEY: usize = 1024;

/// A token that turns out to be a key if a `:` follows on the same line.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    /// The token's number, counted from the beginning of the text.
    number: usize,
    /// Only a key can stand at its place.
    required: bool,
    mark: Mark,
}

/// The scanner: a cursor, the queue of tokens not yet taken, and the indentation.
#[derive(Debug)]
pub(crate) struct Scanner<'text> {
    pub(crate) cursor: Cursor<'text>,
    queue: VecDeque<Token>,
    taken: usize,
    finished: bool,
    /// The column of the innermost open collection; `None` outside all of them.
    pub(crate) indent: Option<usize>,
    outer_indents: Vec<Option<usize>>,
    /// A key, a list or a mapping can begin here.
    pub(crate) key_allowed: bool,
    candidate: Option<Candidate>,
}

impl<'text> Scanner<'text> {
    pub(crate) fn new(text: &'text [char]) -> Self {
        let cursor = Cursor::new(text);
        let start = Token::new(Kind::StreamStart, cursor.mark(), 0);
        Self {
            cursor,
            queue: VecDeque::from([start]),
            taken: 0,
            finished: false,
            indent: None,
            outer_indents: Vec::new(),
            key_allowed: true,
            candidate: None,
        }
    }

    /// The next token, once it is certain what it is and which comments precede it.
    pub(crate) fn front(&mut self) -> Step<&mut Token> {
        self.settle()?;
        if self.queue.is_empty() {
            let end = Token::new(Kind::StreamEnd, self.cursor.mark(), self.cursor.mark().line);
            self.queue.push_back(end);
        }
        let index = self.cursor.mark().index;
        self.queue
            .front_mut()
            .ok_or_else(|| Fault::yaml(YamlProblem::Structure, index))
    }

    /// Removes and returns the next token, with the comment that follows it.
    pub(crate) fn take(&mut self) -> Step<Token> {
        self.settle()?;
        if self.comment_follows_front() {
            while self.comment_is_second() {
                self.queue.remove(1);
                self.taken += 1;
                self.fetch()?;
            }
            if let Some(front) = self.queue.front_mut() {
                front.comment_after();
            }
        }
        self.taken += 1;
        let mark = self.cursor.mark();
        Ok(self
            .queue
            .pop_front()
            .unwrap_or_else(|| Token::new(Kind::StreamEnd, mark, mark.line)))
    }

    /// Looks ahead until the front token is certain, and attaches to it the comments before it.
    fn settle(&mut self) -> Step<()> {
        while self.needs_more()? {
            self.fetch()?;
        }
        let mut comments = self.drop_front_comment();
        while self.needs_more()? {
            self.fetch()?;
            comments |= self.drop_front_comment();
        }
        if comments && let Some(front) = self.queue.front_mut() {
            front.comment_before()?;
        }
        if !self.finished && self.queue.len() < 2 {
            self.fetch()?;
        }
        Ok(())
    }

    fn drop_front_comment(&mut self) -> bool {
        let is_comment = self
            .queue
            .front()
            .is_some_and(|token| token.kind == Kind::Comment);
        if is_comment {
            self.queue.pop_front();
            self.taken += 1;
        }
        is_comment
    }

    fn comment_is_second(&self) -> bool {
        self.queue
            .get(1)
            .is_some_and(|token| token.kind == Kind::Comment)
    }

    /// True when the second token is a comment that belongs to the first: for a scalar always, for
    /// a `:` when it stands on the same line.
    fn comment_follows_front(&self) -> bool {
        let (Some(front), Some(comment)) = (self.queue.front(), self.queue.get(1)) else {
            return false;
        };
        comment.kind == Kind::Comment
            && match front.kind {
                Kind::Scalar { .. } => true,
                Kind::Value => front.end_line == comment.start.line,
                _ => false,
            }
    }

    fn needs_more(&mut self) -> Step<bool> {
        if self.finished {
            return Ok(false);
        }
        if self.queue.is_empty() {
            return Ok(true);
        }
        self.drop_stale_candidate()?;
        Ok(self
            .candidate
            .is_some_and(|candidate| candidate.number == self.taken))
    }

    pub(crate) fn push(&mut self, kind: Kind, mark: Mark) {
        self.queue
            .push_back(Token::new(kind, mark, self.cursor.mark().line));
    }

    /// Moves to the next token, or over one comment: a `#` with its line and the empty lines
    /// after it, or empty lines alone. Returns where the comment begins.
    pub(crate) fn skip_to_token(&mut self) -> Option<Mark> {
        if self.cursor.mark().index == 0 && self.cursor.current() == '\u{feff}' {
            self.cursor.advance();
        }
        loop {
            self.cursor.skip_spaces();
            if self.cursor.current() == '#' {
                let mark = self.cursor.mark();
                while !is_break_or_end(self.cursor.current()) {
                    self.cursor.advance();
                }
                while self.cursor.line_break().is_some() {}
                self.key_allowed = true;
                return Some(mark);
            }
            self.cursor.line_break()?;
            self.key_allowed = true;
            if self.cursor.current() == '\n' {
                let mark = self.cursor.mark();
                // The indentation after empty lines is swallowed with them, tabs included, which
                // is how a tab can indent a key that follows an empty line.
                self.skip_blank_lines();
                return Some(mark);
            }
        }
    }

    fn skip_blank_lines(&mut self) {
        loop {
            if matches!(self.cursor.current(), ' ' | '\t') {
                self.cursor.advance();
            } else if self.cursor.line_break().is_none() {
                return;
            }
        }
    }

    pub(crate) fn drop_stale_candidate(&mut self) -> Step<()> {
        let here = self.cursor.mark();
        let stale = self.candidate.is_some_and(|candidate| {
            candidate.mark.line != here.line || here.index - candidate.mark.index > MAX_SIMPLE_KEY
        });
        if stale { self.drop_candidate() } else { Ok(()) }
    }

    pub(crate) fn drop_candidate(&mut self) -> Step<()> {
        match self.candidate.take() {
            Some(candidate) if candidate.required => {
                Err(Fault::yaml(YamlProblem::MissingColon, candidate.mark.index))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn save_candidate(&mut self) -> Step<()> {
        if self.key_allowed {
            self.drop_candidate()?;
            let mark = self.cursor.mark();
            self.candidate = Some(Candidate {
                number: self.taken + self.queue.len(),
                required: self.indent == Some(mark.column),
                mark,
            });
        }
        Ok(())
    }

    /// Ends the collections that are indented more than `column`.
    pub(crate) fn close_collections(&mut self, column: Option<usize>) {
        while self.indent > column {
            self.indent = self.outer_indents.pop().flatten();
            self.push(Kind::BlockEnd, self.cursor.mark());
        }
    }

    /// Opens a collection at `column`, unless one is open there or deeper already.
    pub(crate) fn open_collection(&mut self, column: usize) -> bool {
        let opens = self.indent < Some(column);
        if opens {
            self.outer_indents.push(self.indent);
            self.indent = Some(column);
        }
        opens
    }

    /// Turns the candidate, if there is one, into a key: its mark goes in front of it, and the
    /// beginning of a mapping where one begins.
    pub(crate) fn confirm_candidate(&mut self) -> bool {
        let Some(candidate) = self.candidate.take() else {
            return false;
        };
        let key = candidate.mark;
        let place = candidate
            .number
            .saturating_sub(self.taken)
            .min(self.queue.len());
        self.queue
            .insert(place, Token::new(Kind::Key, key, key.line));
        if self.open_collection(key.column) {
            self.queue
                .insert(place, Token::new(Kind::MappingStart, key, key.line));
        }
        true
    }

    /// Puts a token that is no single character at the end of the queue.
    pub(crate) fn append(&mut self, token: Token) {
        self.queue.push_back(token);
    }

    /// Puts the end of the text at the end of the queue: nothing is read after it.
    pub(crate) fn finish(&mut self, mark: Mark) {
        self.push(Kind::StreamEnd, mark);
        self.finished = true;
    }
}
