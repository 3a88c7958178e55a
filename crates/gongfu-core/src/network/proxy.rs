//! The operator's proxies, behind which a build may have to reach its index.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use super::host::Endpoint;

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for those who need it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("…")
    }
}

/// A proxy by HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyServer {
    /// The host, at any address: the operator named it.
    pub endpoint: Endpoint,
    /// The value of `Proxy-Authorization`.
    pub authorization: Option<Secret>,
}

/// The proxies of the operator, and the hosts that are reached without one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    /// The proxy for hosts by TLS.
    pub https: Option<ProxyServer>,
    /// The proxy for hosts by plain HTTP.
    pub http: Option<ProxyServer>,
    /// The hosts without a proxy.
    pub bypasses: Vec<Bypass>,
}

impl Proxies {
    /// The proxy for a host; `None` where it is reached directly.
    pub fn server(&self, endpoint: &Endpoint, is_plain: bool) -> Option<&ProxyServer> {
        let server = if is_plain { &self.http } else { &self.https };
        let is_direct = || self.bypasses.iter().any(|bypass| bypass.holds(endpoint));
        server.as_ref().filter(|_| !is_direct())
    }
}

/// An entry of `NO_PROXY`: the hosts that it is for are reached without a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bypass {
    /// All hosts (`*`).
    All,
    /// A name, in lower case, and all below it.
    Below(String),
    /// Addresses whose first bits are these. Names aren't resolved for it.
    Network(IpAddr, u32),
}

impl Bypass {
    /// The entries of a list, separated by commas or blanks, of which curl would understand each.
    pub fn list(text: &str) -> Vec<Self> {
        let entries = text
            .split([',', ' ', '\t'])
            .filter(|entry| !entry.is_empty());
        entries.filter_map(|entry| entry.parse().ok()).collect()
    }

    fn holds(&self, endpoint: &Endpoint) -> bool {
        match (self, endpoint) {
            (Self::All, _) => true,
            (Self::Below(name), Endpoint::Name(destination)) => {
                let above = destination.host.as_str().strip_suffix(name.as_str());
                above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
            }
            (Self::Network(network, bits), Endpoint::Address(address)) => {
                match (network, address.ip().to_canonical()) {
                    (IpAddr::V4(network), IpAddr::V4(address)) => {
                        let apart = u64::from(network.to_bits() ^ address.to_bits());
                        apart >> (u32::BITS - bits) == 0
                    }
                    (IpAddr::V6(network), IpAddr::V6(address)) => {
                        let apart = network.to_bits() ^ address.to_bits();
                        apart.checked_shr(u128::BITS - bits).unwrap_or(0) == 0
                    }
                    _ => false,
                }
            }
            (Self::Below(_), Endpoint::Address(_)) | (Self::Network(..), Endpoint::Name(_)) => {
                false
            }
        }
    }
}

impl FromStr for Bypass {
    type Err = ();

    fn from_str(entry: &str) -> Result<Self, ()> {
        if entry == "*" {
            return Ok(Self::All);
        }
        let (text, bits) = entry
            .split_once('/')
            .map_or((entry, None), |(text, bits)| (text, Some(bits)));
        let text = text.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = text.parse::<IpAddr>() {
            let all = if address.is_ipv4() { 32 } else { 128 };
            let bits = bits.map_or(Ok(all), str::parse).map_err(drop)?;
            return (bits <= all)
                .then_some(Self::Network(address, bits))
                .ok_or(());
        }
        let name = text.strip_prefix('*').unwrap_or(text);
        let name = name.strip_prefix('.').unwrap_or(name);
        let name = name.strip_suffix('.').unwrap_or(name);
        if bits.is_some() || name.is_empty() {
            return Err(());
        }
        Ok(Self::Below(name.to_ascii_lowercase()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Bypass, Proxies, ProxyServer, Secret};

    fn server(text: &str) -> ProxyServer {
        ProxyServer {
            endpoint: text.parse().unwrap(),
            authorization: Some(Secret::new("Basic verysecret")),
        }
    }

    #[test]
    fn bypasses_are_names_below_a_name_addresses_and_networks() {
        let without = |list: &str, host: &str| {
            let proxies = Proxies {
                https: Some(server("proxy.corp:3128")),
                http: None,
                bypasses: Bypass::list(list),
            };
            proxies.server(&host.parse().unwrap(), false).is_none()
        };
        for (list, host) in [
            ("*", "example.com:443"),
            ("example.com", "example.com:443"),
            ("x, Example.COM", "a.EXAMPLE.com:8443"),
            (".example.com", "example.com:443"),
            ("*.example.com", "a.example.com:443"),
            ("example.com.", "example.com:443"),
            ("a b.test", "b.test:1"),
            ("10.0.0.1", "10.0.0.1:443"),
            ("10.0.0.0/8", "10.9.8.7:443"),
            ("0.0.0.0/0", "10.9.8.7:443"),
            ("::1", "[::1]:443"),
            ("[::1]", "[::1]:443"),
            ("fd00::/8", "[fd12::1]:443"),
            ("::/0", "[fd12::1]:443"),
            ("10.0.0.0/8", "[::ffff:10.0.0.1]:443"),
        ] {
            assert!(without(list, host), "{list} {host}");
        }
        for (list, host) in [
            ("", "example.com:443"),
            ("example.com", "notexample.com:443"),
            ("a.example.com", "example.com:443"),
            ("10.0.0.0/8", "11.0.0.1:443"),
            ("10.0.0.0/33", "10.0.0.0:443"),
            ("10.0.0.1/x", "10.0.0.1:443"),
            ("10.0.0.0/8", "example.com:443"),
            ("fd00::/8", "[fe00::1]:443"),
            ("example.com/8", "example.com:443"),
            (".", "example.com:443"),
        ] {
            assert!(!without(list, host), "{list} {host}");
        }
    }

    #[test]
    fn each_kind_of_host_has_its_proxy_and_no_text_shows_its_secret() {
        let proxies = Proxies {
            https: Some(server("secure.corp:3128")),
            http: Some(server("10.0.0.1:8080")),
            bypasses: Vec::new(),
        };
        let of = |is_plain| {
            let server = proxies.server(&"a.test:80".parse().unwrap(), is_plain);
            server.unwrap().endpoint.to_string()
        };
        assert_eq!(of(false), "secure.corp:3128");
        assert_eq!(of(true), "10.0.0.1:8080");
        assert!(!format!("{proxies:?}").contains("verysecret"));
        let authorization = proxies.http.as_ref().unwrap().authorization.as_ref();
        assert_eq!(authorization.unwrap().expose(), "Basic verysecret");
    }
}
