//! The parts of servers, and the process that runs them for all clients of the person.

use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gongfu_core::port::{PortError, Records, Secrets};
use gongfu_core::skill::Digest;
use gongfu_credentials::ServerKey;
use gongfu_files::Home;
use gongfu_sandbox::start_apart;
use gongfu_upstream::{LocalServers, ProcessAddress, ServerParts};
use serde_json::json;

use super::confined::ServerProcesses;
use super::file::entry;
use super::{Connections, FileLocks, default_safety, environment as passed_on};
use crate::environment::Environment;

/// The argument of the process that runs the servers.
const COMMAND: &str = "servers";
/// The folder of its socket, lock and log, in the home.
pub(crate) const FOLDER: &str = "run";
/// The size at which its log is rotated, in bytes. One old log is kept.
const MAX_LOG: u64 = 1024 * 1024;
/// The longest path of a socket that every system takes, in bytes.
const MAX_SOCKET: usize = 100;

/// The servers of these connections, run by this process. Those of the former ones that are declared as before go on.
pub(crate) fn local(
    environment: &Environment,
    home: &Home,
    records: &Arc<dyn Records>,
    connections: Connections,
    former: Option<&LocalServers>,
) -> LocalServers {
    let parts = parts(environment, home, Arc::clone(records));
    LocalServers::new(connections.declared, &parts, former)
}

/// All that the servers of this installation need, with the approvals in these records.
pub(crate) fn parts(
    environment: &Environment,
    home: &Home,
    records: Arc<dyn Records>,
) -> ServerParts {
    let folder = environment.user.as_deref().unwrap_or(Path::new("/"));
    let key_home = home.clone();
    ServerParts {
        records,
        processes: Arc::new(ServerProcesses::new(home.clone(), environment.user.clone())),
        secrets: Arc::new(move || {
            let key = ServerKey::of(&key_home);
            let key = key.map_err(|error| PortError::Unavailable(error.to_string()))?;
            Ok(Arc::new(key) as Arc<dyn Secrets>)
        }),
        locks: Arc::new(FileLocks::new(home.clone())),
        environment: passed_on(),
        folder: folder.to_string_lossy().into_owned(),
        default_safety: default_safety(environment),
    }
}

/// The name of the process: the same for all clients that would run the same servers in the same way. Another version
/// of gongfu, connection or environment has a process of its own.
pub(crate) fn name(environment: &Environment, connections: &Connections) -> Option<String> {
    // The program itself, whatever stands at its path by now.
    let program = std::fs::metadata("/proc/self/exe")
        .or_else(|_| std::env::current_exe().and_then(std::fs::metadata))
        .ok()?;
    let entries = connections.declared.iter();
    let entries = entries.map(|one| json!([one.connection.name, entry(&one.connection)]));
    let decides = json!([
        [
            program.dev(),
            program.ino(),
            program.mtime(),
            program.size()
        ],
        entries.collect::<Vec<_>>(),
        passed_on(),
        environment.user,
        default_safety(environment),
    ]);
    let digest = Digest::of(decides.to_string().as_bytes()).to_string();
    let hex: String = digest.chars().rev().take(16).collect();
    Some(format!("servers-{hex}"))
}

/// The way to that process; `None` where there can't be one.
pub(super) fn address(
    environment: &Environment,
    home: &Home,
    connections: &Connections,
) -> Option<ProcessAddress> {
    let socket = socket(home, &name(environment, connections)?);
    if socket.as_os_str().len() >= MAX_SOCKET {
        tracing::warn!(
            "the path of gongfu's home is too long for a socket, so this process shares no other servers: move the home with GONGFU_HOME"
        );
        return None;
    }
    let home = home.clone();
    Some(ProcessAddress {
        socket,
        user: rustix::process::geteuid().as_raw(),
        start: Arc::new(move || {
            let folder = home.folder(FOLDER)?;
            let path = folder.path().join("servers.log");
            if std::fs::metadata(&path).is_ok_and(|log| log.len() > MAX_LOG) {
                // Another client may rotate it at the same time.
                let _ = std::fs::rename(&path, folder.path().join("servers.old.log"));
            }
            let mut log = std::fs::OpenOptions::new();
            let log = log.create(true).append(true).mode(0o600).open(path)?;
            start_apart(COMMAND, log.into())
        }),
    })
}

/// The socket of a process of this name.
pub(crate) fn socket(home: &Home, name: &str) -> PathBuf {
    home.path().join(FOLDER).join(format!("{name}.sock"))
}
