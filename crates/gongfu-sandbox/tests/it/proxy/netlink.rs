//! Makes interfaces, addresses and routes, as `ip` does (rtnetlink(7)).

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, recv, sendto, socket};

/// Kinds of messages.
const NEW_LINK: u16 = 16;
const NEW_ADDRESS: u16 = 20;
const NEW_ROUTE: u16 = 24;
const ERROR: u16 = 2;
/// Flags of a request that creates an object, and is acknowledged.
const CREATE: u16 = 0x001 | 0x004 | 0x200 | 0x400;
/// Flags of a request that changes an object, and is acknowledged.
const CHANGE: u16 = 0x001 | 0x004;
const FAMILY_4: u8 = 2;
const FAMILY_6: u8 = 10;
/// The flag of an IPv6 address without duplicate detection (`IFA_F_NODAD`).
const AT_ONCE: u32 = 2;

/// A netlink socket of a network namespace.
pub(super) struct Netlink(OwnedFd);

impl Netlink {
    pub(super) fn new() -> io::Result<Self> {
        let (family, kind) = (AddressFamily::NETLINK, SocketType::RAW);
        // The default protocol is the one for routes.
        Ok(Self(socket(family, kind, None)?))
    }

    /// Makes two interfaces that lead to each other: the second one in the namespace of this handle.
    pub(super) fn pair(&self, here: &str, there: &str, namespace: impl AsFd) -> io::Result<()> {
        let namespace = namespace.as_fd().as_raw_fd().to_ne_bytes();
        let peer = [
            link(0, false),
            attribute(3, &named(there)),
            attribute(28, &namespace),
        ]
        .concat();
        let of_pair = attribute(2, &attribute(1, &peer));
        let kind = [attribute(1, b"veth"), of_pair].concat();
        let body = [
            link(0, false),
            attribute(3, &named(here)),
            attribute(18, &kind),
        ]
        .concat();
        self.ask(NEW_LINK, CREATE, &body)
    }

    /// Brings an interface up.
    pub(super) fn up(&self, name: &str) -> io::Result<()> {
        self.ask(NEW_LINK, CHANGE, &link(index(name)?, true))
    }

    /// Gives an interface an address, in a network of so many bits.
    pub(super) fn address(&self, name: &str, address: IpAddr, bits: u8) -> io::Result<()> {
        let (family, bytes) = bytes_of(address);
        let mut body = vec![family, bits, 0, 0];
        body.extend(index(name)?.to_ne_bytes());
        body.extend([attribute(2, &bytes), attribute(1, &bytes)].concat());
        if family == FAMILY_6 {
            body.extend(attribute(8, &AT_ONCE.to_ne_bytes()));
        }
        self.ask(NEW_ADDRESS, CREATE, &body)
    }

    /// Makes an interface the default route.
    pub(super) fn route(&self, name: &str, is_six: bool) -> io::Result<()> {
        let family = if is_six { FAMILY_6 } else { FAMILY_4 };
        // The main table, the protocol "boot", the scope "link", the type "unicast".
        let scope = if is_six { 0 } else { 253 };
        let mut body = vec![family, 0, 0, 0, 254, 3, scope, 1, 0, 0, 0, 0];
        body.extend(attribute(4, &index(name)?.to_ne_bytes()));
        self.ask(NEW_ROUTE, CREATE, &body)
    }

    fn ask(&self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        let length = u32::try_from(16 + body.len()).map_err(io::Error::other)?;
        let mut message = length.to_ne_bytes().to_vec();
        message.extend([kind.to_ne_bytes(), flags.to_ne_bytes()].concat());
        message.extend([0; 8]);
        message.extend(body);
        let kernel = SocketAddrNetlink::new(0, 0);
        sendto(&self.0, &message, SendFlags::empty(), &kernel)?;
        let mut answer = [0; 4_096];
        let (read, _) = recv(&self.0, &mut answer[..], RecvFlags::empty())?;
        let answer = answer.get(..read).unwrap_or_default();
        let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok());
        let error = answer.get(16..20).and_then(|bytes| bytes.try_into().ok());
        match (kind.map(u16::from_ne_bytes), error.map(i32::from_ne_bytes)) {
            (Some(ERROR), Some(0)) => Ok(()),
            (Some(ERROR), Some(error)) => Err(io::Error::from_raw_os_error(-error)),
            _ => Err(io::Error::other("the kernel doesn't answer as it should")),
        }
    }
}

fn index(name: &str) -> io::Result<u32> {
    let any = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    Ok(rustix::net::netdevice::name_to_index(&any, name)?)
}

/// `struct ifinfomsg`: an interface with its state.
fn link(index: u32, is_up: bool) -> Vec<u8> {
    let used = u32::from(is_up).to_ne_bytes();
    [[0; 4], index.to_ne_bytes(), used, used].concat()
}

fn attribute(kind: u16, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(4 + data.len()).unwrap();
    let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn named(name: &str) -> Vec<u8> {
    [name.as_bytes(), &[0]].concat()
}

fn bytes_of(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(address) => (FAMILY_4, address.octets().to_vec()),
        IpAddr::V6(address) => (FAMILY_6, address.octets().to_vec()),
    }
}
