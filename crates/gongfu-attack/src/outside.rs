//! Tries a probe outside of our sandboxes: unconfined, or in a baseline such as bare bubblewrap.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::argument::{BEFORE, TRY, arguments};
use crate::decoys::Decoys;
use crate::probe::Probe;
use crate::{Attempt, Baseline, Finding, ProbeExit, answer};

/// The time limit of a probe.
const TIMEOUT: Duration = Duration::from_secs(20);
/// The path of the program inside bare bubblewrap.
const PROGRAM: &str = "/tmp/probe";
/// The usual options of `bwrap`: the machine is readable, and little is mounted above it.
const USUAL_OPTIONS: [&str; 11] = [
    "--unshare-all",
    "--die-with-parent",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--tmpfs",
    "/tmp",
];

/// Tries a probe without any confinement.
pub(crate) fn try_unconfined(probe: &Probe) -> io::Result<Finding> {
    let finding = attempt(probe, |decoys, arguments| {
        let mut command = Command::new("/proc/self/exe");
        command.args(arguments).current_dir(decoys.workspace());
        run_to_end(command.env("TMPDIR", decoys.scratch())).map(Some)
    })?;
    finding.ok_or(io::ErrorKind::NotFound.into())
}

/// The sandbox that `bwrap` makes by itself with its usual options.
#[derive(Debug)]
pub struct BareBubblewrap;

impl Baseline for BareBubblewrap {
    fn name(&self) -> &'static str {
        "bwrap_alone"
    }

    fn run(&self, attempt: &Attempt) -> io::Result<Option<ProbeExit>> {
        let mut command = Command::new("bwrap");
        command.args(USUAL_OPTIONS);
        command.arg("--ro-bind").arg(&attempt.program).arg(PROGRAM);
        let workspace = &attempt.workspace;
        command.arg("--bind").args([workspace, workspace]);
        command.arg("--chdir").arg(workspace);
        command.arg(PROGRAM).args(&attempt.arguments);
        match run_to_end(command.env("TMPDIR", "/tmp")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            exit => exit.map(Some),
        }
    }
}

/// Tries a probe in a baseline; `None` when the baseline isn't installed.
pub(crate) fn try_in_baseline(
    probe: &Probe,
    baseline: &dyn Baseline,
) -> io::Result<Option<Finding>> {
    let program = std::env::current_exe()?;
    attempt(probe, |decoys, arguments| {
        baseline.run(&Attempt {
            program: program.clone(),
            arguments,
            workspace: decoys.workspace(),
            shown: decoys.shown(),
        })
    })
}

fn attempt(
    probe: &Probe,
    run: impl Fn(&Decoys, Vec<String>) -> io::Result<Option<ProbeExit>>,
) -> io::Result<Option<Finding>> {
    let decoys = Decoys::new()?;
    let run = |role: &str| run(&decoys, arguments(role, probe.name, &decoys.bait)?);
    if probe.before.is_some() {
        run(BEFORE)?;
    }
    let exit = run(TRY)?;
    Ok(exit.map(|ProbeExit { signal, output }| answer::judge(probe, &decoys, signal, &output)))
}

/// Runs a program to its end, and kills it at the time limit.
fn run_to_end(command: &mut Command) -> io::Result<ProbeExit> {
    // A file instead of a pipe: nobody has to wait for descendants that hold it open.
    let mut output = File::from(memfd_create(c"output", MemfdFlags::CLOEXEC)?);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?)
        .spawn()?;
    let number = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let number = number.ok_or(io::ErrorKind::NotFound)?;
    let handle = pidfd_open(number, PidfdFlags::empty());
    let is_over = handle.is_ok_and(|handle| {
        let timeout = Timespec {
            tv_sec: i64::try_from(TIMEOUT.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: 0,
        };
        let mut watched = [PollFd::from_borrowed_fd(handle.as_fd(), PollFlags::IN)];
        matches!(poll(&mut watched, Some(&timeout)), Ok(1))
    });
    if !is_over {
        child.kill()?;
    }
    let status = child.wait()?;
    let mut bytes = Vec::new();
    output.rewind()?;
    output.read_to_end(&mut bytes)?;
    Ok(ProbeExit {
        signal: status.signal().filter(|_| is_over),
        output: bytes,
    })
}
