//! Writes what is kept of one person into a folder, to be handed to them: [`crate::domain::transfer::person`] says what that is.

use std::{
    fs::{self, File},
    io::{BufWriter, ErrorKind, Write},
    os::unix::fs::PermissionsExt,
    path::Path,
};

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

/// What a folder has.
#[derive(Serialize)]
pub struct Exported {
    pub messages: u64,
    pub reactions: u64,
    pub files: u64,
    /// Files that are missing on the disk, or altered.
    pub missing_files: u64,
}

/// Writes a folder that does not exist yet, as of one moment, also while the server runs. 404 without an account of this address.
pub fn export(data: &Path, email: &str, to: &Path, progress: Progress) -> Result<Exported> {
    let failed = |err: std::io::Error| Error::failed(format!("can't write {}: {err}", to.display()));
    if to.exists() {
        return Err(failed(ErrorKind::AlreadyExists.into()));
    }
    let parent = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let store = Store::existing(data);
    // What the rows name must be there until it is copied.
    let _held = store.as_ref().map(Store::hold).transpose().map_err(Error::internal)?;
    let mode = fs::Permissions::from_mode(FOR_ITS_OWNER);
    let draft = tempfile::Builder::new().permissions(mode).tempdir_in(parent).map_err(failed)?;
    let (mut exported, files) = db::read_once(data, |conn| {
        let moment = conn.unchecked_transaction()?;
        let account = person::account(&moment, email)?;
        if let Some(face) = person::face(&moment, account.id)? {
            let name = if face.starts_with(b"\x89PNG") { "picture.png" } else { "picture.jpg" };
            fs::write(draft.path().join(name), face).map_err(failed)?;
        }
        let mut text = serde_json::to_vec_pretty(&account).map_err(Error::internal)?;
        text.push(b'\n');
        fs::write(draft.path().join("account.json"), text).map_err(failed)?;
        let write = |name: &str, lines: &dyn Fn(&mut dyn Write) -> Result<u64>| {
            let mut to = BufWriter::new(File::create_new(draft.path().join(name)).map_err(failed)?);
            let written = lines(&mut to)?;
            to.flush().map_err(failed)?;
            Ok::<_, Error>(written)
        };
        let messages = write("messages.jsonl", &|to| person::write_messages(&moment, account.id, to))?;
        let reactions = write("reactions.jsonl", &|to| person::write_reactions(&moment, account.id, to))?;
        let files = person::files(&moment, account.id)?;
        write("files.jsonl", &|to| person::write_files(&files, to))?;
        Ok((Exported { messages, reactions, files: 0, missing_files: 0 }, files))
    })?;
    for (done, file) in files.iter().enumerate() {
        progress("files", done as u64, files.len() as u64);
        let is_whole = store.as_ref().map_or(Ok(false), |store| copy(store, file, &draft.path().join("files")));
        match is_whole.map_err(failed)? {
            true => exported.files += 1,
            false => exported.missing_files += 1,
        }
    }
    fs::rename(draft.path(), to).map_err(failed)?;
    Ok(exported)
}

/// Copies a file into a folder of its own, since two may have one name. Returns whether it is on the disk as its row says.
fn copy(store: &Store, file: &person::File, into: &Path) -> std::io::Result<bool> {
    let Ok(mut from) = regular_file::open(&store.path(file.organisation, file.id)) else { return Ok(false) };
    // Whoever owns the data folder may have written a path there.
    let name = Path::new(&file.name).file_name().ok_or(ErrorKind::InvalidFilename)?;
    let folder = into.join(file.id.to_string());
    fs::create_dir_all(&folder)?;
    let (_, sha256) = copy_with_checksum(&mut from, &mut File::create_new(folder.join(name))?, &mut |_| ())?;
    if sha256 != file.sha256 {
        fs::remove_dir_all(folder)?;
        return Ok(false);
    }
    Ok(true)
}
