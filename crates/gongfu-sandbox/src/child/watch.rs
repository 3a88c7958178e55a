//! Watches a run until its program ends, it exceeds a limit, or it is cancelled.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use gongfu_core::sandbox::{Exit, Limits, Reason};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::syscall::{self, ExitedChild, Usage};
use super::usage;
use crate::plan::{Event, Grouping};
use crate::poll::timespec;

/// The time between two looks at a run.
const INTERVAL: Duration = Duration::from_millis(50);
/// The time after which a run is ended here; the server ends it first, and can say why.
const WALL_GRACE: Duration = Duration::from_secs(1);

/// Measures a run, as far as no control group does.
pub(super) trait Meter {
    /// Lists its processes.
    ///
    /// # Errors
    /// They can't be listed: then the usage is unknown, and the run must end.
    fn processes(&self) -> io::Result<Vec<u32>>;

    /// Bytes of its files that lie in memory.
    fn files_in_memory(&self) -> u64;

    /// The number of its sockets.
    fn sockets(&self, processes: &[u32]) -> u64;

    /// Looks at its disk space, or at least once when it `is_final`.
    fn disk(&mut self, processes: &[u32], is_final: bool) -> Disk;
}

/// The state of a run's disk space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disk {
    Free,
    /// Nothing more can be written somewhere.
    Full,
    /// More is written than the run may, or an unknown amount.
    Exceeded,
}

/// Reaps the children of this process.
#[derive(Debug)]
pub(super) struct Reaper {
    program: Pid,
    exit: Option<Exit>,
    /// The resources of all that were reaped.
    usage: Usage,
}

impl Reaper {
    /// Watches for the end of this program.
    pub(super) fn new(program: Pid) -> Self {
        Self {
            program,
            exit: None,
            usage: Usage::default(),
        }
    }

    /// The end of the program, once it was reaped.
    pub(super) fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// Reaps every child that has ended; returns whether there are others.
    pub(super) fn reap(&mut self) -> bool {
        loop {
            match syscall::reap() {
                Ok(Some(ExitedChild { pid, exit, usage })) => {
                    self.usage.cpu = self.usage.cpu.saturating_add(usage.cpu);
                    self.usage.memory = self.usage.memory.max(usage.memory);
                    if pid == self.program {
                        self.exit = Some(exit);
                    }
                }
                Ok(None) => return true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
    }
}

/// The result of watching.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The program ended by itself.
    Ended {
        exit: Exit,
        /// Nothing more could be written somewhere.
        is_full: bool,
        /// No more processes could be started.
        is_crowded: bool,
    },
    /// The run must be killed for a limit.
    Exceeded(Reason),
    /// The run was cancelled, or its usage is unknown.
    Abandoned,
}

impl Verdict {
    /// The event for the server, if it waits for one.
    pub(super) fn event(self, reaper: &Reaper) -> Option<Event> {
        let Usage { cpu, memory } = reaper.usage;
        match self {
            Self::Ended {
                exit,
                is_full,
                is_crowded,
            } => Some(Event::ended(exit, is_full, is_crowded, cpu, memory)),
            Self::Exceeded(reason) => Some(Event::killed(reason)),
            Self::Abandoned => None,
        }
    }
}

/// Waits until a process ends or the server cancels the run, and kills it then.
pub(super) fn kill_when_cancelled(control: &OwnedFd, process: Pid) {
    if let Ok(handle) = pidfd_open(process, PidfdFlags::empty()) {
        let mut handles = [
            PollFd::new(control, PollFlags::empty()),
            PollFd::new(&handle, PollFlags::IN),
        ];
        while poll(&mut handles, None).is_err() {}
        let _ = pidfd_send_signal(&handle, Signal::KILL);
    }
}

/// Watches a run until it has ended or must be ended.
pub(super) fn watch(
    control: &OwnedFd,
    limits: &Limits,
    grouping: Option<Grouping>,
    meter: &mut dyn Meter,
    reaper: &mut Reaper,
) -> Verdict {
    let start = Instant::now();
    let counts_memory = grouping.is_none_or(|grouping| !grouping.memory);
    let counts_processes = grouping.is_none_or(|grouping| !grouping.processes);
    let program = pidfd_open(reaper.program, PidfdFlags::empty()).ok();
    let (mut is_full, mut is_crowded) = (false, false);
    let exit = loop {
        let mut handles = vec![PollFd::new(control, PollFlags::empty())];
        let program = program.as_ref();
        handles.extend(program.map(|program| PollFd::new(program, PollFlags::IN)));
        let _ = poll(&mut handles, Some(&timespec(INTERVAL)));
        let is_alone = handles
            .first()
            .is_some_and(|control| control.revents().contains(PollFlags::HUP));
        let Ok(processes) = meter.processes() else {
            return Verdict::Abandoned;
        };
        if counts_processes {
            let (count, limit) = (usage::threads(&processes), u64::from(limits.processes));
            is_crowded = is_crowded || count >= limit;
            if count > limit {
                return Verdict::Exceeded(Reason::Pids);
            }
        }
        if counts_memory {
            let sockets = usage::memory_of_sockets(meter.sockets(&processes));
            let outside = meter.files_in_memory().saturating_add(sockets);
            let used = usage::memory(&processes, outside, limits.memory);
            if used > limits.memory {
                return Verdict::Exceeded(Reason::Oom);
            }
        }
        match meter.disk(&processes, false) {
            Disk::Free => {}
            Disk::Full => is_full = true,
            Disk::Exceeded => return Verdict::Exceeded(Reason::Disk),
        }
        if is_alone || start.elapsed() > limits.wall + WALL_GRACE {
            return Verdict::Abandoned;
        }
        reaper.reap();
        if let Some(exit) = reaper.exit {
            break exit;
        }
    };
    match meter.disk(&[], true) {
        Disk::Free => {}
        Disk::Full => is_full = true,
        Disk::Exceeded => return Verdict::Exceeded(Reason::Disk),
    }
    Verdict::Ended {
        exit,
        is_full,
        is_crowded,
    }
}
