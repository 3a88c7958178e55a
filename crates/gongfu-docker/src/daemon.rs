//! The connection to the Docker daemon, and the explanations of its failures for people.
//!
//! It is reached only by a socket of this machine: the right to use a daemon is as much as root, and runs see
//! the files of this host.

use std::collections::HashMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;

use bollard::errors::Error;
use bollard::query_parameters::{ListContainersOptions, RemoveContainerOptions};
use bollard::{API_DEFAULT_VERSION, Docker as Api};
use gongfu_sandbox::backend::Failure;
use tokio::net::UnixStream;

use super::{SOCKET, Settings, server, unavailable};

/// The time that the daemon may take for an answer, in seconds.
const RESPONSE_TIMEOUT: u64 = 30;
/// The oldest version of the API that is enough: that of Docker 20.10.
const MIN_API_VERSION: (usize, usize) = (1, 41);
/// The label of our containers; its value says which server created them.
pub(super) const LABEL: &str = "gongfu.sandbox";

/// A daemon that answers, and its properties.
pub(super) struct Daemon {
    pub(super) api: Api,
    /// It maps the users of containers to others, unless the request says otherwise.
    pub(super) maps_users: bool,
    /// It isn't root: root of a container is the user who runs the daemon.
    pub(super) is_rootless: bool,
    /// The system labels files (`SELinux`), and a container may read only some labels.
    pub(super) has_labels: bool,
}

/// Does some work with a daemon on this thread, unless it is cancelled.
///
/// # Errors
/// The daemon can't be reached, the work fails, or it was cancelled.
pub(super) fn with<T>(
    settings: &Settings,
    cancel: Option<BorrowedFd<'_>>,
    work: impl AsyncFnOnce(&Daemon) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let path = path(settings)?;
    runtime.block_on(async {
        let done = async {
            let daemon = connect(path).await?;
            work(&daemon).await
        };
        let Some(cancel) = cancel else {
            return done.await;
        };
        let cancel = std::os::unix::net::UnixStream::from(cancel.try_clone_to_owned()?);
        cancel.set_nonblocking(true)?;
        let cancel = UnixStream::from_std(cancel)?;
        tokio::select! {
            done = done => done,
            _ = cancel.readable() => Err(Failure::Io(io::ErrorKind::Interrupted.into())),
        }
    })
}

/// The path of its socket.
fn path(settings: &Settings) -> Result<&str, Failure> {
    let named = settings.socket.as_deref().unwrap_or(SOCKET);
    let path = named.strip_prefix("unix://").unwrap_or(named);
    if path.contains("://") || !Path::new(path).is_absolute() {
        return Err(unavailable(format!(
            "`{named}` is not a socket on this machine, and containers elsewhere can't see its files; set `unix:///path` in DOCKER_HOST, or `socket` below `[sandbox.docker]` in the settings"
        )));
    }
    Ok(path)
}

async fn connect(path: &str) -> Result<Daemon, Failure> {
    let connected = UnixStream::connect(path).await;
    connected.map_err(|error| unreachable(path, &error))?;
    let wrong = |error: &Error| daemon_failure("can't talk to the Docker daemon", error);
    let api = Api::connect_with_unix(path, RESPONSE_TIMEOUT, API_DEFAULT_VERSION);
    let api = api.map_err(|error| wrong(&error))?.negotiate_version();
    let api = api.await.map_err(|error| wrong(&error))?;
    let version = api.client_version();
    if (version.major_version, version.minor_version) < MIN_API_VERSION {
        return Err(unavailable(format!(
            "the Docker daemon has API version {version}, but {}.{} is needed; update Docker to 20.10 or newer",
            MIN_API_VERSION.0, MIN_API_VERSION.1
        )));
    }
    let info = api.info().await.map_err(|error| wrong(&error))?;
    if info
        .os_type
        .as_deref()
        .is_some_and(|system| system != "linux")
    {
        return Err(unavailable(
            "the Docker daemon runs containers of another system; switch it to Linux containers",
        ));
    }
    let options = info.security_options.unwrap_or_default();
    let has = |name: &str| {
        options
            .iter()
            .any(|option| option.starts_with(&format!("name={name}")))
    };
    let lacks = [
        ("memory", info.memory_limit),
        ("processes", info.pids_limit),
    ];
    if let Some((what, _)) = lacks.iter().find(|(_, can)| *can == Some(false)) {
        return Err(unavailable(format!(
            "the Docker daemon can't limit {what}; enable that control group (`docker info` shows what is missing)"
        )));
    }
    if !has("seccomp") {
        return Err(unavailable(
            "the Docker daemon can't filter system calls; enable seccomp on its machine",
        ));
    }
    Ok(Daemon {
        maps_users: has("userns"),
        is_rootless: has("rootless"),
        has_labels: has("selinux"),
        api,
    })
}

/// Explains that no daemon answers at a socket.
fn unreachable(path: &str, error: &io::Error) -> Failure {
    unavailable(match error.kind() {
        io::ErrorKind::NotFound => format!(
            "no Docker daemon listens at `{path}`; install and start Docker, or set its socket: DOCKER_HOST=unix:///path, or `socket` below `[sandbox.docker]` in the settings"
        ),
        io::ErrorKind::ConnectionRefused => format!(
            "the Docker daemon at `{path}` isn't running; start it (`systemctl start docker`)"
        ),
        io::ErrorKind::PermissionDenied => format!(
            "gongfu's user has no access to `{path}`; add that user to the group `docker` and log in again (this gives the user root's power)"
        ),
        _ => format!("the Docker daemon at `{path}` can't be reached: {error}"),
    })
}

/// Explains that the daemon didn't do something.
pub(super) fn daemon_failure(what: &str, error: &Error) -> Failure {
    let why = match error {
        Error::DockerResponseServerError { message, .. } => message.clone(),
        Error::RequestTimeoutError => format!(
            "the Docker daemon hasn't answered for {RESPONSE_TIMEOUT} s; check its log and restart it"
        ),
        Error::HyperResponseError { .. } | Error::HyperLegacyError { .. } => format!(
            "the Docker daemon closed the connection ({error}); check whether it still runs (`docker info`)"
        ),
        error => error.to_string(),
    };
    unavailable(format!("{what}: {why}"))
}

/// Removes a container, even while it runs.
pub(super) async fn remove(daemon: &Daemon, name: &str) -> Result<(), Error> {
    let options = RemoveContainerOptions {
        force: true,
        v: true,
        ..RemoveContainerOptions::default()
    };
    daemon.api.remove_container(name, Some(options)).await
}

/// Removes the containers that dead servers left behind. A container ends with its server, and the daemon removes
/// it then, but not one that was never started, or that ended while the daemon didn't run.
pub(super) async fn remove_left_behind(daemon: &Daemon) -> Result<(), Failure> {
    let options = ListContainersOptions {
        all: true,
        filters: Some(HashMap::from([(
            "label".to_owned(),
            vec![LABEL.to_owned()],
        )])),
        ..ListContainersOptions::default()
    };
    let listed = daemon.api.list_containers(Some(options)).await;
    let listed = listed.map_err(|error| daemon_failure("can't list containers", &error))?;
    for container in listed {
        let labels = container.labels.unwrap_or_default();
        let label = labels.get(LABEL);
        if let (Some(id), Some(label)) = (container.id, label)
            && server::is_dead(label)
        {
            // Another server may be faster.
            let _ = remove(daemon, &id).await;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Settings, path};

    #[test]
    fn accepts_only_a_socket_of_this_machine() {
        let of = |socket: &str| {
            let settings = Settings {
                socket: Some(socket.to_owned()),
                image: None,
            };
            path(&settings).map(str::to_owned)
        };
        assert_eq!(of("unix:///a/b").unwrap(), "/a/b");
        assert_eq!(of("/a/b").unwrap(), "/a/b");
        for other in ["tcp://127.0.0.1:2375", "ssh://host", "a/b", "", "npipe://x"] {
            let why = of(other).unwrap_err().to_string();
            assert!(why.contains("unix:///path"), "{other}: {why}");
        }
        assert_eq!(path(&Settings::default()).unwrap(), super::SOCKET);
    }
}
