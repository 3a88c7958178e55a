//! Reads shell text into a tree of the commands that it would run.
//!
//! The tree is for judging, not for running: it has every command, word, redirection and here-document of
//! the text, and nothing about when or how often each is run. Text that can't be read with certainty is
//! an error, never a guess. Time is linear in the length of the text and nesting is bounded, so hostile
//! text neither hangs nor overflows the stack.
//!
//! Grammar: "Shell Command Language" of POSIX.1-2024 with the extensions of `bash`.

mod compound;
mod cursor;
mod expansion;
mod parser;
mod redirection;
mod simple;
#[cfg(test)]
mod tests;
mod tree;
mod word;

pub use tree::{Command, Compound, List, Operator, Part, Redirection, Script, Simple, Word};

/// The longest text that is read, in bytes.
pub const MAX_BYTES: usize = 64 * 1024;
/// The deepest nesting of quotes, expansions and compound commands.
pub const MAX_DEPTH: usize = 64;

/// Why a text can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// It is longer than [`MAX_BYTES`].
    #[error(
        "the command has {0} bytes, more than the limit of {MAX_BYTES}; put it into a file and run that"
    )]
    TooLong(usize),
    /// It nests deeper than [`MAX_DEPTH`].
    #[error(
        "commands, quotes and expansions are nested more than {MAX_DEPTH} deep at byte {0}; put the inner ones into a script"
    )]
    TooDeep(usize),
    /// It has a NUL, which no shell accepts.
    #[error("there is a NUL at byte {0}; remove it")]
    Nul(usize),
    /// A construct is opened and never closed.
    #[error("`{open}` at byte {at} is never closed")]
    Unclosed {
        /// The position of its opening.
        at: usize,
        /// Its opening.
        open: &'static str,
    },
    /// The grammar doesn't allow this here.
    #[error("`{found}` at byte {at} is not allowed there")]
    Unexpected {
        /// Its position.
        at: usize,
        /// The offending text.
        found: String,
    },
    /// The text ends in the middle of a command.
    #[error("the command is incomplete")]
    UnexpectedEnd,
}

/// Reads a text.
///
/// # Errors
/// It has a syntax error, is too long, or is nested too deeply.
pub fn parse(text: &str) -> Result<Script, ParseError> {
    if text.len() > MAX_BYTES {
        return Err(ParseError::TooLong(text.len()));
    }
    if let Some(at) = memchr::memchr(0, text.as_bytes()) {
        return Err(ParseError::Nul(at));
    }
    parser::script(text)
}
