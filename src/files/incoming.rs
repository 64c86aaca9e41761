//! A file whose bytes arrive, and its way to its place.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, Write},
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::PathBuf,
    sync::Arc,
};

use ring::digest;
use tokio::sync::Semaphore;

use super::{
    content, copies,
    store::{BUFFER, Store, blocking, make_folder, sync_folder_of, unless_missing},
    turns::Turn,
};
use crate::{
    error::{Error, Result},
    id::{FileId, OrganisationId},
    pictures::{self, Appearance, CopySize, Look, Picture, Piece, Purpose},
    secret::Hash,
};

/// Bytes of a file that are put on disk together, or read again in one turn: whoever posts, or sends a small file, waits no longer
/// than for these.
const PART: usize = 8 << 20;

/// A file whose bytes arrive. It is removed when it is dropped before its end, unless it comes in pieces.
pub struct Incoming {
    store: Store,
    id: FileId,
    /// Where its bytes arrive.
    path: PathBuf,
    /// Whether it stays there when it is dropped before its end, as one that comes in pieces.
    is_in_pieces: bool,
    /// With a buffer for what is written next. None while a write is in progress.
    writing: Option<Writing>,
    size: u64,
}

/// Where a whole file goes.
#[derive(Clone, Copy)]
enum Place {
    /// Its own among an organisation's.
    Of(OrganisationId),
    Aside(FileId),
}

struct Writing {
    file: File,
    /// Of what was written. None of a file in pieces, which is read again at its end: a hash can't be kept over a restart.
    hash: Option<digest::Context>,
    buffer: Vec<u8>,
    /// Bytes that were written and are not on disk.
    unsynced: usize,
    /// Held for as long as something may be written.
    _turn: Option<Turn>,
}

impl Writing {
    fn flush(&mut self) -> io::Result<()> {
        if let Some(hash) = &mut self.hash {
            hash.update(&self.buffer);
        }
        self.file.write_all(&self.buffer)?;
        self.unsynced += self.buffer.len();
        self.buffer.clear();
        if self.unsynced >= PART {
            self.file.sync_data()?;
            self.unsynced = 0;
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file.sync_all()
    }

    /// Reads a file that came in pieces again for its hash, a part in each turn.
    async fn hash_again(mut self) -> Result<Writing> {
        let mut hash = digest::Context::new(&digest::SHA256);
        self = blocking(move || self.file.rewind().map(|()| self)).await?;
        loop {
            let is_whole;
            (self, hash, is_whole) = in_turn(move || {
                let read = hash_part(&mut self.file, &mut hash)?;
                Ok((self, hash, read == 0))
            })
            .await?;
            if is_whole {
                return Ok(Writing { hash: Some(hash), ..self });
            }
        }
    }
}

/// Adds the next part of a file to a hash; tells how many bytes it has.
fn hash_part(file: &mut File, hash: &mut digest::Context) -> io::Result<usize> {
    let (mut part, mut buffer, mut all) = (file.take(PART as u64), vec![0; BUFFER], 0);
    loop {
        match part.read(&mut buffer)? {
            0 => return Ok(all),
            read => {
                hash.update(&buffer[..read]);
                all += read;
            }
        }
    }
}

impl Incoming {
    pub async fn begin(store: &Store, id: FileId) -> Result<Incoming> {
        Incoming::begin_at(store, id, store.incoming(id)).await
    }

    async fn begin_at(store: &Store, id: FileId, path: PathBuf) -> Result<Incoming> {
        let made = path.clone();
        let file = blocking(move || File::options().write(true).read(true).create_new(true).mode(0o600).open(made)).await?;
        let hash = Some(digest::Context::new(&digest::SHA256));
        let writing = Writing { file, hash, buffer: Vec::with_capacity(BUFFER), unsynced: 0, _turn: None };
        Ok(Incoming { store: store.clone(), id, path, is_in_pieces: false, writing: Some(writing), size: 0 })
    }

    /// Goes on with a file that comes in pieces, whose turn the caller has. What has arrived of it is on disk.
    pub async fn resume(store: &Store, organisation: OrganisationId, id: FileId, turn: Turn) -> Result<Incoming> {
        let opened = store.clone();
        let open = move || {
            let file = opened.open_pieces(organisation, id)?;
            let size = file.metadata()?.len();
            Ok((Writing { file, hash: None, buffer: Vec::with_capacity(BUFFER), unsynced: 0, _turn: Some(turn) }, size))
        };
        let (writing, size) = blocking(open).await?;
        Ok(Incoming { store: store.clone(), id, path: store.incoming(id), is_in_pieces: true, writing: Some(writing), size })
    }

    /// Bytes that have arrived.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Takes the next bytes, and writes them once there are many.
    pub async fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        self.size += bytes.len() as u64;
        while !bytes.is_empty() {
            let mut writing = self.writing.take().ok_or_else(interrupted)?;
            let (now, later) = bytes.split_at(bytes.len().min(BUFFER - writing.buffer.len()));
            writing.buffer.extend_from_slice(now);
            bytes = later;
            if writing.buffer.len() == BUFFER {
                writing = in_turn(move || writing.flush().map(|()| writing)).await?;
            }
            self.writing = Some(writing);
        }
        Ok(())
    }

    /// Puts on disk what has arrived.
    pub async fn sync(&mut self) -> Result<()> {
        let mut writing = self.writing.take().ok_or_else(interrupted)?;
        self.writing = Some(in_turn(move || writing.sync().map(|()| writing)).await?);
        Ok(())
    }

    /// Puts the file in its place, whole and on disk. A picture is looked at, and goes without what it tells of its maker unless its
    /// details are kept.
    pub async fn end(self, organisation: OrganisationId, keeps_details: bool) -> Result<Stored> {
        self.finish(Place::Of(organisation), keeps_details).await
    }

    /// [`Incoming::end`] of a file that gets its place later: until then it lies where files with the id `aside` arrive, which is not its
    /// own, and has no copies.
    pub async fn set_aside(self, aside: FileId, keeps_details: bool) -> Result<Stored> {
        self.finish(Place::Aside(aside), keeps_details).await
    }

    async fn finish(mut self, place: Place, keeps_details: bool) -> Result<Stored> {
        self.sync().await?;
        let mime_type = self.recognise().await?;
        let looked = if content::is_decoded(mime_type) { self.look(Purpose::Preview).await? } else { Look::default() };
        match looked.kept.filter(|_| !keeps_details) {
            Some(pieces) => self.put_together(pieces).await?.place(place, mime_type, looked.picture).await,
            None => self.place(place, mime_type, looked.picture).await,
        }
    }

    async fn recognise(&mut self) -> Result<&'static str> {
        let writing = self.writing.take().ok_or_else(interrupted)?;
        let (mime_type, writing) = in_turn(move || Ok((content::of_file(&writing.file)?, writing))).await?;
        self.writing = Some(writing);
        Ok(mime_type)
    }

    async fn place(mut self, place: Place, mime_type: &'static str, picture: Option<Picture>) -> Result<Stored> {
        let mut writing = self.writing.take().ok_or_else(interrupted)?;
        if writing.hash.is_none() {
            writing = writing.hash_again().await?;
        }
        let (store, id, size) = (self.store.clone(), self.id, self.size);
        let from = self.path.clone();
        let to = match place {
            Place::Of(organisation) => store.path(organisation, id),
            Place::Aside(aside) => store.incoming(aside),
        };
        let pieces = self.is_in_pieces.then(|| from.clone());
        let put = move || {
            let folder = to.parent().expect("a file has a folder");
            make_folder(folder.parent().expect("that of its organisation"))?;
            make_folder(folder)?;
            let hash = writing.hash.ok_or_else(|| io::Error::other("it is hashed by now"))?;
            let sha256 = hash.finish().as_ref().try_into().map_err(io::Error::other)?;
            fs::rename(&from, &to)?;
            let synced = sync_folder_of(&to);
            // After the picture: a kill between the two must not leave copies alone. Missing ones are made again.
            if let (Place::Of(organisation), Some(picture)) = (place, &picture)
                && let Err(err) = copies::write(&store, (organisation, id), picture, size)
            {
                tracing::warn!(%err, %id, "the copies of a picture could not be written");
            }
            let picture = picture.map(|picture| picture.appearance);
            let stored = Stored { place: Some(to), pieces, mime_type, picture, size, sha256 };
            synced.map(|()| stored)
        };
        blocking(put).await
    }

    /// Looks at a picture that is not kept as a file.
    pub async fn look_and_forget(mut self, purpose: Purpose) -> Result<Look> {
        self.sync().await?;
        self.look(purpose).await
    }

    async fn look(&self, purpose: Purpose) -> Result<Look> {
        let path = self.store.incoming(self.id);
        pictures::look(blocking(move || File::open(path)).await?, purpose).await
    }

    /// Writes beside a picture what is kept of it.
    async fn put_together(&mut self, pieces: Vec<Piece>) -> Result<Incoming> {
        let picture = self.writing.take().ok_or_else(interrupted)?.file;
        let path = self.store.rewritten(self.id);
        let left = path.clone(); // by a kill
        blocking(move || unless_missing(fs::remove_file(left))).await?;
        let mut kept = Incoming::begin_at(&self.store, self.id, path).await?;
        let picture = Arc::new(picture);
        for piece in pieces {
            match piece {
                Piece::New(bytes) => kept.write(&bytes).await?,
                Piece::Kept(mut left) => {
                    while !left.is_empty() {
                        let (picture, from) = (picture.clone(), left.start);
                        let mut buffer = vec![0; (left.end - from).min(BUFFER as u64) as usize];
                        left.start += buffer.len() as u64;
                        kept.write(&blocking(move || picture.read_exact_at(&mut buffer, from).map(|()| buffer)).await?).await?;
                    }
                }
            }
        }
        kept.sync().await?;
        Ok(kept)
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if !self.is_in_pieces {
            _ = fs::remove_file(&self.path); // unless it is in its place
        }
    }
}

/// A file in its place, which is removed again unless [`Stored::keep`] is called. One that came in pieces lies then where it did
/// before.
pub struct Stored {
    place: Option<PathBuf>,
    pieces: Option<PathBuf>,
    /// What its content is.
    pub mime_type: &'static str,
    /// A picture that could be decoded. Copies of it lie beside it, unless it is set aside.
    pub picture: Option<Appearance>,
    /// Bytes that are kept.
    pub size: u64,
    pub sha256: Hash,
}

impl Stored {
    pub fn keep(mut self) {
        self.place = None;
    }
}

impl Drop for Stored {
    fn drop(&mut self) {
        if let Some(place) = &self.place {
            CopySize::ALL.iter().for_each(|copy| _ = fs::remove_file(place.with_extension(copy.name())));
            _ = match &self.pieces {
                Some(pieces) => fs::rename(place, pieces),
                None => fs::remove_file(place),
            };
        }
    }
}

fn interrupted() -> Error {
    Error::internal("a write of this file was interrupted")
}

/// Uploads that write or hash at once. Each has a thread, and those of 200 would leave a hundredth of the processor to the threads that
/// everybody else needs.
static AT_WORK: Semaphore = Semaphore::const_new(4);

/// Runs what takes long, once it is its turn.
async fn in_turn<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> Result<T> {
    let turn = AT_WORK.acquire().await.map_err(Error::internal)?;
    blocking(move || {
        let done = work();
        drop(turn);
        done
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn files_are_opened_while_uploads_take_all_turns_and_large_ones_end_part_by_part() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let (organisation, [id, other]) = (OrganisationId::new(), [FileId::new(), FileId::new()]);
        let content: Vec<u8> = (0..2 * PART + 1000).map(|n| (n * 31 % 251) as u8).collect();
        let turn = store.turn(id).await;
        let mut incoming = Incoming::resume(&store, organisation, id, turn).await.unwrap();
        incoming.write(&content).await.unwrap();
        let stored = incoming.end(organisation, false).await.unwrap();
        assert_eq!(stored.sha256, crate::secret::sha256(&content));
        stored.keep();
        let _all = AT_WORK.acquire_many(4).await.unwrap();
        assert!(store.read(organisation, id, 0..10, ()).await.is_ok());
        assert!(store.read(organisation, other, 0..10, ()).await.is_err());
    }
}
