//! One run: begins the child, tells it what to do, and listens until it ends.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gongfu_core::sandbox::{Reason, Spec, Stream};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::child::ARGUMENT;
use crate::plan::{How, Kind, Plan, Step, Told};
use crate::wire;

/// How much is read of an output at once.
const READ: usize = 64 * 1024;
/// How long the end of a run is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

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
}

/// A child, and the socket that it lives by.
struct Kept {
    child: Child,
    control: UnixStream,
}

impl Kept {
    /// Ends the run where it hasn't ended; answers whether every process of it is dead for certain.
    ///
    /// Nobody must be left who could change what was written while it is looked at. Only the child
    /// can say so, because it waits for the first process of the run, and that one's end is the end
    /// of all others: so it is asked to, and killed only if it doesn't.
    fn end(&mut self) -> bool {
        let _ = self.control.shutdown(Shutdown::Both);
        let number = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let handle = number.and_then(|number| pidfd_open(number, PidfdFlags::empty()).ok());
        let ended = handle.is_some_and(|handle| {
            let mut watched = [PollFd::new(&handle, PollFlags::IN)];
            let by = Instant::now() + PATIENCE;
            loop {
                let left = by.saturating_duration_since(Instant::now());
                match poll(&mut watched, Some(&timespec(left))) {
                    Err(rustix::io::Errno::INTR) => {}
                    polled => break matches!(polled, Ok(1)),
                }
            }
        });
        if !ended {
            let _ = self.child.kill();
        }
        // One that was killed has waited for nobody.
        self.child
            .wait()
            .is_ok_and(|status| ended && status.code().is_some())
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            self.end();
        }
    }
}

/// Runs a plan to its end. `stands` is given the layers before the program is begun, where something
/// else is to fill them.
///
/// # Errors
/// The child can't be begun, or is none, or its layers can't be filled.
pub(crate) fn run(
    plan: &Plan,
    spec: &Spec,
    cancel: impl AsFd,
    mut stands: impl FnMut(&[OwnedFd]) -> io::Result<()>,
    mut heard: impl FnMut(Stream, &[u8]) -> bool,
) -> io::Result<Ended> {
    let begun = Instant::now();
    let limits = &spec.limits;
    let (control, theirs) = UnixStream::pair()?;
    let child = Command::new("/proc/self/exe")
        .arg(ARGUMENT)
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut kept = Kept { child, control };
    let outputs = (kept.child.stdout.take(), kept.child.stderr.take());
    let (Some(mut out), Some(mut error)) = outputs else {
        return Err(io::Error::other("the child has no output"));
    };
    let input = input(&spec.input)?;
    let handles: Vec<BorrowedFd<'_>> = input.iter().map(AsFd::as_fd).collect();
    wire::send(&kept.control, plan, &handles)?;
    let mut ended = Ended {
        how: None,
        reason: Reason::Ok,
        failed: None,
        stood: false,
        layers: Vec::new(),
        cpu: Duration::ZERO,
        memory: 0,
        took: Duration::ZERO,
    };
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
        let mut watched = vec![(Heard::Cancel, cancel.as_fd())];
        watched.extend(listens.then(|| (Heard::Control, kept.control.as_fd())));
        watched.extend(hears_out.then(|| (Heard::Output(Stream::Stdout), out.as_fd())));
        watched.extend(hears_error.then(|| (Heard::Output(Stream::Stderr), error.as_fd())));
        let ready = ready(&watched, left)?;
        let mut flood = false;
        for heard_of in ready {
            let stream = match heard_of {
                Heard::Cancel => {
                    ended.reason = Reason::Cancelled;
                    break 'run;
                }
                Heard::Control => {
                    let stood = ended.stood;
                    listens = ended.told(&kept.control)?;
                    if ended.stood && !stood && matches!(plan.kind, Kind::Bubblewrap { .. }) {
                        stands(&ended.layers)?;
                        wire::send(&kept.control, &(), &[])?;
                        last = Instant::now();
                    }
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
    if !kept.end() {
        return Err(io::Error::other("the sandbox didn't end, and was killed"));
    }
    ended.took = begun.elapsed();
    Ok(ended)
}

/// What a program reads, in a file without a name; `None` where it is nothing.
fn input(bytes: &[u8]) -> io::Result<Option<File>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let mut file = File::from(memfd_create(c"input", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(Some(file))
}

/// What something was heard of.
#[derive(Debug, Clone, Copy)]
enum Heard {
    Cancel,
    Control,
    Output(Stream),
}

/// Waits until there is something to hear.
fn ready(watched: &[(Heard, BorrowedFd<'_>)], patience: Duration) -> io::Result<Vec<Heard>> {
    let handles = watched.iter();
    let mut handles: Vec<PollFd<'_>> = handles
        .map(|(_, handle)| PollFd::from_borrowed_fd(*handle, PollFlags::IN))
        .collect();
    match poll(&mut handles, Some(&timespec(patience))) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    }
    let of = watched.iter().zip(handles);
    let ready = of.filter(|(_, handle)| !handle.revents().is_empty());
    Ok(ready.map(|((heard, _), _)| *heard).collect())
}

impl Ended {
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
