//! The careless server, which begins every probe, and whoever begins it and hears of each.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use gongfu_core::account::Owner;
use gongfu_core::port::Sandbox as _;
use gongfu_core::sandbox::{self, Exit, Input, Level, Limits, Mode, Mount, Reach, Reason, Spec};
use rustix::io::fcntl_dupfd_cloexec;
use serde::{Deserialize, Serialize};

use super::bait::{self, Bait, Laid, VARIABLE};
use super::list::{self, Probe};
use super::{ARGUMENT, Request, Row, Seen, Verdict, outside, process, tool};
use crate::{Runner, wire};

/// Where the program is shown.
const PROGRAM: &str = "/probe";
/// Where a folder is shown to be read.
const SHOWN: &str = "/shown";
/// How long a probe may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the server tells.
#[derive(Debug, Serialize, Deserialize)]
enum Told {
    Row(Row),
    Broken(String),
}

/// The server, which is ended when nobody listens to it.
struct Kept(Child, UnixStream);

impl Drop for Kept {
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
    let kept = Kept(child, ours);
    wire::send(&kept.1, request, &[])?;
    let mut rows = Vec::new();
    while let Some((told, _)) = wire::receive(&kept.1)? {
        match told {
            Told::Row(row) => {
                progress(&row);
                rows.push(row);
            }
            Told::Broken(why) => return Err(io::Error::other(why)),
        }
    }
    Ok(rows)
}

/// Is the server to its end.
pub(super) fn serve() -> io::Result<()> {
    // Of its own, so that nobody whom it begins has it.
    let control = fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let nothing = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(nothing)?;
    let Some((request, _)) = wire::receive::<Request>(&control)? else {
        return Ok(());
    };
    let told = all(&request, |row| wire::send(&control, &Told::Row(row), &[]));
    told.or_else(|error| wire::send(&control, &Told::Broken(error.to_string()), &[]))
}

fn all(request: &Request, mut tell: impl FnMut(Row) -> io::Result<()>) -> io::Result<()> {
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
    let program = Program::new(&request.levels)?;
    let runners: Vec<(Level, Runner)> = request
        .levels
        .iter()
        .map(|level| {
            let runner = Runner::new(Some(*level));
            (*level, runner.with_docker(request.docker.clone()))
        })
        .collect();
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
                .map(|(level, runner)| {
                    let program = &program;
                    let seen = scope.spawn(move || within(probe, *level, program, runner));
                    (*level, seen)
                })
                .collect();
            let contained = request
                .docker_alone
                .then(|| outside::in_docker(probe, &request.docker));
            let alone = request.bwrap_alone.then(|| outside::in_bwrap(probe));
            let levels = levels.into_iter().map(|(level, seen)| {
                let broken = |_| Err(io::Error::other("a probe couldn't be begun"));
                Ok((
                    level,
                    weighed(&outside, seen.join().unwrap_or_else(broken)?),
                ))
            });
            let levels = levels.collect::<io::Result<BTreeMap<_, _>>>()?;
            let alone = alone.flatten().transpose()?;
            Ok::<_, io::Error>((levels, alone, contained.transpose()?))
        });
        let (inside, bwrap_alone, docker_alone) = everywhere?;
        let of_users = if rustix::process::geteuid().is_root() {
            &[]
        } else {
            probe.by_design_of_users
        };
        let by_design = probe.by_design.iter().chain(of_users);
        tell(Row {
            name: probe.name.to_owned(),
            about: probe.about.to_owned(),
            bwrap_alone: bwrap_alone.map(|seen| weighed(&outside, seen)),
            docker_alone: docker_alone.map(|seen| weighed(&outside, seen)),
            outside,
            inside,
            by_design: by_design
                .map(|(level, why)| (*level, (*why).to_owned()))
                .collect(),
            depends_on: probe.depends_on.map(str::to_owned),
        })?;
    }
    Ok(())
}

fn void(why: String) -> Seen {
    Seen {
        verdict: Verdict::Void,
        why,
    }
}

/// What fails outside as well proves nothing where it fails.
fn weighed(outside: &Seen, seen: Seen) -> Seen {
    match (outside.verdict, seen.verdict) {
        (Verdict::Reached, _) | (_, Verdict::Reached) => seen,
        _ => void(format!("outside as well: {}", outside.why)),
    }
}

/// Tries a probe in a sandbox.
fn within(probe: &Probe, level: Level, program: &Program, runner: &Runner) -> io::Result<Seen> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let laid = Laid::new()?;
    let bait = seen_from(level, program, &laid);
    let run = |kind: &str| {
        let arguments = process::arguments(kind, probe.name, &bait)?;
        let spec = spec(level, program, &laid, arguments)?;
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
    let seen = outside::judged(probe, &laid, signal, &output);
    // One that is ended for what it takes has nothing more to say.
    let is_held = matches!(
        outcome.reason,
        Reason::Oom | Reason::Pids | Reason::Output | Reason::Disk
    );
    if seen.verdict != Verdict::Void || !is_held {
        return Ok(seen);
    }
    Ok(Seen {
        verdict: Verdict::Refused,
        why: format!("it was ended: {}", outcome.reason.as_str()),
    })
}

/// The bait as it is seen from within a level.
pub(super) fn seen_from(level: Level, program: &Program, laid: &Laid) -> Bait {
    // Without namespaces nothing is anywhere else than it is.
    let is_lite = level == Level::Lite;
    Bait {
        shown: if is_lite { laid.shown() } else { SHOWN.into() },
        program: program.path.clone(),
        shares_mounts: is_lite,
        ..laid.bait.clone()
    }
}

/// What runs a probe with these arguments in a level.
pub(super) fn spec(
    level: Level,
    program: &Program,
    laid: &Laid,
    arguments: Vec<String>,
) -> io::Result<Spec> {
    let mount = |source, target: &str, mode, keep| Mount {
        sources: vec![source],
        target: target.to_owned(),
        mode,
        keep,
    };
    let at = if level == Level::Lite {
        let path = program.path.to_str().ok_or(io::ErrorKind::InvalidInput)?;
        path.to_owned()
    } else {
        PROGRAM.to_owned()
    };
    let workspace = laid.workspace();
    Ok(Spec {
        command: sandbox::Command::Program([vec![at], arguments].concat()),
        folder: "/workspace".to_owned(),
        mounts: vec![
            mount(program.path.clone(), PROGRAM, Mode::ReadOnly, None),
            mount(laid.shown(), SHOWN, Mode::ReadOnly, None),
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
            wall: PATIENCE,
            ..Limits::default()
        },
        logs: None,
    })
}

/// This program, where whoever runs it can reach it.
pub(super) struct Program {
    path: PathBuf,
    /// What is taken away again.
    folder: Option<PathBuf>,
}

impl Program {
    /// The program itself; a copy where it is begun by its path, by somebody else.
    pub(super) fn new(levels: &[Level]) -> io::Result<Self> {
        let path = std::env::current_exe()?;
        let is_root = rustix::process::geteuid().is_root();
        if !is_root || !levels.contains(&Level::Lite) {
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
