//! The contents of files that an import brings, until each lies in its place. What a kill leaves of them is removed after a day,
//! as of uploads.

use std::{
    collections::{HashMap, hash_map::Entry},
    fs::{self, File},
    io::Read,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use crate::{
    archive::contents::{Placing, SPACE_KEPT, open_store},
    db,
    domain::{
        faces::Face,
        transfer::{
            import::{Import, KeptFile},
            records::{Base64, Message, Record},
        },
    },
    error::{Error, Result},
    files::{self, Incoming, Store, Stored},
    id::FileId,
    pictures::{Appearance, Purpose},
    secret::{self, Hash},
};

/// Bytes of a face, at most: the server's own have a fraction.
const FACE_MAX: usize = 1 << 20;
/// Pixels of a side of a picture, at most.
const SIDE_MAX: u32 = 65_535;

/// A file that was added.
pub struct Added {
    pub mime_type: &'static str,
    pub picture: Option<Appearance>,
    pub size: u64,
    pub sha256: Hash,
}

const NO_CONTENT: &str = "files whose content is not in the archive: a message with nothing else shows their names";
const NO_PICTURE: &str = "pictures of people and organisations that are neither JPEG nor PNG, or too large";

pub struct StagedFiles {
    data: PathBuf,
    store: Store,
    /// Where files arrive, by their contents.
    staged: HashMap<Hash, FileId>,
    /// A running server removes no file meanwhile that has no row yet.
    _held: File,
}

/// Contents of an archive, at most.
const CONTENTS_MAX: usize = 2_000_000;

/// Bytes of a file that are read at once.
const BLOCK: usize = 256 << 10;

impl StagedFiles {
    /// Nothing yet, in the file system of a data folder's files.
    pub fn new(data: &Path) -> Result<StagedFiles> {
        let store = open_store(data)?;
        let held = store.hold().map_err(Error::internal)?;
        Ok(StagedFiles { data: data.to_owned(), store, staged: HashMap::new(), _held: held })
    }

    /// The folder in whose file system they are.
    pub fn folder(&self) -> &Path {
        self.store.folder()
    }

    /// Makes an empty file for the content with a SHA-256; none if that is no hash, comes a second time, or is one too many.
    pub fn create(&mut self, sha256: &str) -> Result<Option<File>> {
        let sha256 = secret::unhex(sha256).filter(|sha256| !self.staged.contains_key(sha256));
        let Some(sha256) = sha256.filter(|_| self.staged.len() < CONTENTS_MAX) else { return Ok(None) };
        let id = FileId::new();
        let path = self.store.incoming(id);
        let failed = |err| Error::failed(format!("can't write to {}: {err}", self.store.folder().display()));
        let file = File::options().create_new(true).read(true).write(true).mode(0o600).open(&path).map_err(failed)?;
        self.staged.insert(sha256, id);
        db::give_to_folder_owner(&path, &self.data).map_err(failed)?;
        Ok(Some(file))
    }

    /// Puts on disk what was written to the files of [`StagedFiles::create`], before a transaction waits for it.
    pub fn sync(&self) -> Result<()> {
        let sync = |id: &FileId| File::open(self.store.incoming(*id))?.sync_all();
        self.staged.values().try_for_each(sync).map_err(Error::internal)
    }

    /// Takes a file as an upload is taken: a picture is looked at, and goes without what it tells of its maker.
    pub async fn add(&mut self, from: &mut File) -> Result<Added> {
        let bytes = from.metadata().map_err(Error::internal)?.len();
        db::require_space(self.folder(), bytes, SPACE_KEPT, "the files of the export")?;
        let id = FileId::new();
        let stored = self.receive(from).await?.set_aside(id, false).await?;
        let Stored { mime_type, picture, size, sha256, .. } = stored;
        if let Entry::Vacant(entry) = self.staged.entry(sha256) {
            db::give_to_folder_owner(&self.store.incoming(id), &self.data).map_err(Error::internal)?;
            entry.insert(id);
            stored.keep();
        }
        Ok(Added { mime_type, picture, size, sha256 })
    }

    /// The face that a picture makes; none of what can't be decoded.
    pub async fn face(&self, from: &mut File) -> Result<Option<Face>> {
        let looked = self.receive(from).await?.look_and_forget(Purpose::Face).await?;
        Ok(looked.picture.map(|picture| picture.copies))
    }

    async fn receive(&self, from: &mut File) -> Result<Incoming> {
        let mut incoming = Incoming::begin(&self.store, FileId::new()).await?;
        let mut block = vec![0; BLOCK];
        while let read @ 1.. = from.read(&mut block).map_err(Error::internal)? {
            incoming.write(&block[..read]).await?;
        }
        Ok(incoming)
    }

    /// Checks what a record says of its files and faces against the contents: their types and lengths, and that they are there. Width,
    /// height and colour stay as the record says.
    pub fn complete(&self, record: &mut Record, import: &mut Import) -> Result<()> {
        match record {
            Record::Person(person) => drop_unless_picture(&mut person.face, import),
            Record::Organisation(organisation) => drop_unless_picture(&mut organisation.logo, import),
            Record::Message(message) => self.complete_message(message, import)?,
            _ => {}
        }
        Ok(())
    }

    fn complete_message(&self, message: &mut Message, import: &mut Import) -> Result<()> {
        let mut missing = Vec::new();
        for mut file in std::mem::take(&mut message.files) {
            let Some(id) = secret::unhex(&file.sha256).and_then(|sha256| self.staged.get(&sha256)) else {
                missing.push(file.name);
                continue;
            };
            let content = File::open(self.store.incoming(*id)).map_err(Error::internal)?;
            let mime_type = files::of_file(&content).map_err(Error::internal)?;
            file.size = content.metadata().map_err(Error::internal)?.len().cast_signed();
            file.picture = file.picture.filter(|picture| files::is_decoded(mime_type) && is_possible(picture));
            file.mime_type = mime_type.to_owned();
            message.files.push(file);
        }
        if missing.is_empty() {
            return Ok(());
        }
        import.leave_out(NO_CONTENT, missing.len() as u64);
        if message.files.is_empty() && message.content.trim().is_empty() {
            message.content = missing.join("\n");
        }
        Ok(())
    }

    /// What puts files in their places.
    pub fn placing(&self) -> Placing<'_> {
        Placing::new(&self.store, &self.data)
    }

    /// Puts the contents of files in their places, which are on disk once `placing` is synced.
    pub fn place(&self, files: Vec<KeptFile>, placing: &mut Placing) -> Result<()> {
        let failed = |err| Error::failed(format!("can't write to {}: {err}", self.store.folder().display()));
        for KeptFile { organisation, id, sha256 } in files {
            let from = self.staged.get(&sha256).ok_or_else(|| Error::internal("a file is kept whose content is not there"))?;
            placing.place(&self.store.incoming(*from), organisation, id).map_err(failed)?;
        }
        Ok(())
    }
}

impl Drop for StagedFiles {
    fn drop(&mut self) {
        self.staged.values().for_each(|id| _ = fs::remove_file(self.store.incoming(*id))); // or a running server does tomorrow
    }
}

/// Takes a face away that is none: browsers are told what its content is.
fn drop_unless_picture(face: &mut Option<[Base64; 2]>, import: &mut Import) {
    let is_picture =
        |Base64(bytes): &Base64| bytes.len() <= FACE_MAX && matches!(files::recognise(bytes), "image/jpeg" | "image/png");
    if face.take_if(|face| !face.iter().all(is_picture)).is_some() {
        import.leave_out(NO_PICTURE, 1);
    }
}

fn is_possible(picture: &Appearance) -> bool {
    [picture.width, picture.height].iter().all(|side| (1..=SIDE_MAX).contains(side))
}
