//! Granted names with addresses that aren't public; every such address answers outside.

use super::super::session::Place;
use super::{Case, Need, case};

/// Names with the addresses that answer.
const PRIVATE: &[(&str, &str, &str)] = &[
    ("loopback", "loopback.test", "127.0.0.1"),
    (
        "another address of loopback",
        "far-loopback.test",
        "127.99.0.7",
    ),
    (
        "the unspecified address, which is this machine",
        "nobody.test",
        "127.0.0.1",
    ),
    ("a private network (10/8)", "ten.test", "10.0.0.1"),
    ("a private network (172.16/12)", "office.test", "172.16.0.1"),
    ("a private network (192.168/16)", "home.test", "192.168.1.1"),
    (
        "a network of a carrier (100.64/10)",
        "carrier.test",
        "100.64.0.1",
    ),
    ("a metadata service", "metadata.test", "169.254.169.254"),
    (
        "the metadata service of Azure",
        "metadata-azure.test",
        "168.63.129.16",
    ),
    (
        "the metadata service of Alibaba",
        "metadata-alibaba.test",
        "100.100.100.200",
    ),
    (
        "the metadata service of Oracle",
        "metadata-oracle.test",
        "192.0.0.192",
    ),
    ("a network for measuring", "benchmark.test", "198.18.0.1"),
    ("a network for examples", "example.test", "192.0.2.1"),
    ("a reserved address", "reserved.test", "240.0.0.1"),
    (
        "another name for one that leads to 10/8",
        "alias.test",
        "10.0.0.1",
    ),
];

/// The same by IPv6.
const PRIVATE_SIX: &[(&str, &str, &str)] = &[
    ("loopback by IPv6", "loopback-six.test", "::1"),
    ("the unspecified address of IPv6", "nobody-six.test", "::1"),
    (
        "loopback of IPv4 in IPv6",
        "mapped-loopback.test",
        "127.0.0.1",
    ),
    ("10/8 in IPv6", "mapped-ten.test", "10.0.0.1"),
    (
        "a metadata service, mapped to IPv6",
        "mapped-metadata.test",
        "169.254.169.254",
    ),
    (
        "a metadata service by IPv6",
        "metadata-six.test",
        "fd00:ec2::254",
    ),
    ("a private network by IPv6", "local-six.test", "fd00::1"),
    (
        "a network for examples by IPv6",
        "example-six.test",
        "2001:db8::1",
    ),
    ("10/8, translated", "translated.test", "64:ff9b::a00:1"),
    ("10/8 through a tunnel", "tunnelled.test", "2002:a00:1::1"),
    ("a site by IPv6", "site-six.test", "fec0::1"),
];

/// Addresses without TCP; the control is that the name resolves to them.
const UNCONNECTABLE: &[(&str, &str, &str)] = &[
    ("a multicast address", "group.test", "224.0.0.1"),
    ("a broadcast address", "everybody.test", "255.255.255.255"),
];
const UNCONNECTABLE_SIX: &[(&str, &str, &str)] = &[
    ("a multicast address of IPv6", "group-six.test", "ff02::1"),
    ("a link by IPv6", "link-six.test", "fe80::1"),
];

/// Services with secrets, which are refused even as private hosts.
const SECRETS: &[(&str, &str, &str, bool)] = &[
    (
        "a metadata service, as a private host",
        "private-metadata.test",
        "169.254.169.254",
        false,
    ),
    (
        "the unspecified address, as a private host",
        "private-nobody.test",
        "127.0.0.1",
        false,
    ),
    (
        "the metadata service of Azure, as a private host",
        "private-azure.test",
        "168.63.129.16",
        false,
    ),
    (
        "the metadata service of Alibaba, as a private host",
        "private-alibaba.test",
        "100.100.100.200",
        false,
    ),
    (
        "the metadata service of Oracle, as a private host",
        "private-oracle.test",
        "192.0.0.192",
        false,
    ),
    (
        "the metadata service of Amazon by IPv6, as a private host",
        "private-amazon.test",
        "fd00:ec2::254",
        true,
    ),
    (
        "the metadata service of Google by IPv6, as a private host",
        "private-google.test",
        "fd20:ce::254",
        true,
    ),
];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let refused = |name: &str, host: &str| {
        let name = format!("a granted name that leads to {name}");
        case(name, format!("via(b'{host}:8443')"), &["403"])
    };
    let six = |case: Case, is_six: bool| if is_six { case.needs(Need::Six) } else { case };
    for (is_six, all) in [(false, PRIVATE), (true, PRIVATE_SIX)] {
        for (name, host, at) in all {
            let (line, at) = (format!("plain('{host}')"), format!("hi from {at}"));
            cases.push(six(
                refused(name, host).control(Place::Outside, line, at),
                is_six,
            ));
        }
    }
    for (is_six, all) in [(false, UNCONNECTABLE), (true, UNCONNECTABLE_SIX)] {
        for (name, host, at) in all {
            let line = format!("leads('{host}')");
            cases.push(six(
                refused(name, host).control(Place::Outside, line, *at),
                is_six,
            ));
        }
    }
    for (name, host, at, is_six) in SECRETS {
        let (line, at) = (format!("plain('{host}')"), format!("hi from {at}"));
        cases.push(six(
            refused(name, host).control(Place::Outside, line, at),
            *is_six,
        ));
    }
    cases.extend(changing());
    cases.extend(private_hosts());
    cases
}

/// Names that look public, or change their address.
fn changing() -> Vec<Case> {
    let machine = |name: &str, host: &str, at| {
        let attack = case(name, format!("via(b'{host}:8443')"), &["403", "502"]);
        attack.control(Place::Outside, format!("plain('{host}')"), at)
    };
    vec![
        machine(
            "this machine, by a public address",
            "own.test",
            "hi from 11.22.0.1",
        ),
        machine(
            "this machine, by another address of a network of its own",
            "own-prefix.test",
            "hi from 11.33.0.77",
        ),
        machine(
            "this machine, by a public address of IPv6",
            "own-six.test",
            "hi from 2a00:1::1",
        )
        .needs(Need::Six),
        case(
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
        case(
            "several addresses, of which the private one answers",
            "via(b'several.test:7443')",
            &["502"],
        )
        .control(
            Place::Outside,
            "plain('10.0.0.1', 7443)",
            "hi from 10.0.0.1",
        ),
        case(
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
        case(
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
        case(
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
        case(
            "another name for a host that wasn't granted",
            "via(b'EVIL.test:8443')",
            &["403"],
        )
        .control(
            Place::Granted,
            "via(b'fair-alias.test:8443')",
            "200 hi from 11.22.0.2",
        ),
        case(
            "an unknown name",
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

/// Private hosts that a person allowed, and hosts beside them.
fn private_hosts() -> Vec<Case> {
    let is_index = "200 hi from 10.0.0.1";
    vec![
        case(
            "a host of this network that wasn't allowed as one",
            "via(b'ten.test:8443')",
            &["403"],
        )
        .control(Place::Private, "via(b'ten.test:8443')", is_index),
        case(
            "loopback that wasn't allowed",
            "via(b'loopback.test:8443')",
            &["403"],
        )
        .control(
            Place::Private,
            "via(b'loopback.test:8443')",
            "200 hi from 127.0.0.1",
        ),
        case(
            "another port of a host of this network",
            "via(b'index.test:9443')",
            &["403"],
        )
        .control(Place::Granted, "via(b'index.test:8443')", is_index),
        case(
            "a host beside the index, which is another one",
            "via(b'mirror.test:8443')",
            &["403"],
        )
        .control(Place::Granted, "via(b'files.test:8443')", is_index),
        case(
            "a host that is where the index is, and isn't beside it",
            "via(b'ten.test:8443')",
            &["403"],
        )
        .control(Place::Granted, "via(b'files.test:8443')", is_index),
        case(
            "a host beside the index, for a run without the index",
            "via(b'files.test:8443')",
            &["403"],
        )
        .at(Place::Other)
        .control(Place::Granted, "via(b'files.test:8443')", is_index),
        case(
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
