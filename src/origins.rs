//! Which web pages the server answers (RFC 6454).

use poem::{Request, http::header};
use url::Url;

use crate::{
    error::{Error, Result},
    site::{is_loopback, is_unspecified},
};

/// The host names under which a browser reaches a server on its own machine.
const LOOPBACK: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// The origins of pages that may call the API and open sockets: the server's own, and those that `--allowed-origin` names.
pub struct Origins(Vec<String>);

impl Origins {
    /// The server's own origins are those of the base URL and of the web client's; not the `Host` header's: a page of a
    /// name that was made to lead here (DNS rebinding) sends that name as its origin and as the host.
    pub fn new(allowed: &[String], base_url: &str, web_url: &str) -> Result<Origins> {
        let one = |text: &String| match text.as_str() {
            "*" => Ok(text.clone()),
            _ => origin(text).ok_or_else(|| {
                Error::bad_request(format!(
                    "--allowed-origin {text}: expected * or an origin such as https://chat.example.org:8443"
                ))
            }),
        };
        let mut origins = allowed.iter().map(one).collect::<Result<Vec<_>>>()?;
        for url in [base_url, web_url] {
            origins.extend(own(url));
        }
        Ok(Origins(origins))
    }

    /// Whether the request comes from a page that may open sockets. Programs send no origin, and may.
    pub fn allow(&self, req: &Request) -> bool {
        req.header(header::ORIGIN).is_none_or(|origin| self.names(origin))
    }

    /// Whether pages of this origin may call.
    pub fn names(&self, origin: &str) -> bool {
        self.0.iter().any(|allowed| allowed == "*" || allowed.eq_ignore_ascii_case(origin))
    }
}

/// The origin of one of the server's own addresses. One that only this machine can reach has all of its names: people type
/// either.
fn own(address: &str) -> Vec<String> {
    let Ok(url) = Url::parse(address) else { return Vec::new() };
    let origin = |url: &Url| url.origin().ascii_serialization();
    let mut origins = vec![origin(&url)];
    // The default of a server that listens on all addresses leads nowhere else, either.
    if is_unspecified(address) || is_loopback(address) {
        for name in LOOPBACK {
            let mut other = url.clone();
            if other.set_host(Some(name)).is_ok() {
                origins.push(origin(&other));
            }
        }
    }
    origins
}

/// `scheme://host[:port]` as a browser sends it, without the scheme's own port.
fn origin(text: &str) -> Option<String> {
    let url = Url::parse(text).ok()?;
    let host = url.host_str().filter(|host| !host.is_empty() && !host.contains('*'))?;
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let origin = format!("{}://{host}{port}", url.scheme());
    let rest = url.as_str().strip_prefix(&origin)?; // a user's name, a path, a query or a fragment has no place
    matches!(rest, "" | "/").then_some(origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origins(allowed: &[&str], base: &str, web: &str) -> Origins {
        Origins::new(&allowed.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>(), base, web).unwrap()
    }

    #[test]
    fn an_origin_is_compared_as_browsers_send_it() {
        let named =
            |setting: &str, origin: &str| origins(&[setting], "https://here.example", "https://here.example").names(origin);
        assert!(named("https://Chat.example.org:443/", "https://chat.example.org"));
        assert!(named("http://[::1]:3000", "http://[::1]:3000"));
        assert!(named("tauri://localhost", "tauri://localhost"));
        assert!(named("*", "null"));
        assert!(!named("https://chat.example.org", "http://chat.example.org"));
        assert!(!named("https://chat.example.org", "https://chat.example.org.evil.example"));
        assert!(!named("https://chat.example.org", "https://chat.example.org:8443"));
    }

    #[test]
    fn the_servers_own_origins_are_those_of_its_addresses() {
        let public = origins(&[], "https://chat.example.org/below", "https://web.example.org:8443");
        for (origin, is_own) in [
            ("https://chat.example.org", true),
            ("https://web.example.org:8443", true),
            ("http://chat.example.org", false),
            ("https://chat.example.org:8443", false),
            ("http://localhost", false),
            ("http://localhost:8080", false),
            ("null", false),
        ] {
            assert_eq!(public.names(origin), is_own, "{origin}");
        }
        for base in
            ["http://127.0.0.1:8080", "http://localhost:8080", "http://[::1]:8080", "http://0.0.0.0:8080", "http://[::]:8080"]
        {
            let local = origins(&[], base, base);
            for (origin, is_own) in [
                ("http://127.0.0.1:8080", true),
                ("http://localhost:8080", true),
                ("http://[::1]:8080", true),
                (base, true),
                ("http://localhost:8081", false),
                ("http://localhost", false),
                ("https://localhost:8080", false),
                ("http://rebound.example:8080", false),
            ] {
                assert_eq!(local.names(origin), is_own, "{base}: {origin}");
            }
        }
    }
}
