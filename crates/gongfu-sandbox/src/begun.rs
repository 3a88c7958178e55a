//! A child that was begun, in a control group of its own where there are any, and how it is ended.

use std::collections::BTreeMap;
use std::io::{self, PipeReader};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gongfu_core::sandbox::Limits;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
#[cfg(target_os = "linux")]
use rustix::process::{Signal, pidfd_send_signal};

use crate::cgroup::{Group, Groups};
use crate::child::{ARGUMENT, UNCERTAIN};
#[cfg(target_os = "linux")]
use crate::fork_server;
use crate::network::Network;
use crate::plan::{Ground, Grouped, Kind, Order, Owner, Plan, Step, Told};
use crate::process::Process;
use crate::wire;

/// How long the end of a run is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same where each of its processes must be ended, and they may keep the machine busy.
const MORE_PATIENCE: Duration = Duration::from_mins(1);

/// In how many handles at most the mounts of a run come at once.
const AT_ONCE: usize = 32;

/// User namespaces in which an owner of files is somebody.
pub(crate) type Mappings = BTreeMap<Owner, Arc<OwnedFd>>;

/// A child and its control group.
pub(crate) struct Begun {
    // It goes before its group, whatever happens.
    kept: Kept,
    pub(crate) group: Option<Group>,
    pub(crate) out: PipeReader,
    pub(crate) error: PipeReader,
    /// What a control group counts, besides which nobody has to.
    pub(crate) grouped: Option<Grouped>,
    /// The network that it was given.
    pub(crate) network: Option<Network>,
}

/// A child, and the socket that it lives by.
struct Kept {
    process: Process,
    control: UnixStream,
    /// Nobody but the child can end the run.
    is_needed: bool,
    /// Nobody waits for it any more.
    is_left: bool,
}

impl Begun {
    /// Begins one of this kind. With a ground it makes that, in this network or in a new one; these
    /// owners are to be mapped to its tenant.
    ///
    /// # Errors
    /// It can't be begun, or told.
    pub(crate) fn begin(
        kind: &Kind,
        ground: Option<(&Ground, &[Owner])>,
        network: Option<Network>,
        groups: Option<&Groups>,
        limits: &Limits,
    ) -> io::Result<Self> {
        let (
            process,
            Ends {
                control,
                out,
                error,
            },
        ) = process(groups)?;
        let kept = Kept {
            process,
            control,
            is_needed: kind.needs_its_child(),
            is_left: false,
        };
        // While the child begins. Where there can't be one more, its limits are held as where there are
        // none.
        let group = groups.and_then(|groups| groups.make(limits, kind.watching()).ok());
        let grouped = group.as_ref().map(Group::grouped);
        let begun = Self {
            kept,
            group,
            out,
            error,
            grouped,
            network,
        };
        let doors = begun.group.as_ref().map(Group::doors).transpose()?;
        let doors = doors.unwrap_or_default();
        // Nothing of the plan is known to the child before it is where it is counted.
        let handles: Vec<BorrowedFd<'_>> = doors.iter().map(AsFd::as_fd).collect();
        wire::send(begun.control(), &grouped, &handles)?;
        if let Some((ground, owners)) = ground {
            let order = Order::Ground(ground.clone(), owners.to_vec());
            let network = begun.network.as_ref();
            let handles = network.map(Network::handles).unwrap_or_default();
            wire::send(begun.control(), &order, &handles)?;
        }
        Ok(begun)
    }

    /// One that the first process of a container is, for one run; `ask` hands it the socket that it is told
    /// things by, and its two outputs.
    ///
    /// # Errors
    /// It can't be asked.
    #[cfg(target_os = "linux")]
    pub(crate) fn in_a_container(
        run: crate::process::Contained,
        group: Option<Group>,
        grouped: Grouped,
        ask: impl FnOnce([OwnedFd; 3]) -> io::Result<()>,
    ) -> io::Result<Self> {
        let (ours, theirs) = Ends::new()?;
        ask(theirs)?;
        let kept = Kept {
            process: Process::Contained(run),
            control: ours.control,
            is_needed: false,
            is_left: false,
        };
        Ok(Self {
            kept,
            group,
            out: ours.out,
            error: ours.error,
            grouped: Some(grouped),
            network: None,
        })
    }

    /// The socket that it is told things by.
    pub(crate) fn control(&self) -> &UnixStream {
        &self.kept.control
    }

    /// Tells it what to do; the program reads `input`, and is made of these mounts besides the ground.
    ///
    /// # Errors
    /// It has ended.
    pub(crate) fn order(
        &self,
        plan: &Plan,
        input: Option<BorrowedFd<'_>>,
        trees: &[OwnedFd],
    ) -> io::Result<()> {
        let order = Order::Plan(Box::new(plan.clone()));
        wire::send(self.control(), &order, input.as_slice())?;
        for some in trees.chunks(AT_ONCE) {
            let handles: Vec<BorrowedFd<'_>> = some.iter().map(AsFd::as_fd).collect();
            wire::send(self.control(), &(), &handles)?;
        }
        Ok(())
    }

    /// The namespaces that it was asked for, which it tells of before anything else.
    ///
    /// # Errors
    /// It can't tell of any.
    pub(crate) fn mapped(&self) -> io::Result<Result<Mappings, (Step, i32)>> {
        if !is_heard(self.control(), PollFlags::IN, PATIENCE) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match wire::receive::<Told>(self.control())? {
            Some((Told::Mapped(owners), handles)) => {
                let handles = handles.into_iter().map(Arc::new);
                Ok(Ok(owners
                    .into_iter()
                    .zip(handles)
                    .collect::<BTreeMap<_, _>>()))
            }
            Some((Told::Failed(step, number), _)) => Ok(Err((step, number))),
            _ => Err(io::Error::other(
                "the child doesn't say whose files are whose",
            )),
        }
    }

    /// Whether it still waits for what to do.
    pub(crate) fn is_there(&mut self) -> bool {
        !self.kept.process.has_ended()
    }

    /// Ends the run where it hasn't ended; answers whether every process of it is dead for certain.
    /// `first` is the first of them, where it is known.
    pub(crate) fn end(&mut self, first: Option<&OwnedFd>) -> bool {
        let Some(first) = first else {
            return self.kept.end();
        };
        let _ = self.control().shutdown(Shutdown::Both);
        // Whoever waits for it would end it as well, but may be the last to be given a processor.
        #[cfg(target_os = "linux")]
        let _ = pidfd_send_signal(first, Signal::KILL);
        // Its end is that of all; who only waited for it needs no waiting for.
        is_heard(first, PollFlags::IN, PATIENCE) || self.kept.end()
    }
}

impl Kept {
    /// Nobody must be left who could change what was written while it is looked at. Only the child
    /// can say so, because it waits for the first process of the run, and that one's end is the end
    /// of all others: so it is asked to, and killed only if it doesn't. Without namespaces its own end
    /// is nobody else's: there it is left to go on.
    fn end(&mut self) -> bool {
        let _ = self.control.shutdown(Shutdown::Both);
        let patience = if self.is_needed {
            MORE_PATIENCE
        } else {
            PATIENCE
        };
        let ended = self.process.ends(patience);
        if !ended && self.is_needed {
            self.is_left = true;
            self.process.leave();
            return false;
        }
        if !ended {
            self.process.kill();
        }
        // One that was killed has waited for nobody.
        let code = self.process.code();
        ended && code.is_some_and(|code| code != i32::from(UNCERTAIN))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if !self.is_left && !self.process.has_ended() {
            self.end();
        }
    }
}

/// Our ends of what a child is told by, and says.
struct Ends {
    control: UnixStream,
    out: PipeReader,
    error: PipeReader,
}

impl Ends {
    /// Makes them, and what the child gets of them: its input and its outputs.
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

/// Begins the child itself.
fn process(groups: Option<&Groups>) -> io::Result<(Process, Ends)> {
    let (ours, theirs) = Ends::new()?;
    #[cfg(target_os = "linux")]
    let (ours, theirs) = if groups.is_some_and(Groups::share_processors) {
        (ours, theirs)
    } else {
        match fork_server::begin(theirs.each_ref().map(AsFd::as_fd)) {
            Ok(Some(process)) => return Ok((process, ours)),
            Ok(None) => (ours, theirs),
            // A child that nobody knows of may live by them: it ends with our ends.
            Err(_) => {
                drop((ours, theirs));
                Ends::new()?
            }
        }
    };
    #[cfg(target_os = "macos")]
    let _ = groups;
    let [input, out, error] = theirs.map(Stdio::from);
    let mut command = Command::new(itself()?);
    command.arg(ARGUMENT).env_clear();
    let child = command.stdin(input).stdout(out).stderr(error).spawn()?;
    Ok((Process::Own(child), ours))
}

/// This very program.
#[cfg(target_os = "linux")]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it has to be found")]
fn itself() -> io::Result<&'static str> {
    Ok("/proc/self/exe")
}

/// This very program.
#[cfg(target_os = "macos")]
pub(crate) fn itself() -> io::Result<std::path::PathBuf> {
    std::env::current_exe()?.canonicalize()
}

/// Waits until something is heard of a handle; answers whether it was.
pub(crate) fn is_heard(handle: impl AsFd, flags: PollFlags, patience: Duration) -> bool {
    let mut watched = [PollFd::new(&handle, flags)];
    let by = Instant::now() + patience;
    loop {
        let left = by.saturating_duration_since(Instant::now());
        match poll(&mut watched, Some(&timespec(left))) {
            Err(rustix::io::Errno::INTR) => {}
            polled => break matches!(polled, Ok(1)),
        }
    }
}

/// The same time, as the system takes it.
pub(crate) fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    }
}
