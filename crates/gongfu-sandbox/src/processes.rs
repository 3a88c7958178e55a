//! Programs that go on, as other MCP servers do: each with a guard, a process of ours that ends with this one.

use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use gongfu_core::port::{Pending, PortError, Process, ProcessSpec, Processes};
use gongfu_core::sandbox::Exit;
use rustix::process::{Pid, PidfdFlags, WaitOptions, pidfd_open, waitpid};

use crate::child::guard::ARGUMENT;
use crate::plan::{Event, GuardRequest, Step};
use crate::poll::is_readable_within;
use crate::wire;

/// The time that a guard has to end its program before it is left to do so alone.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// Starts programs on this machine, as the user of this process.
#[derive(Debug, Default)]
pub struct LocalProcesses;

impl Processes for LocalProcesses {
    fn start(&self, spec: ProcessSpec) -> Pending<'_, Process> {
        Box::pin(async move {
            let program = spec.arguments.first().cloned().unwrap_or_default();
            let started = tokio::task::spawn_blocking(move || start(spec)).await;
            let started = started.map_err(io::Error::other).flatten();
            started.map_err(|error| {
                PortError::Unavailable(format!("`{program}` can't be started: {error}"))
            })
        })
    }
}

/// Starts this program again, apart from this process: it goes on when this one ends, and no terminal ends it. Its
/// standard error goes to `log`.
///
/// # Errors
/// It can't be started.
pub fn start_apart(argument: &str, log: OwnedFd) -> io::Result<()> {
    let mut process = Command::new("/proc/self/exe")
        .arg(argument)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::from(log))
        .spawn()?;
    // Nobody else reaps it.
    let thread = std::thread::Builder::new().name("reaper".to_owned());
    thread.spawn(move || process.wait()).map(drop)
}

/// Leaves the session of the terminal, for a process that was started apart.
pub fn leave_terminal() {
    // Fails for the leader of a session, which has no terminal to leave.
    let _ = rustix::process::setsid();
}

/// The guard of a program.
struct Guard {
    process: Child,
    /// The guard ends without it.
    control: UnixStream,
}

impl Drop for Guard {
    fn drop(&mut self) {
        // The future that waits for its end has a handle of this socket as well.
        let _ = self.control.shutdown(Shutdown::Both);
        let Ok(None) = self.process.try_wait() else {
            return;
        };
        let pid = i32::try_from(self.process.id()).ok();
        let pid = pid.and_then(Pid::from_raw);
        let Some(handle) = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else {
            return;
        };
        // Nobody else reaps it.
        let reap = move || {
            is_readable_within(&handle, END_TIMEOUT);
            let _ = waitpid(pid, WaitOptions::NOHANG);
        };
        let thread = std::thread::Builder::new().name("reaper".to_owned());
        let _ = thread.spawn(reap);
    }
}

fn start(spec: ProcessSpec) -> io::Result<Process> {
    let (control, theirs) = UnixStream::pair()?;
    let ((their_input, input), (output, their_output), (error, their_error)) =
        (io::pipe()?, io::pipe()?, io::pipe()?);
    let process = Command::new("/proc/self/exe")
        .arg(ARGUMENT)
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let guard = Guard {
        process,
        control: control.try_clone()?,
    };
    let request = GuardRequest {
        arguments: spec.arguments,
        environment: spec.environment.into_iter().collect(),
        folder: spec.folder,
    };
    let handles = [
        their_input.as_fd(),
        their_output.as_fd(),
        their_error.as_fd(),
    ];
    wire::send(&control, &request, &handles)?;
    let end = async move {
        Ok(ended(&control)
            .await
            .unwrap_or_else(|error| error.to_string()))
    };
    Ok(Process {
        input: input.into(),
        output: output.into(),
        error: error.into(),
        end: Box::pin(end),
        hold: Box::new(guard),
    })
}

/// Waits until the guard tells how the program ended, and puts it in words.
async fn ended(control: &UnixStream) -> io::Result<String> {
    control.set_nonblocking(true)?;
    let ready = tokio::net::UnixStream::from_std(control.try_clone()?)?;
    // The guard sends one event, as one message.
    ready.readable().await?;
    let event = wire::receive::<Event>(control)?.map(|(event, _)| event);
    Ok(match event {
        Some(Event::Ended {
            exit: Some(Exit::Code(code)),
            ..
        }) => format!("it exited with code {code}"),
        Some(Event::Ended {
            exit: Some(Exit::Signal(signal)),
            ..
        }) => format!("it was ended by signal {signal}"),
        Some(Event::Failed(Step::Folder, number)) => {
            let why = io::Error::from_raw_os_error(number);
            format!("its folder can't be entered: {why}")
        }
        Some(Event::Failed(Step::Program, number)) => match io::Error::from_raw_os_error(number) {
            why if why.kind() == io::ErrorKind::NotFound => "there is no such program".to_owned(),
            why => format!("it can't be started: {why}"),
        },
        Some(Event::Failed(_, number)) => {
            let why = io::Error::from_raw_os_error(number);
            format!("it can't be started: {why}")
        }
        _ => "it was ended".to_owned(),
    })
}
