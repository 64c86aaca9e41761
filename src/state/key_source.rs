//! Where the keys of the server are from, to be read again.

use std::path::{Path, PathBuf};

use crate::{db::KeyFile, error::Result, secret::Keys, time::Time};

pub struct KeySource {
    folder: PathBuf,
    /// The push key of an external Centrifugo, which takes the place of the server's own.
    push: Option<String>,
}

impl KeySource {
    pub fn new(folder: &Path, push: Option<String>) -> KeySource {
        KeySource { folder: folder.to_owned(), push }
    }

    /// Reads the key file; creates it for a new data folder.
    pub fn open(&self, now: Time) -> Result<KeyFile> {
        KeyFile::open(&self.folder, now)
    }

    /// Reads the key file.
    pub fn read(&self, now: Time) -> Result<KeyFile> {
        KeyFile::read(&self.folder, now)
    }

    /// The keys of the file.
    pub fn keys(&self, file: &KeyFile) -> Keys {
        match &self.push {
            Some(push) => file.keys().with_push_key(push),
            None => file.keys(),
        }
    }
}
