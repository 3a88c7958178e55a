//! Init of a container: executes one run after the other, and leaves nothing of one to the next.
//!
//! The container's runtime executes this program as the tenant, without any privilege. When the server is
//! gone, so is its end of the socket: then this process ends, and with it every other one of the container.

use std::convert::Infallible;
use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{fs, io};

use rustix::fs::{Mode, OFlags, StatVfs, fchmod, flistxattr, fstatvfs, open};
use rustix::process::{
    DumpableBehavior, Signal, set_dumpable_behavior, set_parent_process_death_signal,
};

use super::init::SizedFileSystems;
use super::step::{Failure, at};
use super::syscall::{self, Fork};
use super::watch::{Reaper, watch};
use super::{identity, restrict, stdio, view_check};
use crate::plan::{Event, Grouping, Plan, Reply, Request, Step};
use crate::poll::is_readable_within;
use crate::{locked_folder, wire};

/// The argument that makes this program init of a container. The writable file systems in memory follow it.
pub const ARGUMENT: &str = "sandbox-container-init";
/// The socket of the server, which is removed once init has connected.
pub const SOCKET: &str = "/run/gongfu/socket";

/// The time that init waits for the next request.
const IDLE_TIMEOUT: Duration = Duration::from_mins(5);
/// The time that processes may take to end once they are killed.
const KILL_TIMEOUT: Duration = Duration::from_secs(8);
/// The pause before looking again whether they have.
const KILL_POLL: Duration = Duration::from_micros(200);
/// Message queues (`mq_overview(7)`), in which a run could leave something as well.
const MESSAGE_QUEUES: &str = "/dev/mqueue";
/// The mode of a folder for all users, such as `/tmp`.
const SHARED_MODE: u32 = 0o1777;

/// A file system in memory, as it was before the first run.
struct Memory {
    path: String,
    folder: OwnedFd,
    mode: u32,
    blocks: u64,
    files: u64,
}

/// Runs as init of a container.
pub(super) fn run(places: impl Iterator<Item = OsString>) -> ExitCode {
    let places = places.map(|place| place.to_string_lossy().into_owned());
    match serve(places.collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve(places: Vec<String>) -> io::Result<()> {
    let server = UnixStream::connect(SOCKET)?;
    // No run may look into it, and it must outlive them.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let _ = identity::spare_in_oom();
    let memories = places.into_iter().map(Memory::new);
    let memories = memories.collect::<io::Result<Vec<_>>>()?;
    wire::send(&server, &Reply::Started, &[])?;
    while is_readable_within(&server, IDLE_TIMEOUT) {
        let Some((request, handles)) = wire::receive::<Request>(&server)? else {
            break;
        };
        let reply = match request {
            Request::Run(grouping) => {
                execute_run(grouping, handles)?;
                Reply::Over
            }
            Request::Clean => Reply::Cleaned(clean(&memories).is_ok()),
        };
        wire::send(&server, &reply, &[])?;
    }
    Ok(())
}

/// Executes a run to its end.
///
/// # Errors
/// A process of it may live on. Then the whole container must end.
fn execute_run(grouping: Grouping, handles: Vec<OwnedFd>) -> io::Result<()> {
    let Ok([control, out, error]) = <[OwnedFd; 3]>::try_from(handles) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let event = run_program(&control, [out, error], grouping)
        .unwrap_or_else(|Failure { step, number }| Some(Event::Failed(step, number)));
    if let Some(event) = event {
        // The server may be gone.
        let _ = wire::send(&control, &event, &[]);
    }
    kill_all()
}

/// Runs the program, and watches it; returns the end of the run, unless it was cancelled.
fn run_program(
    control: &OwnedFd,
    outputs: [OwnedFd; 2],
    grouping: Grouping,
) -> Result<Option<Event>, Failure> {
    let wrong = Failure::at(Step::Init);
    let received = wire::receive::<Plan>(control).map_err(&wrong)?;
    let Some((mut plan, input)) = received else {
        return Ok(None);
    };
    if plan.launch.is_some() {
        return Err(wrong(io::ErrorKind::InvalidData.into()));
    }
    if view_check::prepare(control, &mut plan)?.is_none() {
        return Ok(None);
    }
    let grouping = Some(grouping);
    let program = match syscall::fork().map_err(&wrong)? {
        Fork::Child => {
            let input = input.first().map(AsFd::as_fd);
            let Err(Failure { step, number }) = execute_program(&plan, grouping, &outputs, input);
            let _ = wire::send(control, &Event::Failed(step, number), &[]);
            std::process::exit(1);
        }
        Fork::Parent(program) => program,
    };
    // The reader of the output must see its end.
    drop((outputs, input));
    let mut reaper = Reaper::new(program);
    let mut meter = SizedFileSystems::of(&plan);
    let verdict = watch(control, &plan.limits, grouping, &mut meter, &mut reaper);
    Ok(verdict.event(&reaper))
}

/// Becomes the program.
fn execute_program(
    plan: &Plan,
    grouping: Option<Grouping>,
    [out, error]: &[OwnedFd; 2],
    input: Option<BorrowedFd<'_>>,
) -> Result<Infallible, Failure> {
    let ready = || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        set_dumpable_behavior(DumpableBehavior::Dumpable)?;
        identity::prefer_in_oom()?;
        stdio::set_input(input)?;
        rustix::stdio::dup2_stdout(out)?;
        rustix::stdio::dup2_stderr(error)
    };
    ready().map_err(at(Step::Init))?;
    restrict::execute(plan, grouping)
}

/// Kills every other process of the container.
///
/// # Errors
/// One lives on.
fn kill_all() -> io::Result<()> {
    let deadline = Instant::now() + KILL_TIMEOUT;
    loop {
        // All at once, so that none of them can fork meanwhile.
        let _ = syscall::kill_all();
        loop {
            match syscall::reap() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                // A process without a parent is a child of this one, so no other is left.
                Err(error) if error.raw_os_error() == Some(libc::ECHILD) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if Instant::now() > deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(KILL_POLL);
    }
}

impl Memory {
    fn new(path: String) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = open(&*path, flags, Mode::empty())?;
        let mode = rustix::fs::fstat(&folder)?.st_mode & 0o7777;
        let (blocks, files) = used(&fstatvfs(&folder)?);
        Ok(Self {
            path,
            folder,
            mode,
            blocks,
            files,
        })
    }

    /// Removes everything in it.
    ///
    /// # Errors
    /// Something is left.
    fn clear(&self) -> io::Result<()> {
        let left = |what: &str| io::Error::other(format!("{what} is left in {}", self.path));
        // Only the owner, the run itself, can have changed the mode; a shared folder belongs to root.
        if self.mode != SHARED_MODE {
            fchmod(&self.folder, Mode::from_raw_mode(self.mode))?;
        }
        locked_folder::clear(&self.folder)?;
        if used(&fstatvfs(&self.folder)?) != (self.blocks, self.files) {
            return Err(left("something"));
        }
        // Not every kernel has attributes there.
        match flistxattr(&self.folder, &mut [0_u8; 0]) {
            Ok(0) | Err(rustix::io::Errno::OPNOTSUPP) => Ok(()),
            _ => Err(left("an attribute")),
        }
    }
}

/// The number of blocks and files in a file system.
fn used(space: &StatVfs) -> (u64, u64) {
    (
        space.f_blocks.saturating_sub(space.f_bfree),
        space.f_files.saturating_sub(space.f_ffree),
    )
}

/// Kills the processes of a run, and removes everything that it wrote.
///
/// # Errors
/// Something is left, or that is unknown.
fn clean(memories: &[Memory]) -> io::Result<()> {
    kill_all()?;
    for memory in memories {
        memory.clear()?;
    }
    match fs::read_dir(MESSAGE_QUEUES) {
        Ok(mut queues) => match queues.next() {
            Some(_) => Err(io::Error::other("a queue is left")),
            None => Ok(()),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
