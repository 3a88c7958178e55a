//! One connection of a run, from what it asks for to its end.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use gongfu_core::network::{Destination, Rule, is_of_a_host, is_public};
use gongfu_core::sandbox::{Contact, Reach};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Contacts;
use super::head::{self, Refusal};
use super::hello::{Heard, Hello};
use super::resolver::Resolver;

/// How long a program may take to say what it wants.
const SAYING: Duration = Duration::from_secs(10);
/// How long a name may take to be resolved, and an address to answer.
const CONNECTING: Duration = Duration::from_secs(10);
/// How many addresses of a host are tried.
const ADDRESSES: usize = 4;
/// How much is read at a time, in bytes.
const PIECE: usize = 4 * 1024;

/// Carries a connection to where it may lead; what becomes of it is told once.
pub(super) async fn carry(
    mut inside: TcpStream,
    reach: &Reach,
    resolver: &dyn Resolver,
    contacts: &Contacts,
) {
    let asked = match timeout(SAYING, asked(&mut inside)).await {
        Ok(Ok(Ok(asked))) => asked,
        Ok(Ok(Err(refusal))) => return refuse(&mut inside, &refusal).await,
        // It says nothing that anybody could answer.
        Ok(Err(_)) | Err(_) => return,
    };
    let (destination, early) = asked;
    let host = destination.to_string();
    contacts.open(&host);
    let tell = |refused: Option<String>| {
        let host = host.clone();
        contacts.close(Contact { host, refused });
    };
    let mut outside = match reached(&destination, reach, resolver).await {
        Ok(outside) => outside,
        Err(refusal) => {
            tell(Some(refusal.why.clone()));
            return refuse(&mut inside, &refusal).await;
        }
    };
    let established = b"HTTP/1.1 200 Connection Established\r\n\r\n";
    if inside.write_all(established).await.is_err() {
        return tell(Some("the program left before it said anything".to_owned()));
    }
    let greeted = timeout(SAYING, greeted(&mut inside, &destination, &early)).await;
    let bytes = match greeted {
        Ok(Ok(Ok(bytes))) => bytes,
        Ok(Ok(Err(why))) => return tell(Some(why)),
        Ok(Err(_)) | Err(_) => {
            return tell(Some("it said nothing by TLS".to_owned()));
        }
    };
    tell(None);
    if outside.write_all(&bytes).await.is_ok() {
        let _ = copy_bidirectional(&mut inside, &mut outside).await;
    }
}

/// What is asked for, and what was said after it already.
type Asked = (Destination, Vec<u8>);

async fn asked(inside: &mut TcpStream) -> io::Result<Result<Asked, Refusal>> {
    let mut bytes = Vec::new();
    let mut piece = [0; PIECE];
    loop {
        let read = inside.read(&mut piece).await?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(piece.get(..read).unwrap_or_default());
        match head::read(&bytes) {
            Ok(None) => {}
            Ok(Some((destination, length))) => {
                let early = bytes.split_off(length.min(bytes.len()));
                return Ok(Ok((destination, early)));
            }
            Err(refusal) => return Ok(Err(refusal)),
        }
    }
}

/// Says why not, so that the program is told before the connection ends.
async fn refuse(inside: &mut TcpStream, refusal: &Refusal) {
    let told = async {
        inside.write_all(refusal.answer().as_bytes()).await?;
        inside.shutdown().await?;
        // What it still says would have the system take the answer back.
        let mut left = head::LONGEST;
        let mut piece = [0; PIECE];
        while left > 0 {
            let read = inside.read(&mut piece).await?;
            if read == 0 {
                break;
            }
            left = left.saturating_sub(read);
        }
        io::Result::Ok(())
    };
    let _ = timeout(SAYING, told).await;
}

/// A connection to where it leads, if it may.
async fn reached(
    destination: &Destination,
    reach: &Reach,
    resolver: &dyn Resolver,
) -> Result<TcpStream, Refusal> {
    if !reach.rules.allow(destination) {
        let why = format!(
            "{destination} was not granted; whoever runs gongfu grants it by `gongfu grant add SKILL {destination}`"
        );
        return Err(Refusal::new("403 Forbidden", why));
    }
    let is_private = reach.private.allow(destination);
    let unreachable = |why: String| Refusal::new("502 Bad Gateway", why);
    let resolved = resolver.resolve(destination, is_private);
    let addresses: Vec<SocketAddr> = match timeout(CONNECTING, resolved).await {
        Ok(Ok(addresses)) => addresses,
        Ok(Err(error)) => {
            let why = format!("the name {} can't be resolved: {error}", destination.host);
            return Err(unreachable(why));
        }
        Err(_) => {
            let why = format!("the name {} wasn't resolved within 10 s", destination.host);
            return Err(unreachable(why));
        }
    };
    let near = neighbours(destination, reach, resolver).await;
    let may_be = |address: &&SocketAddr| {
        let address = address.ip();
        let is_elsewhere = || is_public(address) && !is_own(address);
        is_of_a_host(address) && (is_private || near.contains(&address) || is_elsewhere())
    };
    let public: Vec<&SocketAddr> = addresses.iter().filter(may_be).take(ADDRESSES).collect();
    if public.is_empty() {
        let why = format!(
            "{} leads to this machine or its network, and not to the internet",
            destination.host
        );
        return Err(Refusal::new("403 Forbidden", why));
    }
    let mut last = None;
    for address in public {
        match timeout(CONNECTING, TcpStream::connect(address)).await {
            Ok(Ok(outside))
                if !is_private && !near.contains(&address.ip()) && is_here(&outside) =>
            {
                last = Some("it is this machine, and not on the internet".to_owned());
            }
            Ok(Ok(outside)) => {
                // Where it can't be, small pieces take longer.
                let _ = outside.set_nodelay(true);
                return Ok(outside);
            }
            Ok(Err(error)) => last = Some(error.to_string()),
            Err(_) => last = Some("it took longer than 10 s".to_owned()),
        }
    }
    let why = format!(
        "{destination} can't be reached: {}",
        last.unwrap_or_default()
    );
    Err(unreachable(why))
}

/// The addresses at which a host may be because others are there that may be anywhere: what an index names
/// is often the index by another name.
async fn neighbours(
    destination: &Destination,
    reach: &Reach,
    resolver: &dyn Resolver,
) -> BTreeSet<IpAddr> {
    let mut near = BTreeSet::new();
    if !reach.beside.allow(destination) {
        return near;
    }
    for other in reach.private.0.iter().filter_map(Rule::destination) {
        let resolved = timeout(CONNECTING, resolver.resolve(&other, true)).await;
        let addresses = resolved.ok().and_then(Result::ok).unwrap_or_default();
        near.extend(addresses.iter().map(SocketAddr::ip));
    }
    near
}

/// Whether an address is this machine's own, however public: nothing else can be bound to.
fn is_own(address: IpAddr) -> bool {
    let binds = |address| UdpSocket::bind(SocketAddr::new(address, 0)).is_ok();
    let nobodys = match address {
        IpAddr::V4(_) => Ipv4Addr::new(192, 0, 2, 1).into(),
        IpAddr::V6(_) => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
    };
    // Some machines let anything be bound to: then it is seen once there is a connection.
    binds(address) && !binds(nobodys)
}

/// Whether both ends are of this machine, by whatever address.
fn is_here(outside: &TcpStream) -> bool {
    let ends = outside.local_addr().ok().zip(outside.peer_addr().ok());
    ends.is_none_or(|(ours, theirs)| ours.ip() == theirs.ip())
}

/// What is said first by TLS, which is for that host; or why it isn't.
async fn greeted(
    inside: &mut TcpStream,
    destination: &Destination,
    early: &[u8],
) -> io::Result<Result<Vec<u8>, String>> {
    let mut hello = Hello::new();
    let mut piece = [0; PIECE];
    let mut more = early.to_vec();
    loop {
        match hello.take(&more, &destination.host) {
            Ok(Heard::Whole) => return Ok(Ok(hello.bytes)),
            Ok(Heard::Part) => {}
            Err(why) => return Ok(Err(why)),
        }
        let read = inside.read(&mut piece).await?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        more = piece.get(..read).unwrap_or_default().to_vec();
    }
}
