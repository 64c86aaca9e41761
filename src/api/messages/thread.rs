//! The thread object of answers.

use poem_openapi::{Enum, Object};
use serde::Serialize;
use serde_json::Value;

use super::message::{Mention, PinnedDetails, Reaction};
use crate::{
    api::http::{
        listing::{BYTES, json_length},
        rows::Rows,
        types::Nullable,
    },
    domain::messages::{record, threads},
    id::{ChannelId, MessageId},
    time::Time,
};

#[derive(Object, Serialize)]
pub struct Thread {
    thread_id: MessageId,
    channels_id: ChannelId,
    channel_name: String,
    /// Set by a webhook's feed; otherwise empty.
    event_name: String,
    /// Set by a webhook's feed; otherwise empty.
    action_type: String,
    /// `success` or `error`, which a webhook's feed sets.
    status: String,
    /// `pending` or `completed`.
    current_status: String,
    /// `thread` for a fed post, `message` for a member's post.
    #[oai(rename = "type")]
    #[serde(rename = "type")]
    kind: String,
    /// The author's id; empty for a feed without a bearer.
    user_id: String,
    /// The author's name in the channel, or the name that a feed set.
    username: String,
    /// The author's; empty for a feed without a bearer.
    full_name: String,
    /// The author's; empty for a feed without a bearer.
    email: String,
    /// The author's picture, or the one that a feed without a bearer set.
    avatar_url: String,
    /// Who wrote the post: `user`, or `webhook` for a program.
    user_type: String,
    content: String,
    /// The same as `content`.
    message: String,
    /// The post's files: always empty.
    media: Vec<Value>,
    mentions: Vec<Mention>,
    edited: bool,
    pinned: bool,
    /// The same as `pinned`.
    is_pinned: bool,
    /// Who pinned the message; null unless it is pinned, and for a pin from elsewhere or from before this was kept.
    pinned_details: Nullable<PinnedDetails>,
    reactions: Vec<Reaction>,
    /// The latest replies, oldest first; at most 256 KiB of them.
    messages: Rows<Reply>,
    /// The number of all replies.
    message_count: i64,
    /// When the latest reply was posted; `0001-01-01T00:00:00Z` if there is none.
    last_reply: Time,
    created_at: Time,
    updated_at: Time,
    deleted_at: Time,
}

impl From<threads::Thread> for Thread {
    /// Drops the oldest replies beyond the number of bytes for a list.
    fn from(threads::Thread { root, place, replies }: threads::Thread) -> Self {
        Thread::new(root, place, latest(replies, threads::REPLY_BYTES))
    }
}

impl Thread {
    fn new(root: record::Message, place: threads::Place, replies: Rows<Reply>) -> Thread {
        Thread {
            user_id: root.author_id(),
            user_type: root.user_type().into(),
            thread_id: root.id,
            channels_id: root.channel,
            channel_name: place.name,
            event_name: root.event_name,
            action_type: root.action_type,
            status: root.status,
            current_status: root.current_status,
            kind: root.kind,
            username: root.username,
            full_name: root.full_name,
            email: root.email,
            avatar_url: root.avatar_url,
            media: Vec::new(),
            message: root.content.clone(),
            content: root.content,
            mentions: root.mentions.into_iter().map(Mention::from).collect(),
            edited: root.is_edited,
            pinned: root.is_pinned,
            is_pinned: root.is_pinned,
            pinned_details: Nullable(root.pin.map(PinnedDetails::from)),
            reactions: root.reactions.into_iter().map(Reaction::from).collect(),
            messages: replies,
            message_count: root.reply_count,
            last_reply: root.last_reply_at.unwrap_or(Time::NEVER),
            created_at: root.created_at,
            updated_at: root.updated_at,
            deleted_at: root.deleted_at.unwrap_or(Time::NEVER),
        }
    }
}

/// The latest of the replies, as many as take at most so many bytes.
fn latest(replies: Vec<record::Message>, bytes: usize) -> Rows<Reply> {
    let (mut newest_first, mut left) = (Rows::default(), bytes);
    for reply in replies.into_iter().rev() {
        let length = newest_first.push(&Reply::from(reply));
        if length > left {
            newest_first.pop();
            break;
        }
        left -= length;
    }
    newest_first.reversed()
}

/// The kind of channel: `dm` is a direct message.
#[derive(Enum, Serialize)]
#[oai(rename_all = "lowercase")]
#[serde(rename_all = "lowercase")]
enum ChannelType {
    Public,
    Private,
    Dm,
}

/// A thread in the list of an organisation.
#[derive(Object, Serialize)]
pub struct OrganisationThread {
    #[oai(flatten)]
    #[serde(flatten)]
    thread: Thread,
    channel_type: ChannelType,
    /// The post, then the replies of `messages`; empty if both lists together would exceed 1 MB.
    thread_messages: Rows<Reply>,
}

impl OrganisationThread {
    /// Shows the post and its replies twice, within the bytes of an answer. Drops the oldest replies beyond that, and beyond
    /// the number of bytes for a list.
    pub(super) fn new(threads::Thread { root, place, replies }: threads::Thread) -> OrganisationThread {
        let channel_type = match (place.is_dm, place.is_private) {
            (true, _) => ChannelType::Dm,
            (false, true) => ChannelType::Private,
            (false, false) => ChannelType::Public,
        };
        let mut thread_messages = Rows::default();
        let length = thread_messages.push(&Reply::from(root.clone()));
        let mut thread = Thread::new(root, place, Rows::default());
        let left = BYTES.saturating_sub(json_length(&thread));
        let after_root = left.checked_sub(length);
        let bytes = after_root.map_or(left, |left| left / 2);
        thread.messages = latest(replies, bytes.min(threads::REPLY_BYTES));
        match after_root {
            Some(_) => thread_messages.extend(&thread.messages),
            None => thread_messages.pop(),
        }
        OrganisationThread { thread, channel_type, thread_messages }
    }
}

/// A message inside a thread.
#[derive(Object, Serialize)]
pub struct Reply {
    id: MessageId,
    thread_id: MessageId,
    channels_id: ChannelId,
    content: String,
    /// The same as `content`.
    message: String,
    user_id: String,
    username: String,
    full_name: String,
    email: String,
    avatar_url: String,
    /// Who wrote the message: `user`, or `webhook` for a program.
    user_type: String,
    /// The message's files: always empty.
    media: Vec<Value>,
    mentions: Vec<Mention>,
    edited: bool,
    pinned: bool,
    /// The same as `pinned`.
    is_pinned: bool,
    /// Who pinned the message; null unless it is pinned, and for a pin from elsewhere or from before this was kept.
    pinned_details: Nullable<PinnedDetails>,
    reactions: Vec<Reaction>,
    created_at: Time,
    updated_at: Time,
}

impl From<record::Message> for Reply {
    fn from(message: record::Message) -> Self {
        Reply {
            id: message.id,
            thread_id: message.thread,
            channels_id: message.channel,
            user_id: message.author_id(),
            user_type: message.user_type().into(),
            media: Vec::new(),
            message: message.content.clone(),
            content: message.content,
            username: message.username,
            full_name: message.full_name,
            email: message.email,
            avatar_url: message.avatar_url,
            mentions: message.mentions.into_iter().map(Mention::from).collect(),
            edited: message.is_edited,
            pinned: message.is_pinned,
            is_pinned: message.is_pinned,
            pinned_details: Nullable(message.pin.map(PinnedDetails::from)),
            reactions: message.reactions.into_iter().map(Reaction::from).collect(),
            created_at: message.created_at,
            updated_at: message.updated_at,
        }
    }
}
