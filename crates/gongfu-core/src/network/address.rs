//! Addresses of the public internet, as opposed to those of this machine, its network, or nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Ranges of IPv4 that aren't everybody's: the first address, and how many bits say which range it is
/// (IANA, "IPv4 Special-Purpose Address Registry", and multicast).
const SPECIAL_4: &[(Ipv4Addr, u32)] = &[
    (Ipv4Addr::UNSPECIFIED, 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // What a cloud tells its machines of themselves.
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 3),
];

/// Ranges within `2000::/3` that aren't everybody's, or that lead to an address of IPv4 (IANA, "IPv6
/// Special-Purpose Address Registry"): what lies outside of it isn't either.
const SPECIAL_6: &[(Ipv6Addr, u32)] = &[
    // Teredo, benchmarks, ORCHID and others.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    // 6to4.
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Returns true if an address is of the public internet.
///
/// One that holds another one (mapped, translated, tunnelled) never is: what it leads to is for the
/// system to say.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let is_in = |(range, bits): &(Ipv4Addr, u32)| {
                let apart = address.to_bits() ^ range.to_bits();
                apart >> (u32::BITS - bits) == 0
            };
            !SPECIAL_4.iter().any(is_in)
        }
        IpAddr::V6(address) => {
            let is_in = |(range, bits): &(Ipv6Addr, u32)| {
                let apart = address.to_bits() ^ range.to_bits();
                apart >> (u128::BITS - bits) == 0
            };
            address.to_bits() >> 125 == 1 && !SPECIAL_6.iter().any(is_in)
        }
    }
}

/// Addresses at which clouds give machines their secrets, besides link-local ones: Azure, Alibaba, Oracle, Amazon and Google.
const SECRETS: &[IpAddr] = &[
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
];

/// Returns true if an address is of one machine that can be connected to, here or elsewhere, and not of nobody, of
/// many, or one by which clouds tell machines their secrets.
pub fn is_of_a_host(address: IpAddr) -> bool {
    let address = address.to_canonical();
    if SECRETS.contains(&address) {
        return false;
    }
    match address {
        IpAddr::V4(address) => {
            let [first, ..] = address.octets();
            first != 0 && first < 224 && !address.is_link_local()
        }
        IpAddr::V6(address) => {
            let is_link_local = address.segments()[0] & 0xffc0 == 0xfe80;
            !address.is_unspecified() && !address.is_multicast() && !is_link_local
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{is_of_a_host, is_public};

    #[test]
    fn addresses_of_nobody_of_many_or_of_cloud_secrets_are_no_hosts() {
        for text in [
            "127.0.0.1",
            "10.0.0.1",
            "::1",
            "fd00::1",
            "8.8.8.8",
            "::ffff:10.0.0.1",
        ] {
            assert!(is_of_a_host(text.parse().unwrap()), "{text}");
        }
        for text in [
            "0.0.0.0",
            "0.1.1.1",
            "169.254.169.254",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "fe80::1",
            "ff02::1",
            "::ffff:169.254.169.254",
            "::ffff:0.0.0.0",
            "168.63.129.16",
            "::ffff:100.100.100.200",
            "192.0.0.192",
            "fd00:ec2::254",
            "fd20:ce::254",
        ] {
            assert!(!is_of_a_host(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn only_internet_addresses_are_public() {
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.1",
            "169.253.255.255",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450:4001::1",
            "2001:4860:4860::8888",
        ] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.168.1.1",
            "198.19.255.255",
            "203.0.113.9",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::8.8.8.8",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:10::1",
            "2001:20::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
    }
}
