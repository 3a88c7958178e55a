//! Control groups: each run gets its own where the machine allows it, so that the kernel counts its memory and
//! its processes, and no watchdog has to poll.
//!
//! Both versions are supported. This module knows neither runs nor sandboxes: it makes a
//! group, says how a process joins it, and reads the kernel's counters of it.

mod file;
mod hierarchy;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use gongfu_core::sandbox::Limits;
use rustix::event::{EventfdFlags, PollFlags, eventfd};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::plan::{Grouping, Join};
use file::{read, value, write};
use hierarchy::{Hierarchy, Version};

/// Memory for each process of the sandbox itself, which a group counts as well, in bytes.
const SUPERVISOR_MEMORY: u64 = 2 * 1024 * 1024;
/// The share of a run while others want the processors as well: an eighth of the default, in either version.
const CPU_SHARES: u64 = 1024 / 8;
const CPU_WEIGHT: u64 = 100 / 8;
/// The time that the processes of a group may take to end once they are killed.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause before looking again whether they have.
const KILL_POLL: Duration = Duration::from_millis(2);

/// Makes the groups of runs.
#[derive(Debug)]
pub(crate) struct Groups {
    hierarchies: Vec<Hierarchy>,
}

impl Groups {
    /// Those that this process can make, looked for once; `None` where it can't make any.
    pub(crate) fn of_this_process() -> Option<&'static Self> {
        static FOUND: OnceLock<Option<Groups>> = OnceLock::new();
        FOUND.get_or_init(Self::find).as_ref()
    }

    /// Finds the folders for groups, and removes the groups of dead servers.
    fn find() -> Option<Self> {
        let hierarchies = hierarchy::find();
        for hierarchy in &hierarchies {
            for folder in hierarchy.left_behind() {
                // Dropping it kills the processes that haven't noticed yet that their server is dead.
                drop(Group::of(vec![Part {
                    folder,
                    hierarchy: hierarchy.clone(),
                }]));
            }
        }
        let groups = Self { hierarchies };
        // A folder that can be made may still have limits that can't be set.
        let usable = groups.make(&Limits::default(), 0).is_ok();
        usable.then_some(groups)
    }

    /// Makes a group for a run, which so many processes supervise.
    ///
    /// # Errors
    /// There may be no more, or its limits can't be set.
    pub(crate) fn make(&self, limits: &Limits, supervisors: u64) -> io::Result<Group> {
        if self.hierarchies.is_empty() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let name = hierarchy::next_name();
        // When a step fails, dropping it removes the folders.
        let mut group = Group::of(Vec::new());
        for hierarchy in &self.hierarchies {
            let folder = hierarchy.folder.join(&name);
            std::fs::create_dir(&folder)?;
            group.parts.push(Part {
                folder,
                hierarchy: hierarchy.clone(),
            });
        }
        for part in &group.parts {
            part.limit(limits, supervisors)?;
        }
        group.alarm = Alarm::of(&group.parts).ok().flatten();
        Ok(group)
    }
}

/// A control group of a run. Dropping it kills every process in it, unless it is borrowed.
#[derive(Debug)]
pub(crate) struct Group {
    /// One for each hierarchy.
    parts: Vec<Part>,
    alarm: Option<Alarm>,
    /// Another program made it and will remove it.
    is_borrowed: bool,
    /// The counters when the run began.
    start: Counters,
}

/// The kernel's counters of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counters {
    /// Processes killed for lack of memory.
    killed: u64,
    /// Processes that couldn't be started.
    refused: u64,
}

/// The limits that a run has hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LimitHits {
    /// A process was killed for lack of memory.
    pub(crate) oom: bool,
    /// A process couldn't be started.
    pub(crate) crowded: bool,
}

impl Group {
    fn of(parts: Vec<Part>) -> Self {
        Self {
            parts,
            alarm: None,
            is_borrowed: false,
            start: Counters::default(),
        }
    }

    /// Borrows the group of another process; `None` where it isn't visible, or doesn't limit both memory and
    /// processes.
    pub(crate) fn of_process(process: u32) -> Option<Self> {
        let hierarchies = hierarchy::of_process(process).into_iter();
        let parts: Vec<Part> = hierarchies
            .map(|hierarchy| Part {
                folder: hierarchy.folder.clone(),
                hierarchy,
            })
            .collect();
        let has = |is: fn(&Hierarchy) -> bool| parts.iter().any(|part| is(&part.hierarchy));
        if !has(|one| one.memory) || !has(|one| one.processes) {
            return None;
        }
        let mut group = Self::of(parts);
        group.is_borrowed = true;
        group.alarm = Alarm::of(&group.parts).ok().flatten();
        group.start = group.counters();
        Some(group)
    }

    /// Describes it to a process that joins it.
    pub(crate) fn grouping(&self) -> Grouping {
        let has = |is: fn(&Hierarchy) -> bool| self.parts.iter().any(|part| is(&part.hierarchy));
        Grouping {
            join: if has(|one| one.version == Version::Two) {
                Join::Fork
            } else {
                Join::Threads(self.parts.len())
            },
            memory: has(|one| one.memory),
            processes: has(|one| one.processes),
        }
    }

    /// The handles by which a process joins it.
    ///
    /// # Errors
    /// It was removed.
    pub(crate) fn join_handles(&self) -> io::Result<Vec<OwnedFd>> {
        let handles = self.parts.iter().map(|part| match part.hierarchy.version {
            // To move a whole process the kernel waits for every processor; to move one's own thread it doesn't.
            Version::One => {
                let mut options = File::options();
                let file = options.write(true).open(part.folder.join("tasks"))?;
                Ok(OwnedFd::from(file))
            }
            Version::Two => Ok(OwnedFd::from(File::open(&part.folder)?)),
        });
        handles.collect()
    }

    /// The handle to poll for the end of memory, and the event.
    pub(crate) fn alarm(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        self.alarm.as_ref().map(Alarm::handle)
    }

    /// Returns whether memory has really run out, after the alarm went off.
    pub(crate) fn is_out_of_memory(&mut self) -> bool {
        let alarm = self.alarm.as_mut();
        alarm.is_some_and(|alarm| alarm.is_true(self.start.killed)) || self.limit_hits().oom
    }

    /// The limits that the run has hit until now.
    pub(crate) fn limit_hits(&self) -> LimitHits {
        let now = self.counters();
        LimitHits {
            oom: now.killed > self.start.killed,
            crowded: now.refused > self.start.refused,
        }
    }

    fn counters(&self) -> Counters {
        let mut counters = Counters::default();
        for Part { folder, hierarchy } in &self.parts {
            let number = |file: &str, key: &str| {
                let text = read(&folder.join(file)).unwrap_or_default();
                value(&text, key).unwrap_or_default()
            };
            if hierarchy.memory {
                counters.killed += number(hierarchy.version.events(), "oom_kill");
            }
            if hierarchy.processes {
                counters.refused += number("pids.events", "max");
            }
        }
        counters
    }

    /// Kills its processes; returns whether none is left.
    pub(crate) fn end(&self) -> bool {
        let deadline = Instant::now() + KILL_TIMEOUT;
        self.parts.iter().all(|part| part.end(deadline))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.is_borrowed {
            return;
        }
        for part in &self.parts {
            let deadline = Instant::now() + KILL_TIMEOUT;
            let is_busy = |error: io::Error| error.kind() == io::ErrorKind::ResourceBusy;
            while std::fs::remove_dir(&part.folder).is_err_and(is_busy) {
                // The last process is counted for a moment after its end.
                if !part.end(deadline) {
                    break;
                }
            }
        }
    }
}

/// The folder of a group in one hierarchy.
#[derive(Debug)]
struct Part {
    folder: PathBuf,
    hierarchy: Hierarchy,
}

impl Part {
    fn limit(&self, limits: &Limits, supervisors: u64) -> io::Result<()> {
        let set = |file: &str, value: u64| write(&self.folder.join(file), &value.to_string());
        // Some files are there on machines with swap alone.
        let set_if_there = |file: &str, value: u64| match set(file, value) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        };
        let version = self.hierarchy.version;
        if self.hierarchy.memory {
            let memory = limits
                .memory
                .saturating_add(supervisors * SUPERVISOR_MEMORY);
            match version {
                Version::One => {
                    set("memory.limit_in_bytes", memory)?;
                    set_if_there("memory.memsw.limit_in_bytes", memory)?;
                }
                Version::Two => {
                    set("memory.max", memory)?;
                    set_if_there("memory.swap.max", 0)?;
                    set_if_there("memory.oom.group", 1)?;
                }
            }
        }
        if self.hierarchy.processors {
            match version {
                Version::One => set("cpu.shares", CPU_SHARES)?,
                Version::Two => set("cpu.weight", CPU_WEIGHT)?,
            }
        }
        if self.hierarchy.processes {
            set("pids.max", u64::from(limits.processes) + supervisors)?;
        }
        Ok(())
    }

    /// Kills its processes until none is left or the deadline has passed; returns whether none is left.
    fn end(&self, deadline: Instant) -> bool {
        loop {
            let Ok(text) = read(&self.folder.join("cgroup.procs")) else {
                return false;
            };
            if text.trim().is_empty() {
                return true;
            }
            if Instant::now() > deadline {
                return false;
            }
            if write(&self.folder.join("cgroup.kill"), "1").is_err() {
                for process in text.lines().filter_map(|line| line.parse().ok()) {
                    self.kill(process);
                }
            }
            std::thread::sleep(KILL_POLL);
        }
    }

    /// Kills a process, if the number is still that of one in the group.
    fn kill(&self, process: i32) {
        let handle = Pid::from_raw(process)
            .and_then(|process| pidfd_open(process, PidfdFlags::empty()).ok());
        let Some(handle) = handle else {
            return;
        };
        let still = read(&self.folder.join("cgroup.procs")).unwrap_or_default();
        if still.lines().any(|line| line.parse() == Ok(process)) {
            let _ = pidfd_send_signal(&handle, Signal::KILL);
        }
    }
}

/// Wakes a poll when memory runs out.
#[derive(Debug)]
enum Alarm {
    /// The counter of an event, and its file (version one).
    Counter(OwnedFd, File),
    /// The file whose change the kernel signals (version two).
    File(File),
}

impl Alarm {
    fn of(parts: &[Part]) -> io::Result<Option<Self>> {
        let Some(Part { folder, hierarchy }) = parts.iter().find(|part| part.hierarchy.memory)
        else {
            return Ok(None);
        };
        let events = File::open(folder.join(hierarchy.version.events()))?;
        let mut alarm = match hierarchy.version {
            Version::One => {
                let counter = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
                let numbers = format!("{} {}", counter.as_raw_fd(), events.as_raw_fd());
                write(&folder.join("cgroup.event_control"), &numbers)?;
                Self::Counter(counter, events)
            }
            Version::Two => Self::File(events),
        };
        // A change is signalled once the file was read.
        alarm.is_true(0);
        Ok(Some(alarm))
    }

    fn handle(&self) -> (BorrowedFd<'_>, PollFlags) {
        match self {
            Self::Counter(counter, _) => (counter.as_fd(), PollFlags::IN),
            Self::File(file) => (file.as_fd(), PollFlags::PRI),
        }
    }

    /// Returns whether a process was killed, where so many were before.
    fn is_true(&mut self, before: u64) -> bool {
        match self {
            Self::Counter(counter, file) => {
                let mut count = [0; 8];
                if !matches!(rustix::io::read(counter, &mut count), Ok(8)) {
                    return false;
                }
                // The removal of a group, as when its container was ended, is counted as well: then its files can't
                // be read any more.
                let is_there = file.rewind().is_ok() && file.read(&mut [0; 1]).is_ok();
                is_there || u64::from_ne_bytes(count) > 1
            }
            Self::File(file) => {
                let mut text = String::new();
                let read = file.rewind().and_then(|()| file.read_to_string(&mut text));
                read.is_ok() && value(&text, "oom_kill").is_some_and(|value| value > before)
            }
        }
    }
}
