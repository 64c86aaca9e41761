//! The data folder itself: its lock, and the secret key.

use std::{
    fs::{self, DirBuilder, File, TryLockError},
    io::{ErrorKind, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};

use base64::{Engine, prelude::BASE64_STANDARD};

use super::{
    files::{KEY, LOCK},
    moving,
};
use crate::{
    error::{Error, Result},
    secret,
};

/// Creates the data folder with mode 0700 if there is none.
pub fn make_folder(folder: &Path) -> Result<()> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|err| Error::bad_request(format!("can't make the data folder {}: {err}", folder.display())))
}

/// The lock of a serving process on its data folder. It is released when it is dropped or the process is killed.
pub struct FolderLock {
    _file: File,
}

/// Locks the data folder; fails if another server is running on it.
pub fn lock(folder: &Path) -> Result<FolderLock> {
    let path = folder.join(LOCK);
    let unusable = |err| Error::bad_request(format!("can't write to the data folder {}: {err}", folder.display()));
    let file = File::options().create(true).truncate(false).write(true).mode(0o600).open(path).map_err(unusable)?;
    match file.try_lock() {
        Ok(()) => Ok(FolderLock { _file: file }),
        Err(TryLockError::WouldBlock) => {
            Err(Error::bad_request(format!("another server is running on the data folder {}", folder.display())))
        }
        Err(TryLockError::Error(err)) => Err(unusable(err)),
    }
}

/// Reads the server's secret key, or creates it with mode 0600 on the first start.
pub fn secret_key(folder: &Path) -> Result<[u8; 32]> {
    moving::require_done(folder)?;
    let path = folder.join(KEY);
    let named = |err| unusable(&path, &err);
    if !path.exists() {
        let key = secret::random::<32>();
        // First written completely under another name, so that a kill leaves no partial key.
        let draft = folder.join(format!("{KEY}.{}", std::process::id()));
        let mut file = File::options().create(true).truncate(true).write(true).mode(0o600).open(&draft).map_err(named)?;
        file.write_all(BASE64_STANDARD.encode(key).as_bytes()).and_then(|()| file.sync_all()).map_err(named)?;
        // A link fails if another process has created the key meanwhile; a rename would replace that key.
        let made = fs::hard_link(&draft, &path);
        fs::remove_file(&draft).map_err(named)?;
        made.or_else(|err| if err.kind() == ErrorKind::AlreadyExists { Ok(()) } else { Err(named(err)) })?;
    }
    parse_key(&existing_key(folder)?)
}

/// The text of a data folder's secret key. Fails if there is none, or it is no key.
pub fn existing_key(folder: &Path) -> Result<Vec<u8>> {
    let path = folder.join(KEY);
    let text = fs::read(&path).map_err(|err| unusable(&path, &err))?;
    parse_key(&text).map_err(|err| unusable(&path, &err))?;
    Ok(text)
}

/// Reads the text of a secret key.
pub fn parse_key(text: &[u8]) -> Result<[u8; 32]> {
    let bytes = BASE64_STANDARD.decode(text.trim_ascii()).ok();
    bytes.and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| Error::bad_request("a secret key must hold 32 bytes in base64"))
}

fn unusable(path: &Path, err: &dyn std::fmt::Display) -> Error {
    Error::bad_request(format!("the key file {}: {err}", path.display()))
}
