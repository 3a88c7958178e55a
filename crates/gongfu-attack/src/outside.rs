//! Tries a probe outside of our sandboxes: plainly, or in a baseline such as bare bubblewrap.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::bait::{Bait, Decoys};
use crate::list::Probe;
use crate::{Attempt, Baseline, Finding, ProbeExit, Verdict, process};

/// How long a probe may take.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Where the program is seen in it.
const INSIDE: &str = "/tmp/probe";
/// How `bwrap` is used by most who use it: the machine is shown to be read, and little is put above it.
const AS_USED: [&str; 11] = [
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

/// Tries a probe where nothing stands in its way.
pub(crate) fn plainly(probe: &Probe) -> io::Result<Finding> {
    let seen = tried(probe, |decoys, arguments| {
        let mut command = Command::new("/proc/self/exe");
        command.args(arguments).current_dir(decoys.workspace());
        ended(command.env("TMPDIR", decoys.scratch())).map(Some)
    })?;
    seen.ok_or(io::ErrorKind::NotFound.into())
}

/// What `bwrap` makes by itself, as it is mostly used.
#[derive(Debug)]
pub struct BareBubblewrap;

impl Baseline for BareBubblewrap {
    fn name(&self) -> &'static str {
        "bwrap_alone"
    }

    fn run(&self, attempt: &Attempt) -> io::Result<Option<ProbeExit>> {
        let mut command = Command::new("bwrap");
        command.args(AS_USED);
        command.arg("--ro-bind").arg(&attempt.program).arg(INSIDE);
        let workspace = &attempt.workspace;
        command.arg("--bind").args([workspace, workspace]);
        command.arg("--chdir").arg(workspace);
        command.arg(INSIDE).args(&attempt.arguments);
        match ended(command.env("TMPDIR", "/tmp")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            ended => ended.map(Some),
        }
    }
}

/// Tries a probe in a baseline; `None` where that isn't installed.
pub(crate) fn in_baseline(probe: &Probe, by: &dyn Baseline) -> io::Result<Option<Finding>> {
    let program = std::env::current_exe()?;
    tried(probe, |decoys, arguments| {
        by.run(&Attempt {
            program: program.clone(),
            arguments,
            workspace: decoys.workspace(),
            shown: decoys.shown(),
        })
    })
}

fn tried(
    probe: &Probe,
    run: impl Fn(&Decoys, Vec<String>) -> io::Result<Option<ProbeExit>>,
) -> io::Result<Option<Finding>> {
    let decoys = Decoys::new()?;
    let run = |kind: &str, bait: &Bait| {
        let arguments = process::arguments(kind, probe.name, bait)?;
        run(&decoys, arguments)
    };
    if probe.before.is_some() {
        run(process::BEFORE, &decoys.bait)?;
    }
    let ended = run(process::TRY, &decoys.bait)?;
    Ok(ended.map(|ProbeExit { signal, output }| judged(probe, &decoys, signal, &output)))
}

/// What came of a run that said this, and was ended by this signal.
pub(crate) fn judged(
    probe: &Probe,
    decoys: &Decoys,
    signal: Option<i32>,
    output: &[u8],
) -> Finding {
    let seen = |verdict, why: String| Finding { verdict, why };
    let told = process::said(output);
    match (told, signal, probe.found) {
        (Some(told), _, Some(found)) => {
            if found(decoys) {
                seen(Verdict::Reached, String::new())
            } else {
                let why = told.err();
                seen(
                    Verdict::Refused,
                    why.unwrap_or("it came to nothing".to_owned()),
                )
            }
        }
        (Some(Ok(())), ..) => seen(Verdict::Reached, String::new()),
        (Some(Err(why)), ..) => seen(Verdict::Refused, why),
        (None, Some(signal), _) => {
            seen(Verdict::Refused, format!("it was ended by signal {signal}"))
        }
        (None, None, _) => {
            let output = String::from_utf8_lossy(output);
            seen(Verdict::Void, format!("it said nothing: {}", output.trim()))
        }
    }
}

/// Runs something to its end, and kills it after a while.
fn ended(command: &mut Command) -> io::Result<ProbeExit> {
    // A file and no pipe: nobody has to wait for those who hold it.
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
        let patience = Timespec {
            tv_sec: i64::try_from(TIMEOUT.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: 0,
        };
        let mut watched = [PollFd::from_borrowed_fd(handle.as_fd(), PollFlags::IN)];
        matches!(poll(&mut watched, Some(&patience)), Ok(1))
    });
    if !is_over {
        child.kill()?;
    }
    let status = child.wait()?;
    let mut said = Vec::new();
    output.rewind()?;
    output.read_to_end(&mut said)?;
    Ok(ProbeExit {
        signal: status.signal().filter(|_| is_over),
        output: said,
    })
}
