//! The server's side of the fork server (`child/fork_server.rs`), which forks a supervisor for each run.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::child::fork_server::ARGUMENT;
use crate::plan::ForkRequest;
use crate::poll::is_readable_within;
use crate::process::SupervisorHandle;
use crate::wire;

/// The time that it may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// The time that it may take to fork.
const FORK_TIMEOUT: Duration = Duration::from_secs(3);

/// The fork server of this process, once there is one.
static SERVER: Mutex<Option<ForkServer>> = Mutex::new(None);

struct ForkServer {
    process: Child,
    socket: UnixStream,
}

/// Forks a supervisor with this input and these outputs. It starts the fork server first, if it doesn't run.
///
/// # Errors
/// A supervisor may exist or not: close the other ends of the handles before you try again.
pub(crate) fn fork(
    request: &ForkRequest,
    handles: [BorrowedFd<'_>; 3],
) -> io::Result<SupervisorHandle> {
    let mut state = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
    let server = match state.take() {
        Some(server) => server,
        None => ForkServer::start()?,
    };
    match server.fork(request, handles) {
        Ok(forked) => {
            *state = Some(server);
            Ok(forked)
        }
        Err(error) => {
            server.release();
            Err(error)
        }
    }
}

impl ForkServer {
    fn start() -> io::Result<Self> {
        let (socket, theirs) = UnixStream::pair()?;
        let process = Command::new("/proc/self/exe")
            .arg(ARGUMENT)
            .env_clear()
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mut server = Self { process, socket };
        let has_started = is_readable_within(&server.socket, START_TIMEOUT)
            && wire::receive::<()>(&server.socket)?.is_some();
        if has_started {
            return Ok(server);
        }
        let _ = server.process.kill();
        let _ = server.process.wait();
        Err(io::ErrorKind::TimedOut.into())
    }

    fn fork(
        &self,
        request: &ForkRequest,
        handles: [BorrowedFd<'_>; 3],
    ) -> io::Result<SupervisorHandle> {
        let [input, out, error] = handles;
        let (end, theirs) = io::pipe()?;
        let handles = [input, out, error, theirs.as_fd()];
        wire::send(&self.socket, request, &handles)?;
        drop(theirs);
        if !is_readable_within(&self.socket, FORK_TIMEOUT) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let answer = wire::receive::<bool>(&self.socket)?;
        let (_, handles) = answer.ok_or(io::ErrorKind::UnexpectedEof)?;
        let handle = handles.into_iter().next();
        let handle = handle.ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(SupervisorHandle { handle, end })
    }

    /// Lets it end once its last supervisor has; only it can tell how those end.
    fn release(mut self) {
        drop(self.socket);
        let thread = std::thread::Builder::new().name("fork-server".to_owned());
        // Without a thread it stays a zombie.
        let _ = thread.spawn(move || self.process.wait());
    }
}
