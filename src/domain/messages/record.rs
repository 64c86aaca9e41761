//! The record of a message, and the queries that read it.

use rusqlite::{Connection, OptionalExtension, Row};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::{
    db::Columns,
    domain::{
        accounts,
        files::Media,
        messages::{action_buttons::Actions, mentions::Mention},
    },
    error::{Code, Error, Result},
    id::{ChannelId, MessageId, OrganisationId, UserId},
    time::Time,
};

/// The `type` of messages that programs feed.
pub(in crate::domain) const FED: &str = "thread";
/// The `current_status` of a new message.
pub(in crate::domain) const PENDING: &str = "pending";

#[derive(Clone, Debug)]
pub struct Message {
    /// Position of the message in the order of all messages.
    pub n: i64,
    pub id: MessageId,
    pub channel: ChannelId,
    /// The channel's organisation.
    pub organisation: OrganisationId,
    /// Identifier of the thread's top-level post: the message's own, unless it is a reply.
    pub thread: MessageId,
    pub is_reply: bool,
    /// The author; none for a feed without a bearer.
    pub user: Option<UserId>,
    /// The author's name in the channel, or the name that a feed gave.
    pub username: String,
    pub author: Profile,
    pub content: String,
    pub mentions: Vec<Mention>,
    pub kind: String,
    pub event_name: String,
    pub action_type: String,
    pub status: String,
    pub current_status: String,
    pub reply_count: i64,
    pub last_reply_at: Option<Time>,
    /// The number of members who have replied.
    pub participant_count: i64,
    /// The first of them; empty until [`super::participants::attach`] has read them.
    pub participants: Vec<Participant>,
    pub created_at: Time,
    pub updated_at: Time,
    pub is_edited: bool,
    pub deleted_at: Option<Time>,
    pub is_pinned: bool,
    /// Who pinned the message; none if it isn't pinned, or if nobody knows who did.
    pub pin: Option<Pin>,
    /// Reactions to the message; empty until [`super::reactions::attach`] has read them.
    pub reactions: Vec<Reaction>,
    /// What can be clicked; none for a person's message.
    pub actions: Option<Actions>,
    /// The files that it shows, in this order.
    pub media: Vec<Media>,
}

impl Message {
    /// A top-level post of this time without author and text, of the kind that members write.
    pub(in crate::domain) fn new(id: MessageId, channel: ChannelId, organisation: OrganisationId, now: Time) -> Message {
        Message {
            n: 0,
            id,
            channel,
            organisation,
            thread: id,
            is_reply: false,
            user: None,
            username: String::new(),
            author: Profile::default(),
            content: String::new(),
            mentions: Vec::new(),
            kind: "message".into(),
            event_name: String::new(),
            action_type: String::new(),
            status: "success".into(),
            current_status: PENDING.into(),
            reply_count: 0,
            last_reply_at: None,
            participant_count: 0,
            participants: Vec::new(),
            created_at: now,
            updated_at: now,
            is_edited: false,
            deleted_at: None,
            is_pinned: false,
            pin: None,
            reactions: Vec::new(),
            actions: None,
            media: Vec::new(),
        }
    }

    /// The message as written by a member, whose profile it shows.
    pub(in crate::domain) fn by(self, user: UserId, author: Profile) -> Message {
        Message { user: Some(user), author, ..self }
    }

    /// The id of the author's account; empty for a feed without a bearer.
    pub fn author_id(&self) -> String {
        self.user.map_or_else(String::new, |user| user.to_string())
    }

    /// Who wrote the message: a person (`user`), a `bot`, or a program through a `webhook`.
    pub fn user_type(&self) -> &'static str {
        if self.kind == FED { "webhook" } else { accounts::user_type(self.author.is_bot) }
    }
}

/// Fields of the author's account that a message shows; of a feed without a bearer the picture alone.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    pub full_name: String,
    pub email: String,
    pub avatar_url: String,
    pub is_bot: bool,
}

impl Profile {
    pub fn find(conn: &Connection, user: UserId) -> Result<Profile> {
        let sql = "select first_name, last_name, email, avatar_url, is_bot from users where id = ?1";
        Ok(conn.prepare_cached(sql)?.query_row([user], |row| Profile::take(&mut Columns::of_row(row)))?)
    }

    /// Takes `first_name`, `last_name`, `email`, `avatar_url` and `is_bot` of `users`.
    pub fn take(columns: &mut Columns) -> rusqlite::Result<Profile> {
        Ok(Profile {
            full_name: accounts::join_names(&columns.take::<String>()?, &columns.take::<String>()?),
            email: columns.take()?,
            avatar_url: columns.take()?,
            is_bot: columns.take()?,
        })
    }
}

/// Who pinned a message, and when.
#[derive(Clone, Debug)]
pub struct Pin {
    pub user: UserId,
    /// The name in the channel; the account's for somebody who has left the channel.
    pub username: String,
    pub email: String,
    pub at: Time,
}

/// A member who has replied in a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ThreadParticipant")]
pub struct Participant {
    pub user_id: UserId,
    /// The member's name in the channel; the account's for somebody who has left it.
    pub username: String,
    /// The member's full name.
    pub full_name: String,
    /// The address of the member's picture; empty if there is none.
    pub avatar_url: String,
    /// Whether the member is a person or a bot.
    #[schemars(extend("enum" = ["user", "bot"]))]
    pub user_type: &'static str,
}

/// An emoji that users gave to a message.
#[derive(Clone, Debug)]
pub struct Reaction {
    pub emoji: String,
    pub count: i64,
    /// The first users who gave the emoji, in the order in which they did.
    pub users: Vec<UserId>,
}

/// The error for a missing message in a channel that the caller sees.
pub const UNKNOWN: Error = Error::NotFound(Code::MessageNotFound);
/// The error for a missing thread in a channel that the caller sees.
pub const UNKNOWN_THREAD: Error = Error::NotFound(Code::ThreadNotFound);

pub fn find(conn: &Connection, id: MessageId) -> Result<Option<Message>> {
    Ok(conn.prepare_cached(&format!("{SELECT} where m.id = ?1"))?.query_row([id], from_row).optional()?)
}

/// Reads the messages with these `n`, in ascending order.
pub fn find_all(conn: &Connection, ns: &[i64]) -> Result<Vec<Message>> {
    let sql = format!("{SELECT} where m.n in (select value from json_each(?1)) order by m.n");
    Ok(conn.prepare_cached(&sql)?.query_map([json!(ns).to_string()], from_row)?.collect::<rusqlite::Result<_>>()?)
}

/// Finds a message of the channel that is not deleted; 404 otherwise.
pub fn find_live(conn: &Connection, channel: ChannelId, id: MessageId) -> Result<Message> {
    find(conn, id)?.filter(|message| message.channel == channel && message.deleted_at.is_none()).ok_or(UNKNOWN)
}

/// Finds the `n` of a live top-level post of the channel.
pub fn find_root(conn: &Connection, channel: ChannelId, thread: MessageId) -> Result<Option<i64>> {
    Ok(conn
        .prepare_cached("select n from messages where id = ?1 and channel_id = ?2 and root is null and deleted_at is null")?
        .query_row((thread, channel), |row| row.get(0))
        .optional()?)
}

/// Whether the message is a thread that is not deleted, or still has replies.
pub fn stays_listed(message: &Message) -> bool {
    !message.is_reply && (message.deleted_at.is_none() || message.reply_count > 0)
}

pub(super) fn to_json(mentions: &[Mention]) -> Result<String> {
    serde_json::to_string(mentions).map_err(Error::internal)
}

/// Selects messages. [`from_row`] takes the columns in this order.
pub(super) const SELECT: &str =
    "select m.n, m.id, m.channel_id, c.organisation_id, coalesce(r.id, m.id), m.root is not null, m.user_id, m.username,
      coalesce(u.first_name, ''), coalesce(u.last_name, ''), coalesce(u.email, ''), coalesce(u.avatar_url, m.avatar_url), coalesce(u.is_bot, 0),
      m.content, m.mentions, m.type, m.event_name, m.action_type, m.status, m.current_status, m.reply_count, m.last_reply_at,
      m.participant_count, m.created_at, m.updated_at, m.edited_at is not null, m.deleted_at, m.actions,
      m.media, iif(m.media is null, '', coalesce((select value from meta where key = 'base_url'), '')), m.pinned_at is not null,
      m.pinned_by, coalesce(pm.username, p.username), p.email, m.pinned_at
    from messages m left join channels c on c.id = m.channel_id left join users u on u.id = m.user_id
      left join messages r on r.n = m.root
      left join users p on p.id = m.pinned_by
      left join channel_members pm on pm.channel_id = m.channel_id and pm.user_id = m.pinned_by";

pub(super) fn from_row(row: &Row) -> rusqlite::Result<Message> {
    let mut columns = Columns::of_row(row);
    Ok(Message {
        n: columns.take()?,
        id: columns.take()?,
        channel: columns.take()?,
        organisation: columns.take()?,
        thread: columns.take()?,
        is_reply: columns.take()?,
        user: columns.take()?,
        username: columns.take()?,
        author: Profile::take(&mut columns)?,
        content: columns.take()?,
        mentions: mentions(&columns.take::<String>()?),
        kind: columns.take()?,
        event_name: columns.take()?,
        action_type: columns.take()?,
        status: columns.take()?,
        current_status: columns.take()?,
        reply_count: columns.take()?,
        last_reply_at: columns.take()?,
        participant_count: columns.take()?,
        participants: Vec::new(),
        created_at: columns.take()?,
        updated_at: columns.take()?,
        is_edited: columns.take()?,
        deleted_at: columns.take()?,
        actions: Actions::of(columns.take::<Option<String>>()?.as_deref()),
        media: media(&mut columns)?,
        is_pinned: columns.take()?,
        pin: pin(&mut columns)?,
        reactions: Vec::new(),
    })
}

fn media(columns: &mut Columns) -> rusqlite::Result<Vec<Media>> {
    let (kept, base_url): (Option<String>, String) = (columns.take()?, columns.take()?);
    Ok(Media::of_column(kept.as_deref(), &base_url))
}

fn pin(columns: &mut Columns) -> rusqlite::Result<Option<Pin>> {
    let Some(user) = columns.take()? else { return Ok(None) };
    Ok(Some(Pin { user, username: columns.take()?, email: columns.take()?, at: columns.take()? }))
}

pub(in crate::domain) fn mentions(stored: &str) -> Vec<Mention> {
    if stored == "[]" { Vec::new() } else { serde_json::from_str(stored).unwrap_or_default() }
}
