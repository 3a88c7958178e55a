//! The standard input and outputs of the child's processes.

use std::os::fd::OwnedFd;

use rustix::fs::{self, Mode, OFlags};
use rustix::io;
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

/// Makes this the standard input; `/dev/null` without one.
#[cfg(target_os = "linux")]
pub(super) fn set_input(input: Option<std::os::fd::BorrowedFd<'_>>) -> io::Result<()> {
    match input {
        Some(input) => dup2_stdin(input),
        None => dup2_stdin(null()?),
    }
}

/// Closes the input and the outputs, so that the reader of the output sees its end.
pub(crate) fn close() -> io::Result<()> {
    let null = null()?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)
}

fn null() -> io::Result<OwnedFd> {
    fs::open(c"/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
}
