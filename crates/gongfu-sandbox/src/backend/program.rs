//! The program of a run: its command and its environment, the same for every backend.

use std::path::Path;

use gongfu_core::sandbox::{Command, Dialogue, Limits, Spec};

use super::Failure;
use crate::file_time::Beginning;
use crate::plan::{Isolation, Launch, PROXY_ADDRESS, Plan, UnixId};
use crate::platform;

/// Variables by which programs run other code than their own.
const CODE_VARIABLES: [&str; 6] = [
    "BASH_ENV",
    "ENV",
    "NODE_OPTIONS",
    "PERL5OPT",
    "PYTHONSTARTUP",
    "RUBYOPT",
];

/// Makes a plan that shows nothing and reaches no host, and in which nothing can be written.
pub(crate) fn plan(
    launch: Option<Launch>,
    isolation: Isolation,
    job: &Spec,
    tenant: Option<UnixId>,
    environment: Vec<(String, String)>,
    other_processes: u64,
) -> Plan {
    Plan {
        launch,
        isolation,
        tenant,
        sources: Vec::new(),
        view: Vec::new(),
        has_copies: false,
        is_proxied: false,
        began: Beginning::now(),
        arguments: arguments(&job.command),
        environment,
        folder: job.folder.clone(),
        writable: Vec::new(),
        file_systems: Vec::new(),
        limits: Limits {
            // The server counts the time of a dialogue; the child only sees to it that it ends.
            wall: job
                .dialogue
                .as_ref()
                .map_or(job.limits.wall, |_| Dialogue::MAX_WALL),
            ..job.limits
        },
        other_processes,
    }
}

/// The folders that every program asks for.
pub struct Places<'a> {
    /// The user's own.
    pub home: &'a str,
    /// The one for temporary files.
    pub scratch: &'a str,
    /// The one with other names of the system's programs.
    pub programs: &'a str,
}

/// The whole environment of a run.
///
/// # Errors
/// A declared variable is refused.
pub(super) fn variables(job: &Spec, places: &Places<'_>) -> Result<Vec<(String, String)>, Failure> {
    let first = job.programs.iter().map(String::as_str);
    let path: Vec<&str> = first.chain([platform::PATH, places.programs]).collect();
    let mut variables = vec![
        ("PATH".to_owned(), path.join(":")),
        ("HOME".to_owned(), places.home.to_owned()),
        ("LANG".to_owned(), platform::LANGUAGE.to_owned()),
        ("TMPDIR".to_owned(), places.scratch.to_owned()),
    ];
    if !job.reach.is_off() {
        let proxy = format!("http://{PROXY_ADDRESS}");
        // Programs read one or the other spelling. The proxy explains why it refuses plain HTTP.
        let names = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];
        variables.extend(names.map(|name| (name.to_owned(), proxy.clone())));
    }
    for (name, value) in &job.environment {
        if is_refused(name) {
            let why = format!("`{name}` can't be set: it would make the program run other code");
            return Err(Failure::Refused(why));
        }
        variables.push((name.clone(), value.clone()));
    }
    Ok(variables)
}

/// The environment of a run with a view of its own. Shells show its folder by this name, where that is a link.
///
/// # Errors
/// A declared variable is refused.
pub fn view_variables(job: &Spec, places: &Places<'_>) -> Result<Vec<(String, String)>, Failure> {
    let mut variables = variables(job, places)?;
    variables.push(("PWD".to_owned(), job.folder.clone()));
    Ok(variables)
}

/// Returns whether a variable makes a program run other code, or has no valid name.
fn is_refused(name: &str) -> bool {
    name.is_empty()
        || name.contains(['=', '\0'])
        || name.starts_with("LD_")
        || name.starts_with(platform::LOADER_PREFIX)
        || CODE_VARIABLES.contains(&name)
}

/// The program of a command, and its arguments.
fn arguments(command: &Command) -> Vec<String> {
    match command {
        Command::Program(arguments) => arguments.clone(),
        Command::Line(line) => vec![shell().to_owned(), "-c".to_owned(), line.clone()],
    }
}

/// The shell that most scripts are written for, where there is one.
fn shell() -> &'static str {
    if Path::new("/bin/bash").exists() {
        "/bin/bash"
    } else {
        "/bin/sh"
    }
}
