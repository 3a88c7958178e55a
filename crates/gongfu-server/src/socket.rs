//! Unix sockets that only their owner may use, and the limit of open files.

use std::path::Path;

/// Raises the limit of open files and sockets to what the system allows.
pub fn raise_descriptor_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        let raised = Rlimit {
            current: limit.maximum,
            ..limit
        };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            tracing::debug!(%error, "can't raise the limit of open files");
        }
    }
}

/// Removes a socket without a listener.
///
/// # Errors
/// A program listens there, or another file is at the path.
#[cfg(unix)]
pub(crate) async fn remove_stale(path: &Path) -> std::io::Result<()> {
    use std::io;

    use rustix::fs::{FileType, lstat};

    let Ok(found) = lstat(path) else {
        return Ok(());
    };
    if FileType::from_raw_mode(found.st_mode) != FileType::Socket {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "a file that is not a socket is already there; use another path",
        ));
    }
    match tokio::net::UnixStream::connect(path).await {
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::AddrInUse,
            "another program is listening there; stop it, or use another path",
        )),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            rustix::fs::unlink(path)?;
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Listens at a path; only the owner of this process may connect.
#[cfg(unix)]
pub(crate) fn bind(path: &Path) -> std::io::Result<std::os::unix::net::UnixListener> {
    use rustix::fs::Mode;

    // Not by chmod: somebody could connect before it.
    let before = rustix::process::umask(Mode::RWXG | Mode::RWXO | Mode::XUSR);
    let bound = std::os::unix::net::UnixListener::bind(path);
    rustix::process::umask(before);
    let socket = bound?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Removes the file of a closed socket.
pub(crate) fn remove(path: &Path) {
    #[cfg(unix)]
    if let Err(error) = rustix::fs::unlink(path) {
        tracing::debug!(path = %path.display(), %error, "can't remove the socket");
    }
    #[cfg(not(unix))]
    let _ = path;
}
