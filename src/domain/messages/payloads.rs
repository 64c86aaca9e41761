//! The data of events and deliveries about messages. These types borrow from the message, so that a long text is copied only
//! into the body.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{
    domain::messages::{
        counters::Counts,
        mentions::Mention,
        record::{Message, Reaction},
    },
    id::{ChannelId, MessageId, OrganisationId, UserId},
    time::Time,
};

/// A message: a post, a reply, or what a program has fed.
#[derive(Clone, Serialize, JsonSchema)]
pub struct MessageObject<'a> {
    /// What a feed has set as its action; empty for a member's message.
    action_type: &'a str,
    /// The author's picture, or the one that a feed without a bearer set.
    avatar_url: &'a str,
    /// The channel of the message.
    channel_id: ChannelId,
    /// The same as `channel_id`.
    channels_id: ChannelId,
    /// The text.
    content: &'a str,
    /// When the message was posted.
    created_at: Time,
    /// The author's e-mail address; empty for a feed without a bearer.
    email: &'a str,
    /// What a feed has set as its event; empty for a member's message.
    event_name: &'a str,
    /// The author's full name; empty for a feed without a bearer.
    full_name: &'a str,
    /// The message's own id.
    id: MessageId,
    /// Whether the message is pinned in its channel.
    is_pinned: bool,
    /// The message's files: always empty.
    media: Vec<Value>,
    /// The members whom the message mentions, or the channel for all of them.
    mentions: &'a [Mention],
    /// The same as `content`.
    message: &'a str,
    /// The channel's organisation.
    org_id: OrganisationId,
    /// The result that a feed reports.
    #[schemars(extend("enum" = ["success", "error"]))]
    status: &'a str,
    /// The message's own id, or the id of the post that it replies to.
    thread_id: MessageId,
    /// `thread` for a feed, `message` for a member's message.
    #[schemars(extend("enum" = ["message", "thread"]))]
    r#type: &'a str,
    /// When the text was last edited; `created_at` if never.
    updated_at: Time,
    /// The author's id; empty for a feed without a bearer.
    user_id: String,
    /// Who wrote the message: a member, or a program through a webhook.
    #[schemars(extend("enum" = ["user", "webhook"]))]
    user_type: &'a str,
    /// The author's name in the channel, or the name that a feed set.
    username: &'a str,
}

pub(super) fn object(message: &Message) -> MessageObject<'_> {
    MessageObject {
        action_type: &message.action_type,
        avatar_url: &message.avatar_url,
        channel_id: message.channel,
        channels_id: message.channel,
        content: &message.content,
        created_at: message.created_at,
        email: &message.email,
        event_name: &message.event_name,
        full_name: &message.full_name,
        id: message.id,
        is_pinned: message.is_pinned,
        media: Vec::new(),
        mentions: &message.mentions,
        message: &message.content,
        org_id: message.organisation,
        status: &message.status,
        thread_id: message.thread,
        r#type: &message.kind,
        updated_at: message.updated_at,
        user_id: message.author_id(),
        user_type: message.user_type(),
        username: &message.username,
    }
}

/// The identifiers of an event about a message.
#[derive(Serialize, JsonSchema)]
pub struct MessageIds {
    /// The message's thread.
    thread_id: MessageId,
    /// The message.
    message_id: MessageId,
    /// The message's channel.
    channel_id: ChannelId,
    /// The message's author; empty for a feed without a bearer.
    user_id: String,
    /// The channel's organisation.
    org_id: OrganisationId,
}

pub(super) fn ids(message: &Message) -> MessageIds {
    MessageIds {
        thread_id: message.thread,
        message_id: message.id,
        channel_id: message.channel,
        user_id: message.author_id(),
        org_id: message.organisation,
    }
}

/// The identifiers of an event that changes the counts of a thread, with the counts.
#[derive(Serialize, JsonSchema)]
pub struct Counted {
    modification_ids: MessageIds,
    update_change: UpdateChange,
}

/// The counts of a thread after a message was posted or deleted.
#[derive(Serialize, JsonSchema)]
pub struct UpdateChange {
    /// The number of the thread's replies.
    thread_count: i64,
    /// The same as `thread_count`.
    message_count: i64,
    /// When the latest reply was posted; `0001-01-01T00:00:00Z` if there is none.
    last_reply: Time,
    /// True if a reply was deleted, so that previews of the thread change; otherwise absent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    preview_section: bool,
}

/// The further fields of an event that changes the counts of the message's thread. `is_preview` says that a reply was deleted.
pub(super) fn counted(message: &Message, counts: &Counts, is_preview: bool) -> Counted {
    let update_change = UpdateChange {
        thread_count: counts.replies,
        message_count: counts.replies,
        last_reply: counts.last_reply_at.unwrap_or(Time::NEVER),
        preview_section: is_preview,
    };
    Counted { modification_ids: ids(message), update_change }
}

/// A deleted message, without its text and mentions.
#[derive(Serialize, JsonSchema)]
pub struct DeletedMessage<'a> {
    #[serde(flatten)]
    pub(super) message: MessageObject<'a>,
    /// When the message was deleted.
    pub(super) deleted_at: Time,
}

/// A pinned message, and who pinned it.
#[derive(Serialize, JsonSchema)]
pub struct PinnedMessage<'a> {
    #[serde(flatten)]
    pub(super) message: MessageObject<'a>,
    pub(super) pinned_details: PinnedDetails<'a>,
}

/// The identifiers of the event of a pin, with its details once more: some clients read them beside `data`.
#[derive(Serialize, JsonSchema)]
pub struct PinIds<'a> {
    pub(super) modification_ids: MessageIds,
    pub(super) pinned_details: PinnedDetails<'a>,
}

/// Who pinned a message, and when.
#[derive(Clone, Serialize, JsonSchema)]
pub struct PinnedDetails<'a> {
    /// The member who pinned the message.
    pub(super) user_id: UserId,
    /// The member's name in the channel.
    pub(super) username: &'a str,
    /// The member's e-mail address.
    pub(super) email: &'a str,
    /// The same as `user_id`.
    pub(super) pinned_by: UserId,
    /// When the message was pinned.
    pub(super) pinned_at: Time,
}

/// A reaction that a member has added or removed.
#[derive(Serialize, JsonSchema)]
pub struct ReactionChange<'a> {
    /// What the member has done.
    #[schemars(extend("enum" = ["added", "removed"]))]
    pub(super) action: &'a str,
    /// The reaction.
    pub(super) emoji: &'a str,
    /// The number of users who give the reaction after the change.
    pub(super) count: i64,
    /// The member who has added or removed the reaction.
    pub(super) user_id: UserId,
    /// The member's name in the channel.
    pub(super) username: &'a str,
    /// The message.
    pub(super) message_id: MessageId,
    /// The message's thread.
    pub(super) thread_id: MessageId,
    /// The message's channel.
    pub(super) channels_id: ChannelId,
    /// All reactions to the message after the change.
    pub(super) reactions: Vec<ReactionObject<'a>>,
}

/// The identifiers of the event of a reaction, with the message's reactions once more: some clients read them beside `data`.
#[derive(Serialize, JsonSchema)]
pub struct ReactionIds<'a> {
    pub(super) modification_ids: MessageIds,
    /// All reactions to the message after the change.
    pub(super) reactions: Vec<ReactionObject<'a>>,
}

/// An emoji that users gave to a message.
#[derive(Clone, Serialize, JsonSchema)]
pub struct ReactionObject<'a> {
    /// The reaction.
    emoji: &'a str,
    /// The number of users who gave the reaction.
    count: i64,
    /// The first up to 100 of these users, in the order in which they reacted.
    users: &'a [UserId],
    /// The same as `emoji`.
    reaction: &'a str,
    /// The same as `count`.
    reaction_count: i64,
    /// The emoji, percent-encoded.
    reaction_id: String,
}

impl<'a> From<&'a Reaction> for ReactionObject<'a> {
    fn from(Reaction { emoji, count, users }: &'a Reaction) -> Self {
        ReactionObject { emoji, count: *count, users, reaction: emoji, reaction_count: *count, reaction_id: reaction_id(emoji) }
    }
}

/// The emoji as a segment of a path (RFC 3986).
pub fn reaction_id(emoji: &str) -> String {
    const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(emoji, &UNRESERVED).to_string()
}

/// The new status of a thread.
#[derive(Serialize, JsonSchema)]
pub struct ThreadStatus<'a> {
    /// The thread.
    pub(super) thread_id: MessageId,
    /// The thread's channel.
    pub(super) channels_id: ChannelId,
    /// The status after the change.
    #[schemars(extend("enum" = ["pending", "completed"]))]
    pub(super) current_status: &'a str,
}
