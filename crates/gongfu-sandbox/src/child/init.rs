//! The first process of the run's own world: begins the program, and takes the world with it when it
//! ends.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::LazyLock;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, pidfd_open,
    set_dumpable_behavior, set_parent_process_death_signal,
};
use rustix::thread::set_name;
use rustix::{fs, system};

use super::call::{self, Fork};
use super::session::{self, Session};
use super::{Failure, at, close_outputs, lock, memory, outer, view};
use crate::plan::{Ground, Grouped, How, Kind, Order, Plan, Step, Told};
use crate::{seccomp, wire};

/// What the machine is called inside.
const NAME: &[u8] = b"sandbox";
/// How often the run is looked after, in nanoseconds.
const ROUND: i64 = 50_000_000;

/// What a first process is called that waits for its plan.
pub(super) const SPARE: &std::ffi::CStr = c"gongfu-spare";
/// What it is called once it has one.
const BUSY: &std::ffi::CStr = c"gongfu-run";
/// How long it waits, in seconds: longer than whoever keeps it, should that one forget it.
const LONGEST_WAIT: i64 = 120;

/// Is the first process: makes the ground, and carries out the plan that comes after it. Only ever ends
/// by leaving.
pub(super) fn run<T>(
    control: &OwnedFd,
    ground: &Ground,
    sources: Option<Vec<OwnedFd>>,
    grouped: Option<Grouped>,
) -> Result<T, Failure> {
    // Whoever waits for this one ends it by ending.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(at(Step::Init))?;
    system::sethostname(NAME).map_err(at(Step::Init))?;
    let is_taken = sources.is_some();
    let builder = view::Builder::begin(ground, sources)?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(at(Step::Init))?;
    let filters = seccomp::filters(ground.proxied);
    let _ = set_name(SPARE);
    let Some((plan, input)) = planned(control)? else {
        std::process::exit(0);
    };
    let _ = set_name(BUSY);
    let Kind::Namespaces { sources, pieces } = plan.kind else {
        return Err(Failure::at(Step::Program)(
            io::ErrorKind::InvalidData.into(),
        ));
    };
    let count = plan.sources.len().saturating_sub(sources);
    let taken = is_taken.then(|| trees(control, count)).transpose()?;
    let layers = builder.finish(&plan, pieces, taken)?;
    outer::take_input(input.first().map(AsFd::as_fd)).map_err(at(Step::Program))?;
    stands(control, layers)?;
    program(control, &plan, grouped, filters)
}

/// A plan, and what the program reads.
type Planned = (Box<Plan>, Vec<OwnedFd>);

/// The plan; `None` where there is none to come.
fn planned(control: &OwnedFd) -> Result<Option<Planned>, Failure> {
    let longest = Timespec {
        tv_sec: LONGEST_WAIT,
        tv_nsec: 0,
    };
    let mut watched = [PollFd::new(control, PollFlags::IN)];
    if !matches!(poll(&mut watched, Some(&longest)), Ok(1)) {
        return Ok(None);
    }
    match wire::receive(control).map_err(Failure::at(Step::Program))? {
        Some((Order::Plan(plan), input)) => Ok(Some((plan, input))),
        Some((Order::Ground(..), _)) | None => Ok(None),
    }
}

/// The mounts that whoever may take them has taken for the run.
fn trees(control: &OwnedFd, count: usize) -> Result<Vec<OwnedFd>, Failure> {
    let wrong = Failure::at(Step::Root);
    let mut trees = Vec::new();
    while trees.len() < count {
        let received = wire::receive::<()>(control).map_err(&wrong)?;
        let more = received.map(|((), more)| more).unwrap_or_default();
        if more.is_empty() {
            return Err(wrong(io::ErrorKind::UnexpectedEof.into()));
        }
        trees.extend(more);
    }
    Ok(trees)
}

/// Says that everything stands that the program is begun in.
pub(super) fn stands(control: &OwnedFd, layers: Vec<OwnedFd>) -> Result<(), Failure> {
    let handles: Vec<BorrowedFd<'_>> = layers.iter().map(AsFd::as_fd).collect();
    wire::send(control, &Told::Ready, &handles).map_err(Failure::at(Step::Init))
}

/// Begins the program, and watches over it to its end. Only ever ends by leaving.
pub(super) fn program<T>(
    control: &OwnedFd,
    plan: &Plan,
    grouped: Option<Grouped>,
    filters: Option<seccomp::Filters>,
) -> Result<T, Failure> {
    match call::fork().map_err(Failure::at(Step::Init))? {
        Fork::Child => lock::begin(plan, grouped, filters),
        Fork::Parent(program) => {
            let _ = close_outputs();
            session::part(grouped);
            let told = match watch(control, plan, grouped, program, reap) {
                Watched::Ended(status, full, crowded) => ended(status, full, crowded),
                Watched::Over(told) => told,
                // With this process everything ends.
                Watched::Nobody => std::process::exit(1),
            };
            let _ = wire::send(control, &told, &[]);
            std::process::exit(0);
        }
    }
}

/// What came of watching.
pub(super) enum Watched<T> {
    /// The program ended; and whether nothing more could be written, and there could be no more processes.
    Ended(T, bool, bool),
    /// It used too much.
    Over(Told),
    /// Nobody wants to know, or nobody knows what it uses.
    Nobody,
}

/// Waits for the program, and takes away what others leave behind: `reap` answers how it ended, if it did.
pub(super) fn watch<T>(
    control: &OwnedFd,
    plan: &Plan,
    grouped: Option<Grouped>,
    program: Pid,
    mut reap: impl FnMut(Pid) -> Option<T>,
) -> Watched<T> {
    let begun = Instant::now();
    // What the system counts is looked at by whoever made the group.
    let counts_memory = grouped.is_none_or(|grouped| !grouped.memory);
    let counts_processes = grouped.is_none_or(|grouped| !grouped.processes);
    let mut session = Session::new(grouped);
    let handle = pidfd_open(program, PidfdFlags::empty()).ok();
    let (mut full, mut crowded) = (false, false);
    let status = loop {
        let mut watched = vec![PollFd::new(control, PollFlags::empty())];
        watched.extend(
            handle
                .as_ref()
                .map(|handle| PollFd::new(handle, PollFlags::IN)),
        );
        let round = Timespec {
            tv_sec: 0,
            tv_nsec: ROUND,
        };
        let _ = poll(&mut watched, Some(&round));
        session.lower(program);
        let is_alone = watched
            .first()
            .is_some_and(|control| control.revents().contains(PollFlags::HUP));
        full = full || is_full(plan);
        if counts_processes {
            let Ok(processes) = memory::processes() else {
                return Watched::Nobody;
            };
            crowded = crowded || processes >= plan.ceilings.processes;
        }
        if counts_memory {
            match memory::used(plan.memory) {
                Ok(used) if used <= plan.memory => {}
                Ok(_) => return Watched::Over(Told::Memory),
                Err(_) => return Watched::Nobody,
            }
        }
        if is_over(plan) {
            return Watched::Over(Told::Disk);
        }
        if is_alone || begun.elapsed() > plan.wall {
            return Watched::Nobody;
        }
        if let Some(status) = reap(program) {
            break status;
        }
    };
    Watched::Ended(status, full || is_full(plan), crowded)
}

/// How the program ended, and what all that ended until now have used.
pub(super) fn ended(status: WaitStatus, full: bool, crowded: bool) -> Told {
    let how = match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => How::Exit(code),
        (None, Some(signal)) => How::Signal(signal),
        (None, None) => How::Exit(-1),
    };
    let usage = call::usage();
    Told::Ended {
        how,
        full,
        crowded,
        cpu: usage.cpu,
        memory: usage.memory,
    }
}

/// Takes away every process that ended; answers how the program did, if it did.
fn reap(program: Pid) -> Option<WaitStatus> {
    while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
        if pid == program {
            return Some(status);
        }
    }
    None
}

/// Where what is written is counted.
fn places(plan: &Plan) -> &[String] {
    static ONE: LazyLock<[String; 1]> = LazyLock::new(|| ["/tmp".to_owned()]);
    match &plan.kind {
        Kind::Docker { memories } => memories,
        _ => &*ONE,
    }
}

/// Whether nothing more can be written somewhere.
fn is_full(plan: &Plan) -> bool {
    places(plan).iter().any(|place| {
        let space = fs::statvfs(&**place);
        space.is_ok_and(|space| space.f_bavail == 0 || space.f_favail == 0)
    })
}

/// Whether more is written than may be, where the file system doesn't hold it; also when nobody knows.
fn is_over(plan: &Plan) -> bool {
    written(plan).is_none_or(|written| {
        let most = plan
            .disk
            .div_ceil(written.block)
            .saturating_mul(written.block);
        written.bytes > most || written.files > plan.files
    })
}

/// What is written.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) bytes: u64,
    pub(super) files: u64,
    /// What a file takes is a multiple of it.
    block: u64,
}

/// How much is written; `None` where nobody knows.
pub(super) fn written(plan: &Plan) -> Option<Written> {
    let mut sum = Written {
        bytes: 0,
        files: 0,
        block: 1,
    };
    for place in places(plan) {
        let space = fs::statvfs(&**place).ok()?;
        let blocks = space.f_blocks.saturating_sub(space.f_bfree);
        let files = space.f_files.saturating_sub(space.f_ffree);
        let bytes = blocks.saturating_mul(space.f_frsize);
        sum.bytes = sum.bytes.saturating_add(bytes);
        sum.files = sum.files.saturating_add(files);
        sum.block = sum.block.max(space.f_frsize);
    }
    Some(sum)
}
