//! One container: how it is begun, how a run is begun in it, and how it ends.

use std::cell::Cell;
use std::fs::Permissions;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bollard::query_parameters::{
    ContainerArchiveInfoOptions, CreateContainerOptions, InspectContainerOptions,
    StartContainerOptions,
};
use gongfu_sandbox::backend::{ChildHandle, ContainerInit, Failure, RunDir, UnixId, clear, random};
use rustix::fs::{Mode, OFlags, ftruncate, open};
use tokio::net::UnixListener;

use super::body::{self, Parts};
use super::daemon::{self, BEGINNING, Daemon, ROUND, told};
use super::image::{self, Image};
use super::shape::Shape;
use super::{Settings, about, unavailable};

/// How long a container may take to end by itself.
const ENDING: Duration = Duration::from_secs(2);
/// The shells that an image may have, the better one first.
const SHELLS: [&str; 2] = ["/bin/bash", "/bin/sh"];

/// A container whose first process waits for what to do.
#[derive(Debug)]
pub(crate) struct Container {
    name: String,
    settings: Settings,
    init: ContainerInit,
    /// The copies, in the order of the shape.
    copies: Vec<OwnedFd>,
    /// Places in memory that can be written, those that are filled first.
    pub(super) memories: Vec<String>,
    /// Where else programs are looked for.
    pub(super) programs: String,
    /// What runs lines, where it isn't what this machine has.
    pub(super) shell: Option<String>,
    /// What of it lies on the disk.
    _run_dir: RunDir,
}

impl Container {
    /// Makes one, and waits until its first process is there.
    ///
    /// # Errors
    /// There is no daemon, or it doesn't make one; or nobody wants it any more.
    pub(super) fn make(
        shape: &Shape,
        settings: &Settings,
        cancel: BorrowedFd<'_>,
    ) -> Result<Self, Failure> {
        let name = format!("gongfu-{:016x}", u64::from_le_bytes(random()?));
        let is_asked_for = Cell::new(false);
        let made = daemon::with(settings, Some(cancel), async |daemon| {
            Self::make_by(daemon, shape, settings, &name, &is_asked_for).await
        });
        if made.is_err() && is_asked_for.get() {
            // Nobody knows how far it came.
            let _ = daemon::with(settings, None, async |daemon| {
                let _ = daemon::remove(daemon, &name).await;
                Ok(())
            });
        }
        made
    }

    async fn make_by(
        daemon: &Daemon,
        shape: &Shape,
        settings: &Settings,
        name: &str,
        is_asked_for: &Cell<bool>,
    ) -> Result<Self, Failure> {
        let image = match &settings.image {
            Some(image) => image::named(daemon, image).await?,
            None => image::of_machine(daemon).await?,
        };
        let user = user(shape.tenant, daemon);
        let run_dir = RunDir::new(shape.tenant.is_some())?;
        let copies = copies(&run_dir.path, shape)?;
        let socket = run_dir.path.join("socket");
        let listener = UnixListener::bind(&socket);
        let listener = listener.map_err(about("no socket can be made for a container"))?;
        give(&socket, shape.tenant)?;
        std::fs::set_permissions(&socket, Permissions::from_mode(0o600))?;
        let memories = [&shape.layers, &shape.empty, &image.volumes].map(Vec::as_slice);
        let memories = memories.concat();
        let body = body::of(&Parts {
            daemon,
            shape,
            image: &image,
            user,
            place: &run_dir.path,
            memories: &memories,
        })?;
        let options = CreateContainerOptions {
            name: Some(name.to_owned()),
            ..CreateContainerOptions::default()
        };
        is_asked_for.set(true);
        let made = daemon.api.create_container(Some(options), body).await;
        made.map_err(|error| told("a container can't be made", &error))?;
        let shell = shell(daemon, settings, name).await;
        let begun = daemon
            .api
            .start_container(name, None::<StartContainerOptions>);
        let begun = begun.await;
        begun.map_err(|error| told("a container can't be begun", &error))?;
        let socket_of_init = answered(daemon, name, &listener).await?;
        // Nothing leads to the server any more but what has connected.
        drop(listener);
        std::fs::remove_file(&socket)?;
        let number = number(daemon, name).await?.ok_or_else(|| {
            unavailable(
                "a container ended before anything was run in it; see what the daemon's log says",
            )
        })?;
        let init = ContainerInit::new(socket_of_init, number)?.ok_or_else(|| {
            unavailable(
                "the Docker daemon's processes can't be seen from here, so nobody could say for certain that \
                 a run has ended; run gongfu beside the daemon, on the same machine and in no container",
            )
        })?;
        if !init.is_ready_within(BEGINNING) {
            return Err(unavailable("the first process of a container says nothing"));
        }
        Ok(Self {
            name: name.to_owned(),
            settings: settings.clone(),
            init,
            copies,
            memories,
            programs: programs(&image, shape),
            shell,
            _run_dir: run_dir,
        })
    }

    /// Begins a run, which waits for what it is to do.
    ///
    /// # Errors
    /// The container has ended.
    pub(super) fn begin(&self, shape: &Shape) -> io::Result<ChildHandle> {
        self.init.start_run(shape.tenant)
    }

    /// Handles of what is filled for a run, in the order of its mounts; `layers` are those in memory.
    ///
    /// # Errors
    /// One isn't there, or there can be no more handles.
    pub(super) fn folders(&self, shape: &Shape, layers: &[OwnedFd]) -> io::Result<Vec<OwnedFd>> {
        let of = |all: &[OwnedFd], number: usize| all.get(number).map(OwnedFd::try_clone);
        let all = shape.in_order(
            |number| of(layers, number),
            |number| of(&self.copies, number),
        );
        let missing = || io::Error::other("there is no place for what is copied");
        all.ok_or_else(missing)?.into_iter().collect()
    }

    /// Whether its first process is there and has nothing to say.
    pub(super) fn is_there(&self) -> bool {
        self.init.is_idle()
    }

    /// Takes away all that a run left; answers whether nothing of it is left for certain.
    pub(super) fn clean(&self) -> bool {
        self.cleaned().unwrap_or(false)
    }

    fn cleaned(&self) -> io::Result<bool> {
        for copy in &self.copies {
            match clear(copy) {
                Err(error) if error.kind() == io::ErrorKind::NotADirectory => ftruncate(copy, 0)?,
                cleared => cleared?,
            }
        }
        self.init.clean()
    }

    /// Lets it end; it is waited for when this goes.
    pub(super) fn let_go(&self) {
        self.init.release();
    }

    /// Takes it away.
    pub(super) fn end(&mut self) {
        self.let_go();
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        self.let_go();
        if self.init.ends_within(ENDING) {
            // The daemon takes away what has ended.
            return;
        }
        self.init.kill();
        let _ = daemon::with(&self.settings, None, async |daemon| {
            let _ = daemon::remove(daemon, &self.name).await;
            Ok(())
        });
    }
}

/// Whom processes are in the container. Where the daemon is no root itself, root of a container is whoever
/// runs it, and has nothing that they don't have.
fn user(tenant: Option<UnixId>, daemon: &Daemon) -> UnixId {
    if daemon.is_rootless {
        return UnixId { user: 0, group: 0 };
    }
    tenant.unwrap_or_else(|| UnixId {
        user: rustix::process::geteuid().as_raw(),
        group: rustix::process::getegid().as_raw(),
    })
}

/// Has something belong to the one that the run is.
fn give(path: &Path, tenant: Option<UnixId>) -> io::Result<()> {
    let Some(UnixId { user, group }) = tenant else {
        return Ok(());
    };
    chown(path, Some(user), Some(group))
}

/// Makes the places of copies; answers a handle of each.
fn copies(place: &Path, shape: &Shape) -> io::Result<Vec<OwnedFd>> {
    let made = shape.copies.iter().enumerate().map(|(number, copy)| {
        let path = body::copy(place, number);
        let flags = if copy.is_file {
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC
        } else {
            std::fs::create_dir(&path)?;
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC
        };
        let handle = open(&path, flags, Mode::from_raw_mode(0o644))?;
        give(&path, shape.tenant)?;
        Ok(handle)
    });
    made.collect()
}

/// Where programs are looked for besides where they are on any system.
fn programs(image: &Image, shape: &Shape) -> String {
    match &image.path {
        Some(path) => path.clone(),
        None if shape.is_of_machine => super::PLACES.programs.to_owned(),
        None => "/usr/local/bin".to_owned(),
    }
}

/// What runs lines in an image that an operator names.
async fn shell(daemon: &Daemon, settings: &Settings, name: &str) -> Option<String> {
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

/// The socket of the first process, once it has connected.
async fn answered(
    daemon: &Daemon,
    name: &str,
    listener: &UnixListener,
) -> Result<UnixStream, Failure> {
    let by = Instant::now() + BEGINNING;
    while Instant::now() < by {
        if let Ok(connected) = tokio::time::timeout(ROUND, listener.accept()).await {
            let (stream, _) = connected?;
            let stream = stream.into_std()?;
            stream.set_nonblocking(false)?;
            return Ok(stream);
        }
        if number(daemon, name).await?.is_none() {
            break;
        }
    }
    Err(unavailable(
        "the first process of a container, which is gongfu's own program, can't begin or can't reach \
         gongfu; let that program be readable by everybody and its system's libraries be on this machine, \
         and let the daemon see the folder for files that nobody needs later (TMPDIR)",
    ))
}

/// The number of the first process on this machine; `None` where it has ended.
async fn number(daemon: &Daemon, name: &str) -> Result<Option<u32>, Failure> {
    let found = daemon
        .api
        .inspect_container(name, None::<InspectContainerOptions>);
    let found = match found.await {
        Ok(found) => found,
        Err(bollard::errors::Error::DockerResponseServerError {
            status_code: 404, ..
        }) => return Ok(None),
        Err(error) => return Err(told("a container can't be looked at", &error)),
    };
    let state = found.state.unwrap_or_default();
    let number = state.pid.and_then(|number| u32::try_from(number).ok());
    Ok(number.filter(|number| *number > 0 && state.running == Some(true)))
}

/// This very program, as a path that leads to it: a copy of it, where it was replaced.
pub(super) fn itself(place: &Path) -> io::Result<PathBuf> {
    let id = |path: &Path| {
        use std::os::unix::fs::MetadataExt as _;
        std::fs::metadata(path).map(|found| (found.dev(), found.ino()))
    };
    let running = Path::new("/proc/self/exe");
    if let Ok(path) = std::env::current_exe()
        && id(&path).ok() == id(running).ok()
    {
        return Ok(path);
    }
    let copy = place.join("program");
    std::fs::copy(running, &copy)?;
    std::fs::set_permissions(&copy, Permissions::from_mode(0o755))?;
    Ok(copy)
}
