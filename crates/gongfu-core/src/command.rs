//! What becomes of a command before it is run: it is let pass, a person is asked, or it is refused.
//!
//! This is for approval, for the audit and for errors that can be understood; what a program may reach is
//! the business of the sandbox alone, and nothing here makes that weaker or stronger (spec, "Command
//! policy"). A line is read as a shell reads it, and followed as far as its text tells what it does:
//! variables, functions, wrappers and shells in shells. What isn't known before it runs is never taken
//! for harmless.

mod brace;
mod builtin;
mod call;
mod compound;
mod field;
mod finder;
mod folder;
mod hook;
mod judge;
mod known;
mod later;
mod option;
mod place;
mod program;
mod shells;
mod simple;
mod state;
#[cfg(test)]
mod tests;
mod variable;
mod wrapper;
mod written;

use crate::shell::Unreadable;

/// What may be run, and where.
#[derive(Debug, Clone, Copy)]
pub struct Policy<'a> {
    /// The programs that need no approval; `None` for all that aren't refused by name.
    pub programs: Option<&'a [&'a str]>,
    /// The folder that a command starts in, as it sees it.
    pub folder: &'a str,
    /// The folders that may be written to, as it sees them.
    pub writable: &'a [&'a str],
    /// What it reads from standard input, if that is known.
    pub input: Option<&'a str>,
}

/// What becomes of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It may run.
    Allow,
    /// It may run once a person has said so.
    Ask(Reason),
    /// It is refused.
    Block(Reason),
}

/// Why a command isn't simply run. Each names the command that it is about.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// No shell reads it, or not with certainty.
    #[error("the command can't be read: {0}")]
    Unreadable(#[from] Unreadable),
    /// It asks for more rights than it has.
    #[error(
        "`{0}` asks for more rights, and nothing in a sandbox gets any; run the command without it"
    )]
    Privilege(String),
    /// It changes the system.
    #[error("`{0}` changes the system that it runs on, which no command in a sandbox may")]
    System(String),
    /// It writes to a folder of the system.
    #[error(
        "`{program}` would write to {path}, which is a part of the system; write below {places} instead"
    )]
    Written {
        /// The program, or the operator of the shell.
        program: String,
        /// Where.
        path: String,
        /// Where it may.
        places: String,
    },
    /// It removes a folder with all that is in it.
    #[error(
        "`{program}` would remove {path} with all that is in it; remove only what lies in {places}"
    )]
    Removed {
        /// The program.
        program: String,
        /// What.
        path: String,
        /// Where it may.
        places: String,
    },
    /// It does so much that nobody follows it.
    #[error("the command runs more than {0} commands; put them into a script and run that")]
    Long(usize),
    /// It isn't one of those that need no approval.
    #[error("`{0}` isn't one of the programs that run without approval")]
    Unlisted(String),
    /// What it runs is known only when it runs.
    #[error("what `{0}` runs is known only when it runs; write the name of the program out")]
    Dynamic(String),
    /// What it removes is known only when it runs.
    #[error("what `{0}` removes is known only when it runs; write the path out")]
    Removal(String),
    /// It runs what another program says.
    #[error("`{0}` runs what it reads from another program; put it into a script and run that")]
    Input(String),
}

/// Judges a line, as it would be given to a shell.
pub fn judge_line(line: &str, policy: &Policy<'_>) -> Verdict {
    judge::line(line, policy)
}

/// Judges a program with its arguments, which no shell sees.
pub fn judge_program(words: &[String], policy: &Policy<'_>) -> Verdict {
    judge::program(words, policy)
}
