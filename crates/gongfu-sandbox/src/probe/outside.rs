//! A probe without our sandbox: begun plainly, or in what `bwrap` makes by itself.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use gongfu_core::sandbox::Docker;

use super::bait::{Bait, Laid};
use super::list::Probe;
use super::{Seen, Verdict, process};
use crate::backend;
use crate::backend::docker::plain::{self, Plain};

/// How long a probe may take.
const PATIENCE: Duration = Duration::from_secs(20);
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
pub(super) fn plainly(probe: &Probe) -> io::Result<Seen> {
    tried(probe, |laid, arguments| {
        let mut command = Command::new("/proc/self/exe");
        command
            .args(arguments)
            .current_dir(laid.workspace())
            .env("TMPDIR", laid.scratch());
        command
    })
}

/// Tries a probe in what `bwrap` makes by itself; `None` where there is none.
pub(super) fn in_bwrap(probe: &Probe) -> Option<io::Result<Seen>> {
    let bwrap = backend::bubblewrap()?;
    let seen = std::env::current_exe().and_then(|program| {
        tried(probe, |laid, arguments| {
            let mut command = Command::new(bwrap);
            command.args(AS_USED);
            command.arg("--ro-bind").arg(&program).arg("/tmp/probe");
            command
                .arg("--bind")
                .args([laid.workspace(), laid.workspace()]);
            command.arg("--chdir").arg(laid.workspace());
            command
                .arg("/tmp/probe")
                .args(arguments)
                .env("TMPDIR", "/tmp");
            command
        })
    });
    Some(seen)
}

/// Tries a probe in a container as `docker run` makes it by itself; it sees the folder that it works in.
pub(super) fn in_docker(probe: &Probe, docker: &Docker) -> io::Result<Seen> {
    let laid = Laid::new()?;
    let program = std::env::current_exe()?;
    let run = |kind: &str| {
        let at = Path::new("/probe");
        let words = process::arguments(kind, probe.name, &laid.bait)?;
        let what = Plain {
            words: [vec![at.display().to_string()], words].concat(),
            volumes: vec![
                plain::volume(&program, at, false),
                plain::volume(&laid.shown(), &laid.bait.shown, false),
                plain::volume(&laid.workspace(), &laid.workspace(), true),
            ],
            folder: laid.workspace().display().to_string(),
            environment: vec!["TMPDIR=/tmp".to_owned()],
        };
        plain::run(docker, &what)
    };
    if probe.before.is_some() {
        run(process::BEFORE)?;
    }
    let ended = run(process::TRY)?;
    let signal = ended.code.filter(|code| *code > 128);
    let signal = signal.and_then(|code| i32::try_from(code - 128).ok());
    Ok(judged(probe, &laid, signal, &ended.output))
}

fn tried(probe: &Probe, command: impl Fn(&Laid, Vec<String>) -> Command) -> io::Result<Seen> {
    let laid = Laid::new()?;
    let run = |kind: &str, bait: &Bait| {
        let arguments = process::arguments(kind, probe.name, bait)?;
        ended(command(&laid, arguments))
    };
    if probe.before.is_some() {
        run(process::BEFORE, &laid.bait)?;
    }
    let (status, output) = run(process::TRY, &laid.bait)?;
    Ok(judged(
        probe,
        &laid,
        status.and_then(|status| status.signal()),
        &output,
    ))
}

/// What came of a run that said this, and was ended by this signal.
pub(super) fn judged(probe: &Probe, laid: &Laid, signal: Option<i32>, output: &[u8]) -> Seen {
    let seen = |verdict, why: String| Seen { verdict, why };
    let told = process::said(output);
    match (told, signal, probe.found) {
        (Some(told), _, Some(found)) => {
            if found(laid) {
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

/// Runs something to its end, which is made where it doesn't come; answers how it ended, and what it
/// said.
fn ended(mut command: Command) -> io::Result<(Option<ExitStatus>, Vec<u8>)> {
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
            tv_sec: i64::try_from(PATIENCE.as_secs()).unwrap_or(i64::MAX),
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
    Ok((is_over.then_some(status), said))
}
