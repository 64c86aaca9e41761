//! The message object of answers.

use poem_openapi::Object;
use serde::Serialize;
use serde_json::Value;

use crate::{
    api::http::types::Nullable,
    domain::messages::{mentions, payloads, record},
    id::{ChannelId, MessageId, UserId},
    time::Time,
};

#[derive(Object, Serialize)]
pub struct Message {
    pub(super) id: MessageId,
    content: String,
    /// The same as `content`.
    message: String,
    channel_id: ChannelId,
    /// The message's own id, or the id of the post that it replies to.
    thread_id: MessageId,
    /// The author's id; empty for a feed without a bearer.
    user_id: String,
    /// The author's name in the channel, or the name that a feed set.
    username: String,
    avatar_url: String,
    /// Who wrote the message: `user`, or `webhook` for a program.
    user_type: String,
    /// The message's files: always empty.
    media: Vec<Value>,
    mentions: Vec<Mention>,
    /// The number of replies to a top-level post.
    message_count: i64,
    edited: bool,
    pinned: bool,
    /// The same as `pinned`.
    is_pinned: bool,
    /// Who pinned the message; null unless it is pinned, and for a pin from elsewhere or from before this was kept.
    pinned_details: Nullable<PinnedDetails>,
    reactions: Vec<Reaction>,
    created_at: Time,
    updated_at: Time,
    /// When the message was deleted, if it is kept for its replies; otherwise `0001-01-01T00:00:00Z`.
    deleted_at: Time,
}

impl From<record::Message> for Message {
    fn from(message: record::Message) -> Self {
        Message {
            id: message.id,
            user_id: message.author_id(),
            user_type: message.user_type().into(),
            media: Vec::new(),
            message: message.content.clone(),
            content: message.content,
            channel_id: message.channel,
            thread_id: message.thread,
            username: message.username,
            avatar_url: message.avatar_url,
            mentions: message.mentions.into_iter().map(Mention::from).collect(),
            message_count: message.reply_count,
            edited: message.is_edited,
            pinned: message.is_pinned,
            is_pinned: message.is_pinned,
            pinned_details: Nullable(message.pin.map(PinnedDetails::from)),
            reactions: message.reactions.into_iter().map(Reaction::from).collect(),
            created_at: message.created_at,
            updated_at: message.updated_at,
            deleted_at: message.deleted_at.unwrap_or(Time::NEVER),
        }
    }
}

/// Who pinned a message, and when.
#[derive(Object, Serialize)]
pub struct PinnedDetails {
    user_id: UserId,
    /// The name in the channel; the account's username for somebody who has left the channel.
    username: String,
    email: String,
    /// The same as `user_id`.
    pinned_by: UserId,
    pinned_at: Time,
}

impl From<record::Pin> for PinnedDetails {
    fn from(pin: record::Pin) -> Self {
        let record::Pin { user, username, email, at } = pin;
        PinnedDetails { user_id: user, username, email, pinned_by: user, pinned_at: at }
    }
}

#[derive(Object, Serialize)]
pub struct Mention {
    /// The id of the mentioned user, or of the channel.
    id: uuid::Uuid,
    /// `user` or `channel`.
    #[oai(rename = "type")]
    #[serde(rename = "type")]
    kind: String,
    username: String,
}

impl From<mentions::Mention> for Mention {
    fn from(mention: mentions::Mention) -> Self {
        let kind = match mention.kind {
            mentions::Kind::User => "user",
            mentions::Kind::Channel => "channel",
        };
        Mention { id: mention.id, kind: kind.into(), username: mention.username }
    }
}

#[derive(Object, Serialize)]
pub struct Reaction {
    emoji: String,
    /// The number of users who gave the reaction.
    count: i64,
    /// The first up to 100 of these users, in the order in which they reacted.
    users: Vec<UserId>,
    /// The same as `emoji`.
    reaction: String,
    /// The same as `count`.
    reaction_count: i64,
    /// The emoji, percent-encoded.
    reaction_id: String,
}

impl From<record::Reaction> for Reaction {
    fn from(record::Reaction { emoji, count, users }: record::Reaction) -> Self {
        let (reaction, reaction_id) = (emoji.clone(), payloads::reaction_id(&emoji));
        Reaction { emoji, count, users, reaction, reaction_count: count, reaction_id }
    }
}
