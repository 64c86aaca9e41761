//! The addresses of this machine: who calls them from here passes by the firewall in front of it.

use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;

/// Whether the address is one of the network interfaces', as they are now. Any is, when they can't be read.
pub fn is_own(address: IpAddr) -> bool {
    match getifaddrs() {
        Ok(interfaces) => interfaces.filter_map(|interface| ip(&interface.address?)).any(|own| own == address),
        Err(err) => {
            tracing::warn!(%err, "the machine's own addresses can't be read");
            true
        }
    }
}

fn ip(address: &nix::sys::socket::SockaddrStorage) -> Option<IpAddr> {
    let ipv4 = address.as_sockaddr_in().map(|address| address.ip().into());
    ipv4.or_else(|| address.as_sockaddr_in6().map(|address| address.ip().into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_counts_as_an_own_address() {
        assert!(is_own([127, 0, 0, 1].into()));
        assert!(!is_own([198, 51, 100, 1].into()), "documentation");
    }
}
