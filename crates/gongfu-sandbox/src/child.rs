//! The child: the program that becomes the sandbox.
//!
//! The server begins itself anew as this, before it has read a setting or made a thread. What to do
//! comes over a socket, which is also what it lives by: when the server is gone, so is its end of the
//! socket, and every process of the run ends.

#![cfg_attr(
    target_os = "linux",
    expect(
        clippy::disallowed_methods,
        reason = "the child is a program of its own: it ends itself, and reads how it was begun"
    )
)]

#[cfg(target_os = "macos")]
mod apple;
#[cfg(target_os = "linux")]
mod bubble;
#[cfg(target_os = "linux")]
pub(crate) mod call;
#[cfg(any(target_os = "macos", test))]
mod family;
#[cfg(target_os = "macos")]
mod first;
#[cfg(target_os = "linux")]
pub(crate) mod fork_server;
#[cfg(target_os = "linux")]
pub(crate) mod init;
#[cfg(target_os = "linux")]
pub(crate) mod keeper;
#[cfg(target_os = "linux")]
mod kin;
#[cfg(target_os = "linux")]
mod lite;
#[cfg(target_os = "linux")]
mod lock;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod outer;
mod priority;
#[cfg(target_os = "linux")]
mod session;
mod space;
#[cfg(target_os = "linux")]
pub(crate) mod stage;
#[cfg(target_os = "linux")]
mod view;
#[cfg(target_os = "macos")]
mod watcher;

use std::io;
use std::process::ExitCode;

use rustix::fs;
use rustix::io::Errno;

use crate::plan::Step;
#[cfg(target_os = "linux")]
use crate::probe;

#[cfg(target_os = "linux")]
pub(crate) use priority::lower as lower_priority;

/// The argument by which a program is told to be the child.
pub(crate) const ARGUMENT: &str = "sandbox-child";
/// The exit code of one that can't say whether every process of the run is dead.
pub(crate) const UNCERTAIN: u8 = 3;

/// A step that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) step: Step,
    pub(crate) number: i32,
}

impl Failure {
    /// Says of an error at which step it came.
    fn at(step: Step) -> impl Fn(io::Error) -> Self {
        move |error| Self {
            step,
            number: error.raw_os_error().unwrap_or(libc::EIO),
        }
    }
}

/// Says of an error of the system at which step it came.
fn at(step: Step) -> impl Fn(Errno) -> Failure {
    move |error| Failure {
        step,
        number: error.raw_os_error(),
    }
}

/// Lets go of the outputs: whoever reads what the program says must see its end.
fn close_outputs() -> rustix::io::Result<()> {
    let nothing = fs::open(
        c"/dev/null",
        fs::OFlags::RDWR | fs::OFlags::CLOEXEC,
        fs::Mode::empty(),
    )?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    rustix::stdio::dup2_stderr(&nothing)
}

/// Is the child to its end, or a probe, if this program was begun as one.
///
/// Must be called before there is a second thread.
#[cfg(target_os = "linux")]
pub fn become_child() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next()?;
    if first == ARGUMENT {
        session::begun_by(arguments.next().as_deref());
        Some(outer::run())
    } else if first == bubble::ARGUMENT {
        // bubblewrap has made a session by itself, whoever began it.
        Some(bubble::inside())
    } else if first == keeper::ARGUMENT {
        Some(keeper::run(arguments))
    } else if first == fork_server::ARGUMENT {
        Some(fork_server::run())
    } else {
        (first == probe::ARGUMENT).then(|| probe::process::run(arguments))
    }
}

/// Is the child to its end, if this program was begun as one.
///
/// Must be called before there is a second thread.
#[cfg(target_os = "macos")]
pub fn become_child() -> Option<ExitCode> {
    let first = std::env::args_os().nth(1)?;
    if first == ARGUMENT {
        Some(watcher::run())
    } else {
        (first == first::ARGUMENT).then(first::run)
    }
}
