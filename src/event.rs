//! What a committed change sets off, as plain data: rows of the event log, and effects in memory.

use crate::id::{ChannelId, MessageId, OrganisationId, SessionId, UserId};

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
    /// A revocation: whom its body names must prove their rights again. No publication.
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

/// A row of the event log.
#[derive(Clone, Debug)]
pub struct Event {
    /// The offset that the push protocol shows.
    pub seq: i64,
    pub stream: String,
    pub audience: Audience,
    /// `notification_type`; empty for a bare message object, `published` for another program's words.
    pub kind: String,
    pub channel: Option<ChannelId>,
    pub actor: Option<UserId>,
    /// JSON: the message object, the other program's words, the envelope without its `notification_id`, or of a
    /// revocation the users' ids.
    pub body: String,
}

impl Event {
    /// A new post or reply, bare.
    pub fn is_message(&self) -> bool {
        self.kind.is_empty()
    }
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
    /// A mail is due.
    MailQueued,
    /// Work is left to the jobs.
    ChoreLeft,
    /// A delivery of a webhook may be due.
    DeliveryQueued,
    /// An edited text waits for its place in the search index.
    TextEdited,
    /// Another process wrote to the database: nothing remembered holds.
    Foreign,
}
