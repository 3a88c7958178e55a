//! Lists and kills all descendants of this process when there is no PID namespace.
//!
//! This process is a subreaper: a descendant whose parent ends becomes its child, so none of them ever gets
//! away, and as long as there is one it has a child.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};

use super::usage;
use super::watch::Reaper;

/// The time for which descendants are stopped before they are killed, and the time for which they are killed.
/// Mostly it takes a few milliseconds, but nothing else would ever end them, however busy they keep the machine.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);
const KILL_TIMEOUT: Duration = Duration::from_mins(10);

/// A descendant of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Descendant {
    pub(super) number: u32,
    /// When it started: another process of this number started at another time.
    start: u64,
    is_stopped: bool,
    has_ended: bool,
}

/// Lists all descendants of this process.
///
/// # Errors
/// Processes can't be listed.
pub(super) fn all() -> io::Result<Vec<Descendant>> {
    let mut children: BTreeMap<u32, Vec<Descendant>> = BTreeMap::new();
    for number in usage::all_processes()? {
        if let Some((parent, child)) = read(number) {
            children.entry(parent).or_default().push(child);
        }
    }
    let mut all = Vec::new();
    let mut parents = vec![getpid().as_raw_nonzero().get().unsigned_abs()];
    let mut seen = BTreeSet::new();
    while let Some(parent) = parents.pop() {
        // The files were read one after the other, so they need not form a tree.
        if !seen.insert(parent) {
            continue;
        }
        for child in children.remove(&parent).unwrap_or_default() {
            parents.push(child.number);
            all.push(child);
        }
    }
    Ok(all)
}

/// Reads a process and the number of its parent (`proc_pid_stat(5)`).
fn read(number: u32) -> Option<(u32, Descendant)> {
    let text = fs::read(format!("/proc/{number}/stat")).ok()?;
    // Its name may contain any bytes, and is in parentheses.
    let after = text.iter().rposition(|byte| *byte == b')')?;
    let text = std::str::from_utf8(text.get(after + 1..)?).ok()?;
    let fields: Vec<&str> = text.split_whitespace().collect();
    let state = *fields.first()?;
    let threads: u64 = fields.get(17)?.parse().ok()?;
    let process = Descendant {
        number,
        start: fields.get(19)?.parse().ok()?,
        // A process that waits for its vfork child ("D") can't be stopped, and does nothing either.
        is_stopped: matches!(state, "T" | "t" | "D" | "Z" | "X"),
        // Its first thread may have ended before others.
        has_ended: matches!(state, "Z" | "X") && threads < 2,
    };
    Some((fields.get(1)?.parse().ok()?, process))
}

impl Descendant {
    /// Sends a signal to this very process, and to no other that has its number by now.
    fn signal(self, signal: Signal) {
        let number = i32::try_from(self.number).ok().and_then(Pid::from_raw);
        let Some(handle) = number.and_then(|number| pidfd_open(number, PidfdFlags::empty()).ok())
        else {
            return;
        };
        if read(self.number).is_some_and(|(_, found)| found.start == self.start) {
            let _ = pidfd_send_signal(&handle, signal);
        }
    }
}

/// Kills all descendants; returns whether none is left for certain.
///
/// They are stopped first, so that none of them forks while others are killed.
pub(super) fn kill_all(reaper: &mut Reaper) -> bool {
    let start = Instant::now();
    while start.elapsed() < KILL_TIMEOUT {
        if !reaper.reap() {
            return true;
        }
        // Listing may fail for lack of memory; then it works in a while.
        let all = all().unwrap_or_default();
        let is_stopping = start.elapsed() < STOP_TIMEOUT && all.iter().any(|one| !one.is_stopped);
        for descendant in all.iter().filter(|one| !one.has_ended) {
            if !is_stopping {
                descendant.signal(Signal::KILL);
            } else if !descendant.is_stopped {
                descendant.signal(Signal::STOP);
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}
