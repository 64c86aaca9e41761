//! The certificate that is served, and the proofs that the authority looks for.

use std::{collections::HashMap, sync::Arc};

use parking_lot::RwLock;
use rcgen::{CertificateParams, CustomExtension, KeyPair};
use rustls::{
    crypto::ring::sign::any_ecdsa_type,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};

use crate::error::{Error, Result};

/// The protocol of a connection with which an authority validates a name (RFC 8737).
pub(super) const ACME_TLS: &[u8] = b"acme-tls/1";

/// Shared by the task that gets certificates, the TLS sessions and the listeners for plain HTTP.
#[derive(Debug, Default)]
pub struct Identity(RwLock<Inner>);

#[derive(Debug, Default)]
struct Inner {
    served: Option<Arc<CertifiedKey>>,
    /// Certificates that prove a name (RFC 8737).
    by_name: HashMap<String, Arc<CertifiedKey>>,
    /// Texts that prove a name, by their token (RFC 8555, section 8.3).
    by_token: HashMap<String, String>,
}

impl Identity {
    pub(super) fn serve(&self, key: Arc<CertifiedKey>) {
        self.0.write().served = Some(key);
    }

    /// Has a connection that asks for the proof of the name find it. `digest` is the SHA-256 of the key authorization.
    pub(super) fn prove_by_certificate(&self, name: &str, digest: &[u8]) -> Result<()> {
        let mut params = CertificateParams::new([name.to_owned()]).map_err(Error::internal)?;
        params.custom_extensions = vec![CustomExtension::new_acme_identifier(digest)];
        let key = KeyPair::generate().map_err(Error::internal)?;
        let certificate = params.self_signed(&key).map_err(Error::internal)?;
        let der = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let key = CertifiedKey::new(vec![certificate.der().clone()], any_ecdsa_type(&der).map_err(Error::internal)?);
        self.0.write().by_name.insert(name.to_owned(), Arc::new(key));
        Ok(())
    }

    /// Has a request for the token find the text.
    pub(super) fn prove_by_text(&self, token: &str, text: &str) {
        self.0.write().by_token.insert(token.to_owned(), text.to_owned());
    }

    pub(super) fn forget_proofs(&self) {
        let mut inner = self.0.write();
        inner.by_name.clear();
        inner.by_token.clear();
    }

    /// The key authorization of this token (RFC 8555, section 8.1), which proves a name.
    pub fn key_authorization(&self, token: &str) -> Option<String> {
        self.0.read().by_token.get(token).cloned()
    }
}

impl ResolvesServerCert for Identity {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let is_validation = hello.alpn().is_some_and(|protocols| protocols.eq([ACME_TLS]));
        if is_validation { self.0.read().by_name.get(hello.server_name()?).cloned() } else { self.0.read().served.clone() }
    }
}
