//! Guards a program that goes on, outside of any sandbox: starts it, and ends it and all its descendants when the
//! server is gone, however that went.

use std::convert::Infallible;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{
    Pid, PidfdFlags, Signal, chdir, getpid, kill_process_group, pidfd_open, set_child_subreaper,
    set_parent_process_death_signal, setpgid, setsid,
};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stdin};
use rustix::thread::set_name;

use super::step::{Failure, at};
use super::syscall::{self, Fork};
use super::watch::Reaper;
use super::{descendants, stdio};
use crate::plan::{Event, GuardRequest, Step};
use crate::poll::{is_readable_within, timespec};
use crate::wire;

/// The argument that makes this program a guard.
pub(crate) const ARGUMENT: &str = "process-guard";

/// The name of this process.
const NAME: &std::ffi::CStr = c"gongfu-guard";
/// The time that a program has to end by itself once its input is closed, and the time once it is asked to.
const INPUT_TIMEOUT: Duration = Duration::from_millis(500);
const TERM_TIMEOUT: Duration = Duration::from_millis(1_500);

/// Runs as the guard until the program and all its descendants have ended.
pub(super) fn run() -> ExitCode {
    let Ok(control) = fcntl_dupfd_cloexec(stdin(), 3) else {
        return ExitCode::from(2);
    };
    let _ = set_name(NAME);
    match guard(&control) {
        Ok(exit) => exit,
        Err(Failure { step, number }) => {
            // The server may be gone.
            let _ = wire::send(&control, &Event::Failed(step, number), &[]);
            ExitCode::FAILURE
        }
    }
}

fn guard(control: &OwnedFd) -> Result<ExitCode, Failure> {
    // A terminal's signals are for the server, which ends this one.
    setsid().map_err(at(Step::Init))?;
    set_child_subreaper(Some(getpid())).map_err(at(Step::Init))?;
    let received = wire::receive::<GuardRequest>(control).map_err(Failure::at(Step::Program))?;
    let Some((request, handles)) = received else {
        return Ok(ExitCode::SUCCESS);
    };
    let program = match syscall::fork().map_err(Failure::at(Step::Init))? {
        Fork::Child => match execute(&request, handles)? {},
        Fork::Parent(program) => program,
    };
    drop(handles);
    let _ = stdio::close();
    let mut reaper = Reaper::new(program);
    wait(control, program, &mut reaper);
    let is_certain = descendants::kill_all(&mut reaper);
    if let Some(exit) = reaper.exit() {
        let event = Event::ended(exit, false, false, Duration::ZERO, 0);
        let _ = wire::send(control, &event, &[]);
    }
    Ok(if is_certain {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(super::UNCERTAIN)
    })
}

/// Becomes the program.
fn execute(request: &GuardRequest, handles: Vec<OwnedFd>) -> Result<Infallible, Failure> {
    let Ok([input, out, error]) = <[OwnedFd; 3]>::try_from(handles) else {
        return Err(Failure::at(Step::Program)(
            std::io::ErrorKind::InvalidInput.into(),
        ));
    };
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(at(Step::Init))?;
    setpgid(None, None).map_err(at(Step::Init))?;
    dup2_stdin(&input)
        .and_then(|()| dup2_stdout(&out))
        .and_then(|()| dup2_stderr(&error))
        .map_err(at(Step::Init))?;
    chdir(&*request.folder).map_err(at(Step::Folder))?;
    let mut arguments = request.arguments.iter();
    let program = arguments.next().map(String::as_str).unwrap_or_default();
    let mut command = Command::new(program);
    command.args(arguments).env_clear();
    let environment = request.environment.iter();
    command.envs(environment.map(|(name, value)| (name, value)));
    Err(Failure::at(Step::Program)(command.exec()))
}

/// Waits until the program has ended, or the server wants it to end or is gone; then asks it to.
fn wait(control: &OwnedFd, program: Pid, reaper: &mut Reaper) {
    let Ok(handle) = pidfd_open(program, PidfdFlags::empty()) else {
        return;
    };
    loop {
        let mut handles = [
            PollFd::new(control, PollFlags::IN),
            PollFd::new(&handle, PollFlags::IN),
        ];
        // Descendants without a parent become children of this process, and zombies without a look.
        let _ = poll(&mut handles, Some(&timespec(Duration::from_secs(10))));
        let is = |at: usize| handles.get(at).is_some_and(|one| !one.revents().is_empty());
        let (is_over, has_ended) = (is(0), is(1));
        reaper.reap();
        if has_ended {
            return;
        }
        if is_over {
            break;
        }
    }
    let deadline = Instant::now() + INPUT_TIMEOUT + TERM_TIMEOUT;
    if !is_readable_within(&handle, INPUT_TIMEOUT) {
        let _ = kill_process_group(program, Signal::TERM);
        let left = deadline.saturating_duration_since(Instant::now());
        is_readable_within(&handle, left);
    }
}
