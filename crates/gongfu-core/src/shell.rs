//! Shell text as a tree: what a command line would run, as `bash` reads it, and nothing of what it does.
//!
//! Made to be judged, not to be run: what isn't read here with certainty is an error, never a guess. The
//! time that it takes grows with the text, and nesting is bounded, so that no text holds up or ends who
//! reads it. It knows neither programs nor what they may do.
//!
//! Grammar: "Shell Command Language" of POSIX.1-2024, and what `bash` adds to it.

mod arithmetic;
mod cursor;
mod expansion;
mod parser;
mod quote;
mod redirection;
mod simple;
mod syntax;
#[cfg(test)]
mod tests;
mod word;

pub use syntax::{
    Assignment, Command, Compound, Item, Joint, List, Operation, Part, Redirection, Script, Simple,
    Value, Word,
};

/// The longest text that is read, in bytes.
pub const LONGEST: usize = 64 * 1024;
/// How deep one thing may stand in another.
pub const DEEPEST: usize = 64;

/// Why a text can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It is longer than [`LONGEST`].
    #[error(
        "the command has {0} bytes and {LONGEST} is the most that is read; put it into a file and run that"
    )]
    TooLong(usize),
    /// Things stand in one another deeper than [`DEEPEST`].
    #[error(
        "commands, quotes and expansions stand in one another more than {DEEPEST} deep at byte {0}; put the inner ones into a script"
    )]
    TooDeep(usize),
    /// It has a byte that no shell reads.
    #[error("there is a NUL at byte {0}; take it out")]
    Nul(usize),
    /// Something is begun and not ended.
    #[error("`{open}` at byte {at} is never ended by `{close}`")]
    Unended {
        /// Where it begins.
        at: usize,
        /// What begins it.
        open: &'static str,
        /// What would end it.
        close: &'static str,
    },
    /// Something stands where it can't.
    #[error("`{found}` at byte {at} can't stand there")]
    Unexpected {
        /// Where it stands.
        at: usize,
        /// What it is; empty at the end of the text.
        found: String,
    },
    /// The text ends before a command does.
    #[error("the command ends where more has to come")]
    Ended,
}

/// Reads a text.
///
/// # Errors
/// No shell would read it so, it is too long or too deep, or it isn't clear how it would be read.
pub fn parse(text: &str) -> Result<Script, Unreadable> {
    if text.len() > LONGEST {
        return Err(Unreadable::TooLong(text.len()));
    }
    if let Some(at) = memchr::memchr(0, text.as_bytes()) {
        return Err(Unreadable::Nul(at));
    }
    parser::script(text)
}
