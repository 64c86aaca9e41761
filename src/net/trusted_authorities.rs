//! Whom connections out of the house trust: the public certificate authorities, which are built in, and
//! those of `--ca-file`.

use std::{path::Path, sync::Arc};

use lettre::transport::smtp::client::{Certificate, TlsParameters};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};

use crate::{
    error::{Error, Result},
    regular_file,
};

pub struct Authorities {
    /// The authorities of a file in PEM (RFC 7468).
    own: Vec<u8>,
}

impl Authorities {
    pub fn read(file: Option<&Path>) -> Result<Authorities> {
        let Some(file) = file else { return Ok(Authorities { own: Vec::new() }) };
        let named = |err: &dyn std::fmt::Display| Error::failed(format!("--ca-file {}: {err}", file.display()));
        let own = regular_file::read(file).map_err(|err| named(&err))?;
        let found = CertificateDer::pem_slice_iter(&own).collect::<Result<Vec<_>, _>>().map_err(|err| named(&err))?;
        if found.is_empty() {
            return Err(named(&"there is no certificate in it"));
        }
        Ok(Authorities { own })
    }

    /// For HTTPS.
    pub fn tls_config(&self) -> Result<ClientConfig> {
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        for certificate in CertificateDer::pem_slice_iter(&self.own) {
            roots.add(certificate.map_err(Error::internal)?).map_err(Error::internal)?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        Ok(config.map_err(Error::internal)?.with_root_certificates(roots).with_no_client_auth())
    }

    /// For a mail server of that name.
    pub fn mail(&self, host: &str) -> Result<TlsParameters> {
        let mut builder = TlsParameters::builder(host.to_owned());
        if !self.own.is_empty() {
            builder = builder.add_root_certificate(Certificate::from_pem(&self.own).map_err(Error::internal)?);
        }
        builder.build().map_err(Error::internal)
    }
}
