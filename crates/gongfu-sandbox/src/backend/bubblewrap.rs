//! Namespaces made by bubblewrap: where nobody else is allowed to make any.
//!
//! It makes what the run sees; all that comes after is the same as with namespaces of our own. What is
//! written lies in one memory of a fixed size, and what would be layers are copies in it. The root of
//! what is seen is that same memory: that nothing is written there is held by Landlock alone.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use gongfu_core::sandbox::{Level, Means, Mode, Outcome, Spec};

use super::carry::{self, Strength};
use super::copied::{self, Copied, Maker, Way};
use super::namespaces::{PLACES, SCRATCH};
use super::{Backend, Failure, Surroundings, environment, keep};
use crate::plan::{Kind, Owner, Piece, Plan, Source};
use crate::system::View;

/// Where it lies, on systems that have it.
const PROGRAMS: [&str; 5] = [
    "/usr/bin/bwrap",
    "/usr/local/bin/bwrap",
    "/bin/bwrap",
    "/run/wrappers/bin/bwrap",
    "/run/current-system/sw/bin/bwrap",
];
/// What it is told in any case.
const ALWAYS: &str = "--unshare-user --unshare-all --uid 1000 --gid 1000 --hostname sandbox \
                      --die-with-parent --new-session --as-pid-1 --clearenv --cap-drop ALL --chdir /";
/// What it takes besides what is written: folders and small texts.
const ROOM: u64 = 1024 * 1024;

/// The first process inside; the others are of another namespace.
const WATCHING: u64 = 1;

/// Where it is, if it is installed.
pub(super) fn found() -> Option<&'static Path> {
    let mut places = PROGRAMS.iter().map(Path::new);
    places.find(|place| place.exists())
}

/// The backend.
pub(crate) struct Bubblewrap;

impl Backend for Bubblewrap {
    fn level(&self) -> Level {
        Level::Bubblewrap
    }

    fn run(&self, spec: &Spec, surroundings: &Surroundings<'_>) -> Result<Outcome, Failure> {
        let program = found().ok_or_else(|| {
            let why = "bubblewrap isn't installed; install the package `bubblewrap`";
            Failure::Unavailable(why.to_owned())
        })?;
        let strength = Strength {
            level: Level::Bubblewrap,
            processes: Means::ProcessLimit,
            // By size it is the file system that holds; how many files there are is only watched.
            disk: Means::Watchdog,
        };
        let copied = Copied::of(spec, surroundings.tenant, Maker::Tenant)?;
        let plan = plan(program, spec, surroundings.tenant, &copied)?;
        let mut before = Vec::new();
        let mut ran = carry::out(strength, &plan, spec, surroundings, |layers| {
            before = copied.fill(layers)?;
            Ok(())
        })?;
        ran.layers = copied.kept(ran.layers);
        keep::what_was_written(spec, surroundings, &copied.layers(), ran, &before)
    }
}

/// What the child is to do.
fn plan(
    program: &Path,
    spec: &Spec,
    tenant: Option<Owner>,
    copied: &Copied<'_>,
) -> Result<Plan, Failure> {
    let mut view = View::of_the_system()?;
    let mut writable: Vec<PathBuf> = SCRATCH.map(PathBuf::from).into();
    for mount in &spec.mounts {
        let missing = |error| super::missing(mount, &error);
        match (
            copied::way(mount, tenant, Maker::Tenant),
            mount.sources.first(),
        ) {
            (Way::Empty, _) => view.scratch(&mount.target),
            (Way::Layer | Way::Copy, Some(source)) if source.is_file() => {
                view.file(&mount.target);
            }
            (Way::Layer | Way::Copy, _) => {
                view.layer(&mount.sources, &mount.target).map_err(missing)?;
            }
            (Way::AsItIs, Some(source)) => view
                .bind(source, &mount.target, mount.mode == Mode::ReadWrite, false)
                .map_err(missing)?,
            (Way::AsItIs, None) => {}
        }
        if mount.mode != Mode::ReadOnly {
            writable.push(PathBuf::from(&mount.target));
        }
    }
    let size = spec
        .limits
        .disk
        .saturating_add(copied.bytes)
        .saturating_add(ROOM);
    // One that everybody runs as root lets nobody say how large it is: then it is only watched.
    let found = std::fs::metadata(program)?;
    let size = (found.permissions().mode() & 0o4000 == 0).then_some(size);
    let kind = Kind::Bubblewrap {
        program: program.to_owned(),
        options: options(size, &view.pieces, &view.sources, &hidden()),
    };
    let variables = environment::variables(spec, &PLACES)?;
    Ok(Plan {
        sources: view.sources,
        view: view.pieces,
        writable,
        ..environment::plan(kind, spec, tenant, variables, WATCHING)
    })
}

/// What bubblewrap is told to make a view; what is text in it is written from within.
fn options(
    size: Option<u64>,
    pieces: &[Piece],
    sources: &[Source],
    hidden: &[Hidden],
) -> Vec<Vec<u8>> {
    let mut options = Vec::new();
    let mut tell = |words: &[&[u8]]| options.extend(words.iter().map(|word| word.to_vec()));
    for word in ALWAYS.split_whitespace() {
        tell(&[word.as_bytes()]);
    }
    if let Some(size) = size {
        tell(&[b"--size", size.to_string().as_bytes()]);
    }
    tell(&[b"--perms", b"0755", b"--tmpfs", b"/"]);
    for piece in pieces {
        match piece {
            Piece::Folder(at) | Piece::Scratch(at) | Piece::Layer { at, .. } => {
                tell(&[b"--perms", b"0755", b"--dir", at.as_bytes()]);
            }
            Piece::Link { at, to } => tell(&[b"--symlink", to.as_bytes(), at.as_bytes()]),
            Piece::Bind {
                at,
                source,
                writable,
                device,
                ..
            } => {
                let how: &[u8] = match (device, writable) {
                    (true, _) => b"--dev-bind",
                    (false, true) => b"--bind",
                    (false, false) => b"--ro-bind",
                };
                let source = sources.get(*source);
                let source = source.map(|source| source.path.as_os_str().as_encoded_bytes());
                tell(&[how, source.unwrap_or_default(), at.as_bytes()]);
            }
            Piece::Text { .. } | Piece::File(_) => {}
            Piece::Processes(at) => {
                tell(&[b"--proc", at.as_bytes()]);
                for Hidden { name, is_folder } in hidden {
                    let place = format!("{at}/{name}");
                    if *is_folder {
                        tell(&[b"--perms", b"0555", b"--tmpfs"]);
                        tell(&[place.as_bytes(), b"--remount-ro", place.as_bytes()]);
                    } else {
                        tell(&[b"--ro-bind", b"/dev/null", place.as_bytes()]);
                    }
                }
            }
        }
    }
    options
}

/// What is shown beside the processes, and tells of the machine.
pub(super) struct Hidden {
    pub(super) name: String,
    is_folder: bool,
}

/// What programs ask of the machine that tells of nobody: to hide a file takes a millisecond here.
const HARMLESS: [&str; 22] = [
    "buddyinfo",
    "cgroups",
    "consoles",
    "cpuinfo",
    "crypto",
    "devices",
    "dma",
    "execdomains",
    "fb",
    "filesystems",
    "loadavg",
    "locks",
    "meminfo",
    "misc",
    "mtrr",
    "softirqs",
    "stat",
    "swaps",
    "uptime",
    "version",
    "vmstat",
    "zoneinfo",
];

/// All that is shown beside the processes and tells of the machine.
pub(super) fn hidden() -> Vec<Hidden> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let shown = entries.filter_map(|entry| {
        let kind = entry.file_type().ok()?;
        let name = entry.file_name().into_string().ok()?;
        let is_process = name.bytes().all(|byte| byte.is_ascii_digit());
        // What only root may read it may not.
        let mode = entry.metadata().ok()?.permissions().mode();
        let is_told = kind.is_dir() || (mode & 0o004 != 0 && !HARMLESS.contains(&&*name));
        let is_hidden = !is_process && !kind.is_symlink() && is_told;
        is_hidden.then_some(Hidden {
            name,
            is_folder: kind.is_dir(),
        })
    });
    shown.collect()
}
