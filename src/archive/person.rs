//! Writes what is kept of one person into a folder, to be handed to them: [`crate::domain::transfer::person`] says what that is.

use std::{
    fs::{self, File},
    io::{self, BufWriter, ErrorKind, Read, Write},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
};

use rustix::process::geteuid;
use serde::Serialize;

use crate::{
    archive::{Progress, copy_with_checksum},
    db,
    domain::transfer::person,
    error::{Error, Result},
    files::Store,
    regular_file,
};

/// The folder's mode.
const FOR_ITS_OWNER: u32 = 0o700;
/// The modes of a folder in which others may rename what is not theirs: all may write, and it is not sticky.
const OTHERS_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;
/// The user that commands may be run by.
const ROOT: u32 = 0;

/// What a folder has.
#[derive(Serialize)]
pub struct Exported {
    pub messages: u64,
    pub reactions: u64,
    pub files: u64,
    /// Files that are missing on the disk, or altered.
    pub missing_files: u64,
}

/// Writes a folder that does not exist yet, as of one moment, also while the server runs. Fails without an account of this
/// address.
pub fn export(data: &Path, email: &str, to: &Path, progress: Progress) -> Result<Exported> {
    let failed = |err: io::Error| Error::failed(format!("can't write {}: {err}", to.display()));
    if to.exists() {
        return Err(failed(ErrorKind::AlreadyExists.into()));
    }
    let parent = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    require_own(parent).map_err(failed)?;
    let store = Store::existing(data);
    // What the rows name must be there until it is copied.
    let _held = store.as_ref().map(Store::hold).transpose().map_err(Error::internal)?;
    let mode = fs::Permissions::from_mode(FOR_ITS_OWNER);
    let draft = tempfile::Builder::new().permissions(mode).tempdir_in(parent).map_err(failed)?;
    let write = |name: &str, content: &dyn Fn(&mut dyn Write) -> Result<u64>| {
        let mut to = BufWriter::new(File::create_new(draft.path().join(name)).map_err(failed)?);
        let written = content(&mut to)?;
        to.flush().map_err(failed)?;
        Ok::<_, Error>(written)
    };
    let (mut exported, files) = db::read_once(data, |conn| {
        let moment = conn.unchecked_transaction()?;
        let account = person::account(&moment, email)?;
        if let Some(face) = person::face(&moment, account.id)? {
            let name = if face.starts_with(b"\x89PNG") { "picture.png" } else { "picture.jpg" };
            write(name, &|to| to.write_all(&face).map(|()| 1).map_err(failed))?;
        }
        write("account.json", &|to| serde_json::to_writer_pretty(to, &account).map(|()| 1).map_err(Error::internal))?;
        let messages = write("messages.jsonl", &|to| person::write_messages(&moment, account.id, to))?;
        let reactions = write("reactions.jsonl", &|to| person::write_reactions(&moment, account.id, to))?;
        let files = person::files(&moment, account.id)?;
        write("files.jsonl", &|to| person::write_files(&files, to))?;
        Ok((Exported { messages, reactions, files: 0, missing_files: 0 }, files))
    })?;
    for (done, file) in files.iter().enumerate() {
        progress("files", done as u64, files.len() as u64);
        let from = store.as_ref().map_or(Ok(None), |store| open(store, file))?;
        match from.map_or(Ok(false), |from| copy(from, file, &draft.path().join("files"))).map_err(failed)? {
            true => exported.files += 1,
            false => exported.missing_files += 1,
        }
    }
    let parent = File::open(parent).map_err(failed)?;
    rustix::fs::syncfs(&parent).map_err(|err| failed(err.into()))?;
    fs::rename(draft.path(), to).and_then(|()| parent.sync_all()).map_err(failed)?;
    Ok(exported)
}

/// Fails for a folder in which somebody else may put another in place of one that is being written.
fn require_own(folder: &Path) -> io::Result<()> {
    let found = fs::metadata(folder)?;
    let is_own = [ROOT, geteuid().as_raw()].contains(&found.uid());
    if !is_own || (found.mode() & OTHERS_WRITE != 0 && found.mode() & STICKY == 0) {
        return Err(io::Error::other(format!("others may write in {}: name a folder in one of your own", folder.display())));
    }
    Ok(())
}

/// A file where its row says; none if it is not there.
fn open(store: &Store, file: &person::File) -> Result<Option<File>> {
    let path = store.path(file.organisation, file.id);
    match regular_file::open(&path) {
        Ok(from) => Ok(Some(from)),
        Err(err) if err.kind() == ErrorKind::NotFound => Ok(None),
        Err(err) => Err(Error::failed(format!("can't read {}: {err}", path.display()))),
    }
}

/// Copies a file into a folder of its own, since two may have one name. Returns whether its content is what its row says.
fn copy(from: File, file: &person::File, into: &Path) -> io::Result<bool> {
    // Whoever owns the data folder may have written a path there.
    let name = Path::new(&file.name).file_name().ok_or(ErrorKind::InvalidFilename)?;
    let folder = into.join(file.id.to_string());
    fs::create_dir_all(&folder)?;
    // No more than that is read of one that has grown.
    let mut from = from.take(file.size.cast_unsigned() + 1);
    let (_, sha256) = copy_with_checksum(&mut from, &mut File::create_new(folder.join(name))?, &mut |_| ())?;
    if sha256 != file.sha256 {
        fs::remove_dir_all(folder)?;
        return Ok(false);
    }
    Ok(true)
}
