//! Init: the first process in the sandbox. It starts the program, and kills every other process in the sandbox.
//!
//! A process in the sandbox may send signals to those in it and to no others. So every process that init can
//! signal is of the run; the supervisor names the processes of the machine. Before init starts anything it
//! tries that no signal gets out, or it would kill processes of its user, and then that a signal reaches the
//! program, or it would kill none.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};

use gongfu_core::sandbox::Exit;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, WaitOptions, chdir, getpid, getppid,
    getpriority_process, getrlimit, kill_process, setpriority_process, setrlimit,
    test_kill_process, wait, waitid,
};
use rustix::stdio::stdin;
use serde::{Deserialize, Serialize};

use super::syscall;
use crate::child::step::{Failure, at};
use crate::child::{UNCERTAIN, stdio};
use crate::plan::{Event, Plan, Step};
use crate::wire;

/// The argument that makes this program init.
pub(super) const ARGUMENT: &str = "sandbox-init";

/// The niceness of a run: a tenth of the default share.
const NICE: i32 = 10;
/// The number of times that all are killed where the supervisor is gone.
const KILL_ROUNDS: u32 = 3;
/// The highest number of a process.
const MAX_PID: u32 = 99_999;

/// A request of the supervisor once the program has started.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// Kill those of these processes that are in the sandbox.
    Kill(Vec<u32>),
    /// Try the number of every process, one after the other: a process that forks and ends all the time has a
    /// lower number than its child, and isn't fast enough. Ended processes are reached as well, so their
    /// count means nothing.
    KillAll,
    /// End, for no other process is left.
    End,
}

/// A message to the supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Message {
    /// An event for the server.
    Event(Event),
    /// So many of the processes to kill were in the sandbox.
    Reached(usize),
}

/// Runs as init.
pub(super) fn run() -> ExitCode {
    let Ok(line) = fcntl_dupfd_cloexec(stdin(), 3) else {
        return ExitCode::from(2);
    };
    let program = match start(&line) {
        Ok(Some(child)) => child,
        Ok(None) => return ExitCode::SUCCESS,
        Err(Failure { step, number }) => {
            // The supervisor may be gone. Nothing was started.
            let event = Event::Failed(step, number);
            let _ = wire::send(&line, &Message::Event(event), &[]);
            return ExitCode::FAILURE;
        }
    };
    // A program that can't be reached from here would be taken for one that has ended.
    let number = i32::try_from(program.id()).ok().and_then(Pid::from_raw);
    if number.is_none_or(|number| test_kill_process(number).is_err()) {
        return ExitCode::from(UNCERTAIN);
    }
    if let Some(status) = wait_for(program, &line) {
        let _ = wire::send(&line, &Message::Event(ended(status)), &[]);
    }
    serve(&line)
}

/// Starts the program; `None` when the supervisor is gone.
fn start(line: &OwnedFd) -> Result<Option<Child>, Failure> {
    let wrong = Failure::at(Step::Init);
    let Some((plan, input)) = wire::receive::<Plan>(line).map_err(&wrong)? else {
        return Ok(None);
    };
    check_signals_stay_inside()?;
    // Without this the run has the default share of the processors.
    let _ = lower_priority();
    set_limits(&plan).map_err(at(Step::Limits))?;
    chdir(&*plan.folder).map_err(at(Step::Folder))?;
    wire::send(line, &Message::Event(Event::Ready), &[]).map_err(&wrong)?;
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
    // The reader of the output must see its end.
    let _ = stdio::close();
    Ok(Some(child))
}

/// Checks that a signal to the supervisor is refused.
fn check_signals_stay_inside() -> Result<(), Failure> {
    match getppid().map(test_kill_process) {
        Some(Err(Errno::PERM)) => Ok(()),
        _ => Err(at(Step::Seatbelt)(Errno::PERM)),
    }
}

/// Lowers the priority of this program and its children.
fn lower_priority() -> rustix::io::Result<()> {
    let now = getpriority_process(None)?;
    setpriority_process(None, now.max(NICE)).map(drop)
}

/// Sets the limits of each process. A limit that is lower already stays.
fn set_limits(plan: &Plan) -> rustix::io::Result<()> {
    let lower = |resource, current: u64, maximum: u64| {
        let held = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let most = Rlimit {
            current: Some(current.min(held)),
            maximum: Some(maximum.min(held)),
        };
        setrlimit(resource, most)
    };
    lower(Resource::Core, 0, 0)?;
    let limits = &plan.limits;
    let processes = u64::from(limits.processes).saturating_add(plan.other_processes);
    lower(Resource::Nproc, processes, processes)?;
    // A signal says why, and a second later the system kills.
    let seconds = limits.cpu.as_secs().max(1);
    lower(Resource::Cpu, seconds, seconds.saturating_add(1))?;
    lower(Resource::Fsize, limits.file, limits.file)?;
    lower(Resource::Nofile, limits.open_files, limits.open_files)
}

/// Waits until the program ends, or the supervisor is gone; returns how the program ended.
fn wait_for(mut program: Child, line: &OwnedFd) -> Option<ExitStatus> {
    let (ended, end) = io::pipe().ok()?;
    let number = i32::try_from(program.id()).ok().and_then(Pid::from_raw)?;
    // A poll can only wait for handles. The program stays to be reaped.
    let waits = move || {
        let how = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(number), how), Err(Errno::INTR)) {}
        drop(end);
    };
    std::thread::Builder::new().spawn(waits).ok()?;
    let mut watched = [
        PollFd::new(line, PollFlags::IN),
        PollFd::new(&ended, PollFlags::IN),
    ];
    while poll(&mut watched, None).is_err() {}
    program.try_wait().ok().flatten()
}

/// Serves the supervisor, and kills all others in the sandbox when it is gone.
fn serve(line: &OwnedFd) -> ExitCode {
    while let Ok(Some((request, _))) = wire::receive::<Request>(line) {
        let count = match request {
            Request::Kill(numbers) => kill(numbers.into_iter()),
            Request::KillAll => kill(2..=MAX_PID),
            Request::End => return ExitCode::SUCCESS,
        };
        let _ = wire::send(line, &Message::Reached(count), &[]);
    }
    for _ in 0..KILL_ROUNDS {
        kill(2..=MAX_PID);
    }
    ExitCode::SUCCESS
}

/// Kills those of these processes that are in the sandbox, except this one; returns how many it reached.
///
/// They are stopped first, so that none of them forks while others are killed.
fn kill(numbers: impl Iterator<Item = u32>) -> usize {
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

/// The event for the end of the program.
fn ended(status: ExitStatus) -> Event {
    let exit = match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Code(-1),
    };
    let usage = syscall::usage_of_children();
    Event::ended(exit, false, false, usage.cpu, usage.memory)
}
