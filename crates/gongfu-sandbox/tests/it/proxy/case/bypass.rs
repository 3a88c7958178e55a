//! Attacks that bypass the proxy: direct connections, and sockets of other kinds.

use super::super::session::Place;
use super::{Case, Need, case};

/// The error where no route exists: the network of a run has only loopback.
const NO_ROUTE: &str = "ENETUNREACH";
/// The error on loopback, where only the proxy listens.
const REFUSED: &str = "ECONNREFUSED";
/// The error for a forbidden kind of socket.
const FORBIDDEN: &str = "EPERM";

/// Names, lines, the errors in a run, and the results outside of any sandbox.
const BYPASSES: &[(&str, &str, &str, &str)] = &[
    (
        "straight to the granted host",
        "plain('11.22.0.2')",
        NO_ROUTE,
        "hi from 11.22.0.2",
    ),
    (
        "straight to a host of this network",
        "plain('10.0.0.1')",
        NO_ROUTE,
        "hi from 10.0.0.1",
    ),
    (
        "straight to a metadata service",
        "plain('169.254.169.254')",
        NO_ROUTE,
        "hi from 169.254.169.254",
    ),
    (
        "straight to the server's loopback",
        "plain('127.0.0.1')",
        REFUSED,
        "hi from 127.0.0.1",
    ),
    (
        "straight to another address of loopback",
        "plain('127.99.0.7')",
        REFUSED,
        "hi from 127.99.0.7",
    ),
    (
        "straight to the unspecified address",
        "plain('0.0.0.0')",
        REFUSED,
        "hi from 127.0.0.1",
    ),
    (
        "straight to the server's own address",
        "plain('11.22.0.1')",
        NO_ROUTE,
        "hi from 11.22.0.1",
    ),
    (
        "a name without the proxy",
        "plain('good.test')",
        "no address",
        "hi from 11.22.0.2",
    ),
    (
        "data with the first packet, without connecting",
        "quickly(('11.22.0.2', 8443))",
        NO_ROUTE,
        "hi from 11.22.0.2",
    ),
    (
        "data with the first packet, to the server's loopback",
        "quickly(('127.0.0.1', 8443))",
        REFUSED,
        "hi from 127.0.0.1",
    ),
    (
        "by several ways at once (MPTCP)",
        "made(INET, STREAM, 262)",
        FORBIDDEN,
        "made",
    ),
    (
        "datagrams",
        "direct(INET, DGRAM, ('11.22.0.2', 8443))",
        FORBIDDEN,
        "hi from 11.22.0.2",
    ),
    (
        "datagrams to the server's loopback",
        "direct(INET, DGRAM, ('127.0.0.1', 8443))",
        FORBIDDEN,
        "hi from 127.0.0.1",
    ),
    (
        "a question to the DNS server",
        "direct(INET, DGRAM, ('127.0.0.1', 53), said=b'hi\\1\\0\\0\\1' + b'\\0' * 6 + b'\\4evil\\4test\\0\\0\\1\\0\\1')",
        FORBIDDEN,
        "hi",
    ),
    ("raw packets", "made(INET, RAW, 255)", FORBIDDEN, "made"),
    ("ICMP, raw", "made(INET, RAW, 1)", FORBIDDEN, "made"),
    (
        "ICMP, as datagrams",
        "known(INET, DGRAM, 1)",
        FORBIDDEN,
        "made",
    ),
    (
        "packets of the interface",
        "made(17, RAW, 0)",
        FORBIDDEN,
        "made",
    ),
    (
        "packets of the interface, the old way",
        "made(INET, 10, 768)",
        FORBIDDEN,
        "made",
    ),
    ("netlink", "made(16, RAW, 0)", FORBIDDEN, "made"),
    (
        "a socket of the server without a path",
        "direct(UNIX, STREAM, '\\0gongfu-proxy-attack')",
        FORBIDDEN,
        "hi from here",
    ),
    (
        "a socket of the server in a folder of the run",
        "direct(UNIX, STREAM, ('/workspace' if os.path.exists('/workspace/host.sock') else '.') + '/host.sock')",
        FORBIDDEN,
        "hi from here",
    ),
    (
        "datagrams of this machine",
        "made(UNIX, DGRAM)",
        FORBIDDEN,
        "made",
    ),
    (
        "pairs of datagrams, which could be sent elsewhere",
        "tried(lambda: len(socket.socketpair(UNIX, DGRAM)))",
        FORBIDDEN,
        "2",
    ),
];
const BYPASSES_SIX: &[(&str, &str, &str, &str)] = &[
    (
        "straight by IPv6",
        "direct(INET6, STREAM, ('2a00:1::2', 8443))",
        FORBIDDEN,
        "hi from 2a00:1::2",
    ),
    (
        "straight to loopback by IPv6",
        "direct(INET6, STREAM, ('::1', 8443))",
        FORBIDDEN,
        "hi from ::1",
    ),
    (
        "straight by IPv4 in IPv6",
        "direct(INET6, STREAM, ('::ffff:127.0.0.1', 8443))",
        FORBIDDEN,
        "hi from 127.0.0.1",
    ),
];
/// Families, kinds and protocols that a kernel may have as modules; it must not look for them.
const KINDS: &[(&str, &str)] = &[
    ("machines beside this one (vsock)", "40, STREAM"),
    ("SCTP", "INET, STREAM, 132"),
    ("SCTP by messages", "INET, 5, 132"),
    ("DCCP", "INET, 6, 33"),
    ("UDP-Lite", "INET, DGRAM, 136"),
    ("ciphers of the kernel", "38, 5"),
    ("Bluetooth", "31, RAW, 1"),
    ("TIPC", "30, STREAM"),
    ("RDS", "21, 5"),
    ("CAN", "29, RAW, 1"),
    ("X.25", "9, 5"),
    ("SMC", "43, STREAM"),
    ("packets past the kernel (XDP)", "44, RAW"),
    ("telephones", "35, DGRAM"),
];

pub(super) fn cases() -> Vec<Case> {
    let of = |(name, line, refused, wanted): &(&str, &str, &'static str, &str)| {
        case(*name, *line, &[*refused]).same_outside(*wanted)
    };
    let mut cases: Vec<Case> = BYPASSES.iter().map(of).collect();
    cases.extend(
        BYPASSES_SIX
            .iter()
            .map(of)
            .map(|case| case.needs(Need::Six)),
    );
    for (name, arguments) in KINDS {
        let line = format!("known({arguments})");
        cases.push(case(*name, line, &[FORBIDDEN]).same_outside("made or unknown"));
    }
    cases.push(
        case(
            "TLS by the kernel",
            "tried(lambda: proxy().setsockopt(6, 31, b'tls'))",
            &[FORBIDDEN],
        )
        .control(
            Place::Granted,
            "tried(lambda: proxy().setsockopt(6, 1, 1))",
            "None",
        ),
    );
    cases
}
