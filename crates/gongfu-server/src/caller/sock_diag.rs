//! The user of a socket of this machine, asked of the kernel (`sock_diag(7)`).
//!
//! The messages are plain bytes in the machine's order; ports and addresses are in that of the network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, sendto,
    socket_with,
};

/// The time that the kernel has for an answer. It answers before the question returns; anything in its
/// place may not.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(100);
/// The message that asks about a socket, and the one that answers.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const IPPROTO_TCP: u8 = 6;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
/// The state of a connection that neither end has closed.
const ESTABLISHED: u8 = 1;
/// The user that stands for all users that a user namespace doesn't know.
const OVERFLOW_UID: u32 = 65_534;
/// The length of the header of a message.
const HEADER: usize = 16;

/// The user of the socket that a client of this machine is connected with; `None` if that can't be known.
pub(super) fn uid(client: SocketAddr, server: SocketAddr) -> Option<u32> {
    let (client, server) = (canonical(client), canonical(server));
    if !client.ip().is_loopback() || !server.ip().is_loopback() {
        return None;
    }
    match ask(&request(client, server)) {
        Ok(answer) => user(&answer, client, server),
        Err(error) => {
            tracing::debug!(%error, "the system doesn't report the owner of a connection");
            None
        }
    }
}

/// An address without the form in which IPv6 has those of IPv4: the kernel finds both by the same one.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

fn ask(request: &[u8]) -> rustix::io::Result<Vec<u8>> {
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?;
    set_socket_timeout(&socket, Timeout::Recv, Some(ANSWER_TIMEOUT))?;
    let kernel = netlink::SocketAddrNetlink::new(0, 0);
    sendto(&socket, request, SendFlags::empty(), &kernel)?;
    let mut answer = vec![0; 1024];
    let (length, _) = recv(&socket, &mut answer, RecvFlags::empty())?;
    answer.truncate(length);
    Ok(answer)
}

/// The question for one socket, by its own address and that of the other end.
fn request(own: SocketAddr, other: SocketAddr) -> Vec<u8> {
    let mut body = Vec::with_capacity(56);
    let family = if own.is_ipv4() { AF_INET } else { AF_INET6 };
    body.extend([family, IPPROTO_TCP, 0, 0]);
    // In any state: the answer tells which.
    body.extend(u32::MAX.to_ne_bytes());
    body.extend(own.port().to_be_bytes());
    body.extend(other.port().to_be_bytes());
    body.extend(address(own.ip()));
    body.extend(address(other.ip()));
    // At any interface, with any cookie.
    body.extend(0_u32.to_ne_bytes());
    body.extend(u64::MAX.to_ne_bytes());

    let length = u32::try_from(HEADER + body.len()).unwrap_or_default();
    let mut message = Vec::with_capacity(HEADER + body.len());
    message.extend(length.to_ne_bytes());
    message.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    message.extend(NLM_F_REQUEST.to_ne_bytes());
    // The number of the message, and the sender's: the socket is for this one alone.
    message.extend([0; 8]);
    message.extend(body);
    message
}

/// The field for an address.
fn address(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(ip) => {
            let mut field = [0; 16];
            field[..4].copy_from_slice(&ip.octets());
            field
        }
        IpAddr::V6(ip) => ip.octets(),
    }
}

/// The user in an answer, as long as it is about this connection, and the socket is open.
///
/// A socket that its program has closed may still be there, as nobody's or the superuser's.
fn user(answer: &[u8], own: SocketAddr, other: SocketAddr) -> Option<u32> {
    let kind = bytes(answer, 4).map(u16::from_ne_bytes)?;
    let body = answer.get(HEADER..)?;
    let [family, state] = bytes(body, 0)?;
    let ports = [bytes(body, 4)?, bytes(body, 6)?].map(u16::from_be_bytes);
    let ips = [bytes(body, 8)?, bytes(body, 24)?].map(|field: [u8; 16]| match (family, field) {
        (AF_INET, [a, b, c, d, ..]) => Ipv4Addr::new(a, b, c, d).into(),
        _ => IpAddr::from(Ipv6Addr::from(field)).to_canonical(),
    });
    let uid = bytes(body, 64).map(u32::from_ne_bytes)?;
    let inode = bytes(body, 68).map(u32::from_ne_bytes)?;
    let is_it = kind == SOCK_DIAG_BY_FAMILY
        && ports == [own.port(), other.port()]
        && ips == [own.ip(), other.ip()];
    (is_it && state == ESTABLISHED && inode != 0 && uid != OVERFLOW_UID).then_some(uid)
}

/// The bytes of a field.
fn bytes<const N: usize>(message: &[u8], at: usize) -> Option<[u8; N]> {
    message.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests;
