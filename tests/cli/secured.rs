//! A server with a certificate of its own, and clients that trust nothing else.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use reqwest::Client;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_tungstenite::WebSocketStream;

use crate::{
    certificate::Certificate,
    harness::{Server, tidings},
};

/// The files of a certificate and its key.
pub struct Pair {
    pub cert: PathBuf,
    pub key: PathBuf,
}

impl Pair {
    pub fn write(folder: &Path, certificate: &Certificate) -> Pair {
        let pair = Pair { cert: folder.join("cert.pem"), key: folder.join("key.pem") };
        std::fs::write(&pair.cert, certificate.pem()).unwrap();
        std::fs::write(&pair.key, certificate.key_pem()).unwrap();
        pair
    }

    pub fn flags(&self) -> [&str; 4] {
        ["--tls-cert", self.cert.to_str().unwrap(), "--tls-key", self.key.to_str().unwrap()]
    }
}

/// What trusts this certificate alone.
pub fn trusting(certificate: &Certificate) -> ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(certificate.der.clone().into()).unwrap();
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    config.with_root_certificates(roots).with_no_client_auth()
}

pub fn http(certificate: &Certificate) -> Client {
    Client::builder().tls_backend_preconfigured(trusting(certificate)).build().unwrap()
}

/// A server that shows this certificate, with a client that trusts it.
pub fn start(folder: &Path, certificate: &Certificate) -> Server {
    let pair = Pair::write(folder, certificate);
    let data = folder.join("data");
    let mut command = tidings(&["serve", "--listen", "127.0.0.1:0", "--rate-limit", "off", "--log", "error", "--data-dir"]);
    let mut server = Server::spawn(command.arg(data).args(pair.flags()));
    server.http = http(certificate);
    server
}

/// A WebSocket over TLS.
pub async fn socket(url: &str, certificate: &Certificate) -> WebSocketStream<tokio_rustls::client::TlsStream<TcpStream>> {
    let address = url.trim_start_matches("https://");
    let stream = TcpStream::connect(address).await.unwrap();
    let connector = TlsConnector::from(Arc::new(trusting(certificate)));
    let stream = connector.connect("127.0.0.1".try_into().unwrap(), stream).await.unwrap();
    let url = format!("wss://{address}/connection/websocket");
    tokio_tungstenite::client_async(url, stream).await.unwrap().0
}
