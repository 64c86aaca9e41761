//! The record of a file, and what its message keeps of it.

use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};

use crate::{
    db::{Columns, Tx, text_enum},
    error::{Error, Result},
    id::{ChannelId, FileId, MessageId, OrganisationId, UserId},
    pictures::{Appearance, Color},
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
    /// Of a picture that could be decoded.
    #[serde(flatten)]
    pub picture: Option<Appearance>,
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
    /// Bytes that were uploaded. Of a picture, fewer may be kept.
    pub sent_size: i64,
    pub message: Option<(ChannelId, MessageId)>,
}

/// The columns that [`File::take`] takes, in this order.
pub(super) const COLUMNS: &str = "f.id, f.name, f.mime_type, f.size, f.width, f.height, f.color, f.is_animated,
  f.description, f.created_at,
  coalesce((select value from meta where key = 'base_url'), ''),
  f.organisation_id, f.user_id, f.sha256, coalesce(f.sent_size, f.size), f.channel_id, m.id";

impl File {
    pub(super) fn take(columns: &mut Columns) -> rusqlite::Result<File> {
        let media = Media {
            id: columns.take()?,
            name: columns.take()?,
            mime_type: columns.take()?,
            size: columns.take()?,
            picture: picture(columns)?,
            description: columns.take()?,
            created_at: columns.take()?,
            base_url: columns.take()?,
        };
        let (organisation, user, sha256, sent_size) = (columns.take()?, columns.take()?, columns.take()?, columns.take()?);
        let message = columns.take::<Option<ChannelId>>()?.zip(columns.take()?);
        Ok(File { media, organisation, user, sha256, sent_size, message })
    }
}

impl File {
    /// Writes the row of a file that no message has taken yet, and counts its bytes.
    pub(super) fn insert(&self, tx: &Tx) -> Result<()> {
        let File { media, organisation, user, sha256, sent_size, .. } = self;
        tx.prepare_cached(
            "insert into files (id, organisation_id, user_id, name, mime_type, kind, size, width, height, sha256, created_at,
               color, is_animated, sent_size)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, nullif(?14, ?7))",
        )?
        .execute((
            media.id,
            organisation,
            user,
            &media.name,
            &media.mime_type,
            FileKind::of(&media.mime_type),
            media.size,
            media.picture.map(|picture| picture.width),
            media.picture.map(|picture| picture.height),
            sha256,
            media.created_at,
            media.picture.map(|picture| String::from(picture.color)),
            media.picture.is_some_and(|picture| picture.is_animated),
            sent_size,
        ))?;
        tx.prepare_cached(
            "insert into file_totals (organisation_id, bytes) values (?1, ?2)
             on conflict (organisation_id) do update set bytes = bytes + excluded.bytes",
        )?
        .execute((organisation, media.size))?;
        Ok(())
    }
}

fn picture(columns: &mut Columns) -> rusqlite::Result<Option<Appearance>> {
    let (width, height) = (columns.take()?, columns.take()?);
    let (color, is_animated) = (columns.take::<Option<String>>()?, columns.take()?);
    let color = color.and_then(|color| Color::try_from(color).ok());
    let known = |((width, height), color)| Appearance { width, height, color, is_animated };
    Ok(Option::zip(width, height).zip(color).map(known))
}

/// Finds a file that is not deleted.
pub(super) fn find(conn: &Connection, id: FileId) -> Result<Option<File>> {
    let sql = format!(
        "select {COLUMNS} from files f left join messages m on m.n = f.message_n where f.id = ?1 and f.deleted_at is null"
    );
    Ok(conn.prepare_cached(&sql)?.query_row([id], |row| File::take(&mut Columns::of_row(row))).optional()?)
}
