//! Watches over a run that has no namespaces: counts what it uses, and ends all that descends from it.

use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, getpid, getuid, pidfd_open, set_child_subreaper,
    set_dumpable_behavior, set_parent_process_death_signal,
};

use super::call::{self, Fork};
use super::session::{self, Session};
use super::{Failure, at, init, kin, lock, memory, outer, space};
use crate::plan::{Grouped, Plan, Step, Told};
use crate::wire;

/// How often the run is looked after, in nanoseconds.
const ROUND: i64 = 50_000_000;
/// Of how much time one part may go into looking at what is written.
const SHARE: u32 = 5;

/// How many processes others of the same user may begin meanwhile: the system counts a user's and not
/// a run's, so its own limit is only what a fork bomb can't pass between two looks.
const OTHERS: u64 = 512;

/// Begins the program, and watches over it until everybody is dead.
pub(super) fn run(
    control: &OwnedFd,
    mut plan: Plan,
    grouped: Option<Grouped>,
    folder: &str,
    input: &[OwnedFd],
) -> Result<ExitCode, Failure> {
    set_child_subreaper(Some(getpid())).map_err(at(Step::Init))?;
    // Whoever watches must outlive whom it watches over.
    let _ = outer::die(b"0");
    // The program may be the same user, and must not look into this process.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(at(Step::Init))?;
    let user = plan.tenant.map_or(getuid().as_raw(), |tenant| tenant.user);
    plan.ceilings.watching = kin::threads_of(user).saturating_add(OTHERS);
    init::stands(control, Vec::new())?;
    match call::fork().map_err(Failure::at(Step::Init))? {
        Fork::Child => {
            set_parent_process_death_signal(Some(Signal::KILL)).map_err(at(Step::Init))?;
            set_dumpable_behavior(DumpableBehavior::Dumpable).map_err(at(Step::Init))?;
            outer::die_first().map_err(at(Step::Init))?;
            outer::take_input(input.first().map(AsFd::as_fd)).map_err(at(Step::Init))?;
            if let Some(tenant) = plan.tenant {
                lock::bound().map_err(at(Step::Privileges))?;
                outer::become_tenant(tenant)?;
            }
            lock::begin(&plan, grouped, None)
        }
        Fork::Parent(program) => {
            let _ = super::close_outputs();
            session::part(grouped);
            let told = watch(control, &plan, grouped, folder, program);
            let is_certain = kin::end(program);
            if !is_certain {
                return Ok(ExitCode::from(super::UNCERTAIN));
            }
            let told = match told {
                Some(Watched::Told(told)) => Some(told),
                Some(Watched::Ended(ended)) => Some(init::ended(ended, false, false)),
                Some(Watched::Crowded(ended)) => Some(init::ended(ended, false, true)),
                None => None,
            };
            if let Some(told) = told {
                let _ = wire::send(control, &told, &[]);
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// What came of watching.
enum Watched {
    /// The program ended.
    Ended(rustix::process::WaitStatus),
    /// The program ended, and there could be no more processes.
    Crowded(rustix::process::WaitStatus),
    /// It used too much.
    Told(Told),
}

/// Watches until the program ends, or must be ended; `None` when nobody wants to know.
fn watch(
    control: &OwnedFd,
    plan: &Plan,
    grouped: Option<Grouped>,
    folder: &str,
    program: Pid,
) -> Option<Watched> {
    let begun = Instant::now();
    // What the system counts is looked at by whoever made the group.
    let counts_memory = grouped.is_none_or(|grouped| !grouped.memory);
    let counts_processes = grouped.is_none_or(|grouped| !grouped.processes);
    let mut session = Session::new(grouped);
    let handle = pidfd_open(program, PidfdFlags::empty()).ok();
    // What was copied there before is nothing that the run wrote.
    let before = space::written(folder, std::iter::empty())?;
    let (bytes, files) = (
        plan.disk.saturating_add(before.bytes),
        plan.files.saturating_add(before.files),
    );
    let is_over = |kin: &[kin::Kin]| {
        space::written(folder, kin.iter().map(|kin| kin.number))
            .is_none_or(|space| space.bytes > bytes || space.files > files)
    };
    let mut look = Instant::now();
    let mut crowded = false;
    loop {
        let mut watched = vec![PollFd::new(control, PollFlags::empty())];
        let handle = handle.as_ref();
        watched.extend(handle.map(|handle| PollFd::new(handle, PollFlags::IN)));
        let round = Timespec {
            tv_sec: 0,
            tv_nsec: ROUND,
        };
        let _ = poll(&mut watched, Some(&round));
        session.lower(program);
        let is_alone = watched
            .first()
            .is_some_and(|control| control.revents().contains(PollFlags::HUP));
        if is_alone || begun.elapsed() > plan.wall {
            return None;
        }
        if let (Some(status), _) = kin::reap(program) {
            return Some(if is_over(&[]) {
                Watched::Told(Told::Disk)
            } else if crowded {
                Watched::Crowded(status)
            } else {
                Watched::Ended(status)
            });
        }
        // If they can't be listed, nobody knows what they use.
        let kin = kin::all().ok()?;
        let numbers: Vec<u32> = kin.iter().map(|kin| kin.number).collect();
        if counts_processes {
            let processes = memory::threads(&numbers);
            crowded = crowded || processes >= plan.ceilings.processes;
            if processes > plan.ceilings.processes {
                return Some(Watched::Told(Told::Processes));
            }
        }
        if counts_memory && memory::held(&numbers, 0, plan.memory) > plan.memory {
            return Some(Watched::Told(Told::Memory));
        }
        if look <= Instant::now() {
            let looking = Instant::now();
            if is_over(&kin) {
                return Some(Watched::Told(Told::Disk));
            }
            look = Instant::now()
                + looking
                    .elapsed()
                    .saturating_mul(SHARE)
                    .min(Duration::from_secs(1));
        }
    }
}
