//! What this program is when it was begun as a probe: one that tries something, the careless server
//! that begins it, or what is laid out for it.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use gongfu_sandbox::syscall::declare_expendable;

use crate::bait::{self, Bait};
use crate::tool::hexadecimal;
use crate::{Arena, fuzz, list, server};

/// Begins the server.
pub(crate) const SERVER: &str = "server";
/// Begins what is attacked.
pub(crate) const VICTIM: &str = "victim";
/// Begins what would live longer than who began it.
pub(crate) const DAEMON: &str = "daemon";
/// Makes calls at random.
pub(crate) const FUZZ: &str = "fuzz";
/// Tries a probe.
pub(crate) const TRY: &str = "try";
/// Does what comes before a probe.
pub(crate) const BEFORE: &str = "before";

/// What a probe says that got what it wanted.
const REACHED: &str = "reached";
/// What it says before why it didn't.
const REFUSED: &str = "refused: ";
/// How long a daemon lives, should nobody end it.
const LIFE: Duration = Duration::from_mins(1);

/// Is a probe to its end, or what belongs to one, if this program was begun as that. `arena` is what
/// probes are tried in, for the process that begins them.
///
/// Must be called before there is a second thread.
pub fn become_probe<A: Arena>(arena: impl FnOnce() -> io::Result<A>) -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    (arguments.next()? == crate::ARGUMENT).then(|| run(arguments, arena))
}

/// Is what the arguments say.
fn run<A: Arena>(
    mut arguments: impl Iterator<Item = OsString>,
    arena: impl FnOnce() -> io::Result<A>,
) -> ExitCode {
    let kind = arguments.next().unwrap_or_default();
    let done = match kind.to_str() {
        Some(SERVER) => server::serve(arena),
        Some(VICTIM) => bait::be_victim(arguments.next().as_deref()),
        Some(DAEMON) => {
            let _ = rustix::process::setsid();
            let said = writeln!(io::stdout());
            std::thread::sleep(LIFE);
            said
        }
        Some(FUZZ) => {
            declare_expendable();
            let arguments = arguments.filter_map(|argument| argument.into_string().ok());
            fuzz::inside(&arguments.collect::<Vec<_>>())
        }
        Some(kind @ (TRY | BEFORE)) => {
            declare_expendable();
            let mut next = || arguments.next()?.into_string().ok();
            tell(
                kind,
                &next().unwrap_or_default(),
                &next().unwrap_or_default(),
            )
        }
        _ => Err(io::Error::other("there is no such probe")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Tries a probe, and says what came of it.
fn tell(kind: &str, name: &str, bait: &str) -> io::Result<()> {
    let probe = list::all().find(|probe| probe.name == name);
    let attempt = probe.and_then(|probe| match kind {
        BEFORE => probe.before,
        _ => Some(probe.attempt),
    });
    let (Some(attempt), Some(bait)) = (attempt, read(bait)) else {
        return Err(io::Error::other("there is no such probe"));
    };
    let text = match attempt(&bait) {
        Ok(()) => REACHED.to_owned(),
        Err(error) => format!("{REFUSED}{error}"),
    };
    let mut out = io::stdout();
    // On a line of its own, whatever stands before it.
    writeln!(out, "\n{text}")?;
    out.flush()
}

/// The arguments that begin a probe.
pub(crate) fn arguments(kind: &str, name: &str, bait: &Bait) -> io::Result<Vec<String>> {
    Ok(vec![
        crate::ARGUMENT.to_owned(),
        kind.to_owned(),
        name.to_owned(),
        told(bait)?,
    ])
}

/// The bait as an argument: not as it is, because who looks for a secret must not find it in what it
/// was told itself.
pub(crate) fn told(bait: &Bait) -> io::Result<String> {
    let bytes = serde_json::to_vec(bait)?;
    Ok(hexadecimal(&bytes))
}

/// The bait that was told by an argument.
pub(crate) fn read(text: &str) -> Option<Bait> {
    let digits = text.as_bytes().chunks(2);
    let bytes = digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    serde_json::from_slice(&bytes.collect::<Option<Vec<u8>>>()?).ok()
}

/// What a probe said: `None` when it didn't come to it, else whether it reached what it wanted and
/// why not.
pub(crate) fn said(output: &[u8]) -> Option<Result<(), String>> {
    let output = String::from_utf8_lossy(output);
    output.lines().find_map(|line| {
        if line == REACHED {
            return Some(Ok(()));
        }
        let why = line.strip_prefix(REFUSED)?;
        Some(Err(why.to_owned()))
    })
}
