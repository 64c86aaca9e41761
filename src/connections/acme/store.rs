//! What is kept of an authority in the data folder: the account, the certificate with its key, and the last try that gave none. Each is
//! a file that its owner alone can read. What can't be read is logged, and counts as missing.

use std::{
    fs::{self, DirBuilder, File},
    io::{ErrorKind, Write},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use instant_acme::AccountCredentials;
use rustls::{
    client::verify_server_name,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
    server::ParsedCertificate,
    sign::CertifiedKey,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tempfile::NamedTempFile;
use url::Url;

use crate::{
    connections::certificate_validity::{self, Validity},
    error::{Error, Result},
    time::Time,
};

const FOLDER: &str = "acme";
const ACCOUNT: &str = "account.json";
const CERTIFICATE: &str = "certificate.pem";
const LAST_TRY: &str = "last-try.json";

/// The folder of one authority, so that one may change to another and back.
pub struct Store(PathBuf);

/// A certificate with those between it and its authority, and its key.
pub struct Stored {
    pub key: Arc<CertifiedKey>,
    pub begin: Time,
    pub end: Time,
}

/// A try that gave no certificate, or may be under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Try {
    pub names: Vec<String>,
    /// Tries in a row that gave none, with this one.
    pub tries: u32,
    pub at: Time,
    wait_seconds: u64,
    /// Why there is none, in words for the operator.
    pub why: String,
}

impl Try {
    /// Most characters of its words: an authority may say much.
    const WORDS: usize = 800;

    pub fn new(names: &[String], tries: u32, wait: Duration, why: String) -> Try {
        let why = why.chars().filter(|c| !c.is_control()).take(Try::WORDS).collect(); // terminals show it
        Try { names: names.to_owned(), tries, at: Time::now(), wait_seconds: wait.as_secs(), why }
    }

    /// When the next one begins.
    pub fn next(&self) -> Time {
        self.at + Duration::from_secs(self.wait_seconds)
    }
}

impl Store {
    pub fn new(data: &Path, directory: &Url) -> Store {
        let port = directory.port().map_or_else(String::new, |port| format!("-{port}"));
        let path = directory.path().trim_matches('/').replace('/', "-");
        Store(data.join(FOLDER).join(format!("{}{port}-{path}", directory.host_str().unwrap_or_default())))
    }

    pub fn account(&self) -> Option<AccountCredentials> {
        self.read_json(ACCOUNT)
    }

    pub fn write_account(&self, account: &AccountCredentials) -> Result<()> {
        self.write(ACCOUNT, &serde_json::to_vec(account).map_err(Error::internal)?)
    }

    pub fn last_try(&self) -> Option<Try> {
        self.read_json(LAST_TRY)
    }

    pub fn write_try(&self, last: &Try) -> Result<()> {
        self.write(LAST_TRY, &serde_json::to_vec(last).map_err(Error::internal)?)
    }

    pub fn forget_try(&self) {
        _ = fs::remove_file(self.0.join(LAST_TRY));
    }

    pub fn certificate(&self) -> Option<Stored> {
        let pem = self.read(CERTIFICATE)?;
        Stored::from_pem(&pem).map_err(|why| self.unusable(CERTIFICATE, &why)).inspect_err(unreadable).ok()
    }

    /// A certificate of any authority that is good now for one of these names.
    pub fn substitute(data: &Path, names: &[String]) -> Option<Stored> {
        let folders = fs::read_dir(data.join(FOLDER)).into_iter().flatten().flatten().map(|folder| Store(folder.path()));
        let is_good =
            |stored: &Stored| stored.end > Time::now() && names.iter().any(|name| stored.is_for(std::slice::from_ref(name)));
        folders.filter_map(|store| store.certificate()).filter(is_good).max_by_key(|stored| stored.end)
    }

    /// Keeps a key and the chain of its certificate in one file: they change together.
    pub fn write_certificate(&self, pem: &[u8]) -> Result<()> {
        self.write(CERTIFICATE, pem)
    }

    fn read_json<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let text = self.read(name)?;
        serde_json::from_slice(&text).map_err(|err| self.unusable(name, &err)).inspect_err(unreadable).ok()
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        match fs::read(self.0.join(name)) {
            Err(err) if err.kind() == ErrorKind::NotFound => None,
            read => read.map_err(|err| self.unusable(name, &err)).inspect_err(unreadable).ok(),
        }
    }

    /// Replaces a file, so that a kill leaves the former one or this one.
    fn write(&self, name: &str, content: &[u8]) -> Result<()> {
        let write = || {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
            let mut file = NamedTempFile::new_in(&self.0)?; // mode 0600
            file.write_all(content)?;
            file.as_file().sync_all()?;
            file.persist(self.0.join(name))?;
            File::open(&self.0)?.sync_all()
        };
        write().map_err(|err: std::io::Error| self.unusable(name, &err))
    }

    fn unusable(&self, name: &str, err: &dyn std::fmt::Display) -> Error {
        Error::failed(format!("{}: {err}", self.0.join(name).display()))
    }
}

fn unreadable(err: &Error) {
    tracing::warn!(err = err.log_text(), "a file of the certificate can't be read, and counts as missing");
}

impl Stored {
    /// Reads a key and the chain of its certificate. Fails with the reason, if they can't be served.
    pub fn from_pem(pem: &[u8]) -> Result<Stored, String> {
        let chain = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>().map_err(|err| err.to_string())?;
        let key = PrivateKeyDer::from_pem_slice(pem).map_err(|err| err.to_string())?;
        let first = chain.first().and_then(|first| certificate_validity::of(first));
        let Validity { begin, end } = first.ok_or("there is no certificate in it")?;
        let key = CertifiedKey::from_der(chain, key, &rustls::crypto::ring::default_provider()).map_err(|err| err.to_string())?;
        Ok(Stored { key: Arc::new(key), begin, end })
    }

    /// Whether it is a certificate for all these names.
    pub fn is_for(&self, names: &[String]) -> bool {
        let certificate = self.key.cert.first().and_then(|first| ParsedCertificate::try_from(first).ok());
        let is_for = |name: &String| {
            let name = ServerName::try_from(name.as_str()).ok();
            certificate.as_ref().zip(name).is_some_and(|(certificate, name)| verify_server_name(certificate, &name).is_ok())
        };
        names.iter().all(is_for)
    }

    /// When the last third of its time begins.
    pub fn renew_at(&self) -> Time {
        self.end - self.end.since(self.begin) / 3
    }
}
