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
    /// What separates words that aren't quoted, where that is another than blanks.
    separators: Separators,
}

/// What separates words that aren't quoted.
#[derive(Default, Clone)]
enum Separators {
    /// Blanks.
    #[default]
    Blanks,
    /// These.
    These(String),
    /// Nobody knows.
    Unknown,
}

impl Separators {
    fn of(state: &State) -> Self {
        match state.single("IFS") {
            Known::Value(text) if text == " \t\n" => Self::Blanks,
            Known::Value(text) => Self::These(text),
            _ => Self::Unknown,
        }
    }
}

impl Fields {
    fn new(state: &State) -> Self {
        Self {
            separators: Separators::of(state),
            ..Self::default()
        }
    }

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
        let separators = self.separators.clone();
        for character in text.chars() {
            let is_blank = matches!(character, ' ' | '\t' | '\n');
            let separates = match &separators {
                Separators::Blanks => is_blank,
                Separators::These(these) => these.contains(character),
                Separators::Unknown => {
                    self.open().push_unknown();
                    return;
                }
            };
            if separates && !is_blank {
                // There is a word before it, if an empty one.
                self.open();
                self.close();
            } else if separates {
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
        let mut fields = Fields::new(state);
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
            "" => match state.single("HOME") {
                Known::Value(home) => fields.open().push(&home),
                _ => fields.open().push_unknown(),
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
                has_colon,
                is_quoted,
            } => {
                let adds = self.parameter(name, operation, *has_colon, *is_quoted, state)?;
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
                // What it reads is what another one writes.
                let outer = std::mem::replace(&mut self.input, Input::Program);
                let outcome = self.apart(list, state);
                self.input = outer;
                outcome?;
                fields.open().push("/dev/fd/63");
            }
            Part::Arithmetic(word) => {
                let word = self.one(word, state)?;
                self.calculated(&word, state)?;
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
        has_colon: bool,
        is_quoted: bool,
        state: &mut State,
    ) -> Result<Adds, Reason> {
        if let Operation::Element(subscript) = operation {
            return self.element(name, subscript, is_quoted, state);
        }
        let value = match name {
            "@" | "*" if *operation == Operation::None => {
                return Ok(match (&state.arguments, name, is_quoted) {
                    (Some(all), "*", true) => joined(all, state).map_or(Adds::Unknown, Adds::Text),
                    (Some(all), _, true) => Adds::Fields(all.to_vec()),
                    (Some(all), _, false) => Adds::Fields(split(all, state)),
                    (None, ..) => Adds::Unknown,
                });
            }
            "0" => state.single("0"),
            // Some number.
            "$" => Known::Value("1".to_owned()),
            _ if name.bytes().all(|byte| byte.is_ascii_digit()) => argument(name, state),
            _ if name.len() == 1 && !name.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
                Known::Nothing
            }
            _ => state.single(name),
        };
        if !has_colon
            && value == Known::Value(String::new())
            && let Operation::Alternative(word) | Operation::Default(word) = operation
        {
            // What is set may be empty.
            let may_be_set =
                state.may_be_set(name) || name.starts_with(|next: char| !next.is_alphabetic());
            let is_used = may_be_set || matches!(operation, Operation::Default(_));
            return if is_used {
                self.instead(word, is_quoted, state)
            } else {
                self.one(word, state)?;
                Ok(Adds::Text(String::new()))
            };
        }
        Ok(match (operation, value) {
            (Operation::Check(word), known) => {
                self.one(word, state)?;
                match known {
                    Known::Value(text) if !text.is_empty() => Adds::Text(text),
                    _ => Adds::Unknown,
                }
            }
            (Operation::None, Known::Value(text)) => Adds::Text(text),
            (Operation::None, _) => Adds::Unknown,
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
                    _ => Adds::Unknown,
                }
            }
            (Operation::Alternative(word) | Operation::Element(word), _) => {
                self.one(word, state)?;
                Adds::Unknown
            }
            (Operation::Other(words), _) => {
                if name == "@"
                    && let Some(all) = behind(words, state)
                {
                    return Ok(Adds::Fields(if is_quoted {
                        all
                    } else {
                        split(&all, state)
                    }));
                }
                for word in words {
                    let field = self.one(word, state)?;
                    if matches!(field.head.as_str(), "@P") {
                        // What it holds is expanded once more.
                        let value = match state.single(name) {
                            Known::Value(text) => Field::known(&text),
                            _ => Field::unknown(),
                        };
                        self.expanded(name, &value, state)?;
                    }
                    self.calculated(&field, state)?;
                }
                Adds::Unknown
            }
        })
    }

    /// `${name[subscript]}`
    fn element(
        &mut self,
        name: &str,
        subscript: &Word,
        is_quoted: bool,
        state: &mut State,
    ) -> Result<Adds, Reason> {
        let subscript = self.one(subscript, state)?;
        self.calculated(&subscript, state)?;
        let Some(all) = state.array(name) else {
            return Ok(match subscript.head.as_str() {
                "0" | "@" | "*" if subscript.tail.is_none() => match state.single(name) {
                    Known::Value(text) => Adds::Text(text),
                    _ => Adds::Unknown,
                },
                _ => Adds::Unknown,
            });
        };
        if subscript.tail.is_some() {
            return Ok(Adds::Unknown);
        }
        // Where something isn't known it may be several words, so that numbers aren't known either.
        let is_whole = all.iter().all(|field| field.text().is_some());
        let index = subscript.head.parse::<usize>().ok().filter(|_| is_whole);
        Ok(match (subscript.head.as_str(), is_quoted, index) {
            ("*", true, _) => joined(&all, state).map_or(Adds::Unknown, Adds::Text),
            ("@", true, _) => Adds::Fields(all.to_vec()),
            ("@" | "*", false, _) => Adds::Fields(split(&all, state)),
            (_, _, Some(index)) => {
                let text = all.get(index).map_or(Some(""), Field::text);
                text.map_or(Adds::Unknown, |text| Adds::Text(text.to_owned()))
            }
            _ => Adds::Unknown,
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
        let mut fields = Fields::new(state);
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
    let texts = texts?;
    // It may mean something else.
    if texts
        .first()
        .is_some_and(|name| state.function(name).is_some() || state.alias(name).is_some())
    {
        return None;
    }
    match texts.as_slice() {
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
        // No function is meant.
        ["which", name] | ["type", "-P", name] if !name.contains('/') => {
            Some(format!("/usr/bin/{name}"))
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

/// The arguments from a number on: `${@:2}`.
fn behind(words: &[Word], state: &State) -> Option<Vec<Field>> {
    let [word] = words else { return None };
    let [Part::Text(text)] = word.as_slice() else {
        return None;
    };
    let from = text.strip_prefix(':')?.trim().parse::<usize>().ok()?;
    let all = state.arguments.as_deref()?;
    all.get(from.checked_sub(1)?..).map(<[Field]>::to_vec)
}

/// Arguments that aren't quoted: blanks in them separate words.
fn split(all: &[Field], state: &State) -> Vec<Field> {
    let mut fields = Fields::new(state);
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
fn joined(fields: &[Field], state: &State) -> Option<String> {
    let texts: Option<Vec<&str>> = fields.iter().map(Field::text).collect();
    let between = match state.single("IFS") {
        Known::Value(text) => text.chars().next().map(String::from).unwrap_or_default(),
        _ if fields.len() < 2 => String::new(),
        _ => return None,
    };
    texts.map(|texts| texts.join(&between))
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
