//! The URL of the server as its clients see it.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use http::Uri;

/// The longest host name and label (RFC 1035).
const MAX_HOST: usize = 253;
const MAX_LABEL: usize = 63;

/// The URL of a server behind a proxy, such as `https://skills.example.com`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl {
    scheme: String,
    host: String,
    port: Option<u16>,
    path: String,
}

/// Why a text is not a public URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{url}` is not the URL of a server: {fault}")]
pub struct PublicUrlError {
    url: String,
    fault: Fault,
}

/// The fault of a public URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Fault {
    #[error("it is not a URL; use one such as https://skills.example.com")]
    Malformed,
    #[error(
        "it starts with neither https:// nor http://; use one such as https://skills.example.com"
    )]
    Scheme,
    #[error("it is more than one; use the one that clients connect to")]
    Several,
    #[error("it contains a user name or password; leave out what is before the `@`")]
    User,
    #[error("it has a query; leave out the `?` and what follows it")]
    Query,
    #[error("`{0}` is not a host; use one such as skills.example.com, 192.0.2.1 or [2001:db8::1]")]
    Host(String),
    #[error("`{0}` is not a port; use one from 1 to 65535, or leave it out")]
    Port(String),
}

impl PublicUrl {
    /// The host, and the port if there is one.
    pub(crate) fn authority(&self) -> String {
        match self.port {
            Some(port) => format!("{}:{port}", self.host),
            None => self.host.clone(),
        }
    }

    /// The origin (RFC 6454).
    pub(crate) fn origin(&self) -> String {
        let port = self
            .port
            .unwrap_or(if self.scheme == "https" { 443 } else { 80 });
        format!("{}://{}:{port}", self.scheme, self.host)
    }

    fn read(text: &str) -> Result<Self, Fault> {
        if text.matches("://").count() > 1 {
            return Err(Fault::Several);
        }
        let uri: Uri = text.parse().map_err(|_| Fault::Malformed)?;
        let scheme = uri.scheme_str().unwrap_or_default().to_ascii_lowercase();
        let (Some(authority), "http" | "https") = (uri.authority(), scheme.as_str()) else {
            return Err(Fault::Scheme);
        };
        let authority = authority.as_str();
        if authority.contains(',') {
            return Err(Fault::Several);
        }
        if authority.contains('@') {
            return Err(Fault::User);
        }
        if uri.query().is_some() {
            return Err(Fault::Query);
        }
        // The colons of an IPv6 address stand before its bracket.
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, Some(port)),
            _ => (authority, None),
        };
        if !is_host(host) {
            return Err(Fault::Host(host.to_owned()));
        }
        Ok(Self {
            host: host.to_ascii_lowercase(),
            port: port.map(parse_port).transpose()?,
            path: uri.path().trim_end_matches('/').to_owned(),
            scheme,
        })
    }
}

/// Reads a port.
fn parse_port(port: &str) -> Result<u16, Fault> {
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse() {
        Ok(number) if digits && number > 0 => Ok(number),
        _ => Err(Fault::Port(port.to_owned())),
    }
}

/// Returns true for a name, an IPv4 address, or an IPv6 address in brackets.
fn is_host(host: &str) -> bool {
    if let Some(rest) = host.strip_prefix('[') {
        let address = rest.strip_suffix(']');
        return address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_label = |label: &str| (1..=MAX_LABEL).contains(&label.len()) && label.bytes().all(plain);
    let name = host.strip_suffix('.').unwrap_or(host);
    let last = name.rsplit('.').next().unwrap_or_default();
    if last.bytes().all(|byte| byte.is_ascii_digit()) {
        // No name ends in a number.
        return host.parse::<Ipv4Addr>().is_ok();
    }
    name.len() <= MAX_HOST && name.split('.').all(is_label)
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}://{}{}",
            self.scheme,
            self.authority(),
            self.path
        )
    }
}

impl FromStr for PublicUrl {
    type Err = PublicUrlError;

    fn from_str(text: &str) -> Result<Self, PublicUrlError> {
        Self::read(text).map_err(|fault| PublicUrlError {
            url: text.to_owned(),
            fault,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, PublicUrl};

    #[test]
    fn reads_a_url_of_a_server() {
        let url: PublicUrl = "https://Skills.Example.com/x/".parse().unwrap();
        assert_eq!(url.to_string(), "https://skills.example.com/x");
        assert_eq!(url.origin(), "https://skills.example.com:443");
        let url: PublicUrl = "http://[::1]:8080".parse().unwrap();
        assert_eq!(
            (url.authority().as_str(), url.origin().as_str()),
            ("[::1]:8080", "http://[::1]:8080")
        );
        for right in [
            "http://box",
            "http://my_box.local:1",
            "http://box:65535",
            "https://192.0.2.1",
            "https://[2001:db8::1]",
            "https://1and1.example",
            "https://a.example./x,y",
        ] {
            let url: PublicUrl = right.parse().unwrap();
            assert_eq!(url.to_string(), right);
        }
        for wrong in [
            "",
            "example.com",
            "ftp://a",
            "https://",
            "https://u:p@a",
            "https://a/?q",
            "//a",
        ] {
            assert!(wrong.parse::<PublicUrl>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn says_what_is_wrong_with_a_url() {
        let host = |host: &str| Fault::Host(host.to_owned());
        let port = |port: &str| Fault::Port(port.to_owned());
        for (wrong, fault) in [
            ("https://*", host("*")),
            ("https://*.example.com", host("*.example.com")),
            ("https://a..b", host("a..b")),
            ("https://.", host(".")),
            ("https://999.0.2.1", host("999.0.2.1")),
            ("https://1", host("1")),
            ("https://[::1%25eth0]", host("[::1%25eth0]")),
            ("https://[abc]:1", host("[abc]")),
            ("https://a,https://b", Fault::Several),
            ("https://a, https://b", Fault::Several),
            ("https://a,b", Fault::Several),
            ("http://h:99999", port("99999")),
            ("http://h:0", port("0")),
            ("http://h:", port("")),
            ("http://h:+1", port("+1")),
            ("http://[::1]:70000", port("70000")),
            ("ftp://a", Fault::Scheme),
            ("https://u:p@a", Fault::User),
            ("https://a/?q", Fault::Query),
        ] {
            let refused = wrong.parse::<PublicUrl>().unwrap_err();
            assert_eq!(refused.fault, fault, "{wrong}");
            let told = refused.to_string();
            assert!(told.contains(wrong) && told.contains(';'), "{told}");
        }
        let long = format!("https://{}.example", "a".repeat(64));
        assert!(long.parse::<PublicUrl>().is_err());
    }
}
