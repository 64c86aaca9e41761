//! The object that shows a file: the same in uploads, messages, lists and pushes.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::record::{File, FileKind, Media};
use crate::{
    id::{ChannelId, FileId, MessageId, OrganisationId, UserId},
    pictures::CopySize,
    time::Time,
};

/// A file.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Media")]
pub struct MediaObject<'a> {
    /// The file.
    pub id: FileId,
    /// The name that it was uploaded with, without paths and invisible characters.
    pub file_name: &'a str,
    /// The ending of the name, in lower case and without the dot; empty if it has none.
    pub file_type: String,
    /// What its content is, whatever its name says.
    pub mime_type: &'a str,
    /// What it is to people.
    #[schemars(extend("enum" = ["image", "video", "audio", "document", "file"]))]
    pub category: &'a str,
    /// Its address. Whoever opens it must be allowed to read the file then.
    pub file_link: String,
    /// Its length in bytes.
    pub size: i64,
    /// The width of a picture as it is shown, in pixels; null for other files, and for what can't be shown.
    pub width: Option<u32>,
    /// Its height.
    pub height: Option<u32>,
    /// Its mean colour, for the place where it will be; null where `width` is.
    #[schemars(regex(pattern = "^#[0-9a-f]{6}$"))]
    pub color: Option<String>,
    /// Whether it moves.
    pub animated: bool,
    /// The address of a copy with at most 360 pixels a side, and of the file where that is small itself; null where `width` is.
    pub thumbnail_link: Option<String>,
    /// The address of a copy with at most 1,200 pixels a side, in the same way.
    pub preview_link: Option<String>,
    /// What it shows, for those who can't see it; empty if nobody has said.
    pub description: &'a str,
    /// The organisation that it is kept in.
    pub organisation_id: OrganisationId,
    /// Who uploaded it.
    pub user_id: UserId,
    /// The channel of the message that shows it; null until there is one.
    pub channel_id: Option<ChannelId>,
    /// The message that shows it; null until there is one.
    pub message_id: Option<MessageId>,
    /// When it was uploaded.
    pub created_at: Time,
    /// The same as `created_at`.
    pub updated_at: Time,
}

impl<'a> MediaObject<'a> {
    pub fn new(
        media: &'a Media,
        organisation_id: OrganisationId,
        user_id: UserId,
        message: Option<(ChannelId, MessageId)>,
    ) -> MediaObject<'a> {
        MediaObject {
            id: media.id,
            file_name: &media.name,
            file_type: ending(&media.name),
            mime_type: &media.mime_type,
            category: FileKind::of(&media.mime_type).as_str(),
            file_link: address(media),
            size: media.size,
            width: media.picture.map(|picture| picture.width),
            height: media.picture.map(|picture| picture.height),
            color: media.picture.map(|picture| picture.color.into()),
            animated: media.picture.is_some_and(|picture| picture.is_animated),
            thumbnail_link: copy_address(media, CopySize::Small),
            preview_link: copy_address(media, CopySize::Large),
            description: &media.description,
            organisation_id,
            user_id,
            channel_id: message.map(|(channel, _)| channel),
            message_id: message.map(|(_, message)| message),
            created_at: media.created_at,
            updated_at: media.created_at,
        }
    }
}

impl Serialize for File {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        MediaObject::new(&self.media, self.organisation, self.user, self.message).serialize(serializer)
    }
}

impl JsonSchema for File {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        MediaObject::schema_name()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        MediaObject::json_schema(generator)
    }
}

/// The ending of a name, in lower case and without the dot.
fn ending(name: &str) -> String {
    name.rsplit_once('.').filter(|(before, _)| !before.is_empty()).map_or_else(String::new, |(_, ending)| ending.to_lowercase())
}

/// The address of a file. Its name stands at the end, as browsers save a file by it; `link` there is an operation.
pub fn address(Media { id, name, base_url, .. }: &Media) -> String {
    const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    let name = if name == "link" { "file" } else { name };
    format!("{base_url}/api/v1/files/{id}/{}", utf8_percent_encode(name, &UNRESERVED))
}

/// The address of a copy of a picture that could be decoded.
fn copy_address(media: &Media, copy: CopySize) -> Option<String> {
    let original = address(media);
    let is_there = copy.exists_for(&media.picture?, media.size as u64);
    Some(if is_there { format!("{original}?size={}", copy.name()) } else { original })
}
