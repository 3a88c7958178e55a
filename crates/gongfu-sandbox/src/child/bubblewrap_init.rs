//! A run in bubblewrap's namespaces: the supervisor that starts bubblewrap, and init inside.
//!
//! This program is executed once more inside, through a handle and not by name: no file of it lies where the
//! run could find it. Its plan comes over a socket, as for every child.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{self, MemfdFlags, Mode, OFlags};
use rustix::io::{Errno, FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, WaitOptions, getpid, pidfd_open, pidfd_send_signal,
    set_child_subreaper, set_dumpable_behavior, set_parent_process_death_signal, wait,
};
use rustix::stdio::stdin;

use super::init::SizedFileSystems;
use super::step::{Failure, at};
use super::{identity, init, stdio};
use crate::plan::{Event, Grouping, Piece, Plan, Source, Step};
use crate::wire;

/// The argument by which this program is told to be init inside of bubblewrap.
pub(super) const ARGUMENT: &str = "sandbox-inside";

/// Space for the file system itself, as one of a fixed size has it as well, in bytes.
const OVERHEAD: u64 = 1024 * 1024;

/// Starts bubblewrap, and waits until every process in the sandbox is dead.
pub(super) fn start(
    control: &OwnedFd,
    plan: &Plan,
    program: &Path,
    options: &[Vec<u8>],
    grouping: Option<Grouping>,
    input: &[OwnedFd],
) -> Result<ExitCode, Failure> {
    let wrong = at(Step::Bubblewrap);
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
    let options = options_file(options).map_err(Failure::at(Step::Bubblewrap))?;
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
        .map_err(Failure::at(Step::Bubblewrap))?;
    let mut handles = vec![control.as_fd()];
    handles.extend(input.iter().map(AsFd::as_fd));
    // If this fails, bubblewrap has ended and has said why.
    let _ = wire::send(&ours, &(plan, grouping), &handles);
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(handle) = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) {
        let mut handles = [
            PollFd::new(control, PollFlags::empty()),
            PollFd::new(&handle, PollFlags::IN),
        ];
        while poll(&mut handles, None).is_err() {}
        // With it init dies, and with that all others.
        let _ = pidfd_send_signal(&handle, Signal::KILL);
    }
    while !matches!(wait(WaitOptions::empty()), Err(Errno::CHILD)) {}
    Ok(ExitCode::SUCCESS)
}

/// Writes bubblewrap's options to a file without a name.
fn options_file(options: &[Vec<u8>]) -> io::Result<File> {
    let mut file = File::from(fs::memfd_create(c"options", MemfdFlags::CLOEXEC)?);
    for option in options {
        file.write_all(option)?;
        file.write_all(&[0])?;
    }
    file.rewind()?;
    Ok(file)
}

/// Runs as init inside of bubblewrap.
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
    let layers = check_view(&plan)?;
    init::report_ready(control, &layers)?;
    if !await_layers(control)? {
        std::process::exit(1);
    }
    // The copies in the layers are nothing that the run wrote.
    let contents = SizedFileSystems::of(&plan).contents();
    let contents = contents.ok_or_else(|| at(Step::Init)(Errno::NOENT))?;
    let limits = &mut plan.limits;
    limits.memory = limits.memory.saturating_add(contents.bytes);
    limits.disk = limits.disk.saturating_add(contents.bytes + OVERHEAD);
    limits.files = limits.files.saturating_add(contents.files);
    init::run_program(control, &plan, grouping)
}

/// Waits until the server has filled the layers; answers whether it has.
pub(super) fn await_layers(control: &OwnedFd) -> Result<bool, Failure> {
    let filled = wire::receive::<()>(control).map_err(Failure::at(Step::Init))?;
    Ok(filled.is_some())
}

/// Checks that the view which somebody else built is the one that was planned, and adds the pieces that only
/// can be made within; answers handles of its layers.
pub(super) fn check_view(plan: &Plan) -> Result<Vec<OwnedFd>, Failure> {
    let mut layers = Vec::new();
    for (number, piece) in plan.view.iter().enumerate() {
        let wrong = at(Step::View(number));
        match piece {
            Piece::Text { at, text } => {
                std::fs::write(at, text).map_err(Failure::at(Step::View(number)))?;
            }
            Piece::Bind { at, source, .. } => {
                check_bind(at, plan.sources.get(*source)).map_err(wrong)?;
            }
            Piece::Layer { at, .. } => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                layers.push(fs::open(&**at, flags, Mode::empty()).map_err(wrong)?);
            }
            Piece::File(at) => {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                let mode = Mode::from_raw_mode(0o444);
                layers.push(fs::open(&**at, flags, mode).map_err(wrong)?);
            }
            Piece::Folder(_) | Piece::Link { .. } | Piece::Scratch(_) | Piece::Processes(_) => {}
        }
    }
    Ok(layers)
}

/// Checks that a path shows the source that was meant, and no other that has its name by now.
fn check_bind(at: &str, source: Option<&Source>) -> rustix::io::Result<()> {
    let found = fs::stat(Path::new(at))?;
    match source {
        Some(source) if (source.id.device, source.id.inode) == (found.st_dev, found.st_ino) => {
            Ok(())
        }
        _ => Err(Errno::STALE),
    }
}
