//! Executes a plan: starts the child, follows it to its end, and makes the outcome.
//!
//! The path of a run: a backend makes a [`Plan`] of the job, [`execute`] sends it to the child and makes an
//! [`Outcome`] of the child's events, and `layer.rs` merges the layers. It knows no backend: the
//! differences are in the plan and in the profile.

use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use gongfu_core::sandbox::{
    CapturedOutput, Dialogue, Enforcement, Exit, Means, Outcome, Reason, Spec, Stream,
};
use rustix::event::{PollFd, PollFlags, poll};

use super::{Backend, Failure, RunContext, unavailable};
use crate::capture::Capture;
use crate::child_handle::ChildHandle;
use crate::file_time::Beginning;
use crate::plan::{Event, Plan, Step};
use crate::platform::cgroup::{Group, LimitHits};
use crate::poll::{is_readable, timespec};
use crate::proxy::Proxy;
use crate::throttle::Start;
use crate::{input, wire};

/// The exit code of a program that isn't there, by the convention of shells.
const NOT_FOUND: i32 = 127;
/// The exit code of a program that can't be executed.
const NOT_EXECUTABLE: i32 = 126;
/// The most output that is read at once.
const BUFFER: usize = 64 * 1024;
/// The shortest wait: a deadline that is put off again and again must not take a processor.
const MIN_WAIT: Duration = Duration::from_millis(5);
/// The amount of output after which reading pauses, so that a flood doesn't take the server's time.
const FLOOD_BYTES: usize = 1024 * 1024;
const FLOOD_PAUSE: Duration = Duration::from_millis(4);

/// A run that has ended.
pub struct RunResult {
    /// Its outcome, without the files that the run changed.
    pub outcome: Outcome,
    /// Handles of its layers, in the order of the view; `None` where the program could not start.
    pub layers: Option<Vec<OwnedFd>>,
    /// The time at which it began.
    pub(super) began: Beginning,
}

/// Executes a plan to its end. `fill` is given the layers before the program starts, where they are copies.
pub(crate) fn execute(
    backend: &dyn Backend,
    plan: &Plan,
    job: &Spec,
    context: &RunContext<'_>,
    fill: impl FnMut(&[OwnedFd]) -> io::Result<()>,
) -> Result<RunResult, Failure> {
    execute_in(None, backend, plan, job, context, fill)
}

/// The same in a child that was started already, if there is one.
///
/// # Errors
/// The sandbox can't be made, or its layers can't be filled.
pub fn execute_in(
    child: Option<ChildHandle>,
    backend: &dyn Backend,
    plan: &Plan,
    job: &Spec,
    context: &RunContext<'_>,
    mut fill: impl FnMut(&[OwnedFd]) -> io::Result<()>,
) -> Result<RunResult, Failure> {
    let profile = backend.profile();
    let is_wanted = || !is_readable(context.cancel);
    let start = context.throttle.start(context.since, is_wanted);
    let started = Instant::now();
    let plan = &Plan {
        began: context.began.recent(),
        ..plan.clone()
    };
    let mut outcome = Outcome {
        level: profile.level,
        enforcement: Enforcement {
            memory: Means::Watchdog,
            processes: profile.processes,
            disk: profile.disk,
        },
        exit: None,
        reason: Reason::Cancelled,
        stdout: CapturedOutput::default(),
        stderr: CapturedOutput::default(),
        artifacts: Vec::new(),
        changed: 0,
        held: None,
        contacts: Vec::new(),
        took: Duration::ZERO,
        cpu: Duration::ZERO,
        memory: 0,
    };
    if start.is_none() {
        return Ok(RunResult {
            outcome,
            layers: None,
            began: plan.began,
        });
    }
    outcome.reason = Reason::Ok;
    let input = input::open(&job.input, plan.tenant)?;
    let child = match child {
        Some(child) => child,
        None => ChildHandle::start(plan, context.groups)?,
    };
    if let Some(grouping) = child.grouping {
        let enforcement = &mut outcome.enforcement;
        if grouping.memory {
            enforcement.memory = Means::ControlGroup;
        }
        if grouping.processes {
            enforcement.processes = Means::ControlGroup;
        }
    }
    let mut run = Run {
        backend,
        job,
        context,
        plan,
        fill: &mut fill,
        outputs: Outputs::new(job, context),
        start,
        started,
        outcome,
        layers: None,
        init: None,
        proxy: None,
        failure: None,
        error: None,
    };
    run.error = child
        .send_plan(plan, input.as_ref().map(OwnedFd::as_fd))
        .err();
    if run.error.is_some() {
        // Without the plan it would wait for good.
        child.disconnect();
    }
    // The writer of it notices when the program has closed it.
    drop(input);
    run.follow(child)
}

/// A run that goes on.
struct Run<'a> {
    backend: &'a dyn Backend,
    job: &'a Spec,
    context: &'a RunContext<'a>,
    plan: &'a Plan,
    fill: &'a mut dyn FnMut(&[OwnedFd]) -> io::Result<()>,
    outputs: Outputs<'a>,
    /// Held until the program starts.
    start: Option<Start<'a>>,
    started: Instant,
    outcome: Outcome,
    layers: Option<Vec<OwnedFd>>,
    /// The handle of its init.
    init: Option<OwnedFd>,
    proxy: Option<Proxy>,
    /// The step that failed, and the error number.
    failure: Option<(Step, i32)>,
    /// An error of the control socket.
    error: Option<io::Error>,
}

/// Something that the server waits for.
#[derive(Debug, Clone, Copy)]
enum Source {
    Cancel,
    Memory,
    Control,
    Init,
    Output(Stream),
}

impl Run<'_> {
    /// Follows the run until it is over or must be ended.
    fn follow(mut self, mut child: ChildHandle) -> Result<RunResult, Failure> {
        let limits = &self.job.limits;
        let (mut has_out, mut has_error, mut has_control) = (true, true, true);
        let mut last_output = Instant::now();
        let mut buffer = vec![0; BUFFER];
        let mut read_without_pause = 0;
        'run: while has_out || has_error || has_control {
            let dialogue = self.job.dialogue.as_ref();
            let paused = dialogue.map_or(Duration::ZERO, |dialogue| (dialogue.paused)());
            let deadline =
                self.started + limits.wall.saturating_add(paused).min(Dialogue::MAX_WALL);
            let deadline = limits
                .idle
                .map_or(deadline, |idle| deadline.min(last_output + idle));
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.outcome.reason = Reason::Timeout;
                break;
            }
            let readable = |source: Source, handle| (source, handle, PollFlags::IN);
            let mut sources = vec![readable(Source::Cancel, self.context.cancel)];
            sources.extend(has_control.then(|| readable(Source::Control, child.control().as_fd())));
            let out = Source::Output(Stream::Stdout);
            sources.extend(has_out.then(|| readable(out, child.out.as_fd())));
            let error = Source::Output(Stream::Stderr);
            sources.extend(has_error.then(|| readable(error, child.error.as_fd())));
            let alarm = child.group.as_ref().and_then(Group::alarm);
            sources.extend(alarm.map(|(handle, flags)| (Source::Memory, handle, flags)));
            let init = self.init.as_ref().filter(|_| has_control);
            sources.extend(init.map(|init| readable(Source::Init, init.as_fd())));
            for source in ready(&sources, left.max(MIN_WAIT))? {
                let stream = match source {
                    Source::Cancel => {
                        self.outcome.reason = Reason::Cancelled;
                        break 'run;
                    }
                    Source::Memory => {
                        if child.group.as_mut().is_some_and(Group::is_out_of_memory) {
                            self.outcome.reason = Reason::Oom;
                            break 'run;
                        }
                        continue;
                    }
                    Source::Control => {
                        has_control = self.take_event(&child);
                        continue;
                    }
                    Source::Init => {
                        // Its last events are in the socket, and no more will come.
                        while has_control && is_readable(child.control()) {
                            has_control = self.take_event(&child);
                        }
                        has_control = false;
                        continue;
                    }
                    Source::Output(stream) => stream,
                };
                let (read, is_open) = match stream {
                    Stream::Stdout => (child.out.read(&mut buffer)?, &mut has_out),
                    Stream::Stderr => (child.error.read(&mut buffer)?, &mut has_error),
                };
                *is_open = read > 0;
                read_without_pause += read;
                last_output = Instant::now();
                if !self
                    .outputs
                    .take(stream, buffer.get(..read).unwrap_or_default())
                {
                    self.outcome.reason = Reason::Output;
                    break 'run;
                }
            }
            if read_without_pause >= FLOOD_BYTES {
                read_without_pause = 0;
                std::thread::sleep(FLOOD_PAUSE);
            }
        }
        self.end(child)
    }

    /// Takes an event of the child; returns whether there may be more.
    fn take_event(&mut self, child: &ChildHandle) -> bool {
        match self.try_take_event(child) {
            Ok(is_open) => is_open,
            Err(error) => {
                // It would wait for good.
                child.disconnect();
                self.error.get_or_insert(error);
                false
            }
        }
    }

    fn try_take_event(&mut self, child: &ChildHandle) -> io::Result<bool> {
        let Some((event, handles)) = wire::receive::<Event>(child.control())? else {
            return Ok(false);
        };
        let mut handles = handles.into_iter();
        match event {
            Event::Listening => {
                let listener = handles.next().ok_or(io::ErrorKind::InvalidData)?;
                self.proxy = Some(Proxy::start(listener, self.job.reach.clone())?);
            }
            Event::Init => self.init = handles.next(),
            Event::Ready => {
                self.start = None;
                let layers: Vec<OwnedFd> = handles.collect();
                if self.plan.has_copies {
                    (self.fill)(&layers)?;
                    wire::send(child.control(), &(), &[])?;
                }
                self.layers = Some(layers);
            }
            Event::Failed(step, number) => self.failure = Some((step, number)),
            Event::Ended {
                exit,
                reason,
                cpu,
                memory,
            } => {
                let outcome = &mut self.outcome;
                (outcome.exit, outcome.reason) = (exit, reason);
                (outcome.cpu, outcome.memory) = (cpu, memory);
            }
        }
        Ok(true)
    }

    /// Kills the processes that are left, and makes the outcome.
    fn end(mut self, mut child: ChildHandle) -> Result<RunResult, Failure> {
        if !child.end(self.init.as_ref()) {
            return Err(io::Error::other("the sandbox didn't exit").into());
        }
        self.outcome.contacts = self.proxy.take().map(Proxy::end).unwrap_or_default();
        if let Some(group) = &child.group {
            self.count(group.limit_hits());
        }
        // The group is removed in the background; without a thread, at once.
        let _ = self.context.threads.spawn("cleanup", move || drop(child));
        // A child that is killed in the middle of a message breaks the socket.
        let is_explained = self.outcome.reason == Reason::Oom || self.failure.is_some();
        if let Some(error) = self.error.take().filter(|_| !is_explained) {
            return Err(error.into());
        }
        let Self {
            mut outcome,
            layers,
            plan,
            ..
        } = self;
        outcome.took = self.started.elapsed();
        (outcome.stdout, outcome.stderr) = self.outputs.finish()?;
        if let Some((step, number)) = self.failure {
            let (code, text) = explain(self.job, plan, step, number)?;
            // The listener gets the message as from a shell.
            (self.context.listener)(Stream::Stderr, text.as_bytes());
            outcome.exit = Some(Exit::Code(code));
            outcome.stderr = CapturedOutput {
                head: text.into_bytes(),
                ..CapturedOutput::default()
            };
        } else if outcome.exit.is_none() && outcome.reason == Reason::Ok {
            let stderr = String::from_utf8_lossy(&outcome.stderr.head);
            return Err(self.backend.lost(layers.is_some(), &stderr));
        }
        Ok(RunResult {
            outcome,
            layers,
            began: plan.began,
        })
    }

    /// Takes the numbers of a control group into account.
    fn count(&mut self, limit_hits: LimitHits) {
        let outcome = &mut self.outcome;
        let is_ended_by_us = matches!(
            outcome.reason,
            Reason::Timeout | Reason::Output | Reason::Cancelled
        );
        if limit_hits.oom && !is_ended_by_us {
            outcome.reason = Reason::Oom;
            self.failure = None;
        }
        // A program that ended well could do without more processes.
        let is_well = matches!(outcome.exit, None | Some(Exit::Code(0)));
        if limit_hits.crowded && outcome.reason == Reason::Ok && !is_well {
            outcome.reason = Reason::Pids;
        }
    }
}

/// Explains a failed step: a program that can't be executed ends with an exit code and an error message.
fn explain(job: &Spec, plan: &Plan, step: Step, number: i32) -> Result<(i32, String), Failure> {
    let error = io::Error::from_raw_os_error(number);
    let program = plan.arguments.first().map_or("", String::as_str);
    match (step, error.kind()) {
        (Step::Folder, _) => {
            let folder = &job.folder;
            let why = format!("`{folder}` is not a folder in the sandbox: {error}");
            Err(Failure::Refused(why))
        }
        (Step::Program, io::ErrorKind::NotFound) => Ok((
            NOT_FOUND,
            format!("{program}: command (or its #! interpreter) not found in the sandbox\n"),
        )),
        (Step::Program, _) => Ok((NOT_EXECUTABLE, format!("{program}: can't run: {error}\n"))),
        (step, _) => Err(Failure::Unavailable(unavailable::step_failed(
            step, plan, &error,
        ))),
    }
}

/// Waits until at least one of these is ready, or the time has passed.
fn ready(
    sources: &[(Source, BorrowedFd<'_>, PollFlags)],
    timeout: Duration,
) -> io::Result<Vec<Source>> {
    let mut handles: Vec<PollFd<'_>> = sources
        .iter()
        .map(|(_, handle, flags)| PollFd::from_borrowed_fd(*handle, *flags))
        .collect();
    match poll(&mut handles, Some(&timespec(timeout))) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    }
    let both = sources.iter().zip(handles);
    let ready = both.filter(|(_, handle)| !handle.revents().is_empty());
    Ok(ready.map(|((source, ..), _)| *source).collect())
}

/// The outputs of a run, while it goes on.
struct Outputs<'a> {
    listener: &'a dyn Fn(Stream, &[u8]),
    stdout: Capture,
    stderr: Capture,
    length: u64,
    limit: u64,
    /// An error of a log.
    error: Option<io::Error>,
}

impl<'a> Outputs<'a> {
    fn new(job: &Spec, context: &'a RunContext<'_>) -> Self {
        let capture = |name: &str| {
            let log = job.logs.as_ref().map(|folder| folder.join(name));
            Capture::new(job.limits.shown, log)
        };
        Self {
            listener: context.listener,
            stdout: match job.dialogue {
                Some(_) => Capture::new(0, None),
                None => capture("stdout.log"),
            },
            stderr: capture("stderr.log"),
            length: 0,
            limit: job.limits.output,
            error: None,
        }
    }

    /// Takes output; returns whether there may be more.
    fn take(&mut self, stream: Stream, bytes: &[u8]) -> bool {
        if bytes.is_empty() {
            return true;
        }
        (self.listener)(stream, bytes);
        let capture = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        self.error = self.error.take().or(capture.take(bytes).err());
        self.length += bytes.len() as u64;
        self.error.is_none() && self.length <= self.limit
    }

    fn finish(self) -> io::Result<(CapturedOutput, CapturedOutput)> {
        match self.error {
            Some(error) => Err(error),
            None => Ok((self.stdout.finish(), self.stderr.finish())),
        }
    }
}
