//! The fork server: begins children in a session of its own, which stands behind the server's.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open, setsid};
use rustix::stdio::stdin;
use rustix::thread::set_name;

use super::{close_outputs, priority};
use crate::wire;

/// The argument by which a program is told to be the fork server.
pub(crate) const ARGUMENT: &str = "sandbox-fork-server";

/// What it is called.
const NAME: &std::ffi::CStr = c"gongfu-fork";
/// How long its session may take to be lowered: only so many may be in a second.
const PATIENCE: Duration = Duration::from_secs(20);
/// How soon it is tried again.
const ROUND: Duration = Duration::from_millis(100);
/// How long it waits for somebody to want something, in seconds.
const WAITING: i64 = 30;

/// A child that was begun for the server.
struct Fostered {
    child: Child,
    handle: OwnedFd,
    /// Where its end is told.
    end: File,
}

/// Is the fork server, until nobody wants it any more.
pub(super) fn run() -> ExitCode {
    let Ok(socket) = fcntl_dupfd_cloexec(stdin(), 3) else {
        return ExitCode::from(2);
    };
    let _ = set_name(NAME);
    if close_outputs().is_err() || !is_behind() || wire::send(&socket, &(), &[]).is_err() {
        return ExitCode::FAILURE;
    }
    let mut children = Vec::new();
    while matches!(serve(&socket, &mut children), Ok(true)) {}
    // Those that are still there live by their own sockets.
    ExitCode::SUCCESS
}

/// Makes a session that stands behind others; answers whether it does.
fn is_behind() -> bool {
    if setsid().is_err() {
        return false;
    }
    let by = Instant::now() + PATIENCE;
    loop {
        match priority::lower_session(getpid()) {
            Ok(()) => return true,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < by => {
                std::thread::sleep(ROUND);
            }
            Err(_) => return false,
        }
    }
}

/// Waits for something and does it; answers whether there is more to wait for.
fn serve(socket: &OwnedFd, children: &mut Vec<Fostered>) -> io::Result<bool> {
    let waiting = Timespec {
        tv_sec: WAITING,
        tv_nsec: 0,
    };
    let waiting = children.is_empty().then_some(&waiting);
    let mut watched = vec![PollFd::new(socket, PollFlags::IN)];
    let handles = children.iter().map(|one| &one.handle);
    watched.extend(handles.map(|handle| PollFd::new(handle, PollFlags::IN)));
    match poll(&mut watched, waiting) {
        Ok(0) => return Ok(false),
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut ready = watched.iter().map(|one| !one.revents().is_empty());
    let is_asked = ready.next().unwrap_or_default();
    let ended: Vec<bool> = ready.collect();
    let mut ended = ended.into_iter();
    children.retain_mut(|one| !ended.next().unwrap_or_default() || !one.is_told());
    if !is_asked {
        return Ok(true);
    }
    let Some(((), handles)) = wire::receive::<()>(socket)? else {
        return Ok(false);
    };
    match begin(handles) {
        Ok(one) => {
            wire::send(socket, &None::<i32>, &[one.handle.as_fd()])?;
            children.push(one);
        }
        Err(error) => {
            let number = error.raw_os_error().unwrap_or(libc::EIO);
            wire::send(socket, &Some(number), &[])?;
        }
    }
    Ok(true)
}

fn begin(handles: Vec<OwnedFd>) -> io::Result<Fostered> {
    let Ok([input, out, error, end]) = <[OwnedFd; 4]>::try_from(handles) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let child = Command::new("/proc/self/exe")
        .args([super::ARGUMENT, priority::FORK_SERVER])
        .env_clear()
        .stdin(Stdio::from(input))
        .stdout(Stdio::from(out))
        .stderr(Stdio::from(error))
        .spawn()?;
    let number = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let handle = pidfd_open(number.ok_or(io::ErrorKind::NotFound)?, PidfdFlags::empty())?;
    Ok(Fostered {
        child,
        handle,
        end: File::from(end),
    })
}

impl Fostered {
    /// Tells its end, if it has ended; answers whether it has.
    fn is_told(&mut self) -> bool {
        match self.child.try_wait() {
            Ok(None) => false,
            Ok(Some(status)) => {
                if let Some(code) = status.code() {
                    let _ = self.end.write_all(&code.to_le_bytes());
                }
                true
            }
            Err(_) => true,
        }
    }
}
