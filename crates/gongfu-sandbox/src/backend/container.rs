//! The server's side of the init of a container (`child/container_init.rs`), for any container runtime.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use gongfu_core::sandbox::Spec;
use rustix::net::sockopt::socket_peercred;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::program;
use crate::cgroup::Group;
use crate::child_handle::ChildHandle;
use crate::plan::{Grouping, Isolation, Join, Plan, Reply, Request, UnixId};
use crate::poll::{is_readable, is_readable_within};
use crate::process::InContainer;
use crate::wire;

/// The time that init may take to clean up after a run.
const CLEAN_TIMEOUT: Duration = Duration::from_secs(10);
/// Processes that the same user may have elsewhere. The kernel counts those of a user; the container's control
/// group limits those of a run.
const OTHER_PROCESSES: u64 = 1 << 20;

/// The init of a container. Its end is the end of every process in it.
#[derive(Debug)]
pub struct ContainerInit {
    /// The socket without which it ends.
    socket: UnixStream,
    process: OwnedFd,
    number: u32,
}

impl ContainerInit {
    /// The process of this number, which must have connected to `socket`; `None` where it hasn't, or isn't
    /// visible from here.
    ///
    /// # Errors
    /// The socket doesn't tell which process has connected.
    pub fn new(socket: UnixStream, number: u32) -> io::Result<Option<Self>> {
        let pid = i32::try_from(number).ok().and_then(Pid::from_raw);
        let process = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        let (Some(pid), Some(process)) = (pid, process) else {
            return Ok(None);
        };
        if socket_peercred(&socket)?.pid != pid || is_readable(&process) {
            return Ok(None);
        }
        Ok(Some(Self {
            socket,
            process,
            number,
        }))
    }

    /// Waits until it reports that it has started; returns whether it has within this time.
    pub fn is_ready_within(&self, timeout: Duration) -> bool {
        is_readable_within(&self.socket, timeout)
            && matches!(wire::receive(&self.socket), Ok(Some((Reply::Started, _))))
    }

    /// Starts a run of this user, which waits for its plan.
    ///
    /// # Errors
    /// The container has ended.
    pub fn start_run(&self, tenant: Option<UnixId>) -> io::Result<ChildHandle> {
        let grouping = Grouping {
            join: Join::Threads(0),
            // The container's runtime limits both.
            memory: true,
            processes: true,
        };
        let run = InContainer {
            socket: self.socket.try_clone()?,
            init: self.process.try_clone()?,
            is_over: false,
        };
        let group = Group::of_process(self.number);
        ChildHandle::in_container(run, group, grouping, |[control, out, error]| {
            if let Some(UnixId { user, group }) = tenant {
                // So that the program can open them by name as scripts do (`/dev/stderr`).
                for output in [&out, &error] {
                    std::os::unix::fs::fchown(output, Some(user), Some(group))?;
                }
            }
            let handles = [control.as_fd(), out.as_fd(), error.as_fd()];
            wire::send(&self.socket, &Request::Run(grouping), &handles)
        })
    }

    /// Returns whether it lives and waits for a request.
    pub fn is_idle(&self) -> bool {
        !is_readable(&self.socket) && !is_readable(&self.process)
    }

    /// Removes everything that a run left; returns whether nothing is left for certain.
    ///
    /// # Errors
    /// It has ended.
    pub fn clean(&self) -> io::Result<bool> {
        wire::send(&self.socket, &Request::Clean, &[])?;
        let deadline = Instant::now() + CLEAN_TIMEOUT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if !is_readable_within(&self.socket, left) {
                return Ok(false);
            }
            match wire::receive::<Reply>(&self.socket)? {
                Some((Reply::Cleaned(is_clean), _)) => return Ok(is_clean),
                // A late reply about a run.
                Some((Reply::Over | Reply::Started, _)) => {}
                None => return Ok(false),
            }
        }
    }

    /// Disconnects, so that it ends, and with it the container.
    pub fn release(&self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
    }

    /// Waits for its end; returns whether it has ended within this time.
    pub fn ends_within(&self, timeout: Duration) -> bool {
        is_readable_within(&self.process, timeout)
    }

    /// Kills it.
    pub fn kill(&self) {
        let _ = pidfd_send_signal(&self.process, Signal::KILL);
    }
}

/// Makes the plan of a run in a container, which shows nothing yet. The run may write to these file systems in
/// memory.
pub fn plan(
    job: &Spec,
    tenant: Option<UnixId>,
    variables: Vec<(String, String)>,
    file_systems: Vec<String>,
) -> Plan {
    Plan {
        has_copies: true,
        file_systems,
        ..program::plan(
            None,
            Isolation::SharedInit,
            job,
            tenant,
            variables,
            OTHER_PROCESSES,
        )
    }
}
