//! The records of an exported organisation. Each part of the export is a list of one kind of them, as JSON Lines.
//!
//! People are named by their identifier on the exporting server, and matched by their address on the importing one. All other
//! identifiers stay as they are, so that a second import finds what the first has written.

use base64::{DecodeError, Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};

use crate::{
    domain::{messages::mentions::Mention, text::format_characters, transfer::notifications::Notifications},
    error::{Error, Result},
    formats::bounded_lists::deserialize_bounded,
    id::{ChannelId, FileId, MessageId, OrganisationId, RoleUuid, UserId, WebhookId},
    pictures::Appearance,
    time::Time,
};

/// The parts of an export, in the order in which they are imported: each refers only to those before it.
pub const PARTS: [&str; 8] = [
    "people.jsonl",
    "organisation.jsonl",
    "roles.jsonl",
    "members.jsonl",
    "channels.jsonl",
    "messages.jsonl",
    "channel_members.jsonl",
    "webhooks.jsonl",
];

/// A record of any part.
#[derive(Debug)]
pub enum Record {
    Person(Person),
    Organisation(Organisation),
    Role(Role),
    Member(Member),
    Channel(Channel),
    Message(Message),
    ChannelMember(ChannelMember),
    Webhook(Webhook),
}

impl Record {
    /// Reads a line of a part. 400 for a line that is no record of it.
    pub fn read(part: &str, line: &str) -> Result<Record> {
        let record = match part {
            "people.jsonl" => serde_json::from_str(line).map(Record::Person),
            "organisation.jsonl" => serde_json::from_str(line).map(Record::Organisation),
            "roles.jsonl" => serde_json::from_str(line).map(Record::Role),
            "members.jsonl" => serde_json::from_str(line).map(Record::Member),
            "channels.jsonl" => serde_json::from_str(line).map(Record::Channel),
            "messages.jsonl" => serde_json::from_str(line).map(Record::Message),
            "channel_members.jsonl" => serde_json::from_str(line).map(Record::ChannelMember),
            "webhooks.jsonl" => serde_json::from_str(line).map(Record::Webhook),
            _ => return Err(Error::failed(format!("{part} is no part of an export"))),
        };
        record.map_err(|err| Error::failed(format!("{part}: {err}")))
    }

    /// The plural that reports use for such records: the name of its part without the ending.
    pub fn kind(&self) -> &'static str {
        match self {
            Record::Person(_) => "people",
            Record::Organisation(_) => "organisation",
            Record::Role(_) => "roles",
            Record::Member(_) => "members",
            Record::Channel(_) => "channels",
            Record::Message(_) => "messages",
            Record::ChannelMember(_) => "channel_members",
            Record::Webhook(_) => "webhooks",
        }
    }
}

/// Somebody whom another record names: a member, a former one, an author, or somebody who is mentioned; a bot as well.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Person {
    pub id: UserId,
    pub email: String,
    pub username: String,
    #[serde(deserialize_with = "format_characters::deserialize_legacy_name")]
    pub first_name: String,
    #[serde(deserialize_with = "format_characters::deserialize_legacy_name")]
    pub last_name: String,
    /// Of a picture elsewhere.
    pub avatar_url: String,
    /// The picture that the server keeps, in its two sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub face: Option<[Base64; 2]>,
    /// Whether the account is enabled.
    pub is_active: bool,
    pub created_at: Time,
    /// None for a person, and for a bot that was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bot: Option<Bot>,
}

/// Bytes, in base64 (RFC 4648).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Base64(pub Vec<u8>);

impl From<Base64> for String {
    fn from(Base64(bytes): Base64) -> String {
        BASE64_STANDARD.encode(bytes)
    }
}

impl TryFrom<String> for Base64 {
    type Error = DecodeError;

    fn try_from(text: String) -> Result<Base64, DecodeError> {
        BASE64_STANDARD.decode(text).map(Base64)
    }
}

/// What a bot's account has beside a person's.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bot {
    pub owner: UserId,
    pub description: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Organisation {
    pub id: OrganisationId,
    #[serde(deserialize_with = "format_characters::deserialize_legacy_name")]
    pub name: String,
    pub description: String,
    pub email: String,
    pub industry: String,
    pub location: String,
    pub country: String,
    /// Of a picture elsewhere.
    pub logo_url: String,
    /// The picture that the server keeps, in its two sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logo: Option<[Base64; 2]>,
    pub owner: UserId,
    pub created_at: Time,
    pub updated_at: Time,
}

/// A role of the organisation's own; built-in ones are the same everywhere.
#[derive(Debug, Serialize, Deserialize)]
pub struct Role {
    pub id: RoleUuid,
    #[serde(deserialize_with = "format_characters::deserialize_legacy_name")]
    pub name: String,
    pub description: String,
    /// The sum of the rights' numbers, as in `schema.sql`.
    pub rights: i64,
    pub created_at: Time,
    pub updated_at: Time,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Member {
    pub person: UserId,
    /// Built in, or one of the exported roles.
    pub role: RoleUuid,
    pub status: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "deserialize_bounded::<_, _, 10>")]
    pub notifications: Vec<Notifications>,
    pub created_at: Time,
    pub updated_at: Time,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Channel {
    pub id: ChannelId,
    #[serde(deserialize_with = "format_characters::deserialize_legacy_name")]
    pub name: String,
    pub description: String,
    pub topic: String,
    pub is_private: bool,
    pub is_default: bool,
    pub is_dm: bool,
    pub owner: UserId,
    pub created_by: UserId,
    pub created_at: Time,
    pub updated_at: Time,
    pub archived_at: Option<Time>,
    /// Whom a direct message was opened with. Empty if one of them has left the organisation: then nobody opens it again.
    #[serde(deserialize_with = "deserialize_bounded::<_, _, 1_000>")]
    pub participants: Vec<UserId>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct ChannelMember {
    pub channel: ChannelId,
    pub person: UserId,
    pub username: String,
    pub is_starred: bool,
    #[serde(default)]
    pub is_muted: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "deserialize_bounded::<_, _, 10>")]
    pub notifications: Vec<Notifications>,
    /// The last message that they have read; none if there was none when they joined.
    pub read: Option<MessageId>,
    /// Threads of the channel that they take part in, and have not read to the end or not replied in.
    #[serde(default, deserialize_with = "deserialize_bounded::<_, _, 500_000>")]
    pub unread_threads: Vec<UnreadThread>,
    /// Threads of the channel that they do not follow any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "deserialize_bounded::<_, _, 500_000>")]
    pub left_threads: Vec<MessageId>,
    pub created_at: Time,
}

impl ChannelMember {
    /// Somebody who has read nothing in a channel, and has set nothing.
    pub fn new(channel: ChannelId, person: UserId, username: String, created_at: Time) -> ChannelMember {
        ChannelMember {
            channel,
            person,
            username,
            is_starred: false,
            is_muted: false,
            notifications: Vec::new(),
            read: None,
            unread_threads: Vec::new(),
            left_threads: Vec::new(),
            created_at,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub struct UnreadThread {
    pub thread: MessageId,
    /// The last reply that they have read.
    pub read: Option<MessageId>,
}

/// A post or a reply, in the order in which they were written.
#[derive(Debug, Serialize, Deserialize)]
pub struct Message {
    pub id: MessageId,
    pub channel: ChannelId,
    /// The post that it replies to.
    pub thread: Option<MessageId>,
    /// `None` for what a program has fed.
    pub author: Option<UserId>,
    #[serde(deserialize_with = "format_characters::deserialize_legacy_name")]
    pub username: String,
    pub avatar_url: String,
    pub content: String,
    #[serde(deserialize_with = "deserialize_bounded::<_, _, 1_000>")]
    pub mentions: Vec<Mention>,
    pub r#type: String,
    pub event_name: String,
    pub action_type: String,
    pub status: String,
    pub current_status: String,
    pub pinned_at: Option<Time>,
    /// Who pinned it; none if nobody knows.
    #[serde(default)]
    pub pinned_by: Option<UserId>,
    pub created_at: Time,
    pub updated_at: Time,
    pub edited_at: Option<Time>,
    pub deleted_at: Option<Time>,
    #[serde(deserialize_with = "deserialize_bounded::<_, _, 500_000>")]
    pub reactions: Vec<Reaction>,
    /// In the order in which it shows them.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "deserialize_bounded::<_, _, 10>")]
    pub files: Vec<File>,
}

/// A file that a message shows. Its content follows the parts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct File {
    pub id: FileId,
    pub name: String,
    pub mime_type: String,
    /// Bytes.
    pub size: i64,
    /// In hexadecimal digits.
    pub sha256: String,
    /// Of a picture that could be decoded.
    #[serde(flatten)]
    pub picture: Option<Appearance>,
    /// What it shows, for those who can't see it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    pub created_at: Time,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Reaction {
    pub emoji: String,
    pub person: UserId,
    pub created_at: Time,
}

/// A webhook, without its secret and the address of its feed.
#[derive(Debug, Serialize, Deserialize)]
pub struct Webhook {
    pub id: WebhookId,
    pub channel: ChannelId,
    pub owner: UserId,
    #[serde(deserialize_with = "format_characters::deserialize_legacy_name")]
    pub name: String,
    pub event_name: String,
    pub url: String,
    /// The kinds that it delivers; new messages alone if they are not named.
    #[serde(default)]
    pub events: Option<Vec<String>>,
    /// The words with which delivered messages begin.
    #[serde(default)]
    pub trigger_words: Vec<String>,
    /// Whether it delivers from all public channels.
    #[serde(default)]
    pub all_channels: bool,
    /// Whether a delivery waits for the one before it.
    #[serde(default)]
    pub ordered: bool,
    pub created_at: Time,
    pub updated_at: Time,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_name_is_read_without_its_invisible_characters() {
        let person = r#"{"id": "0199c0de-0000-7000-8000-000000000000", "email": "ada@example.org", "username": "ada",
            "first_name": "A\u200bda", "last_name": "Love\u00adlace", "avatar_url": "", "is_active": true,
            "created_at": "2026-01-01T00:00:00.000000Z"}"#;
        let Record::Person(person) = Record::read("people.jsonl", person).unwrap() else { panic!("a person") };
        assert_eq!((person.first_name.as_str(), person.last_name.as_str()), ("Ada", "Lovelace"));
    }
}
