//! The priority of runs: the server, which answers requests, goes first.
//!
//! A control group limits a whole run to its share. Without one, each process has a low priority of its own,
//! and all of them share the session of the fork server.

use std::io;

use rustix::process::getpriority_process;

use super::syscall;

/// The niceness of a run: a tenth of the default share.
pub(super) const NICE: i32 = 10;
/// The time slice, in nanoseconds. It is longer than the default, so that processes that ask for less go first
/// (since Linux 6.12).
const TIME_SLICE: u64 = 6_000_000;

/// Gives this thread and its children at least this niceness.
///
/// # Errors
/// The system doesn't allow it.
pub(crate) fn lower(nice: i32) -> io::Result<()> {
    let now = getpriority_process(None)?;
    syscall::set_batch(now.max(nice), TIME_SLICE)
}
