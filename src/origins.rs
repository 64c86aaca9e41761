//! Which web pages the server answers (RFC 6454).

use poem::{Request, http::header};
use url::Url;

use crate::error::{Error, Result};

/// Which pages may call the API and open sockets from elsewhere.
pub struct Origins(Vec<String>);

impl Origins {
    pub fn new(allowed: &[String]) -> Result<Origins> {
        let one = |text: &String| match text.as_str() {
            "*" => Ok(text.clone()),
            _ => origin(text).ok_or_else(|| {
                Error::bad_request(format!(
                    "--allowed-origin {text}: * or an origin like https://chat.example.org:8443 is wanted"
                ))
            }),
        };
        allowed.iter().map(one).collect::<Result<_>>().map(Origins)
    }

    /// Requests without an origin are no page's; the server's own pages have its host as theirs.
    pub fn allow(&self, req: &Request) -> bool {
        let Some(origin) = req.header(header::ORIGIN) else { return true };
        let own = req
            .header(header::HOST)
            .is_some_and(|host| origin.split_once("://").is_some_and(|(_, o)| o.eq_ignore_ascii_case(host)));
        own || self.names(origin)
    }

    /// Whether the setting names this origin.
    pub fn names(&self, origin: &str) -> bool {
        self.0.iter().any(|allowed| allowed == "*" || allowed.eq_ignore_ascii_case(origin))
    }
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

    #[test]
    fn an_origin_is_compared_as_browsers_send_it() {
        let named = |setting: &str, origin: &str| Origins::new(&[setting.to_owned()]).unwrap().names(origin);
        assert!(named("https://Chat.example.org:443/", "https://chat.example.org"));
        assert!(named("http://[::1]:3000", "http://[::1]:3000"));
        assert!(named("tauri://localhost", "tauri://localhost"));
        assert!(named("*", "null"));
        assert!(!named("https://chat.example.org", "http://chat.example.org"));
        assert!(!named("https://chat.example.org", "https://chat.example.org.evil.example"));
        assert!(!named("https://chat.example.org", "https://chat.example.org:8443"));
    }
}
