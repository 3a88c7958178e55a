//! A container: how it is created, how a run starts in it, and how it ends.

use std::cell::Cell;
use std::fs::Permissions;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use bollard::query_parameters::{
    ContainerArchiveInfoOptions, CreateContainerOptions, InspectContainerOptions,
    StartContainerOptions,
};
use gongfu_sandbox::backend::{
    ChildHandle, ContainerInit, Failure, RunDir, UnixId, clear, give, random,
};
use rustix::fs::{Mode, OFlags, ftruncate, open};
use tokio::net::UnixListener;

use super::container_spec::ContainerSpec;
use super::create_body::{CreateContext, copy_path, create_body};
use super::daemon::{self, Daemon, daemon_failure};
use super::image::{self, Image};
use super::{Settings, failed_to, unavailable};

/// The time that init may take to connect and to report that it is ready.
const START_TIMEOUT: Duration = Duration::from_secs(15);
/// The pause before looking again whether the container still runs.
const START_POLL: Duration = Duration::from_millis(200);
/// The time that a container may take to end by itself.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// The shells that an image may have, the better one first.
const SHELLS: [&str; 2] = ["/bin/bash", "/bin/sh"];

/// A container whose init waits for a run. Dropping it removes it.
#[derive(Debug)]
pub(crate) struct Container {
    name: String,
    settings: Settings,
    init: ContainerInit,
    tenant: Option<UnixId>,
    /// Handles of the copies, in the order of the specification.
    copies: Vec<OwnedFd>,
    /// The file systems in memory that can be written, the layers first.
    pub(super) file_systems: Vec<String>,
    /// More folders with programs.
    pub(super) programs: String,
    /// The shell of the image; `None` for the host's.
    pub(super) shell: Option<String>,
    /// Its files on the disk.
    _run_dir: RunDir,
}

impl Container {
    /// Creates a container, and waits until its init is ready.
    ///
    /// # Errors
    /// There is no daemon, or it doesn't create one; or the run was cancelled.
    pub(super) fn new(
        spec: &ContainerSpec,
        settings: &Settings,
        cancel: BorrowedFd<'_>,
    ) -> Result<Self, Failure> {
        let name = format!("gongfu-{:016x}", u64::from_le_bytes(random()?));
        let is_requested = Cell::new(false);
        let created = daemon::with(settings, Some(cancel), async |daemon| {
            Self::create(daemon, spec, settings, &name, &is_requested).await
        });
        if created.is_err() && is_requested.get() {
            // It may exist in any state.
            let _ = daemon::with(settings, None, async |daemon| {
                let _ = daemon::remove(daemon, &name).await;
                Ok(())
            });
        }
        created
    }

    async fn create(
        daemon: &Daemon,
        spec: &ContainerSpec,
        settings: &Settings,
        name: &str,
        is_requested: &Cell<bool>,
    ) -> Result<Self, Failure> {
        let image = match &settings.image {
            Some(image) => image::named(daemon, image).await?,
            None => image::of_host_programs(daemon).await?,
        };
        let user = user(spec.tenant, daemon);
        let run_dir = RunDir::new(spec.tenant.is_some())?;
        let copies = make_copies(&run_dir.path, spec)?;
        let socket = run_dir.path.join("socket");
        let listener = UnixListener::bind(&socket);
        let listener = listener.map_err(failed_to("can't create a socket for a container"))?;
        give(&socket, spec.tenant)?;
        std::fs::set_permissions(&socket, Permissions::from_mode(0o600))?;
        let file_systems = [&spec.layers, &spec.scratch, &image.volumes].map(Vec::as_slice);
        let file_systems = file_systems.concat();
        let body = create_body(&CreateContext {
            daemon,
            spec,
            image: &image,
            user,
            folder: &run_dir.path,
            file_systems: &file_systems,
        })?;
        let options = CreateContainerOptions {
            name: Some(name.to_owned()),
            ..CreateContainerOptions::default()
        };
        is_requested.set(true);
        let created = daemon.api.create_container(Some(options), body).await;
        created.map_err(|error| daemon_failure("can't create a container", &error))?;
        let shell = find_shell(daemon, settings, name).await;
        let started = daemon
            .api
            .start_container(name, None::<StartContainerOptions>);
        let started = started.await;
        started.map_err(|error| daemon_failure("can't start a container", &error))?;
        let connection = accept(daemon, name, &listener).await?;
        // No other process can connect any more.
        drop(listener);
        std::fs::remove_file(&socket)?;
        let number = init_number(daemon, name).await?.ok_or_else(|| {
            unavailable(
                "a container exited before anything ran in it; see the log of the Docker daemon",
            )
        })?;
        let init = ContainerInit::new(connection, number)?.ok_or_else(|| {
            unavailable(
                "gongfu can't see the processes of the Docker daemon, so it couldn't tell whether a run has ended; run gongfu on the daemon's machine, outside containers",
            )
        })?;
        if !init.is_ready_within(START_TIMEOUT) {
            return Err(unavailable(
                "the first process of a container doesn't respond",
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            settings: settings.clone(),
            init,
            tenant: spec.tenant,
            copies,
            file_systems,
            programs: programs(&image, spec),
            shell,
            _run_dir: run_dir,
        })
    }

    /// Starts a run, which waits for its plan.
    ///
    /// # Errors
    /// The container has ended.
    pub(super) fn start_run(&self) -> io::Result<ChildHandle> {
        self.init.start_run(self.tenant)
    }

    /// Handles of the folders that are filled for a run, in the order of its mounts; `layers` are those in
    /// memory.
    ///
    /// # Errors
    /// One is missing, or there can be no more handles.
    pub(super) fn folders(
        &self,
        spec: &ContainerSpec,
        layers: &[OwnedFd],
    ) -> io::Result<Vec<OwnedFd>> {
        spec.destinations(layers, &self.copies)
    }

    /// Returns whether its init lives and waits for a run.
    pub(super) fn is_idle(&self) -> bool {
        self.init.is_idle()
    }

    /// Removes everything that a run left; returns whether nothing of it is left for certain.
    pub(super) fn clean(&self) -> bool {
        self.try_clean().unwrap_or(false)
    }

    fn try_clean(&self) -> io::Result<bool> {
        for copy in &self.copies {
            match clear(copy) {
                Err(error) if error.kind() == io::ErrorKind::NotADirectory => ftruncate(copy, 0)?,
                cleared => cleared?,
            }
        }
        self.init.clean()
    }

    /// Lets it end, without waiting for that.
    pub(super) fn release(&self) {
        self.init.release();
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        self.release();
        if self.init.ends_within(END_TIMEOUT) {
            // The daemon removes containers that have ended.
            return;
        }
        self.init.kill();
        let _ = daemon::with(&self.settings, None, async |daemon| {
            let _ = daemon::remove(daemon, &self.name).await;
            Ok(())
        });
    }
}

/// The user of processes in the container. Root of a rootless daemon's container has only the rights of the user
/// who runs the daemon.
fn user(tenant: Option<UnixId>, daemon: &Daemon) -> UnixId {
    if daemon.is_rootless {
        return UnixId { user: 0, group: 0 };
    }
    tenant.unwrap_or_else(|| UnixId {
        user: rustix::process::geteuid().as_raw(),
        group: rustix::process::getegid().as_raw(),
    })
}

/// Makes the folders and files of the copies; returns a handle of each.
fn make_copies(folder: &Path, spec: &ContainerSpec) -> io::Result<Vec<OwnedFd>> {
    let made = spec.copies.iter().enumerate().map(|(number, copy)| {
        let path = copy_path(folder, number);
        let flags = if copy.is_file {
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC
        } else {
            std::fs::create_dir(&path)?;
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC
        };
        let handle = open(&path, flags, Mode::from_raw_mode(0o644))?;
        give(&path, spec.tenant)?;
        Ok(handle)
    });
    made.collect()
}

/// The folders with programs besides those of every system.
fn programs(image: &Image, spec: &ContainerSpec) -> String {
    match &image.path {
        Some(path) => path.clone(),
        None if spec.has_host_programs => super::PLACES.programs.to_owned(),
        None => "/usr/local/bin".to_owned(),
    }
}

/// Finds the shell of an image that the settings name.
async fn find_shell(daemon: &Daemon, settings: &Settings, name: &str) -> Option<String> {
    settings.image.as_ref()?;
    for shell in SHELLS {
        let options = ContainerArchiveInfoOptions {
            path: shell.to_owned(),
        };
        let found = daemon.api.get_container_archive_info(name, Some(options));
        if found.await.is_ok() {
            return Some(shell.to_owned());
        }
    }
    Some("sh".to_owned())
}

/// Waits until init connects.
async fn accept(
    daemon: &Daemon,
    name: &str,
    listener: &UnixListener,
) -> Result<UnixStream, Failure> {
    let deadline = Instant::now() + START_TIMEOUT;
    while Instant::now() < deadline {
        if let Ok(accepted) = tokio::time::timeout(START_POLL, listener.accept()).await {
            let (stream, _) = accepted?;
            let stream = stream.into_std()?;
            stream.set_nonblocking(false)?;
            return Ok(stream);
        }
        if init_number(daemon, name).await?.is_none() {
            break;
        }
    }
    Err(unavailable(
        "the first process of a container (gongfu's own program) can't start or can't reach gongfu; make the program readable by everyone, install its system libraries on this machine, and let the daemon see the temporary folder (TMPDIR)",
    ))
}

/// The number of init on the host; `None` where it has ended.
async fn init_number(daemon: &Daemon, name: &str) -> Result<Option<u32>, Failure> {
    let found = daemon
        .api
        .inspect_container(name, None::<InspectContainerOptions>);
    let found = match found.await {
        Ok(found) => found,
        Err(bollard::errors::Error::DockerResponseServerError {
            status_code: 404, ..
        }) => return Ok(None),
        Err(error) => return Err(daemon_failure("can't inspect a container", &error)),
    };
    let state = found.state.unwrap_or_default();
    let number = state.pid.and_then(|number| u32::try_from(number).ok());
    Ok(number.filter(|number| *number > 0 && state.running == Some(true)))
}
