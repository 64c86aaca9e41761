//! `tidings healthcheck`

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use serde_json::json;

use super::output::Output;
use crate::{
    config::{Address, Listen},
    error::{Error, Result},
    net::own_addresses,
};

/// How long the server may take to answer.
const WITHIN: Duration = Duration::from_secs(5);

pub fn run(output: Output, listen: Listen) -> Result<()> {
    let addresses = listen.addresses();
    let first = addresses.first().ok_or_else(|| Error::failed("--listen names no address"))?;
    let url = match first {
        Address::Tcp(address) => match listen.domains.first() {
            Some(name) => format!("https://{name}:{}/health", address.port()),
            None => format!("{}/health", listen.origin(reachable(*address))),
        },
        Address::Unix(_) => "http://localhost/health".to_owned(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::internal)?;
    let asked = async {
        _ = rustls::crypto::ring::default_provider().install_default(); // an error says that there is one
        // The certificate names the server's public address. Nothing secret is sent.
        let client = reqwest::Client::builder().tls_danger_accept_invalid_certs(true).no_proxy().timeout(WITHIN);
        let client = match first {
            // Its own name leads here, whatever the DNS says.
            Address::Tcp(address) => match listen.domains.first() {
                Some(name) => client.resolve(name, reachable(*address)),
                None => client,
            },
            Address::Unix(path) => client.unix_socket(path.as_path()),
        };
        let client = client.build().map_err(Error::internal)?;
        client.get(&url).send().await.map_err(|_| Error::failed(format!("{url} can't be reached on {first}")))
    };
    let status = runtime.block_on(asked)?.status();
    if !status.is_success() {
        return Err(Error::failed(format!("{url} answers {status}")));
    }
    output.done("healthy", &json!({ "healthy": true }))
}

/// The address at which a server that listens on all addresses is reached from its own machine.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        // A machine without IPv6 has no `::1`.
        IpAddr::V6(ip) if ip.is_unspecified() && own_addresses::is_own(Ipv6Addr::LOCALHOST.into()) => Ipv6Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}
