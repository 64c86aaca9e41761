//! The consequences of a committed change: rows of the event log, and effects in memory.

use crate::id::{ChannelId, MessageId, OrganisationId, SessionId, UserId, WebhookId};

/// The name of a push channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    Channel(ChannelId),
    Thread(MessageId),
    Organisation(OrganisationId),
    /// The personal stream of a member of an organisation.
    Personal(OrganisationId, UserId),
    /// The stream of an account.
    Account(UserId),
}

impl std::fmt::Display for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stream::Channel(id) => id.fmt(f),
            Stream::Thread(id) => id.fmt(f),
            Stream::Organisation(id) => id.fmt(f),
            Stream::Personal(organisation, user) => write!(f, "{organisation}/{user}"),
            Stream::Account(id) => id.fmt(f),
        }
    }
}

/// The receivers of a row of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// The subscribers of the row's stream.
    Subscribers,
    /// Every member of the row's channel but the actor, each on their personal stream; of the thread, if the row's stream is a
    /// thread.
    Members,
    Both,
    /// Only consumers of the log inside this server. The row is no publication.
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

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident),+ $(,)?) => {
        /// The kind of an event. Each kind defines its name on the wire, its section, and how a member who was away learns of it.
        /// Live push, recovery, history, forwarding, the catalogue of events and the AsyncAPI document all read this definition.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Kind {
            $($(#[doc = $doc])+ $kind),+
        }

        impl Kind {
            pub const ALL: [Kind; [$(Kind::$kind),+].len()] = [$(Kind::$kind),+];

            /// What has happened, in words for users of the API: the kind's own documentation.
            pub const fn summary(self) -> &'static str {
                match self {
                    $(Kind::$kind => concat!($($doc),+).trim_ascii()),+
                }
            }
        }
    };
}

kinds!(
    /// A new post, a reply or a feed: the bare message object.
    Message,
    /// A thread has a new reply. The subscribers of its channel get the reply and the thread's counts.
    ReplyCount,
    /// The text of a message was edited.
    Updated,
    /// A file was taken out of a message.
    MediaUpdated,
    /// A message was deleted.
    Deleted,
    /// A message mentions the receiver, or everybody in its channel.
    Mention,
    /// A member has added a reaction to a message, or removed it.
    Reaction,
    /// A message was pinned.
    Pinned,
    /// A message is no longer pinned.
    Unpinned,
    /// A thread became pending or completed.
    ThreadStatus,
    /// A channel or its members have changed.
    Channel,
    /// The receiver's unread counts of a channel have changed.
    Unread,
    /// A thread that the receiver follows, or what they have not read of it, has changed; or they follow or leave it.
    ThreadUnread,
    /// The receiver has joined a channel, has left one, or is in a new one. `channel_update` tells it in full; existing clients load
    /// their list of channels anew by this.
    SidebarTrigger,
    /// The receiver has starred a channel, or taken the star off.
    Star,
    /// The receiver has muted a channel, or lets it call again.
    Mute,
    /// The server has stopped one of the receiver's webhooks, or another manager has taken it over.
    Webhook,
    /// A member of the organisation, or the member's role, has changed.
    Member,
    /// A role of the organisation has changed.
    Role,
    /// The organisation has changed, or was deleted.
    Organisation,
    /// The receiver has joined an organisation, or is no longer a member of it.
    Membership,
    /// Sessions of the receiver have ended.
    Session,
    /// The receiver's own profile or settings have changed.
    Profile,
    /// A reminder of the receiver's was made, has changed, is due, or was deleted.
    Reminder,
    /// A message notifies the receiver, by what they have chosen.
    Notification,
    /// The program of a command that the receiver has called answers, to the receiver alone.
    CommandAnswer,
    /// A publication of another program through the server API, with a body of its own.
    Published,
    /// The users in the body have lost rights. Never pushed.
    Revocation,
    /// The actor has left the organisation in the body, or is a bot whose owner has left it. Never pushed.
    Departed,
    /// The owner of the mailbox has taken over the account of the actor, or of the bot's owner, which another person may have used
    /// before. Never pushed.
    Reclaimed,
);

/// How a member of a channel who was away learns, on the personal stream, of an event that goes to all its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Every event, unchanged. It is stored with the audience [`Audience::Members`].
    Each,
    /// The channel's present unread state. `channels.message_seq` holds the seq of the last event that changed it.
    UnreadState,
    /// The channel's newest change. `channels.edit_seq` holds its seq.
    ChannelState,
    /// The thread's present unread state, for its members. `messages.last_seq` of its post holds the seq of the last event on the
    /// thread's stream.
    ThreadState,
}

impl Kind {
    /// The `notification_type` of the pushed envelope, and the column `type` of the log. Empty for the bare message object,
    /// which has no envelope.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Message => "",
            Kind::ReplyCount => "reply_count_change",
            Kind::Updated => "updated",
            Kind::MediaUpdated => "updated_media",
            Kind::Deleted => "deleted",
            Kind::Mention => "channel_mention",
            Kind::Reaction => "reaction_event",
            Kind::Pinned => "pinned_message_event",
            Kind::Unpinned => "unpinned_message_event",
            Kind::ThreadStatus => "status_update",
            Kind::Channel => "channel_update",
            Kind::Unread => "unread_thread_change",
            Kind::ThreadUnread => "thread_unread",
            Kind::SidebarTrigger => "trigger_notification",
            Kind::Star => "channel_star",
            Kind::Mute => "channel_mute",
            Kind::Webhook => "webhook_update",
            Kind::Member => "member_update",
            Kind::Role => "role_update",
            Kind::Organisation => "organisation_update",
            Kind::Membership => "membership_update",
            Kind::Session => "session_update",
            Kind::Profile => "profile_update",
            Kind::Reminder => "reminder_update",
            Kind::Notification => "notification",
            Kind::CommandAnswer => "command_answer",
            Kind::Published => "published",
            Kind::Revocation => "revocation",
            Kind::Departed => "departed",
            Kind::Reclaimed => "reclaimed",
        }
    }

    /// The `section` of the pushed envelope; `None` if the body is not an envelope.
    pub const fn envelope_section(self, is_reply: bool) -> Option<&'static str> {
        match self {
            Kind::Updated
            | Kind::MediaUpdated
            | Kind::Deleted
            | Kind::Mention
            | Kind::Reaction
            | Kind::Pinned
            | Kind::Unpinned
            | Kind::ThreadStatus => Some(if is_reply { "reply_message" } else { "thread_message" }),
            Kind::ReplyCount
            | Kind::Channel
            | Kind::Unread
            | Kind::SidebarTrigger
            | Kind::Star
            | Kind::Mute
            | Kind::Webhook
            | Kind::Member
            | Kind::Role
            | Kind::Organisation => Some("channels_section"),
            Kind::Membership | Kind::Session | Kind::Profile | Kind::Reminder | Kind::Notification => Some("account_section"),
            Kind::ThreadUnread | Kind::CommandAnswer => Some("thread_message"),
            Kind::Message | Kind::Published | Kind::Revocation | Kind::Departed | Kind::Reclaimed => None,
        }
    }

    /// How members who were away learn of the event: those of its channel, or of its thread for an event on the stream of a
    /// thread. `None` if it never goes to all of them.
    pub const fn recovery_method(self, in_thread: bool) -> Option<Recovery> {
        match self {
            Kind::Message | Kind::Deleted if in_thread => Some(Recovery::ThreadState),
            _ if in_thread => None,
            Kind::Message | Kind::ReplyCount | Kind::Updated | Kind::Deleted => Some(Recovery::UnreadState),
            Kind::Channel => Some(Recovery::ChannelState),
            Kind::Mention | Kind::SidebarTrigger => Some(Recovery::Each),
            Kind::MediaUpdated
            | Kind::Reaction
            | Kind::Pinned
            | Kind::Unpinned
            | Kind::ThreadStatus
            | Kind::Unread
            | Kind::ThreadUnread
            | Kind::Star
            | Kind::Mute
            | Kind::Webhook
            | Kind::Member
            | Kind::Role
            | Kind::Organisation
            | Kind::Membership
            | Kind::Session
            | Kind::Profile
            | Kind::Reminder
            | Kind::Notification
            | Kind::CommandAnswer
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
    /// The position in the log, which is the offset in the push protocol.
    pub seq: i64,
    pub stream: String,
    pub audience: Audience,
    pub kind: Kind,
    pub channel: Option<ChannelId>,
    /// The `n` of the message that the event is about.
    pub message: Option<i64>,
    pub actor: Option<UserId>,
    /// JSON: the message object, another program's body, or the envelope without its `notification_id`. For a kind that is
    /// never pushed, the identifiers that the event is about. The log doesn't store the object of a new message: where such
    /// a row was read, this is empty.
    pub body: String,
}

impl Event {
    /// How members in the event's audience who were away learn of it; see [`Kind::recovery_method`].
    pub fn recovery_method(&self) -> Option<Recovery> {
        let in_thread = self.channel.is_some_and(|channel| channel.to_string() != self.stream);
        self.kind.recovery_method(in_thread)
    }
}

/// An effect of a transaction, which the server applies after the commit, in commit order.
#[derive(Debug)]
pub enum Effect {
    /// The log has a new row to push.
    Publish(Event),
    /// A session has ended, so its sockets are closed.
    SessionEnded { user: UserId, session: SessionId },
    /// The role or state of an account has changed, so caches drop what they have of it.
    AccountChanged(UserId),
    /// The profile of an account has changed.
    ProfileChanged,
    /// These users may have lost the right to some streams, or gained it.
    RightsChanged(Vec<UserId>),
    /// A row of the queue may be due.
    Queued(Queue),
    /// A webhook or its queue of deliveries has changed.
    DeliveriesChanged(WebhookId),
    /// Another process has written to the database, so caches drop everything.
    Foreign,
}

/// The queues of the background jobs, which are rows of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    Mails,
    /// Due deliveries, and rows of the log that webhooks haven't followed yet.
    Deliveries,
    /// Work that large changes leave for later, done in slices.
    DeferredWork,
    /// Messages that are not in the search index yet.
    Search,
    /// Rows of the log that an external Centrifugo doesn't have yet.
    Forwarding,
    /// What happens at a time that users have chosen.
    Timers,
    /// Files that have ended, whose bytes are to be removed.
    Files,
    /// Rows of the log whose messages nobody was notified of yet.
    Notifications,
}

impl Queue {
    pub const ALL: [Queue; 8] = [
        Queue::Mails,
        Queue::Deliveries,
        Queue::DeferredWork,
        Queue::Search,
        Queue::Forwarding,
        Queue::Timers,
        Queue::Files,
        Queue::Notifications,
    ];

    /// The queues that a commit with these effects may have added to.
    pub fn fed_by(effects: &[Effect]) -> Vec<Queue> {
        Queue::ALL.into_iter().filter(|queue| effects.iter().any(|effect| queue.is_fed_by(effect))).collect()
    }

    fn is_fed_by(self, effect: &Effect) -> bool {
        match effect {
            Effect::Queued(queue) if *queue == self => true,
            Effect::Foreign => true,
            Effect::DeliveriesChanged(_) => self == Queue::Deliveries,
            Effect::Publish(event) => match event.kind {
                Kind::Message => matches!(self, Queue::Search | Queue::Deliveries | Queue::Notifications | Queue::Forwarding),
                Kind::Mention => matches!(self, Queue::Notifications | Queue::Forwarding),
                Kind::Updated
                | Kind::MediaUpdated
                | Kind::Deleted
                | Kind::Reaction
                | Kind::Channel
                | Kind::Departed
                | Kind::Reclaimed => matches!(self, Queue::Deliveries | Queue::Forwarding),
                _ => self == Queue::Forwarding,
            },
            _ => self == Queue::Forwarding,
        }
    }
}
