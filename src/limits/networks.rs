//! Which addresses count as one client's.

use std::net::IpAddr;

/// One subscriber has a /64 of IPv6 addresses at the least: they count as one.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6((v6.to_bits() >> 64 << 64).into()),
        v4 => v4,
    }
}
