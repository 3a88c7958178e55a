//! Supervises a run from outside of its sandbox: measures what it uses, and has it killed.
//!
//! Processes can be listed only from outside of the sandbox, and only from within is it known which of them are
//! in it. So init (`init.rs`) is asked to kill all candidates until it reaches none. If the run has ended init,
//! every known process is killed from here, and the supervisor reports that it isn't certain.

use std::collections::BTreeSet;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use gongfu_core::sandbox::Reason;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Pid, Signal, kill_process, setsid};
use rustix::stdio::stdin;

use super::descendants::{self, Descendants, Process};
use super::init::{self, Message, Request};
use super::syscall;
use crate::child::step::{Failure, at};
use crate::child::{UNCERTAIN, disk_usage, stdio};
use crate::plan::{Event, Grouping, Launch, Plan, Step};
use crate::poll::timespec;
use crate::{platform, wire};

/// The time between two looks at a run.
const INTERVAL: Duration = Duration::from_millis(50);
/// The time after which a run is ended here; the server ends it first, and can say why.
const WALL_GRACE: Duration = Duration::from_secs(1);
/// The pause after measuring the folder, as a multiple of the time that it took.
const PAUSE_FACTOR: u32 = 5;
/// The longest such pause.
const MAX_PAUSE: Duration = Duration::from_secs(1);
/// Processes that the same user may start elsewhere meanwhile. The system counts those of a user and not of a
/// run, so its limit only stops a fork bomb between two looks.
const OTHER_PROCESSES: u64 = 512;
/// The time for killing all, the time that init may take for an answer, and the pause between two rounds.
const KILL_TIMEOUT: Duration = Duration::from_secs(30);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
const KILL_POLL: Duration = Duration::from_millis(2);
/// Each such round tries the number of every process, for those that fork faster than they are listed.
const FULL_ROUND: u32 = 4;
/// The time for which known processes are killed where init can't do it.
const KILL_KNOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs as the supervisor; the control socket is the standard input.
pub(super) fn run() -> ExitCode {
    let Ok(control) = fcntl_dupfd_cloexec(stdin(), 3) else {
        return ExitCode::from(2);
    };
    match supervise(&control) {
        Ok(exit) => exit,
        Err(Failure { step, number }) => {
            // The server may be gone.
            let _ = wire::send(&control, &Event::Failed(step, number), &[]);
            ExitCode::FAILURE
        }
    }
}

/// Starts init in the sandbox, and supervises the run until every process is dead.
fn supervise(control: &OwnedFd) -> Result<ExitCode, Failure> {
    let wrong = Failure::at(Step::Init);
    // There are no control groups.
    let received = wire::receive::<Option<Grouping>>(control).map_err(&wrong)?;
    if received.is_none() {
        return Ok(ExitCode::SUCCESS);
    }
    let received = wire::receive::<Plan>(control).map_err(&wrong)?;
    let Some((mut plan, input)) = received else {
        return Ok(ExitCode::SUCCESS);
    };
    let Some(Launch::Seatbelt {
        program,
        folder,
        profile,
    }) = plan.launch.clone()
    else {
        return Err(wrong(io::ErrorKind::InvalidData.into()));
    };
    // The run has nothing to do with the server's terminal.
    setsid().map_err(at(Step::Init))?;
    syscall::close_handles_on_exec().map_err(Failure::at(Step::Privileges))?;
    let others = syscall::processes().map_or(0, |all| all.len());
    plan.other_processes = u64::try_from(others)
        .unwrap_or_default()
        .saturating_add(OTHER_PROCESSES);
    let mut init = Init::start(&program, &profile, &plan, &input)?;
    drop(input);
    let _ = stdio::close();
    let mut descendants = Descendants::of(std::process::id(), init.child.id());
    let event = watch(control, &mut init, &plan, &folder, &mut descendants);
    // When a step fails, init hasn't started the program.
    let has_program = init.is_ready && !matches!(event, Some(Event::Failed(..)));
    if !init.end(has_program) {
        kill_known(&mut descendants);
        return Ok(ExitCode::from(UNCERTAIN));
    }
    if let Some(event) = event {
        let _ = wire::send(control, &event, &[]);
    }
    Ok(ExitCode::SUCCESS)
}

/// The init of the sandbox.
struct Init {
    child: Child,
    line: UnixStream,
    /// It has reported that it starts the program.
    is_ready: bool,
}

impl Init {
    fn start(
        program: &Path,
        profile: &str,
        plan: &Plan,
        input: &[OwnedFd],
    ) -> Result<Self, Failure> {
        let wrong = Failure::at(Step::Seatbelt);
        let (line, theirs) = UnixStream::pair().map_err(&wrong)?;
        // The run may stop init in the middle of a message.
        line.set_read_timeout(Some(ANSWER_TIMEOUT))
            .map_err(&wrong)?;
        let child = Command::new(program)
            .arg("-p")
            .arg(profile)
            .arg("--")
            .arg(platform::this_program().map_err(&wrong)?)
            .arg(init::ARGUMENT)
            .env_clear()
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .spawn()
            .map_err(&wrong)?;
        let handles: Vec<BorrowedFd<'_>> = input.iter().map(|input| input.as_fd()).collect();
        // If this fails, it has ended and has said why.
        let _ = wire::send(&line, plan, &handles);
        Ok(Self {
            child,
            line,
            is_ready: false,
        })
    }

    /// Ends init, after it has killed all others; returns whether none is left for certain.
    fn end(mut self, has_program: bool) -> bool {
        let is_killed = !has_program || self.kill_all();
        if has_program && is_killed {
            let _ = wire::send(&self.line, &Request::End, &[]);
        }
        let _ = self.line.shutdown(Shutdown::Both);
        if platform::ends_within(&mut self.child, ANSWER_TIMEOUT) {
            let code = self.child.wait().ok().and_then(|status| status.code());
            return is_killed && code.is_some_and(|code| code != i32::from(UNCERTAIN));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        false
    }

    /// Kills all others; returns whether none is left that init could reach.
    fn kill_all(&self) -> bool {
        let deadline = Instant::now() + KILL_TIMEOUT;
        // Candidates that init didn't reach, and that so aren't in the sandbox.
        let mut others_of_the_host = BTreeSet::new();
        let mut rounds = 0;
        while Instant::now() < deadline {
            // Listing may fail for lack of memory; then it works in a while.
            if let Some(all) = syscall::processes() {
                let candidates = descendants::candidates(&all, std::process::id(), self.child.id());
                let Some(candidates) = candidates else {
                    return false;
                };
                if candidates
                    .iter()
                    .all(|number| others_of_the_host.contains(number))
                {
                    return true;
                }
                rounds += 1;
                let request = if rounds % FULL_ROUND == 0 {
                    Request::KillAll
                } else {
                    Request::Kill(candidates.clone())
                };
                others_of_the_host = match (self.reached_by(&request), request) {
                    (None, _) => return false,
                    (Some(0), Request::Kill(_)) => candidates.into_iter().collect(),
                    (Some(_), _) => BTreeSet::new(),
                };
            }
            std::thread::sleep(KILL_POLL);
        }
        false
    }

    /// Sends a request; returns the number of processes that init reached.
    fn reached_by(&self, request: &Request) -> Option<usize> {
        wire::send(&self.line, request, &[]).ok()?;
        loop {
            match wire::receive::<Message>(&self.line).ok()?? {
                (Message::Reached(count), _) => return Some(count),
                // A late event of the program.
                (Message::Event(_), _) => {}
            }
        }
    }
}

/// Watches until the run has ended or must be ended; returns the event for the server, if there is one.
fn watch(
    control: &OwnedFd,
    init: &mut Init,
    plan: &Plan,
    folder: &str,
    descendants: &mut Descendants,
) -> Option<Event> {
    let limits = &plan.limits;
    let start = Instant::now();
    // The copies that lie there already don't count.
    let copies = disk_usage::of_folder(folder)?;
    let bytes = limits.disk.saturating_add(copies.bytes);
    let files = limits.files.saturating_add(copies.files);
    let is_exceeded = || {
        disk_usage::of_folder(folder).is_none_or(|usage| usage.bytes > bytes || usage.files > files)
    };
    let mut next = Instant::now();
    let mut is_crowded = false;
    loop {
        // The server sends nothing more, so that only its end makes the socket readable.
        let mut handles = [
            PollFd::new(control, PollFlags::IN),
            PollFd::new(&init.line, PollFlags::IN),
        ];
        let _ = poll(&mut handles, Some(&timespec(INTERVAL)));
        let [is_alone, has_message] = handles.map(|handle| !handle.revents().is_empty());
        if is_alone || start.elapsed() > limits.wall + WALL_GRACE {
            return None;
        }
        if has_message {
            match wire::receive::<Message>(&init.line) {
                Ok(Some((Message::Event(Event::Ready), _))) => {
                    init.is_ready = true;
                    wire::send(control, &Event::Ready, &[]).ok()?;
                }
                Ok(Some((Message::Event(Event::Ended { .. }), _))) if is_exceeded() => {
                    return Some(Event::killed(Reason::Disk));
                }
                Ok(Some((Message::Event(event), _))) => return Some(ended(event, is_crowded)),
                // If it couldn't start, it has said why on the standard error.
                Ok(Some((Message::Reached(_), _)) | None) | Err(_) => return None,
            }
        }
        // If they can't be listed, their usage is unknown.
        let all = descendants.among(&syscall::processes()?);
        let processes: u64 = all.iter().map(|one| one.threads).sum();
        is_crowded = is_crowded || processes >= u64::from(limits.processes);
        if processes > u64::from(limits.processes) {
            return Some(Event::killed(Reason::Pids));
        }
        let memory = all.iter().map(|one| syscall::memory(one.number));
        if memory.fold(0, u64::saturating_add) > limits.memory {
            return Some(Event::killed(Reason::Oom));
        }
        if next <= Instant::now() {
            let measuring = Instant::now();
            if is_exceeded() {
                return Some(Event::killed(Reason::Disk));
            }
            let pause = measuring.elapsed().saturating_mul(PAUSE_FACTOR);
            next = Instant::now() + pause.min(MAX_PAUSE);
        }
    }
}

/// Adds to an event of init what only the supervisor has seen.
fn ended(event: Event, is_crowded: bool) -> Event {
    match event {
        Event::Ended {
            exit: Some(exit),
            cpu,
            memory,
            ..
        } => Event::ended(exit, false, is_crowded, cpu, memory),
        event => event,
    }
}

/// Kills the known processes until none of them is left.
fn kill_known(descendants: &mut Descendants) {
    let deadline = Instant::now() + KILL_KNOWN_TIMEOUT;
    while Instant::now() < deadline {
        let all: Vec<Process> = descendants.among(&syscall::processes().unwrap_or_default());
        if all.is_empty() {
            return;
        }
        for one in all {
            let number = i32::try_from(one.number).ok().and_then(Pid::from_raw);
            if let Some(number) = number {
                let _ = kill_process(number, Signal::KILL);
            }
        }
        std::thread::sleep(KILL_POLL);
    }
}
