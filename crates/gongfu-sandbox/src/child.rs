//! The child: the program that becomes the sandbox.
//!
//! The server begins itself anew as this, before it has read a setting or made a thread. What to do
//! comes over a socket, which is also what it lives by: when the server is gone, so is its end of the
//! socket, and every process of the run ends.

#![expect(
    clippy::disallowed_methods,
    reason = "the child is a program of its own: it ends itself, and reads how it was begun"
)]

mod bubble;
pub(crate) mod call;
pub(crate) mod init;
mod kin;
mod lite;
mod lock;
mod memory;
mod outer;
mod priority;
mod space;
pub(crate) mod stage;
mod view;

use std::io;
use std::process::ExitCode;

use rustix::io::Errno;

use crate::plan::Step;
use crate::probe;

pub(crate) use outer::UNCERTAIN;
pub(crate) use priority::lower as lower_priority;

/// The argument by which a program is told to be the child.
pub(crate) const ARGUMENT: &str = "sandbox-child";

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

/// Is the child to its end, or a probe, if this program was begun as one.
///
/// Must be called before there is a second thread.
pub fn become_child() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next()?;
    if first == ARGUMENT {
        Some(outer::run())
    } else if first == bubble::ARGUMENT {
        Some(bubble::inside())
    } else {
        (first == probe::ARGUMENT).then(|| probe::process::run(arguments))
    }
}
