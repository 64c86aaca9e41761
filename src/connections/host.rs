//! The `Host` of a request (RFC 9112, section 3.2).

use poem::http::{HeaderMap, Version, header, uri::Authority};

/// Why the `Host` of a request is refused. In HTTP/1.1 there is exactly one; HTTP/1.0 may have none.
pub fn fault(version: Version, headers: &HeaderMap) -> Option<&'static str> {
    let mut hosts = headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) => (version >= Version::HTTP_11).then_some("The header Host is required"),
        (Some(_), Some(_)) => Some("The header Host must not be repeated"),
        (Some(host), None) => {
            let is_valid = host.to_str().is_ok_and(is_valid);
            (!is_valid).then_some("The header Host must be a host name or an IP address, with a port or without")
        }
    }
}

/// A host, and a port or none. A user before them is part of no `Host`.
fn is_valid(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let port = authority.as_str().strip_prefix(authority.host()); // none after a user
    !authority.host().is_empty() && port.is_some_and(|port| matches!(port, "" | ":") || authority.port_u16().is_some())
}

#[cfg(test)]
mod tests {
    use poem::http::HeaderValue;

    use super::*;

    #[track_caller]
    fn refused(version: Version, hosts: &[&[u8]], is_refused: bool) {
        let host = |text: &&[u8]| (header::HOST, HeaderValue::from_bytes(text).unwrap());
        let mut headers = HeaderMap::new();
        hosts.iter().map(host).for_each(|(name, value)| _ = headers.append(name, value));
        assert_eq!(fault(version, &headers).is_some(), is_refused, "{hosts:?}");
    }

    #[test]
    fn a_request_has_one_host_and_before_http_1_1_at_most_one() {
        refused(Version::HTTP_11, &[], true);
        refused(Version::HTTP_10, &[], false);
        for version in [Version::HTTP_10, Version::HTTP_11] {
            refused(version, &[b"x"], false);
            refused(version, &[b"x", b"x"], true);
            refused(version, &[b"x", b"y", b"z"], true);
        }
    }

    #[test]
    fn a_host_is_a_name_or_an_address_with_or_without_a_port() {
        let good = [
            "x",
            "chat.example.org",
            "chat.example.org:8080",
            "192.0.2.1:80",
            "[2001:db8::1]",
            "[2001:db8::1]:65535",
            "a_b",
            "x:",
        ];
        let bad = ["", "x y", "x/y", "a@x", "http://x", "x:65536", "x:1:2", "x:y", "[2001:db8::1", "x?", "x#", "\u{fc}"];
        good.iter().for_each(|host| refused(Version::HTTP_11, &[host.as_bytes()], false));
        bad.iter().for_each(|host| refused(Version::HTTP_11, &[host.as_bytes()], true));
    }
}
