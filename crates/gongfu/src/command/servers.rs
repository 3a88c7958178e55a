//! `gongfu servers`: the process that runs the servers of connections for all clients of a person.

use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use gongfu_core::port::Records;
use gongfu_files::disk::{Root, lock_at_once};
use gongfu_records::FileRecords;
use gongfu_sandbox::leave_terminal;
use gongfu_upstream::{Process, refreshes_ended, serve};
use tokio::net::UnixListener;

use super::Outcome;
use crate::connection::connections;
use crate::connection::servers::{FOLDER, local, name, socket};
use crate::environment::Environment;
use crate::signal::Signals;
use crate::wiring;

/// The time that it goes on without a client.
const LINGER: Duration = Duration::from_secs(10);
/// The time that its servers have to end.
const END_TIMEOUT: Duration = Duration::from_secs(3);

/// Runs the servers of all clients, until none needs them.
pub(crate) fn run(environment: &Environment) -> anyhow::Result<Outcome> {
    leave_terminal();
    let home = wiring::home(environment)?;
    let connections = connections(environment, &home);
    let name = name(environment, &connections).context("this program can't be found")?;
    let folder = home.folder(FOLDER)?;
    // Files that the environment names may be relative, so they were read before.
    std::env::set_current_dir(folder.path())?;
    // Another one that was started at the same time is as good.
    let Ok(_held) = lock_at_once(&folder, &format!("{name}.lock")) else {
        return Ok(Outcome::Good);
    };
    let records: Arc<dyn Records> = Arc::new(FileRecords::new(home.clone()));
    let socket = socket(&home, &name);
    let runtime = wiring::runtime()?;
    let served = runtime.block_on(async {
        let mut signals = Signals::listen();
        let listener = listen(&folder, &socket)?;
        let identity = identity(&socket).context("the socket is gone")?;
        let process = Process {
            listener,
            user: rustix::process::geteuid().as_raw(),
            servers: Arc::new(local(environment, &home, &records, connections, None)),
            linger: LINGER,
            is_reachable: {
                let socket = socket.clone();
                Box::new(move || self::identity(&socket) == Some(identity))
            },
        };
        tokio::select! {
            () = serve(process) => {}
            () = signals.next() => {}
        }
        anyhow::Ok(identity)
    });
    if let Ok(own) = served
        && identity(&socket) == Some(own)
    {
        // Clients that come now start another one.
        let _ = std::fs::remove_file(&socket);
    }
    runtime.block_on(refreshes_ended());
    // Dropping the servers has begun to end their programs.
    runtime.shutdown_timeout(END_TIMEOUT);
    served.map(|_| Outcome::Good)
}

/// Listens on a socket that only this user can reach.
fn listen(folder: &Root, socket: &Path) -> io::Result<UnixListener> {
    match std::fs::remove_file(socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(socket)?;
    std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o600))?;
    tracing::info!(folder = %folder.path().display(), "runs the servers of connections");
    Ok(listener)
}

/// The file that a path leads to.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let file = std::fs::symlink_metadata(path).ok()?;
    Some((file.dev(), file.ino()))
}
