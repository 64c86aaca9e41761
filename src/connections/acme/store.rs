//! What is kept of an authority in the data folder: the account, the certificate with its key, and the last refusal. Each is a file
//! that its owner alone can read.

use std::{
    fs::{self, File},
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use instant_acme::AccountCredentials;
use rustls::{
    client::verify_server_name,
    crypto::ring::sign::any_supported_type,
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

const ACCOUNT: &str = "account.json";
const CERTIFICATE: &str = "certificate.pem";
const REFUSAL: &str = "refusal.json";

/// The folder of one authority, so that one may change to another and back.
pub struct Store(PathBuf);

/// A certificate, those between it and its authority, and its key.
pub struct Stored {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    begin: Time,
    pub end: Time,
}

/// Why the last try gave no certificate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Refusal {
    pub names: Vec<String>,
    /// Tries in a row that gave none.
    pub tries: u32,
    pub at: Time,
    pub wait_seconds: u64,
    pub why: String,
}

impl Refusal {
    pub fn next_try(&self) -> Time {
        self.at + Duration::from_secs(self.wait_seconds)
    }
}

impl Store {
    pub fn new(data: &Path, directory: &Url) -> Store {
        let port = directory.port().map_or_else(String::new, |port| format!("-{port}"));
        Store(data.join("acme").join(format!("{}{port}", directory.host_str().unwrap_or_default())))
    }

    pub fn account(&self) -> Result<Option<AccountCredentials>> {
        self.read(ACCOUNT)?.map(|text| self.parse(ACCOUNT, &text)).transpose()
    }

    pub fn write_account(&self, account: &AccountCredentials) -> Result<()> {
        self.write(ACCOUNT, &serde_json::to_vec(account).map_err(Error::internal)?)
    }

    /// The last refusal. One that can't be read is as none.
    pub fn refusal(&self) -> Option<Refusal> {
        self.parse(REFUSAL, &self.read(REFUSAL).ok()??).ok()
    }

    pub fn write_refusal(&self, refusal: Option<&Refusal>) -> Result<()> {
        match refusal {
            Some(refusal) => self.write(REFUSAL, &serde_json::to_vec(refusal).map_err(Error::internal)?),
            None => match fs::remove_file(self.0.join(REFUSAL)) {
                Err(err) if err.kind() != ErrorKind::NotFound => Err(self.unusable(REFUSAL, &err)),
                _ => Ok(()),
            },
        }
    }

    pub fn certificate(&self) -> Result<Option<Stored>> {
        self.read(CERTIFICATE)?.map(|pem| self.stored(&pem)).transpose()
    }

    /// Keeps a key and the chain of its certificate, both in PEM, in one file: they change together.
    pub fn write_certificate(&self, key: &str, chain: &str) -> Result<Stored> {
        let pem = format!("{}\n{chain}", key.trim_end());
        let stored = self.stored(pem.as_bytes())?;
        self.write(CERTIFICATE, pem.as_bytes())?;
        Ok(stored)
    }

    fn stored(&self, pem: &[u8]) -> Result<Stored> {
        let bad = |err: &dyn std::fmt::Display| self.unusable(CERTIFICATE, err);
        let chain = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>().map_err(|err| bad(&err))?;
        let key = PrivateKeyDer::from_pem_slice(pem).map_err(|err| bad(&err))?;
        let first = chain.first().and_then(|first| certificate_validity::of(first));
        let Validity { begin, end } = first.ok_or_else(|| bad(&"there is no certificate in it"))?;
        Ok(Stored { chain, key, begin, end })
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        match fs::read(self.0.join(name)) {
            Err(err) if err.kind() == ErrorKind::NotFound => Ok(None),
            read => read.map(Some).map_err(|err| self.unusable(name, &err)),
        }
    }

    fn parse<T: DeserializeOwned>(&self, name: &str, text: &[u8]) -> Result<T> {
        serde_json::from_slice(text).map_err(|err| self.unusable(name, &err))
    }

    /// Replaces a file, so that a kill leaves the former one or this one.
    fn write(&self, name: &str, content: &[u8]) -> Result<()> {
        let write = || {
            fs::create_dir_all(&self.0)?;
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

impl Stored {
    /// Whether it is a certificate for all these names.
    pub fn is_for(&self, names: &[String]) -> bool {
        let Ok(certificate) = ParsedCertificate::try_from(&self.chain[0]) else { return false };
        let is_for =
            |name: &String| ServerName::try_from(name.as_str()).is_ok_and(|name| verify_server_name(&certificate, &name).is_ok());
        names.iter().all(is_for)
    }

    /// When the last third of its time begins.
    pub fn renew_at(&self) -> Time {
        self.end - self.end.since(self.begin) / 3
    }

    pub fn key(&self) -> Result<CertifiedKey> {
        Ok(CertifiedKey::new(self.chain.clone(), any_supported_type(&self.key).map_err(Error::internal)?))
    }
}
