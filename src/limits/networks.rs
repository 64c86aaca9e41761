//! Networks: the addresses that count as one client.

use std::net::IpAddr;

/// The address by which a client is counted: an IPv6 address without its last 64 bits, since a subscriber has at least a
/// /64.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6((v6.to_bits() >> 64 << 64).into()),
        v4 => v4,
    }
}

/// The networks that are likely to be one provider's or one attacker's: an IPv4 /16 or an IPv6 /32.
pub fn provider_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6((v6.to_bits() >> 96 << 96).into()),
        IpAddr::V4(v4) => IpAddr::V4((v4.to_bits() >> 16 << 16).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbourhood_has_the_first_16_bits_of_ipv4_and_32_of_ipv6() {
        let is_one = |one: &str, other: &str| provider_network(one.parse().unwrap()) == provider_network(other.parse().unwrap());
        assert!(is_one("192.0.2.1", "192.0.255.254") && is_one("192.0.2.1", "::ffff:192.0.3.4"));
        assert!(!is_one("192.0.2.1", "192.1.2.1"));
        assert!(is_one("2001:db8::1", "2001:db8:ffff::1") && !is_one("2001:db8::1", "2001:db9::1"));
    }
}
