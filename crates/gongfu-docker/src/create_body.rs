//! The request that creates a container: its mounts, its limits and its restrictions.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use bollard::models::{
    ContainerCreateBody, HealthConfig, HostConfig, HostConfigCgroupnsModeEnum, HostConfigLogConfig,
    Mount, MountBindOptions, MountBindOptionsPropagationEnum, MountType, ResourcesUlimits,
};
use gongfu_sandbox::backend::{Failure, INIT_ARGUMENT, INIT_SOCKET, UnixId, hidden_in_proc};

use super::container_spec::ContainerSpec;
use super::daemon::{Daemon, LABEL};
use super::image::Image;
use super::{seccomp, server, unavailable};

/// The path of init in a container, and of its libraries where the programs are an image's.
const INIT: &str = "/run/gongfu/init";
const LIBRARIES: &str = "/run/gongfu/lib";
/// The host name of every container.
const HOST_NAME: &str = "sandbox";
/// Files of `/etc` that the daemon would write itself, with facts about the host.
const TEXTS: [(&str, &str); 3] = [
    (
        "hosts",
        "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n",
    ),
    ("hostname", "sandbox\n"),
    ("resolv.conf", ""),
];
/// Memory for init, in bytes.
const INIT_MEMORY: u64 = 4 * 1024 * 1024;
/// The most open files of a process; init passes some of its own on.
const MAX_OPEN_FILES: i64 = 4096;
/// The share of a container while others want the processors as well: an eighth of the default.
const CPU_SHARES: i64 = 1024 / 8;
/// Paths that every daemon hides, and all of `/sys`.
const MASKED_PATHS: [&str; 11] = [
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

/// The facts that decide about a container.
pub(super) struct CreateContext<'a> {
    pub(super) daemon: &'a Daemon,
    pub(super) spec: &'a ContainerSpec,
    pub(super) image: &'a Image,
    pub(super) user: UnixId,
    /// The folder of its files on the disk.
    pub(super) folder: &'a Path,
    /// The file systems in memory.
    pub(super) file_systems: &'a [String],
}

/// The path of a copy on the disk.
pub(super) fn copy_path(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("copy{number}"))
}

/// The body of the request.
///
/// # Errors
/// A path isn't text, or the processor has no seccomp profile.
pub(super) fn create_body(context: &CreateContext<'_>) -> Result<ContainerCreateBody, Failure> {
    let spec = context.spec;
    let memory = spec.memory.saturating_add(INIT_MEMORY);
    let memory = i64::try_from(memory).unwrap_or(i64::MAX);
    let limit = |name: &str, limit: i64| ResourcesUlimits {
        name: Some(name.to_owned()),
        soft: Some(limit),
        hard: Some(limit),
    };
    let mounts = mounts(context)?;
    let host = HostConfig {
        mounts: Some(mounts),
        tmpfs: Some(file_systems(context)),
        readonly_rootfs: Some(true),
        network_mode: Some("none".to_owned()),
        ipc_mode: Some("private".to_owned()),
        cgroupns_mode: Some(HostConfigCgroupnsModeEnum::PRIVATE),
        // Else the tenant would be another user, who doesn't own the files.
        userns_mode: context.daemon.maps_users.then(|| "host".to_owned()),
        cap_drop: Some(vec!["ALL".to_owned()]),
        security_opt: Some(security(context.daemon)?),
        masked_paths: Some(masked_paths()),
        memory: Some(memory),
        // No swap besides.
        memory_swap: Some(memory),
        pids_limit: Some(i64::from(spec.processes) + 1),
        cpu_shares: Some(CPU_SHARES),
        ulimits: Some(vec![
            limit("nofile", MAX_OPEN_FILES),
            // With one byte there is no dump; with zero the kernel would still pipe it to a program.
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
    let server = server::label();
    let server = server.ok_or_else(|| unavailable("gongfu's own process id is unknown here"))?;
    Ok(ContainerCreateBody {
        image: Some(context.image.name.clone()),
        entrypoint: Some(entrypoint(context)?),
        cmd: Some(Vec::new()),
        user: Some(format!("{}:{}", context.user.user, context.user.group)),
        hostname: Some(HOST_NAME.to_owned()),
        working_dir: Some("/".to_owned()),
        network_disabled: Some(true),
        labels: Some(HashMap::from([(LABEL.to_owned(), server)])),
        // Init handles no other signal.
        stop_signal: Some("SIGKILL".to_owned()),
        stop_timeout: Some(0),
        // It would start processes that belong to no run.
        healthcheck: Some(HealthConfig {
            test: Some(vec!["NONE".to_owned()]),
            ..HealthConfig::default()
        }),
        host_config: Some(host),
        ..ContainerCreateBody::default()
    })
}

fn security(daemon: &Daemon) -> Result<Vec<String>, Failure> {
    let profile = seccomp::profile();
    let profile = profile.ok_or_else(|| {
        unavailable("there is no list of forbidden system calls for this processor")
    })?;
    let mut options = vec![
        "no-new-privileges:true".to_owned(),
        format!("seccomp={profile}"),
    ];
    // Else no file of the host could be read, unless its label was changed.
    options.extend(daemon.has_labels.then(|| "label=disable".to_owned()));
    Ok(options)
}

/// The paths that tell something about the host.
fn masked_paths() -> Vec<String> {
    let mut masked: Vec<String> = MASKED_PATHS.map(str::to_owned).into();
    let entries = hidden_in_proc().into_iter();
    masked.extend(entries.map(|entry| format!("/proc/{}", entry.name)));
    masked.sort();
    masked.dedup();
    masked
}

/// The file systems in memory, each with its options.
fn file_systems(context: &CreateContext<'_>) -> HashMap<String, String> {
    let UnixId { user, group } = context.user;
    let (size, files) = (context.spec.size, context.spec.files);
    let file_systems = context.file_systems.iter().map(|at| {
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
    file_systems.collect()
}

/// The bind mounts.
fn mounts(context: &CreateContext<'_>) -> Result<Vec<Mount>, Failure> {
    let (spec, folder) = (context.spec, context.folder);
    let mut mounts = vec![
        bind(&server::program(folder)?, INIT, false)?,
        bind(&folder.join("socket"), INIT_SOCKET, false)?,
    ];
    let mut texts = TEXTS.map(|(name, text)| (name, text.to_owned())).to_vec();
    if spec.has_host_programs {
        // The tenant gets a name; an image has users of its own.
        let UnixId { user, group } = context.user;
        texts.extend([
            ("passwd", format!("root:x:0:0:root:/:/bin/sh\nuser:x:{user}:{group}:user:/workspace:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n")),
            ("group", format!("root:x:0:\nuser:x:{group}:\nnogroup:x:65534:\n")),
        ]);
    }
    for (name, text) in texts {
        let path = folder.join(name);
        std::fs::write(&path, text)?;
        mounts.push(bind(&path, &format!("/etc/{name}"), false)?);
    }
    if !spec.has_host_programs {
        for path in libraries()? {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            mounts.push(bind(&path, &format!("{LIBRARIES}/{name}"), false)?);
        }
    }
    for mount in &spec.binds {
        let source = spec.sources.get(mount.source);
        let source = source.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        mounts.push(bind(&source.path, &mount.at, mount.writable)?);
    }
    for (number, copy) in spec.copies.iter().enumerate() {
        mounts.push(bind(&copy_path(folder, number), &copy.at, copy.writable)?);
    }
    Ok(mounts)
}

/// A bind mount of a host path, without the mounts below it.
fn bind(source: &Path, at: &str, writable: bool) -> Result<Mount, Failure> {
    let source = source.to_str().ok_or_else(|| {
        let why = format!(
            "`{}` has a name that is not UTF-8, which Docker doesn't support",
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
            // The mounts below a read-only one could be writable.
            non_recursive: Some(true),
            ..MountBindOptions::default()
        }),
        ..Mount::default()
    })
}

/// The command line of init.
fn entrypoint(context: &CreateContext<'_>) -> Result<Vec<String>, Failure> {
    let mut words = Vec::new();
    if !context.spec.has_host_programs {
        // An image may have other libraries, or none: this program brings its own.
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
    words.extend(context.file_systems.iter().cloned());
    Ok(words)
}

/// The libraries of this program with their loader; none where it is linked statically.
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

/// The paths of a library, with the links to it: programs ask for it by any of these names.
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
