//! Restoration: reads and checks a backup inside the data folder, and then puts its files in the place of the former ones.
//!
//! The former files are moved into a folder beside the new ones, and nothing is deleted. It is a folder inside the data folder,
//! because the data folder itself can't be renamed if it is a mount point, or if its parent belongs to another user, as with a
//! container's volume or a service's own folder.

use std::{
    fs::{self, File},
    io::{Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use crate::{
    archive::{self, Destination, Manifest, Progress, Scope},
    db::{self, snapshot},
    error::{Error, Result},
    time::Time,
};

/// The parts of an archive, named as in the data folder. The file with the epoch is left out on purpose: a restored log gets a
/// new epoch, so that clients fetch their state again.
const PARTS: [&str; 2] = [db::FILE, db::KEY];

/// Where the parts are unpacked and checked. What a killed attempt has left in it is deleted.
const STAGING: &str = "restoring";

/// A data folder that was restored.
pub struct Restored {
    pub manifest: Manifest,
    /// Where the former files are, if there were any.
    pub former: Option<PathBuf>,
}

/// Restores a data folder from a backup, and keeps its former files. Fails, and changes nothing, if a server holds the folder,
/// or the backup is damaged. If it is killed while it moves the files, no server starts on the folder until it is restored
/// again.
pub fn restore(from: impl Read, folder: &Path, now: Time, progress: Progress) -> Result<Restored> {
    db::make_folder(folder)?;
    let _lock = db::lock(folder)?;
    let failed = |err| unwritable(folder, &err);
    let staging = folder.join(STAGING);
    if staging.exists() {
        fs::remove_dir_all(&staging).map_err(failed)?;
    }
    fs::DirBuilder::new().mode(0o700).create(&staging).map_err(failed)?;
    let begun = unpack(from, &staging, progress)
        .and_then(|manifest| Ok((manifest, db::lock_files(folder)?, db::FileReplacement::begin(folder, now).map_err(failed)?)))
        .inspect_err(|_| _ = fs::remove_dir_all(&staging));
    let (manifest, _files, moving) = begun?;
    let former = moving.keep_former().map_err(failed)?;
    if let Some(former) = &former {
        db::give_to_folder_owner(former, folder).map_err(failed)?;
    }
    for part in PARTS {
        db::give_to_folder_owner(&staging.join(part), folder).map_err(failed)?;
        fs::rename(staging.join(part), folder.join(part)).map_err(failed)?;
    }
    moving.remove_marker().map_err(failed)?;
    fs::remove_dir(&staging).map_err(failed)?;
    Ok(Restored { manifest, former })
}

/// Unpacks an archive into a folder, and checks what comes out.
pub(super) fn unpack(from: impl Read, staging: &Path, progress: Progress) -> Result<Manifest> {
    let manifest = archive::read(from, &mut Staging { folder: staging, part: None }, progress)?;
    progress("checking", 0, 0);
    db::existing_key(staging)?;
    let database = staging.join(db::FILE);
    snapshot::check(&database, manifest.schema, &manifest.tables)?;
    for path in [&database, &staging.join(db::KEY), staging] {
        File::open(path).and_then(|file| file.sync_all()).map_err(|err| unwritable(staging, &err))?;
    }
    Ok(manifest)
}

/// A folder into which an archive is unpacked.
struct Staging<'a> {
    folder: &'a Path,
    /// The part that is being written.
    part: Option<File>,
}

impl Destination for Staging<'_> {
    fn begin(&mut self, manifest: &Manifest) -> Result<()> {
        manifest.require(Scope::Backup)?;
        db::require_space(self.folder, manifest.total_bytes(), 0, "the unpacked backup")
    }

    fn part(&mut self, name: &str) -> Result<Option<&mut dyn Write>> {
        if !PARTS.contains(&name) {
            return Ok(None);
        }
        let file = File::options().create_new(true).write(true).mode(0o600).open(self.folder.join(name));
        Ok(Some(self.part.insert(file.map_err(|err| unwritable(self.folder, &err))?)))
    }
}

fn unwritable(folder: &Path, err: &std::io::Error) -> Error {
    Error::failed(format!("can't write to {}: {err}", folder.display()))
}
