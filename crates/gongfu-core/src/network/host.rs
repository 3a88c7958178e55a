//! A host, parsed once: what comes after has a name of plain letters, or nothing at all.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// The longest name (RFC 1035).
const LONGEST: usize = 253;
/// The longest part of one.
const LONGEST_LABEL: usize = 63;

/// The name of a host, in lower case: labels of letters, digits and `-`, never an address.
///
/// Names in other letters are written as DNS has them (`xn--…`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Host(String);

/// Why a text is no host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// Nothing, or longer than a name can be.
    #[error("a host name has 1 to 253 characters")]
    Length,
    /// It has a part that can't be one.
    #[error(
        "each part of a host name is 1 to 63 letters, digits or `-`, doesn't start or end with `-`, and there is no dot at the end"
    )]
    Label,
    /// It has letters that DNS doesn't have.
    #[error(
        "a host name has ASCII letters alone; write others as DNS has them, such as `xn--bcher-kva.example`"
    )]
    NotAscii,
    /// It is a URL.
    #[error("use the name of the host alone, without `https://` and a path")]
    Url,
    /// It is an address, in whatever form.
    #[error("an IP address is not a host name; use the host's name")]
    Address,
    /// No port, or none that can be connected to.
    #[error("a port is a number from 1 to 65535")]
    Port,
}

impl Host {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for Host {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        if text.is_empty() || text.len() > LONGEST {
            return Err(HostError::Length);
        }
        if text.contains('/') {
            return Err(HostError::Url);
        }
        if text.starts_with('[') || text.contains(':') {
            return Err(HostError::Address);
        }
        if !text.is_ascii() {
            return Err(HostError::NotAscii);
        }
        if !text.split('.').all(is_label) {
            return Err(HostError::Label);
        }
        // Whatever a resolver takes for an address: `127.1`, `0x7f000001`, `2130706433`, `1.2.3.4`.
        if text.rsplit('.').next().is_some_and(is_number) {
            return Err(HostError::Address);
        }
        Ok(Self(text.to_ascii_lowercase()))
    }
}

fn is_label(label: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=LONGEST_LABEL).contains(&label.len())
        && label.bytes().all(is_plain)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// Returns true if the last part of a name makes it an address to those who take numbers for one (WHATWG URL,
/// "ends in a number").
fn is_number(label: &str) -> bool {
    let hexadecimal = label
        .strip_prefix("0x")
        .or_else(|| label.strip_prefix("0X"));
    match hexadecimal {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => label.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

/// A host and a port, as `CONNECT` names them (RFC 9110, 9.3.6).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Destination {
    /// The host.
    pub host: Host,
    /// Never 0.
    pub port: u16,
}

impl fmt::Display for Destination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.host, self.port)
    }
}

impl FromStr for Destination {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        let (host, port) = text.rsplit_once(':').ok_or(HostError::Port)?;
        let host = host.parse()?;
        let port = port_of(port)?;
        Ok(Self { host, port })
    }
}

/// A host by its name or its address, with a port: an index of the operator may have either.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// By its name.
    Name(Destination),
    /// By its address, in the usual spelling.
    Address(SocketAddr),
}

impl Endpoint {
    /// The port.
    pub fn port(&self) -> u16 {
        match self {
            Self::Name(destination) => destination.port,
            Self::Address(address) => address.port(),
        }
    }

    /// The host without its port: a name, or an address without brackets.
    pub fn host(&self) -> String {
        match self {
            Self::Name(destination) => destination.host.to_string(),
            Self::Address(address) => address.ip().to_string(),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(destination) => destination.fmt(formatter),
            Self::Address(address) => address.fmt(formatter),
        }
    }
}

impl FromStr for Endpoint {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        let (host, port) = text.rsplit_once(':').ok_or(HostError::Port)?;
        let inner = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let address = match inner {
            Some(host) => host.parse::<Ipv6Addr>().ok().map(Into::into),
            None => host.parse::<Ipv4Addr>().ok().map(Into::into),
        };
        match address {
            Some(address) => Ok(Self::Address(SocketAddr::new(address, port_of(port)?))),
            None => text.parse().map(Self::Name),
        }
    }
}

/// A port: digits alone, no sign and no zero in front.
pub(super) fn port_of(text: &str) -> Result<u16, HostError> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    let port = text.parse().ok().filter(|_| is_plain);
    port.ok_or(HostError::Port)
}

#[cfg(test)]
mod tests {
    use super::{Destination, Endpoint, Host, HostError};

    #[test]
    fn only_names_and_addresses_are_hosts() {
        for (text, host) in [
            ("example.com", "example.com"),
            ("EXAMPLE.com", "example.com"),
            ("localhost", "localhost"),
            ("a-b.c1", "a-b.c1"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example"),
            ("1.2.3.4.example", "1.2.3.4.example"),
            ("0x7f.beef", "0x7f.beef"),
            ("3com", "3com"),
        ] {
            assert_eq!(text.parse::<Host>().unwrap().as_str(), host);
        }
        let long = "a.".repeat(126) + "ab";
        for (text, error) in [
            ("", HostError::Length),
            (&*long, HostError::Length),
            ("example.com.", HostError::Label),
            (".example.com", HostError::Label),
            ("a..b", HostError::Label),
            ("-a.b", HostError::Label),
            ("a-.b", HostError::Label),
            ("a\0.b", HostError::Label),
            ("a\n.b", HostError::Label),
            ("a b", HostError::Label),
            ("a_b", HostError::Label),
            ("*.example.com", HostError::Label),
            ("user@example.com", HostError::Label),
            ("example.com/x", HostError::Url),
            ("https://example.com", HostError::Url),
            ("exam%70le.com", HostError::Label),
            ("bücher.example", HostError::NotAscii),
            ("ｌocalhost", HostError::NotAscii),
            ("127。0。0。1", HostError::NotAscii),
            (&*"a".repeat(64), HostError::Label),
            ("127.0.0.1", HostError::Address),
            ("127.1", HostError::Address),
            ("2130706433", HostError::Address),
            ("0x7f000001", HostError::Address),
            ("0X7F.1", HostError::Address),
            ("0177.0.0.01", HostError::Address),
            ("a.0x", HostError::Address),
            ("::1", HostError::Address),
            ("[::1]", HostError::Address),
            ("[::ffff:127.0.0.1]", HostError::Address),
        ] {
            assert_eq!(text.parse::<Host>(), Err(error), "{text:?}");
        }
    }

    #[test]
    fn destinations_have_a_port() {
        let destination: Destination = "Example.com:443".parse().unwrap();
        assert_eq!(destination.to_string(), "example.com:443");
        for text in [
            "example.com",
            "example.com:",
            "example.com:0",
            "example.com:0443",
            "example.com:+443",
            "example.com:65536",
            "example.com:443 ",
            "example.com:443:443",
            "http://example.com:443",
            "example.com@127.0.0.1:443",
            "[::1]:443",
            "127.0.0.1:443",
        ] {
            assert!(text.parse::<Destination>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn endpoints_have_a_name_or_a_plain_address() {
        for text in [
            "example.com:80",
            "10.0.0.1:80",
            "[::1]:443",
            "[fd00::1]:8080",
        ] {
            assert_eq!(text.parse::<Endpoint>().unwrap().to_string(), text);
        }
        for text in [
            "127.1:80",
            "2130706433:80",
            "0x7f000001:80",
            "010.0.0.1:80",
            "::1:80",
            "[127.0.0.1]:80",
            "[fe80::1%1]:80",
            "10.0.0.1:0",
            "10.0.0.1",
            "[::1]",
            "user@10.0.0.1:80",
        ] {
            assert!(text.parse::<Endpoint>().is_err(), "{text:?}");
        }
    }
}
