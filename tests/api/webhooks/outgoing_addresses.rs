//! Where requests to addresses that users gave may go, judged before anything is connected to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use tidings::outgoing::{Failure, check};
use url::Url;

/// Refused from its first address to its last; and whether the address before and the one after are reachable.
const REFUSED: &[(&str, bool, bool)] = &[
    ("0.0.0.0/8", false, true),
    ("0.0.0.0/32", false, false),
    ("10.0.0.0/8", true, true),
    ("100.64.0.0/10", true, true),
    ("127.0.0.0/8", true, true),
    ("168.63.129.16/32", true, true),
    ("169.254.0.0/16", true, true),
    ("169.254.169.254/32", false, false),
    ("172.16.0.0/12", true, true),
    ("192.0.0.0/24", true, true),
    ("192.0.0.0/29", true, false),
    ("192.0.0.8/32", false, true),
    ("192.0.0.170/31", false, false),
    ("192.0.2.0/24", true, true),
    ("192.88.99.0/24", true, true),
    ("192.88.99.2/32", false, false),
    ("192.168.0.0/16", true, true),
    ("198.18.0.0/15", true, true),
    ("198.51.100.0/24", true, true),
    ("203.0.113.0/24", true, true),
    ("224.0.0.0/4", true, false),
    ("240.0.0.0/4", false, false),
    ("255.255.255.255/32", false, false),
    ("::/128", false, false),
    ("::1/128", false, false),
    ("::/96", false, false),
    ("::ffff:0:0:0/96", false, false),
    ("64:ff9b::/96", false, false),
    ("64:ff9b:1::/48", false, false),
    ("100::/64", false, false),
    ("100:0:0:1::/64", false, false),
    ("1000::/4", false, true),
    ("2001::/23", true, true),
    ("2001::/32", true, false),
    ("2001:1::/128", false, true),
    ("2001:2::/48", false, false),
    ("2001:10::/28", false, true),
    ("2001:db8::/32", true, true),
    ("2002::/16", true, true),
    ("3fff::/20", true, true),
    ("4000::/3", true, false),
    ("5f00::/16", false, false),
    ("8000::/1", false, false),
    ("fc00::/7", false, false),
    ("fe80::/10", false, false),
    ("fec0::/10", false, false),
    ("ff00::/8", false, false),
];

/// Reachable from its first address to its last; and whether the address before and the one after are.
const REACHABLE: &[(&str, bool, bool)] = &[
    ("192.0.0.9/32", false, true),
    ("192.0.0.10/32", true, false),
    ("192.31.196.0/24", true, true),
    ("192.52.193.0/24", true, true),
    ("192.175.48.0/24", true, true),
    ("2000::/16", false, false),
    ("2001:1::1/128", false, true),
    ("2001:1::2/128", true, true),
    ("2001:1::3/128", true, false),
    ("2001:3::/32", false, false),
    ("2001:4:112::/48", false, false),
    ("2001:20::/28", false, true),
    ("2001:30::/28", true, false),
    ("2620:4f:8000::/48", true, true),
];

/// 127.0.0.1 and `::1` as people write them who mean to get by a check.
pub const SPELLINGS: &[&str] = &[
    "127.0.0.1",
    "127.0.0.1.",
    "127.1",
    "127.0.1",
    "0x7f000001",
    "0x7f.1",
    "0X7F.0x0.0x0.0x1",
    "0x7f.0.0x1.",
    "2130706433",
    "017700000001",
    "0177.0.0.1",
    "0177.0.0.01",
    "00000177.0x0.1",
    "%31%32%37.0.0.1",
    "127%2e0%2e0%2e1",
    "127。0。0。1",
    "127．0．0．1",
    "①②⑦.⓪.⓪.①",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:127.0.0.1]",
    "[::127.0.0.1]",
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]",
    "[2001:0:7f00:1::]",
    "[2001:0:808:808::80ff:fffe]",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[0000::0001]",
    "0",
    "0.0.0.0",
    "[::]",
];

pub fn url(host: impl std::fmt::Display, port: u16) -> Url {
    Url::parse(&format!("http://{host}:{port}/")).unwrap()
}

pub fn networks(texts: &[&str]) -> Vec<IpNet> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn reaches(address: IpAddr, opened: &[&str]) -> bool {
    let host = if address.is_ipv6() { format!("[{address}]") } else { address.to_string() };
    match check(&url(host, 80), &networks(opened)) {
        Ok(()) => true,
        Err(Failure::Refused(_)) => false,
        Err(other) => panic!("{address}: {other}"),
    }
}

/// The address that far away, if there is one.
fn beside(address: IpAddr, step: i8) -> Option<IpAddr> {
    match address {
        IpAddr::V4(address) => address.to_bits().checked_add_signed(step.into()).map(|bits| Ipv4Addr::from_bits(bits).into()),
        IpAddr::V6(address) => address.to_bits().checked_add_signed(step.into()).map(|bits| Ipv6Addr::from_bits(bits).into()),
    }
}

/// Both ends of each range with the addresses beside them, and whether they are reachable.
pub fn edges() -> Vec<(IpAddr, bool)> {
    let ranges = REFUSED.iter().map(|range| (range, false)).chain(REACHABLE.iter().map(|range| (range, true)));
    let edges = ranges.flat_map(|((network, before, after), inside)| {
        let network: IpNet = network.parse().unwrap();
        let (first, last) = (network.network(), network.broadcast());
        let outside = [(beside(first, -1), *before), (beside(last, 1), *after)];
        let outside = outside.into_iter().filter_map(|(address, reachable)| Some((address?, reachable)));
        outside.chain([(first, inside), (last, inside)])
    });
    edges.collect()
}

#[test]
fn each_range_ends_where_the_registries_say() {
    let edges = edges();
    assert!(edges.len() > 200, "{}", edges.len());
    for (address, reachable) in edges {
        assert_eq!(reaches(address, &[]), reachable, "{address}");
        if let IpAddr::V4(address) = address {
            assert_eq!(reaches(address.to_ipv6_mapped().into(), &[]), reachable, "{address}, mapped");
        }
    }
}

#[test]
fn every_spelling_of_loopback_is_refused() {
    for host in SPELLINGS {
        let refused = check(&url(host, 80), &[]);
        assert!(matches!(refused, Err(Failure::Refused(_))), "{host}: {refused:?}");
    }
    for host in ["[fe80::1%25eth0]", "[fe80::1%eth0]", "[::1%1]", "127.0.0.1%00", "256.0.0.1", "127.0.0.0x100", "1.2.3.4.5", ""] {
        assert!(Url::parse(&format!("http://{host}/")).is_err(), "{host}");
    }
}

#[test]
fn the_host_of_an_address_is_found_however_the_rest_is_written() {
    let askew = [
        "HTTP://127.0.0.1/",
        "http:127.0.0.1",
        "http:/127.0.0.1",
        "http:////127.0.0.1",
        "http:\\\\127.0.0.1\\@8.8.8.8",
        "http://127.0.0.1\\.hook.example/",
        "http://127.0.0.1?@8.8.8.8",
        "http://127.0.0.1#@8.8.8.8",
        "http://127.0.0.1:80:@8.8.8.8",
        "ht\ttp://12\n7.0.\r0.1/",
        "http://127.0.0.1:0/",
        "http://127.0.0.1:/",
        "http://@127.0.0.1/",
    ];
    for text in askew {
        let refused = check(&Url::parse(text).unwrap(), &[]);
        assert!(matches!(refused, Err(Failure::Refused(_))), "{text}: {refused:?}");
    }
}

#[test]
fn only_http_and_https_addresses_without_a_user_are_called() {
    let refused = |text: &str| check(&Url::parse(text).unwrap(), &[]).unwrap_err().to_string();
    for scheme in ["ftp", "file", "gopher", "ws", "unix", "data", "javascript"] {
        assert!(refused(&format!("{scheme}://hook.example/")).contains("http and https"), "{scheme}");
    }
    for user in ["ada", "ada:secret", ":secret", "8.8.8.8"] {
        assert!(refused(&format!("http://{user}@hook.example/")).contains("user name"), "{user}");
    }
    for host in [".", ".."] {
        assert!(refused(&format!("http://{host}/")).contains("no host"), "{host}");
    }
    for good in ["http://hook.example", "https://hook.example.:8443/a?b#c", "https://8.8.8.8/", "http://[2606:4700::1111]/"] {
        assert_eq!(check(&Url::parse(good).unwrap(), &[]), Ok(()), "{good}");
    }
}

#[test]
fn a_refused_address_is_named_with_the_reason_and_the_setting_that_allows_it() {
    let refused = check(&url("0x7f000001", 80), &[]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "refused: 127.0.0.1 is not on the public internet (loopback); the server's administrator opens networks with --allow-private-webhooks"
    );
}

#[test]
fn only_the_opened_private_networks_are_reached() {
    let open = &["10.1.0.0/16", "::1/128", "fd00:1::/32"];
    for (address, reachable) in [
        ("10.1.0.0", true),
        ("10.1.255.255", true),
        ("::ffff:10.1.0.1", true),
        ("10.0.255.255", false),
        ("10.2.0.0", false),
        ("127.0.0.1", false),
        ("::1", true),
        ("::", false),
        ("::2", false),
        ("fd00:1::5", true),
        ("fd00:2::", false),
        ("::10.1.0.1", false),
        ("64:ff9b::10.1.0.1", false),
    ] {
        assert_eq!(reaches(address.parse().unwrap(), open), reachable, "{address}");
    }
}

#[test]
fn an_opened_translator_leads_to_no_forbidden_address() {
    let open = &["64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "::/96", "::ffff:0:0:0/96"];
    for (address, reachable) in [
        ("64:ff9b::8.8.8.8", true),
        ("64:ff9b::127.0.0.1", false),
        ("64:ff9b::169.254.169.254", false),
        ("64:ff9b:1::8.8.8.8", true),
        ("64:ff9b:1::10.0.0.1", false),
        ("::8.8.8.8", true),
        ("::127.0.0.1", false),
        ("::ffff:0:8.8.8.8", true),
        ("::ffff:0:127.0.0.1", false),
        ("2002:808:808::1", true),
        ("2002:7f00:1::1", false),
        ("2002:c0a8:1::1", false),
        // 8.8.8.8 as the server, 8.8.4.4 and 127.0.0.1 as the client; then 10.0.0.1 as the server.
        ("2001:0:808:808:0:0:f7f7:fbfb", true),
        ("2001:0:808:808:0:0:80ff:fffe", false),
        ("2001:0:a00:1:0:0:f7f7:fbfb", false),
    ] {
        assert_eq!(reaches(address.parse().unwrap(), open), reachable, "{address}");
    }
}
