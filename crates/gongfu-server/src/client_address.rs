//! The address of a client: the peer of its connection, or the one that the proxy before the server names.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use http::{Extensions, HeaderMap, HeaderName};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The other end of a connection; `None` for a Unix socket.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) Option<IpAddr>);

/// The address of the client of a request. All clients of a Unix socket share one.
///
/// Behind a proxy it is the last entry of `X-Forwarded-For`, which the proxy wrote itself; those before it are
/// the client's own words.
pub(crate) fn client_address(
    extensions: &Extensions,
    headers: &HeaderMap,
    has_proxy: bool,
) -> IpAddr {
    let peer = extensions.get::<Peer>().and_then(|peer| peer.0);
    let peer = peer.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    if !has_proxy {
        return peer;
    }
    let last = headers.get_all(FORWARDED_FOR).iter().next_back();
    let entries = last.and_then(|value| value.to_str().ok());
    let entry = entries.and_then(|entries| entries.rsplit(',').next());
    entry.and_then(address).unwrap_or(peer)
}

/// An address with or without a port.
fn address(entry: &str) -> Option<IpAddr> {
    let entry = entry.trim();
    let plain = entry.trim_matches(['[', ']']).parse().ok();
    plain.or_else(|| Some(entry.parse::<SocketAddr>().ok()?.ip()))
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use http::{Extensions, HeaderMap, HeaderValue};

    use super::{FORWARDED_FOR, Peer, client_address};

    fn check(peer: Option<&str>, forwarded: &[&'static str], has_proxy: bool, wanted: &str) {
        let (mut extensions, mut headers) = (Extensions::new(), HeaderMap::new());
        extensions.insert(Peer(peer.map(|peer| peer.parse().unwrap())));
        for value in forwarded {
            headers.append(FORWARDED_FOR, HeaderValue::from_static(value));
        }
        let found = client_address(&extensions, &headers, has_proxy);
        assert_eq!(found, wanted.parse::<IpAddr>().unwrap(), "{forwarded:?}");
    }

    #[test]
    fn client_cannot_choose_its_address() {
        check(Some("192.0.2.1"), &[], false, "192.0.2.1");
        check(Some("192.0.2.1"), &["198.51.100.7"], false, "192.0.2.1");
        check(None, &[], false, "127.0.0.1");
        for (forwarded, wanted) in [
            (&[][..], "192.0.2.1"),
            (&["198.51.100.7"], "198.51.100.7"),
            (&["203.0.113.9, 198.51.100.7"], "198.51.100.7"),
            (&["203.0.113.9", "198.51.100.7"], "198.51.100.7"),
            (&["198.51.100.7:4711"], "198.51.100.7"),
            (&["2001:db8::1"], "2001:db8::1"),
            (&["[2001:db8::1]:4711"], "2001:db8::1"),
            (&["203.0.113.9, unknown"], "192.0.2.1"),
            (&[""], "192.0.2.1"),
        ] {
            check(Some("192.0.2.1"), forwarded, true, wanted);
        }
    }
}
