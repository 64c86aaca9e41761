//! Replaces the files of a data folder by others. Several files can't be renamed at once, so a marker keeps servers and
//! commands off the folder until all are in their places.

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use super::file_names::{EPOCH, FILE, KEY};
use crate::{
    error::{Error, Result},
    time::Time,
};

/// Holds the name of the folder into which the former files are moved.
const MARKER: &str = "restore-unfinished";
pub const FORMER: &str = "before-restore-%Y-%m-%dT%H%M%SZ";

/// Files that are being replaced.
pub struct FileReplacement<'a> {
    folder: &'a Path,
    former: PathBuf,
}

impl FileReplacement<'_> {
    /// Sets the marker. Goes on with what a killed process has begun: what it has moved stays where it is.
    pub fn begin(folder: &Path, now: Time) -> io::Result<FileReplacement<'_>> {
        let marker = folder.join(MARKER);
        if marker.exists() {
            let former = folder.join(fs::read_to_string(&marker)?);
            DirBuilder::new().recursive(true).mode(0o700).create(&former)?;
            return Ok(FileReplacement { folder, former });
        }
        let name = now.strftime(FORMER);
        let former = folder.join(&name);
        // An error if it has files, which must not be taken for these; one that was killed may have left it empty.
        let made = DirBuilder::new().mode(0o700).create(&former);
        made.or_else(|err| if is_empty(&former) { Ok(()) } else { Err(err) })?;
        let draft = folder.join(format!("{MARKER}.new"));
        fs::write(&draft, name)?;
        File::open(&draft)?.sync_all()?;
        fs::rename(&draft, &marker)?;
        sync(folder)?;
        Ok(FileReplacement { folder, former })
    }

    /// Moves the former files out of the way. Returns the folder that they are in now; `None` if there were none.
    pub fn keep_former(&self) -> io::Result<Option<PathBuf>> {
        let (wal, shm) = (format!("{FILE}-wal"), format!("{FILE}-shm"));
        // The database is the last one: until it is moved, it has its WAL beside it or in the folder of the former files.
        for file in [wal.as_str(), shm.as_str(), KEY, EPOCH, FILE] {
            let (from, to) = (self.folder.join(file), self.former.join(file));
            // A file that the folder of the former files has already is one that a killed process has put here.
            if from.exists() && !to.exists() {
                fs::rename(from, to)?;
            }
        }
        sync(&self.former)?;
        match fs::read_dir(&self.former)?.next() {
            Some(_) => Ok(Some(self.former.clone())),
            None => fs::remove_dir(&self.former).map(|()| None),
        }
    }

    /// Removes the marker, after the new files are in their places.
    pub fn remove_marker(self) -> io::Result<()> {
        sync(self.folder)?;
        fs::remove_file(self.folder.join(MARKER))?;
        sync(self.folder)
    }
}

/// Fails for a data folder whose files were not all replaced, because the process was killed.
pub(super) fn require_done(folder: &Path) -> Result<()> {
    if !folder.join(MARKER).exists() {
        return Ok(());
    }
    Err(Error::failed(format!(
        "a restore of the data folder {} was interrupted: run `tidings restore` with the backup again",
        folder.display()
    )))
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
