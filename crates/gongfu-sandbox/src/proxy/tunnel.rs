//! One connection of a run, from its request to its end.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use gongfu_core::network::{Destination, Endpoint, Rule, is_of_a_host, is_public};
use gongfu_core::sandbox::{Contact, Reach};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::contacts::Contacts;
use super::head::{self, Request};
use super::hello::{Hello, Progress};
use super::plain::{self, PlainRequest};
use super::refusal::Refusal;
use super::resolver::Resolver;
use super::upstream;

/// The time that a program may take for its request, and for its greeting.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// The time for resolving a name, and for connecting to an address.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The most addresses of a host that are tried.
const MAX_ADDRESSES: usize = 4;
/// The most that is read at once, in bytes.
const BUFFER: usize = 4 * 1024;

/// Tunnels a connection to its host, if it may be reached, and notes whether it was.
pub(super) async fn tunnel(
    mut inside: TcpStream,
    reach: &Reach,
    resolver: &dyn Resolver,
    contacts: &Contacts,
) {
    let request = match timeout(REQUEST_TIMEOUT, read_request(&mut inside, reach)).await {
        Ok(Ok(Ok(request))) => request,
        Ok(Ok(Err(refusal))) => return refuse(&mut inside, &refusal).await,
        // There is nothing to answer.
        Ok(Err(_)) | Err(_) => return,
    };
    let host = request.endpoint.to_string();
    contacts.open(&host);
    let note = |refused: Option<String>| {
        let host = host.clone();
        contacts.close(Contact { host, refused });
    };
    let mut outside = match connect(&request, reach, resolver).await {
        Ok(outside) => outside,
        Err(refusal) => {
            note(Some(refusal.why.clone()));
            return refuse(&mut inside, &refusal).await;
        }
    };
    if let Some(plain) = &request.plain {
        let start = ask(&mut outside, &request.endpoint, plain, reach).await;
        return match start {
            Ok(start) => {
                note(None);
                if inside.write_all(&start).await.is_ok() {
                    let _ = plain::pass_on(&mut inside, &mut outside).await;
                }
            }
            Err(refusal) => {
                note(Some(refusal.why.clone()));
                refuse(&mut inside, &refusal).await;
            }
        };
    }
    let established = b"HTTP/1.1 200 Connection Established\r\n\r\n";
    if inside.write_all(established).await.is_err() {
        return note(Some(
            "the program disconnected without sending anything".to_owned(),
        ));
    }
    let bytes = if reach.allows_plain(&request.endpoint) {
        request.early
    } else {
        let greeting = read_greeting(&mut inside, &request);
        match timeout(REQUEST_TIMEOUT, greeting).await {
            Ok(Ok(Ok(bytes))) => bytes,
            Ok(Ok(Err(why))) => return note(Some(why)),
            Ok(Err(_)) | Err(_) => {
                return note(Some("it sent no TLS data".to_owned()));
            }
        }
    };
    note(None);
    if outside.write_all(&bytes).await.is_ok() {
        let _ = copy_bidirectional(&mut inside, &mut outside).await;
    }
}

async fn read_request(
    inside: &mut TcpStream,
    reach: &Reach,
) -> io::Result<Result<Request, Refusal>> {
    let mut bytes = Vec::new();
    let mut piece = [0; BUFFER];
    loop {
        let read = inside.read(&mut piece).await?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(piece.get(..read).unwrap_or_default());
        match head::read(&bytes, reach) {
            Ok(None) => {}
            Ok(Some(request)) => return Ok(Ok(request)),
            Err(refusal) => return Ok(Err(refusal)),
        }
    }
}

/// Sends a request by plain HTTP; returns the first bytes of the answer, as far as they were looked at.
async fn ask(
    outside: &mut TcpStream,
    endpoint: &Endpoint,
    plain: &PlainRequest,
    reach: &Reach,
) -> Result<Vec<u8>, Refusal> {
    let server = reach.proxy(endpoint);
    let sent = outside.write_all(&plain.head(endpoint, server)).await;
    sent.map_err(|error| unreachable(endpoint, &error.to_string()))?;
    match server {
        Some(server) => upstream::answer_start(outside, server).await,
        None => Ok(Vec::new()),
    }
}

/// Returns a refusal before the connection ends.
async fn refuse(inside: &mut TcpStream, refusal: &Refusal) {
    let answer = async {
        inside.write_all(refusal.answer().as_bytes()).await?;
        inside.shutdown().await?;
        // Unread bytes would make the kernel reset the connection, and drop the answer.
        let mut left = head::MAX_LENGTH;
        let mut piece = [0; BUFFER];
        while left > 0 {
            let read = inside.read(&mut piece).await?;
            if read == 0 {
                break;
            }
            left = left.saturating_sub(read);
        }
        io::Result::Ok(())
    };
    let _ = timeout(REQUEST_TIMEOUT, answer).await;
}

/// Connects to the host of a request, if it may be reached.
async fn connect(
    request: &Request,
    reach: &Reach,
    resolver: &dyn Resolver,
) -> Result<TcpStream, Refusal> {
    let endpoint = &request.endpoint;
    if !reach.allows(endpoint) {
        let why = if reach.build.is_some() {
            format!(
                "{endpoint} is not a host of the package index; if a build needs it, add it to `hosts` below `[dependencies]` in the settings"
            )
        } else {
            let with = reach.grantee.as_ref().map(|grantee| grantee.with(endpoint));
            let advice = with.map(|with| format!("; a person can grant it {with}"));
            format!("{endpoint} is not granted{}", advice.unwrap_or_default())
        };
        return Err(Refusal::new("403 Forbidden", why));
    }
    match (reach.proxy(endpoint), endpoint) {
        (Some(server), _) => {
            let mut stream = upstream::connect(server, resolver).await?;
            if request.plain.is_none() {
                upstream::open_tunnel(&mut stream, server, endpoint).await?;
            }
            Ok(stream)
        }
        (None, Endpoint::Name(destination)) => connect_to_name(destination, reach, resolver).await,
        (None, Endpoint::Address(address)) => {
            // The operator named this address. The services of clouds are no index for all that.
            if !is_of_a_host(address.ip()) {
                let why = format!("{address} is not a host address");
                return Err(Refusal::new("403 Forbidden", why));
            }
            let connected = timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await;
            let why = match connected {
                Ok(Ok(outside)) => {
                    let _ = outside.set_nodelay(true);
                    return Ok(outside);
                }
                Ok(Err(error)) => error.to_string(),
                Err(_) => "it took longer than 10 s".to_owned(),
            };
            Err(unreachable(endpoint, &why))
        }
    }
}

/// The refusal where a host doesn't answer.
fn unreachable(endpoint: &Endpoint, why: &str) -> Refusal {
    Refusal::new(
        "502 Bad Gateway",
        format!("{endpoint} can't be reached: {why}"),
    )
}

/// Connects to a granted name, if it leads to an address that may be reached.
async fn connect_to_name(
    destination: &Destination,
    reach: &Reach,
    resolver: &dyn Resolver,
) -> Result<TcpStream, Refusal> {
    let is_private = reach.private.allow(destination);
    let unreachable = |why: String| Refusal::new("502 Bad Gateway", why);
    let resolved = resolver.resolve(destination, is_private);
    let addresses: Vec<SocketAddr> = match timeout(CONNECT_TIMEOUT, resolved).await {
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
    let nearby = nearby_addresses(destination, reach, resolver).await;
    let is_allowed = |address: &&SocketAddr| {
        let address = address.ip();
        let is_remote = || is_public(address) && !is_own(address);
        is_of_a_host(address) && (is_private || nearby.contains(&address) || is_remote())
    };
    let public: Vec<&SocketAddr> = addresses
        .iter()
        .filter(is_allowed)
        .take(MAX_ADDRESSES)
        .collect();
    if public.is_empty() {
        let why = format!(
            "{} resolves to this machine or its network, not to the internet",
            destination.host
        );
        return Err(Refusal::new("403 Forbidden", why));
    }
    let mut last = None;
    for address in public {
        match timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
            Ok(Ok(outside))
                if !is_private && !nearby.contains(&address.ip()) && is_here(&outside) =>
            {
                last = Some("it is this machine, not the internet".to_owned());
            }
            Ok(Ok(outside)) => {
                // Without this small writes take longer.
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

/// The addresses of private hosts at which this one may lie as well: the files of a package index often have
/// another name of the same machine.
async fn nearby_addresses(
    destination: &Destination,
    reach: &Reach,
    resolver: &dyn Resolver,
) -> BTreeSet<IpAddr> {
    let mut nearby = BTreeSet::new();
    if !reach.beside.allow(destination) {
        return nearby;
    }
    for other in reach.private.0.iter().filter_map(Rule::destination) {
        let resolved = timeout(CONNECT_TIMEOUT, resolver.resolve(&other, true)).await;
        let addresses = resolved.ok().and_then(Result::ok).unwrap_or_default();
        nearby.extend(addresses.iter().map(SocketAddr::ip));
    }
    nearby
}

/// Returns whether an address is this machine's own, however public: only those can be bound.
fn is_own(address: IpAddr) -> bool {
    let binds = |address| UdpSocket::bind(SocketAddr::new(address, 0)).is_ok();
    let reserved = match address {
        IpAddr::V4(_) => Ipv4Addr::new(192, 0, 2, 1).into(),
        IpAddr::V6(_) => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
    };
    // Some machines can bind every address: then `is_here` looks at the connection.
    binds(address) && !binds(reserved)
}

/// Returns whether both ends of a connection are on this machine.
fn is_here(outside: &TcpStream) -> bool {
    let ends = outside.local_addr().ok().zip(outside.peer_addr().ok());
    ends.is_none_or(|(ours, theirs)| ours.ip() == theirs.ip())
}

/// Reads the greeting of TLS, which must name the host of the request; else returns why it doesn't.
async fn read_greeting(
    inside: &mut TcpStream,
    request: &Request,
) -> io::Result<Result<Vec<u8>, String>> {
    let host = match &request.endpoint {
        Endpoint::Name(destination) => Some(&destination.host),
        Endpoint::Address(_) => None,
    };
    let mut hello = Hello::new();
    let mut piece = [0; BUFFER];
    let mut more = request.early.clone();
    loop {
        match hello.take(&more, host) {
            Ok(Progress::Whole) => return Ok(Ok(hello.bytes)),
            Ok(Progress::Part) => {}
            Err(why) => return Ok(Err(why)),
        }
        let read = inside.read(&mut piece).await?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        more = piece.get(..read).unwrap_or_default().to_vec();
    }
}
