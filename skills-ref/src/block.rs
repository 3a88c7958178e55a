//! Reads block scalars, literal (`|`) and folded (`>`), and the comments that they swallow. What a
//! scalar is for is not its business.

use crate::cursor::{END, is_break_or_end};
use crate::reason::YamlProblem;
use crate::scanner::Scanner;
use crate::token::{Fault, Kind, Mark, Step, Text, Token};

/// The rule by which the line breaks at the end of a block scalar are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chomping {
    Strip,
    Clip,
    Keep,
}

impl Scanner<'_> {
    /// Reads a literal (`|`) or folded (`>`) block.
    pub(crate) fn scan_block(&mut self, is_folded: bool) -> Step<Token> {
        let start = self.cursor.mark();
        self.cursor.advance();
        let (chomping, increment) = self.block_header(start)?;
        let header_comment = self.block_header_comment(start)?;

        let outside = self.indent.map_or(0, |column| column + 1);
        let least_column = outside.max(usize::from(increment.is_some()));
        let (mut breaks, column, mut end_line) = match increment {
            None => {
                let (breaks, deepest, end_line) = self.block_indentation();
                (breaks, deepest.max(least_column), end_line)
            }
            Some(increment) => {
                let column = least_column + increment - 1;
                let (breaks, end_line) = self.block_breaks(column);
                (breaks, column, end_line)
            }
        };

        let mut text = Text::new();
        let mut last_break = None;
        while self.cursor.column() == column && self.cursor.current() != END {
            text.append(&mut breaks);
            let begins_blank = matches!(self.cursor.current(), ' ' | '\t');
            while !is_break_or_end(self.cursor.current()) {
                text.push(u32::from(self.cursor.current()));
                self.cursor.advance();
            }
            last_break = self.cursor.line_break();
            (breaks, end_line) = self.block_breaks(column);
            if least_column == 0 && self.cursor.column() == 0 && self.cursor.at_document_end() {
                break;
            }
            if self.cursor.column() != column || self.cursor.current() == END {
                break;
            }
            let folds = is_folded
                && last_break == Some('\n')
                && !begins_blank
                && !matches!(self.cursor.current(), ' ' | '\t');
            if !folds {
                text.extend(last_break.map(u32::from));
            } else if breaks.is_empty() {
                text.push(u32::from(' '));
            }
        }

        let trailing = chomping != Chomping::Keep && !breaks.is_empty();
        if chomping != Chomping::Strip {
            text.extend(last_break.map(u32::from));
        }
        if chomping == Chomping::Keep {
            text.append(&mut breaks);
        }
        let mut token = Token::new(Kind::Scalar { text, plain: false }, start, end_line);
        if header_comment {
            token.comment_before()?;
        }
        if trailing {
            // Empty lines at the end and every comment after them become one comment.
            while self.skip_to_token().is_some() {}
            token.comment_after();
        }
        Ok(token)
    }

    fn block_header(&mut self, start: Mark) -> Step<(Chomping, Option<usize>)> {
        let mut chomping = Chomping::Clip;
        let mut increment = None;
        // One sign and one digit at most, in either order.
        let (mut sign_seen, mut digit_seen) = (false, false);
        loop {
            match self.cursor.current() {
                sign @ ('+' | '-') if !sign_seen => {
                    sign_seen = true;
                    chomping = if sign == '+' {
                        Chomping::Keep
                    } else {
                        Chomping::Strip
                    };
                }
                digit @ '1'..='9' if !digit_seen => {
                    digit_seen = true;
                    increment = digit.to_digit(10).and_then(|digit| digit.try_into().ok());
                }
                _ => break,
            }
            self.cursor.advance();
        }
        let next = self.cursor.current();
        if next == ' ' || is_break_or_end(next) {
            Ok((chomping, increment))
        } else {
            Err(Fault::yaml(YamlProblem::BlockScalarHeader, start.index))
        }
    }

    /// Moves to the line after the header; tells whether the header has a comment.
    fn block_header_comment(&mut self, start: Mark) -> Step<bool> {
        self.cursor.skip_spaces();
        let comment = self.cursor.current() == '#';
        if comment {
            while !is_break_or_end(self.cursor.current()) {
                self.cursor.advance();
            }
        }
        if !is_break_or_end(self.cursor.current()) {
            return Err(Fault::yaml(YamlProblem::BlockScalarHeader, start.index));
        }
        self.cursor.line_break();
        Ok(comment)
    }

    /// Moves over the empty lines at the beginning of a block; also returns the largest column
    /// that its spaces reach.
    fn block_indentation(&mut self) -> (Text, usize, usize) {
        let mut breaks = Text::new();
        let mut deepest = 0;
        let mut end_line = self.cursor.mark().line;
        loop {
            if self.cursor.skip_spaces() > 0 {
                deepest = deepest.max(self.cursor.column());
            }
            let Some(character) = self.cursor.line_break() else {
                return (breaks, deepest, end_line);
            };
            breaks.push(u32::from(character));
            end_line = self.cursor.mark().line;
        }
    }

    /// Moves over empty lines, and over the indentation of the line after them.
    fn block_breaks(&mut self, column: usize) -> (Text, usize) {
        let mut breaks = Text::new();
        let mut end_line = self.cursor.mark().line;
        loop {
            while self.cursor.column() < column && self.cursor.current() == ' ' {
                self.cursor.advance();
            }
            let Some(character) = self.cursor.line_break() else {
                return (breaks, end_line);
            };
            breaks.push(u32::from(character));
            end_line = self.cursor.mark().line;
        }
    }
}
