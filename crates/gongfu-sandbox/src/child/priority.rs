//! How a program stands behind everybody else who waits for a processor: the server, which answers
//! others meanwhile, goes first.
//!
//! A control group holds a whole run to its share. Where there is none, each process stands behind by
//! itself, and where the system shares processors among sessions, each session does.

use std::io;

use rustix::process::getpriority_process;
#[cfg(target_os = "linux")]
use rustix::process::{Pid, getsid};

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

/// The sessions of a run whose share was lowered.
#[cfg(target_os = "linux")]
#[derive(Debug, Default)]
pub(super) struct Sessions {
    /// Nothing is to be done any more.
    is_done: bool,
}

#[cfg(target_os = "linux")]
impl Sessions {
    /// Of a run that a control group holds to its share already, if `is_held`.
    pub(super) fn new(is_held: bool) -> Self {
        Self { is_done: is_held }
    }

    /// Lowers the share of the session that a program has made, once it has, where the system shares
    /// processors among sessions (`sched(7)`, autogroups).
    pub(super) fn lower(&mut self, program: Pid) {
        use std::fs::OpenOptions;
        use std::io::Write as _;

        if self.is_done || getsid(Some(program)) != Ok(program) {
            return;
        }
        let path = format!("/proc/{}/autogroup", program.as_raw_nonzero());
        let file = OpenOptions::new().write(true).open(path);
        let lowered = file.and_then(|mut file| write!(file, "{NICE}"));
        // Only so many may be lowered in a second: then it is tried again.
        let again = io::ErrorKind::WouldBlock;
        self.is_done = lowered.map_or_else(|error| error.kind() != again, |()| true);
    }
}
