//! The data folder itself, and its lock.

use std::{
    fs::{DirBuilder, File, TryLockError},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};

use super::files::LOCK;
use crate::error::{Error, Result};

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
