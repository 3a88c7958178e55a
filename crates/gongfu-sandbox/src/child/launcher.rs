//! A run in namespaces that a launcher such as bubblewrap makes: the supervisor that starts it, and init inside.
//!
//! This program is executed once more inside, through a handle and not by name: no file of it lies where the
//! run could find it. Its plan comes over a socket, as for every child.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use rustix::fs::{self, MemfdFlags, Mode, OFlags};
use rustix::io::{Errno, FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, getpid, set_child_subreaper, set_dumpable_behavior,
    set_parent_process_death_signal, wait,
};
use rustix::stdio::stdin;

use super::step::{Failure, at};
use super::{identity, init, stdio, view_check, watch};
use crate::plan::{Event, Grouping, Plan, Step};
use crate::wire;

/// The argument that makes this program init inside of a launcher.
pub(super) const ARGUMENT: &str = "sandbox-launched-init";

/// Starts the launcher, and waits until every process in the sandbox is dead.
pub(super) fn start(
    control: &OwnedFd,
    plan: &Plan,
    program: &Path,
    options: &[Vec<u8>],
    grouping: Option<Grouping>,
    input: &[OwnedFd],
) -> Result<ExitCode, Failure> {
    let wrong = at(Step::Launcher);
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let itself = fs::open(c"/proc/self/exe", flags, Mode::empty()).map_err(&wrong)?;
    if let Some(tenant) = plan.tenant {
        for handle in input {
            identity::hand_over(handle.as_fd(), tenant)?;
        }
        identity::become_tenant(tenant)?;
    }
    // Processes without a parent become children of this one, which waits for all.
    set_child_subreaper(Some(getpid())).map_err(&wrong)?;
    let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
    let (ours, theirs) = socketpair(family, kind, SocketFlags::CLOEXEC, None).map_err(&wrong)?;
    let options = options_file(options).map_err(Failure::at(Step::Launcher))?;
    for handle in [itself.as_fd(), options.as_fd()] {
        fcntl_setfd(handle, FdFlags::empty()).map_err(&wrong)?;
    }
    let child = Command::new(program)
        .arg("--args")
        .arg(options.as_raw_fd().to_string())
        .arg("--")
        .arg(format!("/proc/self/fd/{}", itself.as_raw_fd()))
        .arg(ARGUMENT)
        .env_clear()
        .stdin(Stdio::from(theirs))
        .spawn()
        .map_err(Failure::at(Step::Launcher))?;
    let mut handles = vec![control.as_fd()];
    handles.extend(input.iter().map(AsFd::as_fd));
    // If this fails, the launcher has ended and has said why.
    let _ = wire::send(&ours, &(plan, grouping), &handles);
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    // With the launcher init dies, and with that all others.
    if let Some(pid) = pid {
        watch::kill_when_cancelled(control, pid);
    }
    while !matches!(wait(WaitOptions::empty()), Err(Errno::CHILD)) {}
    Ok(ExitCode::SUCCESS)
}

/// Writes the launcher's options to a file without a name.
fn options_file(options: &[Vec<u8>]) -> io::Result<File> {
    let mut file = File::from(fs::memfd_create(c"options", MemfdFlags::CLOEXEC)?);
    for option in options {
        file.write_all(option)?;
        file.write_all(&[0])?;
    }
    file.rewind()?;
    Ok(file)
}

/// Runs as init inside of a launcher.
pub(super) fn run() -> ExitCode {
    let Ok(socket) = fcntl_dupfd_cloexec(stdin(), 3) else {
        return ExitCode::from(2);
    };
    let received = wire::receive::<(Plan, Option<Grouping>)>(&socket);
    let Ok(Some(((plan, grouping), handles))) = received else {
        return ExitCode::from(2);
    };
    let mut handles = handles.into_iter();
    let Some(control) = handles.next() else {
        return ExitCode::from(2);
    };
    let input = handles.next();
    let Err(Failure { step, number }) =
        run_inside(&control, plan, grouping, input.as_ref().map(AsFd::as_fd));
    let _ = wire::send(&control, &Event::Failed(step, number), &[]);
    ExitCode::FAILURE
}

fn run_inside(
    control: &OwnedFd,
    mut plan: Plan,
    grouping: Option<Grouping>,
    input: Option<BorrowedFd<'_>>,
) -> Result<Infallible, Failure> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(at(Step::Init))?;
    // No other process of the run may look into this one.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(at(Step::Init))?;
    stdio::set_input(input).map_err(at(Step::Init))?;
    let Some(contents) = view_check::prepare(control, &mut plan)? else {
        std::process::exit(1);
    };
    plan.limits.memory = plan.limits.memory.saturating_add(contents.bytes);
    init::run_program(control, &plan, grouping)
}
