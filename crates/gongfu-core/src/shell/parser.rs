//! Lists and pipelines, and what all parts of the grammar share.

use super::ParseError;
use super::cursor::Cursor;
use super::tree::{Command, List, Script, Word};

/// Reserved words that end a list.
const CLOSING: [&str; 8] = ["}", "then", "else", "elif", "fi", "do", "done", "esac"];

/// A here-document whose body begins at the next line.
pub(super) struct Pending {
    /// Its index among the documents.
    pub(super) index: usize,
    /// The line that ends it.
    pub(super) delimiter: String,
    /// True if nothing in it is expanded.
    pub(super) is_quoted: bool,
    /// True if tabs at the beginning of lines are removed.
    pub(super) strips_tabs: bool,
}

/// Reads commands from a text.
pub(super) struct Parser<'a> {
    pub(super) cursor: Cursor<'a>,
    /// Here-documents whose bodies begin at the next line.
    pub(super) pending: Vec<Pending>,
    pub(super) documents: Vec<Word>,
}

/// Reads a whole text.
pub(super) fn script(text: &str) -> Result<Script, ParseError> {
    let mut parser = Parser {
        cursor: Cursor::new(text),
        pending: Vec::new(),
        documents: Vec::new(),
    };
    Ok(Script {
        list: parser.whole()?,
        documents: parser.documents,
    })
}

impl Parser<'_> {
    /// Reads a construct; one that isn't closed is named by what opens it.
    pub(super) fn within<T>(
        &mut self,
        open: &'static str,
        read: impl FnOnce(&mut Self) -> Result<T, ParseError>,
    ) -> Result<T, ParseError> {
        self.cursor.enter(open)?;
        let construct = read(self)?;
        self.cursor.open.pop();
        Ok(construct)
    }

    /// Reads text that was taken out of this one, from `origin` on.
    pub(super) fn nested<T>(
        &mut self,
        text: &str,
        origin: usize,
        read: impl FnOnce(&mut Parser<'_>) -> Result<T, ParseError>,
    ) -> Result<T, ParseError> {
        let mut parser = Parser {
            cursor: Cursor::new(text),
            pending: Vec::new(),
            documents: std::mem::take(&mut self.documents),
        };
        parser.cursor.origin = self.cursor.origin + origin;
        parser.cursor.open = std::mem::take(&mut self.cursor.open);
        let outcome = read(&mut parser)?;
        self.documents = parser.documents;
        self.cursor.open = parser.cursor.open;
        Ok(outcome)
    }

    /// Commands up to the end of the text.
    pub(super) fn whole(&mut self) -> Result<List, ParseError> {
        let list = self.list()?;
        match self.cursor.peek() {
            None => Ok(list),
            Some(_) => Err(self.cursor.unexpected()),
        }
    }

    /// Commands up to something that begins none; the caller checks what that is.
    pub(super) fn list(&mut self) -> Result<List, ParseError> {
        let mut list = List::new();
        let mut needs_command = false;
        loop {
            self.skip_lines()?;
            if !needs_command && self.is_at_list_end() {
                return Ok(list);
            }
            list.push(self.pipeline()?);
            self.skip_blanks();
            needs_command = self.cursor.accept("&&") || self.cursor.accept("||");
            if needs_command || self.cursor.peek() == Some(b'\n') {
                continue;
            }
            if self.is_at_list_end() || !(self.cursor.accept(";") || self.cursor.accept("&")) {
                return Ok(list);
            }
        }
    }

    fn is_at_list_end(&self) -> bool {
        let rest = self.cursor.rest();
        rest.is_empty()
            || [")", ";;", ";&"].iter().any(|end| rest.starts_with(end))
            || CLOSING.iter().any(|word| self.is_at_reserved(word))
    }

    /// Returns true if this reserved word comes next.
    pub(super) fn is_at_reserved(&self, word: &str) -> bool {
        let mut end = Cursor::new(self.cursor.rest());
        end.accept(word) && end.is_at_word_end()
    }

    /// Skips a reserved word if it comes next.
    pub(super) fn accept_reserved(&mut self, word: &str) -> bool {
        self.skip_blanks();
        self.is_at_reserved(word) && self.cursor.accept(word)
    }

    /// Skips a reserved word, which has to come next.
    pub(super) fn expect_reserved(&mut self, word: &str) -> Result<(), ParseError> {
        if self.accept_reserved(word) {
            return Ok(());
        }
        Err(self.cursor.unexpected())
    }

    /// Skips blanks, line ends that a backslash removes, and a comment.
    pub(super) fn skip_blanks(&mut self) {
        while self.cursor.accept(" ") || self.cursor.accept("\t") || self.cursor.accept("\\\n") {}
        if self.cursor.peek() == Some(b'#') {
            self.cursor.skip_while(|byte| byte != b'\n');
        }
    }

    /// Skips empty lines and comments; reads the here-documents that begin at a line end.
    pub(super) fn skip_lines(&mut self) -> Result<(), ParseError> {
        self.skip_blanks();
        while self.cursor.accept("\n") {
            self.read_documents()?;
            self.skip_blanks();
        }
        Ok(())
    }

    /// The name of a variable; empty if none comes next.
    pub(super) fn name(&mut self) -> &str {
        if self.cursor.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return "";
        }
        self.cursor
            .skip_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    }

    fn pipeline(&mut self) -> Result<Command, ParseError> {
        while self.accept_reserved("time") || self.accept_reserved("!") {
            while self.accept_reserved("-p") || self.accept_reserved("--") {}
        }
        let first = self.command()?;
        let mut rest = List::new();
        loop {
            self.skip_blanks();
            if self.cursor.rest().starts_with("||") || !self.cursor.accept("|") {
                break;
            }
            self.cursor.accept("&");
            self.skip_lines()?;
            rest.push(self.command()?);
        }
        if rest.is_empty() {
            return Ok(first);
        }
        rest.insert(0, first);
        Ok(Command::Pipeline(rest))
    }

    fn command(&mut self) -> Result<Command, ParseError> {
        self.skip_blanks();
        match self.compound()? {
            Some(command) => Ok(command),
            None => self.simple(),
        }
    }
}
