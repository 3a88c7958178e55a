//! The address that the server listens on.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

/// The default port.
pub const PORT: u16 = 7878;

/// An address to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// An IP address and a port; 0 is any free port.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl Default for Address {
    fn default() -> Self {
        Self::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(formatter, "{address}"),
            Self::Unix(path) => write!(formatter, "unix:{}", path.display()),
        }
    }
}

/// Why an address can't be listened on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It is not an address.
    #[error(
        "`{0}` is not an address to listen on; use one such as 127.0.0.1:{PORT}, [::1]:{PORT}, :0 or unix:/run/gongfu.sock"
    )]
    Malformed(String),
}

impl Address {
    /// Returns true if other machines can reach it.
    pub fn is_open(&self) -> bool {
        match self {
            Self::Tcp(address) => !address.ip().to_canonical().is_loopback(),
            Self::Unix(_) => false,
        }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let malformed = || AddressError::Malformed(text.to_owned());
        if let Some(path) = text.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return if path.is_empty() || path.contains('\0') {
                Err(malformed())
            } else {
                Ok(Self::Unix(PathBuf::from(path)))
            };
        }
        let address = if let Ok(address) = text.parse::<SocketAddr>() {
            address
        } else if let Ok(ip) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
            SocketAddr::from((ip, PORT))
        } else {
            // Any other name could be another machine's.
            let (host, port) = text.split_once(':').unwrap_or((text, ""));
            let port = if port.is_empty() && !text.ends_with(':') {
                PORT
            } else {
                port.parse().map_err(|_| malformed())?
            };
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return Err(malformed());
            }
            SocketAddr::from((Ipv4Addr::LOCALHOST, port))
        };
        Ok(Self::Tcp(address))
    }
}

#[cfg(test)]
mod tests {
    use super::{Address, AddressError};

    #[test]
    fn reads_loopback_addresses() {
        for (text, shown) in [
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("127.0.0.1", "127.0.0.1:7878"),
            ("[::1]:80", "[::1]:80"),
            ("::1", "[::1]:7878"),
            ("localhost:1", "127.0.0.1:1"),
            ("LOCALHOST", "127.0.0.1:7878"),
            (":0", "127.0.0.1:0"),
            ("127.255.0.1:5", "127.255.0.1:5"),
            ("[::ffff:127.0.0.1]:5", "[::ffff:127.0.0.1]:5"),
            ("unix:/run/g.sock", "unix:/run/g.sock"),
            ("unix:///run/g.sock", "unix:/run/g.sock"),
        ] {
            assert_eq!(
                text.parse::<Address>().unwrap().to_string(),
                shown,
                "{text}"
            );
        }
    }

    #[test]
    fn tells_addresses_that_other_machines_reach() {
        for open in [
            "0.0.0.0:1",
            "[::]:1",
            "192.168.0.1:80",
            "10.0.0.1",
            "[::ffff:10.0.0.1]:1",
        ] {
            assert!(open.parse::<Address>().unwrap().is_open(), "{open}");
        }
        for own in ["127.0.0.1:1", "[::1]:1", "unix:/run/g.sock"] {
            assert!(!own.parse::<Address>().unwrap().is_open(), "{own}");
        }
        for wrong in [
            "",
            ":",
            "example.com:80",
            "127.0.0.1:x",
            "127.0.0.1:99999",
            "unix:",
            "1",
        ] {
            let refused = wrong.parse::<Address>();
            assert!(
                matches!(refused, Err(AddressError::Malformed(_))) || wrong.is_empty(),
                "{wrong}"
            );
        }
    }
}
