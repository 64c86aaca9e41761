//! A certificate that signs itself, written out in DER (RFC 5280), and a server that shows it.

use std::{
    io::{Read, Write},
    net::{IpAddr, TcpListener},
    sync::Arc,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair},
};
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};

const ECDSA_WITH_SHA256: &[u8] = b"\x30\x0a\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x02";
const P256: &[u8] = b"\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07";
const COMMON_NAME: &[u8] = b"\x06\x03\x55\x04\x03";
const ALTERNATIVE_NAME: &[u8] = b"\x06\x03\x55\x1d\x11";

pub struct Certificate {
    pub der: Vec<u8>,
    key: Vec<u8>,
}

impl Certificate {
    pub fn of(host: &str) -> Certificate {
        Certificate::naming(&[host])
    }

    /// A certificate that is valid until this time, as in `491231235959Z`.
    pub fn until(host: &str, end: &str) -> Certificate {
        Certificate::make(&[host], end)
    }

    /// A certificate for hosts of these names or IPv4 addresses, which is also its own authority; valid until the end of 2049.
    pub fn naming(hosts: &[&str]) -> Certificate {
        Certificate::make(hosts, "491231235959Z")
    }

    fn make(hosts: &[&str], end: &str) -> Certificate {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap().as_ref().to_vec();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &key, &random).unwrap();
        let name = der(0x30, &[&der(0x31, &[&der(0x30, &[COMMON_NAME, &der(0x0c, &[hosts[0].as_bytes()])])])]);
        let validity = der(0x30, &[&der(0x17, &[b"200101000000Z"]), &der(0x17, &[end.as_bytes()])]);
        let public = der(0x30, &[P256, &der(0x03, &[&[0], pair.public_key().as_ref()])]);
        let names: Vec<u8> = hosts.iter().flat_map(|host| alternative(host)).collect();
        let names = der(0x04, &[&der(0x30, &[&names])]);
        let extensions = der(0xa3, &[&der(0x30, &[&der(0x30, &[ALTERNATIVE_NAME, &names])])]);
        let (version, serial) = (b"\xa0\x03\x02\x01\x02", b"\x02\x01\x01");
        let signed = der(0x30, &[version, serial, ECDSA_WITH_SHA256, &name, &validity, &name, &public, &extensions]);
        let signature = pair.sign(&random, &signed).unwrap();
        let der = der(0x30, &[&signed, ECDSA_WITH_SHA256, &der(0x03, &[&[0], signature.as_ref()])]);
        Certificate { der, key }
    }

    pub fn pem(&self) -> String {
        pem("CERTIFICATE", &self.der)
    }

    pub fn key_pem(&self) -> String {
        pem("PRIVATE KEY", &self.key)
    }

    /// Gives this answer to everybody who trusts the certificate; on a port of 127.0.0.1.
    pub fn serve(&self, answer: &'static str) -> u16 {
        self.serve_with(move |_, _| answer.to_owned())
    }

    /// Answers requests, as their text and the port say.
    pub fn serve_with(&self, answer: impl Fn(u16, &str) -> String + Send + 'static) -> u16 {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.clone()));
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_no_client_auth().with_single_cert(vec![self.der.clone().into()], key).unwrap();
        let (config, listener) = (Arc::new(config), TcpListener::bind("127.0.0.1:0").unwrap());
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), stream.unwrap());
                let (mut request, mut byte) = (Vec::new(), [0]);
                // Where the certificate is refused, nothing comes.
                while !is_whole(&request) && stream.read(&mut byte).is_ok_and(|read| read == 1) {
                    request.extend(byte);
                }
                _ = stream.write_all(answer(port, &String::from_utf8_lossy(&request)).as_bytes());
                stream.conn.send_close_notify();
                _ = stream.flush();
            }
        });
        port
    }
}

/// Whether a request has all of its body.
fn is_whole(request: &[u8]) -> bool {
    let request = String::from_utf8_lossy(request);
    let Some((head, body)) = request.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    body.len() >= length.unwrap_or(0)
}

fn pem(label: &str, der: &[u8]) -> String {
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", BASE64_STANDARD.encode(der))
}

/// The name of a host, or its address.
fn alternative(host: &str) -> Vec<u8> {
    match host.parse() {
        Ok(IpAddr::V4(address)) => der(0x87, &[&address.octets()]),
        _ => der(0x82, &[host.as_bytes()]),
    }
}

/// One value: its tag, its length, its parts.
fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = content.len();
    let mut bytes = match length {
        0..0x80 => vec![tag, length as u8],
        0x80..0x100 => vec![tag, 0x81, length as u8],
        _ => vec![tag, 0x82, (length >> 8) as u8, length as u8],
    };
    bytes.extend(content);
    bytes
}
