//! Ordinary clients: a host redirects them elsewhere, or they weren't granted the host.

use super::super::session::Place;
use super::{Case, Need, case};

/// Redirects of the granted host.
const REDIRECTS: &[(&str, &str, &[&str])] = &[
    (
        "redirected to a host that wasn't granted",
        "https://evil.test:8443/",
        &["403"],
    ),
    (
        "redirected to a granted name of this network",
        "https://ten.test:8443/",
        &["403"],
    ),
    (
        "redirected to another port of the same host",
        "https://good.test:9443/",
        &["403"],
    ),
    (
        "redirected to loopback",
        "https://loopback.test:8443/",
        &["403"],
    ),
    (
        "redirected to an address",
        "https://10.0.0.1:8443/",
        &[
            "closed",
            "OSError Tunnel connection failed: 400 Bad Request",
        ],
    ),
    (
        "redirected to a metadata service",
        "http://169.254.169.254:8443/",
        &["403"],
    ),
    (
        "redirected away from TLS",
        "http://good.test:8443/",
        &["403"],
    ),
    (
        "redirected to the proxy itself",
        "https://127.0.0.1:3128/",
        &[
            "closed",
            "OSError Tunnel connection failed: 400 Bad Request",
        ],
    ),
    (
        "redirected to the server's loopback without TLS",
        "http://127.0.0.1:8443/",
        &["403"],
    ),
];

pub(super) fn cases() -> Vec<Case> {
    let by_urllib = "opened('https://good.test/')";
    let led = &["403"][..];
    let all = [
        case(
            "urllib, in a run that wasn't granted the host",
            by_urllib,
            led,
        )
        .at(Place::Other)
        .same_granted("200 hi"),
        case(
            "http.client, in a run that wasn't granted the host",
            "fetched('good.test')",
            led,
        )
        .at(Place::Other)
        .same_granted("200 hi"),
        case(
            "urllib, in a run that was granted nothing",
            by_urllib,
            &["no address"],
        )
        .at(Place::Nothing)
        .same_granted("200 hi"),
        case(
            "a host of TLS that wasn't granted",
            "opened('https://evil.test:8443/')",
            led,
        )
        .control(Place::Granted, "opened('https://a.wild.test/')", "200 hi"),
        case(
            "a host of TLS at another port",
            "opened('https://good.test:9443/')",
            led,
        )
        .control(Place::Granted, by_urllib, "200 hi"),
        case(
            "data that is sent to a host that wasn't granted",
            "opened('https://evil.test:8443/', b'secret')",
            led,
        )
        .control(Place::Granted, by_urllib, "200 hi"),
        case(
            "an upgrade to WebSocket with a host that wasn't granted",
            "fetched('evil.test', port=8443, Upgrade='websocket')",
            led,
        )
        .control(
            Place::Granted,
            "fetched('good.test', Upgrade='websocket')",
            "101",
        ),
    ];
    let redirects = REDIRECTS.iter().map(|(name, to, refused)| {
        let led = case(
            *name,
            format!("opened('https://good.test/to?{to}')"),
            refused,
        );
        led.control(
            Place::Granted,
            "opened('https://good.test/to?https://a.wild.test/')",
            "200 hi",
        )
    });
    let all = all.into_iter().chain(redirects);
    let all = all.map(|case| case.needs(Need::Certificate));
    all.chain(by_curl()).collect()
}

fn by_curl() -> impl Iterator<Item = Case> {
    let all = [
        case("curl, in a run that wasn't granted the host", "curl('https://good.test/')", &["curl 56", "curl 7"])
            .at(Place::Other)
            .same_granted("hi"),
        case("curl, redirected to a private network", "curl('--location', 'https://good.test/to?https://ten.test:8443/')", &["curl 56", "curl 7"])
            .control(Place::Granted, "curl('--location', 'https://good.test/to?https://a.wild.test/')", "hi"),
        case("curl without the proxy", "curl('--noproxy', '*', 'https://good.test/')", &["curl 6", "curl 7"])
            .same_outside("hi"),
        case("curl without the proxy, to an address that it is told", "curl('--noproxy', '*', '--resolve', 'good.test:443:11.22.0.2', 'https://good.test/')", &["curl 7"])
            .same_outside("hi"),
        case("curl, that tells the proxy another host than TLS", "curl('--connect-to', 'good.test:443:evil.test:8443', 'https://good.test/')", &["curl 56", "curl 7"])
            .control(Place::Granted, "curl('--connect-to', 'good.test:443:a.wild.test:443', '--insecure', 'https://a.wild.test/')", "hi"),
    ];
    all.into_iter().map(|case| case.needs(Need::Curl))
}
