//! Which session a run is of, and what share of the processors that session has: Linux shares them among
//! sessions first (`sched(7)`, autogroups), unless control groups do.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, getsid, setpgid, setsid};

use super::priority::NICE;
use crate::plan::Grouped;

/// The argument by which a child is told that the fork server has begun it.
pub(super) const FORK_SERVER: &str = "of-fork-server";

/// Whether this is of the fork server's session, which stands behind others already.
static IS_OF_FORK_SERVER: AtomicBool = AtomicBool::new(false);

/// Takes the argument by which this child was told who began it, if it was.
pub(super) fn begun_by(argument: Option<&OsStr>) {
    let is_it = argument == Some(OsStr::new(FORK_SERVER));
    IS_OF_FORK_SERVER.store(is_it, Ordering::Relaxed);
}

/// Whether the fork server has begun this.
fn is_of_fork_server() -> bool {
    IS_OF_FORK_SERVER.load(Ordering::Relaxed)
}

/// Parts from the session of the server, and from its terminal with it, to be one that watches.
///
/// Where the system shares processors among sessions, who watches mustn't use up what is the server's;
/// with control groups they have a share of their own, and those of the fork server have its share.
pub(super) fn part(grouped: Option<Grouped>) {
    let is_apart = grouped.is_some_and(|grouped| grouped.processors);
    if !is_apart && !is_of_fork_server() {
        let _ = setsid();
    }
}

/// Begins a group of processes that has no terminal; a session as well, unless this is of one already
/// that was made for runs.
pub(super) fn begin_group() -> rustix::io::Result<()> {
    if is_of_fork_server() {
        setpgid(None, None)
    } else {
        setsid().map(drop)
    }
}

/// The session of a run, whose share is lowered once it is there.
#[derive(Debug)]
pub(super) struct Session {
    /// Nothing is to be done any more.
    is_done: bool,
}

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
        self.is_done =
            lower(program.as_raw_nonzero()).map_or_else(|error| error.kind() != again, |()| true);
    }
}

/// Lowers the share of a process's session.
///
/// # Errors
/// There is no such thing, or it is too soon after another one.
pub(super) fn lower(process: impl fmt::Display) -> io::Result<()> {
    let path = format!("/proc/{process}/autogroup");
    let mut file = File::options().write(true).open(path)?;
    write!(file, "{NICE}")
}
