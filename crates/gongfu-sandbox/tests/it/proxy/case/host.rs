//! Hosts that weren't granted, and odd spellings of granted ones.

use super::super::session::Place;
use super::{Case, Need, case};

/// Hosts that weren't granted; each of them answers outside.
const UNGRANTED: &[(&str, &str, u16, &str)] = &[
    (
        "a host that wasn't granted",
        "evil.test",
        8443,
        "hi from 11.22.0.66",
    ),
    (
        "another port of a granted host",
        "good.test",
        9443,
        "hi from 11.22.0.2",
    ),
    (
        "a name below a granted one",
        "evil.good.test",
        8443,
        "hi from 11.22.0.66",
    ),
    (
        "a granted name in front of another",
        "good.test.evil.test",
        8443,
        "hi from 11.22.0.66",
    ),
    (
        "a name that ends as a granted one",
        "xgood.test",
        8443,
        "hi from 11.22.0.66",
    ),
    (
        "a name that begins as a granted one",
        "good.tes",
        8443,
        "hi from 11.22.0.66",
    ),
    (
        "a name that looks like a granted one",
        "xn--gd-jbca.test",
        8443,
        "hi from 11.22.0.66",
    ),
    (
        "the name below which all are granted",
        "wild.test",
        8443,
        "hi from 11.22.0.66",
    ),
    (
        "a name that ends as those, without a dot",
        "xwild.test",
        8443,
        "hi from 11.22.0.66",
    ),
    (
        "such a name in front of another",
        "a.wild.test.evil.test",
        8443,
        "hi from 11.22.0.66",
    ),
    (
        "such a name at another port",
        "a.wild.test",
        9443,
        "hi from 11.22.0.2",
    ),
    (
        "a host that another run was granted",
        "other.test",
        8443,
        "hi from 11.22.0.3",
    ),
];

/// Addresses, and odd spellings of addresses and names, which clients accept outside.
const SPELLED: &[(&str, &str, &str)] = &[
    ("an address", "11.22.0.2", "hi from 11.22.0.2"),
    ("an address of loopback", "127.0.0.1", "hi from 127.0.0.1"),
    ("an address of this network", "10.0.0.1", "hi from 10.0.0.1"),
    (
        "the address of secrets",
        "169.254.169.254",
        "hi from 169.254.169.254",
    ),
    ("an address in short", "127.1", "hi from 127.0.0.1"),
    ("an address as a number", "185991170", "hi from 11.22.0.2"),
    (
        "an address as a number of base 16",
        "0x0b160002",
        "hi from 11.22.0.2",
    ),
    (
        "an address as a number of base 8",
        "01305400002",
        "hi from 11.22.0.2",
    ),
    (
        "an address of parts of base 16",
        "0xb.0x16.0x0.0x2",
        "hi from 11.22.0.2",
    ),
    (
        "an address of parts of base 8",
        "013.026.0.02",
        "hi from 11.22.0.2",
    ),
    ("nothing but a zero", "0", "hi from 127.0.0.1"),
    ("a dot at the end", "good.test.", "hi from 11.22.0.2"),
];

/// The same by IPv6.
const SIX: &[(&str, &str, &str)] = &[
    ("an address of IPv6", "::1", "hi from ::1"),
    (
        "an address of IPv4 in IPv6",
        "::ffff:127.0.0.1",
        "hi from 127.0.0.1",
    ),
    (
        "an address of IPv4 in IPv6, of base 16",
        "::ffff:a00:1",
        "hi from 10.0.0.1",
    ),
    ("a public address of IPv6", "2a00:1::2", "hi from 2a00:1::2"),
];

/// Authorities that another parser may read otherwise; the control is the plain name.
const ODD: &[(&str, &str)] = &[
    ("nothing at all", ""),
    ("a port alone", ":8443"),
    ("no port", "good.test"),
    ("an empty port", "good.test:"),
    ("port 0", "good.test:0"),
    ("a port that is too large", "good.test:73979"),
    ("a port with a zero in front", "good.test:08443"),
    ("a port with a sign", "good.test:+8443"),
    ("two ports", "good.test:8443:443"),
    ("a NUL in the name", "good.test\\0.evil.test:8443"),
    ("a NUL at the end of the name", "good.test\\0:8443"),
    ("a tabulator in the name", "good.test\\t:8443"),
    ("a blank in the name", "good.test :8443"),
    ("a control character in the name", "good\\x0b.test:8443"),
    ("the character for deleting", "good.test\\x7f:8443"),
    ("a lonely return", "good.test\\r:8443"),
    ("a line end in the name", "good.test\\n:8443"),
    ("percent for a letter", "g%6f%6fd.test:8443"),
    ("percent for a NUL", "good.test%00.evil.test:8443"),
    ("a user name before the name", "good.test@evil.test:8443"),
    (
        "a user name before the granted name",
        "evil.test@good.test:8443",
    ),
    (
        "a password before the name",
        "good.test:8443@evil.test:8443",
    ),
    ("a scheme in front", "https://good.test:8443"),
    ("a path behind", "good.test:8443/x"),
    (
        "a fragment before another host",
        "good.test#@evil.test:8443",
    ),
    (
        "a backslash before another host",
        "good.test\\\\@evil.test:8443",
    ),
    ("a comma and another host", "good.test,evil.test:8443"),
    ("a semicolon behind", "good.test;evil.test:8443"),
    ("an underline", "good_.test:8443"),
    ("two dots", "good..test:8443"),
    ("a dot in front", ".good.test:8443"),
    ("a hyphen in front", "-good.test:8443"),
    ("the sign for all names", "*.wild.test:8443"),
    ("nothing where all names are granted", ".wild.test:8443"),
    (
        "letters of another script",
        "g\\xd0\\xbe\\xd0\\xbed.test:8443",
    ),
    ("a dot of another script", "good\\xe3\\x80\\x82test:8443"),
    ("wide letters", "\\xef\\xbd\\x87ood.test:8443"),
    ("bytes that are no text", "good\\xff\\xfe.test:8443"),
    ("the address of a zone", "[fe80::1%25lo]:8443"),
    ("brackets around the name", "[good.test]:8443"),
];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &(name, host, port, at) in UNGRANTED {
        let attack = case(name, format!("via(b'{host}:{port}')"), &["403"]);
        cases.push(attack.control(Place::Outside, format!("plain('{host}', {port})"), at));
    }
    for &(name, host, at) in SPELLED {
        let attack = case(name, format!("via(b'{host}:8443', b'good.test')"), &["400"]);
        cases.push(attack.control(Place::Outside, format!("plain('{host}')"), at));
    }
    for &(name, host, at) in SIX {
        let line =
            format!("each(via(b'[{host}]:8443', b'good.test'), via(b'{host}:8443', b'good.test'))");
        let attack = case(name, line, &["400"]).needs(Need::Six);
        cases.push(attack.control(Place::Outside, format!("plain('{host}')"), at));
    }
    for &(name, authority) in ODD {
        cases.push(case(
            name,
            format!("via(b'{authority}', b'good.test')"),
            &["400"],
        ));
    }
    cases.push(case(
        "a very long name",
        "via(b'a.' * 2000 + GOOD)",
        &["400"],
    ));
    cases.push(case(
        "a very long part of a name",
        "via(b'a' * 64 + b'.' + GOOD)",
        &["400"],
    ));
    cases.push(case(
        "a port of a thousand digits",
        "via(b'good.test:' + b'8' * 1000)",
        &["400"],
    ));
    cases.push(
        case(
            "upper case, of a host that wasn't granted",
            "via(b'EVIL.TEST:8443')",
            &["403"],
        )
        .control(
            Place::Granted,
            "each(via(b'GOOD.Test:8443'), via(b'good.test:8443', b'GOOD.TEST'))",
            "200 hi from 11.22.0.2",
        ),
    );
    cases.push(
        case(
            "names below another name",
            "each(via(b'a.evil.test:8443'), via(b'test:8443'))",
            &["403"],
        )
        .control(
            Place::Granted,
            "each(via(b'a.wild.test:8443'), via(b'a.b.wild.test:8443'))",
            "200 hi from 11.22.0.2",
        ),
    );
    cases
}
