//! The fork server: a small process that forks a supervisor for each run.
//!
//! A fork of it is faster than another execution of this program, and safe, because it has a single thread and no
//! data of any run in its memory. Its session is lowered, for Linux shares processors among sessions
//! (`sched(7)`, autogroups): otherwise the time that sandboxes take to build would be the server's.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, setsid, waitpid,
};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stdin};
use rustix::thread::set_name;

use super::syscall::{self, Fork};
use super::{priority, stdio, supervisor};
use crate::{seccomp, wire};

/// The argument that makes this program the fork server.
pub(crate) const ARGUMENT: &str = "sandbox-fork-server";

/// The name of this process.
const NAME: &std::ffi::CStr = c"gongfu-fork";

/// A supervisor that runs.
struct Supervisor {
    pid: Pid,
    handle: OwnedFd,
    /// Receives its exit code.
    end: File,
}

/// Runs as the fork server until the server is gone and the last supervisor has ended.
pub(super) fn run() -> ExitCode {
    let Ok(socket) = fcntl_dupfd_cloexec(stdin(), 3) else {
        return ExitCode::from(2);
    };
    let _ = set_name(NAME);
    // Made once, for all supervisors.
    let _ = seccomp::filters(false);
    if stdio::close().is_err() || setsid().is_err() || wire::send(&socket, &(), &[]).is_err() {
        return ExitCode::FAILURE;
    }
    let mut server = ForkServer {
        socket: Some(socket),
        supervisors: Vec::new(),
        is_lowered: false,
    };
    while server.socket.is_some() || !server.supervisors.is_empty() {
        match server.serve() {
            Ok(None) => {}
            // This is a new supervisor.
            Ok(Some(input_and_outputs)) => {
                drop(server);
                return supervise(input_and_outputs);
            }
            Err(_) => return ExitCode::FAILURE,
        }
    }
    ExitCode::SUCCESS
}

/// The standard input and the outputs of a supervisor.
type InputAndOutputs = [OwnedFd; 3];

fn supervise([input, out, error]: InputAndOutputs) -> ExitCode {
    let done = dup2_stdin(&input)
        .and_then(|()| dup2_stdout(&out))
        .and_then(|()| dup2_stderr(&error));
    drop((input, out, error));
    match done {
        Ok(()) => supervisor::run(),
        Err(_) => ExitCode::from(2),
    }
}

struct ForkServer {
    /// The socket of the server, until it is gone.
    socket: Option<OwnedFd>,
    supervisors: Vec<Supervisor>,
    is_lowered: bool,
}

impl ForkServer {
    /// Waits for an event and handles it. In a new supervisor it returns its input and outputs.
    fn serve(&mut self) -> io::Result<Option<InputAndOutputs>> {
        let handles = self.socket.iter();
        let handles = handles.chain(self.supervisors.iter().map(|one| &one.handle));
        let mut handles: Vec<PollFd<'_>> = handles
            .map(|handle| PollFd::new(handle, PollFlags::IN))
            .collect();
        match poll(&mut handles, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready: Vec<bool> = handles
            .iter()
            .map(|one| !one.revents().is_empty())
            .collect();
        let mut ready = ready.into_iter();
        let is_asked = self.socket.is_some() && ready.next().unwrap_or_default();
        self.supervisors
            .retain_mut(|one| !ready.next().unwrap_or_default() || !one.has_ended());
        let Some(socket) = self.socket.as_ref().filter(|_| is_asked) else {
            return Ok(None);
        };
        let Ok(Some(((), handles))) = wire::receive::<()>(socket) else {
            self.socket = None;
            return Ok(None);
        };
        if !self.is_lowered {
            self.is_lowered = lower_session().is_ok();
        }
        let started = match start(handles) {
            Ok(ForkSide::Supervisor(input_and_outputs)) => return Ok(Some(input_and_outputs)),
            Ok(ForkSide::Here(supervisor)) => Some(supervisor),
            Err(_) => None,
        };
        let handle = started.as_ref().map(|one| one.handle.as_fd());
        let answered = wire::send(socket, &started.is_some(), handle.as_slice());
        self.supervisors.extend(started);
        if answered.is_err() {
            self.socket = None;
        }
        Ok(None)
    }
}

/// The two processes after a fork.
enum ForkSide {
    Supervisor(InputAndOutputs),
    Here(Supervisor),
}

fn start(handles: Vec<OwnedFd>) -> io::Result<ForkSide> {
    let Ok([input, out, error, end]) = <[OwnedFd; 4]>::try_from(handles) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let pid = match syscall::fork()? {
        Fork::Child => return Ok(ForkSide::Supervisor([input, out, error])),
        Fork::Parent(pid) => pid,
    };
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(handle) => Ok(ForkSide::Here(Supervisor {
            pid,
            handle,
            end: File::from(end),
        })),
        Err(error) => {
            let _ = kill_process(pid, Signal::KILL);
            let _ = waitpid(Some(pid), WaitOptions::empty());
            Err(error.into())
        }
    }
}

/// Lowers the share of the processors that this session has. An unprivileged process may do so only ten times
/// in a second on the whole machine: then it is tried again with the next run.
fn lower_session() -> io::Result<()> {
    let file = File::options().write(true).open("/proc/self/autogroup");
    match file {
        Ok(mut file) => write!(file, "{}", priority::NICE),
        // Nothing is shared among sessions here.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

impl Supervisor {
    /// Passes its exit code on, if it has ended; returns whether it has.
    fn has_ended(&mut self) -> bool {
        match waitpid(Some(self.pid), WaitOptions::NOHANG) {
            Ok(None) => false,
            Ok(Some((_, status))) => {
                if let Some(code) = status.exit_status() {
                    let _ = self.end.write_all(&code.to_le_bytes());
                }
                true
            }
            Err(_) => true,
        }
    }
}
