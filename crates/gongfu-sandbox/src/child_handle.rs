//! A child and its control group: starts it, sends it the plan, and ends it.

use std::io::{self, PipeReader};
use std::net::Shutdown;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::child::UNCERTAIN;
use crate::plan::{Grouping, Launch, Plan};
use crate::platform::cgroup::{Group, Groups};
use crate::poll::is_readable_within;
use crate::process::Process;
use crate::{platform, wire};

/// The time that a run may take to end.
const END_TIMEOUT: Duration = Duration::from_secs(10);
/// The same where each of its processes must be killed, and they may keep the machine busy.
const KILL_TIMEOUT: Duration = Duration::from_mins(1);

/// A child and its control group.
pub struct ChildHandle {
    // Dropped before the group.
    supervised: SupervisedProcess,
    pub(crate) group: Option<Group>,
    /// The limits that the group enforces.
    pub(crate) grouping: Option<Grouping>,
    pub(crate) out: PipeReader,
    pub(crate) error: PipeReader,
}

/// A process, and the socket without which it ends.
struct SupervisedProcess {
    process: Process,
    control: UnixStream,
    /// Only the process can end every process of the run.
    is_needed: bool,
    /// It was left to itself.
    is_released: bool,
}

impl ChildHandle {
    /// Starts a child for this plan, in a control group of its own if there can be one.
    ///
    /// # Errors
    /// There can be no more processes.
    pub(crate) fn start(plan: &Plan, groups: Option<&Groups>) -> io::Result<Self> {
        let launch = plan.launch.as_ref();
        let own_processes = launch.map_or(0, Launch::own_processes);
        let is_needed = launch.is_some_and(Launch::needs_supervisor);
        let (process, ends) = start_process(plan)?;
        // Without a group the limits are enforced as on machines that have none.
        let group = groups.and_then(|groups| groups.make(&plan.limits, own_processes).ok());
        let grouping = group.as_ref().map(Group::grouping);
        let handles = group.as_ref().map(Group::join_handles).transpose()?;
        let child = Self::new(process, is_needed, group, grouping, ends);
        let handles = handles.unwrap_or_default();
        let handles: Vec<BorrowedFd<'_>> = handles.iter().map(|handle| handle.as_fd()).collect();
        // It joins before it gets the plan, so that everything is counted.
        wire::send(child.control(), &grouping, &handles)?;
        Ok(child)
    }

    /// A run in a container. `hand_over` passes the child's ends to its init: the control socket and the two
    /// outputs.
    ///
    /// # Errors
    /// The container has ended.
    #[cfg(target_os = "linux")]
    pub(crate) fn in_container(
        run: crate::process::InContainer,
        group: Option<Group>,
        grouping: Grouping,
        hand_over: impl FnOnce([OwnedFd; 3]) -> io::Result<()>,
    ) -> io::Result<Self> {
        let (ours, theirs) = Ends::new()?;
        hand_over(theirs)?;
        let process = Process::InContainer(run);
        Ok(Self::new(process, false, group, Some(grouping), ours))
    }

    fn new(
        process: Process,
        is_needed: bool,
        group: Option<Group>,
        grouping: Option<Grouping>,
        ends: Ends,
    ) -> Self {
        let supervised = SupervisedProcess {
            process,
            control: ends.control,
            is_needed,
            is_released: false,
        };
        Self {
            supervised,
            group,
            grouping,
            out: ends.out,
            error: ends.error,
        }
    }

    /// The control socket.
    pub(crate) fn control(&self) -> &UnixStream {
        &self.supervised.control
    }

    /// Tells it the plan; the program reads `input`.
    ///
    /// # Errors
    /// It has ended.
    pub(crate) fn send_plan(&self, plan: &Plan, input: Option<BorrowedFd<'_>>) -> io::Result<()> {
        wire::send(self.control(), plan, input.as_slice())
    }

    /// Makes it stop waiting for the server.
    pub(crate) fn disconnect(&self) {
        let _ = self.control().shutdown(Shutdown::Both);
    }

    /// Ends the run if it goes on; returns whether every process of it is dead for certain. `init` is the
    /// handle of its init, if there is one.
    pub(crate) fn end(&mut self, init: Option<&OwnedFd>) -> bool {
        self.disconnect();
        let has_ended = match init {
            // The supervisor would kill it as well, but may be the last to get a processor.
            Some(init) => {
                platform::kill(init);
                is_readable_within(init, END_TIMEOUT) || self.supervised.end()
            }
            None => self.supervised.end(),
        };
        // When the group is empty, all processes are dead, by whatever cause.
        has_ended || self.group.as_ref().is_some_and(Group::end)
    }
}

impl SupervisedProcess {
    /// Ends the run; returns whether every process of it is dead for certain. No process may change what the
    /// run wrote while it is merged.
    ///
    /// Only the process can say so: it waits for init, whose end is the end of all others. It is killed only
    /// when it doesn't end by itself. Where its end isn't the end of others, it is left to itself instead.
    fn end(&mut self) -> bool {
        let _ = self.control.shutdown(Shutdown::Both);
        let timeout = if self.is_needed {
            KILL_TIMEOUT
        } else {
            END_TIMEOUT
        };
        let has_ended = self.process.ends_within(timeout);
        if !has_ended && self.is_needed {
            self.is_released = true;
            return false;
        }
        if !has_ended {
            self.process.kill();
        }
        // A supervisor that was killed has waited for no process.
        let code = self.process.code();
        has_ended && code.is_some_and(|code| code != i32::from(UNCERTAIN))
    }
}

impl Drop for SupervisedProcess {
    fn drop(&mut self) {
        if !self.is_released && !self.process.has_ended() {
            self.end();
        }
    }
}

/// The server's ends of the control socket and the outputs.
struct Ends {
    control: UnixStream,
    out: PipeReader,
    error: PipeReader,
}

impl Ends {
    /// Makes them, and the child's: its standard input, which is the control socket, and its outputs.
    fn new() -> io::Result<(Self, [OwnedFd; 3])> {
        let (control, theirs) = UnixStream::pair()?;
        let ((out, their_out), (error, their_error)) = (io::pipe()?, io::pipe()?);
        let ours = Self {
            control,
            out,
            error,
        };
        Ok((ours, [theirs.into(), their_out.into(), their_error.into()]))
    }
}

/// Starts the child process.
#[cfg(target_os = "linux")]
fn start_process(plan: &Plan) -> io::Result<(Process, Ends)> {
    let request = plan.fork_request();
    let start = || {
        let (ours, theirs) = Ends::new()?;
        let theirs = theirs.each_ref().map(|end| end.as_fd());
        let forked = crate::fork_server::fork(&request, theirs)?;
        Ok((Process::Supervisor(forked), ours))
    };
    // A fork server that has died is started again; its supervisors end with their sockets.
    start().or_else(|_: io::Error| start())
}

/// Starts the child process.
#[cfg(target_os = "macos")]
fn start_process(_plan: &Plan) -> io::Result<(Process, Ends)> {
    let (ours, theirs) = Ends::new()?;
    Ok((Process::Child(platform::start_child(theirs)?), ours))
}
