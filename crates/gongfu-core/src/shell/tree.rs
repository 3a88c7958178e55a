//! The tree of a shell text.

/// A whole text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// Its commands.
    pub list: List,
    /// The bodies of its here-documents, indexed by [`Operator::Document`].
    pub documents: Vec<Word>,
}

/// Commands in the order of the text, however they are joined.
pub type List = Vec<Command>;

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A program, builtin or function with its arguments.
    Simple(Simple),
    /// Commands joined by `|`.
    Pipeline(List),
    /// A group, subshell, condition, loop or test.
    Compound(Compound),
    /// A function definition: its name and its body.
    Function(String, Compound),
}

/// A command without commands in it, apart from those in its words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Simple {
    /// Its assignments, before and behind its name.
    pub assignments: Vec<Word>,
    /// Its name and arguments.
    pub words: Vec<Word>,
    /// Its redirections.
    pub redirections: Vec<Redirection>,
}

/// A command that contains others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Compound {
    /// Words outside of its commands: values of a loop, patterns, a test, arithmetic.
    pub words: Vec<Word>,
    /// All of its commands: conditions and branches alike.
    pub body: List,
    /// Its redirections.
    pub redirections: Vec<Redirection>,
}

/// A redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirection {
    /// Its effect.
    pub operator: Operator,
    /// Its operand; empty for a here-document.
    pub target: Word,
}

/// The effect of a redirection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// Writes a file.
    Write,
    /// Reads standard input from a file.
    Read,
    /// Reads standard input from a word (`<<<`).
    Text,
    /// Reads standard input from the here-document with this index.
    Document(usize),
    /// Changes another descriptor without writing a file.
    Other,
}

/// A word before it is expanded.
pub type Word = Vec<Part>;

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Text outside of quotes.
    Text(String),
    /// Text in quotes, without them.
    Quoted(String),
    /// An expansion or a nested pattern, with the commands in it: its value is only known at run time.
    Dynamic(List),
}

/// Adds unquoted text to a word.
pub(super) fn push_text(word: &mut Word, text: &str) {
    match word.last_mut() {
        _ if text.is_empty() => {}
        Some(Part::Text(last)) => last.push_str(text),
        _ => word.push(Part::Text(text.to_owned())),
    }
}

/// The commands in the expansions of a word.
pub(super) fn commands_in(word: Word) -> List {
    let lists = word.into_iter().filter_map(|part| match part {
        Part::Dynamic(list) => Some(list),
        Part::Text(_) | Part::Quoted(_) => None,
    });
    lists.flatten().collect()
}

/// The text of a word that is unquoted text and nothing else.
pub(super) fn plain(word: &Word) -> Option<&str> {
    match word.as_slice() {
        [Part::Text(text)] => Some(text),
        _ => None,
    }
}
