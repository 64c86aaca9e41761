//! Restoration: reads and checks a backup inside the data folder, and then puts its files in the place of the former ones.
//!
//! The former files are moved into a folder beside the new ones, and nothing is deleted. It is a folder inside the data folder,
//! because the data folder itself can't be renamed if it is a mount point, or if its parent belongs to another user, as with a
//! container's volume or a service's own folder.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use super::files::{self, Pool, Source};
use crate::{
    archive::{self, Destination, Manifest, Progress, Scope, contents::open_store},
    db::{self, snapshot},
    error::{Error, Result},
    files::Store,
    id::FileId,
    time::Time,
};

/// The parts of an archive that are named as in the data folder. The file with the epoch is left out on purpose: a restored log gets a
/// new epoch, so that clients fetch their state again.
const PARTS: [&str; 2] = [db::FILE, db::KEY];

/// Where the parts are unpacked and checked. What a killed attempt has left in it is deleted.
/// The files of messages have one in their own folder, which may be on another disk.
const STAGING: &str = "restoring";

/// A data folder that was restored.
pub struct Restored {
    pub manifest: Manifest,
    /// Where the former files are, if there were any.
    pub former: Option<PathBuf>,
}

/// Restores a data folder from a backup, and keeps its former files. Files of messages come from the archive, from the pool beside it,
/// or stay where they are; with `without_files` those alone. Fails, and changes nothing, if a server holds the folder, or the backup
/// is damaged or lacks a file. If it is killed while it moves the files, no server starts on the folder until it is restored
/// again.
pub fn restore(
    from: impl Read,
    beside: Option<&Path>,
    without_files: bool,
    folder: &Path,
    now: Time,
    progress: Progress,
) -> Result<Restored> {
    db::make_folder(folder)?;
    let _lock = db::lock(folder)?;
    let failed = |err| unwritable(folder, &err);
    let staging = folder.join(STAGING);
    if staging.exists() {
        fs::remove_dir_all(&staging).map_err(failed)?;
    }
    fs::DirBuilder::new().mode(0o700).create(&staging).map_err(failed)?;
    let begun = prepare(from, beside, without_files, folder, progress)
        .and_then(|prepared| Ok((prepared, db::lock_files(folder)?, db::FileReplacement::begin(folder, now).map_err(failed)?)))
        .inspect_err(|_| discard(folder));
    let (Prepared { manifest, source, in_place, _pool }, _files, moving) = begun?;
    let former = moving.keep_former().map_err(failed)?;
    if let Some(former) = &former {
        db::give_to_folder_owner(former, folder).map_err(failed)?;
    }
    for part in PARTS {
        db::give_to_folder_owner(&staging.join(part), folder).map_err(failed)?;
        fs::rename(staging.join(part), folder.join(part)).map_err(failed)?;
    }
    if let Some(source) = source {
        let store = open_store(folder)?;
        let kept = store.folder().join(now.strftime(db::FORMER));
        files::put(&staging.join(files::LIST), &source, &in_place, &store, folder, &kept)?;
    }
    moving.remove_marker().map_err(failed)?;
    discard(folder);
    Ok(Restored { manifest, former })
}

/// An archive that is unpacked and checked, and may be put in place.
struct Prepared {
    manifest: Manifest,
    /// Of the files of messages, where the backup has some.
    source: Option<Source>,
    /// Those that need not be put there.
    in_place: HashSet<FileId>,
    /// Keeps the pool as it was checked.
    _pool: Option<File>,
}

fn prepare(from: impl Read, beside: Option<&Path>, without_files: bool, folder: &Path, progress: Progress) -> Result<Prepared> {
    let staging = folder.join(STAGING);
    let into = (!without_files).then(|| Store::folder_in(folder).join(STAGING));
    let mut unpacked = unpack(from, &staging, into.as_deref(), progress)?;
    let has_files = unpacked.manifest.files.is_some();
    let source = has_files.then(|| match beside {
        _ if without_files => Source::Nowhere,
        Some(beside) => unpacked.take_source(Source::Pool(Pool::beside(beside))),
        None => unpacked.take_source(Source::Nowhere),
    });
    let pool = if let Some(Source::Pool(pool)) = &source { pool.hold()? } else { None };
    if let (Some(Source::Pool(pool)), Some(files)) = (&source, unpacked.manifest.files)
        && !pool.is_on_disk_of(folder)
    {
        db::require_space(folder, files.bytes, 0, "the files of the backup")?;
    }
    let in_place = match source.as_ref().filter(|_| !without_files) {
        Some(source) => files::require(&staging.join(files::LIST), source, Store::existing(folder).as_ref(), progress)?,
        None => HashSet::new(),
    };
    Ok(Prepared { manifest: unpacked.manifest, source, in_place, _pool: pool })
}

/// Removes what was unpacked.
fn discard(folder: &Path) {
    _ = fs::remove_dir_all(folder.join(STAGING));
    if let Some(store) = Store::existing(folder) {
        _ = fs::remove_dir_all(store.folder().join(STAGING));
        _ = fs::remove_dir(store.folder()); // unless it has files
    }
}

/// An archive that is unpacked.
pub(super) struct Unpacked {
    pub manifest: Manifest,
    in_archive: Option<Source>,
}

impl Unpacked {
    /// Where its files are: in the archive, or elsewhere.
    pub fn take_source(&mut self, elsewhere: Source) -> Source {
        self.in_archive.take().unwrap_or(elsewhere)
    }
}

/// Unpacks an archive into a folder, and checks what comes out. Files of messages go into a folder of their own, or are only read.
pub(super) fn unpack(from: impl Read, staging: &Path, into: Option<&Path>, progress: Progress) -> Result<Unpacked> {
    let mut destination = Staging { folder: staging, part: None, files: into, seen: HashSet::new() };
    let manifest = archive::read(from, &mut destination, progress)?;
    let is_in_archive = manifest.files.is_some_and(|files| files.contents > 0);
    let in_archive = is_in_archive.then(|| match into {
        Some(folder) => Source::Folder(folder.to_owned()),
        None => Source::Read(std::mem::take(&mut destination.seen)),
    });
    progress("checking", 0, 0);
    db::existing_key(staging)?;
    let database = staging.join(db::FILE);
    snapshot::check(&database, manifest.schema, &manifest.tables)?;
    for path in [&database, &staging.join(db::KEY), staging] {
        File::open(path).and_then(|file| file.sync_all()).map_err(|err| unwritable(staging, &err))?;
    }
    Ok(Unpacked { manifest, in_archive })
}

/// A folder into which an archive is unpacked.
struct Staging<'a> {
    folder: &'a Path,
    /// The part that is being written.
    part: Option<File>,
    /// Where files of messages go; nowhere if they are only read.
    files: Option<&'a Path>,
    /// The hashes of those that were read.
    seen: HashSet<String>,
}

impl Destination for Staging<'_> {
    fn begin(&mut self, manifest: &Manifest) -> Result<()> {
        manifest.require(Scope::Backup)?;
        db::require_space(self.folder, manifest.total_bytes(), 0, "the unpacked backup")?;
        match self.files.filter(|_| manifest.files.is_some_and(|files| files.contents > 0)) {
            Some(folder) => {
                _ = fs::remove_dir_all(folder);
                let disk = folder.ancestors().find(|path| path.exists()).unwrap_or(self.folder);
                db::require_space(disk, manifest.files.map_or(0, |files| files.bytes), 0, "the unpacked files")?;
                fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|err| unwritable(folder, &err))
            }
            None => Ok(()),
        }
    }

    fn part(&mut self, name: &str) -> Result<Option<&mut dyn Write>> {
        if !PARTS.contains(&name) && name != files::LIST {
            return Ok(None);
        }
        let file = File::options().create_new(true).write(true).mode(0o600).open(self.folder.join(name));
        Ok(Some(self.part.insert(file.map_err(|err| unwritable(self.folder, &err))?)))
    }

    fn file(&mut self, sha256: &str) -> Result<Option<Box<dyn Write>>> {
        self.seen.insert(sha256.to_owned());
        let Some(folder) = self.files else { return Ok(Some(Box::new(io::sink()))) };
        let path = folder.join(sha256);
        let file = File::options().create_new(true).write(true).mode(0o600).open(&path);
        let file = file.and_then(|file| db::give_to_folder_owner(&path, self.folder.parent().unwrap_or(folder)).map(|()| file));
        Ok(Some(Box::new(file.map_err(|err| unwritable(folder, &err))?)))
    }
}

fn unwritable(folder: &Path, err: &std::io::Error) -> Error {
    Error::failed(format!("can't write to {}: {err}", folder.display()))
}
