//! Reads plain and quoted scalars. Their text comes out as Python would hold it, since lengths and
//! duplicate keys depend on it. What a scalar is for is not its business.

use crate::cursor::{END, is_blank_or_end, is_break};
use crate::reason::{CrashCause, YamlProblem};
use crate::scanner::Scanner;
use crate::token::{Fault, Kind, Step, Text, Token};

/// The largest code point.
const LAST_CODE_POINT: u32 = 0x0010_ffff;

impl Scanner<'_> {
    /// Reads an unquoted value, which may go on over several lines.
    pub(crate) fn scan_plain(&mut self) -> Token {
        let start = self.cursor.mark();
        let mut end_line = start.line;
        let least_column = self.indent.map_or(0, |column| column + 1);
        let mut text = Text::new();
        let mut between = Vec::new();
        loop {
            if self.cursor.current() == '#' || !self.plain_goes_on() {
                break;
            }
            self.key_allowed = false;
            text.append(&mut between);
            while self.plain_goes_on() {
                text.push(u32::from(self.cursor.current()));
                self.cursor.advance();
            }
            end_line = self.cursor.mark().line;
            let Some(spaces) = self.plain_spaces() else {
                break;
            };
            between = spaces;
            if between.is_empty()
                || self.cursor.current() == '#'
                || self.cursor.column() < least_column
            {
                break;
            }
        }
        let mut token = Token::new(Kind::Scalar { text, plain: true }, start, end_line);
        if between.first() == Some(&u32::from('\n')) {
            // Empty lines after the value count as a comment that follows it.
            token.comment_after();
        }
        token
    }

    fn plain_goes_on(&self) -> bool {
        match self.cursor.current() {
            ':' => !is_blank_or_end(self.cursor.ahead(1)),
            character => !is_blank_or_end(character),
        }
    }

    /// Moves over the white space after a piece of a plain value and returns what it stands for;
    /// `None` when the document ends there.
    fn plain_spaces(&mut self) -> Option<Text> {
        let spaces = self.cursor.skip_spaces();
        let Some(first) = self.cursor.line_break() else {
            return Some(vec![u32::from(' '); spaces]);
        };
        self.key_allowed = true;
        if self.cursor.at_document_end() {
            return None;
        }
        let mut breaks = Text::new();
        loop {
            if self.cursor.skip_spaces() > 0 {
                continue;
            }
            let Some(character) = self.cursor.line_break() else {
                break;
            };
            breaks.push(u32::from(character));
            if self.cursor.at_document_end() {
                return None;
            }
        }
        Some(folded(first, breaks))
    }

    /// Reads a value in quotation marks.
    pub(crate) fn scan_quoted(&mut self, quote: char) -> Step<Token> {
        let start = self.cursor.mark();
        let mut text = Text::new();
        self.cursor.advance();
        loop {
            let character = self.cursor.current();
            match character {
                END => {
                    return Err(Fault::yaml(YamlProblem::UnclosedQuote, start.index));
                }
                ' ' | '\t' => self.quoted_spaces(&mut text)?,
                _ if is_break(character) => self.quoted_spaces(&mut text)?,
                '\'' if quote == '\'' && self.cursor.ahead(1) == '\'' => {
                    text.push(u32::from('\''));
                    self.cursor.advance_by(2);
                }
                '\\' if quote == '"' => self.escape(&mut text)?,
                _ => {
                    self.cursor.advance();
                    if character == quote {
                        break;
                    }
                    text.push(u32::from(character));
                }
            }
        }
        let end_line = self.cursor.mark().line;
        Ok(Token::new(
            Kind::Scalar { text, plain: false },
            start,
            end_line,
        ))
    }

    fn quoted_spaces(&mut self, text: &mut Text) -> Step<()> {
        let mut spaces = Text::new();
        while matches!(self.cursor.current(), ' ' | '\t') {
            spaces.push(u32::from(self.cursor.current()));
            self.cursor.advance();
        }
        if let Some(first) = self.cursor.line_break() {
            let breaks = self.quoted_breaks()?;
            text.append(&mut folded(first, breaks));
        } else {
            text.append(&mut spaces);
        }
        Ok(())
    }

    /// Moves to the first character of the next line that has one.
    fn quoted_breaks(&mut self) -> Step<Text> {
        let mut breaks = Text::new();
        loop {
            if self.cursor.at_document_end() {
                return Err(Fault::yaml(
                    YamlProblem::DocumentEndInQuotes,
                    self.cursor.mark().index,
                ));
            }
            while matches!(self.cursor.current(), ' ' | '\t') {
                self.cursor.advance();
            }
            match self.cursor.line_break() {
                Some(character) => breaks.push(u32::from(character)),
                None => return Ok(breaks),
            }
        }
    }

    fn escape(&mut self, text: &mut Text) -> Step<()> {
        let place = self.cursor.mark().index;
        self.cursor.advance();
        let character = self.cursor.current();
        let digits = match character {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ if is_break(character) => {
                self.cursor.line_break();
                text.append(&mut self.quoted_breaks()?);
                return Ok(());
            }
            _ => {
                let Some(meaning) = escape_meaning(character) else {
                    return Err(Fault::yaml(YamlProblem::UnknownEscape { character }, place));
                };
                text.push(u32::from(meaning));
                self.cursor.advance();
                return Ok(());
            }
        };
        self.cursor.advance();
        let mut code = 0_u32;
        for _ in 0..digits {
            let Some(digit) = self.cursor.current().to_digit(16) else {
                return Err(Fault::yaml(YamlProblem::ShortEscape, place));
            };
            code = code << 4 | digit;
            self.cursor.advance();
        }
        if code > LAST_CODE_POINT {
            return Err(Fault::crash(CrashCause::EscapeOutOfRange, place));
        }
        text.push(code);
        Ok(())
    }
}

/// Folds a line break and the empty lines after it, as inside a value over several lines.
fn folded(first: char, mut breaks: Text) -> Text {
    if first != '\n' {
        breaks.insert(0, u32::from(first));
    } else if breaks.is_empty() {
        breaks.push(u32::from(' '));
    }
    breaks
}

const fn escape_meaning(character: char) -> Option<char> {
    Some(match character {
        '0' => '\0',
        'a' => '\u{7}',
        'b' => '\u{8}',
        't' | '\t' => '\t',
        'n' => '\n',
        'v' => '\u{b}',
        'f' => '\u{c}',
        'r' => '\r',
        'e' => '\u{1b}',
        ' ' | '"' | '/' | '\\' => character,
        'N' => '\u{85}',
        '_' => '\u{a0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        _ => return None,
    })
}
