//! The fork server: begins children in a session of its own, which stands behind the server's.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Pid, PidfdFlags, pidfd_open, setsid};
use rustix::stdio::stdin;
use rustix::thread::set_name;

use super::{close_outputs, session};
use crate::wire;

/// The argument by which a program is told to be the fork server.
pub(crate) const ARGUMENT: &str = "sandbox-fork-server";

/// What it is called.
const NAME: &std::ffi::CStr = c"gongfu-fork";
/// How long its session may take to be lowered: only so many may be in a second.
const PATIENCE: Duration = Duration::from_secs(20);
/// How soon it is tried again.
const ROUND: Duration = Duration::from_millis(100);

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
    let (mut socket, mut children) = (Some(socket), Vec::new());
    // Until nobody wants anything more, and the last of its children has ended.
    while socket.is_some() || !children.is_empty() {
        if serve(&mut socket, &mut children).is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Makes a session that stands behind others; answers whether it does.
fn is_behind() -> bool {
    if setsid().is_err() {
        return false;
    }
    let by = Instant::now() + PATIENCE;
    loop {
        match session::lower("self") {
            Ok(()) => return true,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < by => {
                std::thread::sleep(ROUND);
            }
            Err(_) => return false,
        }
    }
}

/// Waits for something and does it.
fn serve(socket: &mut Option<OwnedFd>, children: &mut Vec<Fostered>) -> io::Result<()> {
    let mut watched = Vec::new();
    watched.extend(
        socket
            .as_ref()
            .map(|socket| PollFd::new(socket, PollFlags::IN)),
    );
    let handles = children.iter().map(|one| &one.handle);
    watched.extend(handles.map(|handle| PollFd::new(handle, PollFlags::IN)));
    match poll(&mut watched, None) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let ready: Vec<bool> = watched
        .iter()
        .map(|one| !one.revents().is_empty())
        .collect();
    let mut ready = ready.into_iter();
    let is_asked = socket.is_some() && ready.next().unwrap_or_default();
    children.retain_mut(|one| !ready.next().unwrap_or_default() || !one.is_told());
    let Some(asking) = socket.as_ref().filter(|_| is_asked) else {
        return Ok(());
    };
    let Ok(Some(((), handles))) = wire::receive::<()>(asking) else {
        *socket = None;
        return Ok(());
    };
    let begun = begin(handles);
    let handle = begun.as_ref().ok().map(|one| one.handle.as_fd());
    let answered = wire::send(asking, &begun.is_ok(), handle.as_slice());
    children.extend(begun);
    if answered.is_err() {
        *socket = None;
    }
    Ok(())
}

fn begin(handles: Vec<OwnedFd>) -> io::Result<Fostered> {
    let Ok([input, out, error, end]) = <[OwnedFd; 4]>::try_from(handles) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut child = Command::new("/proc/self/exe")
        .args([super::ARGUMENT, session::FORK_SERVER])
        .env_clear()
        .stdin(Stdio::from(input))
        .stdout(Stdio::from(out))
        .stderr(Stdio::from(error))
        .spawn()?;
    let number = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let handle = number.map(|number| pidfd_open(number, PidfdFlags::empty()));
    let Some(Ok(handle)) = handle else {
        let _ = child.kill();
        let _ = child.wait();
        return Err(io::ErrorKind::NotFound.into());
    };
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
