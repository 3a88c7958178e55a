//! The sandbox that bubblewrap makes: who begins it, and the first process in it.
//!
//! This very program is begun once more inside, by a handle and not by a name: nothing of it lies where
//! the run could find it. What to do comes over a socket, as to every child.

use std::fs::File;
use std::io::{Seek as _, Write as _};
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

use super::{Failure, at, init, outer};
use crate::plan::{Grouped, Kind, Piece, Plan, Source, Step, Told};
use crate::wire;

/// The argument by which a program is told to be the first process inside.
pub(super) const ARGUMENT: &str = "sandbox-inside";

/// What the system may need besides what is written; a file system of a fixed size has it as well.
const ROOM: u64 = 1024 * 1024;

/// Has bubblewrap make the sandbox, and waits until every process in it is dead.
pub(super) fn outside(
    control: &OwnedFd,
    plan: &Plan,
    grouped: Option<Grouped>,
    input: &[OwnedFd],
) -> Result<(), Failure> {
    let Kind::Bubblewrap { program, options } = &plan.kind else {
        return Ok(());
    };
    let wrong = at(Step::Bubblewrap);
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let itself = fs::open(c"/proc/self/exe", flags, Mode::empty()).map_err(&wrong)?;
    if let Some(tenant) = plan.tenant {
        for handle in input {
            outer::hand_over(handle.as_fd(), tenant)?;
        }
        outer::become_tenant(tenant)?;
    }
    // Who is left without a parent comes to this one, which waits for all.
    set_child_subreaper(Some(getpid())).map_err(&wrong)?;
    let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
    let (mine, theirs) = socketpair(family, kind, SocketFlags::CLOEXEC, None).map_err(&wrong)?;
    let told = told(options).map_err(Failure::at(Step::Bubblewrap))?;
    for handle in [itself.as_fd(), told.as_fd()] {
        fcntl_setfd(handle, FdFlags::empty()).map_err(&wrong)?;
    }
    let begun = Command::new(program)
        .arg("--args")
        .arg(told.as_raw_fd().to_string())
        .arg("--")
        .arg(format!("/proc/self/fd/{}", itself.as_raw_fd()))
        .arg(ARGUMENT)
        .env_clear()
        .stdin(Stdio::from(theirs))
        .spawn()
        .map_err(Failure::at(Step::Bubblewrap))?;
    let mut handles = vec![control.as_fd()];
    handles.extend(input.iter().map(AsFd::as_fd));
    // If it can't be told, it has ended, and has said why.
    let _ = wire::send(&mine, &(plan, grouped), &handles);
    let begun = i32::try_from(begun.id()).ok().and_then(Pid::from_raw);
    if let Some(handle) = begun.and_then(|begun| pidfd_open(begun, PidfdFlags::empty()).ok()) {
        let mut watched = [
            PollFd::new(control, PollFlags::empty()),
            PollFd::new(&handle, PollFlags::IN),
        ];
        while poll(&mut watched, None).is_err() {}
        // With it the first process inside dies, and with that all others.
        let _ = pidfd_send_signal(&handle, Signal::KILL);
    }
    while !matches!(wait(WaitOptions::empty()), Err(Errno::CHILD)) {}
    Ok(())
}

/// A file without a name that says what bubblewrap is to do.
fn told(options: &[Vec<u8>]) -> std::io::Result<File> {
    let mut file = File::from(fs::memfd_create(c"options", MemfdFlags::CLOEXEC)?);
    for option in options {
        file.write_all(option)?;
        file.write_all(&[0])?;
    }
    file.rewind()?;
    Ok(file)
}

/// Is the first process inside.
pub(super) fn inside() -> ExitCode {
    let Ok(socket) = fcntl_dupfd_cloexec(stdin(), 3) else {
        return ExitCode::from(2);
    };
    let received = wire::receive::<(Plan, Option<Grouped>)>(&socket);
    let Ok(Some(((plan, grouped), handles))) = received else {
        return ExitCode::from(2);
    };
    let mut handles = handles.into_iter();
    let Some(control) = handles.next() else {
        return ExitCode::from(2);
    };
    let input = handles.next();
    match run::<ExitCode>(&control, plan, grouped, input.as_ref().map(AsFd::as_fd)) {
        Ok(ended) => ended,
        Err(Failure { step, number }) => {
            let _ = wire::send(&control, &Told::Failed(step, number), &[]);
            ExitCode::FAILURE
        }
    }
}

fn run<T>(
    control: &OwnedFd,
    mut plan: Plan,
    grouped: Option<Grouped>,
    input: Option<BorrowedFd<'_>>,
) -> Result<T, Failure> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(at(Step::Init))?;
    // Its files and its memory are nobody's from now on.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(at(Step::Init))?;
    outer::take_input(input).map_err(at(Step::Init))?;
    let layers = looked_over(&plan)?;
    init::stands(control, layers)?;
    if !are_filled(control)? {
        std::process::exit(1);
    }
    // What was there before it is nothing that the run wrote.
    let space = fs::statvfs(c"/tmp").map_err(at(Step::Init))?;
    let blocks = space.f_blocks.saturating_sub(space.f_bfree);
    let bytes = blocks.saturating_mul(space.f_frsize);
    plan.memory = plan.memory.saturating_add(bytes);
    plan.disk = plan.disk.saturating_add(bytes).saturating_add(ROOM);
    let files = space.f_files.saturating_sub(space.f_ffree);
    plan.files = plan.files.saturating_add(files);
    init::program(control, &plan, grouped, None)
}

/// Waits until whoever has the layers has filled them; answers whether somebody has.
pub(super) fn are_filled(control: &OwnedFd) -> Result<bool, Failure> {
    let filled = wire::receive::<()>(control).map_err(Failure::at(Step::Init))?;
    Ok(filled.is_some())
}

/// Looks whether what somebody else made is what was meant, and makes what only can be made within; answers
/// handles of its layers.
pub(super) fn looked_over(plan: &Plan) -> Result<Vec<OwnedFd>, Failure> {
    let mut layers = Vec::new();
    for (number, piece) in plan.view.iter().enumerate() {
        let wrong = at(Step::View(number));
        match piece {
            Piece::Text { at, text } => {
                std::fs::write(at, text).map_err(Failure::at(Step::View(number)))?;
            }
            Piece::Bind { at, source, .. } => {
                is_what_was_meant(at, plan.sources.get(*source)).map_err(wrong)?;
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

/// Whether what is seen there is the source that was meant, and no other that has its name by now.
fn is_what_was_meant(at: &str, source: Option<&Source>) -> rustix::io::Result<()> {
    let found = fs::stat(Path::new(at))?;
    match source {
        Some(source) if (source.id.device, source.id.inode) == (found.st_dev, found.st_ino) => {
            Ok(())
        }
        _ => Err(Errno::STALE),
    }
}
