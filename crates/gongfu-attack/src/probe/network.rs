//! Probes that speak with somebody outside; all of it stays on the machine.

use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use crate::goal::reached_if;
use crate::probe::Probe;
use crate::system::{call, contains, temporary};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(
        "network::loopback",
        "Connects to a service of the machine.",
        |bait| TcpStream::connect((Ipv4Addr::LOCALHOST, bait.port)).map(drop),
    ),
    Probe::new(
        "network::loopback_6",
        "Connects to a service of the machine by IPv6.",
        |bait| {
            let port = bait.port_6.ok_or(std::io::ErrorKind::AddrNotAvailable)?;
            TcpStream::connect((Ipv6Addr::LOCALHOST, port)).map(drop)
        },
    )
    .depends_on("IPv6"),
    Probe::new(
        "network::datagram",
        "Sends a datagram to the machine itself.",
        |bait| {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
            socket
                .send_to(b"x", (Ipv4Addr::LOCALHOST, bait.port))
                .map(drop)
        },
    ),
    Probe::new(
        "network::listen",
        "Offers a service on the machine.",
        |_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map(drop),
    ),
    Probe::new("network::raw_packets", "Makes packets by itself.", |_| {
        socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP)
    })
    .root(),
    Probe::new(
        "network::all_packets",
        "Listens to every packet of the machine.",
        |_| socket(libc::AF_PACKET, libc::SOCK_RAW, 0),
    )
    .root()
    .depends_on("sockets for packets"),
    Probe::new(
        "network::netlink",
        "Asks the kernel about networks.",
        |_| socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE),
    ),
    Probe::new(
        "network::vsock",
        "Speaks with the machine that this machine runs on.",
        |_| socket(libc::AF_VSOCK, libc::SOCK_STREAM, 0),
    )
    .depends_on("sockets between machines"),
    Probe::new(
        "network::kernel_crypto",
        "Has the kernel compute, by a socket.",
        |_| socket(libc::AF_ALG, libc::SOCK_SEQPACKET, 0),
    )
    .depends_on("sockets for computing"),
    Probe::new(
        "network::any_family",
        "Makes a socket of any other kind.",
        |_| {
            let mut families = 3..46;
            let kinds = [libc::SOCK_RAW, libc::SOCK_DGRAM, libc::SOCK_STREAM];
            let opens = |family| {
                kinds
                    .into_iter()
                    .any(|kind| socket(family, kind, 0).is_ok())
            };
            reached_if(families.any(opens))
        },
    ),
    Probe::new(
        "network::pair_of_datagrams",
        "Makes a pair of sockets that can be connected elsewhere.",
        |_| {
            let mut pair = [0_u8; 8];
            call!(
                libc::SYS_socketpair,
                libc::AF_UNIX,
                libc::SOCK_DGRAM,
                0,
                &mut pair[..]
            )
            .map(drop)
        },
    ),
    Probe::new(
        "network::unix_path",
        "Connects to a service by the path of its socket.",
        |bait| UnixStream::connect(&bait.socket).map(drop),
    ),
    Probe::new(
        "network::unix_name",
        "Connects to a service by the name of its socket.",
        |bait| {
            let address = SocketAddr::from_abstract_name(&bait.name)?;
            UnixStream::connect_addr(&address).map(drop)
        },
    ),
    Probe::new(
        "network::unix_listen",
        "Offers a service by the path of a socket.",
        |_| UnixListener::bind(temporary("offered")).map(drop),
    ),
    Probe::new(
        "network::interfaces_listed",
        "Reads which networks the machine is in.",
        |_| {
            let text = fs::read_to_string("/proc/self/net/dev")?;
            let others = text
                .lines()
                .skip(2)
                .filter(|line| !line.trim().starts_with("lo:"));
            reached_if(others.count() > 0)
        },
    )
    .depends_on("a network besides its own"),
    Probe::new(
        "network::services_listed",
        "Reads where services of the machine listen.",
        |bait| {
            let text = fs::read_to_string("/proc/self/net/tcp")?;
            reached_if(text.contains(&format!(":{:04X} ", bait.port)))
        },
    ),
    Probe::new(
        "network::sockets_listed",
        "Reads the paths of the machine's sockets.",
        |bait| {
            let text = fs::read("/proc/self/net/unix")?;
            reached_if(contains(&text, bait.token.as_bytes()))
        },
    ),
];

fn socket(family: i32, kind: i32, protocol: i32) -> std::io::Result<()> {
    let socket = call!(libc::SYS_socket, family, kind, protocol)?;
    call!(libc::SYS_close, socket).map(drop)
}
