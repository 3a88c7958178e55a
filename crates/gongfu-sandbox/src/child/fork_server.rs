//! The fork server: a small process that forks a supervisor for each run.
//!
//! A fork of it is faster than another execution of this program, and safe, because it has a single thread and no
//! data of any run in its memory. Between runs it forks a spare supervisor, so that the next run finds a
//! network that is made already. Its session is lowered, for Linux shares processors among sessions
//! (`sched(7)`, autogroups): otherwise the time that sandboxes take to build would be the server's.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::process::ExitCode;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, setsid, waitpid,
};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stdin};
use rustix::thread::set_name;

use super::id_namespaces::IdNamespaces;
use super::supervisor::Preparation;
use super::syscall::{self, Fork};
use super::{priority, stdio, supervisor};
use crate::plan::{ForkRequest, IdMapping};
use crate::poll::timespec;
use crate::{seccomp, wire};

/// The argument that makes this program the fork server.
pub(crate) const ARGUMENT: &str = "sandbox-fork-server";

/// The name of this process.
const NAME: &std::ffi::CStr = c"gongfu-fork";

/// The time after which a spare supervisor ends that no run has used.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);

/// A supervisor, or a spare one.
struct Supervisor {
    pid: Pid,
    handle: OwnedFd,
    /// Receives its exit code, if it has a run.
    end: Option<File>,
}

/// A supervisor that was forked ahead, for any run. It is in a network of its own, and used once.
struct Spare {
    supervisor: Supervisor,
    /// Takes the standard input and the outputs of its run, with its mappings of owners.
    socket: OwnedFd,
}

/// The standard input and the outputs of a supervisor.
type InputAndOutputs = [OwnedFd; 3];

/// The role of a process after a step of the fork server.
enum Role {
    Server,
    Supervisor(InputAndOutputs),
    /// With the other end of [`Spare::socket`].
    Spare(OwnedFd),
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
        spare: None,
        wants_spare: false,
        id_namespaces: IdNamespaces::default(),
        is_lowered: false,
    };
    while server.socket.is_some() || !server.supervisors.is_empty() {
        match server.serve() {
            Ok(Role::Server) => {}
            Ok(Role::Supervisor(input_and_outputs)) => {
                let preparation = Preparation {
                    id_namespaces: std::mem::take(&mut server.id_namespaces),
                    namespaces: None,
                };
                drop(server);
                return supervise(input_and_outputs, &preparation);
            }
            Ok(Role::Spare(socket)) => {
                drop(server);
                return wait_for_run(&socket);
            }
            Err(_) => return ExitCode::FAILURE,
        }
    }
    ExitCode::SUCCESS
}

/// Waits for a run as a spare supervisor.
fn wait_for_run(socket: &OwnedFd) -> ExitCode {
    // Without this the run finds out why there can be no network.
    let namespaces = supervisor::enter_network().ok();
    let Ok(Some((mappings, handles))) = wire::receive::<Vec<IdMapping>>(socket) else {
        return ExitCode::SUCCESS;
    };
    let mut handles = handles.into_iter();
    let (Some(input), Some(out), Some(error)) = (handles.next(), handles.next(), handles.next())
    else {
        return ExitCode::from(2);
    };
    let preparation = Preparation {
        id_namespaces: IdNamespaces::new(mappings, handles.collect()),
        namespaces,
    };
    supervise([input, out, error], &preparation)
}

fn supervise([input, out, error]: InputAndOutputs, preparation: &Preparation) -> ExitCode {
    let done = dup2_stdin(&input)
        .and_then(|()| dup2_stdout(&out))
        .and_then(|()| dup2_stderr(&error));
    drop((input, out, error));
    match done {
        Ok(()) => supervisor::run(preparation),
        Err(_) => ExitCode::from(2),
    }
}

struct ForkServer {
    /// The socket of the server, until it is gone.
    socket: Option<OwnedFd>,
    supervisors: Vec<Supervisor>,
    spare: Option<Spare>,
    /// A run made namespaces lately.
    wants_spare: bool,
    id_namespaces: IdNamespaces,
    is_lowered: bool,
}

impl ForkServer {
    /// Waits for an event and handles it; returns the role of this process afterwards.
    fn serve(&mut self) -> io::Result<Role> {
        // It would slow down runs that go on.
        if self.wants_spare && self.spare.is_none() && self.supervisors.is_empty() {
            match self.fork_spare() {
                Ok(Role::Server) => {}
                Ok(role) => return Ok(role),
                Err(_) => self.wants_spare = false,
            }
        }
        let handles = self.socket.iter();
        let spare = self.spare.iter().map(|spare| &spare.supervisor);
        let supervisors = spare.chain(&self.supervisors).map(|one| &one.handle);
        let mut handles: Vec<PollFd<'_>> = handles
            .chain(supervisors)
            .map(|handle| PollFd::new(handle, PollFlags::IN))
            .collect();
        let timeout = self.spare.as_ref().map(|_| timespec(IDLE_TIMEOUT));
        let count = match poll(&mut handles, timeout.as_ref()) {
            Err(rustix::io::Errno::INTR) => return Ok(Role::Server),
            count => count?,
        };
        let ready: Vec<bool> = handles
            .iter()
            .map(|one| !one.revents().is_empty())
            .collect();
        let mut ready = ready.into_iter();
        let is_asked = self.socket.is_some() && ready.next().unwrap_or_default();
        let has_lost_spare = self.spare.is_some() && ready.next().unwrap_or_default();
        self.supervisors
            .retain_mut(|one| !ready.next().unwrap_or_default() || !one.has_ended());
        if count == 0 || has_lost_spare {
            self.end_spare();
        }
        Ok(if is_asked {
            self.answer()
        } else {
            Role::Server
        })
    }

    /// Answers a request of the server.
    fn answer(&mut self) -> Role {
        let received = self.socket.as_ref().map(wire::receive::<ForkRequest>);
        let Some(Ok(Some((request, handles)))) = received else {
            self.close();
            return Role::Server;
        };
        if !self.is_lowered {
            self.is_lowered = lower_session().is_ok();
        }
        let started = match self.start(&request, handles) {
            Ok(Start::Supervisor(input_and_outputs)) => {
                return Role::Supervisor(input_and_outputs);
            }
            Ok(Start::Here(supervisor)) => Some(supervisor),
            Err(_) => None,
        };
        let handle = started.as_ref().map(|one| one.handle.as_fd());
        let socket = self.socket.as_ref();
        let answered =
            socket.map(|socket| wire::send(socket, &started.is_some(), handle.as_slice()));
        self.supervisors.extend(started);
        if !matches!(answered, Some(Ok(()))) {
            self.close();
        }
        Role::Server
    }

    /// Takes no more requests: the server is gone.
    fn close(&mut self) {
        self.socket = None;
        self.end_spare();
    }

    /// Starts a supervisor: the spare one if it is of use, else a new one.
    fn start(&mut self, request: &ForkRequest, handles: Vec<OwnedFd>) -> io::Result<Start> {
        let Ok([input, out, error, end]) = <[OwnedFd; 4]>::try_from(handles) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        for mapping in &request.id_mappings {
            // Whether the run needs it is known to the supervisor.
            let _ = self.id_namespaces.add(*mapping);
        }
        let end = Some(File::from(end));
        if request.makes_namespaces {
            self.wants_spare = true;
            let handles = [input.as_fd(), out.as_fd(), error.as_fd()];
            if let Some(spare) = self.use_spare(&request.id_mappings, handles) {
                return Ok(Start::Here(Supervisor { end, ..spare }));
            }
        }
        match syscall::fork()? {
            Fork::Child => Ok(Start::Supervisor([input, out, error])),
            Fork::Parent(pid) => Supervisor::new(pid, end).map(Start::Here),
        }
    }

    /// Gives a run to the spare supervisor, if there is one.
    fn use_spare(
        &mut self,
        mappings: &[IdMapping],
        handles: [BorrowedFd<'_>; 3],
    ) -> Option<Supervisor> {
        let Spare { supervisor, socket } = self.spare.take()?;
        let (mut mapped, mut handles) = (Vec::new(), handles.to_vec());
        for mapping in mappings {
            if let Some(namespace) = self.id_namespaces.get(*mapping) {
                mapped.push(*mapping);
                handles.push(namespace);
            }
        }
        if wire::send(&socket, &mapped, &handles).is_ok() {
            return Some(supervisor);
        }
        self.supervisors.push(supervisor);
        None
    }

    fn fork_spare(&mut self) -> io::Result<Role> {
        let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
        let (ours, theirs) = socketpair(family, kind, SocketFlags::CLOEXEC, None)?;
        match syscall::fork()? {
            Fork::Child => Ok(Role::Spare(theirs)),
            Fork::Parent(pid) => {
                self.spare = Some(Spare {
                    supervisor: Supervisor::new(pid, None)?,
                    socket: ours,
                });
                Ok(Role::Server)
            }
        }
    }

    /// Lets the spare supervisor end, if there is one, and makes no other until the next run.
    fn end_spare(&mut self) {
        self.wants_spare = false;
        // Without its socket it ends.
        let spare = self.spare.take().map(|spare| spare.supervisor);
        self.supervisors.extend(spare);
    }
}

/// A supervisor that was started, or this process as a new one.
enum Start {
    Here(Supervisor),
    Supervisor(InputAndOutputs),
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
    /// A process that was forked; it is killed when there is no handle of it.
    fn new(pid: Pid, end: Option<File>) -> io::Result<Self> {
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => Ok(Self { pid, handle, end }),
            Err(error) => {
                let _ = kill_process(pid, Signal::KILL);
                let _ = waitpid(Some(pid), WaitOptions::empty());
                Err(error.into())
            }
        }
    }

    /// Passes its exit code on, if it has ended; returns whether it has.
    fn has_ended(&mut self) -> bool {
        match waitpid(Some(self.pid), WaitOptions::NOHANG) {
            Ok(None) => false,
            Ok(Some((_, status))) => {
                if let (Some(code), Some(end)) = (status.exit_status(), &mut self.end) {
                    let _ = end.write_all(&code.to_le_bytes());
                }
                true
            }
            Err(_) => true,
        }
    }
}
