//! Decides which addresses are on the public internet.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::LazyLock,
};

use ipnet::IpNet;

use crate::net::own_addresses::is_own;

/// Networks that are not on the public internet: those that IANA's registries of special-purpose addresses don't call
/// globally reachable, those that are not unicast or not assigned, and a public address at which a cloud offers its own
/// services to its machines. The longest match decides; `None` marks a reachable network inside an unreachable one.
const SPECIAL: &[(&str, Option<&str>)] = &[
    ("0.0.0.0/8", Some("this network")),
    ("10.0.0.0/8", Some("private use")),
    ("100.64.0.0/10", Some("shared address space")),
    ("127.0.0.0/8", Some("loopback")),
    ("168.63.129.16/32", Some("Azure's platform")), // other clouds' metadata services are in the networks below
    ("169.254.0.0/16", Some("link-local")),
    ("172.16.0.0/12", Some("private use")),
    ("192.0.0.0/24", Some("protocol assignments")),
    ("192.0.0.9/32", None),  // Port Control Protocol anycast
    ("192.0.0.10/32", None), // TURN anycast
    ("192.0.2.0/24", Some("documentation")),
    ("192.88.99.0/24", Some("6to4 relays")),
    ("192.168.0.0/16", Some("private use")),
    ("198.18.0.0/15", Some("benchmarking")),
    ("198.51.100.0/24", Some("documentation")),
    ("203.0.113.0/24", Some("documentation")),
    ("224.0.0.0/4", Some("multicast")),
    ("240.0.0.0/4", Some("reserved")),
    ("255.255.255.255/32", Some("broadcast")),
    ("::/3", Some("not assigned")),
    ("::/96", Some("IPv4-compatible")),
    ("::/128", Some("unspecified")),
    ("::1/128", Some("loopback")),
    ("64:ff9b::/96", Some("translation to IPv4")),
    ("64:ff9b:1::/48", Some("translation to IPv4")),
    ("100::/64", Some("discarded")),
    ("100:0:0:1::/64", Some("dummy prefix")),
    ("2001::/23", Some("protocol assignments")),
    ("2001::/32", Some("Teredo")),
    ("2001:1::1/128", None), // Port Control Protocol anycast
    ("2001:1::2/128", None), // TURN anycast
    ("2001:1::3/128", None), // DNS-SD service registration anycast
    ("2001:2::/48", Some("benchmarking")),
    ("2001:3::/32", None),     // automatic multicast tunnelling
    ("2001:4:112::/48", None), // AS112
    ("2001:10::/28", Some("ORCHID")),
    ("2001:20::/28", None), // ORCHIDv2
    ("2001:30::/28", None), // drone remote identification
    ("2001:db8::/32", Some("documentation")),
    ("2002::/16", Some("6to4")),
    ("3fff::/20", Some("documentation")),
    ("4000::/2", Some("not assigned")),
    ("5f00::/16", Some("segment routing")),
    ("8000::/1", Some("not assigned")),
    ("fc00::/7", Some("private use")),
    ("fe80::/10", Some("link-local")),
    ("fec0::/10", Some("site-local")),
    ("ff00::/8", Some("multicast")),
];

static TABLE: LazyLock<Vec<(IpNet, Option<&str>)>> =
    LazyLock::new(|| SPECIAL.iter().map(|(network, why)| (network.parse().expect("the table holds networks"), *why)).collect());

/// Why the address may not be reached; `None` if it may. Addresses in opened networks may. An IPv4 address inside an IPv6
/// address is checked, too, because the packets end there.
pub fn objection(address: IpAddr, opened: &[IpNet]) -> Option<&'static str> {
    judge(address, opened, is_own)
}

fn judge(address: IpAddr, opened: &[IpNet], is_own: fn(IpAddr) -> bool) -> Option<&'static str> {
    let address = address.to_canonical(); // the system connects to a mapped address by IPv4
    let special = TABLE.iter().filter(|(network, _)| network.contains(&address)).max_by_key(|(network, _)| network.prefix_len());
    let why = || special.and_then(|(_, why)| *why).or_else(|| is_own(address).then_some("this server's own"));
    let why = if opened.iter().any(|network| network.contains(&address)) { None } else { why() };
    why.or_else(|| embedded(address).into_iter().flatten().find_map(|inner| judge(inner.into(), opened, is_own)))
}

/// The IPv4 addresses inside an IPv6 address, of a translator or the end of a tunnel.
fn embedded(address: IpAddr) -> [Option<Ipv4Addr>; 2] {
    let IpAddr::V6(address) = address else { return [None; 2] };
    let ipv4 = |high: u16, low: u16| Some(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)));
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => [None; 2], // unspecified and loopback, which are not IPv4-compatible addresses
        [0, 0, 0, 0, 0, 0, high, low] => [ipv4(high, low), None],
        [0, 0, 0, 0, 0xffff, 0, high, low] => [ipv4(high, low), None], // RFC 2765, IPv4-translated
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => [ipv4(high, low), None],
        [0x64, 0xff9b, 1, _, _, _, high, low] => [ipv4(high, low), None],
        [0x2002, high, low, ..] => [ipv4(high, low), None],
        // Teredo: the server's address, and the client's with all bits inverted.
        [0x2001, 0, high, low, _, _, client_high, client_low] => [ipv4(high, low), ipv4(!client_high, !client_low)],
        _ => [None; 2],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_own_public_address_is_refused_unless_it_is_opened() {
        let is_own = |address: IpAddr| address == IpAddr::from([9, 9, 9, 9]);
        let why = |address: &str, opened: &[IpNet]| judge(address.parse().unwrap(), opened, is_own);
        assert_eq!(why("9.9.9.9", &[]), Some("this server's own"));
        assert_eq!(why("::ffff:9.9.9.9", &[]), Some("this server's own"));
        assert_eq!(why("64:ff9b::909:909", &["64:ff9b::/96".parse().unwrap()]), Some("this server's own"));
        assert_eq!(why("9.9.9.9", &["9.9.9.0/24".parse().unwrap()]), None);
        assert_eq!(why("9.9.9.10", &[]), None);
    }
}
