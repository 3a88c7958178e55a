//! A DNS server that answers from a list, with the addresses that attacks need (RFC 1035).

use std::collections::BTreeMap;
use std::net::{IpAddr, UdpSocket};

/// The answers for each name: each question gets the next one, and after the last the first again.
pub(super) const NAMES: &[(&str, &[&[&str]])] = &[
    ("good.test", &[&[GOOD]]),
    ("other.test", &[&["11.22.0.3"]]),
    ("evil.test", &[&[EVIL]]),
    ("evil.good.test", &[&[EVIL]]),
    ("good.test.evil.test", &[&[EVIL]]),
    ("xgood.test", &[&[EVIL]]),
    ("good.tes", &[&[EVIL]]),
    ("xn--gd-jbca.test", &[&[EVIL]]),
    ("wild.test", &[&[EVIL]]),
    ("xwild.test", &[&[EVIL]]),
    ("a.wild.test", &[&[GOOD]]),
    ("a.b.wild.test", &[&[GOOD]]),
    ("a.wild.test.evil.test", &[&[EVIL]]),
    // Granted, and not of the internet.
    ("loopback.test", &[&["127.0.0.1"]]),
    ("far-loopback.test", &[&["127.99.0.7"]]),
    ("loopback-six.test", &[&["::1"]]),
    ("nobody.test", &[&["0.0.0.0"]]),
    ("nobody-six.test", &[&["::"]]),
    ("mapped-loopback.test", &[&["::ffff:127.0.0.1"]]),
    ("mapped-ten.test", &[&["::ffff:10.0.0.1"]]),
    ("mapped-metadata.test", &[&["::ffff:169.254.169.254"]]),
    ("ten.test", &[&["10.0.0.1"]]),
    ("office.test", &[&["172.16.0.1"]]),
    ("home.test", &[&["192.168.1.1"]]),
    ("carrier.test", &[&["100.64.0.1"]]),
    ("metadata.test", &[&["169.254.169.254"]]),
    ("metadata-azure.test", &[&["168.63.129.16"]]),
    ("metadata-alibaba.test", &[&["100.100.100.200"]]),
    ("metadata-oracle.test", &[&["192.0.0.192"]]),
    ("metadata-six.test", &[&["fd00:ec2::254"]]),
    ("benchmark.test", &[&["198.18.0.1"]]),
    ("example.test", &[&["192.0.2.1"]]),
    ("reserved.test", &[&["240.0.0.1"]]),
    ("local-six.test", &[&["fd00::1"]]),
    ("example-six.test", &[&["2001:db8::1"]]),
    ("translated.test", &[&["64:ff9b::a00:1"]]),
    ("tunnelled.test", &[&["2002:a00:1::1"]]),
    ("site-six.test", &[&["fec0::1"]]),
    ("link-six.test", &[&["fe80::1"]]),
    ("group.test", &[&["224.0.0.1"]]),
    ("group-six.test", &[&["ff02::1"]]),
    ("everybody.test", &[&["255.255.255.255"]]),
    // This machine, by addresses that look public.
    ("own.test", &[&["11.22.0.1"]]),
    ("own-six.test", &[&["2a00:1::1"]]),
    ("own-prefix.test", &[&["11.33.0.77"]]),
    // Of the internet at first.
    ("turns.test", &[&[GOOD], &["10.0.0.1"]]),
    ("several.test", &[&["10.0.0.1", "11.22.0.9"]]),
    ("mixed.test", &[&["10.0.0.1", GOOD]]),
    ("families.test", &[&[GOOD, "::1"]]),
    ("six.test", &[&["2a00:1::2"]]),
    // Of this network, where a person allowed that.
    ("index.test", &[&["10.0.0.1"]]),
    ("files.test", &[&["10.0.0.1"]]),
    ("mirror.test", &[&["10.0.0.2"]]),
    ("private-metadata.test", &[&["169.254.169.254"]]),
    ("private-nobody.test", &[&["0.0.0.0"]]),
    ("private-azure.test", &[&["168.63.129.16"]]),
    ("private-alibaba.test", &[&["100.100.100.200"]]),
    ("private-oracle.test", &[&["192.0.0.192"]]),
    ("private-amazon.test", &[&["fd00:ec2::254"]]),
    ("private-google.test", &[&["fd20:ce::254"]]),
];

/// Names that stand for others.
pub(super) const ALIASES: &[(&str, &str)] =
    &[("alias.test", "ten.test"), ("fair-alias.test", "good.test")];

/// The host that is granted.
pub(super) const GOOD: &str = "11.22.0.2";
/// One that isn't.
pub(super) const EVIL: &str = "11.22.0.66";

/// Returns all questions that arrive on a socket, until this process ends.
pub(super) fn serve(socket: UdpSocket) {
    let mut asked = BTreeMap::new();
    let mut bytes = [0; 1_500];
    while let Ok((read, from)) = socket.recv_from(&mut bytes) {
        if let Some(answer) = answer(&bytes[..read], &mut asked) {
            let _ = socket.send_to(&answer, from);
        }
    }
}

/// Makes the answer to a question, and counts how often each name was asked for.
fn answer(question: &[u8], asked: &mut BTreeMap<String, usize>) -> Option<Vec<u8>> {
    let mut at = 12;
    let mut labels = Vec::new();
    loop {
        let length = usize::from(*question.get(at)?);
        let label = question.get(at + 1..at + 1 + length)?;
        at += 1 + length;
        if length == 0 {
            break;
        }
        labels.push(String::from_utf8_lossy(label).to_ascii_lowercase());
    }
    let kind = u16::from_be_bytes(question.get(at..at + 2)?.try_into().ok()?);
    let name = labels.join(".");
    let mut records = Vec::new();
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
    let whose = alias.map_or(name.as_str(), |(_, name)| name);
    if alias.is_some() {
        records.push((vec![0xC0, 12], 5, wire(whose)));
    }
    let known = NAMES.iter().find(|(known, _)| *known == whose);
    if let Some((_, answers)) = known {
        let turn = asked.entry(name.clone()).or_default();
        let addresses = answers[*turn % answers.len()];
        // Both kinds of addresses are asked for each time.
        *turn += usize::from(kind == 1);
        for address in addresses {
            let (of, data) = match address.parse().ok()? {
                IpAddr::V4(address) => (1, address.octets().to_vec()),
                IpAddr::V6(address) => (28, address.octets().to_vec()),
            };
            if of == kind {
                records.push((wire(whose), of, data));
            }
        }
    }
    let found: [u8; 2] = if known.is_some() {
        [0x85, 0x80]
    } else {
        [0x85, 0x83]
    };
    let count = u16::try_from(records.len()).ok()?.to_be_bytes();
    let mut bytes = question.get(..2)?.to_vec();
    bytes.extend([found, [0, 1], count, [0, 0], [0, 0]].concat());
    bytes.extend(question.get(12..at + 4)?);
    for (owner, of, data) in records {
        bytes.extend(owner);
        bytes.extend(u16::to_be_bytes(of));
        // Class IN, and a lifetime of zero.
        bytes.extend([0, 1, 0, 0, 0, 0]);
        bytes.extend(u16::try_from(data.len()).ok()?.to_be_bytes());
        bytes.extend(data);
    }
    Some(bytes)
}

fn wire(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for label in name.split('.') {
        bytes.push(u8::try_from(label.len()).unwrap());
        bytes.extend(label.as_bytes());
    }
    bytes.push(0);
    bytes
}
