//! Namespaces that bubblewrap makes, for machines that allow them to no other program.
//!
//! bubblewrap builds the view; everything after that is the same as in namespaces of our own. What is written
//! lies in one file system in memory of a fixed size, and the layers are copies in it. The root of the view
//! is in the same file system, so only Landlock keeps a run from writing there.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use gongfu_core::sandbox::{Level, Means, Mode, Outcome, Spec};

use super::copy::{Exposure, MountCopies, MountedBy, exposure};
use super::execute::execute;
use super::layer::merge_layers;
use super::namespaces::{FILE_SYSTEM, PLACES, SCRATCH};
use super::{Backend, Failure, HostView, Profile, RunContext, program};
use crate::plan::{Isolation, Launch, Piece, Plan, Source, UnixId};
use crate::system::{View, place};

/// The places where systems install it.
const PROGRAMS: [&str; 5] = [
    "/usr/bin/bwrap",
    "/usr/local/bin/bwrap",
    "/bin/bwrap",
    "/run/wrappers/bin/bwrap",
    "/run/current-system/sw/bin/bwrap",
];
/// The options of every run.
const OPTIONS: &str = "--unshare-user --unshare-all --uid 1000 --gid 1000 --hostname sandbox \
                       --die-with-parent --as-pid-1 --clearenv --cap-drop ALL --chdir /";
/// Space for folders and small files besides what is written, in bytes.
const OVERHEAD: u64 = 1024 * 1024;

/// Only init is of the run's user namespace.
const OTHER_PROCESSES: u64 = 1;

/// The backend.
pub(crate) struct Bubblewrap;

static PROFILE: Profile = Profile {
    level: Level::new("bubblewrap"),
    about: "bubblewrap: namespaces by bwrap, Landlock and seccomp",
    is_single_tenant: false,
    is_opt_in: false,
    reaches_hosts: false,
    host: HostView::Paths,
    processes: Means::ProcessLimit,
    // The file system limits the size; the number of files is only watched.
    disk: Means::Watchdog,
};

impl Backend for Bubblewrap {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn execute(&self, job: &Spec, context: &RunContext<'_>) -> Result<Outcome, Failure> {
        let mut places = PROGRAMS.iter().map(Path::new);
        let program = places.find(|place| place.exists()).ok_or_else(|| {
            let why = "bubblewrap isn't installed; install the package `bubblewrap`";
            Failure::Unavailable(why.to_owned())
        })?;
        let copies = MountCopies::new(job, context.tenant, MountedBy::Tenant)?;
        let plan = plan(program, job, context.tenant, &copies)?;
        let layers = copies.layers()?;
        let mut baseline = None;
        let mut result = execute(self, &plan, job, context, |layers| {
            baseline = Some(copies.fill(layers)?);
            Ok(())
        })?;
        result.layers = result.layers.map(|layers| copies.only_layers(layers));
        merge_layers(job, context, layers, result, baseline.as_ref())
    }

    fn lost(&self, is_ready: bool, stderr: &str) -> Failure {
        if is_ready {
            return Failure::lost();
        }
        let said = stderr.lines().next().unwrap_or("no output");
        let said = said.strip_prefix("bwrap: ").unwrap_or(said);
        Failure::Unavailable(format!(
            "bubblewrap can't create it ({said}); allow it to create user namespaces (sysctl user.max_user_namespaces, an AppArmor profile for bwrap, or the setuid bit), and where gongfu runs as root, make its program readable by everyone"
        ))
    }
}

fn plan(
    program: &Path,
    job: &Spec,
    tenant: Option<UnixId>,
    copies: &MountCopies<'_>,
) -> Result<Plan, Failure> {
    let mut view = View::of_the_system()?;
    let mut writable: Vec<PathBuf> = SCRATCH.map(PathBuf::from).into();
    for mount in &job.mounts {
        let at = &place(&mount.target);
        let exposure = exposure(mount, &job.hidden, tenant, MountedBy::Tenant);
        let added = match (exposure, mount.sources.first()) {
            (Exposure::Empty, _) => {
                view.add_scratch(at);
                Ok(())
            }
            (Exposure::Layer | Exposure::Copy, Some(source)) if source.is_file() => {
                view.add_file(at);
                Ok(())
            }
            (Exposure::Layer | Exposure::Copy, _) => view.add_layer(&mount.sources, at),
            (Exposure::Bind, Some(source)) => {
                view.add_bind(source, at, mount.mode == Mode::ReadWrite, false)
            }
            (Exposure::Bind, None) => Ok(()),
        };
        added.map_err(|error| super::missing(mount, &error))?;
        if mount.mode != Mode::ReadOnly {
            writable.push(PathBuf::from(&**at));
        }
    }
    for (at, to) in &job.links {
        view.add_other_name(at, to);
    }
    let size = job.limits.disk.saturating_add(copies.bytes + OVERHEAD);
    // A setuid bubblewrap refuses a size: then it is only watched.
    let found = std::fs::metadata(program)?;
    let size = (found.permissions().mode() & 0o4000 == 0).then_some(size);
    let launch = Launch::Launcher {
        program: program.to_owned(),
        options: options(size, &view.pieces, &view.sources, &hidden()),
    };
    let variables = program::view_variables(job, &PLACES)?;
    Ok(Plan {
        sources: view.sources,
        view: view.pieces,
        writable,
        has_copies: true,
        file_systems: vec![FILE_SYSTEM.to_owned()],
        ..program::plan(
            Some(launch),
            Isolation::Full,
            job,
            tenant,
            variables,
            OTHER_PROCESSES,
        )
    })
}

/// The options that make a view. Its texts are written from within.
fn options(
    size: Option<u64>,
    pieces: &[Piece],
    sources: &[Source],
    hidden: &[HiddenEntry],
) -> Vec<Vec<u8>> {
    let mut options = Vec::new();
    let mut add = |words: &[&[u8]]| options.extend(words.iter().map(|word| word.to_vec()));
    for word in OPTIONS.split_whitespace() {
        add(&[word.as_bytes()]);
    }
    if let Some(size) = size {
        add(&[b"--size", size.to_string().as_bytes()]);
    }
    add(&[b"--perms", b"0755", b"--tmpfs", b"/"]);
    for piece in pieces {
        match piece {
            Piece::Folder(at) | Piece::Scratch(at) | Piece::Layer { at, .. } => {
                add(&[b"--perms", b"0755", b"--dir", at.as_bytes()]);
            }
            Piece::Link { at, to } => add(&[b"--symlink", to.as_bytes(), at.as_bytes()]),
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
                add(&[how, source.unwrap_or_default(), at.as_bytes()]);
            }
            Piece::Text { .. } | Piece::File(_) | Piece::Hidden(_) | Piece::Terminals(_) => {}
            Piece::Processes(at) => {
                add(&[b"--proc", at.as_bytes()]);
                for HiddenEntry { name, is_folder } in hidden {
                    let place = format!("{at}/{name}");
                    if *is_folder {
                        add(&[b"--perms", b"0555", b"--tmpfs"]);
                        add(&[place.as_bytes(), b"--remount-ro", place.as_bytes()]);
                    } else {
                        add(&[b"--ro-bind", b"/dev/null", place.as_bytes()]);
                    }
                }
            }
        }
    }
    options
}

/// An entry of `/proc` with facts about the machine.
pub struct HiddenEntry {
    pub name: String,
    is_folder: bool,
}

/// Entries of `/proc` without private facts, which programs read: hiding one takes a millisecond.
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

/// The entries of `/proc` with facts about the machine.
pub fn hidden() -> Vec<HiddenEntry> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let hidden = entries.filter_map(|entry| {
        let kind = entry.file_type().ok()?;
        let name = entry.file_name().into_string().ok()?;
        let is_process = name.bytes().all(|byte| byte.is_ascii_digit());
        // The run may not read what only root may.
        let mode = entry.metadata().ok()?.permissions().mode();
        let is_readable = kind.is_dir() || (mode & 0o004 != 0 && !HARMLESS.contains(&&*name));
        let is_hidden = !is_process && !kind.is_symlink() && is_readable;
        is_hidden.then_some(HiddenEntry {
            name,
            is_folder: kind.is_dir(),
        })
    });
    hidden.collect()
}
