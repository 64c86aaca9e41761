//! The names for which the server gets a certificate by itself, and the authority that gives it.

use std::net::{Ipv6Addr, SocketAddr};

use clap::Args;
use rustls::pki_types::DnsName;
use url::{Host, Url};

use super::values::operator_address;

/// Let's Encrypt, and its staging environment, whose certificates no browser trusts and whose limits are wide.
const PRODUCTION: &str = "https://acme-v02.api.letsencrypt.org/directory";
const STAGING: &str = "https://acme-staging-v02.api.letsencrypt.org/directory";

/// How certificates are got.
#[derive(Args, Clone, Debug)]
pub struct Acme {
    /// Addresses for plain HTTP beside --domain: they answer the certificate authority, and send everybody else to HTTPS; several [default: port 80 of all addresses]
    #[arg(long, env = "TIDINGS_HTTP_LISTEN", value_delimiter = ',', value_name = "ADDRESS")]
    http_listen: Vec<SocketAddr>,

    /// The authority that gives certificates for --domain: production or staging, both of Let's Encrypt, or the address of another one's ACME directory
    #[arg(id = "acme_directory", long = "acme-directory", env = "TIDINGS_ACME_DIRECTORY", default_value = "production", value_name = "URL", value_parser = directory)]
    pub directory: Url,

    /// Address that the authority may write to, for example when it takes a certificate back
    #[arg(id = "acme_email", long = "acme-email", env = "TIDINGS_ACME_EMAIL", value_name = "ADDRESS", value_parser = operator_address)]
    pub email: Option<String>,
}

impl Acme {
    /// The addresses for plain HTTP of a server that gets its certificate by itself.
    pub fn http_listen(&self) -> Vec<SocketAddr> {
        if self.http_listen.is_empty() { vec![(Ipv6Addr::UNSPECIFIED, 80).into()] } else { self.http_listen.clone() }
    }
}

/// A name for which an authority gives certificates without a look into the DNS: no IP address, no wildcard, no name of this machine
/// alone.
pub(super) fn domain(text: &str) -> Result<String, String> {
    let is_good = |name: &String| name.contains('.') && !name.ends_with('.') && DnsName::try_from(name.as_str()).is_ok();
    match Host::parse(text) {
        Ok(Host::Domain(name)) if is_good(&name) && !name.contains(['*', '_']) => Ok(name),
        _ => Err(format!("{text}: expected a name such as chat.example.org, without a scheme, a port or a path")),
    }
}

fn directory(text: &str) -> Result<Url, String> {
    let address = match text {
        "production" => PRODUCTION,
        "staging" => STAGING,
        address => address,
    };
    let url = Url::parse(address).ok().filter(|url| url.scheme() == "https" && url.has_host());
    url.ok_or_else(|| "expected production, staging or an https address".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_a_plain_name() {
        assert_eq!(domain("Chat.Example.org").unwrap(), "chat.example.org");
        assert_eq!(domain("b\u{fc}ro.example").unwrap(), "xn--bro-hoa.example");
        for no_name in [
            "",
            "*.example.org",
            "198.51.100.7",
            "[::1]",
            "chat.example.org.",
            "localhost",
            "chat..org",
            "https://chat.example.org",
            "a:443",
            "a/b",
        ] {
            assert!(domain(no_name).is_err(), "{no_name}");
        }
    }

    #[test]
    fn a_directory_has_a_word_or_an_address() {
        assert_eq!(directory("staging").unwrap().as_str(), STAGING);
        assert_eq!(directory("https://ca.example/dir").unwrap().as_str(), "https://ca.example/dir");
        assert!(directory("http://ca.example/dir").is_err() && directory("stage").is_err());
    }
}
