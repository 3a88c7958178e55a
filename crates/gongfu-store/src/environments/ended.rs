//! How a step of a build ended.

use std::io;

use gongfu_core::dependency::{Failure, Kind, Language, is_digest, unfit};
use gongfu_core::port::PortError;
use gongfu_core::sandbox::{Change, Exit, Outcome, Reason};

/// The link to the interpreter, which leads out, and is made later.
const LINK: &str = "/env/bin/python";

/// How a step ended.
pub(super) fn judged(language: Language, outcome: Outcome, said: &str) -> Result<Outcome, Failure> {
    let why = match outcome.reason {
        Reason::Ok => None,
        Reason::Timeout => Some((
            Kind::TooSlow,
            "it took longer than it may; the index is slow, or much is wanted",
        )),
        Reason::Disk | Reason::Oom => {
            Some((Kind::TooLarge, "it is larger than an environment may be"))
        }
        Reason::Cancelled => Some((Kind::Other, "it was cancelled")),
        Reason::Pids | Reason::Output | Reason::Denied => {
            Some((Kind::Other, "an installer did what it may not"))
        }
    };
    if let Some((kind, why)) = why {
        return Err(Failure::new(kind, why));
    }
    match outcome.exit {
        Some(Exit::Code(0)) => {}
        Some(Exit::Code(127)) => {
            let program = match language {
                Language::Python => "`uv` or the interpreter of Python",
                Language::Node => "`node` or `npm`",
            };
            return Err(Failure::new(
                Kind::ToolMissing,
                format!("{program} isn't installed where the sandbox sees it"),
            ));
        }
        _ => return Err(Failure::of(language, said)),
    }
    // A link to the interpreter leads out, and is made later.
    let is_lost = |change: &Change| matches!(change, Change::Refused(_));
    let lost = outcome
        .artifacts
        .iter()
        .find(|one| is_lost(&one.change) && one.path != LINK);
    if let Some(lost) = lost {
        let Change::Refused(why) = &lost.change else {
            return Ok(outcome);
        };
        return Err(Failure::new(
            Kind::TooLarge,
            format!("{} can't be kept: {why}", lost.path),
        ));
    }
    Ok(outcome)
}

/// Whether a project's lock names nothing but packages of an index.
pub(super) fn fits(locked: &str) -> Result<(), Failure> {
    let lines = locked.split(['\n', '\r']).map(str::trim);
    let lines = lines.map(|line| line.strip_suffix('\\').unwrap_or(line).trim_end());
    for line in lines.filter(|line| !line.is_empty()) {
        let is_digest = line.strip_prefix("--").is_some_and(is_digest);
        if let Some(why) = unfit(line).filter(|_| !is_digest) {
            return Err(Failure::new(Kind::Unfit, format!("the lock: {why}")));
        }
    }
    Ok(())
}

/// A part of gongfu that failed, as the reason why an environment can't be made.
pub(super) fn of_port(error: &PortError) -> Failure {
    Failure::new(Kind::Sandbox, error.to_string())
}

/// The same of files.
pub(super) fn of_io(error: &io::Error) -> Failure {
    Failure::new(
        Kind::Other,
        format!("the environments in the home can't be written: {error}"),
    )
}
