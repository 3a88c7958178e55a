//! A process that begins children for this one, so that none of them belongs to its session.
//!
//! Linux shares processors among sessions (`sched(7)`, autogroups), and what a sandbox takes to be made
//! would be taken from those threads that answer. Where runs have control groups that share processors,
//! those do it, and where it shares them otherwise, children stand behind by themselves: then there is
//! no such process.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use crate::begun::is_heard;
use crate::child::fork_server::ARGUMENT;
use crate::process::{Foster, Process};
use crate::wire;

/// How long it may take to begin.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long it may take to begin a child.
const ANSWER: Duration = Duration::from_secs(3);
/// For how long it is believed that it can't be begun.
const DOUBT: Duration = Duration::from_mins(1);

/// The one of this process.
static SERVER: Mutex<State> = Mutex::new(State::Absent);

/// What is known of it.
enum State {
    Absent,
    /// It is being begun.
    Beginning,
    There(Child, UnixStream),
    /// It can't be what it is for, and until when that is believed.
    Useless(Instant),
}

/// Begins a child there, with this input and these outputs; `None` where it isn't there. Then it is
/// begun for the next time.
///
/// # Errors
/// Nobody knows whether a child was begun: the handles may be somebody's already.
pub(crate) fn begin(handles: [BorrowedFd<'_>; 3]) -> io::Result<Option<Process>> {
    if !is_shared_among_sessions() {
        return Ok(None);
    }
    let mut state = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
    let mut asked = Ok(None);
    if let State::There(_, socket) = &*state {
        asked = ask(socket, handles);
        if let Ok(Some(_)) = &asked {
            return asked.map(|foster| foster.map(Process::Foster));
        }
    }
    if asked.is_err()
        && let State::There(server, _) = std::mem::replace(&mut *state, State::Absent)
    {
        leave(server);
    }
    let is_time = match *state {
        State::Absent => true,
        State::Useless(until) => Instant::now() > until,
        State::Beginning | State::There(..) => false,
    };
    if is_time {
        let thread = std::thread::Builder::new().name("fork-server".to_owned());
        let beginning = thread.spawn(|| {
            let begun = start().map_or_else(
                |_| State::Useless(Instant::now() + DOUBT),
                |(server, socket)| State::There(server, socket),
            );
            *SERVER.lock().unwrap_or_else(PoisonError::into_inner) = begun;
        });
        if beginning.is_ok() {
            *state = State::Beginning;
        }
    }
    asked.map(|_| None)
}

/// Leaves it to end once its last child has: what they end with is told by nobody else.
fn leave(mut server: Child) {
    let thread = std::thread::Builder::new().name("fork-server".to_owned());
    // Where there can be no more threads nobody takes it away.
    let _ = thread.spawn(move || server.wait());
}

/// Whether the system shares processors among sessions.
fn is_shared_among_sessions() -> bool {
    static IS_SHARED: OnceLock<bool> = OnceLock::new();
    *IS_SHARED.get_or_init(|| {
        let told = std::fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled");
        told.is_ok_and(|told| told.trim() == "1")
    })
}

fn start() -> io::Result<(Child, UnixStream)> {
    let (socket, theirs) = UnixStream::pair()?;
    let mut server = Command::new("/proc/self/exe")
        .arg(ARGUMENT)
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    if is_heard(&socket, PollFlags::IN, PATIENCE) && wire::receive::<()>(&socket)?.is_some() {
        return Ok((server, socket));
    }
    let _ = server.kill();
    let _ = server.wait();
    Err(io::ErrorKind::TimedOut.into())
}

/// Asks for a child; `None` where it says that it has begun none.
fn ask(socket: &UnixStream, handles: [BorrowedFd<'_>; 3]) -> io::Result<Option<Foster>> {
    let [input, out, error] = handles;
    let Ok((end, told)) = io::pipe() else {
        return Ok(None);
    };
    wire::send(socket, &(), &[input, out, error, told.as_fd()])?;
    drop(told);
    if !is_heard(socket, PollFlags::IN, ANSWER) {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let answer = wire::receive::<bool>(socket)?;
    let (is_begun, handles) = answer.ok_or(io::ErrorKind::UnexpectedEof)?;
    if !is_begun {
        return Ok(None);
    }
    let handle = handles.into_iter().next();
    let handle = handle.ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok(Some(Foster { handle, end }))
}
