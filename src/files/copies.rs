//! The smaller copies of pictures. They lie beside them, are in no backup, and are made again where they are missing.

use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    sync::LazyLock,
};

use super::{
    reading::{Reading, open},
    store::{Store, blocking, sync_folder_of},
};
use crate::{
    error::{Code, Error, Result},
    id::{FileId, OrganisationId},
    limits::permits::Permits,
    pictures::{self, CopySize, Picture, Purpose},
};

/// Copies that are made again: those who ask for the same one wait for the first.
static AGAIN: LazyLock<Permits<FileId>> = LazyLock::new(|| Permits::new(1));

impl Store {
    /// Makes the copies of a picture that could be decoded, if one is missing. 404 if that does not succeed.
    pub async fn make_copy(&self, (organisation, id): (OrganisationId, FileId), copy: CopySize) -> Result<()> {
        let path = self.copy(organisation, id, copy);
        if open(path.clone()).await?.is_some() {
            return Ok(());
        }
        let _alone = AGAIN.semaphore_for(id).acquire_owned().await.map_err(Error::internal)?;
        if open(path).await?.is_some() {
            return Ok(());
        }
        let original = open(self.path(organisation, id)).await?.ok_or(GONE)?;
        let bytes = original.metadata().map_err(Error::internal)?.len();
        let picture = pictures::look(original, Purpose::Preview).await?.picture.ok_or(GONE)?;
        let store = self.clone();
        let made = move || {
            write(&store, (organisation, id), &picture, bytes)?;
            if store.path(organisation, id).exists() { Ok(()) } else { store.remove_copies(organisation, id) }
        };
        blocking(made).await
    }

    /// Opens a copy that is there, which holds `permit` until its end.
    pub async fn read_copy<P>(
        &self,
        (organisation, id): (OrganisationId, FileId),
        copy: CopySize,
        permit: P,
    ) -> Result<Reading<P>> {
        let file = open(self.copy(organisation, id, copy)).await?.ok_or(GONE)?;
        let length = file.metadata().map_err(Error::internal)?.len();
        Ok(Reading::new(file, 0..length, permit))
    }
}

const GONE: Error = Error::NotFound(Code::FileNotFound);

/// Puts the copies of a picture with so many bytes in their places. Each is whole there, and on disk.
pub(super) fn write(
    store: &Store,
    (organisation, id): (OrganisationId, FileId),
    picture: &Picture,
    bytes: u64,
) -> io::Result<()> {
    let copies = CopySize::ALL.into_iter().zip(&picture.copies).filter(|(copy, _)| copy.exists_for(&picture.appearance, bytes));
    for (copy, bytes) in copies {
        let draft = store.incoming(id).with_extension(copy.name());
        let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, store.copy(organisation, id, copy))?;
    }
    sync_folder_of(&store.path(organisation, id))
}
