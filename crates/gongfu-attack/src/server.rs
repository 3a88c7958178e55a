//! The careless server, which starts every probe, and the client that starts the server.
//!
//! The server has a secret in its environment and open files without close-on-exec, as a server with
//! faults has. It is a process of its own, so that gongfu itself has neither.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use gongfu_sandbox::Runner;
use gongfu_sandbox::backend::{HostView, Profile};
use rustix::io::fcntl_dupfd_cloexec;
use serde::{Deserialize, Serialize};

use crate::argument::{ARGUMENT, SERVER};
use crate::decoys::VARIABLE;
use crate::inside::{Program, try_in_sandbox};
use crate::outside::{BareBubblewrap, try_in_baseline, try_unconfined};
use crate::probe::{self, Probe};
use crate::{Arena, Baseline, Finding, Request, Row, Verdict, system};

/// A message of the server.
#[derive(Debug, Serialize, Deserialize)]
enum Message {
    Row(Row),
    Failure(String),
}

/// A running server and the connection to it.
struct ServerHandle(Child, UnixStream);

impl Drop for ServerHandle {
    fn drop(&mut self) {
        // The server removes its files when the connection closes.
        let _ = self.1.shutdown(std::net::Shutdown::Both);
        let _ = self.0.wait();
    }
}

/// Tries probes one after the other; `progress` gets each row.
///
/// # Errors
/// The server can't be started, nothing can be laid out, or there is no such probe.
pub fn run(request: &Request, mut progress: impl FnMut(&Row)) -> io::Result<Vec<Row>> {
    let (ours, theirs) = UnixStream::pair()?;
    let child = Command::new("/proc/self/exe")
        .args([ARGUMENT, SERVER])
        .env(VARIABLE, "secret")
        // An interrupt at the terminal must not keep it from removing its files.
        .process_group(0)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .spawn()?;
    let server = ServerHandle(child, ours);
    send(&server.1, request)?;
    let mut rows = Vec::new();
    for line in BufReader::new(&server.1).lines() {
        match serde_json::from_str(&line?)? {
            Message::Row(row) => {
                progress(&row);
                rows.push(row);
            }
            Message::Failure(why) => return Err(io::Error::other(why)),
        }
    }
    Ok(rows)
}

/// Sends a message, which is a line of JSON.
fn send(mut to: impl Write, message: &impl Serialize) -> io::Result<()> {
    let line = serde_json::to_string(message)?;
    writeln!(to, "{line}")
}

/// Runs as the server until all probes were tried.
pub(crate) fn serve<A: Arena>(arena: impl FnOnce() -> io::Result<A>) -> io::Result<()> {
    // A copy that closes on exec, so that no probe inherits the connection.
    let control = UnixStream::from(fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?);
    let nothing = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(nothing)?;
    let mut request = String::new();
    if BufReader::new(&control).read_line(&mut request)? == 0 {
        return Ok(());
    }
    let outcome = serde_json::from_str(&request)
        .map_err(io::Error::from)
        .and_then(|request| {
            try_all(&request, &arena()?, |row| {
                send(&control, &Message::Row(row))
            })
        });
    outcome.or_else(|error| send(&control, &Message::Failure(error.to_string())))
}

/// The places in which each probe is tried.
struct Places {
    sandboxes: Vec<(&'static Profile, Runner)>,
    baselines: Vec<Box<dyn Baseline>>,
    program: Program,
}

impl Places {
    fn new(request: &Request, arena: &impl Arena) -> io::Result<Self> {
        let all = arena.runner(None);
        let mut sandboxes: Vec<(&'static Profile, Runner)> = Vec::new();
        for name in &request.levels {
            let profile = all.profiles().find(|one| one.level.as_str() == name);
            let unknown = || io::Error::other(format!("there is no sandbox `{name}`"));
            let profile = profile.ok_or_else(unknown)?;
            sandboxes.push((profile, arena.runner(Some(profile.level))));
        }
        let mut on_host = sandboxes.iter().map(|(profile, _)| profile.host);
        let program = Program::new(on_host.any(|host| host == HostView::Open))?;
        let mut baselines = arena.baselines();
        baselines.push(Box::new(BareBubblewrap));
        baselines.retain(|one| request.baselines.iter().any(|name| name == one.name()));
        Ok(Self {
            sandboxes,
            baselines,
            program,
        })
    }

    fn try_probe(&self, probe: &Probe, is_machine_root: bool) -> io::Result<Row> {
        // Nothing runs beside the control: it may use up the limits of the user.
        let control = match probe.lacks(is_machine_root) {
            Some(lacks) => Finding::void(lacks),
            None => try_unconfined(probe)?,
        };
        let outside = if control.verdict == Verdict::Reached {
            control
        } else {
            Finding::void(control.why)
        };
        let everywhere = std::thread::scope(|scope| {
            let sandboxes: Vec<_> = self
                .sandboxes
                .iter()
                .map(|(profile, runner)| {
                    let run = || try_in_sandbox(probe, profile, &self.program, runner);
                    (profile.level.to_string(), scope.spawn(run))
                })
                .collect();
            let baselines = self.baselines.iter().filter_map(|one| {
                let finding = try_in_baseline(probe, &**one).transpose()?;
                Some(finding.map(|finding| (one.name().to_owned(), weigh(&outside, finding))))
            });
            let baselines = baselines.collect::<io::Result<BTreeMap<_, _>>>();
            let sandboxes = sandboxes.into_iter().map(|(level, thread)| {
                let panicked = |_| Err(io::Error::other("a probe couldn't be started"));
                let finding = thread.join().unwrap_or_else(panicked)?;
                Ok((level, weigh(&outside, finding)))
            });
            let sandboxes = sandboxes.collect::<io::Result<BTreeMap<_, _>>>()?;
            Ok::<_, io::Error>((sandboxes, baselines?))
        });
        let (inside, baselines) = everywhere?;
        let is_root = rustix::process::geteuid().is_root();
        let by_design = self.sandboxes.iter().filter_map(|(profile, _)| {
            let why = probe.weakness(profile, is_root)?;
            Some((profile.level.to_string(), why.to_owned()))
        });
        Ok(Row {
            name: probe.name.to_owned(),
            about: probe.about.to_owned(),
            baselines,
            outside,
            inside,
            by_design: by_design.collect(),
            depends_on: probe.depends_on.map(str::to_owned),
        })
    }
}

fn try_all(
    request: &Request,
    arena: &impl Arena,
    mut report: impl FnMut(Row) -> io::Result<()>,
) -> io::Result<()> {
    let mut probes: Vec<&Probe> = probe::all().collect();
    if !request.names.is_empty() {
        for name in &request.names {
            if !probes.iter().any(|probe| probe.name == name) {
                return Err(io::Error::other(format!("there is no probe `{name}`")));
            }
        }
        probes.retain(|probe| request.names.iter().any(|name| name == probe.name));
    }
    let is_machine_root = system::is_root();
    let places = Places::new(request, arena)?;
    for probe in probes {
        report(places.try_probe(probe, is_machine_root)?)?;
    }
    Ok(())
}

/// Weighs a finding against the control: a refusal means nothing if the probe fails outside as well.
fn weigh(outside: &Finding, finding: Finding) -> Finding {
    match (outside.verdict, finding.verdict) {
        (Verdict::Reached, _) | (_, Verdict::Reached) => finding,
        _ => Finding::void(format!("outside as well: {}", outside.why)),
    }
}
