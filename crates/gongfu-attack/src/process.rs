//! The entry of this program when it is started as a probe, as the careless server that starts the
//! probes, or as a process that a probe needs.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use gongfu_sandbox::syscall::declare_expendable;

use crate::argument::{ARGUMENT, BEFORE, DAEMON, FUZZ, SERVER, TRY, VICTIM};
use crate::bait::Bait;
use crate::{Arena, answer, decoys, fuzz, probe, server};

/// The life of a daemon that nobody ends.
const LIFE: Duration = Duration::from_mins(1);

/// Runs a probe, or a process around it, to its end if this program was started as that. The server
/// tries probes in `arena`.
///
/// Must be called before there is a second thread.
pub fn become_probe<A: Arena>(arena: impl FnOnce() -> io::Result<A>) -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != ARGUMENT {
        return None;
    }
    Some(match run(arguments, arena) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    })
}

/// Plays the role that the arguments name.
fn run<A: Arena>(
    mut arguments: impl Iterator<Item = OsString>,
    arena: impl FnOnce() -> io::Result<A>,
) -> io::Result<()> {
    let role = arguments.next().unwrap_or_default();
    match role.to_str() {
        Some(SERVER) => server::serve(arena),
        Some(VICTIM) => decoys::run_victim(arguments.next().as_deref()),
        Some(DAEMON) => {
            let _ = rustix::process::setsid();
            let written = writeln!(io::stdout());
            std::thread::sleep(LIFE);
            written
        }
        Some(FUZZ) => {
            declare_expendable();
            let arguments = arguments.filter_map(|argument| argument.into_string().ok());
            fuzz::run_inside(&arguments.collect::<Vec<_>>())
        }
        Some(role @ (TRY | BEFORE)) => {
            declare_expendable();
            let mut next = || arguments.next()?.into_string().ok();
            let (name, bait) = (next().unwrap_or_default(), next().unwrap_or_default());
            attempt(role, &name, &bait)
        }
        _ => Err(io::Error::other("there is no such probe")),
    }
}

/// Tries or prepares a probe, and prints how that ended.
fn attempt(role: &str, name: &str, bait: &str) -> io::Result<()> {
    let probe = probe::all().find(|probe| probe.name == name);
    let action = probe.and_then(|probe| match role {
        BEFORE => probe.before,
        _ => Some(probe.attempt),
    });
    let (Some(action), Some(bait)) = (action, Bait::decode(bait)) else {
        return Err(io::Error::other("there is no such probe"));
    };
    answer::print(action(&bait))
}
