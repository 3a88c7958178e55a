//! Commands: what stands between words.

use std::rc::Rc;

use super::cursor::{Cursor, begins_name, ends_word};
use super::redirection::Pending;
use super::syntax::{Command, Compound, Item, Joint, List, Part, Script, Simple, Word};
use super::{Unreadable, arithmetic};

/// Words that end what another one began.
const CLOSING: [&str; 8] = ["}", "then", "else", "elif", "fi", "do", "done", "esac"];
/// Reads commands from a text.
pub(super) struct Parser<'a> {
    pub(super) cursor: Cursor<'a>,
    /// Here-documents that begin at the next line.
    pub(super) pending: Vec<Pending>,
    pub(super) documents: Vec<Word>,
}

/// Reads a whole text.
pub(super) fn script(text: &str) -> Result<Script, Unreadable> {
    let mut parser = Parser {
        cursor: Cursor::new(text, 0, 0),
        pending: Vec::new(),
        documents: Vec::new(),
    };
    let list = parser.whole()?;
    Ok(Script {
        list,
        documents: parser.documents,
    })
}

impl Parser<'_> {
    /// Commands up to the end of the text.
    pub(super) fn whole(&mut self) -> Result<List, Unreadable> {
        let list = self.list()?;
        match self.cursor.peek() {
            None => Ok(list),
            Some(_) => Err(self.cursor.unexpected()),
        }
    }

    /// Commands up to what no command begins with; whoever called looks what that is.
    pub(super) fn list(&mut self) -> Result<List, Unreadable> {
        self.cursor.enter()?;
        let mut items = Vec::new();
        let mut joint = Joint::Then;
        loop {
            self.skip_lines()?;
            if joint == Joint::Then && self.is_over() {
                break;
            }
            let command = self.pipeline()?;
            self.skip_blanks();
            let next = self.joint();
            items.push(Item {
                joint,
                command,
                is_background: matches!(next, Some((_, true))),
            });
            match next {
                Some((next, _)) => joint = next,
                None => break,
            }
        }
        self.cursor.leave();
        Ok(items)
    }

    /// What joins the next command to the one before, and whether that is in the background.
    fn joint(&mut self) -> Option<(Joint, bool)> {
        let cursor = &mut self.cursor;
        match (cursor.peek()?, cursor.peek_second()) {
            (b';', Some(b';' | b'&')) => None,
            (b';', _) => {
                cursor.accept(b';');
                Some((Joint::Then, false))
            }
            (b'&', Some(b'&')) => {
                cursor.accept_all("&&");
                Some((Joint::And, false))
            }
            (b'&', _) => {
                cursor.accept(b'&');
                Some((Joint::Then, true))
            }
            (b'|', Some(b'|')) => {
                cursor.accept_all("||");
                Some((Joint::Or, false))
            }
            // It is gone over with what is read before the next command.
            (b'\n', _) => Some((Joint::Then, false)),
            _ => None,
        }
    }

    /// Whether no other command can come here.
    fn is_over(&mut self) -> bool {
        match self.cursor.peek() {
            None | Some(b')') => true,
            Some(b';') => matches!(self.cursor.peek_second(), Some(b';' | b'&')),
            Some(_) => CLOSING.iter().any(|word| self.is_reserved(word)),
        }
    }

    /// Whether this reserved word stands here.
    fn is_reserved(&mut self, word: &str) -> bool {
        let before = self.cursor.at;
        let is_it = self.cursor.accept_all(word) && self.cursor.peek().is_none_or(ends_word);
        self.cursor.at = before;
        is_it
    }

    /// Goes over a reserved word, if it stands here.
    fn accept_reserved(&mut self, word: &str) -> bool {
        self.skip_blanks();
        self.is_reserved(word) && self.cursor.accept_all(word)
    }

    /// Goes over a reserved word that ends what another one began.
    fn close(
        &mut self,
        from: usize,
        open: &'static str,
        word: &'static str,
    ) -> Result<(), Unreadable> {
        if self.accept_reserved(word) {
            return Ok(());
        }
        match self.cursor.peek() {
            None => Err(Unreadable::Unended {
                at: from,
                open,
                close: word,
            }),
            Some(_) => Err(self.cursor.unexpected()),
        }
    }

    pub(super) fn skip_blanks(&mut self) {
        while matches!(self.cursor.peek(), Some(b' ' | b'\t')) {
            self.cursor.at += 1;
        }
        if self.cursor.peek() == Some(b'#') {
            let rest = self.cursor.rest();
            self.cursor.at += rest.find('\n').unwrap_or(rest.len());
        }
    }

    /// Goes over empty lines; here-documents begin with one.
    pub(super) fn skip_lines(&mut self) -> Result<(), Unreadable> {
        loop {
            self.skip_blanks();
            if !self.cursor.accept(b'\n') {
                return Ok(());
            }
            self.read_documents()?;
        }
    }

    fn pipeline(&mut self) -> Result<Command, Unreadable> {
        let mut is_prefixed = false;
        loop {
            if self.accept_reserved("time") {
                while self.accept_reserved("-p") || self.accept_reserved("--") {}
            } else if !self.accept_reserved("!") {
                break;
            }
            is_prefixed = true;
        }
        // They may stand alone.
        if is_prefixed && matches!(self.cursor.peek(), None | Some(b'\n' | b';' | b'&' | b')')) {
            return Ok(Command::Simple(Simple::default()));
        }
        let mut commands = vec![self.command()?];
        loop {
            self.skip_blanks();
            let is_or = self.cursor.peek_second() == Some(b'|');
            if self.cursor.peek() != Some(b'|') || is_or {
                break;
            }
            self.cursor.accept(b'|');
            self.cursor.accept(b'&');
            self.skip_lines()?;
            commands.push(self.command()?);
        }
        match (commands.pop(), commands.is_empty()) {
            (Some(only), true) => Ok(only),
            (last, _) => {
                commands.extend(last);
                Ok(Command::Pipeline(commands))
            }
        }
    }

    fn command(&mut self) -> Result<Command, Unreadable> {
        self.cursor.enter()?;
        self.skip_blanks();
        let from = self.cursor.place();
        let compound = match self.cursor.peek() {
            Some(b'(') => Some(self.parenthesis(from)?),
            Some(b'{' | b'[' | b'a'..=b'z') => self.reserved(from)?,
            _ => None,
        };
        let command = match compound {
            Some(Begun::Compound(compound)) => Command::Compound(compound, self.redirections()?),
            Some(Begun::Function(name)) => self.body(name)?,
            None => self.simple()?,
        };
        self.cursor.leave();
        Ok(command)
    }

    fn parenthesis(&mut self, from: usize) -> Result<Begun, Unreadable> {
        if arithmetic::is_next(&mut self.cursor) {
            self.cursor.accept_all("((");
            let word = self.arithmetic(from, "((")?;
            return Ok(Begun::Compound(Compound::Arithmetic(word)));
        }
        self.cursor.accept(b'(');
        let list = self.subshell(from, "(")?;
        Ok(Begun::Compound(Compound::Subshell(list)))
    }

    /// Commands up to the parenthesis that ends them.
    pub(super) fn subshell(&mut self, from: usize, open: &'static str) -> Result<List, Unreadable> {
        // Those of the line outside begin once this has ended.
        let outside = std::mem::take(&mut self.pending);
        let list = self.list()?;
        let is_ended = self.cursor.accept(b')');
        let inside = std::mem::replace(&mut self.pending, outside);
        if is_ended && inside.is_empty() {
            return Ok(list);
        }
        if is_ended {
            // Nobody agrees where these begin.
            return Err(Unreadable::Unexpected {
                at: self.cursor.place(),
                found: ")".to_owned(),
            });
        }
        match self.cursor.peek() {
            None => Err(Unreadable::Unended {
                at: from,
                open,
                close: ")",
            }),
            Some(_) => Err(self.cursor.unexpected()),
        }
    }

    /// A command that begins with a reserved word, if one stands here.
    fn reserved(&mut self, from: usize) -> Result<Option<Begun>, Unreadable> {
        let compound = if self.accept_reserved("{") {
            let list = self.list()?;
            self.close(from, "{", "}")?;
            Compound::Group(list)
        } else if self.accept_reserved("[[") {
            Compound::Test(self.test(from)?)
        } else if self.accept_reserved("if") {
            self.conditional(from)?
        } else if self.accept_reserved("while") || self.accept_reserved("until") {
            let condition = self.list()?;
            Compound::While(condition, self.loop_body(from)?)
        } else if self.accept_reserved("for") {
            self.for_loop(from, true)?
        } else if self.accept_reserved("select") {
            self.for_loop(from, false)?
        } else if self.accept_reserved("case") {
            self.case(from)?
        } else if self.accept_reserved("coproc") {
            self.skip_blanks();
            Compound::Coprocess(Box::new(self.coprocess()?))
        } else if self.accept_reserved("function") {
            self.skip_blanks();
            let name = self.plain_name()?;
            self.skip_blanks();
            if self.cursor.accept(b'(') {
                self.skip_blanks();
                if !self.cursor.accept(b')') {
                    return Err(self.cursor.unexpected());
                }
            }
            return Ok(Some(Begun::Function(name)));
        } else {
            return Ok(None);
        };
        Ok(Some(Begun::Compound(compound)))
    }

    /// A coprocess: a command, or a name and a command that holds others.
    fn coprocess(&mut self) -> Result<Command, Unreadable> {
        let before = self.cursor.at;
        if self.cursor.peek().is_some_and(begins_name) && self.plain_name().is_ok() && {
            self.skip_blanks();
            let opens = ["{", "[[", "if", "while", "until", "for", "select", "case"];
            self.cursor.peek() == Some(b'(') || opens.iter().any(|word| self.is_reserved(word))
        } {
            return self.command();
        }
        self.cursor.at = before;
        self.command()
    }

    /// What a function does.
    pub(super) fn body(&mut self, name: String) -> Result<Command, Unreadable> {
        self.skip_lines()?;
        let body = self.command()?;
        match body {
            Command::Compound(..) => Ok(Command::Function(name, Rc::new(body))),
            _ => Err(self.cursor.unexpected()),
        }
    }

    /// A word that has nothing to be expanded.
    fn plain_name(&mut self) -> Result<String, Unreadable> {
        let word = self.word()?;
        plain(&word)
            .map(str::to_owned)
            .ok_or_else(|| self.cursor.unexpected())
    }

    fn conditional(&mut self, from: usize) -> Result<Compound, Unreadable> {
        let mut branches = Vec::new();
        loop {
            let condition = self.list()?;
            self.close(from, "if", "then")?;
            branches.push((condition, self.list()?));
            if self.accept_reserved("elif") {
                continue;
            }
            let otherwise = if self.accept_reserved("else") {
                self.list()?
            } else {
                List::new()
            };
            self.close(from, "if", "fi")?;
            return Ok(Compound::If(branches, otherwise));
        }
    }

    fn loop_body(&mut self, from: usize) -> Result<List, Unreadable> {
        self.close(from, "a loop", "do")?;
        let body = self.list()?;
        self.close(from, "do", "done")?;
        Ok(body)
    }

    fn for_loop(&mut self, from: usize, counts: bool) -> Result<Compound, Unreadable> {
        self.skip_blanks();
        if counts && arithmetic::is_next(&mut self.cursor) {
            self.cursor.accept_all("((");
            let word = self.arithmetic(from, "((")?;
            self.skip_blanks();
            self.cursor.accept(b';');
            self.skip_lines()?;
            let body = self.for_body(from)?;
            return Ok(Compound::Count(word, body));
        }
        let name = self.plain_name()?;
        self.skip_lines()?;
        let values = if self.accept_reserved("in") {
            let mut values = Vec::new();
            loop {
                self.skip_blanks();
                match self.cursor.peek() {
                    Some(b'\n' | b';') => break,
                    _ => values.push(self.word()?),
                }
            }
            Some(values)
        } else {
            None
        };
        self.skip_blanks();
        self.cursor.accept(b';');
        self.skip_lines()?;
        let body = self.for_body(from)?;
        Ok(Compound::For(name, values, body))
    }

    /// What a loop runs, in either of its forms.
    fn for_body(&mut self, from: usize) -> Result<List, Unreadable> {
        if self.accept_reserved("{") {
            let body = self.list()?;
            self.close(from, "{", "}")?;
            return Ok(body);
        }
        self.loop_body(from)
    }

    fn case(&mut self, from: usize) -> Result<Compound, Unreadable> {
        self.skip_blanks();
        let subject = self.word()?;
        self.skip_lines()?;
        if !self.accept_reserved("in") {
            return Err(self.cursor.unexpected());
        }
        let mut arms = Vec::new();
        loop {
            self.skip_lines()?;
            if self.accept_reserved("esac") {
                return Ok(Compound::Case(subject, arms));
            }
            if self.cursor.peek().is_none() {
                return Err(Unreadable::Unended {
                    at: from,
                    open: "case",
                    close: "esac",
                });
            }
            self.cursor.accept(b'(');
            let mut patterns = Vec::new();
            loop {
                self.skip_blanks();
                patterns.push(self.pattern()?);
                self.skip_blanks();
                if !self.cursor.accept(b'|') {
                    break;
                }
            }
            if !self.cursor.accept(b')') {
                return Err(self.cursor.unexpected());
            }
            let list = self.list()?;
            let end = [";;&", ";;", ";&"]
                .into_iter()
                .find(|end| self.cursor.accept_all(end));
            arms.push((patterns, list, end.is_some_and(|end| end != ";;")));
            if end.is_none() {
                self.close(from, "case", "esac")?;
                return Ok(Compound::Case(subject, arms));
            }
        }
    }
}

/// What a reserved word or a parenthesis begins.
enum Begun {
    Compound(Compound),
    /// A function; what it does comes next.
    Function(String),
}

/// The text of a word that is nothing but unquoted text.
pub(super) fn plain(word: &Word) -> Option<&str> {
    match word.as_slice() {
        [Part::Text(text)] => Some(text),
        _ => None,
    }
}
