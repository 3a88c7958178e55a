//! One run: begins the child, tells it what to do, and listens until it ends.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gongfu_core::sandbox::{Enforcement, Input, Means, Reader, Reason, Spec, Stream};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::process::{Pid, PidfdFlags, WaitOptions, pidfd_open, waitpid};

use crate::cgroup::{Counted, Group, Groups};
use crate::child::{ARGUMENT, UNCERTAIN};
use crate::plan::{Grouped, How, Kind, Plan, Step, Told};
use crate::wire;

/// How much is read of an output at once.
const READ: usize = 64 * 1024;
/// How long the end of a run is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same where each of its processes must be ended, and they may keep the machine busy.
const MORE_PATIENCE: Duration = Duration::from_mins(1);

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) how: Option<How>,
    pub(crate) reason: Reason,
    pub(crate) failed: Option<(Step, i32)>,
    /// Whether everything stood that the program is begun in.
    pub(crate) stood: bool,
    pub(crate) layers: Vec<OwnedFd>,
    pub(crate) cpu: Duration,
    pub(crate) memory: u64,
    pub(crate) took: Duration,
    /// What a control group counted, besides which nobody had to.
    pub(crate) grouped: Option<Grouped>,
}

/// A child, and the socket that it lives by.
struct Kept {
    child: Child,
    control: UnixStream,
    /// Nobody but the child can end the run.
    is_needed: bool,
    /// Nobody waits for it any more.
    is_left: bool,
}

impl Kept {
    fn begin(kind: &Kind) -> io::Result<Self> {
        let (control, theirs) = UnixStream::pair()?;
        let child = Command::new("/proc/self/exe")
            .arg(ARGUMENT)
            .env_clear()
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        Ok(Self {
            child,
            control,
            is_needed: matches!(kind, Kind::Lite { .. }),
            is_left: false,
        })
    }

    /// Ends the run where it hasn't ended; answers whether every process of it is dead for certain.
    ///
    /// Nobody must be left who could change what was written while it is looked at. Only the child
    /// can say so, because it waits for the first process of the run, and that one's end is the end
    /// of all others: so it is asked to, and killed only if it doesn't. Without namespaces its own end
    /// is nobody else's: there it is left to go on.
    fn end(&mut self) -> bool {
        let _ = self.control.shutdown(Shutdown::Both);
        let number = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let handle = number.and_then(|number| pidfd_open(number, PidfdFlags::empty()).ok());
        let patience = if self.is_needed {
            MORE_PATIENCE
        } else {
            PATIENCE
        };
        let ended = handle.is_some_and(|handle| {
            let mut watched = [PollFd::new(&handle, PollFlags::IN)];
            let by = Instant::now() + patience;
            loop {
                let left = by.saturating_duration_since(Instant::now());
                match poll(&mut watched, Some(&timespec(left))) {
                    Err(rustix::io::Errno::INTR) => {}
                    polled => break matches!(polled, Ok(1)),
                }
            }
        });
        if !ended && self.is_needed {
            self.is_left = true;
            if let Some(number) = number {
                std::thread::spawn(move || waitpid(Some(number), WaitOptions::empty()));
            }
            return false;
        }
        if !ended {
            let _ = self.child.kill();
        }
        // One that was killed has waited for nobody.
        let code = self.child.wait().ok().and_then(|status| status.code());
        ended && code.is_some_and(|code| code != i32::from(UNCERTAIN))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if !self.is_left && !matches!(self.child.try_wait(), Ok(Some(_))) {
            self.end();
        }
    }
}

/// Runs a plan to its end, in a control group of its own where there are any. `stands` is given the
/// layers before the program is begun, where something else is to fill them.
///
/// # Errors
/// The child can't be begun, or is none, or its layers can't be filled.
pub(crate) fn run(
    plan: &Plan,
    spec: &Spec,
    groups: Option<&Groups>,
    cancel: impl AsFd,
    mut stands: impl FnMut(&[OwnedFd]) -> io::Result<()>,
    mut heard: impl FnMut(Stream, &[u8]) -> bool,
) -> io::Result<Ended> {
    let begun = Instant::now();
    let limits = &spec.limits;
    // It goes after the child, whatever happens.
    let mut group = None;
    let mut kept = Kept::begin(&plan.kind)?;
    let outputs = (kept.child.stdout.take(), kept.child.stderr.take());
    let (Some(mut out), Some(mut error)) = outputs else {
        return Err(io::Error::other("the child has no output"));
    };
    // While the child begins. Where there can't be one more, its limits are held as where there are none.
    let watching = plan.kind.watching();
    group = group.or_else(|| groups.and_then(|groups| groups.make(limits, watching).ok()));
    let doors = group.as_ref().map(Group::doors).transpose()?;
    let doors = doors.unwrap_or_default();
    let input = input(&spec.input)?;
    let mut ended = Ended::not_yet(group.as_ref().map(Group::grouped));
    // Nothing of the plan is known to the child before it is where it is counted.
    let handles: Vec<BorrowedFd<'_>> = doors.iter().map(AsFd::as_fd).collect();
    wire::send(&kept.control, &ended.grouped, &handles)?;
    drop(doors);
    let handles: Vec<BorrowedFd<'_>> = input.iter().map(AsFd::as_fd).collect();
    let mut broken = wire::send(&kept.control, plan, &handles).err();
    let (mut hears_out, mut hears_error, mut listens) = (true, true, true);
    let mut last = Instant::now();
    let mut buffer = vec![0; READ];
    'run: while hears_out || hears_error || listens {
        let by = begun + limits.wall;
        let by = limits.idle.map_or(by, |idle| by.min(last + idle));
        let left = by.saturating_duration_since(Instant::now());
        if left.is_zero() {
            ended.reason = Reason::Timeout;
            break;
        }
        let plain = |heard: Heard, handle| (heard, handle, PollFlags::IN);
        let mut watched = vec![plain(Heard::Cancel, cancel.as_fd())];
        watched.extend(listens.then(|| plain(Heard::Control, kept.control.as_fd())));
        watched.extend(hears_out.then(|| plain(Heard::Output(Stream::Stdout), out.as_fd())));
        watched.extend(hears_error.then(|| plain(Heard::Output(Stream::Stderr), error.as_fd())));
        let alarm = group.as_ref().and_then(Group::alarm);
        watched.extend(alarm.map(|(handle, flags)| (Heard::Memory, handle, flags)));
        let ready = ready(&watched, left)?;
        let mut flood = false;
        for heard_of in ready {
            let stream = match heard_of {
                Heard::Cancel => {
                    ended.reason = Reason::Cancelled;
                    break 'run;
                }
                Heard::Memory => {
                    if group.as_mut().is_some_and(Group::is_out_of_memory) {
                        ended.reason = Reason::Oom;
                        break 'run;
                    }
                    continue;
                }
                Heard::Control => {
                    let told = ended.follow(&kept.control, plan, &mut stands);
                    listens = matches!(told, Ok(true));
                    broken = broken.or(told.err());
                    continue;
                }
                Heard::Output(stream) => stream,
            };
            let (read, hears) = match stream {
                Stream::Stdout => (out.read(&mut buffer)?, &mut hears_out),
                Stream::Stderr => (error.read(&mut buffer)?, &mut hears_error),
            };
            *hears = read > 0;
            flood |= !heard(stream, buffer.get(..read).unwrap_or_default());
            last = Instant::now();
        }
        if flood {
            ended.reason = Reason::Output;
            break;
        }
    }
    // One whose group is empty is dead as well, whoever ended it.
    if !kept.end() && !group.as_ref().is_some_and(Group::end) {
        return Err(io::Error::other("the sandbox didn't end"));
    }
    if let Some(group) = group {
        ended.count(group.counted());
    }
    // A child that is ended in the middle of a word says so in vain.
    if let Some(broken) = broken.filter(|_| ended.reason != Reason::Oom && ended.failed.is_none()) {
        return Err(broken);
    }
    ended.took = begun.elapsed();
    Ok(ended)
}

/// What a program reads; `None` where it is nothing.
fn input(input: &Input) -> io::Result<Option<OwnedFd>> {
    match input {
        Input::Nothing => Ok(None),
        Input::Bytes(bytes) if bytes.is_empty() => Ok(None),
        Input::Bytes(bytes) => fixed(bytes).map(|file| Some(file.into())),
        Input::Reader(reader) => passed_on(Arc::clone(reader)).map(Some),
    }
}

/// A pipe that carries what comes, until nobody reads it any more.
fn passed_on(reader: Reader) -> io::Result<OwnedFd> {
    let (ours, theirs) = io::pipe()?;
    let carry = move || {
        let mut to = theirs;
        let mut buffer = vec![0; READ];
        loop {
            let read = match reader.lock() {
                Ok(mut reader) => reader.read(&mut buffer),
                Err(_) => return,
            };
            match read {
                Ok(0) => return,
                Ok(read) => {
                    let bytes = buffer.get(..read).unwrap_or_default();
                    if to.write_all(bytes).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    };
    std::thread::Builder::new()
        .name("input".to_owned())
        .spawn(carry)?;
    Ok(ours.into())
}

/// A file without a name that holds these bytes, and that nobody can change.
fn fixed(bytes: &[u8]) -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(memfd_create(c"input", flags)?);
    file.write_all(bytes)?;
    file.rewind()?;
    // Else it would be memory that the program can fill, and that no limit counts.
    fcntl_add_seals(
        &file,
        SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL,
    )?;
    Ok(file)
}

/// What something was heard of.
#[derive(Debug, Clone, Copy)]
enum Heard {
    Cancel,
    Memory,
    Control,
    Output(Stream),
}

/// Waits until there is something to hear.
fn ready(
    watched: &[(Heard, BorrowedFd<'_>, PollFlags)],
    patience: Duration,
) -> io::Result<Vec<Heard>> {
    let handles = watched.iter();
    let mut handles: Vec<PollFd<'_>> = handles
        .map(|(_, handle, flags)| PollFd::from_borrowed_fd(*handle, *flags))
        .collect();
    match poll(&mut handles, Some(&timespec(patience))) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    }
    let of = watched.iter().zip(handles);
    let ready = of.filter(|(_, handle)| !handle.revents().is_empty());
    Ok(ready.map(|((heard, ..), _)| *heard).collect())
}

impl Ended {
    /// Of a run that has only begun.
    fn not_yet(grouped: Option<Grouped>) -> Self {
        Self {
            how: None,
            reason: Reason::Ok,
            failed: None,
            stood: false,
            layers: Vec::new(),
            cpu: Duration::ZERO,
            memory: 0,
            took: Duration::ZERO,
            grouped,
        }
    }

    /// By what limits were held: the number of processes by `otherwise` where no control group counts,
    /// and what is written by `disk`.
    pub(crate) fn held(&self, otherwise: Means, disk: Means) -> Enforcement {
        let (memory, processes) = self.grouped.map_or((false, false), |grouped| {
            (grouped.memory, grouped.processes)
        });
        let by_group = |is_counted, without| {
            if is_counted {
                Means::ControlGroup
            } else {
                without
            }
        };
        Enforcement {
            memory: by_group(memory, Means::Watchdog),
            processes: by_group(processes, otherwise),
            disk,
        }
    }

    /// Takes what a control group counted.
    fn count(&mut self, counted: Counted) {
        let is_over = matches!(
            self.reason,
            Reason::Timeout | Reason::Output | Reason::Cancelled
        );
        if counted.oom && !is_over {
            self.reason = Reason::Oom;
            self.failed = None;
        }
        // A program that could do without is none that was ended.
        let is_well = matches!(self.how, None | Some(How::Exit(0)));
        if counted.crowded && self.reason == Reason::Ok && !is_well {
            self.reason = Reason::Pids;
        }
    }

    /// Takes what the child tells, and has its layers filled where it waits for that; answers whether
    /// there may be more.
    fn follow(
        &mut self,
        control: &UnixStream,
        plan: &Plan,
        mut stands: impl FnMut(&[OwnedFd]) -> io::Result<()>,
    ) -> io::Result<bool> {
        let stood = self.stood;
        let listens = self.told(control)?;
        let waits = matches!(plan.kind, Kind::Bubblewrap { .. });
        if waits && self.stood && !stood {
            let filled = stands(&self.layers).and_then(|()| wire::send(control, &(), &[]));
            if let Err(error) = filled {
                // It would wait for good.
                let _ = control.shutdown(Shutdown::Both);
                return Err(error);
            }
        }
        Ok(listens)
    }

    /// Takes what the child tells; answers whether there may be more.
    fn told(&mut self, control: &UnixStream) -> io::Result<bool> {
        match wire::receive::<Told>(control)? {
            None => return Ok(false),
            Some((Told::Ready, layers)) => {
                self.layers = layers;
                self.stood = true;
            }
            Some((Told::Failed(step, number), _)) => self.failed = Some((step, number)),
            Some((Told::Memory, _)) => self.reason = Reason::Oom,
            Some((Told::Disk, _)) => self.reason = Reason::Disk,
            Some((Told::Processes, _)) => self.reason = Reason::Pids,
            Some((
                Told::Ended {
                    how,
                    full,
                    crowded,
                    cpu,
                    memory,
                },
                _,
            )) => {
                self.how = Some(how);
                self.cpu = Duration::from_micros(cpu);
                self.memory = memory;
                // A program that could do without is none that was ended.
                self.reason = match how {
                    How::Exit(0) => Reason::Ok,
                    How::Signal(libc::SIGSYS) => Reason::Denied,
                    How::Signal(libc::SIGXCPU) => Reason::Timeout,
                    How::Signal(libc::SIGXFSZ) => Reason::Disk,
                    _ if full => Reason::Disk,
                    _ if crowded => Reason::Pids,
                    _ => Reason::Ok,
                };
            }
        }
        Ok(true)
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    }
}
