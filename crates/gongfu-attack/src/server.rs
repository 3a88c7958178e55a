//! The careless server, which begins every probe, and whoever begins it and hears of each.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io::{self, BufRead as _, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use gongfu_core::account::Owner;
use gongfu_core::sandbox::{self, Exit, Input, Limits, Mode, Mount, Reach, Reason, Spec};
use gongfu_sandbox::Runner;
use gongfu_sandbox::backend::{HostView, Profile};
use rustix::io::fcntl_dupfd_cloexec;
use serde::{Deserialize, Serialize};

use crate::bait::{self, Bait, Decoys, VARIABLE};
use crate::list::{self, Probe};
use crate::outside::BareBubblewrap;
use crate::{ARGUMENT, Arena, Finding, Request, Row, Verdict, outside, process, tool};

/// Where the program is shown.
const PROGRAM: &str = "/probe";
/// Where a folder is shown to be read.
const SHOWN: &str = "/shown";
/// How long a probe may take.
const TIMEOUT: Duration = Duration::from_secs(20);

/// What the server tells.
#[derive(Debug, Serialize, Deserialize)]
enum Message {
    Row(Row),
    Broken(String),
}

/// The server, which is ended when nobody listens to it.
struct ServerHandle(Child, UnixStream);

impl Drop for ServerHandle {
    fn drop(&mut self) {
        // It takes away what it laid out when it finds that nobody listens.
        let _ = self.1.shutdown(std::net::Shutdown::Both);
        let _ = self.0.wait();
    }
}

/// Tries probes one after the other; `progress` hears of each.
///
/// # Errors
/// The server can't be begun, nothing can be laid out, or there is no such probe.
pub fn run(request: &Request, mut progress: impl FnMut(&Row)) -> io::Result<Vec<Row>> {
    let (ours, theirs) = UnixStream::pair()?;
    let child = Command::new("/proc/self/exe")
        .args([ARGUMENT, process::SERVER])
        .env(VARIABLE, "secret")
        // Whoever interrupts a terminal doesn't keep it from tidying up.
        .process_group(0)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .spawn()?;
    let kept = ServerHandle(child, ours);
    send(&kept.1, request)?;
    let mut rows = Vec::new();
    for line in BufReader::new(&kept.1).lines() {
        match serde_json::from_str(&line?)? {
            Message::Row(row) => {
                progress(&row);
                rows.push(row);
            }
            Message::Broken(why) => return Err(io::Error::other(why)),
        }
    }
    Ok(rows)
}

/// Sends a message, which is a line of JSON.
fn send(mut to: impl Write, message: &impl Serialize) -> io::Result<()> {
    let line = serde_json::to_string(message)?;
    writeln!(to, "{line}")
}

/// Is the server to its end.
pub(crate) fn serve<A: Arena>(arena: impl FnOnce() -> io::Result<A>) -> io::Result<()> {
    // Of its own, so that nobody whom it begins has it.
    let control = UnixStream::from(fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?);
    let nothing = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(nothing)?;
    let mut request = String::new();
    if BufReader::new(&control).read_line(&mut request)? == 0 {
        return Ok(());
    }
    let told = serde_json::from_str(&request)
        .map_err(io::Error::from)
        .and_then(|request| {
            all(&request, &arena()?, |row| {
                send(&control, &Message::Row(row))
            })
        });
    told.or_else(|error| send(&control, &Message::Broken(error.to_string())))
}

fn all(
    request: &Request,
    arena: &impl Arena,
    mut tell: impl FnMut(Row) -> io::Result<()>,
) -> io::Result<()> {
    let mut probes: Vec<&Probe> = list::all().collect();
    if !request.names.is_empty() {
        for name in &request.names {
            if !probes.iter().any(|probe| probe.name == name) {
                return Err(io::Error::other(format!("there is no probe `{name}`")));
            }
        }
        probes.retain(|probe| request.names.iter().any(|name| name == probe.name));
    }
    let root = tool::is_root();
    let all = arena.runner(None);
    let mut runners: Vec<(&'static Profile, Runner)> = Vec::new();
    for name in &request.levels {
        let profile = all.profiles().find(|one| one.level.as_str() == name);
        let unknown = || io::Error::other(format!("there is no sandbox `{name}`"));
        let profile = profile.ok_or_else(unknown)?;
        runners.push((profile, arena.runner(Some(profile.level))));
    }
    let program = Program::new(
        runners
            .iter()
            .any(|(profile, _)| profile.host == HostView::Open),
    )?;
    let mut baselines = arena.baselines();
    baselines.push(Box::new(BareBubblewrap));
    baselines.retain(|one| request.baselines.iter().any(|name| name == one.name()));
    for probe in probes {
        // Alone: what it does to the limits of a user, others of that user would feel.
        let control = match probe.lacks(root) {
            Some(lacks) => void(lacks),
            None => outside::plainly(probe)?,
        };
        let outside = if control.verdict == Verdict::Reached {
            control
        } else {
            void(control.why)
        };
        let everywhere = std::thread::scope(|scope| {
            let levels: Vec<_> = runners
                .iter()
                .map(|(profile, runner)| {
                    let program = &program;
                    let seen = scope.spawn(move || within(probe, profile, program, runner));
                    (profile.level.to_string(), seen)
                })
                .collect();
            let baselines = baselines.iter().filter_map(|one| {
                let seen = outside::in_baseline(probe, &**one).transpose()?;
                Some(seen.map(|seen| (one.name().to_owned(), weighed(&outside, seen))))
            });
            let baselines = baselines.collect::<io::Result<BTreeMap<_, _>>>();
            let levels = levels.into_iter().map(|(level, seen)| {
                let broken = |_| Err(io::Error::other("a probe couldn't be begun"));
                Ok((
                    level,
                    weighed(&outside, seen.join().unwrap_or_else(broken)?),
                ))
            });
            let levels = levels.collect::<io::Result<BTreeMap<_, _>>>()?;
            Ok::<_, io::Error>((levels, baselines?))
        });
        let (inside, baselines) = everywhere?;
        let is_root = rustix::process::geteuid().is_root();
        let by_design = runners.iter().filter_map(|(profile, _)| {
            let why = probe.weakness(profile, is_root)?;
            Some((profile.level.to_string(), why.to_owned()))
        });
        tell(Row {
            name: probe.name.to_owned(),
            about: probe.about.to_owned(),
            baselines,
            outside,
            inside,
            by_design: by_design.collect(),
            depends_on: probe.depends_on.map(str::to_owned),
        })?;
    }
    Ok(())
}

fn void(why: String) -> Finding {
    Finding {
        verdict: Verdict::Void,
        why,
    }
}

/// What fails outside as well proves nothing where it fails.
fn weighed(outside: &Finding, seen: Finding) -> Finding {
    match (outside.verdict, seen.verdict) {
        (Verdict::Reached, _) | (_, Verdict::Reached) => seen,
        _ => void(format!("outside as well: {}", outside.why)),
    }
}

/// Tries a probe in a sandbox.
fn within(
    probe: &Probe,
    profile: &Profile,
    program: &Program,
    runner: &Runner,
) -> io::Result<Finding> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let decoys = Decoys::new()?;
    let bait = seen_from(profile, program, &decoys);
    let run = |kind: &str| {
        let arguments = process::arguments(kind, probe.name, &bait)?;
        let spec = spec(profile, program, &decoys, arguments)?;
        let running = runner.run(&Owner::Local, spec, Arc::new(|_, _| {}));
        Ok::<_, io::Error>(runtime.block_on(running))
    };
    if probe.before.is_some() {
        let _ = run(process::BEFORE)?;
    }
    let outcome = match run(process::TRY)? {
        Ok(outcome) => outcome,
        Err(error) => return Ok(void(error.to_string())),
    };
    let signal = match outcome.exit {
        Some(Exit::Signal(signal)) => Some(signal),
        Some(Exit::Code(_)) | None => None,
    };
    let output = [outcome.stdout.head, outcome.stderr.head].concat();
    let seen = outside::judged(probe, &decoys, signal, &output);
    // One that is ended for what it takes has nothing more to say.
    let is_held = matches!(
        outcome.reason,
        Reason::Oom | Reason::Pids | Reason::Output | Reason::Disk
    );
    if seen.verdict != Verdict::Void || !is_held {
        return Ok(seen);
    }
    Ok(Finding {
        verdict: Verdict::Refused,
        why: format!("it was ended: {}", outcome.reason.as_str()),
    })
}

/// The bait as it is seen from within a kind of sandbox.
pub(crate) fn seen_from(profile: &Profile, program: &Program, decoys: &Decoys) -> Bait {
    let shown = if profile.host == HostView::Open {
        decoys.shown()
    } else {
        SHOWN.into()
    };
    Bait {
        shown,
        program: program.path.clone(),
        shares_mounts: profile.host == HostView::Open,
        ..decoys.bait.clone()
    }
}

/// What runs a probe with these arguments in a kind of sandbox.
pub(crate) fn spec(
    profile: &Profile,
    program: &Program,
    decoys: &Decoys,
    arguments: Vec<String>,
) -> io::Result<Spec> {
    let mount = |source, target: &str, mode, keep| Mount {
        sources: vec![source],
        target: target.to_owned(),
        mode,
        keep,
    };
    let at = if profile.host == HostView::Open {
        let path = program.path.to_str().ok_or(io::ErrorKind::InvalidInput)?;
        path.to_owned()
    } else {
        PROGRAM.to_owned()
    };
    let workspace = decoys.workspace();
    Ok(Spec {
        command: sandbox::Command::Program([vec![at], arguments].concat()),
        folder: "/workspace".to_owned(),
        mounts: vec![
            mount(program.path.clone(), PROGRAM, Mode::ReadOnly, None),
            mount(decoys.shown(), SHOWN, Mode::ReadOnly, None),
            mount(
                workspace.clone(),
                "/workspace",
                Mode::Layered,
                Some(workspace),
            ),
        ],
        programs: Vec::new(),
        environment: BTreeMap::new(),
        input: Input::Nothing,
        reach: Reach::default(),
        limits: Limits {
            wall: TIMEOUT,
            ..Limits::default()
        },
        logs: None,
    })
}

/// This program, where whoever runs it can reach it.
pub(crate) struct Program {
    path: PathBuf,
    /// What is taken away again.
    folder: Option<PathBuf>,
}

impl Program {
    /// The program itself; a copy where another user begins it by its path on the host.
    pub(crate) fn new(is_begun_on_host: bool) -> io::Result<Self> {
        let path = std::env::current_exe()?;
        let is_root = rustix::process::geteuid().is_root();
        if !is_root || !is_begun_on_host {
            return Ok(Self { path, folder: None });
        }
        let folder = bait::folder(&bait::token()?)?;
        let copy = Self {
            path: folder.join("probe"),
            folder: Some(folder.clone()),
        };
        std::fs::set_permissions(folder, Permissions::from_mode(0o755))?;
        std::fs::copy(path, &copy.path)?;
        Ok(copy)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}
