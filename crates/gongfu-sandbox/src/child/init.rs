//! Init: the first process of a PID namespace. It builds the view, starts the program, and takes the whole
//! namespace with it when it ends.

use std::convert::Infallible;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs;
use rustix::process::{
    DumpableBehavior, Signal, set_dumpable_behavior, set_parent_process_death_signal,
};

use super::step::{Failure, at};
use super::syscall::{self, Fork};
use super::watch::{Disk, Meter, Reaper, Verdict, watch};
use super::{restrict, stdio, usage, view};
use crate::plan::{Event, Grouping, Plan, Step};
use crate::wire;

/// The host name of every sandbox.
const HOST_NAME: &[u8] = b"sandbox";

/// Runs as init: builds the view out of these mounts, and executes the plan in it.
pub(super) fn run(
    control: &OwnedFd,
    plan: &Plan,
    mounts: Vec<OwnedFd>,
    input: &[OwnedFd],
    grouping: Option<Grouping>,
) -> Result<Infallible, Failure> {
    // The supervisor ends this one by ending.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(at(Step::Init))?;
    rustix::system::sethostname(HOST_NAME).map_err(at(Step::Init))?;
    let layers = view::build(plan, mounts)?;
    // No other process of the run may look into this one.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(at(Step::Init))?;
    stdio::set_input(input.first().map(AsFd::as_fd)).map_err(at(Step::Program))?;
    report_ready(control, &layers)?;
    run_program(control, plan, grouping)
}

/// Tells the server that the program can start, and hands it the layers.
pub(super) fn report_ready(control: &OwnedFd, layers: &[OwnedFd]) -> Result<(), Failure> {
    let handles: Vec<BorrowedFd<'_>> = layers.iter().map(AsFd::as_fd).collect();
    wire::send(control, &Event::Ready, &handles).map_err(Failure::at(Step::Init))
}

/// Runs the program, and watches over it to its end.
pub(super) fn run_program(
    control: &OwnedFd,
    plan: &Plan,
    grouping: Option<Grouping>,
) -> Result<Infallible, Failure> {
    let program = match syscall::fork().map_err(Failure::at(Step::Init))? {
        Fork::Child => return restrict::execute(plan, grouping),
        Fork::Parent(program) => program,
    };
    let _ = stdio::close();
    let mut reaper = Reaper::new(program);
    let mut meter = SizedFileSystems::of(plan);
    let verdict = watch(control, &plan.limits, grouping, &mut meter, &mut reaper);
    if let Some(event) = verdict.event(&reaper) {
        let _ = wire::send(control, &event, &[]);
    }
    std::process::exit(i32::from(verdict == Verdict::Abandoned));
}

/// Measures a run that writes to file systems of a fixed size, in a PID namespace of its own.
pub(super) struct SizedFileSystems<'a> {
    places: &'a [String],
    bytes: u64,
    files: u64,
}

/// The contents of file systems.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) bytes: u64,
    pub(super) files: u64,
    /// The size of a file is a multiple of this.
    block: u64,
}

impl<'a> SizedFileSystems<'a> {
    pub(super) fn of(plan: &'a Plan) -> Self {
        Self {
            places: &plan.file_systems,
            bytes: plan.limits.disk,
            files: plan.limits.files,
        }
    }

    /// Measures their contents; `None` where that fails.
    pub(super) fn contents(&self) -> Option<Contents> {
        let mut contents = Contents {
            bytes: 0,
            files: 0,
            block: 1,
        };
        for place in self.places {
            let space = fs::statvfs(&**place).ok()?;
            let blocks = space.f_blocks.saturating_sub(space.f_bfree);
            let files = space.f_files.saturating_sub(space.f_ffree);
            let bytes = blocks.saturating_mul(space.f_frsize);
            contents.bytes = contents.bytes.saturating_add(bytes);
            contents.files = contents.files.saturating_add(files);
            contents.block = contents.block.max(space.f_frsize);
        }
        Some(contents)
    }

    /// Returns whether nothing more can be written to one of them.
    fn is_full(&self) -> bool {
        self.places.iter().any(|place| {
            let space = fs::statvfs(&**place);
            space.is_ok_and(|space| space.f_bavail == 0 || space.f_favail == 0)
        })
    }
}

impl Meter for SizedFileSystems<'_> {
    fn processes(&self) -> io::Result<Vec<u32>> {
        let mut processes = usage::all_processes()?;
        // Itself.
        processes.retain(|number| *number != 1);
        Ok(processes)
    }

    fn files_in_memory(&self) -> u64 {
        // An unknown amount counts as more than every limit.
        self.contents().map_or(u64::MAX, |contents| contents.bytes)
    }

    fn sockets(&self, _processes: &[u32]) -> u64 {
        usage::sockets_of_network()
    }

    fn disk(&mut self, _processes: &[u32], _is_final: bool) -> Disk {
        let is_exceeded = self.contents().is_none_or(|contents| {
            let limit = self.bytes.div_ceil(contents.block);
            contents.bytes > limit.saturating_mul(contents.block) || contents.files > self.files
        });
        if is_exceeded {
            Disk::Exceeded
        } else if self.is_full() {
            Disk::Full
        } else {
            Disk::Free
        }
    }
}
