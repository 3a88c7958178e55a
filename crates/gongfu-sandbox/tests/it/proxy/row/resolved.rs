//! Granted names that lead to what isn't everybody's: every such address is there, and answers.

use super::super::session::Place;
use super::{Need, Row, row};

/// What leads astray, and who answers there.
const ASTRAY: &[(&str, &str, &str)] = &[
    ("loopback", "loopback.test", "127.0.0.1"),
    (
        "another address of loopback",
        "far-loopback.test",
        "127.99.0.7",
    ),
    (
        "nobody's address, which is here",
        "nobody.test",
        "127.0.0.1",
    ),
    ("a network of one's own (10/8)", "ten.test", "10.0.0.1"),
    (
        "a network of one's own (172.16/12)",
        "office.test",
        "172.16.0.1",
    ),
    (
        "a network of one's own (192.168/16)",
        "home.test",
        "192.168.1.1",
    ),
    (
        "a network of a carrier (100.64/10)",
        "carrier.test",
        "100.64.0.1",
    ),
    (
        "what clouds tell their machines",
        "metadata.test",
        "169.254.169.254",
    ),
    (
        "what Azure tells its machines",
        "metadata-azure.test",
        "168.63.129.16",
    ),
    (
        "what Alibaba tells its machines",
        "metadata-alibaba.test",
        "100.100.100.200",
    ),
    (
        "what Oracle tells its machines",
        "metadata-oracle.test",
        "192.0.0.192",
    ),
    ("a network for measuring", "benchmark.test", "198.18.0.1"),
    ("a network for examples", "example.test", "192.0.2.1"),
    (
        "an address that is kept for later",
        "reserved.test",
        "240.0.0.1",
    ),
    (
        "another name for one that leads to 10/8",
        "alias.test",
        "10.0.0.1",
    ),
];

/// The same by IPv6.
const ASTRAY_SIX: &[(&str, &str, &str)] = &[
    ("loopback by IPv6", "loopback-six.test", "::1"),
    ("nobody's address by IPv6", "nobody-six.test", "::1"),
    (
        "loopback of IPv4 in IPv6",
        "mapped-loopback.test",
        "127.0.0.1",
    ),
    ("10/8 in IPv6", "mapped-ten.test", "10.0.0.1"),
    (
        "what clouds tell, in IPv6",
        "mapped-metadata.test",
        "169.254.169.254",
    ),
    (
        "what clouds tell by IPv6",
        "metadata-six.test",
        "fd00:ec2::254",
    ),
    (
        "a network of one's own by IPv6",
        "local-six.test",
        "fd00::1",
    ),
    (
        "a network for examples by IPv6",
        "example-six.test",
        "2001:db8::1",
    ),
    ("10/8, translated", "translated.test", "64:ff9b::a00:1"),
    ("10/8 through a tunnel", "tunnelled.test", "2002:a00:1::1"),
    ("a site by IPv6", "site-six.test", "fec0::1"),
];

/// To what nobody can connect by TCP, or not by the address alone: the control is that the name leads there.
const NOBODY: &[(&str, &str, &str)] = &[
    ("a group", "group.test", "224.0.0.1"),
    (
        "everybody of a network",
        "everybody.test",
        "255.255.255.255",
    ),
];
const NOBODY_SIX: &[(&str, &str, &str)] = &[
    ("a group by IPv6", "group-six.test", "ff02::1"),
    ("a link by IPv6", "link-six.test", "fe80::1"),
];

/// What not even who was allowed this network reaches.
const SECRETS: &[(&str, &str, &str, bool)] = &[
    (
        "what clouds tell, as a private host",
        "private-metadata.test",
        "169.254.169.254",
        false,
    ),
    (
        "nobody's address, as a private host",
        "private-nobody.test",
        "127.0.0.1",
        false,
    ),
    (
        "what Azure tells, as a private host",
        "private-azure.test",
        "168.63.129.16",
        false,
    ),
    (
        "what Alibaba tells, as a private host",
        "private-alibaba.test",
        "100.100.100.200",
        false,
    ),
    (
        "what Oracle tells, as a private host",
        "private-oracle.test",
        "192.0.0.192",
        false,
    ),
    (
        "what Amazon tells by IPv6, as a private host",
        "private-amazon.test",
        "fd00:ec2::254",
        true,
    ),
    (
        "what Google tells by IPv6, as a private host",
        "private-google.test",
        "fd20:ce::254",
        true,
    ),
];

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let refused = |name: &str, host: &str| {
        let name = format!("a granted name that leads to {name}");
        row(name, format!("via(b'{host}:8443')"), &["403"])
    };
    let six = |row: Row, is_six: bool| if is_six { row.needs(Need::Six) } else { row };
    for (is_six, all) in [(false, ASTRAY), (true, ASTRAY_SIX)] {
        for (name, host, at) in all {
            let (line, at) = (format!("plain('{host}')"), format!("hi from {at}"));
            rows.push(six(
                refused(name, host).control(Place::Outside, line, at),
                is_six,
            ));
        }
    }
    for (is_six, all) in [(false, NOBODY), (true, NOBODY_SIX)] {
        for (name, host, at) in all {
            let line = format!("leads('{host}')");
            rows.push(six(
                refused(name, host).control(Place::Outside, line, *at),
                is_six,
            ));
        }
    }
    for (name, host, at, is_six) in SECRETS {
        let (line, at) = (format!("plain('{host}')"), format!("hi from {at}"));
        rows.push(six(
            refused(name, host).control(Place::Outside, line, at),
            *is_six,
        ));
    }
    rows.extend(turning());
    rows.extend(granted_here());
    rows
}

/// Names that are of the internet at first sight.
fn turning() -> Vec<Row> {
    let machine = |name: &str, host: &str, at| {
        let attack = row(name, format!("via(b'{host}:8443')"), &["403", "502"]);
        attack.control(Place::Outside, format!("plain('{host}')"), at)
    };
    vec![
        machine(
            "this machine, by an address of everybody's",
            "own.test",
            "hi from 11.22.0.1",
        ),
        machine(
            "this machine, by another address of a network of its own",
            "own-prefix.test",
            "hi from 11.33.0.77",
        ),
        machine(
            "this machine, by an address of everybody's of IPv6",
            "own-six.test",
            "hi from 2a00:1::1",
        )
        .needs(Need::Six),
        row(
            "a name that leads elsewhere the second time",
            "' '.join(sorted({via(b'turns.test:8443') for _ in range(6)}))",
            &["200 hi from 11.22.0.2 403"],
        )
        .control(
            Place::Outside,
            "' '.join(sorted({plain('turns.test') for _ in range(6)}))",
            "hi from 10.0.0.1 hi from 11.22.0.2",
        )
        .heard(),
        row(
            "several addresses, of which the private one answers",
            "via(b'several.test:7443')",
            &["502"],
        )
        .control(
            Place::Outside,
            "plain('10.0.0.1', 7443)",
            "hi from 10.0.0.1",
        ),
        row(
            "a public and a private address: the private one",
            "via(b'mixed.test:8443').replace('200 hi from 11.22.0.2', 'not')",
            &["not"],
        )
        .control(
            Place::Private,
            "via(b'ten.test:8443')",
            "200 hi from 10.0.0.1",
        )
        .heard(),
        row(
            "a public address, and loopback by IPv6",
            "via(b'families.test:8443').replace('200 hi from 11.22.0.2', 'not')",
            &["not"],
        )
        .control(
            Place::Outside,
            "plain('families.test', family=INET6)",
            "hi from ::1",
        )
        .needs(Need::Six)
        .heard(),
        row(
            "another host of the internet",
            "via(b'evil.test:8443')",
            &["403"],
        )
        .control(
            Place::Granted,
            "via(b'six.test:8443')",
            "200 hi from 2a00:1::2",
        )
        .needs(Need::Six),
        row(
            "another name for a host that wasn't granted",
            "via(b'EVIL.test:8443')",
            &["403"],
        )
        .control(
            Place::Granted,
            "via(b'fair-alias.test:8443')",
            "200 hi from 11.22.0.2",
        ),
        row(
            "a name that nobody knows",
            "via(b'unknown.a.wild.test:8443')",
            &["502"],
        )
        .control(
            Place::Granted,
            "via(b'a.wild.test:8443')",
            "200 hi from 11.22.0.2",
        ),
    ]
}

/// Hosts of this network that a person allowed, and what is named beside them.
fn granted_here() -> Vec<Row> {
    let is_index = "200 hi from 10.0.0.1";
    vec![
        row(
            "a host of this network that wasn't allowed as one",
            "via(b'ten.test:8443')",
            &["403"],
        )
        .control(Place::Private, "via(b'ten.test:8443')", is_index),
        row(
            "loopback that wasn't allowed",
            "via(b'loopback.test:8443')",
            &["403"],
        )
        .control(
            Place::Private,
            "via(b'loopback.test:8443')",
            "200 hi from 127.0.0.1",
        ),
        row(
            "another port of a host of this network",
            "via(b'index.test:9443')",
            &["403"],
        )
        .control(Place::Granted, "via(b'index.test:8443')", is_index),
        row(
            "a host beside the index, which is another one",
            "via(b'mirror.test:8443')",
            &["403"],
        )
        .control(Place::Granted, "via(b'files.test:8443')", is_index),
        row(
            "a host that is where the index is, and isn't beside it",
            "via(b'ten.test:8443')",
            &["403"],
        )
        .control(Place::Granted, "via(b'files.test:8443')", is_index),
        row(
            "a host beside the index, for a run without the index",
            "via(b'files.test:8443')",
            &["403"],
        )
        .at(Place::Other)
        .control(Place::Granted, "via(b'files.test:8443')", is_index),
        row(
            "a host beside the index, greeted by the index's name",
            "via(b'files.test:8443', b'index.test')",
            &["200 closed"],
        )
        .control(
            Place::Granted,
            "via(b'files.test:8443', b'files.test')",
            is_index,
        ),
    ]
}
