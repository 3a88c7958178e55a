//! Docker as it comes, for what ours is compared with: `docker run`, and `docker exec` in a container that
//! is there already. Nothing of a stranger's is ever run so.

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

use super::daemon::{self, Daemon, LABEL, told};
use super::{Settings, image, machine};

/// How long one may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// What keeps a container there in which something is run later.
const WAITS: &str = "trap : TERM; while :; do sleep 1000 & wait; done";

/// What is run.
#[derive(Debug, Clone, Default)]
pub struct Plain {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Folders and files that it sees besides the machine's programs, as `docker run --volume` takes them.
    pub volumes: Vec<String>,
    /// The folder that it starts in.
    pub folder: String,
    /// Its environment, `NAME=value` each.
    pub environment: Vec<String>,
}

/// How it ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code, or 128 and the number of the signal that ended it; `None` when it took too long.
    pub code: Option<i64>,
    /// What it said on both of its outputs.
    pub output: Vec<u8>,
}

/// Runs something in a new container, as `docker run --rm` does.
///
/// # Errors
/// There is no daemon, or it doesn't do it.
pub fn run(settings: &Settings, what: &Plain) -> io::Result<Ended> {
    with(settings, async |daemon| {
        let name = begin(daemon, what).await?;
        let ended = tokio::time::timeout(PATIENCE, follow(daemon, &name)).await;
        let _ = daemon::remove(daemon, &name).await;
        ended.unwrap_or_else(|_| Ok(Ended::default()))
    })
}

/// A container in which one thing after the other is run, as `docker exec` does.
#[derive(Debug)]
pub struct Warm {
    settings: Settings,
    name: String,
}

impl Warm {
    /// Begins one.
    ///
    /// # Errors
    /// There is no daemon, or it doesn't do it.
    pub fn new(settings: Settings) -> io::Result<Self> {
        let waits = Plain {
            words: ["/bin/sh", "-c", WAITS].map(str::to_owned).into(),
            folder: "/".to_owned(),
            ..Plain::default()
        };
        let name = with(&settings, async |daemon| begin(daemon, &waits).await)?;
        Ok(Self { settings, name })
    }

    /// Runs something in it; answers its exit code.
    ///
    /// # Errors
    /// There is no daemon, or it doesn't do it.
    pub fn exec(&self, words: &[&str]) -> io::Result<Option<i64>> {
        with(&self.settings, async |daemon| {
            let wrong = |error| told("nothing can be run in a container", &error);
            let options = CreateExecOptions {
                attach_stdout: Some(true),
                attach_stderr: Some(true),
                cmd: Some(words.to_vec()),
                ..CreateExecOptions::default()
            };
            let made = daemon.api.create_exec(&self.name, options).await;
            let made = made.map_err(wrong)?;
            let begun = daemon.api.start_exec(&made.id, None).await.map_err(wrong)?;
            if let StartExecResults::Attached { mut output, .. } = begun {
                while output.next().await.is_some() {}
            }
            let found = daemon.api.inspect_exec(&made.id).await.map_err(wrong)?;
            Ok(found.exit_code)
        })
    }
}

impl Drop for Warm {
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

/// Begins a container with what every daemon gives one, and nothing said about it but what it sees.
async fn begin(daemon: &Daemon, what: &Plain) -> Result<String, Failure> {
    let wrong = |error| told("a container can't be begun", &error);
    let image = image::of_machine(daemon).await?;
    let view = View::of_the_system()?;
    let mut binds = what.volumes.clone();
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
    let labels = machine::server().map(|server| [(LABEL.to_owned(), server)].into());
    let body = ContainerCreateBody {
        image: Some(image.name),
        entrypoint: Some(what.words.clone()),
        cmd: Some(Vec::new()),
        working_dir: Some(what.folder.clone()),
        env: Some(what.environment.clone()),
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
    let made = daemon.api.create_container(Some(options), body).await;
    made.map_err(wrong)?;
    let begun = daemon
        .api
        .start_container(&name, None::<StartContainerOptions>);
    if let Err(error) = begun.await {
        let _ = daemon::remove(daemon, &name).await;
        return Err(wrong(error));
    }
    Ok(name)
}

/// Waits for the end of a container.
async fn follow(daemon: &Daemon, name: &str) -> Result<Ended, Failure> {
    let mut waiting = daemon
        .api
        .wait_container(name, None::<WaitContainerOptions>);
    let code = match waiting.next().await {
        Some(Ok(ended)) => Some(ended.status_code),
        Some(Err(bollard::errors::Error::DockerContainerWaitError { code, .. })) => Some(code),
        Some(Err(error)) => return Err(told("a container can't be waited for", &error)),
        None => None,
    };
    let options = LogsOptions {
        stdout: true,
        stderr: true,
        ..LogsOptions::default()
    };
    let mut said = daemon.api.logs(name, Some(options));
    let mut output = Vec::new();
    while let Some(Ok(part)) = said.next().await {
        output.extend(LogOutput::into_bytes(part));
    }
    Ok(Ended { code, output })
}

/// What is shown to a container at the same place, to be read or also to be written.
pub fn volume(path: &Path, at: &Path, writable: bool) -> String {
    let how = if writable { "rw" } else { "ro" };
    format!("{}:{}:{how}", path.display(), at.display())
}
