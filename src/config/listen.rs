//! Where the server listens, and with which certificate.

use std::{
    fmt,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    path::{Path, PathBuf},
    str::FromStr,
};

use clap::Args;

use super::domains::domain;
use crate::error::{Error, Result};

/// Where the server listens.
#[derive(Args, Clone, Debug)]
pub struct Listen {
    /// Addresses to listen on: an IP address with a port, or unix:PATH for a socket that only this machine's proxy reaches; several [default: 127.0.0.1:8080, and with --domain port 443 of all addresses]
    #[arg(id = "listen", long = "listen", env = "TIDINGS_LISTEN", value_delimiter = ',', value_name = "ADDRESS")]
    given: Vec<Address>,

    /// Names of this server, as in chat.example.org: it speaks HTTPS on port 443 with a certificate that it gets from Let's Encrypt and renews by itself; several
    ///
    /// The names must lead to this machine, and port 443 or 80 must be open to the internet. Whoever sets this agrees to the
    /// authority's terms of service
    #[arg(id = "domain", long = "domain", env = "TIDINGS_DOMAIN", value_delimiter = ',', value_name = "NAME", value_parser = domain)]
    pub domains: Vec<String>,

    /// PEM file of the server's certificate and those between it and its authority: TCP addresses then speak HTTPS alone
    ///
    /// The server reads both files again when they change, within a minute or at SIGHUP
    #[arg(long, env = "TIDINGS_TLS_CERT", value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,

    /// PEM file of the private key of --tls-cert
    #[arg(long, env = "TIDINGS_TLS_KEY", value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
}

/// Where the certificate is from.
pub enum Tls<'a> {
    Off,
    /// From files: that of the certificate, and that of its key.
    Files(&'a Path, &'a Path),
    /// From an authority, for these names.
    Acme(&'a [String]),
}

/// An address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl Listen {
    pub fn addresses(&self) -> Vec<Address> {
        let alone =
            || if self.domains.is_empty() { (Ipv4Addr::LOCALHOST, 8080).into() } else { (Ipv6Addr::UNSPECIFIED, 443).into() };
        if self.given.is_empty() { vec![Address::Tcp(alone())] } else { self.given.clone() }
    }

    pub fn tls(&self) -> Result<Tls<'_>> {
        match (&self.tls_cert, &self.tls_key) {
            (None, None) if self.domains.is_empty() => Ok(Tls::Off),
            (None, None) => Ok(Tls::Acme(&self.domains)),
            _ if !self.domains.is_empty() => {
                Err(Error::failed("--domain: the server gets the certificate by itself, so leave out --tls-cert and --tls-key"))
            }
            (Some(cert), Some(key)) => Ok(Tls::Files(cert, key)),
            _ => Err(Error::failed("--tls-cert and --tls-key: give both, or neither")),
        }
    }

    /// The first TCP address.
    pub fn first_tcp_address(&self) -> Option<SocketAddr> {
        self.addresses().iter().find_map(Address::as_tcp)
    }

    /// The origin of a server that listens on this TCP address: that of its first name, if it has one. Whatever port it listens on,
    /// people reach it on that of https.
    pub fn origin(&self, address: SocketAddr) -> String {
        match self.domains.first() {
            Some(name) => format!("https://{name}"),
            None if self.tls_cert.is_some() => format!("https://{address}"),
            None => format!("http://{address}"),
        }
    }
}

impl Address {
    pub fn as_tcp(&self) -> Option<SocketAddr> {
        match self {
            Address::Tcp(address) => Some(*address),
            Address::Unix(_) => None,
        }
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Address, String> {
        let path = text.strip_prefix("unix:").filter(|path| !path.is_empty());
        path.map(|path| Ok(Address::Unix(path.into()))).unwrap_or_else(|| {
            let address = text.parse().map(Address::Tcp);
            address.map_err(|_| "expected an address such as 127.0.0.1:8080, or a socket such as unix:/run/tidings/http".into())
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => address.fmt(f),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}
