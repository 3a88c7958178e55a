//! Errors of the child, each with the step that failed.

use std::io;

use rustix::io::Errno;

use crate::plan::Step;

/// A step that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) step: Step,
    /// The error number of the system.
    pub(crate) number: i32,
}

impl Failure {
    /// Adds the step to an error.
    pub(crate) fn at(step: Step) -> impl Fn(io::Error) -> Self {
        move |error| Self {
            step,
            number: error.raw_os_error().unwrap_or(libc::EIO),
        }
    }
}

/// Adds the step to an error number.
pub(crate) fn at(step: Step) -> impl Fn(Errno) -> Failure {
    move |error| Failure {
        step,
        number: error.raw_os_error(),
    }
}
