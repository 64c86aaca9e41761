//! The folder of files.

use std::{
    collections::BTreeSet,
    fs::{self, DirBuilder, File, TryLockError},
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use tokio::task::spawn_blocking;

use super::turns::{Turn, Turns};
use crate::{
    error::{Error, Result},
    id::{FileId, OrganisationId},
    pictures::CopySize,
    time::Time,
};

/// The folder of all files in the data folder.
pub const FOLDER: &str = "files";
/// The folder in it of what arrives.
pub const INCOMING: &str = "incoming";

/// Bytes of a file that are in memory at once while it comes or goes.
pub const BUFFER: usize = 64 << 10;

/// The folder of a server's files.
#[derive(Clone)]
pub struct Store {
    root: PathBuf,
    turns: Turns,
}

impl Store {
    /// The files in a data folder; makes the folder if there is none.
    pub fn open(data: &Path) -> Result<Store> {
        let root = Store::folder_in(data);
        let made = make_folder(&root).and_then(|()| make_folder(&root.join(INCOMING)));
        made.map_err(|err| Error::failed(format!("can't make the folder {}: {err}", root.display())))?;
        Ok(Store { root, turns: Turns::default() })
    }

    /// The folder of the files in a data folder.
    pub fn folder_in(data: &Path) -> PathBuf {
        data.join(FOLDER)
    }

    /// The files in a data folder that has some.
    pub fn existing(data: &Path) -> Option<Store> {
        let root = Store::folder_in(data);
        root.is_dir().then(|| Store { root, turns: Turns::default() })
    }

    /// Keeps all bytes in their places for as long as what is returned is held.
    pub fn hold(&self) -> io::Result<File> {
        let lock = File::open(&self.root)?;
        lock.lock_shared()?;
        Ok(lock)
    }

    /// The right to remove bytes; none while somebody holds them.
    pub fn try_removing(&self) -> io::Result<Option<File>> {
        let lock = File::open(&self.root)?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(lock)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(err)) => Err(err),
        }
    }

    /// The folder, whose disk need not be that of the database.
    pub fn folder(&self) -> &Path {
        &self.root
    }

    pub fn path(&self, organisation: OrganisationId, id: FileId) -> PathBuf {
        let name = id.to_string();
        self.root.join(organisation.to_string()).join(&name[name.len() - 2..]).join(name)
    }

    /// Where a file lies while it arrives.
    pub fn incoming(&self, id: FileId) -> PathBuf {
        self.root.join(INCOMING).join(id.to_string())
    }

    /// Where what is kept of a picture lies until it is whole.
    pub(super) fn rewritten(&self, id: FileId) -> PathBuf {
        self.root.join(INCOMING).join(format!("{id}.kept"))
    }

    /// The right to go on with an upload in pieces. It ends the request that had it before.
    pub async fn turn(&self, id: FileId) -> Turn {
        self.turns.take(id).await
    }

    /// Removes the bytes of a file and its copies; those that are gone already, too.
    pub fn remove(&self, organisation: OrganisationId, id: FileId) -> io::Result<()> {
        unless_missing(fs::remove_file(self.path(organisation, id)))?;
        self.remove_copies(organisation, id)
    }

    /// Removes the copies of a picture.
    pub fn remove_copies(&self, organisation: OrganisationId, id: FileId) -> io::Result<()> {
        CopySize::ALL.iter().try_for_each(|copy| unless_missing(fs::remove_file(self.copy(organisation, id, *copy))))
    }

    /// Where a copy of a picture lies.
    pub(super) fn copy(&self, organisation: OrganisationId, id: FileId, copy: CopySize) -> PathBuf {
        self.path(organisation, id).with_extension(copy.name())
    }

    /// Removes the bytes of an upload in pieces that have arrived.
    pub fn remove_pieces(&self, id: FileId) -> io::Result<()> {
        unless_missing(fs::remove_file(self.incoming(id)))
    }

    /// [`Store::remove_pieces`], beside the tasks that serve connections.
    pub async fn forget_pieces(&self, id: FileId) -> Result<()> {
        let store = self.clone();
        blocking(move || store.remove_pieces(id)).await
    }

    /// Opens an upload in pieces, to add to what is on disk of it.
    pub(super) fn open_pieces(&self, organisation: OrganisationId, id: FileId) -> io::Result<File> {
        let path = self.incoming(id);
        // It was whole and in its place, and its row was not written. Of a picture, less may lie there.
        let place = self.path(organisation, id);
        self.remove_copies(organisation, id)?;
        unless_missing(if path.exists() { fs::remove_file(place) } else { fs::rename(place, &path) })?;
        let file = File::options().read(true).append(true).create(true).mode(0o600).open(&path)?;
        file.sync_all()?;
        sync_folder_of(&path)?;
        Ok(file)
    }

    /// Looks at all files in their places that were last written before a time, an organisation's folder at a time.
    pub fn each_written_before(&self, before: Time, found: impl FnMut(OrganisationId, Vec<FileId>) -> Result<()>) -> Result<()> {
        self.each_that(|path| is_older(path, before), found)
    }

    /// Looks at all files in their places.
    pub fn each(&self, found: impl FnMut(OrganisationId, Vec<FileId>) -> Result<()>) -> Result<()> {
        self.each_that(|_| true, found)
    }

    fn each_that(
        &self,
        is_wanted: impl Fn(&Path) -> bool,
        mut found: impl FnMut(OrganisationId, Vec<FileId>) -> Result<()>,
    ) -> Result<()> {
        for (organisation, folder) in entries(&self.root)? {
            let Ok(organisation) = organisation.parse().map(OrganisationId) else { continue };
            for (_, folder) in entries(&folder)? {
                let wanted = entries(&folder)?.into_iter().filter(|(_, path)| is_wanted(path));
                // Of a picture, by its copies as well: they may be all that a kill has left.
                let ids = wanted.filter_map(|(_, path)| path.file_stem()?.to_str()?.parse().ok().map(FileId));
                let ids = Vec::from_iter(BTreeSet::from_iter(ids));
                if !ids.is_empty() {
                    found(organisation, ids)?;
                }
            }
        }
        Ok(())
    }

    /// Removes what began to arrive and has not gone on since a time.
    pub fn remove_incoming_before(&self, before: Time) -> Result<()> {
        for (_, path) in entries(&self.root.join(INCOMING))?.into_iter().filter(|(_, path)| is_older(path, before)) {
            _ = fs::remove_file(path); // gone, or tried again tomorrow
        }
        Ok(())
    }
}

pub(super) fn unless_missing(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(err) if err.kind() != ErrorKind::NotFound => Err(err),
        _ => Ok(()),
    }
}

fn is_older(path: &Path, before: Time) -> bool {
    path.metadata().is_ok_and(|found| Time::from_unix_seconds(found.mtime()) < before)
}

/// The names in a folder, with their paths; none if it is gone.
fn entries(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    match fs::read_dir(folder) {
        Err(err) if matches!(err.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(Vec::new()),
        Err(err) => Err(Error::internal(err)),
        Ok(entries) => {
            Ok(entries.flatten().filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path()))).collect())
        }
    }
}

/// Makes a folder of the owner's alone, and puts its name on disk, unless it is there.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => sync_folder_of(folder),
        Err(err) if err.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(err) => Err(err),
    }
}

/// Puts the names in the folder of a path on disk.
pub(super) fn sync_folder_of(path: &Path) -> io::Result<()> {
    File::open(path.parent().expect("it lies in a folder"))?.sync_all()
}

/// Runs what waits for the disk beside the tasks that serve connections.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> Result<T> {
    spawn_blocking(work).await.map_err(Error::internal)?.map_err(Error::internal)
}
