//! The files of messages in requests.

use poem_openapi::Object;

use crate::{
    api::http::body::{List, Text, into_string},
    domain::files::taking::{self, Wanted},
    id::FileId,
};

/// The files of a message, by their ids.
pub type Files = List<FileId, 0, { taking::MOST }>;
/// The files of a message, as objects.
pub type Media = List<File, 0, { taking::MOST }>;

/// A file that was uploaded before.
#[derive(Object, Clone, Debug)]
pub struct File {
    /// The file's identifier.
    id: FileId,
    /// What it shows, for those who can't see it; as it was if omitted.
    description: Option<Text<taking::Description>>,
}

/// The files that a request names, those of `media` first; none if it names neither list. A file that stands in both counts once.
pub fn wanted(files: Option<Files>, media: Option<Media>) -> Option<Vec<Wanted>> {
    if files.is_none() && media.is_none() {
        return None;
    }
    let described = media.into_iter().flat_map(|media| media.0);
    let mut wanted: Vec<_> =
        described.map(|File { id, description }| Wanted { id, description: into_string(description) }).collect();
    let objects = wanted.len();
    for id in files.into_iter().flat_map(|files| files.0) {
        if wanted[..objects].iter().all(|wanted| wanted.id != id) {
            wanted.push(Wanted { id, description: None });
        }
    }
    Some(wanted)
}
