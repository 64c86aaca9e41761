//! The data of events about messages, besides the message objects themselves.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    domain::messages::{
        channel_counters::Counts,
        record::{Message, Participant, Pin, Reaction},
    },
    id::{ChannelId, MessageId, OrganisationId, UserId},
    time::Time,
};

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
    /// The first three members who have replied, in the order of their first reply.
    participants: Vec<Participant>,
    /// The number of members who have replied.
    participant_count: i64,
    /// True if a reply was deleted, so that previews of the thread change; otherwise absent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    preview_section: bool,
}

/// The further fields of an event that changes the counts of the message's thread. `is_preview` says that a reply was deleted.
pub(super) fn counted(message: &Message, counts: Counts, is_preview: bool) -> Counted {
    let update_change = UpdateChange {
        thread_count: counts.replies,
        message_count: counts.replies,
        last_reply: counts.last_reply_at.unwrap_or(Time::NEVER),
        participants: counts.participants,
        participant_count: counts.participant_count,
        preview_section: is_preview,
    };
    Counted { modification_ids: ids(message), update_change }
}

/// The identifiers of the event of a pin, with its details once more: some clients read them beside `data`.
#[derive(Serialize, JsonSchema)]
pub struct PinIds<'a> {
    pub(super) modification_ids: MessageIds,
    pub(super) pinned_details: &'a Pin,
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
    /// Whether the member is a person or a bot.
    #[schemars(extend("enum" = ["user", "bot"]))]
    pub(super) user_type: &'a str,
    /// The message.
    pub(super) message_id: MessageId,
    /// The message's thread.
    pub(super) thread_id: MessageId,
    /// The message's channel.
    pub(super) channels_id: ChannelId,
    /// All reactions to the message after the change.
    pub(super) reactions: &'a [Reaction],
}

/// The identifiers of the event of a reaction, with the message's reactions once more: some clients read them beside `data`.
#[derive(Serialize, JsonSchema)]
pub struct ReactionIds<'a> {
    pub(super) modification_ids: MessageIds,
    /// All reactions to the message after the change.
    pub(super) reactions: &'a [Reaction],
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
