//! Carries out a plan: listens to the run, and says how it ended.
//!
//! Knows no kind of sandbox but by name.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use gongfu_core::sandbox::{Exit, Level, Means, Outcome, Reason, Said, Spec, Stream};

use super::{Failure, Surroundings, obstacle};
use crate::begun::Begun;
use crate::capture::Capture;
use crate::plan::{How, Kind, Plan, Step};
use crate::run;

/// What a program that isn't there ends with, by the convention of shells.
const NOT_FOUND: i32 = 127;
/// What a program that can't be run ends with.
const NOT_EXECUTABLE: i32 = 126;

/// In what a run is carried out, and by what its limits are held where no control group counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Strength {
    pub(super) level: Level,
    pub(super) processes: Means,
    pub(super) disk: Means,
}

/// A run that ended, and what it left.
pub(super) struct Ran {
    /// How it ended; nothing is said yet of what it changed.
    pub(super) outcome: Outcome,
    /// Handles of its layers, in the order of the view.
    pub(super) layers: Vec<OwnedFd>,
    /// Whether the program was begun.
    pub(super) stood: bool,
}

/// Carries it out to its end. `stands` is given the layers before the program is begun, where something
/// else is to fill them.
pub(super) fn out(
    strength: Strength,
    plan: &Plan,
    spec: &Spec,
    surroundings: &Surroundings<'_>,
    stands: impl FnMut(&[OwnedFd]) -> io::Result<()>,
) -> Result<Ran, Failure> {
    out_by(None, strength, plan, spec, surroundings, stands)
}

/// The same by what was begun for it already, where something was.
pub(super) fn out_by(
    begun: Option<Begun>,
    strength: Strength,
    plan: &Plan,
    spec: &Spec,
    surroundings: &Surroundings<'_>,
    stands: impl FnMut(&[OwnedFd]) -> io::Result<()>,
) -> Result<Ran, Failure> {
    let log = |name: &'static str| {
        let path = spec.logs.as_ref().map(|folder| folder.join(name));
        path.map(|path| move || made(path))
    };
    let mut stdout = Capture::new(spec.limits.shown, log("stdout.log"));
    let mut stderr = Capture::new(spec.limits.shown, log("stderr.log"));
    let mut heard = 0_u64;
    let mut broken = None;
    let hear = |stream, bytes: &[u8]| {
        // The end of an output is heard as nothing, and nothing was said.
        if !bytes.is_empty() {
            (surroundings.listener)(stream, bytes);
        }
        let taken = match stream {
            Stream::Stdout => stdout.take(bytes),
            Stream::Stderr => stderr.take(bytes),
        };
        heard += bytes.len() as u64;
        broken = broken.take().or(taken.err());
        broken.is_none() && heard <= spec.limits.output
    };
    let ended = run::run(plan, spec, surroundings, begun, stands, hear)?;
    if let Some(broken) = broken {
        return Err(broken.into());
    }
    if ended.how.is_none() && ended.failed.is_none() && ended.reason == Reason::Ok {
        let about: Option<fn(&str) -> String> = match &plan.kind {
            _ if ended.stood => None,
            Kind::Namespaces { .. } | Kind::Lite { .. } | Kind::Docker { .. } => None,
            #[cfg(target_os = "linux")]
            Kind::Bubblewrap { .. } => Some(obstacle::of_bubblewrap),
            #[cfg(target_os = "macos")]
            Kind::Bubblewrap { .. } => None,
            #[cfg(target_os = "macos")]
            Kind::Seatbelt { .. } => Some(obstacle::of_seatbelt),
        };
        if let Some(about) = about {
            // Nobody else has said anything yet.
            let said = String::from_utf8_lossy(&stderr.said().head).into_owned();
            return Err(Failure::Unavailable(about(&said)));
        }
        if matches!(plan.kind, Kind::Docker { .. }) {
            return Err(Failure::Unavailable(
                obstacle::OF_AN_ENDED_CONTAINER.to_owned(),
            ));
        }
        let why = "the sandbox was ended from outside; perhaps the machine ran out of memory";
        return Err(Failure::Io(io::Error::other(why)));
    }
    let mut outcome = Outcome {
        level: strength.level,
        enforcement: ended.held(strength.processes, strength.disk),
        exit: ended.how.map(|how| match how {
            How::Exit(code) => Exit::Code(code),
            How::Signal(signal) => Exit::Signal(signal),
        }),
        reason: ended.reason,
        stdout: stdout.said(),
        stderr: stderr.said(),
        artifacts: Vec::new(),
        changed: 0,
        contacts: ended.contacts,
        took: ended.took,
        cpu: ended.cpu,
        memory: ended.memory,
    };
    if let Some((step, number)) = ended.failed {
        failed(&mut outcome, spec, plan, step, number)?;
        // What the run would have said itself is heard by whoever hears the rest.
        (surroundings.listener)(Stream::Stderr, &outcome.stderr.head);
    }
    Ok(Ran {
        outcome,
        stood: ended.how.is_some(),
        layers: ended.layers,
    })
}

/// A log that only its owner reads.
fn made(path: PathBuf) -> io::Result<(PathBuf, File)> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let file = options.open(&path)?;
    Ok((path, file))
}

/// Says of a step that failed what it means.
fn failed(
    outcome: &mut Outcome,
    spec: &Spec,
    plan: &Plan,
    step: Step,
    number: i32,
) -> Result<(), Failure> {
    let error = io::Error::from_raw_os_error(number);
    let program = plan.arguments.first().map_or("", String::as_str);
    let (code, text) = match (step, error.kind()) {
        (Step::Folder, _) => {
            let text = format!("`{}` is no folder in the sandbox: {error}", spec.folder);
            return Err(Failure::Refused(text));
        }
        (Step::Program, io::ErrorKind::NotFound) => (
            NOT_FOUND,
            format!(
                "{program}: command not found in the sandbox, or the interpreter that it names\n"
            ),
        ),
        (Step::Program, _) => (
            NOT_EXECUTABLE,
            format!("{program}: can't be run: {error}\n"),
        ),
        (step, _) => return Err(Failure::Unavailable(obstacle::of(step, plan, &error))),
    };
    outcome.exit = Some(Exit::Code(code));
    outcome.stderr = Said {
        head: text.into_bytes(),
        ..Said::default()
    };
    Ok(())
}
