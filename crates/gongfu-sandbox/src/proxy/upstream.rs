//! A connection by a proxy of the operator, which resolves names itself.

use std::time::Duration;

use gongfu_core::network::{Endpoint, ProxyServer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::refusal::Refusal;
use super::resolver::Resolver;

/// The time for connecting to the proxy.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The time that the proxy may take to connect to a host.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest head of its answer, in bytes.
const MAX_LENGTH: usize = 16 * 1024;
/// The most fields of its answer.
const MAX_FIELDS: usize = 64;
/// The length of `HTTP/1.1 200`.
const STATUS_LENGTH: usize = 12;

/// The refusal of a request for which the proxy is to blame.
fn refusal(server: &ProxyServer, why: &str) -> Refusal {
    let why = format!(
        "the proxy {} {why}; see `proxy` below `[dependencies]` in the settings",
        server.endpoint
    );
    Refusal::new("502 Bad Gateway", why)
}

/// Connects to the proxy itself.
pub(super) async fn connect(
    server: &ProxyServer,
    resolver: &dyn Resolver,
) -> Result<TcpStream, Refusal> {
    let reaching = async {
        let addresses = match &server.endpoint {
            // It may have any address: the operator named it.
            Endpoint::Name(destination) => resolver.resolve(destination, true).await?,
            Endpoint::Address(address) => vec![*address],
        };
        TcpStream::connect(&*addresses).await
    };
    let stream = match timeout(CONNECT_TIMEOUT, reaching).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return Err(refusal(server, &format!("can't be reached: {error}"))),
        Err(_) => return Err(refusal(server, "can't be reached within 10 s")),
    };
    // Without this small writes take longer.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}

/// Has the proxy connect to a host.
pub(super) async fn open_tunnel(
    stream: &mut TcpStream,
    server: &ProxyServer,
    endpoint: &Endpoint,
) -> Result<(), Refusal> {
    let authorization = server.authorization.as_ref();
    let authorization = authorization.map_or_else(String::new, |value| {
        format!("Proxy-Authorization: {}\r\n", value.expose())
    });
    let request = format!("CONNECT {endpoint} HTTP/1.1\r\nHost: {endpoint}\r\n{authorization}\r\n");
    let asked = async {
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        // Byte by byte, because what comes behind it is the host's.
        while !answer.ends_with(b"\r\n\r\n") && answer.len() < MAX_LENGTH {
            answer.push(stream.read_u8().await?);
        }
        std::io::Result::Ok(answer)
    };
    let answer = match timeout(ANSWER_TIMEOUT, asked).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => return Err(refusal(server, &format!("ends the connection: {error}"))),
        Err(_) => return Err(refusal(server, "doesn't answer within 30 s")),
    };
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut response = httparse::Response::new(&mut fields);
    let status = match response.parse(&answer) {
        Ok(httparse::Status::Complete(_)) => response.code,
        _ => None,
    };
    match status {
        Some(200..=299) => Ok(()),
        Some(407) => Err(no_login(server)),
        Some(code) => {
            let why = format!("answers {code} to a connection to {endpoint}");
            Err(refusal(server, &why))
        }
        None => Err(refusal(server, "doesn't speak HTTP")),
    }
}

/// The first bytes of an answer by the proxy, unless it wants another login.
pub(super) async fn answer_start(
    stream: &mut TcpStream,
    server: &ProxyServer,
) -> Result<Vec<u8>, Refusal> {
    let mut start = vec![0; STATUS_LENGTH];
    match stream.read_exact(&mut start).await {
        Ok(_) if start.ends_with(b" 407") => Err(no_login(server)),
        Ok(_) => Ok(start),
        Err(error) => Err(refusal(server, &format!("ends the connection: {error}"))),
    }
}

fn no_login(server: &ProxyServer) -> Refusal {
    let why = match server.authorization {
        Some(_) => "refuses the user and password in its URL (407)",
        None => "asks for a user and password (407), which its URL doesn't have",
    };
    refusal(server, why)
}
