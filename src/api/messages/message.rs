//! A message as answers show it.

use poem_openapi::Object;

use crate::{
    domain::messages::{self, mentions, reactions},
    id::{ChannelId, MessageId, UserId},
    time::Time,
};

#[derive(Object)]
pub struct Message {
    pub(super) id: MessageId,
    content: String,
    /// The same as `content`.
    message: String,
    channel_id: ChannelId,
    /// Its own id, or that of the post that it replies to.
    thread_id: MessageId,
    /// The author; empty for a feed without a bearer.
    user_id: String,
    /// The author's name in the channel, or the name that a feed gave.
    username: String,
    avatar_url: String,
    mentions: Vec<Mention>,
    /// Replies, of a top-level post.
    message_count: i64,
    edited: bool,
    pinned: bool,
    reactions: Vec<Reaction>,
    created_at: Time,
    updated_at: Time,
    /// `0001-01-01T00:00:00Z`, unless it was deleted and kept for its replies.
    deleted_at: Time,
}

impl From<messages::Message> for Message {
    fn from(message: messages::Message) -> Self {
        Message {
            id: message.id,
            message: message.content.clone(),
            content: message.content,
            channel_id: message.channel,
            thread_id: message.thread,
            user_id: message.user.map_or_else(String::new, |user| user.to_string()),
            username: message.username,
            avatar_url: message.avatar_url,
            mentions: message.mentions.into_iter().map(Mention::from).collect(),
            message_count: message.reply_count,
            edited: message.is_edited,
            pinned: message.is_pinned,
            reactions: message.reactions.into_iter().map(Reaction::from).collect(),
            created_at: message.created_at,
            updated_at: message.updated_at,
            deleted_at: message.deleted_at.unwrap_or(Time::NEVER),
        }
    }
}

#[derive(Object)]
pub struct Mention {
    /// A user's, or the channel's.
    id: uuid::Uuid,
    /// `user` or `channel`.
    #[oai(rename = "type")]
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

#[derive(Object)]
pub struct Reaction {
    emoji: String,
    /// Users who gave it.
    count: i64,
    /// Up to 100 of them, the first first.
    users: Vec<UserId>,
}

impl From<reactions::Reaction> for Reaction {
    fn from(reactions::Reaction { emoji, count, users }: reactions::Reaction) -> Self {
        Reaction { emoji, count, users }
    }
}
