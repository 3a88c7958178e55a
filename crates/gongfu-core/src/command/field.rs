//! What words become once they are expanded, as far as that is known before they are.

use super::Reason;
use super::brace::{self, Token};
use super::judge::{Input, Judge};
use super::place;
use super::state::{Known, State};
use crate::shell::{Compound, Item, List, Operation, Part, Word};

/// A word after it is expanded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Field {
    /// What it begins with.
    pub(super) head: String,
    /// What it ends with, where something in between isn't known; `None` where all of it is.
    pub(super) tail: Option<String>,
    /// It is a pattern for names of files.
    pub(super) is_pattern: bool,
}

impl Field {
    /// One that is known.
    pub(super) fn known(text: &str) -> Self {
        Self {
            head: text.to_owned(),
            ..Self::default()
        }
    }

    /// One of which nothing is known.
    pub(super) fn unknown() -> Self {
        Self {
            tail: Some(String::new()),
            ..Self::default()
        }
    }

    /// The whole of it, where that is known.
    pub(super) fn text(&self) -> Option<&str> {
        (self.tail.is_none() && !self.is_pattern).then_some(self.head.as_str())
    }

    /// Adds text.
    pub(super) fn push(&mut self, text: &str) {
        self.tail.as_mut().unwrap_or(&mut self.head).push_str(text);
    }

    /// Adds what isn't known.
    pub(super) fn push_unknown(&mut self) {
        self.tail = Some(String::new());
    }

    /// Adds another one.
    pub(super) fn push_field(&mut self, other: &Self) {
        self.push(&other.head);
        if let Some(tail) = &other.tail {
            self.push_unknown();
            self.push(tail);
        }
    }

    /// What it costs to look at it, in bytes.
    pub(super) fn size(&self) -> usize {
        16 + self.head.len() + self.tail.as_ref().map_or(0, String::len)
    }

    /// How it is shown to people.
    pub(super) fn shown(&self) -> String {
        match &self.tail {
            None => self.head.clone(),
            Some(tail) => format!("{}$…{tail}", self.head),
        }
    }
}

/// What a value adds to a word.
enum Adds {
    Text(String),
    Unknown,
    /// Several words.
    Fields(Vec<Field>),
}

/// Fields in the making.
#[derive(Default)]
struct Fields {
    done: Vec<Field>,
    open: Option<Field>,
    /// Words aren't split.
    is_one: bool,
}

impl Fields {
    fn open(&mut self) -> &mut Field {
        self.open.get_or_insert_with(Field::default)
    }

    fn close(&mut self) {
        self.done.extend(self.open.take());
    }

    /// Adds what isn't quoted: blanks in it separate words.
    fn split(&mut self, text: &str) {
        if self.is_one {
            self.open().push(text);
            return;
        }
        for character in text.chars() {
            if matches!(character, ' ' | '\t' | '\n') {
                self.close();
            } else {
                self.open().push(character.encode_utf8(&mut [0; 4]));
            }
        }
    }

    fn extend(&mut self, fields: Vec<Field>) {
        let mut fields = fields.into_iter();
        if let Some(first) = fields.next() {
            self.open().push_field(&first);
        }
        for field in fields {
            self.close();
            self.open = Some(field);
        }
    }
}

impl Judge<'_> {
    /// The words that a word becomes. What is run for it is judged.
    pub(super) fn fields(&mut self, word: &Word, state: &mut State) -> Result<Vec<Field>, Reason> {
        let tokens = brace::tokens(word);
        let mut fields = Fields::default();
        self.charge(tokens.len())?;
        if let Some(words) = brace::words(&tokens) {
            self.charge(words.iter().map(Vec::len).sum())?;
            for word in words {
                self.expand(&word, state, &mut fields)?;
                fields.close();
            }
        } else {
            // What is in it is run all the same.
            self.expand(&tokens, state, &mut Fields::default())?;
            fields.done.push(Field::unknown());
        }
        fields.close();
        self.charge(fields.done.iter().map(Field::size).sum())?;
        Ok(fields.done)
    }

    /// The one word that a word becomes where words aren't split.
    pub(super) fn one(&mut self, word: &Word, state: &mut State) -> Result<Field, Reason> {
        let tokens = brace::tokens(word);
        let mut fields = Fields {
            is_one: true,
            ..Fields::default()
        };
        self.charge(tokens.len())?;
        self.expand(&tokens, state, &mut fields)?;
        fields.close();
        self.charge(fields.done.iter().map(Field::size).sum())?;
        let mut all = fields.done.into_iter();
        let mut one = all.next().unwrap_or_default();
        for field in all {
            one.push(" ");
            one.push_field(&field);
        }
        Ok(one)
    }

    fn expand(
        &mut self,
        tokens: &[Token<'_>],
        state: &mut State,
        fields: &mut Fields,
    ) -> Result<(), Reason> {
        let mut tokens = tokens.iter().enumerate();
        while let Some((index, token)) = tokens.next() {
            match token {
                Token::Character('~') if index == 0 => {
                    let mut name = String::new();
                    let mut rest = tokens.clone();
                    while let Some((_, Token::Character(character))) = rest.next() {
                        if *character == '/' {
                            break;
                        }
                        name.push(*character);
                        tokens.next();
                    }
                    Self::home(&name, state, fields);
                }
                Token::Character(character) => {
                    let field = fields.open();
                    // A bracket alone is none.
                    let is_closed = *character == ']' && field.head.contains('[');
                    field.is_pattern |= is_closed || matches!(character, '*' | '?');
                    field.push(character.encode_utf8(&mut [0; 4]));
                }
                Token::Part(part) => self.part(part, state, fields)?,
            }
        }
        Ok(())
    }

    /// What a tilde with a name means.
    fn home(name: &str, state: &State, fields: &mut Fields) {
        match name {
            "" => match state.variable("HOME") {
                Known::Value(home) => fields.open().push(&home),
                Known::Nothing => fields.open().push_unknown(),
            },
            "+" => match &state.folder {
                Some(folder) => fields.open().push(folder),
                None => fields.open().push_unknown(),
            },
            "-" => fields.open().push_unknown(),
            "root" => fields.open().push("/root"),
            name => fields.open().push(&format!("/home/{name}")),
        }
    }

    fn part(&mut self, part: &Part, state: &mut State, fields: &mut Fields) -> Result<(), Reason> {
        match part {
            Part::Text(text) | Part::Quoted(text) => fields.open().push(text),
            Part::Parameter {
                name,
                operation,
                is_quoted,
            } => {
                let adds = self.parameter(name, operation, *is_quoted, state)?;
                add(adds, *is_quoted, fields);
            }
            Part::Substitution { list, is_quoted } => {
                let adds = match self.said(list, state)? {
                    Some(text) => Adds::Text(text),
                    None => Adds::Unknown,
                };
                add(adds, *is_quoted, fields);
            }
            Part::Process(list) => {
                self.apart(list, state)?;
                fields.open().push("/dev/fd/63");
            }
            Part::Arithmetic(word) => {
                self.one(word, state)?;
                fields.open().push_unknown();
            }
            Part::Pattern(word) => {
                self.one(word, state)?;
                let field = fields.open();
                field.is_pattern = true;
                field.push_unknown();
            }
        }
        Ok(())
    }

    fn parameter(
        &mut self,
        name: &str,
        operation: &Operation,
        is_quoted: bool,
        state: &mut State,
    ) -> Result<Adds, Reason> {
        let value = match name {
            "@" | "*" if *operation == Operation::None => {
                return Ok(match (&state.arguments, name, is_quoted) {
                    (Some(all), "*", true) => joined(all).map_or(Adds::Unknown, Adds::Text),
                    (Some(all), _, true) => Adds::Fields(all.to_vec()),
                    (Some(all), _, false) => Adds::Fields(split(all)),
                    (None, ..) => Adds::Unknown,
                });
            }
            "0" => state.variable("0"),
            _ if name.bytes().all(|byte| byte.is_ascii_digit()) => argument(name, state),
            _ if name.len() == 1 && !name.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
                Known::Nothing
            }
            _ => state.variable(name),
        };
        Ok(match (operation, value) {
            (Operation::None, Known::Value(text)) => Adds::Text(text),
            (Operation::None, Known::Nothing) => Adds::Unknown,
            (Operation::Default(word), Known::Value(text)) if text.is_empty() => {
                self.instead(word, is_quoted, state)?
            }
            (Operation::Assign(word), Known::Value(text)) if text.is_empty() => {
                let field = self.one(word, state)?;
                let known = field
                    .text()
                    .map_or(Known::Nothing, |text| Known::Value(text.to_owned()));
                state.set(name, known);
                self.instead(word, is_quoted, state)?
            }
            (Operation::Alternative(word), Known::Value(text)) => {
                let adds = self.instead(word, is_quoted, state)?;
                if text.is_empty() {
                    Adds::Text(String::new())
                } else {
                    adds
                }
            }
            (Operation::Default(word) | Operation::Assign(word), known) => {
                // What isn't used isn't run, but nobody has to know that.
                self.one(word, state)?;
                match known {
                    Known::Value(text) => Adds::Text(text),
                    Known::Nothing => Adds::Unknown,
                }
            }
            (Operation::Alternative(word), Known::Nothing) => {
                self.one(word, state)?;
                Adds::Unknown
            }
            (Operation::Other(words), _) => {
                for word in words {
                    self.one(word, state)?;
                }
                Adds::Unknown
            }
        })
    }

    /// What stands for a value that isn't there: it is split where it isn't quoted, like a value.
    fn instead(&mut self, word: &Word, is_quoted: bool, state: &mut State) -> Result<Adds, Reason> {
        let all = if is_quoted {
            vec![self.one(word, state)?]
        } else {
            self.split_field(word, state)?
        };
        Ok(Adds::Fields(all))
    }

    /// The words that a word becomes where blanks in it separate them.
    fn split_field(&mut self, word: &Word, state: &mut State) -> Result<Vec<Field>, Reason> {
        let mut fields = Fields::default();
        for part in word {
            match part {
                Part::Text(text) => fields.split(text),
                part => self.part(part, state, &mut fields)?,
            }
        }
        fields.close();
        Ok(fields.done)
    }

    /// What a list says, where that is plain; the list is judged.
    fn said(&mut self, list: &List, state: &State) -> Result<Option<String>, Reason> {
        let mut inner = state.clone();
        if list.is_empty() {
            return Ok(Some(String::new()));
        }
        if let [Item { command, .. }] = list.as_slice() {
            let said = self.heard(command, &mut inner)?;
            return Ok(said.map(|text| text.trim_end_matches('\n').to_owned()));
        }
        self.list(list, &mut inner)?;
        Ok(None)
    }

    /// Judges what runs in a shell of its own.
    pub(super) fn apart(&mut self, list: &List, state: &State) -> Result<(), Reason> {
        let mut inner = state.clone();
        self.list(list, &mut inner)
    }

    /// Judges what is in a compound command that is no list.
    pub(super) fn words(&mut self, words: &[Word], state: &mut State) -> Result<(), Reason> {
        for word in words {
            self.one(word, state)?;
        }
        Ok(())
    }
}

fn add(adds: Adds, is_quoted: bool, fields: &mut Fields) {
    match adds {
        Adds::Text(text) if is_quoted => fields.open().push(&text),
        Adds::Text(text) => fields.split(&text),
        Adds::Unknown => fields.open().push_unknown(),
        Adds::Fields(all) => fields.extend(all),
    }
}

/// What a command says, where its arguments tell.
pub(super) fn saying(fields: &[Field], input: &Input, state: &State) -> Option<String> {
    let texts: Option<Vec<&str>> = fields.iter().map(Field::text).collect();
    match texts?.as_slice() {
        ["echo", "-n", rest @ ..] | ["echo", rest @ ..]
            if rest
                .iter()
                .all(|text| !text.contains('\\') && !text.starts_with('-')) =>
        {
            Some(rest.join(" "))
        }
        ["printf", text] | ["printf", "%s" | "%s\\n", text] if !text.contains(['%', '\\']) => {
            Some((*text).to_owned())
        }
        ["which", name] | ["command", "-v", name] | ["type", "-p" | "-P", name] => {
            Some((*name).to_owned())
        }
        ["pwd"] => state.folder.clone(),
        ["mktemp", ..] => Some("/tmp/tmp.made".to_owned()),
        ["basename", path] => Some(place::last_name(path).to_owned()),
        ["cat"] => match input {
            Input::Text(text) => Some(text.clone()),
            Input::Program | Input::File => None,
        },
        _ => None,
    }
}

/// Arguments that aren't quoted: blanks in them separate words.
fn split(all: &[Field]) -> Vec<Field> {
    let mut fields = Fields::default();
    for field in all {
        fields.split(&field.head);
        if let Some(tail) = &field.tail {
            fields.open().push_unknown();
            fields.split(tail);
        }
        fields.close();
    }
    fields.done
}

/// All arguments in one text.
fn joined(fields: &[Field]) -> Option<String> {
    let texts: Option<Vec<&str>> = fields.iter().map(Field::text).collect();
    texts.map(|texts| texts.join(" "))
}

/// What is known of an argument by its number.
fn argument(number: &str, state: &State) -> Known {
    let all = state.arguments.as_ref();
    let index = number
        .parse::<usize>()
        .ok()
        .and_then(|number| number.checked_sub(1));
    match (all, index) {
        (Some(all), Some(index)) => match all.get(index) {
            Some(field) => field
                .text()
                .map_or(Known::Nothing, |text| Known::Value(text.to_owned())),
            None => Known::Value(String::new()),
        },
        _ => Known::Nothing,
    }
}

/// Whether a compound command runs in a shell of its own.
pub(super) fn is_apart(compound: &Compound) -> bool {
    matches!(compound, Compound::Subshell(_) | Compound::Coprocess(_))
}
