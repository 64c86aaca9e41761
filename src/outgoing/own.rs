//! The addresses of this machine. Requests to them from the machine itself bypass the firewall in front of it.

use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;

/// Whether a network interface has the address now. If the interfaces can't be read, every address counts as own.
pub fn is_own(address: IpAddr) -> bool {
    match getifaddrs() {
        Ok(interfaces) => interfaces.filter_map(|interface| ip(&interface.address?)).any(|own| own == address),
        Err(err) => {
            tracing::warn!(%err, "the addresses of the network interfaces can't be read, so requests to the public internet are refused");
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
    fn a_loopback_address_is_the_machines_own() {
        assert!(is_own([127, 0, 0, 1].into()));
        assert!(!is_own([198, 51, 100, 1].into()), "documentation");
    }
}
