//! The daemon: how it is spoken to, and what stands in the way of that, for people.
//!
//! Only by a socket of this machine: whoever reaches a daemon is root of its machine, and what runs see
//! is of this one.

use std::collections::HashMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::Duration;

use bollard::errors::Error;
use bollard::query_parameters::{ListContainersOptions, RemoveContainerOptions};
use bollard::{API_DEFAULT_VERSION, Docker as Api};
use gongfu_sandbox::backend::Failure;
use tokio::net::UnixStream;

use super::{SOCKET, Settings, machine, unavailable};

/// How long an answer of the daemon is waited for, in seconds.
const PATIENCE: u64 = 30;
/// The oldest interface that has all that is asked for: of Docker 20.10.
const OLDEST: (usize, usize) = (1, 41);
/// By what containers of ours are known: who began them.
pub(super) const LABEL: &str = "gongfu.sandbox";

/// A daemon that answers, and what must be known of it.
pub(super) struct Daemon {
    pub(super) api: Api,
    /// It maps users to others: unless it is told not to, nobody in a container is whom it is here.
    pub(super) maps_users: bool,
    /// It is no root itself: root of a container is whoever runs the daemon.
    pub(super) is_rootless: bool,
    /// The system keeps labels that a container would need.
    pub(super) has_labels: bool,
}

/// Does something with a daemon on this thread, until nobody wants it any more.
///
/// # Errors
/// It can't be reached, or what is done fails, or nobody wants it.
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
            let daemon = reach(path).await?;
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
            "`{named}` is no socket of this machine, and containers of another one see nothing of this \
             one's files; name one as `unix:///a/path`, in DOCKER_HOST or as `socket` of \
             `[sandbox.docker]` in the settings"
        )));
    }
    Ok(path)
}

async fn reach(path: &str) -> Result<Daemon, Failure> {
    let reached = UnixStream::connect(path).await;
    reached.map_err(|error| unreachable(path, &error))?;
    let wrong = |error: &Error| told("the Docker daemon can't be spoken to", error);
    let api = Api::connect_with_unix(path, PATIENCE, API_DEFAULT_VERSION);
    let api = api.map_err(|error| wrong(&error))?.negotiate_version();
    let api = api.await.map_err(|error| wrong(&error))?;
    let version = api.client_version();
    if (version.major_version, version.minor_version) < OLDEST {
        return Err(unavailable(format!(
            "the Docker daemon speaks version {version} of its interface, and {}.{} is needed; update it to \
             20.10 or newer",
            OLDEST.0, OLDEST.1
        )));
    }
    let info = api.info().await.map_err(|error| wrong(&error))?;
    if info
        .os_type
        .as_deref()
        .is_some_and(|system| system != "linux")
    {
        return Err(unavailable(
            "the Docker daemon makes containers of another system; switch it to Linux containers",
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
            "the Docker daemon can't hold a limit of {what}; give it that control group (`docker info` \
             warns of what it lacks)"
        )));
    }
    if !has("seccomp") {
        return Err(unavailable(
            "the Docker daemon can't refuse calls of the system; let its system have seccomp",
        ));
    }
    Ok(Daemon {
        maps_users: has("userns"),
        is_rootless: has("rootless"),
        has_labels: has("selinux"),
        api,
    })
}

/// What it means that nobody answers at a socket.
fn unreachable(path: &str, error: &io::Error) -> Failure {
    unavailable(match error.kind() {
        io::ErrorKind::NotFound => format!(
            "no Docker daemon listens at `{path}`; install and start Docker, or say where its socket is: \
             DOCKER_HOST=unix:///a/path, or `socket` of `[sandbox.docker]` in the settings"
        ),
        io::ErrorKind::ConnectionRefused => format!(
            "the Docker daemon at `{path}` has ended; start it again (`systemctl start docker`)"
        ),
        io::ErrorKind::PermissionDenied => format!(
            "whoever runs gongfu may not use `{path}`; add that user to the group `docker` and log in anew, \
             which makes them as mighty as root"
        ),
        _ => format!("the Docker daemon at `{path}` can't be reached: {error}"),
    })
}

/// What it means that the daemon didn't do something.
pub(super) fn told(what: &str, error: &Error) -> Failure {
    let why = match error {
        Error::DockerResponseServerError { message, .. } => message.clone(),
        Error::RequestTimeoutError => format!(
            "the Docker daemon hasn't answered for {PATIENCE} s; see what its log says, and start it anew"
        ),
        Error::HyperResponseError { .. } | Error::HyperLegacyError { .. } => format!(
            "the Docker daemon broke off ({error}); see whether it still runs (`docker info`)"
        ),
        error => error.to_string(),
    };
    unavailable(format!("{what}: {why}"))
}

/// Takes away a container, whatever it does.
pub(super) async fn remove(daemon: &Daemon, name: &str) -> Result<(), Error> {
    let options = RemoveContainerOptions {
        force: true,
        v: true,
        ..RemoveContainerOptions::default()
    };
    daemon.api.remove_container(name, Some(options)).await
}

/// Takes away what servers have left that are dead. Containers end with their server, and the daemon takes
/// away those that ended; what was made and never begun, or ended while the daemon didn't run, it keeps.
pub(super) async fn sweep(daemon: &Daemon) -> Result<(), Failure> {
    let options = ListContainersOptions {
        all: true,
        filters: Some(HashMap::from([(
            "label".to_owned(),
            vec![LABEL.to_owned()],
        )])),
        ..ListContainersOptions::default()
    };
    let listed = daemon.api.list_containers(Some(options)).await;
    let listed = listed.map_err(|error| told("containers can't be listed", &error))?;
    for container in listed {
        let labels = container.labels.unwrap_or_default();
        let server = labels.get(LABEL);
        if let (Some(id), Some(server)) = (container.id, server)
            && machine::is_dead(server)
        {
            // Another one may be faster.
            let _ = remove(daemon, &id).await;
        }
    }
    Ok(())
}

/// How long something in a container is waited for, and how often it is looked at meanwhile.
pub(super) const BEGINNING: Duration = Duration::from_secs(15);
pub(super) const ROUND: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::{Settings, path};

    #[test]
    fn only_a_socket_of_this_machine_is_spoken_to() {
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
            assert!(why.contains("unix:///a/path"), "{other}: {why}");
        }
        assert_eq!(path(&Settings::default()).unwrap(), super::SOCKET);
    }
}
