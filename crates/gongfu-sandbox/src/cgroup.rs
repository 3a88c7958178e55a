//! Control groups: each run has one of its own where the machine allows it, so that the system counts
//! its memory and its processes, and not somebody who looks every so often.
//!
//! Both versions of them are known. Knows neither what is run nor how a sandbox is made: it makes a
//! group, says how a process comes into it, and what the system counted in it.

mod crew;
mod place;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gongfu_core::sandbox::Limits;
use rustix::event::{EventfdFlags, PollFlags, eventfd};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

pub(crate) use crew::Crew;
use place::{Place, Version};

use crate::plan::{Entrance, Grouped};

/// How much memory each process may take that watches over a run, in bytes: a group counts it as well, and
/// what the system needs to know of it.
const WATCHING_MEMORY: u64 = 2 * 1024 * 1024;
/// How much of a processor a run has while others want it as well: an eighth of what those have of whom
/// nobody said anything, by the numbers of either version.
const SHARES: u64 = 1024 / 8;
const WEIGHT: u64 = 100 / 8;
/// How long the processes of a group may take to end once they are killed.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it is looked whether they have.
const ROUND: Duration = Duration::from_millis(2);
/// The longest file of a group that is read.
const LONGEST: u64 = 1024 * 1024;

/// The number of the next group.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A number that no group of this process had.
fn next() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Where groups can be made.
#[derive(Debug)]
pub(crate) struct Groups {
    places: Vec<Place>,
}

impl Groups {
    /// Those that this process can make, looked for once; `None` where it can't make any.
    pub(crate) fn of_this_process() -> Option<&'static Self> {
        static FOUND: OnceLock<Option<Groups>> = OnceLock::new();
        FOUND.get_or_init(Self::find).as_ref()
    }

    /// Finds where groups can be made. What servers that are dead left behind is taken away.
    fn find() -> Option<Self> {
        let places = place::find();
        for place in &places {
            for folder in place.left_behind() {
                // With it end those of its processes that haven't noticed yet that nobody waits.
                drop(Group {
                    parts: vec![Part {
                        folder,
                        place: place.clone(),
                    }],
                    alarm: None,
                    lent: None,
                });
            }
        }
        let groups = Self { places };
        // A folder that can be made may still have limits that can't be set.
        let usable = groups.make(&Limits::default(), 0).is_ok();
        usable.then_some(groups)
    }

    /// Has this thread be where the process is: what it begins for longer than a run isn't of a crew.
    pub(crate) fn leave_crew(&self) {
        let is_it = |place: &&Place| place.processors && place.version == Version::One;
        for place in self.places.iter().filter(is_it) {
            let _ = write(&place.folder.join("tasks"), "0");
        }
    }

    /// Whether each group has its share of the processors.
    pub(crate) fn share_processors(&self) -> bool {
        self.places.iter().any(|place| place.processors)
    }

    /// Makes a group for the threads that carry out runs, where threads can be in one.
    pub(crate) fn crew(&self) -> Option<Crew> {
        Crew::make(&self.places)
    }

    /// Makes a group for a run, in which so many processes watch over it.
    ///
    /// # Errors
    /// There may be no more, or its limits can't be set.
    pub(crate) fn make(&self, limits: &Limits, watching: u64) -> io::Result<Group> {
        if self.places.is_empty() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let name = place::name(next());
        // What was made until something fails is taken away with it.
        let mut group = Group {
            parts: Vec::new(),
            alarm: None,
            lent: None,
        };
        for place in &self.places {
            let folder = place.folder.join(&name);
            std::fs::create_dir(&folder)?;
            group.parts.push(Part {
                folder,
                place: place.clone(),
            });
        }
        for part in &group.parts {
            part.limit(limits, watching)?;
        }
        group.alarm = Alarm::of(&group.parts).ok().flatten();
        Ok(group)
    }
}

/// A group of a run; with it ends every process in it.
#[derive(Debug)]
pub(crate) struct Group {
    /// One, or one for each controller.
    parts: Vec<Part>,
    alarm: Option<Alarm>,
    /// What was counted before this run, where somebody else made the group: it stays when the run ends.
    lent: Option<Before>,
}

/// What the system counted in a group that was there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Before {
    ended: u64,
    refused: u64,
}

/// What the system counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counted {
    /// A process was ended because there was no more memory.
    pub(crate) oom: bool,
    /// There could be no more processes.
    pub(crate) crowded: bool,
}

impl Group {
    /// That of another process, which somebody else made and takes away; `None` where it can't be seen.
    pub(crate) fn of_process(process: u32) -> Option<Self> {
        let parts: Vec<Part> = place::of_process(process)
            .into_iter()
            .map(|place| Part {
                folder: place.folder.clone(),
                place,
            })
            .collect();
        let mut group = Self {
            alarm: Alarm::of(&parts).ok().flatten(),
            parts,
            lent: None,
        };
        let is_whole = |is: &dyn Fn(&Place) -> bool| group.parts.iter().any(|part| is(&part.place));
        if !is_whole(&|place| place.memory) || !is_whole(&|place| place.processes) {
            return None;
        }
        group.lent = Some(group.numbers());
        Some(group)
    }

    /// How the child comes into it, and what it doesn't need to count.
    pub(crate) fn grouped(&self) -> Grouped {
        let is_one = self
            .parts
            .iter()
            .any(|one| one.place.version == Version::Two);
        Grouped {
            entrance: if is_one {
                Entrance::Fork
            } else {
                Entrance::Threads(self.parts.len())
            },
            memory: self.parts.iter().any(|part| part.place.memory),
            processes: self.parts.iter().any(|part| part.place.processes),
            processors: self.parts.iter().any(|part| part.place.processors),
        }
    }

    /// What the child needs to come into it.
    ///
    /// # Errors
    /// It was taken away.
    pub(crate) fn doors(&self) -> io::Result<Vec<OwnedFd>> {
        let doors = self.parts.iter().map(|part| match part.place.version {
            // Only its own thread can be moved without waiting for the whole machine; the child has one.
            Version::One => {
                let mut options = File::options();
                let door = options.write(true).open(part.folder.join("tasks"))?;
                Ok(OwnedFd::from(door))
            }
            Version::Two => Ok(OwnedFd::from(File::open(&part.folder)?)),
        });
        doors.collect()
    }

    /// What can be waited for, and how: that there is no more memory.
    pub(crate) fn alarm(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        self.alarm.as_ref().map(Alarm::handle)
    }

    /// Whether the alarm that was heard is a true one.
    pub(crate) fn is_out_of_memory(&mut self) -> bool {
        let before = self.lent.map_or(0, |before| before.ended);
        let alarm = self.alarm.as_mut();
        alarm.is_some_and(|alarm| alarm.is_true(before)) || self.counted().oom
    }

    /// What the system counted until now.
    pub(crate) fn counted(&self) -> Counted {
        let now = self.numbers();
        let before = self.lent.unwrap_or(Before {
            ended: 0,
            refused: 0,
        });
        Counted {
            oom: now.ended > before.ended,
            crowded: now.refused > before.refused,
        }
    }

    /// How many processes were ended for want of memory, and how many there could not be.
    fn numbers(&self) -> Before {
        let sum = |file: &dyn Fn(&Part) -> Option<(&'static str, &'static str)>| {
            let numbers = self.parts.iter().filter_map(|part| {
                let (file, name) = file(part)?;
                value(&read(&part.folder.join(file)).ok()?, name)
            });
            numbers.fold(0, u64::saturating_add)
        };
        Before {
            ended: sum(&|part| {
                part.place
                    .memory
                    .then_some((part.place.version.events(), "oom_kill"))
            }),
            refused: sum(&|part| part.place.processes.then_some(("pids.events", "max"))),
        }
    }

    /// Ends what is left in it; answers whether nothing is.
    pub(crate) fn end(&self) -> bool {
        let by = Instant::now() + PATIENCE;
        self.parts.iter().all(|part| part.end(by))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.lent.is_some() {
            return;
        }
        for part in &self.parts {
            let by = Instant::now() + PATIENCE;
            while std::fs::remove_dir(&part.folder).is_err_and(|error| is_busy(&error)) {
                // Whoever is the last to go is counted for a moment longer.
                if !part.end(by) {
                    break;
                }
            }
        }
    }
}

fn is_busy(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ResourceBusy
}

/// A folder of a group.
#[derive(Debug)]
struct Part {
    folder: PathBuf,
    place: Place,
}

impl Part {
    fn limit(&self, limits: &Limits, watching: u64) -> io::Result<()> {
        let set = |file: &str, value: u64| write(&self.folder.join(file), &value.to_string());
        // What a machine without swap doesn't have can't be set.
        let set_where_it_is = |file: &str, value: u64| match set(file, value) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        };
        if self.place.memory {
            let memory = limits.memory.saturating_add(watching * WATCHING_MEMORY);
            match self.place.version {
                Version::One => {
                    set("memory.limit_in_bytes", memory)?;
                    set_where_it_is("memory.memsw.limit_in_bytes", memory)?;
                }
                Version::Two => {
                    set("memory.max", memory)?;
                    set_where_it_is("memory.swap.max", 0)?;
                    set_where_it_is("memory.oom.group", 1)?;
                }
            }
        }
        if self.place.processors {
            match self.place.version {
                Version::One => set("cpu.shares", SHARES)?,
                Version::Two => set("cpu.weight", WEIGHT)?,
            }
        }
        if self.place.processes {
            set("pids.max", u64::from(limits.processes) + watching)?;
        }
        Ok(())
    }

    fn end(&self, by: Instant) -> bool {
        loop {
            let Ok(text) = read(&self.folder.join("cgroup.procs")) else {
                return false;
            };
            if text.trim().is_empty() {
                return true;
            }
            if Instant::now() > by {
                return false;
            }
            if write(&self.folder.join("cgroup.kill"), "1").is_err() {
                for process in text.lines().filter_map(|line| line.parse().ok()) {
                    self.kill(process);
                }
            }
            std::thread::sleep(ROUND);
        }
    }

    /// Ends a process, if it is still this one that has the number.
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

/// Wakes whoever waits when there is no more memory.
#[derive(Debug)]
enum Alarm {
    /// The system counts up what is read here.
    Counter(OwnedFd),
    /// The system tells that there is something new in the file.
    File(File),
}

impl Alarm {
    fn of(parts: &[Part]) -> io::Result<Option<Self>> {
        let Some(part) = parts.iter().find(|part| part.place.memory) else {
            return Ok(None);
        };
        let events = File::open(part.folder.join(part.place.version.events()))?;
        let mut alarm = match part.place.version {
            Version::One => {
                let counter = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
                let numbers = format!("{} {}", counter.as_raw_fd(), events.as_raw_fd());
                write(&part.folder.join("cgroup.event_control"), &numbers)?;
                Self::Counter(counter)
            }
            Version::Two => Self::File(events),
        };
        // What was read once is told of when it changes.
        alarm.is_true(0);
        Ok(Some(alarm))
    }

    fn handle(&self) -> (BorrowedFd<'_>, PollFlags) {
        match self {
            Self::Counter(counter) => (counter.as_fd(), PollFlags::IN),
            Self::File(file) => (file.as_fd(), PollFlags::PRI),
        }
    }

    /// Whether a process was ended, where so many were before.
    fn is_true(&mut self, before: u64) -> bool {
        match self {
            Self::Counter(counter) => {
                matches!(rustix::io::read(counter, &mut [0; 8]), Ok(8))
            }
            Self::File(file) => {
                let mut text = String::new();
                let read = file.rewind().and_then(|()| file.read_to_string(&mut text));
                read.is_ok() && value(&text, "oom_kill").is_some_and(|value| value > before)
            }
        }
    }
}

/// The number after a name, in a file of such lines.
fn value(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (known, value) = line.split_once(' ')?;
        (known == name).then(|| value.trim().parse().ok()).flatten()
    })
}

/// What a file of the system says.
fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

/// Tells the system something; the file must be there.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::options().write(true).open(path)?;
    io::Write::write_all(&mut file, text.as_bytes())
}
