use std::future::poll_fn;

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{PrivateKeyDer, pem::PemObject},
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, split};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::*;

#[allow(dead_code)] // the tests of the API use all of it
#[path = "../../../tests/api/certificate.rs"]
mod certificate;

/// A socket before its handshake, and a client that trusts it.
pub fn secured() -> (Socket, UnixStream, TlsConnector) {
    secured_for(HTTP_1_1)
}

/// The same with a client that asks for this protocol.
fn secured_for(protocol: &[u8]) -> (Socket, UnixStream, TlsConnector) {
    let certificate = certificate::Certificate::of("chat.test");
    let provider = || Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::from_pem_slice(certificate.key_pem().as_bytes()).unwrap();
    let server = ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions().unwrap();
    let mut server = server.with_no_client_auth().with_single_cert(vec![certificate.der.clone().into()], key).unwrap();
    server.alpn_protocols = vec![HTTP_1_1.to_vec(), b"acme-tls/1".to_vec()];
    let mut roots = RootCertStore::empty();
    roots.add(certificate.der.into()).unwrap();
    let client = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions().unwrap();
    let mut client = client.with_root_certificates(roots).with_no_client_auth();
    client.alpn_protocols = vec![protocol.to_vec()];
    let (ours, theirs) = UnixStream::pair().unwrap();
    (Socket::new(Plain::Unix(ours), Some(Arc::new(server))).unwrap(), theirs, TlsConnector::from(Arc::new(client)))
}

/// A socket after its handshake, and its client.
pub async fn connected() -> (Socket, TlsStream<UnixStream>) {
    let (socket, theirs, connector) = secured();
    let connect = async {
        let mut client = connector.connect("chat.test".try_into().unwrap(), theirs).await.unwrap();
        client.write_all(b"x").await.unwrap();
        client
    };
    let mut first = [0];
    let mut first = ReadBuf::new(&mut first);
    let (read, client) = tokio::join!(poll_fn(|cx| socket.poll_read_shared(cx, &mut first)), connect);
    read.unwrap();
    assert_eq!(first.filled(), b"x");
    (socket, client)
}

#[tokio::test]
async fn a_session_takes_more_than_the_kernel_holds_in_both_directions() {
    let (socket, mut client) = connected().await;
    tokio::spawn(async move {
        let (mut from, mut to) = split(socket);
        tokio::io::copy(&mut from, &mut to).await.unwrap();
        to.shutdown().await.unwrap();
    });
    let bytes: Vec<u8> = (0..8_u32 << 20).map(|n| (n % 251) as u8).collect();
    let (mut from, mut to) = split(&mut client);
    let mut echoed = Vec::new();
    let write = async {
        to.write_all(&bytes).await.unwrap();
        to.shutdown().await.unwrap();
    };
    let ((), read) = tokio::join!(write, from.read_to_end(&mut echoed));
    read.expect("the session is ended as TLS asks for");
    assert!(echoed == bytes);
}

#[tokio::test]
async fn what_is_no_handshake_is_an_error_and_not_served() {
    let (mut socket, mut theirs, _) = secured();
    theirs.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    assert_eq!(socket.read(&mut [0; 10]).await.unwrap_err().kind(), ErrorKind::InvalidData);
}

#[tokio::test]
async fn a_validation_by_acme_ends_with_its_handshake() {
    let (mut socket, theirs, connector) = secured_for(b"acme-tls/1");
    let validation = tokio::spawn(async move {
        let mut client = connector.connect("chat.test".try_into().unwrap(), theirs).await.unwrap();
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        client.read(&mut [0; 10]).await
    });
    for _ in 0..2 {
        assert_eq!(socket.read(&mut [0; 10]).await.unwrap(), 0);
    }
    socket.shutdown().await.unwrap();
    assert_eq!(validation.await.unwrap().unwrap(), 0);
}
