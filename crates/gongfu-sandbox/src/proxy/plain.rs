//! A download by plain HTTP, which only a build may ask for, and only of an index that the operator configured so.
//!
//! One request a connection (RFC 9112, 9.6): its head is written anew, so that nothing of what was said to the proxy
//! reaches the host.

use std::io;

use gongfu_core::network::{Endpoint, ProxyServer};
use gongfu_core::sandbox::Reach;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::refusal::Refusal;

/// The fields that are for one connection alone (RFC 9110, 7.6.1), and `Host`, which the address says.
const DROPPED: [&str; 8] = [
    "connection",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "content-length",
];

/// The request of a program, without what was for the proxy.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PlainRequest {
    method: &'static str,
    /// The path with the query.
    target: String,
    fields: Vec<(String, Vec<u8>)>,
}

/// Reads the request for a URL of a plain host.
///
/// # Errors
/// It is no download, or the host isn't reached without TLS.
pub(super) fn read(
    request: &httparse::Request<'_, '_>,
    reach: &Reach,
) -> Result<(Endpoint, PlainRequest), Refusal> {
    let by_tls = || {
        Refusal::new(
            "403 Forbidden",
            "only TLS connections are allowed; use an https:// address",
        )
    };
    let url = request.path.unwrap_or_default();
    let rest = url.strip_prefix("http://").ok_or_else(by_tls)?;
    let at = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, target) = rest.split_at_checked(at).unwrap_or((rest, ""));
    let endpoint: Option<Endpoint> = authority
        .parse()
        .or_else(|_| format!("{authority}:80").parse())
        .ok();
    let endpoint = endpoint.filter(|endpoint| reach.allows_plain(endpoint));
    let endpoint = endpoint.ok_or_else(by_tls)?;
    let method = match request.method {
        Some("GET") => "GET",
        Some("HEAD") => "HEAD",
        _ => {
            let why = "a build may only download, with GET and HEAD";
            return Err(Refusal::new("405 Method Not Allowed", why));
        }
    };
    let lists = || {
        let lists = request
            .headers
            .iter()
            .filter(|field| field.name.eq_ignore_ascii_case("connection"));
        lists.filter_map(|field| std::str::from_utf8(field.value).ok())
    };
    let is_named = |name: &str| {
        lists().any(|list| {
            list.split(',')
                .any(|one| one.trim().eq_ignore_ascii_case(name))
        })
    };
    let has_body = request.headers.iter().any(|field| {
        field.name.eq_ignore_ascii_case("transfer-encoding")
            || field.name.eq_ignore_ascii_case("content-length") && field.value != b"0"
    });
    if has_body {
        let why = "a build may only download: requests must have no body";
        return Err(Refusal::new("400 Bad Request", why));
    }
    let fields = request.headers.iter().filter(|field| {
        let name = field.name.to_ascii_lowercase();
        !DROPPED.contains(&&*name) && !name.starts_with("proxy-") && !is_named(&name)
    });
    let fields = fields.map(|field| (field.name.to_owned(), field.value.to_vec()));
    let target = target.split('#').next().unwrap_or_default();
    let slash = if target.starts_with('/') { "" } else { "/" };
    let plain = PlainRequest {
        method,
        target: format!("{slash}{target}"),
        fields: fields.collect(),
    };
    Ok((endpoint, plain))
}

impl PlainRequest {
    /// The head for the host itself, or for a proxy on the way.
    pub(super) fn head(&self, endpoint: &Endpoint, proxy: Option<&ProxyServer>) -> Vec<u8> {
        let host = endpoint.to_string();
        let host = host.strip_suffix(":80").unwrap_or(&host);
        let Self { method, target, .. } = self;
        let before = match proxy {
            Some(_) => format!("http://{host}"),
            None => String::new(),
        };
        let first = format!("{method} {before}{target} HTTP/1.1\r\nHost: {host}\r\n");
        let mut head = first.into_bytes();
        for (name, value) in &self.fields {
            head.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
        if let Some(authorization) = proxy.and_then(|proxy| proxy.authorization.as_ref()) {
            let value = authorization.expose();
            head.extend(format!("Proxy-Authorization: {value}\r\n").into_bytes());
        }
        head.extend(b"Connection: close\r\n\r\n");
        head
    }
}

/// Passes an answer on, until its end or the next request: that needs a connection of its own.
pub(super) async fn pass_on(inside: &mut TcpStream, outside: &mut TcpStream) -> io::Result<()> {
    let (mut asking, mut answering) = inside.split();
    let answer = async {
        tokio::io::copy(outside, &mut answering).await?;
        answering.shutdown().await
    };
    let next = async {
        if matches!(asking.read(&mut [0]).await, Ok(0)) {
            // It may still listen.
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        answered = answer => answered,
        () = next => Ok(()),
    }
}

#[cfg(test)]
mod tests;
