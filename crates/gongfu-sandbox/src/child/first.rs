//! The first process in a sandbox of macOS: begins the program, and ends all that is in there with it.
//!
//! Whoever is in the sandbox may send signals to those in it and to nobody else, however far they have
//! gone from their parents: so whom this process reaches is of the run. Who there is on the machine it is
//! told by who watches (`watcher.rs`). That no signal gets out is tried before anything is begun, else those
//! of its user would be ended; and then that one reaches the program, else nobody would be.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, WaitOptions, chdir, getpid, getppid,
    getrlimit, kill_process, setrlimit, test_kill_process, wait, waitid,
};
use rustix::stdio::stdin;
use serde::{Deserialize, Serialize};

use super::{Failure, UNCERTAIN, apple, at, close_outputs, priority};
use crate::plan::{Ceilings, How, Plan, Step, Told};
use crate::wire;

/// The argument by which a program is told to be the first process inside.
pub(super) const ARGUMENT: &str = "sandbox-first";

/// How often everybody is ended where nobody watches any more.
const SWEEPS: u32 = 3;
/// The highest number that a process has.
const HIGHEST: u32 = 99_999;

/// What it is asked for once it has begun the program.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Ask {
    /// To end those of these that are in the sandbox.
    These(Vec<u32>),
    /// To try every number that a process can have, one after the other: whoever begins another one and ends
    /// has a number before that one's, and isn't fast enough. What has ended already is reached as well, so
    /// that how many they are says nothing.
    Everybody,
    /// To end by itself: nobody else is left.
    Nobody,
}

/// What it says to who watches.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Word {
    /// What whoever runs it is to be told.
    Told(Told),
    /// So many of those that it was asked to end were in the sandbox.
    Reached(usize),
}

/// Is the first process inside.
pub(super) fn run() -> ExitCode {
    let Ok(line) = fcntl_dupfd_cloexec(stdin(), 3) else {
        return ExitCode::from(2);
    };
    let began = match begin(&line) {
        Ok(Some(child)) => child,
        Ok(None) => return ExitCode::SUCCESS,
        Err(Failure { step, number }) => {
            // Whoever can't be told has gone. Nothing was begun.
            let _ = wire::send(&line, &Word::Told(Told::Failed(step, number)), &[]);
            return ExitCode::FAILURE;
        }
    };
    // One that can't be reached from here would be taken for one that has ended.
    let number = i32::try_from(began.id()).ok().and_then(Pid::from_raw);
    if number.is_none_or(|number| test_kill_process(number).is_err()) {
        return ExitCode::from(UNCERTAIN);
    }
    if let Some(status) = wait_for(began, &line) {
        // It waits for who watches, who has the others ended.
        let _ = wire::send(&line, &Word::Told(ended(status)), &[]);
    }
    obey(&line)
}

/// Begins the program; `None` when there is none to begin.
fn begin(line: &OwnedFd) -> Result<Option<Child>, Failure> {
    let wrong = Failure::at(Step::Init);
    let Some((plan, input)) = wire::receive::<Plan>(line).map_err(&wrong)? else {
        return Ok(None);
    };
    is_shut_in()?;
    // Where it can't be, the run stands where everybody does.
    let _ = priority::lower(priority::NICE);
    ceilings(&plan.ceilings).map_err(at(Step::Ceilings))?;
    chdir(&*plan.folder).map_err(at(Step::Folder))?;
    wire::send(line, &Word::Told(Told::Ready), &[]).map_err(&wrong)?;
    let mut arguments = plan.arguments.iter();
    let program = arguments.next().map(String::as_str).unwrap_or_default();
    let environment = plan.environment.iter();
    let input = input
        .into_iter()
        .next()
        .map_or_else(Stdio::null, Stdio::from);
    let child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(environment.map(|(name, value)| (name, value)))
        .process_group(0)
        .stdin(input)
        .spawn()
        .map_err(Failure::at(Step::Program))?;
    // Whoever reads what the program says must see its end.
    let _ = close_outputs();
    Ok(Some(child))
}

/// Whether no signal gets out of here: one to who watches is refused.
fn is_shut_in() -> Result<(), Failure> {
    match getppid().map(test_kill_process) {
        Some(Err(Errno::PERM)) => Ok(()),
        _ => Err(at(Step::Seatbelt)(Errno::PERM)),
    }
}

/// What one process may use. A limit that is lower already stays.
fn ceilings(ceilings: &Ceilings) -> rustix::io::Result<()> {
    let lower = |resource, current: u64, maximum: u64| {
        let held = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let most = Rlimit {
            current: Some(current.min(held)),
            maximum: Some(maximum.min(held)),
        };
        setrlimit(resource, most)
    };
    lower(Resource::Core, 0, 0)?;
    let processes = ceilings.processes.saturating_add(ceilings.watching);
    lower(Resource::Nproc, processes, processes)?;
    // It is told first, by a signal that says why, and killed a second later.
    let seconds = ceilings.cpu.as_secs().max(1);
    lower(Resource::Cpu, seconds, seconds.saturating_add(1))?;
    lower(Resource::Fsize, ceilings.file, ceilings.file)?;
    lower(Resource::Nofile, ceilings.open_files, ceilings.open_files)
}

/// Waits until the program ends, or nobody wants it any more; answers how it ended.
fn wait_for(mut program: Child, line: &OwnedFd) -> Option<ExitStatus> {
    let (ended, tells) = io::pipe().ok()?;
    let number = i32::try_from(program.id()).ok().and_then(Pid::from_raw)?;
    // Nothing else can be waited for together with what is heard. It leaves the program to be asked.
    let waits = move || {
        let how = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(number), how), Err(Errno::INTR)) {}
        drop(tells);
    };
    std::thread::Builder::new().spawn(waits).ok()?;
    let mut watched = [
        PollFd::new(line, PollFlags::IN),
        PollFd::new(&ended, PollFlags::IN),
    ];
    while poll(&mut watched, None).is_err() {}
    program.try_wait().ok().flatten()
}

/// Ends those that it is asked to end, and all others in the sandbox where nobody asks any more.
fn obey(line: &OwnedFd) -> ExitCode {
    while let Ok(Some((ask, _))) = wire::receive::<Ask>(line) {
        let count = match ask {
            Ask::These(numbers) => end(numbers.into_iter()),
            Ask::Everybody => end(2..=HIGHEST),
            Ask::Nobody => return ExitCode::SUCCESS,
        };
        let _ = wire::send(line, &Word::Reached(count), &[]);
    }
    for _ in 0..SWEEPS {
        end(2..=HIGHEST);
    }
    ExitCode::SUCCESS
}

/// Ends those of these that are in the sandbox, but for this process; answers how many it reached.
///
/// They are stopped first, so that nobody begins others while they are ended.
fn end(numbers: impl Iterator<Item = u32>) -> usize {
    let numbers = numbers.filter_map(|number| Pid::from_raw(i32::try_from(number).ok()?));
    let others = numbers.filter(|number| *number != getpid());
    let is_reached = |number: &Pid| kill_process(*number, Signal::STOP).is_ok();
    let reached: Vec<Pid> = others.filter(is_reached).collect();
    for number in &reached {
        let _ = kill_process(*number, Signal::KILL);
    }
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
    reached.len()
}

/// How the program ended, and what all that ended until now have used.
fn ended(status: ExitStatus) -> Told {
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => How::Exit(code),
        (None, Some(signal)) => How::Signal(signal),
        (None, None) => How::Exit(-1),
    };
    let usage = apple::usage();
    Told::Ended {
        how,
        full: false,
        crowded: false,
        cpu: usage.cpu,
        memory: usage.memory,
    }
}
