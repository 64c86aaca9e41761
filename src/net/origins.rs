//! Which web pages the server answers (RFC 6454), and which of them are its own.

use std::net::IpAddr;

use ipnet::IpNet;
use poem::{
    Request,
    http::{
        header,
        uri::{Authority, Scheme},
    },
};
use url::Url;

use crate::{
    error::{Error, Result},
    net::client_address,
    site::{is_loopback, is_unspecified},
};

/// The host names under which a browser reaches a server on its own machine.
const LOOPBACK: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// The header that the server's own pages send where browsers send no `Sec-Fetch-Site`: over plain http, other than to this
/// machine. Other pages can't send it, because no answer to their preflights allows it.
pub const CLIENT: &str = "tidings-client";

/// The header in which browsers say where a request comes from.
const SITE: &str = "sec-fetch-site";

/// The origins of pages that may call the API and open sockets: the server's own, and those that `--allowed-origin` names.
pub struct Origins {
    /// The origins of the base URL.
    own: Vec<String>,
    /// The others that may call: those of the web client, and those that `--allowed-origin` names.
    others: Vec<String>,
    /// The names besides that of the base URL that lead to the server.
    names: Vec<String>,
    /// Whether the base URL is https.
    is_https: bool,
    trusted_proxies: Vec<IpNet>,
}

impl Origins {
    /// The origins of a server with these addresses, and further `names` that lead to it. `trusted_proxies` may tell under which
    /// scheme a client reached the server.
    pub fn new(
        allowed: &[String],
        (base_url, names): (&str, &[String]),
        web_url: &str,
        trusted_proxies: &[IpNet],
    ) -> Result<Origins> {
        let one = |text: &String| match text.as_str() {
            "*" => Ok(text.clone()),
            _ => origin(text).ok_or_else(|| {
                Error::failed(format!("--allowed-origin {text}: expected * or an origin such as https://chat.example.org:8443"))
            }),
        };
        let mut others = allowed.iter().map(one).collect::<Result<Vec<_>>>()?;
        others.extend(own(web_url));
        let is_https = base_url.starts_with("https:");
        Ok(Origins { own: own(base_url), others, names: names.to_owned(), is_https, trusted_proxies: trusted_proxies.to_owned() })
    }

    /// Whether the request comes from a page that may open sockets. Programs send no origin, and may.
    pub fn may_open_socket(&self, req: &Request) -> bool {
        let is_allowed = |origin: &str| self.is_listed(origin) || self.is_own(req, origin);
        all(req, header::ORIGIN.as_str(), is_allowed)
    }

    /// Whether pages of this origin may call from wherever they are.
    pub fn is_listed(&self, origin: &str) -> bool {
        let mut all = self.own.iter().chain(&self.others);
        all.any(|allowed| allowed == "*" || allowed.eq_ignore_ascii_case(origin))
    }

    /// Whether the request proves that a page of this server made it, so that its cookies count. A browser says so itself in
    /// `Sec-Fetch-Site` (Fetch Metadata, section 2.4); one that doesn't send that must send [`CLIENT`]. Neither counts beside the
    /// `Origin` of another page.
    pub fn is_own_page(&self, req: &Request) -> bool {
        let tells_site = req.headers().contains_key(SITE);
        let is_proved =
            if tells_site { all(req, SITE, |site| site == "same-origin") } else { req.headers().contains_key(CLIENT) };
        is_proved && all(req, header::ORIGIN.as_str(), |origin| self.is_own(req, origin))
    }

    /// Whether a request for a file may count its cookies. A picture in a page of the server sends neither [`CLIENT`] nor an origin,
    /// and over plain http nothing at all; so they count unless the browser says that another site asks, and no person who follows a
    /// link. What is answered writes nothing, and no page elsewhere can read it.
    pub fn may_show_file(&self, req: &Request) -> bool {
        let is_navigation =
            || req.header("sec-fetch-mode") == Some("navigate") && all(req, "sec-fetch-dest", |what| what == "document");
        all(req, SITE, |site| matches!(site, "same-origin" | "none")) || is_navigation()
    }

    /// Whether this is an origin of the server itself: that of the base URL, or of the address or the server's name in the `Host`
    /// header. Another name in that header proves nothing: a page whose name was made to lead here (DNS rebinding) sends the name as
    /// its origin and as the host.
    fn is_own(&self, req: &Request, origin: &str) -> bool {
        let host = req.header(header::HOST).filter(|host| self.is_address_or_name(host));
        let scheme = if self.came_over_https(req) { "https" } else { "http" };
        let by_address = host.is_some_and(|host| origin.eq_ignore_ascii_case(&format!("{scheme}://{host}")));
        by_address || self.own.iter().any(|own| own.eq_ignore_ascii_case(origin))
    }

    /// Whether a host is an IP address or a name of the server, with a port or without.
    fn is_address_or_name(&self, host: &str) -> bool {
        let Ok(authority) = host.parse::<Authority>() else { return false };
        let is_address = authority.host().trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        is_address || self.names.iter().any(|name| name.eq_ignore_ascii_case(authority.host()))
    }

    /// Whether the client reached the server over https: through its own TLS, or that of a proxy. Trusted proxies say so in
    /// `X-Forwarded-Proto`; if they say nothing, the base URL does.
    pub fn came_over_https(&self, req: &Request) -> bool {
        let is_proxy = client_address::is_proxy(&self.trusted_proxies, client_address::peer(req));
        let forwarded = req.header("x-forwarded-proto").filter(|_| is_proxy);
        *req.scheme() == Scheme::HTTPS || forwarded.map_or(self.is_https, |scheme| scheme.trim().eq_ignore_ascii_case("https"))
    }
}

/// Whether a browser says that a page elsewhere made the request. Otherwise a page of this server did, or the browser's user by
/// typing an address; over plain http browsers say nothing.
pub fn is_from_elsewhere(req: &Request) -> bool {
    !all(req, SITE, |site| matches!(site, "same-origin" | "none"))
}

/// Whether all headers of a name have a value that fits; a request without one has.
fn all(req: &Request, name: &str, fits: impl Fn(&str) -> bool) -> bool {
    req.headers().get_all(name).iter().all(|value| value.to_str().is_ok_and(&fits))
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
        Origins::new(&allowed.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>(), (base, &[]), web, &[]).unwrap()
    }

    #[test]
    fn an_origin_is_compared_as_browsers_send_it() {
        let named =
            |setting: &str, origin: &str| origins(&[setting], "https://here.example", "https://here.example").is_listed(origin);
        assert!(named("https://Chat.example.org:443/", "https://chat.example.org"));
        assert!(named("http://[::1]:3000", "http://[::1]:3000"));
        assert!(named("tauri://localhost", "tauri://localhost"));
        assert!(named("*", "null"));
        assert!(!named("https://chat.example.org", "http://chat.example.org"));
        assert!(!named("https://chat.example.org", "https://chat.example.org.evil.example"));
        assert!(!named("https://chat.example.org", "https://chat.example.org:8443"));
    }

    #[test]
    fn pages_of_each_name_of_the_server_are_its_own() {
        let names = ["chat.example.org", "talk.example.org"].map(str::to_owned);
        let origins = Origins::new(&[], ("https://chat.example.org", &names), "https://chat.example.org", &[]).unwrap();
        let is_own = |host: &str, origin: &str| {
            let req = Request::builder().header(header::HOST, host).header(header::ORIGIN, origin).finish();
            origins.may_open_socket(&req)
        };
        assert!(is_own("talk.example.org", "https://talk.example.org"));
        assert!(is_own("Talk.example.org:8443", "https://talk.example.org:8443"));
        assert!(!is_own("talk.example.org", "https://evil.example"));
        assert!(!is_own("evil.example", "https://evil.example"), "a name that was made to lead here");
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
            assert_eq!(public.is_listed(origin), is_own, "{origin}");
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
                assert_eq!(local.is_listed(origin), is_own, "{base}: {origin}");
            }
        }
    }
}
