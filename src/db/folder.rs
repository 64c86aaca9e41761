//! The data folder itself, and its lock.

use std::{
    fs::{self, DirBuilder, File, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, lchown},
    path::Path,
};

use rustix::{fs::OFlags, process::geteuid};

use super::file_names::LOCK;
use crate::error::{Error, Result};

/// For what may lie in a folder that others write to: they could lead it elsewhere.
const NO_LINK: i32 = OFlags::NOFOLLOW.bits() as i32;

/// Creates the data folder with mode 0700 if there is none.
pub fn make_folder(folder: &Path) -> Result<()> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|err| Error::failed(format!("can't make the data folder {}: {err}", folder.display())))
}

/// The lock of a serving process on its data folder. It is released when it is dropped or the process is killed.
pub struct FolderLock {
    file: File,
}

impl FolderLock {
    /// Writes what commands beside the server need to know of it into the lock's file, in place of what is there.
    pub fn publish(&self, text: &str) -> Result<()> {
        let written = self.file.set_len(0).and_then(|()| self.file.write_all_at(text.as_bytes(), 0));
        written.map_err(|err| Error::failed(format!("can't write to {LOCK} in the data folder: {err}")))
    }
}

/// The text that the newest server on the folder has published; `None` if there was no server.
pub fn read_published_text(folder: &Path) -> Option<String> {
    fs::read_to_string(folder.join(LOCK)).ok().filter(|text| !text.is_empty())
}

/// Locks the data folder; fails if another server is running on it.
pub fn lock(folder: &Path) -> Result<FolderLock> {
    let path = folder.join(LOCK);
    let unusable = |err| Error::failed(format!("can't write to the data folder {}: {err}", folder.display()));
    let mut options = File::options();
    let file = options.create(true).truncate(false).write(true).mode(0o600).custom_flags(NO_LINK).open(&path);
    let file = file.and_then(|file| give_to_folder_owner(&path, folder).map(|()| file)).map_err(unusable)?;
    match file.try_lock() {
        Ok(()) => Ok(FolderLock { file }),
        Err(TryLockError::WouldBlock) => {
            Err(Error::failed(format!("another server is running on the data folder {}", folder.display())))
        }
        Err(TryLockError::Error(err)) => Err(unusable(err)),
    }
}

/// Takes a shared lock on a data folder, while a command writes to its files: [`lock_files`] waits for it.
pub fn lock_files_shared(folder: &Path) -> Result<File> {
    locked(folder, File::lock_shared)
}

/// Takes the exclusive lock on a data folder, to replace its files. Waits for commands that write to them. A server holds
/// neither; [`lock`] tells whether one is running.
pub fn lock_files(folder: &Path) -> Result<File> {
    locked(folder, File::lock)
}

/// The lock is on the folder itself, and ends with the process.
fn locked(folder: &Path, lock: fn(&File) -> io::Result<()>) -> Result<File> {
    let locked = File::open(folder).and_then(|file| lock(&file).map(|()| file));
    locked.map_err(|err| Error::failed(format!("can't lock the data folder {}: {err}", folder.display())))
}

/// Gives a file to the owner of the folder that it is in. An administrator's command makes it as root, and the server, which
/// has a user of its own, must be able to read it.
pub fn give_to_folder_owner(path: &Path, folder: &Path) -> io::Result<()> {
    let (file, owner) = (fs::symlink_metadata(path)?, fs::metadata(folder)?);
    if file.uid() == owner.uid() || !geteuid().is_root() { Ok(()) } else { lchown(path, Some(owner.uid()), Some(owner.gid())) }
}

/// The bytes that are free on the file system of a path; `None` if it does not tell.
pub fn free_bytes(path: &Path) -> Option<u64> {
    rustix::fs::statvfs(path).ok().map(|disk| disk.f_bavail * disk.f_frsize)
}

/// Fails unless the file system of a folder has the space that something needs, besides the bytes that are to be left free.
pub fn require_space(folder: &Path, needed: u64, left: u64, what: &str) -> Result<()> {
    match free_bytes(folder) {
        Some(free) if free.saturating_sub(left) < needed => Err(Error::failed(format!(
            "{what} needs {} MiB of free space in {}, which has {}",
            needed.saturating_add(left).div_ceil(1 << 20),
            folder.display(),
            free >> 20
        ))),
        _ => Ok(()),
    }
}
