//! The process that executes a run, as the server sees it.

#[cfg(target_os = "linux")]
pub(crate) use linux::{InContainer, SupervisorHandle};

use std::time::Duration;

/// The process that executes a run.
pub(crate) enum Process {
    /// A supervisor that the fork server forked.
    #[cfg(target_os = "linux")]
    Supervisor(SupervisorHandle),
    /// Init of a container.
    #[cfg(target_os = "linux")]
    InContainer(InContainer),
    /// A child of this process.
    #[cfg(target_os = "macos")]
    Child(std::process::Child),
}

impl Process {
    /// Waits until the run is over; returns whether it is.
    pub(crate) fn ends_within(&mut self, timeout: Duration) -> bool {
        match self {
            #[cfg(target_os = "linux")]
            Self::Supervisor(process) => process.ends_within(timeout),
            #[cfg(target_os = "linux")]
            Self::InContainer(process) => process.ends_within(timeout),
            #[cfg(target_os = "macos")]
            Self::Child(child) => crate::platform::ends_within(child, timeout),
        }
    }

    /// Returns whether the run is over by now.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.ends_within(Duration::ZERO)
    }

    /// Kills the process.
    pub(crate) fn kill(&mut self) {
        match self {
            #[cfg(target_os = "linux")]
            Self::Supervisor(process) => process.kill(),
            #[cfg(target_os = "linux")]
            Self::InContainer(process) => process.kill(),
            #[cfg(target_os = "macos")]
            Self::Child(child) => {
                let _ = child.kill();
            }
        }
    }

    /// Reaps the process; returns its exit code, if it had one.
    pub(crate) fn code(&mut self) -> Option<i32> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Supervisor(process) => process.code(),
            #[cfg(target_os = "linux")]
            Self::InContainer(process) => process.ends_within(Duration::ZERO).then_some(0),
            #[cfg(target_os = "macos")]
            Self::Child(child) => child.wait().ok()?.code(),
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io::{PipeReader, Read as _};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::time::{Duration, Instant};

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::process::{Signal, pidfd_send_signal};

    use crate::plan::Reply;
    use crate::poll::{is_readable_within, timespec};
    use crate::wire;

    /// The time that the fork server may take to pass an exit code on.
    const CODE_TIMEOUT: Duration = Duration::from_secs(10);

    /// A supervisor that the fork server forked.
    #[derive(Debug)]
    pub(crate) struct SupervisorHandle {
        pub(crate) handle: OwnedFd,
        /// Delivers its exit code (4 bytes, little endian), if it has one.
        pub(crate) end: PipeReader,
    }

    impl SupervisorHandle {
        pub(super) fn ends_within(&self, timeout: Duration) -> bool {
            is_readable_within(&self.handle, timeout)
        }

        pub(super) fn kill(&self) {
            let _ = pidfd_send_signal(&self.handle, Signal::KILL);
        }

        pub(super) fn code(&mut self) -> Option<i32> {
            if !is_readable_within(&self.end, CODE_TIMEOUT) {
                return None;
            }
            let mut code = [0; 4];
            self.end.read_exact(&mut code).ok()?;
            Some(i32::from_le_bytes(code))
        }
    }

    /// A run in a container.
    #[derive(Debug)]
    pub(crate) struct InContainer {
        /// The socket of the container's init.
        pub(crate) socket: UnixStream,
        /// The handle of init. Its end is the end of every process of the container.
        pub(crate) init: OwnedFd,
        /// Every process of the run is dead for certain.
        pub(crate) is_over: bool,
    }

    impl InContainer {
        pub(super) fn ends_within(&mut self, timeout: Duration) -> bool {
            let deadline = Instant::now() + timeout;
            let mut is_open = true;
            while !self.is_over {
                let mut handles = vec![PollFd::new(&self.init, PollFlags::IN)];
                handles.extend(is_open.then(|| PollFd::new(&self.socket, PollFlags::IN)));
                let left = timespec(deadline.saturating_duration_since(Instant::now()));
                match poll(&mut handles, Some(&left)) {
                    Err(rustix::io::Errno::INTR) => continue,
                    Ok(1..) => {}
                    Ok(0) | Err(_) => break,
                }
                let is_ready =
                    |at: usize| handles.get(at).is_some_and(|one| !one.revents().is_empty());
                let (is_dead, has_reply) = (is_ready(0), is_ready(1));
                self.is_over = is_dead;
                if has_reply && !is_dead {
                    match wire::receive::<Reply>(&self.socket) {
                        Ok(Some((Reply::Over, _))) => self.is_over = true,
                        // A late reply about another run.
                        Ok(Some(_)) => {}
                        Ok(None) | Err(_) => is_open = false,
                    }
                }
            }
            self.is_over
        }

        pub(super) fn kill(&self) {
            let _ = pidfd_send_signal(&self.init, Signal::KILL);
        }
    }
}
