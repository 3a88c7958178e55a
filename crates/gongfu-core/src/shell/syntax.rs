//! The tree of a shell text.

use std::rc::Rc;

/// A whole text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Script {
    /// What it runs.
    pub list: List,
    /// Its here-documents; [`Redirection::Document`] says which.
    pub documents: Vec<Word>,
}

/// Commands, one after the other.
pub type List = Vec<Item>;

/// A command of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// When it is run.
    pub joint: Joint,
    /// What is run.
    pub command: Command,
    /// Nobody waits for it (`&`).
    pub is_background: bool,
}

/// When a command is run, by how the one before it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joint {
    /// However it ended.
    Then,
    /// If it succeeded (`&&`).
    And,
    /// If it failed (`||`).
    Or,
}

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A program, a builtin or a function, with arguments.
    Simple(Simple),
    /// Several at once, each reading what the one before it says.
    Pipeline(Vec<Command>),
    /// One that holds others.
    Compound(Compound, Vec<Redirection>),
    /// What a name is to mean from here on.
    Function(String, Rc<Command>),
}

/// A command with arguments; assignments alone as well.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Simple {
    /// What is assigned before it.
    pub assignments: Vec<Assignment>,
    /// What is assigned behind it, where it is one that declares variables.
    pub declared: Vec<Assignment>,
    /// Its name and its arguments.
    pub words: Vec<Word>,
    /// From where it reads and where it writes.
    pub redirections: Vec<Redirection>,
}

/// A command that holds others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compound {
    /// `{ …; }`
    Group(List),
    /// `( … )`
    Subshell(List),
    /// `if`: conditions and what is run where they hold, then what is run where none does.
    If(Vec<(List, List)>, List),
    /// `while` and `until`.
    While(List, List),
    /// `for` and `select`: the variable, its values unless they are the arguments, and what is run.
    For(String, Option<Vec<Word>>, List),
    /// `for (( … ))`.
    Count(Word, List),
    /// `case`: patterns, what is run where one fits, and whether others may be run after it.
    Case(Word, Vec<(Vec<Word>, List, bool)>),
    /// `[[ … ]]`
    Test(Vec<Word>),
    /// `(( … ))`
    Arithmetic(Word),
    /// `coproc`
    Coprocess(Box<Command>),
}

/// `name=value`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// Which place of an array.
    pub subscript: Option<Word>,
    /// Whether it is added to what is there.
    pub adds: bool,
    /// What is assigned.
    pub value: Value,
}

/// What is assigned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A word.
    Word(Word),
    /// `( … )`
    Array(Vec<Word>),
}

/// From where a command reads or where it writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redirection {
    /// Reads a file.
    Read(Word),
    /// Writes a file, or makes one handle another.
    Write(Word),
    /// Reads a here-document, by its number.
    Document(usize),
    /// Reads a word.
    Text(Word),
    /// Makes one handle another: a number, or `-`.
    Duplicate(Word),
    /// Reads what another handle reads.
    Copy(Word),
    /// The same by another handle than standard input and standard output.
    Other(Box<Redirection>),
}

/// A word, before it is expanded.
pub type Word = Vec<Part>;

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Text outside of quotes.
    Text(String),
    /// Text in quotes, without them.
    Quoted(String),
    /// `$name`, `${name…}`
    Parameter {
        /// The name of the variable.
        name: String,
        /// What becomes of its value.
        operation: Operation,
        /// Whether an empty value is taken for none (`:`).
        has_colon: bool,
        /// Whether it stands in double quotes.
        is_quoted: bool,
    },
    /// `$( … )`
    Substitution {
        /// What is run.
        list: List,
        /// Whether it stands in double quotes.
        is_quoted: bool,
    },
    /// `<( … )` and `>( … )`
    Process(List),
    /// `$(( … ))`
    Arithmetic(Word),
    /// A pattern with others in it: `@( … )`.
    Pattern(Word),
}

/// What becomes of the value of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Nothing.
    None,
    /// `${name:-word}`: another value where there is none.
    Default(Word),
    /// `${name:=word}`: it is assigned as well.
    Assign(Word),
    /// `${name:+word}`: another value where there is one.
    Alternative(Word),
    /// `${name:?word}`: an error where there is none.
    Check(Word),
    /// `${name[subscript]}`
    Element(Word),
    /// Anything else, with the words in it.
    Other(Vec<Word>),
}
