//! What the daemon is told of a container: what it sees, and what it may not.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use bollard::models::{
    ContainerCreateBody, HealthConfig, HostConfig, HostConfigCgroupnsModeEnum, HostConfigLogConfig,
    Mount, MountBindOptions, MountBindOptionsPropagationEnum, MountType, ResourcesUlimits,
};
use gongfu_sandbox::backend::{Failure, INIT_ARGUMENT, INIT_SOCKET, UnixId, hidden_in_proc};

use super::container::itself;
use super::daemon::{Daemon, LABEL};
use super::image::Image;
use super::shape::Shape;
use super::{machine, seccomp, unavailable};

/// Where the first process lies in a container, and what it needs where the programs are an image's.
const INIT: &str = "/run/gongfu/init";
const LIBRARIES: &str = "/run/gongfu/lib";
/// What a container is called from within.
const NAME: &str = "sandbox";
/// What the daemon would write itself, with what it knows of the machine.
const TEXTS: [(&str, &str); 3] = [
    (
        "hosts",
        "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n",
    ),
    ("hostname", "sandbox\n"),
    ("resolv.conf", ""),
];
/// How much memory the first process may take, in bytes.
const KEEPING_MEMORY: u64 = 4 * 1024 * 1024;
/// What it holds open at most, and what it may be given.
const OPEN_FILES: i64 = 4096;
/// How much of a processor a container has while others want it as well: an eighth of what others have.
const SHARES: i64 = 1024 / 8;
/// What is hidden besides what tells of the machine: what every daemon hides, and all of `/sys`.
const HIDDEN: [&str; 11] = [
    "/proc/acpi",
    "/proc/asound",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/sys",
];

/// What a container is made of.
pub(super) struct Parts<'a> {
    pub(super) daemon: &'a Daemon,
    pub(super) shape: &'a Shape,
    pub(super) image: &'a Image,
    pub(super) user: UnixId,
    /// The folder of what lies on the disk for it.
    pub(super) place: &'a Path,
    pub(super) memories: &'a [String],
}

/// Where a copy lies.
pub(super) fn copy(place: &Path, number: usize) -> PathBuf {
    place.join(format!("copy{number}"))
}

/// What the daemon is told.
pub(super) fn of(parts: &Parts<'_>) -> Result<ContainerCreateBody, Failure> {
    let shape = parts.shape;
    let memory = number(shape.memory.saturating_add(KEEPING_MEMORY));
    let limit = |name: &str, most: i64| ResourcesUlimits {
        name: Some(name.to_owned()),
        soft: Some(most),
        hard: Some(most),
    };
    let mounts = mounts(parts)?;
    let host = HostConfig {
        mounts: Some(mounts),
        tmpfs: Some(memories(parts)),
        readonly_rootfs: Some(true),
        network_mode: Some("none".to_owned()),
        ipc_mode: Some("private".to_owned()),
        cgroupns_mode: Some(HostConfigCgroupnsModeEnum::PRIVATE),
        // Where users are mapped to others, nobody would be whom the files belong to.
        userns_mode: parts.daemon.maps_users.then(|| "host".to_owned()),
        cap_drop: Some(vec!["ALL".to_owned()]),
        security_opt: Some(security(parts.daemon)?),
        masked_paths: Some(hidden()),
        memory: Some(memory),
        // And none of it on a disk.
        memory_swap: Some(memory),
        pids_limit: Some(i64::from(shape.processes) + 1),
        cpu_shares: Some(SHARES),
        ulimits: Some(vec![
            limit("nofile", OPEN_FILES),
            // By one byte the system gives a dump to nobody; by none it would still give it to a program.
            limit("core", 1),
        ]),
        auto_remove: Some(true),
        init: Some(false),
        log_config: Some(HostConfigLogConfig {
            typ: Some("none".to_owned()),
            config: None,
        }),
        ..HostConfig::default()
    };
    let server = machine::server();
    let server = server.ok_or_else(|| unavailable("nobody knows which process gongfu is here"))?;
    Ok(ContainerCreateBody {
        image: Some(parts.image.name.clone()),
        entrypoint: Some(entry(parts)?),
        cmd: Some(Vec::new()),
        user: Some(format!("{}:{}", parts.user.user, parts.user.group)),
        hostname: Some(NAME.to_owned()),
        working_dir: Some("/".to_owned()),
        network_disabled: Some(true),
        labels: Some(HashMap::from([(LABEL.to_owned(), server)])),
        // The first process hears no other one, and there is nothing to tidy up.
        stop_signal: Some("SIGKILL".to_owned()),
        stop_timeout: Some(0),
        // It would begin processes that are nobody's.
        healthcheck: Some(HealthConfig {
            test: Some(vec!["NONE".to_owned()]),
            ..HealthConfig::default()
        }),
        host_config: Some(host),
        ..ContainerCreateBody::default()
    })
}

fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn security(daemon: &Daemon) -> Result<Vec<String>, Failure> {
    let profile = seccomp::profile();
    let profile = profile.ok_or_else(|| {
        unavailable("there is no list of the calls that a program may not make on this processor")
    })?;
    let mut options = vec![
        "no-new-privileges:true".to_owned(),
        format!("seccomp={profile}"),
    ];
    // Else nothing of the machine could be seen, unless its labels were changed.
    options.extend(daemon.has_labels.then(|| "label=disable".to_owned()));
    Ok(options)
}

/// What tells of the machine.
fn hidden() -> Vec<String> {
    let mut hidden: Vec<String> = HIDDEN.map(str::to_owned).into();
    let told = hidden_in_proc().into_iter();
    hidden.extend(told.map(|one| format!("/proc/{}", one.name)));
    hidden.sort();
    hidden.dedup();
    hidden
}

/// The places in memory, each with its size.
fn memories(parts: &Parts<'_>) -> HashMap<String, String> {
    let UnixId { user, group } = parts.user;
    let (size, files) = (parts.shape.size, parts.shape.files);
    let places = parts.memories.iter().map(|at| {
        let mode = if matches!(at.as_str(), "/tmp" | "/dev/shm") {
            "1777"
        } else {
            "0755"
        };
        let options = format!(
            "rw,exec,nosuid,nodev,size={size},nr_inodes={files},mode={mode},uid={user},gid={group}"
        );
        (at.clone(), options)
    });
    places.collect()
}

/// What is mounted into it.
fn mounts(parts: &Parts<'_>) -> Result<Vec<Mount>, Failure> {
    let (shape, place) = (parts.shape, parts.place);
    let mut mounts = vec![
        bind(&itself(place)?, INIT, false)?,
        bind(&place.join("socket"), INIT_SOCKET, false)?,
    ];
    let mut texts = TEXTS.map(|(name, text)| (name, text.to_owned())).to_vec();
    if shape.is_of_machine {
        // Whom it is by number has a name as well; an image has names of its own.
        let UnixId { user, group } = parts.user;
        texts.extend([
            ("passwd", format!("root:x:0:0:root:/:/bin/sh\nuser:x:{user}:{group}:user:/workspace:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n")),
            ("group", format!("root:x:0:\nuser:x:{group}:\nnogroup:x:65534:\n")),
        ]);
    }
    for (name, text) in texts {
        let path = place.join(name);
        std::fs::write(&path, text)?;
        mounts.push(bind(&path, &format!("/etc/{name}"), false)?);
    }
    if !shape.is_of_machine {
        for path in libraries()? {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            mounts.push(bind(&path, &format!("{LIBRARIES}/{name}"), false)?);
        }
    }
    for one in &shape.binds {
        let source = shape.sources.get(one.source);
        let source = source.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        mounts.push(bind(&source.path, &one.at, one.writable)?);
    }
    for (number, one) in shape.copies.iter().enumerate() {
        mounts.push(bind(&copy(place, number), &one.at, one.writable)?);
    }
    Ok(mounts)
}

/// Something of the machine, without what is mounted in it.
fn bind(source: &Path, at: &str, writable: bool) -> Result<Mount, Failure> {
    let source = source.to_str().ok_or_else(|| {
        let why = format!(
            "`{}` has a name that is no text, which the Docker daemon can't be told",
            source.display()
        );
        Failure::Refused(why)
    })?;
    Ok(Mount {
        typ: Some(MountType::BIND),
        source: Some(source.to_owned()),
        target: Some(at.to_owned()),
        read_only: Some(!writable),
        bind_options: Some(MountBindOptions {
            propagation: Some(MountBindOptionsPropagationEnum::RPRIVATE),
            // What can only be read is so with all that is in it.
            non_recursive: Some(true),
            ..MountBindOptions::default()
        }),
        ..Mount::default()
    })
}

/// How the first process is begun.
fn entry(parts: &Parts<'_>) -> Result<Vec<String>, Failure> {
    let mut words = Vec::new();
    if !parts.shape.is_of_machine {
        // An image may have other libraries, or none: this program brings those that it was begun with.
        let libraries = libraries()?;
        let names = libraries
            .iter()
            .filter_map(|path| path.file_name()?.to_str());
        let loader = names.into_iter().find(|name| name.starts_with("ld-"));
        if let Some(loader) = loader {
            words.extend([
                format!("{LIBRARIES}/{loader}"),
                "--library-path".to_owned(),
                LIBRARIES.to_owned(),
            ]);
        }
    }
    words.extend([INIT.to_owned(), INIT_ARGUMENT.to_owned()]);
    words.extend(parts.memories.iter().cloned());
    Ok(words)
}

/// The libraries of this program, and what loads them; none where it has all of them in it.
fn libraries() -> io::Result<Vec<PathBuf>> {
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let mut libraries: Vec<PathBuf> = Vec::new();
    for line in maps.lines() {
        let Some((_, path)) = line.split_once(" /") else {
            continue;
        };
        let path = Path::new("/").join(path);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_library = name.contains(".so") && path.is_file();
        if is_library && !libraries.contains(&path) {
            libraries.extend(names(&path));
        }
    }
    libraries.dedup();
    Ok(libraries)
}

/// A library under the names that it is asked for by: they may be links to it.
fn names(library: &Path) -> Vec<PathBuf> {
    let mut names = vec![library.to_owned()];
    let name = library.file_name().unwrap_or_default().to_string_lossy();
    let begins = name.split(['.', '-']).next().unwrap_or_default().to_owned();
    let beside = library
        .parent()
        .and_then(|folder| std::fs::read_dir(folder).ok());
    for entry in beside.into_iter().flatten().flatten() {
        let other = entry.file_name().to_string_lossy().into_owned();
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        if is_link
            && other.starts_with(&begins)
            && std::fs::canonicalize(entry.path()).is_ok_and(|path| path == library)
        {
            names.push(entry.path());
        }
    }
    names
}
