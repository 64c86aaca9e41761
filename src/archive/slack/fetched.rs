//! A folder with files of an export: each by its identifier at Slack, or in a folder with that name; pictures of people in [`FACES`].

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use tokio::runtime::{Builder, Runtime};

use super::format::{self, cut_to_one_line};
use crate::{
    archive::staged_files::{Added, StagedFiles},
    domain::{
        files::taking::Description,
        text::Ruled,
        transfer::records::{self, Base64},
    },
    error::{Error, Result},
    id::FileId,
    regular_file, secret,
    time::Time,
};

/// The folder of pictures of people, each by who it shows.
pub const FACES: &str = "faces";

/// Whether a text is an identifier of Slack's, and no path.
pub fn is_id(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Opens the file with an identifier in a folder.
pub fn find(folder: &Path, id: &str) -> Option<File> {
    let path = folder.join(Some(id).filter(|id| is_id(id))?);
    let path = match path.is_dir() {
        true => fs::read_dir(path).ok()?.flatten().map(|entry| entry.path()).find(|path| path.is_file())?,
        false => path,
    };
    regular_file::open(&path).ok()
}

/// The folder, and what runs the work on its files.
pub struct Fetched {
    pub folder: PathBuf,
    pub runtime: Runtime,
}

impl Fetched {
    pub fn new(folder: &Path) -> Result<Fetched> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::internal)?;
        Ok(Fetched { folder: folder.to_owned(), runtime })
    }

    /// The record of a file that is there, whose content is staged; none otherwise.
    pub fn stage(
        &self,
        file: &format::File,
        (id, at): (FileId, Time),
        staged: &mut StagedFiles,
    ) -> Result<Option<records::File>> {
        let found = file.id.as_deref().and_then(|id| find(&self.folder, id));
        let Some(mut found) = found else { return Ok(None) };
        let Added { mime_type, picture, size, sha256 } = self.runtime.block_on(staged.add(&mut found))?;
        let description = file.alt_txt.as_deref().map(|text| cut_to_one_line(text, Description::RULE.max));
        Ok(Some(records::File {
            id,
            name: file.shown_name(),
            mime_type: mime_type.into(),
            size: size.cast_signed(),
            sha256: secret::hex(&sha256),
            picture,
            description: description.unwrap_or_default(),
            created_at: at,
        }))
    }

    /// The face of somebody whose picture is there; none of what is no picture.
    pub fn face(&self, user: &str, staged: &StagedFiles) -> Result<Option<[Base64; 2]>> {
        let Some(mut found) = find(&self.folder.join(FACES), user) else { return Ok(None) };
        let face = self.runtime.block_on(staged.face(&mut found))?;
        Ok(face.map(|face| face.map(Base64)))
    }
}
