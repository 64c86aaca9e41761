//! The objects that show messages, their pins and reactions: the same in every answer, event and delivery. They borrow from the
//! record, so that a long text is copied only into the body.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use crate::{
    domain::{
        files::MediaObject,
        messages::{
            action_buttons::{ActionObject, Actions},
            mentions::Mention,
            record::{Message, Participant, Pin, Reaction},
        },
    },
    id::{ChannelId, MessageId, OrganisationId, UserId},
    time::Time,
};

/// Serialises a record as the object that shows it, and describes it by that object's schema.
macro_rules! shown {
    ($($record:ident as $object:ident),+) => {$(
        impl Serialize for $record {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $object::from(self).serialize(serializer)
            }
        }

        impl JsonSchema for $record {
            fn schema_name() -> Cow<'static, str> {
                $object::schema_name()
            }
            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                $object::json_schema(generator)
            }
        }
    )+};
}

shown!(Message as MessageObject, Pin as PinnedDetails, Reaction as ReactionObject);

/// A message: a post, a reply, or what a program has fed.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Message")]
struct MessageObject<'a> {
    /// What can be clicked, up to ten buttons. Empty for a person's message.
    actions: Vec<ActionObject<'a>>,
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
    /// Whether a thread is done. A reply is always `pending`.
    #[schemars(extend("enum" = ["pending", "completed"]))]
    current_status: &'a str,
    /// When the message was deleted, if it is kept for its replies; otherwise `0001-01-01T00:00:00Z`.
    deleted_at: Time,
    /// Whether the text was edited.
    edited: bool,
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
    /// When the latest reply was posted; `0001-01-01T00:00:00Z` if there is none.
    last_reply: Time,
    /// The message's files, in the order in which they are shown.
    media: Vec<MediaObject<'a>>,
    /// The members whom the message mentions, or the channel for all of them.
    mentions: &'a [Mention],
    /// The same as `content`.
    message: &'a str,
    /// The number of replies to a top-level post.
    message_count: i64,
    /// The channel's organisation.
    org_id: OrganisationId,
    /// The same as `is_pinned`.
    pinned: bool,
    /// The number of members who have replied to a top-level post.
    participant_count: i64,
    /// The first three of them, in the order of their first reply.
    participants: &'a [Participant],
    /// Who pinned the message; null unless it is pinned, and for a pin from elsewhere or from before this was kept.
    pinned_details: Option<&'a Pin>,
    /// The place in the order that the server keeps of all messages: no two have the same, and later ones have higher ones.
    position: i64,
    /// The reactions in the order in which they were first given.
    reactions: &'a [Reaction],
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
    /// Who wrote the message: a person, a bot, or a program through a webhook.
    #[schemars(extend("enum" = ["user", "bot", "webhook"]))]
    user_type: &'a str,
    /// The author's name in the channel, or the name that a feed set.
    username: &'a str,
}

impl<'a> From<&'a Message> for MessageObject<'a> {
    fn from(message: &'a Message) -> Self {
        MessageObject {
            actions: message.actions.as_ref().map(Actions::shown).unwrap_or_default(),
            action_type: &message.action_type,
            avatar_url: &message.author.avatar_url,
            channel_id: message.channel,
            channels_id: message.channel,
            content: &message.content,
            created_at: message.created_at,
            current_status: &message.current_status,
            deleted_at: message.deleted_at.unwrap_or(Time::NEVER),
            edited: message.is_edited,
            email: &message.author.email,
            event_name: &message.event_name,
            full_name: &message.author.full_name,
            id: message.id,
            is_pinned: message.is_pinned,
            last_reply: message.last_reply_at.unwrap_or(Time::NEVER),
            media: message.shown_media(),
            mentions: &message.mentions,
            message: &message.content,
            message_count: message.reply_count,
            org_id: message.organisation,
            pinned: message.is_pinned,
            participant_count: message.participant_count,
            participants: &message.participants,
            pinned_details: message.pin.as_ref(),
            position: message.n,
            reactions: &message.reactions,
            status: &message.status,
            thread_id: message.thread,
            r#type: &message.kind,
            updated_at: message.updated_at,
            user_id: message.author_id(),
            user_type: message.user_type(),
            username: &message.username,
        }
    }
}

impl Message {
    /// Files come with members' messages alone.
    fn shown_media(&self) -> Vec<MediaObject<'_>> {
        let shown = |user| {
            self.media.iter().map(move |media| MediaObject::new(media, self.organisation, user, Some((self.channel, self.id))))
        };
        self.user.into_iter().flat_map(shown).collect()
    }
}

/// Who pinned a message, and when.
#[derive(Serialize, JsonSchema)]
struct PinnedDetails<'a> {
    /// The member who pinned the message.
    user_id: UserId,
    /// The member's name in the channel; the account's username for somebody who has left the channel.
    username: &'a str,
    /// The member's e-mail address.
    email: &'a str,
    /// The same as `user_id`.
    pinned_by: UserId,
    /// When the message was pinned.
    pinned_at: Time,
}

impl<'a> From<&'a Pin> for PinnedDetails<'a> {
    fn from(Pin { user, username, email, at }: &'a Pin) -> Self {
        PinnedDetails { user_id: *user, username, email, pinned_by: *user, pinned_at: *at }
    }
}

/// An emoji that users gave to a message.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Reaction")]
struct ReactionObject<'a> {
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
fn reaction_id(emoji: &str) -> String {
    const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(emoji, &UNRESERVED).to_string()
}
