//! Namespaces of our own: the default.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gongfu_core::sandbox::{
    Artifact, Command, Exit, Level, Means, Mode, Mount, Outcome, Reason, Said, Spec, Stream,
};

use super::{Backend, Failure, Surroundings};
use crate::capture::Capture;
use crate::merge::{self, Below, Changes, Terms};
use crate::plan::{Ceilings, How, Owner, Piece, Plan, Step};
use crate::run::{self, Ended};
use crate::system::View;

/// Where programs are looked for.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/programs";
/// What a program that isn't there ends with, by the convention of shells.
const NOT_FOUND: i32 = 127;
/// What a program that can't be run ends with.
const NOT_EXECUTABLE: i32 = 126;
/// How much longer than a run it may take to bring what it wrote to where it is to stay.
const MERGING: Duration = Duration::from_secs(30);
/// Where a run may write in any case.
const SCRATCH: [&str; 3] = ["/dev/shm", "/tmp", "/proc"];

/// The backend.
pub(crate) struct Namespaces;

impl Backend for Namespaces {
    fn level(&self) -> Level {
        Level::Namespaces
    }

    fn run(&self, spec: &Spec, surroundings: &Surroundings<'_>) -> Result<Outcome, Failure> {
        let plan = plan(spec, surroundings.tenant)?;
        let log = |name: &'static str| {
            let path = spec.logs.as_ref().map(|folder| folder.join(name));
            path.map(|path| move || made(path))
        };
        let mut stdout = Capture::new(spec.limits.shown, log("stdout.log"));
        let mut stderr = Capture::new(spec.limits.shown, log("stderr.log"));
        let mut heard = 0_u64;
        let mut broken = None;
        let ended = run::run(
            &plan,
            spec,
            surroundings.groups,
            surroundings.cancel,
            |stream, bytes| {
                (surroundings.listener)(stream, bytes);
                let taken = match stream {
                    Stream::Stdout => stdout.take(bytes),
                    Stream::Stderr => stderr.take(bytes),
                };
                heard += bytes.len() as u64;
                broken = broken.take().or(taken.err());
                broken.is_none() && heard <= spec.limits.output
            },
        )?;
        if let Some(broken) = broken {
            return Err(broken.into());
        }
        if ended.how.is_none() && ended.failed.is_none() && ended.reason == Reason::Ok {
            let why = "the sandbox was ended from outside; perhaps the machine ran out of memory";
            return Err(Failure::Io(io::Error::other(why)));
        }
        let mut outcome = Outcome {
            level: Level::Namespaces,
            enforcement: ended.held(Means::SizedFileSystem),
            exit: ended.how.map(|how| match how {
                How::Exit(code) => Exit::Code(code),
                How::Signal(signal) => Exit::Signal(signal),
            }),
            reason: ended.reason,
            stdout: stdout.said(),
            stderr: stderr.said(),
            artifacts: Vec::new(),
            changed: 0,
            took: ended.took,
            cpu: ended.cpu,
            memory: ended.memory,
        };
        if let Some((step, number)) = ended.failed {
            failed(&mut outcome, spec, &plan, step, number)?;
        }
        keep(&mut outcome, spec, surroundings, ended)?;
        Ok(outcome)
    }
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

/// What the child is to do.
fn plan(spec: &Spec, tenant: Option<Owner>) -> Result<Plan, Failure> {
    let mut view = View::of_the_system()?;
    let mut writable: Vec<String> = SCRATCH.map(str::to_owned).into();
    for mount in &spec.mounts {
        let missing = |error: io::Error| {
            let path = mount.sources.iter().map(|path| path.display().to_string());
            let path = path.collect::<Vec<_>>().join(", ");
            Failure::Refused(format!("`{path}` can't be seen in the sandbox: {error}"))
        };
        match (mount.mode, mount.sources.as_slice()) {
            (Mode::Layered, []) => view.scratch(&mount.target),
            (Mode::Layered, sources) => view.layer(sources, &mount.target).map_err(missing)?,
            (mode, [source, ..]) => view
                .bind(source, &mount.target, mode == Mode::ReadWrite, false)
                .map_err(missing)?,
            (_, []) => {}
        }
        if mount.mode != Mode::ReadOnly {
            writable.push(mount.target.clone());
        }
    }
    let mut environment = vec![
        ("PATH".to_owned(), PATH.to_owned()),
        ("HOME".to_owned(), "/workspace".to_owned()),
        ("LANG".to_owned(), "C.UTF-8".to_owned()),
        ("TMPDIR".to_owned(), "/tmp".to_owned()),
    ];
    let declared = spec.environment.iter();
    if let Some((name, _)) = declared.clone().find(|(name, _)| is_refused(name)) {
        let why =
            format!("`{name}` can't be set: by it other code than the program's would be run");
        return Err(Failure::Refused(why));
    }
    environment.extend(declared.map(|(name, value)| (name.clone(), value.clone())));
    let limits = &spec.limits;
    Ok(Plan {
        tenant,
        sources: view.sources,
        view: view.pieces,
        disk: limits.disk,
        files: limits.files,
        arguments: match &spec.command {
            Command::Program(arguments) => arguments.clone(),
            Command::Line(line) => vec![shell().to_owned(), "-c".to_owned(), line.clone()],
        },
        environment,
        folder: spec.folder.clone(),
        writable,
        ceilings: Ceilings {
            memory: limits.memory,
            processes: limits.processes.into(),
            cpu: limits.cpu,
            file: limits.file,
            open_files: limits.open_files,
        },
        memory: limits.memory,
        // Whoever runs it ends it first, and can say why.
        wall: limits.wall + Duration::from_secs(1),
    })
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
    is_none || name.starts_with("LD_") || runs.contains(&name)
}

/// The shell that most scripts are written for, where there is one.
fn shell() -> &'static str {
    if Path::new("/bin/bash").exists() {
        "/bin/bash"
    } else {
        "/bin/sh"
    }
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
        (step, _) => return Err(Failure::Unavailable(obstacle(step, plan, &error))),
    };
    outcome.exit = Some(Exit::Code(code));
    outcome.stderr = Said {
        head: text.into_bytes(),
        ..Said::default()
    };
    Ok(())
}

/// What stands in the way of a sandbox, and what to do about it.
fn obstacle(step: Step, plan: &Plan, error: &io::Error) -> String {
    let path = |number: usize| {
        let source = plan.sources.get(number);
        source.map_or_else(String::new, |source| source.path.display().to_string())
    };
    let what = match step {
        Step::Namespaces => "namespaces can't be made; allow user namespaces (sysctl \
                             user.max_user_namespaces, kernel.unprivileged_userns_clone, \
                             kernel.apparmor_restrict_unprivileged_userns), and in a container its \
                             runtime's too"
            .to_owned(),
        Step::Source(number) => format!("`{}` can't be brought into it", path(number)),
        Step::View(number) => match plan.view.get(number) {
            Some(Piece::Bind { at, source, .. }) => {
                format!("`{}` can't be seen as `{at}`", path(*source))
            }
            Some(Piece::Layer { at, .. }) => format!(
                "nothing can be written to `{at}`; that takes Linux 5.11, and files that belong to \
                 whoever runs gongfu"
            ),
            Some(Piece::Processes(_)) => {
                "its processes can't be shown; in a container, let `/proc` \
                                          be mounted"
                    .to_owned()
            }
            _ => "what it sees can't be built".to_owned(),
        },
        Step::Landlock | Step::Seccomp => {
            "the system can't refuse what a program must not do; it takes Linux 5.13 with seccomp"
                .to_owned()
        }
        Step::Privileges => "privileges can't be given up; it takes Linux 5.12".to_owned(),
        Step::Group => "it can't be counted by a control group".to_owned(),
        Step::Tenant | Step::Identity => "it can't be run as somebody else".to_owned(),
        Step::Root | Step::Init | Step::Ceilings | Step::Folder | Step::Program => {
            "it can't be begun".to_owned()
        }
    };
    format!("{what} ({step:?}: {error})")
}

/// Brings what was written to where it is to stay.
///
/// However the run ended, what it wrote until then may be what somebody needs: a timeout takes the time and
/// not the results. Only where nobody waits any more nothing is brought: it can't be told to anybody.
fn keep(
    outcome: &mut Outcome,
    spec: &Spec,
    surroundings: &Surroundings<'_>,
    ended: Ended,
) -> Result<(), Failure> {
    if outcome.reason == Reason::Cancelled {
        return Ok(());
    }
    let is_layer = |mount: &&Mount| mount.mode == Mode::Layered && !mount.sources.is_empty();
    let layered = spec.mounts.iter().filter(is_layer);
    if ended.how.is_some() && ended.layers.len() != layered.clone().count() {
        return Err(Failure::Io(io::Error::other(
            "what was written can't be reached",
        )));
    }
    // What a run may write it may also leave, whatever it makes of it, and in the time that it has left.
    let mut left = spec.limits.disk;
    let by = Instant::now() + spec.limits.wall.saturating_sub(ended.took) + MERGING;
    for (mount, layer) in layered.zip(ended.layers) {
        let Some(target) = &mount.keep else {
            continue;
        };
        std::fs::create_dir_all(target)?;
        let target = File::open(target)?;
        let found = target.metadata()?;
        let owner = Owner {
            user: found.uid(),
            group: found.gid(),
        };
        let terms = Terms {
            owner: rustix::process::geteuid().is_root().then_some(owner),
            by,
            cancel: surroundings.cancel,
        };
        let below = below(mount)?;
        let Changes { listed, total, .. } =
            merge::merge(layer, OwnedFd::from(target), &below, &terms, &mut left)?;
        let seen = |path: String| format!("{}/{path}", mount.target);
        let listed = listed.into_iter().map(|(path, change)| Artifact {
            path: seen(path),
            change,
        });
        outcome.artifacts.extend(listed);
        outcome.changed += total;
    }
    Ok(())
}

/// What lies below the place that keeps what is written, where that is the uppermost of several sources.
fn below(mount: &Mount) -> io::Result<Below> {
    let below = match mount.sources.split_first() {
        Some((first, below)) if Some(first) == mount.keep.as_ref() => below,
        _ => &[],
    };
    let folders = below.iter().map(|path| Ok(File::open(path)?.into()));
    folders.collect::<io::Result<_>>().map(Below::new)
}
