//! A child as a process: how its end is waited for, and how it is brought about.

use std::process::Child;
use std::time::Duration;

use rustix::process::{Pid, WaitOptions, waitpid};

#[cfg(target_os = "linux")]
pub(crate) use linux::{Contained, Foster};

/// A process that was begun.
pub(crate) enum Process {
    /// By this one.
    Own(Child),
    /// By the fork server.
    #[cfg(target_os = "linux")]
    Foster(Foster),
    /// By the first process of a container.
    #[cfg(target_os = "linux")]
    Contained(Contained),
}

impl Process {
    /// Whether it has ended already.
    pub(crate) fn has_ended(&mut self) -> bool {
        match self {
            Self::Own(child) => matches!(child.try_wait(), Ok(Some(_))),
            #[cfg(target_os = "linux")]
            Self::Foster(foster) => foster.ends(Duration::ZERO),
            #[cfg(target_os = "linux")]
            Self::Contained(run) => run.ends(Duration::ZERO),
        }
    }

    /// Whether it ends in this time.
    pub(crate) fn ends(&mut self, patience: Duration) -> bool {
        match self {
            Self::Own(child) => own::ends(child, patience),
            #[cfg(target_os = "linux")]
            Self::Foster(foster) => foster.ends(patience),
            #[cfg(target_os = "linux")]
            Self::Contained(run) => run.ends(patience),
        }
    }

    /// Ends it.
    pub(crate) fn kill(&mut self) {
        match self {
            Self::Own(child) => drop(child.kill()),
            #[cfg(target_os = "linux")]
            Self::Foster(foster) => foster.kill(),
            #[cfg(target_os = "linux")]
            Self::Contained(run) => run.kill(),
        }
    }

    /// Waits for its end; answers the code that it ended with, unless a signal ended it or nobody knows.
    pub(crate) fn code(&mut self) -> Option<i32> {
        match self {
            Self::Own(child) => child.wait().ok().and_then(|status| status.code()),
            #[cfg(target_os = "linux")]
            Self::Foster(foster) => foster.code(),
            #[cfg(target_os = "linux")]
            Self::Contained(run) => run.ends(Duration::ZERO).then_some(0),
        }
    }

    /// Leaves it to go on; it is taken away when it ends.
    pub(crate) fn leave(&self) {
        match self {
            Self::Own(child) => {
                let number = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
                let waiting = std::thread::Builder::new().name("waiting".to_owned());
                // Where there can be no more threads nobody takes it away.
                let _ = number.map(|number| {
                    waiting.spawn(move || waitpid(Some(number), WaitOptions::empty()))
                });
            }
            #[cfg(target_os = "linux")]
            Self::Foster(_) | Self::Contained(_) => {}
        }
    }
}

#[cfg(target_os = "linux")]
mod own {
    use std::process::Child;
    use std::time::Duration;

    use rustix::event::PollFlags;
    use rustix::process::{Pid, PidfdFlags, pidfd_open};

    use crate::begun::is_heard;

    pub(super) fn ends(child: &Child, patience: Duration) -> bool {
        let number = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let handle = number.and_then(|number| pidfd_open(number, PidfdFlags::empty()).ok());
        handle.is_some_and(|handle| is_heard(&handle, PollFlags::IN, patience))
    }
}

#[cfg(target_os = "macos")]
mod own {
    use std::process::Child;
    use std::time::{Duration, Instant};

    /// How often it is looked whether it has ended: nothing tells of it.
    const ROUND: Duration = Duration::from_millis(2);

    pub(super) fn ends(child: &mut Child, patience: Duration) -> bool {
        let by = Instant::now() + patience;
        loop {
            match child.try_wait() {
                Ok(None) if Instant::now() < by => std::thread::sleep(ROUND),
                ended => break matches!(ended, Ok(Some(_))),
            }
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

    use crate::begun::{is_heard, timespec};
    use crate::plan::Answer;
    use crate::wire;

    /// How long it may take until it is known how it ended.
    const PATIENCE: Duration = Duration::from_secs(10);

    /// A child of the fork server.
    #[derive(Debug)]
    pub(crate) struct Foster {
        /// The process.
        pub(crate) handle: OwnedFd,
        /// Says with which code it has ended (4 bytes, the least first), where it was one.
        pub(crate) end: PipeReader,
    }

    impl Foster {
        pub(super) fn ends(&self, patience: Duration) -> bool {
            is_heard(&self.handle, PollFlags::IN, patience)
        }

        pub(super) fn kill(&self) {
            let _ = pidfd_send_signal(&self.handle, Signal::KILL);
        }

        pub(super) fn code(&mut self) -> Option<i32> {
            // It has ended: whoever began it says so soon, or never.
            if !is_heard(&self.end, PollFlags::IN, PATIENCE) {
                return None;
            }
            let mut code = [0; 4];
            self.end.read_exact(&mut code).ok()?;
            Some(i32::from_le_bytes(code))
        }
    }

    /// A run in a container.
    #[derive(Debug)]
    pub(crate) struct Contained {
        /// What the first process of the container says.
        pub(crate) keeper: UnixStream,
        /// That process; its end is that of all.
        pub(crate) first: OwnedFd,
        /// Whether everybody of the run is dead for certain.
        pub(crate) is_over: bool,
    }

    impl Contained {
        pub(super) fn ends(&mut self, patience: Duration) -> bool {
            let by = Instant::now() + patience;
            let mut says = true;
            while !self.is_over {
                let mut watched = vec![PollFd::new(&self.first, PollFlags::IN)];
                watched.extend(says.then(|| PollFd::new(&self.keeper, PollFlags::IN)));
                let left = timespec(by.saturating_duration_since(Instant::now()));
                match poll(&mut watched, Some(&left)) {
                    Err(rustix::io::Errno::INTR) => continue,
                    Ok(1..) => {}
                    Ok(0) | Err(_) => break,
                }
                let heard =
                    |at: usize| watched.get(at).is_some_and(|one| !one.revents().is_empty());
                let (is_dead, is_told) = (heard(0), heard(1));
                self.is_over = is_dead;
                if is_told && !is_dead {
                    // What it says besides was meant for another run.
                    match wire::receive::<Answer>(&self.keeper) {
                        Ok(Some((Answer::Over, _))) => self.is_over = true,
                        Ok(Some(_)) => {}
                        Ok(None) | Err(_) => says = false,
                    }
                }
            }
            self.is_over
        }

        pub(super) fn kill(&self) {
            let _ = pidfd_send_signal(&self.first, Signal::KILL);
        }
    }
}
