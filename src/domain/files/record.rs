//! The record of a file, and what its message keeps of it.

use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};

use crate::{
    db::{Columns, text_enum},
    error::{Error, Result},
    id::{ChannelId, FileId, MessageId, OrganisationId, UserId},
    secret::Hash,
    time::Time,
};

text_enum! {
    /// What a file is to people.
    pub enum FileKind {
        Image = "image",
        Video = "video",
        Audio = "audio",
        Document = "document",
        File = "file",
    }
}

impl FileKind {
    pub fn of(mime_type: &str) -> FileKind {
        const DOCUMENTS: [&str; 4] = ["application/msword", "application/pdf", "application/rtf", "text/plain"];
        const OFFICE: [&str; 3] =
            ["application/vnd.ms-", "application/vnd.oasis.opendocument.", "application/vnd.openxmlformats-officedocument."];
        match mime_type.split_once('/') {
            Some(("image", form)) if form != "svg+xml" => FileKind::Image,
            Some(("video", _)) => FileKind::Video,
            Some(("audio", _)) => FileKind::Audio,
            _ if DOCUMENTS.contains(&mime_type) || OFFICE.iter().any(|start| mime_type.starts_with(start)) => FileKind::Document,
            _ => FileKind::File,
        }
    }
}

/// What a message keeps of a file that it shows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Media {
    pub id: FileId,
    pub name: String,
    pub mime_type: String,
    pub size: i64,
    /// Of a picture, in pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height: Option<u32>,
    /// What the file shows, for those who can't see it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    pub created_at: Time,
    /// The address of the server, with which the file's begins.
    #[serde(skip)]
    pub base_url: String,
}

impl Media {
    /// The media of a message, from its column and the address of the server.
    pub fn of_column(kept: Option<&str>, base_url: &str) -> Vec<Media> {
        let mut media: Vec<Media> = kept.and_then(|kept| serde_json::from_str(kept).ok()).unwrap_or_default();
        media.iter_mut().for_each(|media| base_url.clone_into(&mut media.base_url));
        media
    }

    /// The column of a message with these media; none without any.
    pub fn to_column(media: &[Media]) -> Result<Option<String>> {
        if media.is_empty() { Ok(None) } else { serde_json::to_string(media).map(Some).map_err(Error::internal) }
    }
}

/// A file, with the message that has taken it, if one has.
#[derive(Clone, Debug)]
pub struct File {
    pub media: Media,
    pub organisation: OrganisationId,
    /// Who uploaded it.
    pub user: UserId,
    pub sha256: Hash,
    pub message: Option<(ChannelId, MessageId)>,
}

/// The columns that [`File::take`] takes, in this order.
pub(super) const COLUMNS: &str = "f.id, f.name, f.mime_type, f.size, f.width, f.height, f.description, f.created_at,
  coalesce((select value from meta where key = 'base_url'), ''),
  f.organisation_id, f.user_id, f.sha256, f.channel_id, m.id";

impl File {
    pub(super) fn take(columns: &mut Columns) -> rusqlite::Result<File> {
        let media = Media {
            id: columns.take()?,
            name: columns.take()?,
            mime_type: columns.take()?,
            size: columns.take()?,
            width: columns.take()?,
            height: columns.take()?,
            description: columns.take()?,
            created_at: columns.take()?,
            base_url: columns.take()?,
        };
        let (organisation, user, sha256) = (columns.take()?, columns.take()?, columns.take()?);
        let message = columns.take::<Option<ChannelId>>()?.zip(columns.take()?);
        Ok(File { media, organisation, user, sha256, message })
    }
}

/// Finds a file that is not deleted.
pub(super) fn find(conn: &Connection, id: FileId) -> Result<Option<File>> {
    let sql = format!(
        "select {COLUMNS} from files f left join messages m on m.n = f.message_n where f.id = ?1 and f.deleted_at is null"
    );
    Ok(conn.prepare_cached(&sql)?.query_row([id], |row| File::take(&mut Columns::of_row(row))).optional()?)
}
