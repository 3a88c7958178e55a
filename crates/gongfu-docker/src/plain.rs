//! Plain Docker, to compare the backend with: `docker run`, and `docker exec` in a warm container. It never runs
//! untrusted programs.

use std::io;
use std::path::Path;
use std::time::Duration;

use bollard::container::LogOutput;
use bollard::exec::{CreateExecOptions, StartExecResults};
use bollard::models::{ContainerCreateBody, HostConfig};
use bollard::query_parameters::{
    CreateContainerOptions, LogsOptions, StartContainerOptions, WaitContainerOptions,
};
use futures_util::StreamExt as _;
use gongfu_sandbox::backend::{Failure, Piece, View, random};

use super::daemon::{self, Daemon, LABEL, daemon_failure};
use super::{Settings, image, server};

/// The time that a command may take.
const RUN_TIMEOUT: Duration = Duration::from_secs(20);
/// A line that keeps a warm container running.
const WAIT_LINE: &str = "trap : TERM; while :; do sleep 1000 & wait; done";

/// A command for `docker run`.
#[derive(Debug, Clone, Default)]
pub struct PlainCommand {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Folders and files that it sees besides the host's programs, as `docker run --volume` takes them.
    pub volumes: Vec<String>,
    /// The folder that it starts in.
    pub folder: String,
    /// Its environment, `NAME=value` each.
    pub environment: Vec<String>,
}

/// The outcome of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlainOutcome {
    /// Its exit code, or 128 and the number of the signal that ended it; `None` when it took too long.
    pub code: Option<i64>,
    /// Both of its outputs.
    pub output: Vec<u8>,
}

/// Runs a command in a new container, as `docker run --rm` does.
///
/// # Errors
/// There is no daemon, or it fails.
pub fn run(settings: &Settings, command: &PlainCommand) -> io::Result<PlainOutcome> {
    with(settings, async |daemon| {
        let name = start(daemon, command).await?;
        let outcome = tokio::time::timeout(RUN_TIMEOUT, wait(daemon, &name)).await;
        let _ = daemon::remove(daemon, &name).await;
        outcome.unwrap_or_else(|_| Ok(PlainOutcome::default()))
    })
}

/// A container for one `docker exec` after the other. Dropping it removes it.
#[derive(Debug)]
pub struct WarmContainer {
    settings: Settings,
    name: String,
}

impl WarmContainer {
    /// Starts one.
    ///
    /// # Errors
    /// There is no daemon, or it fails.
    pub fn new(settings: Settings) -> io::Result<Self> {
        let waits = PlainCommand {
            words: ["/bin/sh", "-c", WAIT_LINE].map(str::to_owned).into(),
            folder: "/".to_owned(),
            ..PlainCommand::default()
        };
        let name = with(&settings, async |daemon| start(daemon, &waits).await)?;
        Ok(Self { settings, name })
    }

    /// Runs a command in it; returns its exit code.
    ///
    /// # Errors
    /// There is no daemon, or it fails.
    pub fn exec(&self, words: &[&str]) -> io::Result<Option<i64>> {
        with(&self.settings, async |daemon| {
            let wrong = |error| daemon_failure("can't run anything in a container", &error);
            let options = CreateExecOptions {
                attach_stdout: Some(true),
                attach_stderr: Some(true),
                cmd: Some(words.to_vec()),
                ..CreateExecOptions::default()
            };
            let exec = daemon.api.create_exec(&self.name, options).await;
            let exec = exec.map_err(wrong)?;
            let started = daemon.api.start_exec(&exec.id, None).await.map_err(wrong)?;
            if let StartExecResults::Attached { mut output, .. } = started {
                while output.next().await.is_some() {}
            }
            let found = daemon.api.inspect_exec(&exec.id).await.map_err(wrong)?;
            Ok(found.exit_code)
        })
    }
}

impl Drop for WarmContainer {
    fn drop(&mut self) {
        let _ = with(&self.settings, async |daemon| {
            let _ = daemon::remove(daemon, &self.name).await;
            Ok(())
        });
    }
}

fn with<T>(
    settings: &Settings,
    work: impl AsyncFnOnce(&Daemon) -> Result<T, Failure>,
) -> io::Result<T> {
    daemon::with(settings, None, work).map_err(io::Error::other)
}

/// Starts a container with the daemon's defaults and these mounts; returns its name.
async fn start(daemon: &Daemon, command: &PlainCommand) -> Result<String, Failure> {
    let wrong = |error| daemon_failure("can't start a container", &error);
    let image = image::of_host_programs(daemon).await?;
    let view = View::of_the_system()?;
    let mut binds = command.volumes.clone();
    for piece in &view.pieces {
        if let Piece::Bind {
            at,
            source,
            device: false,
            ..
        } = piece
            && let Some(source) = view.sources.get(*source)
        {
            binds.push(format!("{}:{at}:ro", source.path.display()));
        }
    }
    let name = format!("gongfu-plain-{:016x}", u64::from_le_bytes(random()?));
    let labels = server::label().map(|label| [(LABEL.to_owned(), label)].into());
    let body = ContainerCreateBody {
        image: Some(image.name),
        entrypoint: Some(command.words.clone()),
        cmd: Some(Vec::new()),
        working_dir: Some(command.folder.clone()),
        env: Some(command.environment.clone()),
        labels,
        host_config: Some(HostConfig {
            binds: Some(binds),
            ..HostConfig::default()
        }),
        ..ContainerCreateBody::default()
    };
    let options = CreateContainerOptions {
        name: Some(name.clone()),
        ..CreateContainerOptions::default()
    };
    let created = daemon.api.create_container(Some(options), body).await;
    created.map_err(wrong)?;
    let started = daemon
        .api
        .start_container(&name, None::<StartContainerOptions>);
    if let Err(error) = started.await {
        let _ = daemon::remove(daemon, &name).await;
        return Err(wrong(error));
    }
    Ok(name)
}

/// Waits for the end of a container.
async fn wait(daemon: &Daemon, name: &str) -> Result<PlainOutcome, Failure> {
    let mut waiting = daemon
        .api
        .wait_container(name, None::<WaitContainerOptions>);
    let code = match waiting.next().await {
        Some(Ok(ended)) => Some(ended.status_code),
        Some(Err(bollard::errors::Error::DockerContainerWaitError { code, .. })) => Some(code),
        Some(Err(error)) => return Err(daemon_failure("can't wait for a container", &error)),
        None => None,
    };
    let options = LogsOptions {
        stdout: true,
        stderr: true,
        ..LogsOptions::default()
    };
    let mut logs = daemon.api.logs(name, Some(options));
    let mut output = Vec::new();
    while let Some(Ok(part)) = logs.next().await {
        output.extend(LogOutput::into_bytes(part));
    }
    Ok(PlainOutcome { code, output })
}

/// A bind mount, as `docker run --volume` takes it.
pub fn volume(path: &Path, at: &Path, writable: bool) -> String {
    let how = if writable { "rw" } else { "ro" };
    format!("{}:{}:{how}", path.display(), at.display())
}
