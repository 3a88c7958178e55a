//! Everybody who descends from this process, found and ended where no namespace does it.
//!
//! This process takes in those whose parents end, so nobody who descends from it ever gets away. As
//! long as anybody is left it has a child.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, pidfd_open, pidfd_send_signal, wait,
};

/// How long they are stopped before they are ended, and how long they are ended for. Mostly it takes a few
/// milliseconds; but nobody else would ever end them, however busy they keep the machine.
const STOPPING: Duration = Duration::from_secs(30);
const ENDING: Duration = Duration::from_mins(10);

/// A process, as far as it must be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kin {
    pub(super) number: u32,
    /// When it began: another one of this number began at another time.
    begun: u64,
    /// It does nothing more by itself.
    is_still: bool,
    has_ended: bool,
}

/// All that descend from this process.
///
/// # Errors
/// They can't be listed.
pub(super) fn all() -> io::Result<Vec<Kin>> {
    let mut children: BTreeMap<u32, Vec<Kin>> = BTreeMap::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.parse::<u32>().ok());
        if let Some((parent, kin)) = number.and_then(of) {
            children.entry(parent).or_default().push(kin);
        }
    }
    let mut all = Vec::new();
    let mut parents = vec![getpid().as_raw_nonzero().get().unsigned_abs()];
    let mut seen = BTreeSet::new();
    while let Some(parent) = parents.pop() {
        // What is read piece by piece need not be a tree.
        if !seen.insert(parent) {
            continue;
        }
        for kin in children.remove(&parent).unwrap_or_default() {
            parents.push(kin.number);
            all.push(kin);
        }
    }
    Ok(all)
}

/// A process and its parent.
fn of(number: u32) -> Option<(u32, Kin)> {
    let text = fs::read(format!("/proc/{number}/stat")).ok()?;
    // Its name may be anything, and stands in parentheses.
    let after = text.iter().rposition(|byte| *byte == b')')?;
    let text = std::str::from_utf8(text.get(after + 1..)?).ok()?;
    let fields: Vec<&str> = text.split_whitespace().collect();
    let state = *fields.first()?;
    let threads: u64 = fields.get(17)?.parse().ok()?;
    let kin = Kin {
        number,
        begun: fields.get(19)?.parse().ok()?,
        // One that waits for a child that has its memory can't be stopped, and does nothing either.
        is_still: matches!(state, "T" | "t" | "D" | "Z" | "X"),
        // Its first thread may have ended before others.
        has_ended: matches!(state, "Z" | "X") && threads < 2,
    };
    Some((fields.get(1)?.parse().ok()?, kin))
}

impl Kin {
    /// Sends a signal to this very process, and no other that has its number by now.
    fn signal(self, signal: Signal) {
        let number = i32::try_from(self.number).ok().and_then(Pid::from_raw);
        let Some(handle) = number.and_then(|number| pidfd_open(number, PidfdFlags::empty()).ok())
        else {
            return;
        };
        if of(self.number).is_some_and(|(_, found)| found.begun == self.begun) {
            let _ = pidfd_send_signal(&handle, signal);
        }
    }
}

/// Takes away those that have ended; answers how one of them did, and whether none is left.
pub(super) fn reap(program: Pid) -> (Option<WaitStatus>, bool) {
    let mut status = None;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((number, how))) if number == program => status = Some(how),
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return (status, false),
            Err(_) => return (status, true),
        }
    }
}

/// Ends everybody; answers whether nobody is left for certain.
///
/// They are stopped first, so that nobody begins others while they are ended.
pub(super) fn end(program: Pid) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < ENDING {
        if let (_, true) = reap(program) {
            return true;
        }
        // What can't be listed now can be in a while.
        let all = all().unwrap_or_default();
        let is_stopping = begun.elapsed() < STOPPING && all.iter().any(|kin| !kin.is_still);
        for kin in all.iter().filter(|kin| !kin.has_ended) {
            if !is_stopping {
                kin.signal(Signal::KILL);
            } else if !kin.is_still {
                kin.signal(Signal::STOP);
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

/// How many threads a user has on the machine.
pub(super) fn threads_of(user: u32) -> u64 {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let of_one = entries.filter_map(|entry| {
        let text = fs::read_to_string(entry.path().join("status")).ok()?;
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        let is_theirs = field("Uid:") == Some(user.into());
        is_theirs.then(|| field("Threads:")).flatten()
    });
    of_one.sum()
}
