//! Where the server listens, and with which certificate.

use std::{
    fmt,
    net::SocketAddr,
    path::{Path, PathBuf},
    str::FromStr,
};

use clap::Args;

use crate::error::{Error, Result};

/// Where the server listens.
#[derive(Args, Clone, Debug)]
pub struct Listen {
    /// Addresses to listen on: an IP address with a port, or unix:PATH for a socket that only this machine's proxy reaches; several
    #[arg(
        id = "listen",
        long = "listen",
        env = "TIDINGS_LISTEN",
        default_value = "127.0.0.1:8080",
        value_delimiter = ',',
        value_name = "ADDRESS"
    )]
    pub addresses: Vec<Address>,

    /// PEM file of the server's certificate and those between it and its authority: TCP addresses then speak HTTPS alone
    ///
    /// The server reads both files again when they change, within a minute or at SIGHUP
    #[arg(long, env = "TIDINGS_TLS_CERT", value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,

    /// PEM file of the private key of --tls-cert
    #[arg(long, env = "TIDINGS_TLS_KEY", value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
}

/// An address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl Listen {
    /// The files of the certificate and its key; `None` without TLS.
    pub fn tls(&self) -> Result<Option<(&Path, &Path)>> {
        match (&self.tls_cert, &self.tls_key) {
            (Some(cert), Some(key)) => Ok(Some((cert, key))),
            (None, None) => Ok(None),
            _ => Err(Error::failed("--tls-cert and --tls-key: give both, or neither")),
        }
    }

    /// The first TCP address.
    pub fn first_tcp_address(&self) -> Option<SocketAddr> {
        self.addresses.iter().find_map(Address::as_tcp)
    }

    /// The origin of a server that listens on this TCP address.
    pub fn origin(&self, address: SocketAddr) -> String {
        let scheme = if self.tls_cert.is_some() { "https" } else { "http" };
        format!("{scheme}://{address}")
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
