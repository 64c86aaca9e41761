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
