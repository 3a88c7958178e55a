//! The test network: the namespace of the server with its proxies, and one of all other hosts.
//!
//! Addresses of every kind answer there, so that a refusal can only come from a rule. It is connected to no other
//! network.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::unix::net::{SocketAddr as LocalAddress, UnixListener};
use std::path::Path;
use std::sync::mpsc;

use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use rustix::thread::UnshareFlags;
use tempfile::TempDir;

use super::host::{Hosts, OTHER_PORT, PORT, PRIVATE_PORT, everywhere};
use super::name::{self, GOOD};
use super::netlink::Netlink;

/// The server's own addresses, besides those of every machine.
const OWN: &[(&str, &str, u8)] = &[
    ("server", "11.22.0.1", 32),
    ("server", "2a00:1::1", 128),
    // A whole network that is this machine.
    ("lo", "11.33.0.1", 24),
];
/// Addresses of other hosts, besides those of the names.
const OTHERS: &[&str] = &[LAST, "198.51.100.1", "255.1.1.1"];
/// The address for connections that prove that all earlier ones were accepted.
const LAST: &str = "11.22.0.250";
/// The same for hosts beside the server.
const LAST_HERE: &str = "127.0.0.250";
/// The name of an abstract socket, which an attack uses.
const ABSTRACT: &str = "gongfu-proxy-attack";

/// The test network, until this process ends.
pub(super) struct TestNetwork {
    pub(super) folder: TempDir,
    pub(super) hosts: Hosts,
    /// The listener of the host that speaks TLS.
    pub(super) tls: std::net::TcpListener,
    /// The system has IPv6.
    pub(super) has_six: bool,
}

impl TestNetwork {
    /// Makes the network and enters it; no host of another network can be reached from then on.
    ///
    /// # Errors
    /// The system doesn't allow a step, which the text names.
    pub(super) fn enter() -> Result<Self, String> {
        let at = |step: &'static str| move |error: io::Error| format!("{step}: {error}");
        leave().map_err(at("no namespaces can be made"))?;
        let folder = tempfile::tempdir().map_err(at("no folder"))?;
        resolve_by(folder.path()).map_err(at("names can't be resolved in another way"))?;
        let server = Netlink::new().map_err(at("no netlink"))?;
        server.up("lo").map_err(at("no loopback"))?;
        let hosts = Hosts::default();
        let (named, namespace) = mpsc::channel();
        let (paired, pairing) = mpsc::channel::<bool>();
        // The sockets of this thread keep its namespace alive.
        let others = std::thread::spawn(move || -> io::Result<_> {
            alone(UnshareFlags::NEWNET)?;
            let _ = named.send(File::open("/proc/thread-self/ns/net")?);
            let has_six = pairing.recv().map_err(io::Error::other)?;
            inhabit(has_six)
        });
        let namespace = namespace.recv().map_err(io::Error::other);
        let namespace = namespace.map_err(at("no second namespace"))?;
        let paired_them = server.pair("server", "others", &namespace);
        paired_them.map_err(at("no interfaces that lead to each other"))?;
        server.up("server").map_err(at("no interface"))?;
        let has_six = Path::new("/proc/net/if_inet6").exists();
        for (interface, address, bits) in OWN {
            let address: IpAddr = address.parse().unwrap();
            if has_six || address.is_ipv4() {
                let added = server.address(interface, address, *bits);
                added.map_err(at("no address"))?;
            }
        }
        let _ = paired.send(has_six);
        let others = others.join().map_err(|_| "no hosts".to_owned())?;
        let (streams, datagrams, tls) = others.map_err(at("no hosts"))?;
        for is_six in [false, true].into_iter().take(1 + usize::from(has_six)) {
            let routed = server.route("server", is_six);
            routed.map_err(at("no route"))?;
        }
        for port in [PORT, OTHER_PORT] {
            hosts.serve(everywhere(port).map_err(at("nothing listens"))?);
        }
        for stream in streams {
            hosts.serve(stream);
        }
        hosts.answer(datagrams, GOOD.parse().unwrap());
        let questions = UdpSocket::bind("127.0.0.1:53").map_err(at("no DNS"))?;
        std::thread::spawn(|| name::serve(questions));
        let local = "127.0.0.1".parse().unwrap();
        let datagrams = UdpSocket::bind(("127.0.0.1", PORT)).map_err(at("no datagrams"))?;
        hosts.answer(datagrams, local);
        let address =
            <LocalAddress as std::os::linux::net::SocketAddrExt>::from_abstract_name(ABSTRACT);
        let abstracted = UnixListener::bind_addr(&address.map_err(at("no name"))?);
        hosts.local(abstracted.map_err(at("no socket without a path"))?);
        Ok(Self {
            folder,
            hosts,
            tls,
            has_six,
        })
    }

    /// The addresses for the connections of [`Hosts::settle`].
    pub(super) fn last() -> [SocketAddr; 3] {
        let at = |address: &str, port| SocketAddr::new(address.parse().unwrap(), port);
        [at(LAST, PORT), at(LAST, OTHER_PORT), at(LAST_HERE, PORT)]
    }
}

/// The sockets of the other hosts: streams, datagrams, and the one for TLS.
type Listeners = (Vec<std::net::TcpListener>, UdpSocket, std::net::TcpListener);

/// Gives the namespace of this thread all addresses of others.
fn inhabit(has_six: bool) -> io::Result<Listeners> {
    let others = Netlink::new()?;
    others.up("lo")?;
    others.up("others")?;
    let named = name::NAMES.iter().flat_map(|(_, answers)| answers.iter());
    let named = named.flat_map(|answer| answer.iter().copied());
    for address in named.chain(OTHERS.iter().copied()) {
        let address: IpAddr = address.parse().unwrap();
        let is_own = OWN.iter().any(|(_, own, _)| own.parse() == Ok(address));
        if is_own || !can_be_a_host(address) || (address.is_ipv6() && !has_six) {
            continue;
        }
        let bits = if address.is_ipv4() { 32 } else { 128 };
        match others.address("others", address, bits) {
            // Several names may have it.
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(io::Error::other(format!("{address}: {error}")));
            }
            _ => {}
        }
    }
    others.route("others", false)?;
    if has_six {
        others.route("others", true)?;
    }
    let one = std::net::TcpListener::bind(("10.0.0.1", PRIVATE_PORT))?;
    let streams = vec![everywhere(PORT)?, everywhere(OTHER_PORT)?, one];
    let tls = std::net::TcpListener::bind((GOOD, 443))?;
    Ok((streams, UdpSocket::bind((GOOD, PORT))?, tls))
}

/// Returns whether another machine can have this address.
fn can_be_a_host(address: IpAddr) -> bool {
    let is_mapped = address != address.to_canonical();
    let is_link = matches!(address, IpAddr::V6(six) if six.is_unicast_link_local());
    let is_everybody = address == IpAddr::from([255, 255, 255, 255]);
    let is_here = address.to_string().starts_with("11.33.");
    let is_none = address.is_loopback() || address.is_unspecified() || address.is_multicast();
    !(is_mapped || is_link || is_everybody || is_here || is_none)
}

/// Enters new network and mount namespaces; an ordinary user needs a user namespace first.
fn leave() -> io::Result<()> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    if user.is_root() {
        alone(UnshareFlags::NEWNET | UnshareFlags::NEWNS)?;
    } else {
        alone(UnshareFlags::NEWUSER | UnshareFlags::NEWNET | UnshareFlags::NEWNS)?;
        std::fs::write("/proc/self/setgroups", "deny")?;
        std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    }
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    Ok(mount_change("/", private)?)
}

#[expect(
    unsafe_code,
    reason = "no library offers it safely; only `FILES` would be unsafe, which is excluded"
)]
fn alone(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: only `FILES` could close handles of another thread.
    Ok(unsafe { rustix::thread::unshare_unsafe(flags - UnshareFlags::FILES) }?)
}

/// Makes the system use the DNS server of this network.
fn resolve_by(folder: &Path) -> io::Result<()> {
    for (name, text) in [
        ("resolv.conf", "nameserver 127.0.0.1\noptions attempts:1\n"),
        ("nsswitch.conf", "hosts: files dns\n"),
        ("hosts", "127.0.0.1 localhost\n"),
    ] {
        let (ours, theirs) = (folder.join(name), Path::new("/etc").join(name));
        std::fs::write(&ours, text)?;
        if theirs.exists() {
            mount_bind(&ours, &theirs)?;
        }
    }
    Ok(())
}
