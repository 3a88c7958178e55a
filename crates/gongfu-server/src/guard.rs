//! Refuses requests for other hosts and from pages of other origins (DNS rebinding).
//!
//! Asked before any route.

use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, Uri};

use crate::problem::Problem;
use crate::public_url::PublicUrl;

/// The names of this machine that no other machine can have.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The hosts that requests may be addressed to: those of this machine, and the public one.
pub fn hosts(public: Option<&PublicUrl>) -> Vec<String> {
    let local = LOOPBACK.map(str::to_owned).into_iter();
    local.chain(public.map(PublicUrl::authority)).collect()
}

/// The origins of pages that may send requests: those of this machine, and the public one.
pub fn origins(public: Option<&PublicUrl>) -> Vec<String> {
    let local = LOOPBACK.into_iter().flat_map(|host| {
        let host = if host.contains(':') {
            format!("[{host}]")
        } else {
            host.to_owned()
        };
        [format!("http://{host}:*"), format!("https://{host}:*")]
    });
    local.chain(public.map(PublicUrl::origin)).collect()
}

/// The hosts and origins that are allowed.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    public: Option<(String, Option<u16>, String)>,
}

impl Guard {
    pub(crate) fn new(public: Option<&PublicUrl>) -> Self {
        let parsed = public.and_then(|url| {
            let authority: Authority = url.authority().parse().ok()?;
            Some((host_name(&authority), authority.port_u16(), url.origin()))
        });
        Self { public: parsed }
    }

    /// Returns true if requests for a host are answered.
    fn allows_host(&self, host: &Authority) -> bool {
        let wanted = host_name(host);
        LOOPBACK.contains(&wanted.as_str())
            || self.public.as_ref().is_some_and(|(public, port, _)| {
                *public == wanted && (port.is_none() || *port == host.port_u16())
            })
    }

    /// Returns true if pages of an origin may send requests.
    fn allows_origin(&self, origin: &str) -> bool {
        let Ok(uri) = origin.trim().parse::<Uri>() else {
            return false;
        };
        let (Some(scheme @ ("http" | "https")), Some(authority)) =
            (uri.scheme_str(), uri.authority())
        else {
            return false;
        };
        let host = host_name(authority);
        if LOOPBACK.contains(&host.as_str()) {
            return true;
        }
        let port = authority
            .port_u16()
            .unwrap_or(if scheme == "https" { 443 } else { 80 });
        let plain = authority.host().to_ascii_lowercase();
        let shown = format!("{scheme}://{plain}:{port}");
        self.public
            .as_ref()
            .is_some_and(|(_, _, public)| *public == shown)
    }

    /// The reason to refuse a request.
    pub(crate) fn refusal(&self, uri: &Uri, headers: &HeaderMap) -> Option<Problem> {
        let mut hosts = headers.get_all(HOST).iter();
        let authority = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().ok().and_then(|host| host.parse().ok()),
            (None, _) => uri.authority().cloned(),
            (Some(_), Some(_)) => None,
        };
        let Some(authority) = authority else {
            return Some(Problem::HostMalformed);
        };
        if !self.allows_host(&authority) {
            return Some(Problem::HostUnknown(authority.to_string()));
        }
        // A browser always sends one.
        headers.get_all(ORIGIN).iter().find_map(|origin| {
            let shown = String::from_utf8_lossy(origin.as_bytes()).into_owned();
            (!self.allows_origin(&shown)).then_some(Problem::OriginForeign(shown))
        })
    }
}

/// A host in lower case, without brackets.
fn host_name(authority: &Authority) -> String {
    authority
        .host()
        .trim_matches(['[', ']'])
        .to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderName, HeaderValue, Uri};

    use super::Guard;

    fn passes(guard: &Guard, headers: &[(&str, &str)]) -> bool {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            map.append(name, HeaderValue::from_str(value).unwrap());
        }
        guard.refusal(&Uri::from_static("/mcp"), &map).is_none()
    }

    #[test]
    fn allows_only_loopback_hosts_without_a_public_url() {
        let guard = Guard::new(None);
        for host in [
            "localhost",
            "LOCALHOST:1",
            "127.0.0.1:7878",
            "[::1]:80",
            "[::1]",
        ] {
            assert!(passes(&guard, &[("host", host)]), "{host}");
        }
        for host in [
            "example.com",
            "evil.localhost",
            "127.0.0.1.example.com",
            "localhost.",
            "0.0.0.0",
            "a b",
            "localhost@evil.com",
            "[::2]",
        ] {
            assert!(!passes(&guard, &[("host", host)]), "{host}");
        }
        assert!(!passes(&guard, &[]));
        assert!(!passes(
            &guard,
            &[("host", "localhost"), ("host", "evil.com")]
        ));
    }

    #[test]
    fn refuses_foreign_origins() {
        let guard = Guard::new(Some(&"https://skills.example.com".parse().unwrap()));
        for origin in [
            "http://localhost:6274",
            "https://127.0.0.1",
            "http://[::1]:1",
            "https://skills.example.com",
            "https://SKILLS.example.com:443",
        ] {
            assert!(
                passes(
                    &guard,
                    &[("host", "skills.example.com"), ("origin", origin)]
                ),
                "{origin}"
            );
        }
        for origin in [
            "null",
            "",
            "https://evil.com",
            "http://skills.example.com",
            "https://skills.example.com:444",
            "https://skills.example.com.evil.com",
            "file://",
            "localhost",
            "http://localhost.evil.com",
            "http://evil@localhost.com",
        ] {
            assert!(
                !passes(&guard, &[("host", "localhost"), ("origin", origin)]),
                "{origin}"
            );
        }
        assert!(!passes(
            &guard,
            &[
                ("host", "localhost"),
                ("origin", "http://localhost"),
                ("origin", "http://evil.com")
            ]
        ));
    }
}
