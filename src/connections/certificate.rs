//! The server's certificate: read from PEM files, and again when they change; or got by [`super::acme`].

use std::{
    fmt::Display,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use prometheus_client::metrics::gauge::Gauge;
use rustls::{
    ConfigBuilder, ServerConfig,
    crypto::ring::Ticketer,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::WantsServerCert,
};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
    time::interval,
};

use super::certificate_validity;
use crate::{
    error::{Error, Result},
    net::client_socket::HTTP_1_1,
    regular_file,
    time::Time,
};

/// How soon a new certificate is served.
const CHECK_EVERY: Duration = Duration::from_secs(60);

/// The files of a certificate and its key.
pub struct Files {
    cert: PathBuf,
    key: PathBuf,
}

/// The certificate that is served.
pub struct Certificate {
    pub config: watch::Receiver<Arc<ServerConfig>>,
    /// When it ends, in Unix seconds; if it is from files, or when one of those between it and its authority does before.
    pub end: Gauge,
}

/// The content of the files.
#[derive(PartialEq)]
struct Pair {
    cert: Vec<u8>,
    key: Vec<u8>,
}

impl Pair {
    fn end(&self) -> Option<Time> {
        CertificateDer::pem_slice_iter(&self.cert)
            .flatten()
            .filter_map(|certificate| Some(certificate_validity::of(&certificate)?.end))
            .min()
    }
}

/// TLS 1.2 and 1.3 with a certificate. A client that comes back resumes its session by a ticket: nothing is kept of it here.
pub(super) fn server_config(
    certified: impl FnOnce(ConfigBuilder<ServerConfig, WantsServerCert>) -> Result<ServerConfig>,
) -> Result<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let mut config = certified(config.map_err(Error::internal)?.with_no_client_auth())?;
    config.alpn_protocols = vec![HTTP_1_1.to_vec()];
    config.ticketer = Ticketer::new().map_err(Error::internal)?;
    Ok(config)
}

impl Files {
    pub fn new(cert: &Path, key: &Path) -> Files {
        Files { cert: cert.to_owned(), key: key.to_owned() }
    }

    /// Fails if they can't be served.
    pub fn check(&self) -> Result<()> {
        self.config(&self.read()?).map(drop)
    }

    /// When the first of the certificates ends.
    pub fn end(&self) -> Result<Option<Time>> {
        Ok(self.read()?.end())
    }

    /// Reads the files, and starts a task that reads them again each minute and at SIGHUP. What can't be served is logged, and
    /// the former certificate stays. The task ends with its receivers.
    pub fn follow(self) -> Result<Certificate> {
        let mut latest = self.read()?;
        let (served, config) = watch::channel(self.config(&latest)?);
        let end = Gauge::default();
        let certificate = Certificate { config, end: end.clone() };
        let note = move |pair: &Pair| _ = end.set(pair.end().map_or(0, Time::unix_seconds));
        note(&latest);
        let mut hangup = signal(SignalKind::hangup()).map_err(Error::internal)?;
        tokio::spawn(async move {
            let mut check = interval(CHECK_EVERY);
            loop {
                tokio::select! {
                    () = served.closed() => return,
                    _ = check.tick() => {}
                    _ = hangup.recv() => {}
                }
                match self.renew(&mut latest) {
                    Ok(None) => {}
                    Ok(Some(config)) => {
                        tracing::info!(cert = %self.cert.display(), "serving the new certificate");
                        note(&latest);
                        served.send_replace(config);
                    }
                    Err(err) => tracing::warn!(err = err.log_text(), "the former certificate is served on"),
                }
            }
        });
        Ok(certificate)
    }

    /// The configuration to serve with, if the files have changed.
    fn renew(&self, latest: &mut Pair) -> Result<Option<Arc<ServerConfig>>> {
        let read = self.read()?;
        if *latest == read {
            return Ok(None);
        }
        *latest = read; // a bad pair is logged once
        self.config(latest).map(Some)
    }

    fn read(&self) -> Result<Pair> {
        let cert = regular_file::read(&self.cert).map_err(|err| self.bad_cert(&err))?;
        let key = regular_file::read(&self.key).map_err(|err| self.bad_key(&err))?;
        Ok(Pair { cert, key })
    }

    fn config(&self, pair: &Pair) -> Result<Arc<ServerConfig>> {
        let certs =
            CertificateDer::pem_slice_iter(&pair.cert).collect::<Result<Vec<_>, _>>().map_err(|err| self.bad_cert(&err))?;
        if certs.is_empty() {
            return Err(self.bad_cert(&"there is no certificate in it"));
        }
        let key = PrivateKeyDer::from_pem_slice(&pair.key).map_err(|err| self.bad_key(&err))?;
        server_config(|config| {
            config.with_single_cert(certs, key).map_err(|err| match err {
                rustls::Error::InconsistentKeys(_) => self.bad_key(&format!("it is not the key of {}", self.cert.display())),
                err => self.bad_cert(&err),
            })
        })
        .map(Arc::new)
    }

    fn bad_cert(&self, err: &dyn Display) -> Error {
        Error::failed(format!("--tls-cert {}: {err}", self.cert.display()))
    }

    fn bad_key(&self, err: &dyn Display) -> Error {
        Error::failed(format!("--tls-key {}: {err}", self.key.display()))
    }
}
