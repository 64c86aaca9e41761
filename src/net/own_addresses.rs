//! The addresses of this machine.

use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;

/// Those that the network interfaces have now.
pub fn all() -> nix::Result<impl Iterator<Item = IpAddr>> {
    Ok(getifaddrs()?.filter_map(|interface| ip(&interface.address?)))
}

/// Whether a network interface has the address now. If the interfaces can't be read, every address counts as own.
pub fn is_own(address: IpAddr) -> bool {
    match all() {
        Ok(mut all) => all.any(|own| own == address),
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
    fn loopback_counts_as_an_own_address() {
        assert!(is_own([127, 0, 0, 1].into()));
        assert!(!is_own([198, 51, 100, 1].into()), "documentation");
    }
}
