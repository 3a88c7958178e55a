//! The first process in a sandbox of macOS: begins the program, and ends all that is in there with it.
//!
//! Whoever is in the sandbox may send signals to those in it and to nobody else, however far they have
//! gone from their parents. So a signal to everybody is one to all that is left of the run: when nobody
//! was there to be sent one, nobody is left. That this holds is tried with each run: that no signal gets
//! out before anything is begun, else it would go to all that its user runs, and then that one reaches
//! the program.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, WaitOptions, chdir, getppid, getrlimit,
    setrlimit, test_kill_process, wait, waitid,
};
use rustix::stdio::stdin;

use super::{Failure, UNCERTAIN, apple, at, close_outputs};
use crate::plan::{Ceilings, How, Plan, Step, Told};
use crate::wire;

/// The argument by which a program is told to be the first process inside.
pub(super) const ARGUMENT: &str = "sandbox-first";

/// How long everybody is ended for. Mostly it takes a few milliseconds; but nobody else could end them all.
const ENDING: Duration = Duration::from_secs(30);

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
            let _ = wire::send(&line, &Told::Failed(step, number), &[]);
            return ExitCode::FAILURE;
        }
    };
    // One that can't be reached from here wouldn't be ended by a signal to all.
    let number = i32::try_from(began.id()).ok().and_then(Pid::from_raw);
    if number.is_none_or(|number| test_kill_process(number).is_err()) {
        return ExitCode::from(UNCERTAIN);
    }
    let status = wait_for(began, &line);
    if !end_all() {
        return ExitCode::from(UNCERTAIN);
    }
    if let Some(status) = status {
        let _ = wire::send(&line, &ended(status), &[]);
    }
    ExitCode::SUCCESS
}

/// Begins the program; `None` when there is none to begin.
fn begin(line: &OwnedFd) -> Result<Option<Child>, Failure> {
    let wrong = Failure::at(Step::Init);
    let Some((plan, input)) = wire::receive::<Plan>(line).map_err(&wrong)? else {
        return Ok(None);
    };
    is_shut_in()?;
    ceilings(&plan.ceilings).map_err(at(Step::Ceilings))?;
    chdir(&*plan.folder).map_err(at(Step::Folder))?;
    wire::send(line, &Told::Ready, &[]).map_err(&wrong)?;
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

/// Ends everybody in the sandbox but this process; answers whether nobody is left for certain.
///
/// They are stopped first, so that nobody begins others while they are ended.
fn end_all() -> bool {
    let by = Instant::now() + ENDING;
    while Instant::now() < by {
        let is_anybody = apple::signal_all(Signal::STOP);
        apple::signal_all(Signal::KILL);
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        if !is_anybody {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
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
