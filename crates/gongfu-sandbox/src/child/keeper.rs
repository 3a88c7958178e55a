//! The first process of a container: carries out one run after the other, and leaves nothing of one to
//! the next.
//!
//! It is this very program, begun by the container's runtime as whoever runs are, without any privilege.
//! What to do comes over a socket, which is also what it lives by: when the server is gone, so is its end
//! of the socket, this process ends, and with it every other one of the container.

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{fs, io};

use rustix::event::PollFlags;
use rustix::fs::{Mode, OFlags, StatVfs, fchmod, flistxattr, fstatvfs, open};
use rustix::process::{
    DumpableBehavior, Pid, Signal, set_dumpable_behavior, set_parent_process_death_signal,
};

use super::call::{self, Ended, Fork, Usage};
use super::init::{self, Watched};
use super::{Failure, at, bubble, lock, outer};
use crate::begun::is_heard;
use crate::place;
use crate::plan::{Answer, Errand, Grouped, How, Kind, Order, Plan, Step, Told};
use crate::wire;

/// The argument by which a program is told to be the first process of a container; then comes every place
/// that lies in memory and can be written.
pub(crate) const ARGUMENT: &str = "sandbox-keeper";
/// Where it finds the socket of the server; nothing is there any more once it has connected.
pub(crate) const SOCKET: &str = "/run/gongfu/socket";

/// How long it waits for the next errand.
const LONGEST_WAIT: Duration = Duration::from_mins(5);
/// How long processes may take to end once they are killed.
const ENDING: Duration = Duration::from_secs(8);
/// How often it is looked whether they have.
const ROUND: Duration = Duration::from_micros(200);
/// Where else a run could leave something: queues of messages (`mq_overview(7)`).
const QUEUES: &str = "/dev/mqueue";
/// What a file takes besides what is written, at most: the system may count what holds its names.
const ROOM: u64 = 1024 * 1024;
/// How everybody's own folder is used, and one that others use as well.
const SHARED: u32 = 0o1777;

/// A place that lies in memory, as it was before anything was run.
struct Memory {
    path: String,
    folder: OwnedFd,
    mode: u32,
    blocks: u64,
    files: u64,
}

/// Is the first process to its end.
pub(super) fn run(places: impl Iterator<Item = OsString>) -> ExitCode {
    let places = places.map(|place| place.to_string_lossy().into_owned());
    match keep(places.collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn keep(places: Vec<String>) -> io::Result<()> {
    let server = UnixStream::connect(SOCKET)?;
    // Its files and its memory are nobody's from now on, and when there is no more memory it stays.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let _ = outer::die(b"0");
    let memories = places.into_iter().map(Memory::new);
    let memories = memories.collect::<io::Result<Vec<_>>>()?;
    wire::send(&server, &Answer::Here, &[])?;
    while is_heard(&server, PollFlags::IN, LONGEST_WAIT) {
        let Some((errand, handles)) = wire::receive::<Errand>(&server)? else {
            break;
        };
        let answer = match errand {
            Errand::Run(grouped) => {
                carry_out(grouped, handles)?;
                Answer::Over
            }
            Errand::Clean => Answer::Cleaned(clean(&memories).is_ok()),
        };
        wire::send(&server, &answer, &[])?;
    }
    Ok(())
}

/// Carries out a run to its end.
///
/// # Errors
/// Not every process of it is dead for certain: this one's end is that of all.
fn carry_out(grouped: Grouped, handles: Vec<OwnedFd>) -> io::Result<()> {
    let Ok([control, out, error]) = <[OwnedFd; 3]>::try_from(handles) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let mut used = Usage::default();
    let told = match program(&control, [out, error], grouped, &mut used) {
        Ok(Watched::Ended(how, full, crowded)) => Some(Told::Ended {
            how,
            full,
            crowded,
            cpu: used.cpu,
            memory: used.memory,
        }),
        Ok(Watched::Over(told)) => Some(told),
        Ok(Watched::Nobody) => None,
        Err(Failure { step, number }) => Some(Told::Failed(step, number)),
    };
    if let Some(told) = told {
        // Whoever can't be told has gone.
        let _ = wire::send(&control, &told, &[]);
    }
    end_all()
}

/// Begins the program of a run, and watches over it.
fn program(
    control: &OwnedFd,
    outputs: [OwnedFd; 2],
    grouped: Grouped,
    used: &mut Usage,
) -> Result<Watched<How>, Failure> {
    let received = wire::receive::<Order>(control).map_err(Failure::at(Step::Init))?;
    let Some((Order::Plan(mut plan), input)) = received else {
        return Ok(Watched::Nobody);
    };
    if !matches!(plan.kind, Kind::Docker { .. }) {
        return Err(Failure::at(Step::Init)(io::ErrorKind::InvalidData.into()));
    }
    let layers = bubble::looked_over(&plan)?;
    init::stands(control, layers)?;
    if !bubble::are_filled(control)? {
        return Ok(Watched::Nobody);
    }
    // What was there before it is nothing that the run wrote.
    let nobody_knows = || Failure::at(Step::Init)(io::ErrorKind::NotFound.into());
    let written = init::written(&plan).ok_or_else(nobody_knows)?;
    plan.disk = plan.disk.saturating_add(written.bytes).saturating_add(ROOM);
    plan.files = plan.files.saturating_add(written.files);
    let (plan, grouped) = (*plan, Some(grouped));
    match call::fork().map_err(Failure::at(Step::Init))? {
        Fork::Child => {
            let input = input.first().map(AsFd::as_fd);
            let Failure { step, number } = begin(&plan, grouped, &outputs, input);
            let _ = wire::send(control, &Told::Failed(step, number), &[]);
            std::process::exit(1);
        }
        Fork::Parent(program) => {
            // Whoever reads what the program says must see its end.
            drop((outputs, input));
            let reap = |program| reaped(program, used);
            Ok(init::watch(control, &plan, grouped, program, reap))
        }
    }
}

/// Becomes the program; answers only what kept it from that.
fn begin(
    plan: &Plan,
    grouped: Option<Grouped>,
    [out, error]: &[OwnedFd; 2],
    input: Option<std::os::fd::BorrowedFd<'_>>,
) -> Failure {
    let ready = || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        set_dumpable_behavior(DumpableBehavior::Dumpable)?;
        outer::die_first()?;
        outer::take_input(input)?;
        rustix::stdio::dup2_stdout(out)?;
        rustix::stdio::dup2_stderr(error)
    };
    match ready().map_err(at(Step::Init)) {
        Ok(()) => match lock::begin::<()>(plan, grouped, None) {
            Ok(()) => Failure::at(Step::Program)(io::ErrorKind::Other.into()),
            Err(failure) => failure,
        },
        Err(failure) => failure,
    }
}

/// Takes away every process that ended; answers how the program did, if it did.
fn reaped(program: Pid, used: &mut Usage) -> Option<How> {
    while let Ok(Some(Ended { pid, how, usage })) = call::take_away() {
        used.cpu = used.cpu.saturating_add(usage.cpu);
        used.memory = used.memory.max(usage.memory);
        if pid == program {
            return Some(how);
        }
    }
    None
}

/// Ends every other process of the container.
///
/// # Errors
/// One lives on.
fn end_all() -> io::Result<()> {
    let by = Instant::now() + ENDING;
    loop {
        // All at once: nobody is left who could begin others.
        let _ = call::kill_all();
        loop {
            match call::take_away() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                // There is nobody to wait for, so nobody is there: who loses a parent is this one's.
                Err(error) if error.raw_os_error() == Some(libc::ECHILD) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if Instant::now() > by {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(ROUND);
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

    /// Takes away all that is in it.
    ///
    /// # Errors
    /// Something is left.
    fn clear(&self) -> io::Result<()> {
        let left = |what: &str| io::Error::other(format!("{what} is left in {}", self.path));
        // Nobody but whoever owns it can have changed how it may be used; what isn't theirs they couldn't.
        if self.mode != SHARED {
            fchmod(&self.folder, Mode::from_raw_mode(self.mode))?;
        }
        place::clear(&self.folder)?;
        if used(&fstatvfs(&self.folder)?) != (self.blocks, self.files) {
            return Err(left("something"));
        }
        // The system may have none.
        match flistxattr(&self.folder, &mut [0_u8; 0]) {
            Ok(0) | Err(rustix::io::Errno::OPNOTSUPP) => Ok(()),
            _ => Err(left("an attribute")),
        }
    }
}

/// How many blocks and files a file system holds.
fn used(space: &StatVfs) -> (u64, u64) {
    (
        space.f_blocks.saturating_sub(space.f_bfree),
        space.f_files.saturating_sub(space.f_ffree),
    )
}

/// Takes away all that a run left where it could write.
///
/// # Errors
/// Something is left, or nobody can know.
fn clean(memories: &[Memory]) -> io::Result<()> {
    end_all()?;
    for memory in memories {
        memory.clear()?;
    }
    match fs::read_dir(QUEUES) {
        Ok(mut queues) => match queues.next() {
            Some(_) => Err(io::Error::other("a queue is left")),
            None => Ok(()),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
