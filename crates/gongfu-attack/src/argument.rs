//! The command line that makes this program a probe, or one of the processes around a probe.

use std::io;

use crate::bait::Bait;

/// The first argument, which tells these processes apart from ordinary starts of the program.
pub(crate) const ARGUMENT: &str = "sandbox-probe";
/// The second argument of the server.
pub(crate) const SERVER: &str = "server";
/// The second argument of the process that is attacked.
pub(crate) const VICTIM: &str = "victim";
/// The second argument of a process that tries to outlive its run.
pub(crate) const DAEMON: &str = "daemon";
/// The second argument of a process that makes random calls.
pub(crate) const FUZZ: &str = "fuzz";
/// The second argument of a process that tries a probe.
pub(crate) const TRY: &str = "try";
/// The second argument of a process that prepares a probe.
pub(crate) const BEFORE: &str = "before";

/// The arguments of a process that tries or prepares a probe.
pub(crate) fn arguments(role: &str, name: &str, bait: &Bait) -> io::Result<Vec<String>> {
    Ok(vec![
        ARGUMENT.to_owned(),
        role.to_owned(),
        name.to_owned(),
        bait.encode()?,
    ])
}
