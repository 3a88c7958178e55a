//! What this program is when it was begun as a probe: one that tries something, the careless server
//! that begins it, or what is laid out for it.

use std::env::ArgsOs;
use std::io::{self, Write as _};
use std::iter::Skip;
use std::process::ExitCode;
use std::time::Duration;

use super::bait::{self, Bait};
use super::tool::hexadecimal;
use super::{fuzz, list, server};

/// Begins the server.
pub(super) const SERVER: &str = "server";
/// Begins what is attacked.
pub(super) const VICTIM: &str = "victim";
/// Begins what would live longer than who began it.
pub(super) const DAEMON: &str = "daemon";
/// Makes calls at random.
pub(super) const FUZZ: &str = "fuzz";
/// Tries a probe.
pub(super) const TRY: &str = "try";
/// Does what comes before a probe.
pub(super) const BEFORE: &str = "before";

/// What a probe says that got what it wanted.
const REACHED: &str = "reached";
/// What it says before why it didn't.
const REFUSED: &str = "refused: ";
/// How long a daemon lives, should nobody end it.
const LIFE: Duration = Duration::from_mins(1);

/// Is what the arguments say.
pub(crate) fn run(mut arguments: Skip<ArgsOs>) -> ExitCode {
    let kind = arguments.next().unwrap_or_default();
    let done = match kind.to_str() {
        Some(SERVER) => server::serve(),
        Some(VICTIM) => bait::be_victim(arguments.next().as_deref()),
        Some(DAEMON) => {
            let _ = rustix::process::setsid();
            let said = writeln!(io::stdout());
            std::thread::sleep(LIFE);
            said
        }
        Some(FUZZ) => {
            let arguments = arguments.filter_map(|argument| argument.into_string().ok());
            fuzz::inside(&arguments.collect::<Vec<_>>())
        }
        Some(kind @ (TRY | BEFORE)) => {
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
pub(super) fn arguments(kind: &str, name: &str, bait: &Bait) -> io::Result<Vec<String>> {
    Ok(vec![
        super::ARGUMENT.to_owned(),
        kind.to_owned(),
        name.to_owned(),
        told(bait)?,
    ])
}

/// The bait as an argument: not as it is, because who looks for a secret must not find it in what it
/// was told itself.
pub(super) fn told(bait: &Bait) -> io::Result<String> {
    let bytes = postcard::to_stdvec(bait).map_err(io::Error::other)?;
    Ok(hexadecimal(&bytes))
}

/// The bait that was told by an argument.
pub(super) fn read(text: &str) -> Option<Bait> {
    let digits = text.as_bytes().chunks(2);
    let bytes = digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    postcard::from_bytes(&bytes.collect::<Option<Vec<u8>>>()?).ok()
}

/// What a probe said: `None` when it didn't come to it, else whether it reached what it wanted and
/// why not.
pub(super) fn said(output: &[u8]) -> Option<Result<(), String>> {
    let output = String::from_utf8_lossy(output);
    output.lines().find_map(|line| {
        if line == REACHED {
            return Some(Ok(()));
        }
        let why = line.strip_prefix(REFUSED)?;
        Some(Err(why.to_owned()))
    })
}
