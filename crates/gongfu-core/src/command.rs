//! Decides whether a command runs, waits for a person, or is refused.
//!
//! It serves approval, the audit and errors that people understand. The sandbox alone decides what a
//! program can reach. So only the text is judged and no value is followed: with a list of programs, a
//! person is asked about a name that is only known at run time; without one, it is left to the sandbox.

mod arguments;
mod field;
mod judge;
mod path;
mod program;
#[cfg(test)]
mod tests;
mod wrapper;
mod writer;

use crate::shell::ParseError;
use field::Field;

/// The programs and folders that a command may use.
#[derive(Debug, Clone, Copy)]
pub struct Policy<'a> {
    /// The programs that need no approval; `None` for all that aren't refused by name.
    pub programs: Option<&'a [&'a str]>,
    /// The folder that a command starts in, as it sees it.
    pub folder: &'a str,
    /// The folders that may be written to, as it sees them.
    pub writable: &'a [&'a str],
    /// Its standard input, if that is text.
    pub input: Option<&'a str>,
}

/// The decision about a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It may run.
    Allow,
    /// It may run once a person has approved it.
    Ask(Reason),
    /// It is refused.
    Block(Reason),
}

/// Why a command needs approval or is refused. Each names the command that it is about.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// It isn't shell text, or is too long or too deeply nested.
    #[error("can't parse the command: {0}")]
    Unreadable(#[from] ParseError),
    /// It asks for more rights than it has.
    #[error(
        "`{0}` asks for more privileges, which a sandbox never grants; run the command without it"
    )]
    Privilege(String),
    /// It changes the system.
    #[error("`{0}` changes the system, which commands in a sandbox may not do")]
    System(String),
    /// It writes to a folder of the system.
    #[error(
        "`{program}` would write to {path}, which belongs to the system; write below {places} instead"
    )]
    Write {
        /// The program, or the operator of the shell.
        program: String,
        /// The file or folder.
        path: String,
        /// The writable folders.
        places: String,
    },
    /// It removes a folder and everything in it.
    #[error("`{program}` would remove {path} and everything in it; remove only files in {places}")]
    Removal {
        /// The program.
        program: String,
        /// The folder.
        path: String,
        /// The writable folders.
        places: String,
    },
    /// Too many programs run programs in it, or the same text too often.
    #[error("commands are nested too deeply; put them into a script and run that")]
    TooComplex,
    /// It isn't on the list of programs.
    #[error("`{0}` is not on the list of programs that run without approval")]
    Unlisted(String),
    /// It runs something that is only known at run time.
    #[error("`{0}` runs a program that is only known at run time; write its name out")]
    Dynamic(String),
    /// It removes something that is only known at run time.
    #[error("`{0}` removes a path that is only known at run time; write it out")]
    DynamicRemoval(String),
}

/// Judges a line for a shell.
pub fn judge_line(line: &str, policy: &Policy<'_>) -> Verdict {
    judge::verdict(policy, |judge| judge.text(line, true))
}

/// Judges a program with its arguments, which no shell reads.
pub fn judge_program(words: &[String], policy: &Policy<'_>) -> Verdict {
    let fields: Vec<Field> = words.iter().map(|word| Field::known(word)).collect();
    judge::verdict(policy, |judge| judge.program(&fields))
}
