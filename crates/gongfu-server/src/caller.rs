//! The user at the other end of a connection.

#[cfg(target_os = "linux")]
use std::net::SocketAddr;

use tokio::net::TcpStream;

#[cfg(target_os = "linux")]
mod sock_diag;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests;

/// The user at the other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    /// The server's own user.
    Own,
    /// Another user of this machine.
    Other,
    /// A user that the system doesn't tell.
    Unknown,
    /// A proxy, which anybody may be behind.
    Proxy,
}

impl Caller {
    /// The user at the other end of a TCP connection. Asked once for each connection, as soon as it is
    /// there: later its addresses may be another one's.
    pub(crate) fn of(stream: &TcpStream) -> Self {
        match is_own(stream) {
            Some(true) => Self::Own,
            Some(false) => Self::Other,
            None => Self::Unknown,
        }
    }
}

/// Returns whether the client's socket belongs to the server's user; `None` where that can't be known. Takes
/// some 16 µs.
#[cfg(target_os = "linux")]
fn is_own(stream: &TcpStream) -> Option<bool> {
    is_own_by(stream, sock_diag::uid)
}

/// The same, asking this function.
#[cfg(target_os = "linux")]
fn is_own_by(
    stream: &TcpStream,
    ask: impl FnOnce(SocketAddr, SocketAddr) -> Option<u32>,
) -> Option<bool> {
    let (client, server) = (stream.peer_addr().ok()?, stream.local_addr().ok()?);
    let uid = ask(client, server)?;
    // A connection that was reset holds its addresses no longer, so the answer may be about another one.
    stream.peer_addr().ok()?;
    Some(uid == rustix::process::geteuid().as_raw())
}

#[cfg(not(target_os = "linux"))]
fn is_own(_stream: &TcpStream) -> Option<bool> {
    None
}
