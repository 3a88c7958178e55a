//! Supervises a run without namespaces: measures its usage, and kills all its descendants.

use std::convert::Infallible;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::process::{
    DumpableBehavior, Signal, getpid, getuid, set_child_subreaper, set_dumpable_behavior,
    set_parent_process_death_signal,
};

use super::descendants;
use super::disk_usage;
use super::step::{Failure, at};
use super::syscall::{self, Fork};
use super::watch::{Disk, Meter, Reaper, watch};
use super::{UNCERTAIN, identity, init, restrict, stdio, usage};
use crate::plan::{Grouping, Plan, Step};
use crate::wire;

/// The pause after measuring the folder, as a multiple of the time that it took.
const PAUSE_FACTOR: u32 = 5;
/// The longest such pause.
const MAX_PAUSE: Duration = Duration::from_secs(1);
/// Processes that the same user may start elsewhere meanwhile. The kernel counts those of a user and not of a
/// run, so its limit only stops a fork bomb between two looks.
const OTHER_PROCESSES: u64 = 512;

/// Runs the program, and supervises it until every process is dead.
pub(super) fn run(
    control: &OwnedFd,
    mut plan: Plan,
    grouping: Option<Grouping>,
    folder: &str,
    input: &[OwnedFd],
) -> Result<ExitCode, Failure> {
    set_child_subreaper(Some(getpid())).map_err(at(Step::Init))?;
    // It must outlive the processes that it supervises.
    let _ = identity::spare_in_oom();
    // The program may be the same user, and must not look into this process.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(at(Step::Init))?;
    let user = plan.tenant.map_or(getuid().as_raw(), |tenant| tenant.user);
    plan.other_processes = usage::threads_of_user(user).saturating_add(OTHER_PROCESSES);
    init::report_ready(control, &[])?;
    let program = match syscall::fork().map_err(Failure::at(Step::Init))? {
        Fork::Child => match execute(&plan, grouping, input)? {},
        Fork::Parent(program) => program,
    };
    let _ = stdio::close();
    let mut reaper = Reaper::new(program);
    let verdict = Folder::new(folder, &plan)
        .map(|mut meter| watch(control, &plan.limits, grouping, &mut meter, &mut reaper));
    if !descendants::kill_all(&mut reaper) {
        return Ok(ExitCode::from(UNCERTAIN));
    }
    if let Some(event) = verdict.and_then(|verdict| verdict.event(&reaper)) {
        let _ = wire::send(control, &event, &[]);
    }
    Ok(ExitCode::SUCCESS)
}

/// Becomes the program.
fn execute(
    plan: &Plan,
    grouping: Option<Grouping>,
    input: &[OwnedFd],
) -> Result<Infallible, Failure> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(at(Step::Init))?;
    set_dumpable_behavior(DumpableBehavior::Dumpable).map_err(at(Step::Init))?;
    identity::prefer_in_oom().map_err(at(Step::Init))?;
    stdio::set_input(input.first().map(|input| input.as_fd())).map_err(at(Step::Init))?;
    if let Some(tenant) = plan.tenant {
        restrict::drop_bounding_set().map_err(at(Step::Privileges))?;
        identity::become_tenant(tenant)?;
    }
    restrict::execute(plan, grouping)
}

/// Measures a run that writes to a folder of its own on the disk.
struct Folder<'a> {
    path: &'a str,
    bytes: u64,
    files: u64,
    /// When it is measured again.
    next: Instant,
}

impl<'a> Folder<'a> {
    /// The copies that lie there already don't count; `None` where they can't be measured.
    fn new(path: &'a str, plan: &Plan) -> Option<Self> {
        let copies = disk_usage::of_folder(path)?;
        Some(Self {
            path,
            bytes: plan.limits.disk.saturating_add(copies.bytes),
            files: plan.limits.files.saturating_add(copies.files),
            next: Instant::now(),
        })
    }
}

impl Meter for Folder<'_> {
    fn processes(&self) -> io::Result<Vec<u32>> {
        let all = descendants::all()?;
        Ok(all.iter().map(|one| one.number).collect())
    }

    fn files_in_memory(&self) -> u64 {
        0
    }

    fn sockets(&self, processes: &[u32]) -> u64 {
        usage::sockets(processes)
    }

    fn disk(&mut self, processes: &[u32], is_final: bool) -> Disk {
        let start = Instant::now();
        if start < self.next && !is_final {
            return Disk::Free;
        }
        let usage = disk_usage::with_open_files(self.path, processes.iter().copied());
        let pause = start.elapsed().saturating_mul(PAUSE_FACTOR).min(MAX_PAUSE);
        self.next = Instant::now() + pause;
        if usage.is_none_or(|usage| usage.bytes > self.bytes || usage.files > self.files) {
            Disk::Exceeded
        } else {
            Disk::Free
        }
    }
}
