//! The macOS side. It was never run on macOS.

use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::net::{RecvFlags, SendFlags};

use crate::plan::UnixId;

/// The folders in which every run looks for programs; those that a person installed come first.
pub(crate) const PATH: &str =
    "/opt/homebrew/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// The language of programs, with every letter; every macOS has it.
pub(crate) const LANGUAGE: &str = "en_US.UTF-8";
/// The start of the names of variables by which the system's loader runs other code.
pub(crate) const LOADER_PREFIX: &str = "DYLD_";

/// Rust programs ignore the signal of a closed socket.
pub(crate) const SEND_FLAGS: SendFlags = SendFlags::empty();
/// See [`close_on_exec`].
pub(crate) const RECEIVE_FLAGS: RecvFlags = RecvFlags::empty();

/// The argument that makes this program the supervisor.
pub(crate) const SUPERVISOR: &str = "sandbox-child";
/// The pause before looking again whether a process has ended.
const POLL: Duration = Duration::from_millis(2);

/// Marks a received handle so that it isn't passed on to programs.
pub(crate) fn close_on_exec(handle: &OwnedFd) -> rustix::io::Result<()> {
    rustix::io::fcntl_setfd(handle, rustix::io::FdFlags::CLOEXEC)
}

/// Fills a buffer with random bytes.
pub(crate) fn fill_randomly(bytes: &mut [u8]) -> io::Result<()> {
    std::fs::File::open("/dev/urandom")?.read_exact(bytes)
}

/// Does nothing: processes have no handles.
pub(crate) fn kill(_process: &OwnedFd) {}

/// Makes everything in a folder removable: a script may have marked files as immutable, or denied it.
pub(crate) fn make_removable(folder: &Path) {
    let unlock: [(&str, &[&str]); 2] = [
        ("/usr/bin/chflags", &["-R", "-P", "nouchg,nouappnd"]),
        ("/bin/chmod", &["-R", "-P", "-N"]),
    ];
    for (program, arguments) in unlock {
        let mut command = Command::new(program);
        command.args(arguments).arg(folder).env_clear();
        let _ = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
    }
}

/// Makes no file: one without a name can't be opened again.
pub(crate) fn sealed_file(_bytes: &[u8]) -> io::Result<Option<OwnedFd>> {
    Ok(None)
}

/// Fails: threads have the user of their process.
pub(crate) fn become_file_owner(_owner: UnixId) -> io::Result<()> {
    Err(rustix::io::Errno::NOSYS.into())
}

/// This program.
pub(crate) fn this_program() -> io::Result<PathBuf> {
    std::env::current_exe()?.canonicalize()
}

/// Starts a supervisor with these ends: its standard input and its outputs.
pub(crate) fn start_child([input, out, error]: [OwnedFd; 3]) -> io::Result<Child> {
    let mut command = Command::new(this_program()?);
    command.arg(SUPERVISOR).env_clear();
    command.stdin(input).stdout(out).stderr(error).spawn()
}

/// Waits for the end of a child; returns whether it has ended.
pub(crate) fn ends_within(child: &mut Child, timeout: Duration) -> bool {
    let deadline = Instant::now() + timeout;
    loop {
        match child.try_wait() {
            Ok(None) if Instant::now() < deadline => std::thread::sleep(POLL),
            ended => break matches!(ended, Ok(Some(_))),
        }
    }
}
