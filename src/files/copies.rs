//! The smaller copies of pictures. They lie beside them, are in no backup, and are made again where they are missing.

use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use tokio::sync::Mutex;

use super::{
    reading::{Reading, open},
    store::{Store, blocking, sync_folder_of},
};
use crate::{
    error::{Code, Error, Result},
    id::{FileId, OrganisationId},
    pictures::{self, Copy, Picture, Purpose},
};

/// Copies that are made again: one picture at a time, so that those who ask for the same one wait for the first.
static AGAIN: Mutex<()> = Mutex::const_new(());

impl Store {
    /// Opens a copy of a picture that could be decoded, which holds `permit` until its end; makes it again if it is missing. 404 if that
    /// does not succeed.
    pub async fn read_copy<P>(&self, (organisation, id): (OrganisationId, FileId), copy: Copy, permit: P) -> Result<Reading<P>> {
        let path = self.copy(organisation, id, copy);
        if open(path.clone()).await?.is_none() {
            self.make_again(organisation, id, &path).await?;
        }
        let file = open(path).await?.ok_or(Error::NotFound(Code::FileNotFound))?;
        let length = file.metadata().map_err(Error::internal)?.len();
        Ok(Reading::new(file, 0..length, permit))
    }

    async fn make_again(&self, organisation: OrganisationId, id: FileId, copy: &Path) -> Result<()> {
        let _alone = AGAIN.lock().await;
        if copy.exists() {
            return Ok(());
        }
        let Some(original) = open(self.path(organisation, id)).await? else { return Ok(()) };
        let Some(picture) = pictures::look(original, Purpose::Preview).await.picture else { return Ok(()) };
        let store = self.clone();
        blocking(move || {
            let bytes = fs::metadata(store.path(organisation, id))?.len();
            write(&store, (organisation, id), &picture, bytes)
        })
        .await
    }
}

/// Puts the copies of a picture with so many bytes in their places. Each is whole there, and on disk.
pub(super) fn write(
    store: &Store,
    (organisation, id): (OrganisationId, FileId),
    picture: &Picture,
    bytes: u64,
) -> io::Result<()> {
    let copies = Copy::ALL.into_iter().zip(&picture.copies).filter(|(copy, _)| copy.is_of(&picture.appearance, bytes));
    for (copy, bytes) in copies {
        let draft = store.incoming(id).with_extension(copy.name());
        let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, store.copy(organisation, id, copy))?;
    }
    sync_folder_of(&store.path(organisation, id))
}
