//! What every run is given, however it is shut in: its command and its variables.
//!
//! Knows no kind of sandbox: each says for itself where its places are.

use std::path::Path;
use std::time::Duration;

use gongfu_core::sandbox::{Command, Limits, Spec};

use super::Failure;
use crate::plan::{Ceilings, Kind, Owner, Plan};
use crate::proxy;

/// Where programs are looked for in any case.
#[cfg(not(target_os = "macos"))]
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Where programs are looked for in any case: what a person installed comes before what came along.
#[cfg(target_os = "macos")]
const PATH: &str = "/opt/homebrew/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// In what programs speak, with every letter.
#[cfg(not(target_os = "macos"))]
const LANGUAGE: &str = "C.UTF-8";
/// In what programs speak, with every letter: the one that every macOS knows.
#[cfg(target_os = "macos")]
const LANGUAGE: &str = "en_US.UTF-8";

/// What the child is to do, but for what it is shown and where it may write, which is nothing.
pub(super) fn plan(
    kind: Kind,
    spec: &Spec,
    tenant: Option<Owner>,
    variables: Vec<(String, String)>,
    watching: u64,
) -> Plan {
    let limits = &spec.limits;
    Plan {
        kind,
        tenant,
        sources: Vec::new(),
        view: Vec::new(),
        proxied: !spec.reach.is_off(),
        disk: limits.disk,
        files: limits.files,
        arguments: arguments(&spec.command),
        environment: variables,
        folder: spec.folder.clone(),
        writable: Vec::new(),
        ceilings: ceilings(limits, watching),
        memory: limits.memory,
        // Whoever runs it ends it first, and can say why.
        wall: limits.wall + Duration::from_secs(1),
    }
}

/// Where the places are that every program asks for.
pub(super) struct Places<'a> {
    /// Where what belongs to the user lies.
    pub(super) home: &'a str,
    /// Where files lie that nobody needs later.
    pub(super) scratch: &'a str,
    /// Where programs lie that the system has under another name.
    pub(super) programs: &'a str,
}

/// The whole environment of a run.
pub(super) fn variables(
    spec: &Spec,
    places: &Places<'_>,
) -> Result<Vec<(String, String)>, Failure> {
    let mut variables = vec![
        ("PATH".to_owned(), path(spec, places)),
        ("HOME".to_owned(), places.home.to_owned()),
        ("LANG".to_owned(), LANGUAGE.to_owned()),
        ("TMPDIR".to_owned(), places.scratch.to_owned()),
    ];
    if !spec.reach.is_off() {
        let proxy = format!("http://{}", proxy::ADDRESS);
        // Both spellings are asked for; what goes without TLS is told there why it isn't carried.
        let names = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];
        variables.extend(names.map(|name| (name.to_owned(), proxy.clone())));
    }
    let declared = spec.environment.iter();
    if let Some((name, _)) = declared.clone().find(|(name, _)| is_refused(name)) {
        let why =
            format!("`{name}` can't be set: by it other code than the program's would be run");
        return Err(Failure::Refused(why));
    }
    variables.extend(declared.map(|(name, value)| (name.clone(), value.clone())));
    Ok(variables)
}

/// Where programs are looked for.
fn path(spec: &Spec, places: &Places<'_>) -> String {
    let first = spec.programs.iter().map(String::as_str);
    let all: Vec<&str> = first.chain([PATH, places.programs]).collect();
    all.join(":")
}

/// Whether a variable has a program run what it wasn't asked to, or can't be one.
fn is_refused(name: &str) -> bool {
    let runs = [
        "BASH_ENV",
        "ENV",
        "NODE_OPTIONS",
        "PERL5OPT",
        "PYTHONSTARTUP",
        "RUBYOPT",
    ];
    let is_none = name.is_empty() || name.contains(['=', '\0']);
    let loads = name.starts_with("LD_") || (cfg!(target_os = "macos") && name.starts_with("DYLD_"));
    is_none || loads || runs.contains(&name)
}

/// The program that a command is, and its arguments.
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

/// What one process may use, by what the run may, where so many processes watch over it.
fn ceilings(limits: &Limits, watching: u64) -> Ceilings {
    Ceilings {
        memory: limits.memory,
        processes: limits.processes.into(),
        watching,
        cpu: limits.cpu,
        file: limits.file,
        open_files: limits.open_files,
    }
}
