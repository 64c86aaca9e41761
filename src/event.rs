//! What a committed change sets off, as plain data: rows of the event log, and effects in memory.

use crate::id::{ChannelId, MessageId, OrganisationId, SessionId, UserId, WebhookId};

/// The name of a push channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Channel(ChannelId),
    Thread(MessageId),
    Organisation(OrganisationId),
    /// What is addressed to one member of an organisation.
    Personal(OrganisationId, UserId),
}

impl std::fmt::Display for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stream::Channel(id) => id.fmt(f),
            Stream::Thread(id) => id.fmt(f),
            Stream::Organisation(id) => id.fmt(f),
            Stream::Personal(organisation, user) => write!(f, "{organisation}/{user}"),
        }
    }
}

/// Who receives a row of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Those who are subscribed to the row's stream.
    Subscribers,
    /// Every member of the row's channel but the actor, each on their personal stream.
    Members,
    Both,
    /// Consumers of the log in this server. No publication.
    Nobody,
}

impl Audience {
    pub fn as_str(self) -> &'static str {
        match self {
            Audience::Subscribers => "subscribers",
            Audience::Members => "members",
            Audience::Both => "both",
            Audience::Nobody => "nobody",
        }
    }
}

impl rusqlite::types::FromSql for Audience {
    fn column_result(value: rusqlite::types::ValueRef<'_>) -> rusqlite::types::FromSqlResult<Self> {
        Ok(match value.as_str()? {
            "members" => Audience::Members,
            "both" => Audience::Both,
            "nobody" => Audience::Nobody,
            "subscribers" => Audience::Subscribers,
            _ => return Err(rusqlite::types::FromSqlError::InvalidType),
        })
    }
}

/// What a row of the event log tells. Each kind says its name on the wire, its section, and how a member who was away
/// learns of it; live push, recovery, history, forwarding and the catalogue of events read this one definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A new post, a reply or a feed: the bare message object.
    Message,
    /// A reply, as its channel is told of it.
    ReplyCount,
    /// Another text of a message.
    Updated,
    Deleted,
    /// A message that names a member, or @channel.
    Mention,
    Reaction,
    Pinned,
    Unpinned,
    /// A thread is pending or completed.
    ThreadStatus,
    /// A channel has changed, or who is in it.
    Channel,
    /// What a member has not read in a channel.
    Unread,
    /// A member has starred a channel for themselves, or taken the star off.
    Star,
    Webhook,
    /// A member of the organisation has changed, or their role.
    Member,
    Role,
    Organisation,
    /// What another program published, in words of its own.
    Published,
    /// Rights of the users whom the body names have ended. Never pushed.
    Revocation,
    /// The actor has left the organisation that the body names. Never pushed.
    Departed,
    /// The owner of a mailbox has taken the actor's account from whoever may have used it before. Never pushed.
    Reclaimed,
}

/// How a member of a channel who was away learns, on the personal stream, of an event that goes to all its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Each event as it was: it is stored with the audience [`Audience::Members`].
    Each,
    /// The channel's newest unread state, made anew: `channels.message_seq` holds the last event that changed it.
    UnreadState,
    /// The channel's newest change: `channels.edit_seq` holds it.
    ChannelState,
}

impl Kind {
    pub const ALL: [Kind; 20] = [
        Kind::Message,
        Kind::ReplyCount,
        Kind::Updated,
        Kind::Deleted,
        Kind::Mention,
        Kind::Reaction,
        Kind::Pinned,
        Kind::Unpinned,
        Kind::ThreadStatus,
        Kind::Channel,
        Kind::Unread,
        Kind::Star,
        Kind::Webhook,
        Kind::Member,
        Kind::Role,
        Kind::Organisation,
        Kind::Published,
        Kind::Revocation,
        Kind::Departed,
        Kind::Reclaimed,
    ];

    /// `notification_type` of what is pushed; also the column `type` of the log. Empty for the bare message object, which
    /// has none.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Message => "",
            Kind::ReplyCount => "reply_count_change",
            Kind::Updated => "updated",
            Kind::Deleted => "deleted",
            Kind::Mention => "channel_mention",
            Kind::Reaction => "reaction_event",
            Kind::Pinned => "pinned_message_event",
            Kind::Unpinned => "unpinned_message_event",
            Kind::ThreadStatus => "status_update",
            Kind::Channel => "channel_update",
            Kind::Unread => "unread_thread_change",
            Kind::Star => "channel_star",
            Kind::Webhook => "webhook_update",
            Kind::Member => "member_update",
            Kind::Role => "role_update",
            Kind::Organisation => "organisation_update",
            Kind::Published => "published",
            Kind::Revocation => "revocation",
            Kind::Departed => "departed",
            Kind::Reclaimed => "reclaimed",
        }
    }

    /// `section` of what is pushed; none where the body is not an envelope of this server.
    pub const fn section(self, is_reply: bool) -> Option<&'static str> {
        match self {
            Kind::ReplyCount
            | Kind::Updated
            | Kind::Deleted
            | Kind::Mention
            | Kind::Reaction
            | Kind::Pinned
            | Kind::Unpinned
            | Kind::ThreadStatus => Some(if is_reply { "reply_message" } else { "thread_message" }),
            Kind::Channel | Kind::Unread | Kind::Star | Kind::Webhook | Kind::Member | Kind::Role | Kind::Organisation => {
                Some("channels_section")
            }
            Kind::Message | Kind::Published | Kind::Revocation | Kind::Departed | Kind::Reclaimed => None,
        }
    }

    /// How members of its channel who were away learn of it; none where it never goes to all members of a channel.
    pub const fn recovery(self) -> Option<Recovery> {
        match self {
            Kind::Message | Kind::ReplyCount | Kind::Updated | Kind::Deleted => Some(Recovery::UnreadState),
            Kind::Channel => Some(Recovery::ChannelState),
            Kind::Mention => Some(Recovery::Each),
            Kind::Reaction
            | Kind::Pinned
            | Kind::Unpinned
            | Kind::ThreadStatus
            | Kind::Unread
            | Kind::Star
            | Kind::Webhook
            | Kind::Member
            | Kind::Role
            | Kind::Organisation
            | Kind::Published
            | Kind::Revocation
            | Kind::Departed
            | Kind::Reclaimed => None,
        }
    }
}

impl rusqlite::types::FromSql for Kind {
    fn column_result(value: rusqlite::types::ValueRef<'_>) -> rusqlite::types::FromSqlResult<Self> {
        let name = value.as_str()?;
        Kind::ALL.into_iter().find(|kind| kind.name() == name).ok_or(rusqlite::types::FromSqlError::InvalidType)
    }
}

impl rusqlite::ToSql for Kind {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        Ok(self.name().into())
    }
}

/// A row of the event log.
#[derive(Clone, Debug)]
pub struct Event {
    /// The offset that the push protocol shows.
    pub seq: i64,
    pub stream: String,
    pub audience: Audience,
    pub kind: Kind,
    pub channel: Option<ChannelId>,
    pub actor: Option<UserId>,
    /// JSON: the message object, the other program's words, or the envelope without its `notification_id`; of what is never
    /// pushed the identifiers that it is about.
    pub body: String,
}

/// What happens once the transaction that caused it has committed, in commit order.
#[derive(Clone, Debug)]
pub enum Effect {
    /// A new row of the log is to be pushed.
    Publish(Event),
    /// A session was ended: its sockets close.
    SessionEnded { user: UserId, session: SessionId },
    /// An account's role or state changed: nothing remembered of it holds.
    AccountChanged(UserId),
    /// Some streams may no longer be these users' to hear.
    RightsChanged(Vec<UserId>),
    /// A row of this queue may be due.
    Queued(Queue),
    /// A webhook has something else to deliver, or was itself changed.
    DeliveriesChanged(WebhookId),
    /// Another process wrote to the database: nothing remembered holds.
    Foreign,
}

/// The queues of the background jobs, which are rows of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    Mails,
    /// What webhooks deliver, and rows of the log that they have not followed.
    Deliveries,
    /// What large changes leave to be done in slices.
    Chores,
    /// Texts that are not in the search index yet.
    Search,
    /// The log itself, on its way to an external Centrifugo.
    Forwarding,
}

impl Queue {
    pub const ALL: [Queue; 5] = [Queue::Mails, Queue::Deliveries, Queue::Chores, Queue::Search, Queue::Forwarding];

    /// Whether a commit with this effect may have left something to do here.
    pub fn is_fed_by(self, effect: &Effect) -> bool {
        match effect {
            Effect::Queued(queue) if *queue == self => true,
            Effect::Foreign => true,
            Effect::DeliveriesChanged(_) => self == Queue::Deliveries,
            Effect::Publish(event) => match event.kind {
                Kind::Message => matches!(self, Queue::Search | Queue::Deliveries | Queue::Forwarding),
                Kind::Deleted | Kind::Departed | Kind::Reclaimed => matches!(self, Queue::Deliveries | Queue::Forwarding),
                _ => self == Queue::Forwarding,
            },
            _ => self == Queue::Forwarding,
        }
    }
}
