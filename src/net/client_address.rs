//! The client's address behind reverse proxies (`--trusted-proxy`).

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use ipnet::IpNet;
use poem::{Request, http::HeaderMap};

/// Stands for a peer on a Unix socket, which has no address. No other peer has this one.
pub const UNIX_PEER: Ipv4Addr = Ipv4Addr::UNSPECIFIED;

/// The address of the peer of a request's connection.
pub fn peer(req: &Request) -> IpAddr {
    req.remote_addr().as_socket_addr().map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.ip())
}

/// Whether a peer is a trusted proxy. One on a Unix socket is: only processes that the operator allows reach it.
pub fn is_proxy(trusted: &[IpNet], peer: IpAddr) -> bool {
    let peer = peer.to_canonical();
    peer == UNIX_PEER || trusted.iter().any(|network| network.contains(&peer))
}

/// The client's address: the peer's, or the one that trusted proxies name in `X-Forwarded-For`.
pub fn of(trusted: &[IpNet], peer: IpAddr, headers: &HeaderMap) -> IpAddr {
    let forwarded: Vec<_> = headers.get_all("x-forwarded-for").iter().map(|value| value.to_str().unwrap_or("?")).collect();
    client(trusted, peer, &forwarded)
}

/// Each proxy appends its peer to `X-Forwarded-For`, and only what a trusted proxy appended can be trusted. So the client is
/// the right-most address that is no trusted proxy. An entry that can't be parsed ends the search: the client is then the
/// proxy that appended it.
fn client(trusted: &[IpNet], peer: IpAddr, forwarded: &[&str]) -> IpAddr {
    let mut client = peer.to_canonical();
    let mut entries = forwarded.iter().rev().flat_map(|header| header.rsplit(','));
    while is_proxy(trusted, client)
        && let Some(address) = entries.next().and_then(entry)
    {
        client = address;
    }
    client
}

/// Parses an address with or without a port; an IPv6 address may be in brackets.
fn entry(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse().ok().or_else(|| text.parse().ok().map(|address: SocketAddr| address.ip()));
    address.map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn seen(peer: &str, forwarded: &[&str], expected: &str) {
        let trusted = ["10.0.0.0/8", "2001:db8:5::/48", "192.0.2.7/32"].map(|network| network.parse().unwrap());
        assert_eq!(client(&trusted, peer.parse().unwrap(), forwarded), expected.parse::<IpAddr>().unwrap());
    }

    #[test]
    fn a_trusted_proxy_tells_the_clients_address() {
        seen("10.0.0.1", &["203.0.113.9"], "203.0.113.9");
        seen("10.0.0.1", &["203.0.113.9, 10.0.0.2,192.0.2.7"], "203.0.113.9");
        seen("2001:db8:5::1", &["2001:db8:9::1"], "2001:db8:9::1");
        seen("10.0.0.1", &[], "10.0.0.1");
        seen("10.0.0.1", &["10.0.0.3, 10.0.0.2"], "10.0.0.3");
    }

    #[test]
    fn a_peer_on_a_unix_socket_is_a_trusted_proxy() {
        seen("0.0.0.0", &["198.51.100.1, 203.0.113.9"], "203.0.113.9");
        seen("0.0.0.0", &["203.0.113.9, 10.0.0.1"], "203.0.113.9");
        seen("0.0.0.0", &[], "0.0.0.0");
    }

    #[test]
    fn an_untrusted_peer_tells_no_other_address() {
        seen("203.0.113.5", &["198.51.100.1"], "203.0.113.5");
        seen("192.0.2.8", &["198.51.100.1, 10.0.0.1"], "192.0.2.8");
        seen("2001:db8:6::1", &["198.51.100.1"], "2001:db8:6::1");
    }

    #[test]
    fn entries_left_of_an_untrusted_address_are_not_believed() {
        seen("10.0.0.1", &["1.1.1.1, 203.0.113.9"], "203.0.113.9");
        seen("10.0.0.1", &["10.0.0.2, 203.0.113.9"], "203.0.113.9");
        seen("10.0.0.1", &["1.1.1.1, 10.9.9.9, 203.0.113.9, 10.0.0.2"], "203.0.113.9");
    }

    #[test]
    fn several_headers_are_read_as_one() {
        seen("10.0.0.1", &["1.1.1.1", "203.0.113.9, 10.0.0.2"], "203.0.113.9");
        seen("10.0.0.1", &["203.0.113.9", "10.0.0.2"], "203.0.113.9");
    }

    #[test]
    fn an_unreadable_entry_ends_the_search() {
        for bad in ["unknown", "", "203.0.113.9.1", "for=203.0.113.9", "[203.0.113.9", "203.0.113.9:99999", "host.example"] {
            seen("10.0.0.1", &[&format!("203.0.113.9, {bad}, 10.0.0.2")], "10.0.0.2");
            seen("10.0.0.1", &[&format!("203.0.113.9, {bad}")], "10.0.0.1");
            seen("10.0.0.1", &["203.0.113.9", bad], "10.0.0.1");
        }
    }

    #[test]
    fn ports_brackets_and_mapped_addresses_are_read() {
        seen("10.0.0.1", &["203.0.113.9:4711"], "203.0.113.9");
        seen("10.0.0.1", &["[2001:db8:9::1]:4711"], "2001:db8:9::1");
        seen("10.0.0.1", &["[2001:db8:9::1]"], "2001:db8:9::1");
        seen("::ffff:10.0.0.1", &["::ffff:203.0.113.9, ::ffff:10.0.0.2"], "203.0.113.9");
        seen("::ffff:203.0.113.5", &["198.51.100.1"], "203.0.113.5");
    }
}
