//! How a program stands behind everybody else who waits for a processor: the server, which answers
//! others meanwhile, goes first.
//!
//! A control group holds a whole run to its share. Where there is none, each process stands behind by
//! itself, and on Linux its session (`session.rs`).

use std::io;

use rustix::process::getpriority_process;

#[cfg(target_os = "linux")]
use super::call;

/// How nice a program is to others: a tenth of what those get that are as they were begun.
pub(super) const NICE: i32 = 10;
/// For how long it goes on before it is looked who else waits, in nanoseconds: others ask for less, so
/// they needn't wait for that. It is what Linux 6.12 and later ask; others have no such thing.
#[cfg(target_os = "linux")]
const SLICE: u64 = 6_000_000;

/// Has this thread, and all that it begins, stand behind others; at least as far as this niceness says.
///
/// # Errors
/// The system doesn't allow it.
#[cfg(target_os = "linux")]
pub(crate) fn lower(nice: i32) -> io::Result<()> {
    let now = getpriority_process(None)?;
    call::set_batch(now.max(nice), SLICE)
}

/// Has this program, and all that it begins, stand behind others; at least as far as this niceness says.
///
/// # Errors
/// The system doesn't allow it.
#[cfg(target_os = "macos")]
pub(super) fn lower(nice: i32) -> io::Result<()> {
    let now = getpriority_process(None)?;
    Ok(rustix::process::setpriority_process(None, now.max(nice))?)
}
