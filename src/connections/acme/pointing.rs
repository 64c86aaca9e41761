//! Where a name leads, for an operator whose certificate is refused.

use std::{collections::BTreeSet, net::IpAddr};

use tokio::net::lookup_host;

use crate::net::own_addresses;

/// What is wrong with the name in the DNS, as far as this machine can tell; none if it leads here. Behind a router that forwards
/// connections, a name leads to the router.
pub async fn pointing_elsewhere(name: &str) -> Option<String> {
    match lookup_host((name, 443)).await {
        Ok(found) => objection(name, &found.map(|address| address.ip()).collect(), &own_addresses::all().ok()?.collect()),
        Err(err) => Some(format!("{name} has no address that this machine can find ({err})")),
    }
}

/// Answers that name loopback are not the DNS's: many systems have them for their own name.
fn objection(name: &str, found: &BTreeSet<IpAddr>, own: &BTreeSet<IpAddr>) -> Option<String> {
    let mut elsewhere = found.difference(own).filter(|address| !address.is_loopback()).peekable();
    elsewhere.peek()?;
    let reachable = own.iter().filter(|address| !address.is_loopback() && !is_link_local(address));
    Some(format!("{name} points to {}, this machine is {}", list(elsewhere), list(reachable)))
}

fn is_link_local(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

fn list<'a>(addresses: impl Iterator<Item = &'a IpAddr>) -> String {
    let all: Vec<_> = addresses.map(IpAddr::to_string).collect();
    if all.is_empty() { "none".to_owned() } else { all.join(" and ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_here_elsewhere_or_nowhere() {
        let set = |addresses: &[&str]| addresses.iter().map(|address| address.parse().unwrap()).collect::<BTreeSet<_>>();
        let own = set(&["127.0.0.1", "::1", "198.51.100.4", "2001:db8::4", "fe80::1"]);
        let said = |found: &[&str]| objection("chat.example.org", &set(found), &own).unwrap_or_default();
        assert_eq!(said(&["198.51.100.4"]), "");
        assert_eq!(said(&["127.0.1.1"]), "");
        let elsewhere = "chat.example.org points to 203.0.113.7, this machine is 198.51.100.4 and 2001:db8::4";
        assert_eq!(said(&["203.0.113.7"]), elsewhere);
        assert_eq!(said(&["203.0.113.7", "2001:db8::4"]), elsewhere, "authorities look at each");
    }
}
