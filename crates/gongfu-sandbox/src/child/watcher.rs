//! Watches over a run on macOS, from outside of its sandbox: counts what it uses, and has it end.
//!
//! Who there is can be told only from outside of the sandbox, and who of them is in it only from within: so
//! the first process in it (`first.rs`) is asked to end those that could be, until it reaches nobody. If the
//! run has ended that one, whoever is still known is ended from here, and it isn't said that nobody is left.

use std::collections::BTreeSet;
use std::net::Shutdown;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Pid, Signal, kill_process, setsid};
use rustix::stdio::stdin;

use super::family::{self, Family, Process};
use super::first::{Ask, Word};
use super::{Failure, UNCERTAIN, apple, at, close_outputs, first, space};
use crate::begun;
use crate::plan::{Grouped, Kind, Order, Plan, Step, Told};
use crate::wire;

/// How often the run is looked after, in nanoseconds.
const ROUND: i64 = 50_000_000;
/// Of how much time one part may go into looking at what is written.
const SHARE: u32 = 5;
/// How many processes others of the same user may begin meanwhile: the system counts a user's and not
/// a run's, so its own limit is only what a fork bomb can't pass between two looks.
const OTHERS: u64 = 512;
/// How long it may take to end all, how long the first process may take for an answer, and how often it is
/// looked whether somebody is left.
const ENDING: Duration = Duration::from_secs(30);
const ANSWER: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(2);
/// At which of its looks those are sought by every number who begin others faster than they are listed.
const LOOKS: u32 = 4;
/// How long those are ended for that are known, where the first process can't do it.
const HUNTING: Duration = Duration::from_secs(10);

/// Is the one who watches.
pub(super) fn run() -> ExitCode {
    let Ok(control) = fcntl_dupfd_cloexec(stdin(), 3) else {
        return ExitCode::from(2);
    };
    match begin(&control) {
        Ok(how) => how,
        Err(Failure { step, number }) => {
            // Whoever can't be told has gone.
            let _ = wire::send(&control, &Told::Failed(step, number), &[]);
            ExitCode::FAILURE
        }
    }
}

/// Begins the first process in the sandbox, and watches until everybody is dead.
fn begin(control: &OwnedFd) -> Result<ExitCode, Failure> {
    let wrong = Failure::at(Step::Init);
    // There are no groups to come into.
    let received = wire::receive::<Option<Grouped>>(control).map_err(&wrong)?;
    if received.is_none() {
        return Ok(ExitCode::SUCCESS);
    }
    let received = wire::receive::<Order>(control).map_err(&wrong)?;
    let Some((Order::Plan(mut plan), input)) = received else {
        return Ok(ExitCode::SUCCESS);
    };
    let Kind::Seatbelt {
        program,
        folder,
        profile,
    } = plan.kind.clone()
    else {
        return Err(wrong(std::io::ErrorKind::InvalidData.into()));
    };
    // What terminal the server was begun at is none of the run's business.
    setsid().map_err(at(Step::Init))?;
    apple::keep_no_handle().map_err(Failure::at(Step::Privileges))?;
    let others = apple::processes().map_or(0, |all| all.len());
    plan.ceilings.watching = u64::try_from(others)
        .unwrap_or_default()
        .saturating_add(OTHERS);
    let mut first = First::begin(&program, &profile, &plan, &input)?;
    drop(input);
    let _ = close_outputs();
    let mut family = Family::of(std::process::id(), first.child.id());
    let told = watch(control, &mut first, &plan, &folder, &mut family);
    // Whoever says so has begun nobody.
    let is_begun = first.stands && !matches!(told, Some(Told::Failed(..)));
    if !first.end(is_begun) {
        hunt(&mut family);
        return Ok(ExitCode::from(UNCERTAIN));
    }
    if let Some(told) = told {
        let _ = wire::send(control, &told, &[]);
    }
    Ok(ExitCode::SUCCESS)
}

/// The first process in the sandbox.
struct First {
    child: Child,
    line: UnixStream,
    /// Whether it has said that it begins the program.
    stands: bool,
}

impl First {
    fn begin(
        program: &Path,
        profile: &str,
        plan: &Plan,
        input: &[OwnedFd],
    ) -> Result<Self, Failure> {
        let wrong = Failure::at(Step::Seatbelt);
        let (line, theirs) = UnixStream::pair().map_err(&wrong)?;
        // The run may have stopped it in the middle of a word.
        line.set_read_timeout(Some(ANSWER)).map_err(&wrong)?;
        let child = Command::new(program)
            .arg("-p")
            .arg(profile)
            .arg("--")
            .arg(begun::itself().map_err(&wrong)?)
            .arg(first::ARGUMENT)
            .env_clear()
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .spawn()
            .map_err(&wrong)?;
        let handles: Vec<BorrowedFd<'_>> = input.iter().map(OwnedFd::as_fd).collect();
        // If it can't be told, it has ended, and has said why.
        let _ = wire::send(&line, plan, &handles);
        Ok(Self {
            child,
            line,
            stands: false,
        })
    }

    /// Has it end all others, if it has begun any; answers whether nobody is left for certain.
    fn end(mut self, is_begun: bool) -> bool {
        let is_ended = !is_begun || self.ends_all();
        if is_begun && is_ended {
            let _ = wire::send(&self.line, &Ask::Nobody, &[]);
        }
        let _ = self.line.shutdown(Shutdown::Both);
        let by = Instant::now() + ANSWER;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return is_ended && status.code().is_some_and(is_certain),
                Ok(None) if Instant::now() < by => std::thread::sleep(LOOK),
                _ => break,
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        false
    }

    /// Has it end all others; answers whether there is nobody any more whom it could reach.
    fn ends_all(&self) -> bool {
        let by = Instant::now() + ENDING;
        // Those that it didn't reach, and so aren't in the sandbox.
        let mut strangers = BTreeSet::new();
        let mut looks = 0;
        while Instant::now() < by {
            // What can't be listed now can be in a while.
            if let Some(all) = apple::processes() {
                let could_be = family::could_be(&all, std::process::id(), self.child.id());
                let Some(could_be) = could_be else {
                    return false;
                };
                if could_be.iter().all(|number| strangers.contains(number)) {
                    return true;
                }
                looks += 1;
                let ask = if looks % LOOKS == 0 {
                    Ask::Everybody
                } else {
                    Ask::These(could_be.clone())
                };
                strangers = match (self.reached(&ask), ask) {
                    (None, _) => return false,
                    (Some(0), Ask::These(_)) => could_be.into_iter().collect(),
                    (Some(_), _) => BTreeSet::new(),
                };
            }
            std::thread::sleep(LOOK);
        }
        false
    }

    /// Asks it to end some; answers how many of them it reached.
    fn reached(&self, ask: &Ask) -> Option<usize> {
        wire::send(&self.line, ask, &[]).ok()?;
        loop {
            match wire::receive::<Word>(&self.line).ok()?? {
                (Word::Reached(count), _) => return Some(count),
                // That the program has ended is of no interest any more.
                (Word::Told(_), _) => {}
            }
        }
    }
}

/// Whether one that ended with this code leaves nobody. What never was in a sandbox has begun nobody.
fn is_certain(code: i32) -> bool {
    code != i32::from(UNCERTAIN)
}

/// Watches until the run has ended, or must be ended; `None` when there is nobody to tell, or nothing.
fn watch(
    control: &OwnedFd,
    first: &mut First,
    plan: &Plan,
    folder: &str,
    family: &mut Family,
) -> Option<Told> {
    let begun = Instant::now();
    // What was copied there before is nothing that the run wrote.
    let before = space::below(folder)?;
    let (bytes, files) = (
        plan.disk.saturating_add(before.bytes),
        plan.files.saturating_add(before.files),
    );
    let is_over =
        || space::below(folder).is_none_or(|space| space.bytes > bytes || space.files > files);
    let mut look = Instant::now();
    let mut is_crowded = false;
    loop {
        // It is told nothing more, so that what is heard of it is its end.
        let mut watched = [
            PollFd::new(control, PollFlags::IN),
            PollFd::new(&first.line, PollFlags::IN),
        ];
        let round = Timespec {
            tv_sec: 0,
            tv_nsec: ROUND,
        };
        let _ = poll(&mut watched, Some(&round));
        let [is_alone, is_told] = watched.map(|handle| !handle.revents().is_empty());
        if is_alone || begun.elapsed() > plan.wall {
            return None;
        }
        if is_told {
            match wire::receive::<Word>(&first.line) {
                Ok(Some((Word::Told(Told::Ready), _))) => {
                    first.stands = true;
                    wire::send(control, &Told::Ready, &[]).ok()?;
                }
                Ok(Some((Word::Told(Told::Ended { .. }), _))) if is_over() => {
                    return Some(Told::Disk);
                }
                Ok(Some((Word::Told(told), _))) => return Some(ended(told, is_crowded)),
                // One that couldn't begin has said why to whoever hears the run.
                Ok(Some((Word::Reached(_), _)) | None) | Err(_) => return None,
            }
        }
        // If they can't be listed, nobody knows what they use.
        let all = family.among(&apple::processes()?);
        let processes: u64 = all.iter().map(|one| one.threads).sum();
        is_crowded = is_crowded || processes >= plan.ceilings.processes;
        if processes > plan.ceilings.processes {
            return Some(Told::Processes);
        }
        let memory = all.iter().map(|one| apple::memory(one.number));
        if memory.fold(0, u64::saturating_add) > plan.memory {
            return Some(Told::Memory);
        }
        if look <= Instant::now() {
            let looking = Instant::now();
            if is_over() {
                return Some(Told::Disk);
            }
            look = Instant::now()
                + looking
                    .elapsed()
                    .saturating_mul(SHARE)
                    .min(Duration::from_secs(1));
        }
    }
}

/// What the first process told, with what only whoever watches has seen.
fn ended(told: Told, is_crowded: bool) -> Told {
    match told {
        Told::Ended {
            how,
            full,
            cpu,
            memory,
            ..
        } => Told::Ended {
            how,
            full,
            crowded: is_crowded,
            cpu,
            memory,
        },
        told => told,
    }
}

/// Ends whoever is known, until nobody of them is left.
fn hunt(family: &mut Family) {
    let by = Instant::now() + HUNTING;
    while Instant::now() < by {
        let all: Vec<Process> = family.among(&apple::processes().unwrap_or_default());
        if all.is_empty() {
            return;
        }
        for one in all {
            let number = i32::try_from(one.number).ok().and_then(Pid::from_raw);
            if let Some(number) = number {
                let _ = kill_process(number, Signal::KILL);
            }
        }
        std::thread::sleep(LOOK);
    }
}
