//! What results show: JSON in a text, within a number of bytes that a model's context has room for. A text of somebody else stands
//! in it as a JSON string, so that it can't pass for another message or for a note of the server.

use std::ops::Not;

use poem_openapi::Object;
use serde::Serialize;

use crate::{
    api::{
        http::{json, listing::json_length, rows::Rows},
        messages::pages::Links,
    },
    domain::{
        channels::{
            record::{self, Visible},
            unread_counts::Counts,
        },
        files::{self, Media},
        messages::{record as messages, threads},
        organisations::Own,
    },
    id::{ChannelId, MessageId, OrganisationId, UserId},
    time::Time,
};

/// Bytes of a result, about: its notes come on top.
pub const BYTES: usize = 32 << 10;
/// Bytes of JSON of one message's text. The rest is left out.
const TEXT: usize = 16 << 10;
/// Emoji shown with a message.
const REACTIONS: usize = 10;

/// The text of a result.
pub fn result_text(result: &impl Serialize) -> String {
    let mut text = Vec::new();
    json::write(&mut text, result);
    String::from_utf8(text).expect("JSON is UTF-8")
}

/// A result with a list. Absent where there is nothing to tell.
#[derive(Serialize)]
pub struct Listed<T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<NamedChannel>,
    /// The first message of a thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<Message>,
    pub messages: Rows<T>,
    /// How to go on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<String>,
}

/// The channel of a list.
#[derive(Serialize)]
pub struct NamedChannel {
    pub id: ChannelId,
    pub name: String,
}

impl From<record::Channel> for NamedChannel {
    fn from(channel: record::Channel) -> NamedChannel {
        NamedChannel { id: channel.id, name: channel.name }
    }
}

/// Says how to go on with a page of messages.
pub fn paging_hints(links: Links) -> Vec<String> {
    let next = links.next.map(|(parameter, id)| format!("There are more: call again with {parameter} {id}"));
    let newer = links.newer.map(|id| format!("There are newer ones: call again with after {id}"));
    next.into_iter().chain(newer).collect()
}

/// Says how to go on with a list.
pub fn continuation_hint(rest: Option<i64>) -> Vec<String> {
    rest.map(|rest| format!("There are more: call again with offset {rest}")).into_iter().collect()
}

#[derive(Object, Serialize)]
#[oai(rename = "AssistantOrganisation")]
pub struct Organisation {
    id: OrganisationId,
    slug: String,
    name: String,
}

impl From<Own> for Organisation {
    fn from(own: Own) -> Organisation {
        Organisation { id: own.id, slug: own.slug, name: own.name }
    }
}

#[derive(Object, Serialize)]
#[oai(rename = "AssistantChannel")]
pub struct Channel {
    id: ChannelId,
    name: String,
    topic: String,
    is_private: bool,
    unread: i64,
    mentions: i64,
    /// Only of a muted channel: its posts without a mention are not to call the user.
    #[oai(default, skip_serializing_if = "Not::not")]
    #[serde(skip_serializing_if = "Not::not")]
    is_muted: bool,
    #[oai(skip_serializing_if_is_none)]
    #[serde(skip_serializing_if = "Option::is_none")]
    last_message_at: Option<Time>,
}

impl From<(Counts, Visible)> for Channel {
    fn from((counts, Visible { channel, preferences, .. }): (Counts, Visible)) -> Channel {
        Channel {
            id: channel.id,
            name: channel.name,
            topic: channel.topic,
            is_private: channel.is_private,
            unread: counts.threads,
            mentions: counts.mentions,
            is_muted: preferences.is_muted,
            last_message_at: channel.last_message_at,
        }
    }
}

#[derive(Object, Serialize)]
#[oai(rename = "AssistantMessage")]
pub struct Message {
    id: MessageId,
    channel_id: ChannelId,
    /// The thread of a reply.
    #[oai(skip_serializing_if_is_none)]
    #[serde(skip_serializing_if = "Option::is_none")]
    thread_id: Option<MessageId>,
    author: String,
    /// Absent for a program that posts without an account.
    #[oai(skip_serializing_if_is_none)]
    #[serde(skip_serializing_if = "Option::is_none")]
    author_id: Option<UserId>,
    written_at: Time,
    text: String,
    /// What is out of the ordinary: `edited`, `deleted`, `cut`.
    #[oai(skip_serializing_if_is_none)]
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    replies: i64,
    /// Such as `🎉 2, 👍 1`.
    #[oai(skip_serializing_if_is_none)]
    #[serde(skip_serializing_if = "Option::is_none")]
    reactions: Option<String>,
    #[oai(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<File>,
}

/// A file that a message shows.
#[derive(Object, Serialize)]
#[oai(rename = "AssistantFile")]
pub struct File {
    name: String,
    /// What its content is.
    mime_type: String,
    bytes: i64,
    /// What it shows; absent if nobody has said.
    #[oai(skip_serializing_if_is_none)]
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// It opens with the token of the assistant.
    address: String,
}

impl From<&Media> for File {
    fn from(media: &Media) -> File {
        File {
            address: files::address(media),
            name: media.name.clone(),
            mime_type: media.mime_type.clone(),
            bytes: media.size,
            description: (!media.description.is_empty()).then(|| media.description.clone()),
        }
    }
}

impl From<messages::Message> for Message {
    fn from(message: messages::Message) -> Message {
        let text = first(&message.content, TEXT);
        let states = [
            (message.deleted_at.is_some(), "deleted"),
            (message.is_edited, "edited"),
            (text.len() < message.content.len(), "cut, because it is too long to be shown as a whole"),
        ];
        let states: Vec<&str> = states.into_iter().filter_map(|(holds, name)| holds.then_some(name)).collect();
        Message {
            text: text.to_owned(),
            id: message.id,
            channel_id: message.channel,
            thread_id: message.is_reply.then_some(message.thread),
            author: message.username,
            author_id: message.user,
            written_at: message.created_at,
            state: (!states.is_empty()).then(|| states.join("; ")),
            replies: message.reply_count,
            reactions: reactions(&message.reactions),
            files: message.media.iter().map(File::from).collect(),
        }
    }
}

/// The reactions to a message; none if there are none.
pub fn reactions(reactions: &[messages::Reaction]) -> Option<String> {
    let shown = reactions.iter().take(REACTIONS).map(|reaction| format!("{} {}", reaction.emoji, reaction.count));
    (!reactions.is_empty()).then(|| shown.collect::<Vec<_>>().join(", "))
}

/// The beginning of a text whose JSON has at most so many bytes.
fn first(text: &str, bytes: usize) -> &str {
    let mut left = bytes;
    let end = text.char_indices().find(|(_, c)| {
        let length = json_length(c) - 2; // without the quotes
        let fits = length <= left;
        left = left.saturating_sub(length);
        !fits
    });
    end.map_or(text, |(end, _)| &text[..end])
}

#[derive(Object, Serialize)]
#[oai(rename = "AssistantThread")]
pub struct Thread {
    #[oai(flatten)]
    #[serde(flatten)]
    message: Message,
    channel: String,
    unread_replies: i64,
    #[oai(skip_serializing_if_is_none)]
    #[serde(skip_serializing_if = "Option::is_none")]
    last_reply_at: Option<Time>,
}

impl From<threads::Thread> for Thread {
    fn from(threads::Thread { root, channel, unread, .. }: threads::Thread) -> Thread {
        let last_reply_at = root.last_reply_at;
        Thread { message: root.into(), channel: channel.name, unread_replies: unread.replies, last_reply_at }
    }
}
