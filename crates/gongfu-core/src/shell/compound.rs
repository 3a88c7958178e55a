//! Commands that contain others.

use super::ParseError;
use super::cursor::Cursor;
use super::parser::Parser;
use super::tree::{Command, Compound, List, Part, Word, plain};

/// Reserved words that begin a compound command or a function.
const OPENING: [&str; 9] = [
    "{", "[[", "if", "while", "until", "for", "select", "case", "function",
];
/// The longest arithmetic, in bytes: longer text in two parentheses is read as commands.
const MAX_ARITHMETIC: usize = 1024;

impl Parser<'_> {
    /// A compound command or a function, if one begins here.
    pub(super) fn compound(&mut self) -> Result<Option<Command>, ParseError> {
        let mut compound = Compound::default();
        if is_arithmetic(&self.cursor) {
            compound.words.push(vec![Part::Dynamic(self.arithmetic()?)]);
        } else if self.cursor.peek() == Some(b'(') {
            compound.body = self.within("(", Self::parentheses)?;
        } else {
            let Some(open) = OPENING.into_iter().find(|word| self.is_at_reserved(word)) else {
                return Ok(None);
            };
            if open == "function" {
                return self.within(open, Self::keyword_function).map(Some);
            }
            self.within(open, |parser| parser.reserved(open, &mut compound))?;
        }
        while let Some(redirection) = self.redirection()? {
            compound.redirections.push(redirection);
        }
        Ok(Some(Command::Compound(compound)))
    }

    /// A compound command that begins with a reserved word.
    fn reserved(&mut self, open: &str, compound: &mut Compound) -> Result<(), ParseError> {
        self.cursor.accept(open);
        match open {
            "{" => {
                compound.body = self.list()?;
                self.expect_reserved("}")
            }
            "[[" => self.test(&mut compound.words),
            "if" => self.conditional(&mut compound.body),
            "for" | "select" => self.for_loop(open, compound),
            "case" => self.case(compound),
            // `while` and `until`.
            _ => {
                compound.body = self.list()?;
                self.loop_body(&mut compound.body)
            }
        }
    }

    /// `( … )`
    pub(super) fn parentheses(&mut self) -> Result<List, ParseError> {
        self.cursor.expect("(")?;
        // Here-documents of the line outside begin after the parentheses.
        let outside = std::mem::take(&mut self.pending);
        let list = self.list()?;
        if !self.pending.is_empty() {
            // Shells disagree about where these begin.
            return Err(self.cursor.unexpected());
        }
        self.pending = outside;
        self.cursor.expect(")")?;
        Ok(list)
    }

    /// `(( … ))`: the commands in it.
    pub(super) fn arithmetic(&mut self) -> Result<List, ParseError> {
        self.cursor.expect("((")?;
        let list = self.enclosed("((", b')', true)?;
        self.cursor.expect(")")?;
        Ok(list)
    }

    /// The words of `[[ … ]]`.
    fn test(&mut self, words: &mut Vec<Word>) -> Result<(), ParseError> {
        loop {
            self.skip_lines()?;
            if self.accept_reserved("]]") {
                return Ok(());
            }
            if !self.cursor.is_at_word_end() || self.cursor.is_at_process() {
                words.push(self.word()?);
                continue;
            }
            // An operator, or a part of a regular expression.
            if self.cursor.character().is_none() {
                return Err(self.cursor.unexpected());
            }
        }
    }

    fn conditional(&mut self, body: &mut List) -> Result<(), ParseError> {
        loop {
            body.extend(self.list()?);
            self.expect_reserved("then")?;
            body.extend(self.list()?);
            if self.accept_reserved("elif") {
                continue;
            }
            if self.accept_reserved("else") {
                body.extend(self.list()?);
            }
            return self.expect_reserved("fi");
        }
    }

    fn loop_body(&mut self, body: &mut List) -> Result<(), ParseError> {
        self.expect_reserved("do")?;
        body.extend(self.list()?);
        self.expect_reserved("done")
    }

    fn for_loop(&mut self, open: &str, compound: &mut Compound) -> Result<(), ParseError> {
        self.skip_blanks();
        if open == "for" && is_arithmetic(&self.cursor) {
            compound.body = self.arithmetic()?;
        } else {
            compound.words.push(self.word()?);
            self.skip_lines()?;
            if self.accept_reserved("in") {
                self.skip_blanks();
                while !matches!(self.cursor.peek(), Some(b'\n' | b';')) {
                    compound.words.push(self.word()?);
                    self.skip_blanks();
                }
            }
        }
        self.skip_blanks();
        self.cursor.accept(";");
        self.skip_lines()?;
        if self.accept_reserved("{") {
            compound.body.extend(self.list()?);
            return self.expect_reserved("}");
        }
        self.loop_body(&mut compound.body)
    }

    fn case(&mut self, compound: &mut Compound) -> Result<(), ParseError> {
        self.skip_blanks();
        compound.words.push(self.word()?);
        self.skip_lines()?;
        self.expect_reserved("in")?;
        loop {
            self.skip_lines()?;
            if self.accept_reserved("esac") {
                return Ok(());
            }
            self.cursor.accept("(");
            loop {
                self.skip_blanks();
                compound.words.push(self.word()?);
                self.skip_blanks();
                if !self.cursor.accept("|") {
                    break;
                }
            }
            self.cursor.expect(")")?;
            compound.body.extend(self.list()?);
            let mut ends = [";;&", ";;", ";&"].into_iter();
            if !ends.any(|end| self.cursor.accept(end)) {
                return self.expect_reserved("esac");
            }
        }
    }

    /// `function name { … }`, with or without parentheses.
    fn keyword_function(&mut self) -> Result<Command, ParseError> {
        self.cursor.accept("function");
        self.skip_blanks();
        let word = self.word()?;
        let name = plain(&word).ok_or_else(|| self.cursor.unexpected())?;
        self.skip_blanks();
        if self.cursor.accept("(") {
            self.skip_blanks();
            self.cursor.expect(")")?;
        }
        self.function(name)
    }

    /// A function of this name, whose body comes next.
    pub(super) fn function(&mut self, name: &str) -> Result<Command, ParseError> {
        self.skip_lines()?;
        match self.compound()? {
            Some(Command::Compound(body)) => Ok(Command::Function(name.to_owned(), body)),
            _ => Err(self.cursor.unexpected()),
        }
    }
}

/// Returns true if two parentheses begin arithmetic, so both are closed at once. Only counts
/// parentheses, so that nothing is read twice.
pub(super) fn is_arithmetic(cursor: &Cursor<'_>) -> bool {
    let rest = cursor.rest();
    if !rest.starts_with("((") {
        return false;
    }
    let mut depth = 0_usize;
    for (index, byte) in rest.bytes().enumerate().take(MAX_ARITHMETIC) {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 2 => return rest.as_bytes().get(index + 1) == Some(&b')'),
            b')' => depth -= 1,
            _ => {}
        }
    }
    false
}
