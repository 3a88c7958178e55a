//! How a program stands behind everybody else who waits for a processor: the server, which answers
//! others meanwhile, goes first.
//!
//! A control group holds a whole run to its share. Where there is none, each process stands behind by
//! itself, and where the system shares processors among sessions, each session does.

#[cfg(target_os = "linux")]
use std::ffi::OsStr;
#[cfg(target_os = "linux")]
use std::fmt;
#[cfg(target_os = "linux")]
use std::fs::File;
use std::io;
#[cfg(target_os = "linux")]
use std::io::Write as _;
#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::getpriority_process;
#[cfg(target_os = "linux")]
use rustix::process::{Pid, getsid, setpgid, setsid};

#[cfg(target_os = "linux")]
use super::call;
#[cfg(target_os = "linux")]
use crate::plan::Grouped;

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

/// The argument by which a child is told that the fork server has begun it.
#[cfg(target_os = "linux")]
pub(super) const FORK_SERVER: &str = "of-fork-server";

/// Whether this is of the fork server's session, which stands behind others already.
#[cfg(target_os = "linux")]
static IS_OF_FORK_SERVER: AtomicBool = AtomicBool::new(false);

/// Takes the argument by which this child was told who began it, if it was.
#[cfg(target_os = "linux")]
pub(super) fn begun_by(argument: Option<&OsStr>) {
    let is_it = argument == Some(OsStr::new(FORK_SERVER));
    IS_OF_FORK_SERVER.store(is_it, Ordering::Relaxed);
}

/// Whether the fork server has begun this.
#[cfg(target_os = "linux")]
fn is_of_fork_server() -> bool {
    IS_OF_FORK_SERVER.load(Ordering::Relaxed)
}

/// Parts from the session of the server, and from its terminal with it, to be one that watches.
///
/// Where the system shares processors among sessions, who watches mustn't use up what is the server's;
/// with control groups they have a share of their own, and those of the fork server have its share.
#[cfg(target_os = "linux")]
pub(super) fn part(grouped: Option<Grouped>) {
    let is_apart = grouped.is_some_and(|grouped| grouped.processors);
    if !is_apart && !is_of_fork_server() {
        let _ = setsid();
    }
}

/// Begins a group of processes that has no terminal; a session as well, unless this is of one already
/// that was made for runs.
#[cfg(target_os = "linux")]
pub(super) fn begin_group() -> rustix::io::Result<()> {
    if is_of_fork_server() {
        setpgid(None, None)
    } else {
        setsid().map(drop)
    }
}

/// The session of a run, whose share is lowered once it is there.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(super) struct Session {
    /// Nothing is to be done any more.
    is_done: bool,
}

#[cfg(target_os = "linux")]
impl Session {
    /// Of a run that is in this control group.
    pub(super) fn new(grouped: Option<Grouped>) -> Self {
        let is_held = grouped.is_some_and(|grouped| grouped.processors);
        Self {
            is_done: is_held || is_of_fork_server(),
        }
    }

    /// Lowers its share once the program has made it. Only so many may be lowered in a second: then it
    /// is tried again with the next call.
    pub(super) fn lower(&mut self, program: Pid) {
        if self.is_done || getsid(Some(program)) != Ok(program) {
            return;
        }
        let again = io::ErrorKind::WouldBlock;
        self.is_done = lower_session(program.as_raw_nonzero())
            .map_or_else(|error| error.kind() != again, |()| true);
    }
}

/// Lowers the share of a process's session, where the system shares processors among sessions
/// (`sched(7)`, autogroups).
///
/// # Errors
/// There is no such thing, or it is too soon after another one.
#[cfg(target_os = "linux")]
pub(super) fn lower_session(process: impl fmt::Display) -> io::Result<()> {
    let path = format!("/proc/{process}/autogroup");
    let mut file = File::options().write(true).open(path)?;
    write!(file, "{NICE}")
}
