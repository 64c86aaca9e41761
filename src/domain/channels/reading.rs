//! Read marks and unread counts. Unread posts are the channel's counter minus the member's mark, so that a post needs no
//! write for each member.

use rusqlite::{Connection, OptionalExtension, Row};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    db::{Columns, Tx},
    domain::{
        access::{self, Caller, ENTITLED},
        log::{envelope::envelope, events},
    },
    error::{Error, Result},
    event::Kind,
    id::{ChannelId, MessageId, OrganisationId, UserId},
    time::Time,
};

/// A member's unread top-level posts and mentions in a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub threads: i64,
    pub mentions: i64,
}

impl Counts {
    /// Takes [`COUNTS`].
    pub(in crate::domain) fn take(columns: &mut Columns) -> rusqlite::Result<Counts> {
        Ok(Counts { threads: columns.take()?, mentions: columns.take()? })
    }
}

/// SQL columns that compute the [`Counts`] of `channel_members cm` in `channels c`.
pub(in crate::domain) const COUNTS: &str = "c.thread_count - cm.read_thread_count, c.mention_count - cm.read_mention_count
    + (select count(*) from mentions x where x.channel_id = c.id and x.user_id = cm.user_id and x.n > cm.read_n)";

/// The unread counts of a member in a channel.
pub fn counts(conn: &Connection, channel: ChannelId, user: UserId) -> Result<Counts> {
    let sql = format!(
        "select {COUNTS} from channel_members cm join channels c on c.id = cm.channel_id where cm.channel_id = ?1 and cm.user_id = ?2"
    );
    Ok(conn.prepare_cached(&sql)?.query_row((channel, user), |row| Counts::take(&mut Columns::of(row)))?)
}

/// Moves the caller's read mark forward to a message, or past all messages, and returns what is left unread. Needs
/// membership of the channel. Pushes new counts to the caller's own devices. 404 for a channel that the caller can't see,
/// and for a message that is not in it; 403 if they are not in the channel.
///
/// One call passes at most 2,000 posts. It returns `None` if the mark has not reached the message: call again to go on.
pub fn mark(tx: &mut Tx, caller: Caller, channel: ChannelId, last: Option<MessageId>) -> Result<Option<Counts>> {
    access::is_in_channel(tx, caller, channel, access::UNKNOWN_CHANNEL)?;
    let before = counts(tx, channel, caller.user)?;
    let has_arrived = match last {
        None => mark_all(tx, caller.user, channel).map(|()| true)?,
        Some(last) => mark_up_to(tx, caller.user, channel, last)?,
    };
    let after = counts(tx, channel, caller.user)?;
    if after != before {
        announce(tx, caller.user, channel, after)?;
    }
    Ok(has_arrived.then_some(after))
}

/// Pushes a member's unread counts to their own devices.
pub fn announce(tx: &mut Tx, user: UserId, channel: ChannelId, counts: Counts) -> Result<()> {
    let notice = Notice::find(tx, channel)?;
    events::tell_member(tx, notice.organisation, user, Kind::Unread, channel, notice.change(counts))
}

/// Moves a member's read mark past all messages of the channel. Posting does this, too.
pub fn mark_all(tx: &Tx, user: UserId, channel: ChannelId) -> Result<()> {
    tx.prepare_cached(
        "update channel_members set (read_n, read_thread_count, read_mention_count) =
           (select last_n, thread_count, mention_count from channels where id = ?1)
         where channel_id = ?1 and user_id = ?2",
    )?
    .execute((channel, user))?;
    Ok(())
}

/// Top-level posts that a mark passes in one write.
const PASSED: i64 = 2000;

/// Moves the mark forward by at most [`PASSED`] posts; returns whether it has reached `last`.
fn mark_up_to(tx: &Tx, user: UserId, channel: ChannelId, last: MessageId) -> Result<bool> {
    // Only messages that the mark passes are counted: each message once per member, however often they mark.
    let arrived = tx
        .prepare_cached(
            "with goal as materialized (
               select min(m.n, coalesce((select passed.n from messages passed
                 where passed.channel_id = ?1 and passed.root is null and passed.n > own.read_n
                 order by passed.n limit 1 offset ?4), m.n)) as n
               from messages m join channel_members own on own.channel_id = ?1 and own.user_id = ?2
               where m.channel_id = ?1 and m.id = ?3)
             update channel_members set
               read_thread_count = read_thread_count + (select count(*) from messages passed
                 where passed.channel_id = ?1 and passed.root is null and passed.n > read_n and passed.n <= goal.n
                   and passed.deleted_at is null),
               read_mention_count = read_mention_count + (select count(*) from channel_mentions passed
                 where passed.channel_id = ?1 and passed.n > read_n and passed.n <= goal.n),
               read_n = max(read_n, goal.n)
             from goal where channel_id = ?1 and user_id = ?2
             returning read_n >= (select m.n from messages m where m.id = ?3)",
        )?
        .query_row((channel, user, last, PASSED - 1), |row| row.get(0))
        .optional()?;
    arrived.ok_or(Error::NotFound("Message"))
}

/// A channel with a member's unread counts.
#[derive(Clone, Serialize, JsonSchema)]
pub struct UnreadChange {
    /// The channel's name.
    name: String,
    /// The channel's description.
    description: String,
    /// The channel.
    channels_id: ChannelId,
    /// The channel's organisation.
    organisation_id: OrganisationId,
    /// The user who owns the channel.
    owner_id: UserId,
    /// The channel's topic.
    topic: String,
    /// Whether the channel is archived.
    archived: bool,
    /// Whether only its members may see the channel.
    is_private: bool,
    /// Whether the receiver is in the channel: always true, as only members receive the event.
    access: bool,
    /// When the channel was created.
    created_at: Time,
    /// `0001-01-01T00:00:00Z` unless the channel is deleted.
    deleted_at: Time,
    /// The channel's newest top-level post; empty if there is none.
    last_thread_id: String,
    /// When the channel's newest message was written; `0001-01-01T00:00:00Z` if there is none.
    last_message_at: Time,
    // The counts come last; see [`Notice::template`].
    /// The number of the receiver's unread top-level posts.
    thread_count: i64,
    /// The number of the receiver's unread mentions.
    mention_count: i64,
}

/// The part of `unread_thread_change` that all members of a channel share.
pub struct Notice {
    pub organisation: OrganisationId,
    /// The number of the channel's members.
    pub members: i64,
    /// Without counts.
    data: UnreadChange,
}

impl Notice {
    pub fn find(conn: &Connection, channel: ChannelId) -> Result<Notice> {
        let notice = conn
            .prepare_cached(
                "select c.name, c.description, c.organisation_id, c.owner_id, c.topic, c.archived_at is not null, c.is_private,
                   c.created_at, c.deleted_at, t.id, c.last_message_at, c.user_count
                 from channels c left join messages t on t.n = c.last_thread where c.id = ?1",
            )?
            .query_row([channel], |row| {
                let organisation = row.get(2)?;
                let data = UnreadChange {
                    name: row.get(0)?,
                    description: row.get(1)?,
                    channels_id: channel,
                    organisation_id: organisation,
                    owner_id: row.get(3)?,
                    topic: row.get(4)?,
                    archived: row.get(5)?,
                    is_private: row.get(6)?,
                    access: true,
                    created_at: row.get(7)?,
                    deleted_at: row.get::<_, Option<Time>>(8)?.unwrap_or(Time::NEVER),
                    last_thread_id: row.get::<_, Option<MessageId>>(9)?.map_or_else(String::new, |id| id.to_string()),
                    last_message_at: row.get::<_, Option<Time>>(10)?.unwrap_or(Time::NEVER),
                    thread_count: 0,
                    mention_count: 0,
                };
                Ok(Notice { organisation, members: row.get(11)?, data })
            })?;
        Ok(notice)
    }

    /// The data of the publication for a member with these counts.
    fn change(&self, counts: Counts) -> UnreadChange {
        UnreadChange { thread_count: counts.threads, mention_count: counts.mentions, ..self.data.clone() }
    }

    /// The body of the publication for a member with these counts.
    pub fn body(&self, counts: Counts) -> Result<String> {
        serde_json::to_string(&envelope(Kind::Unread, false, self.change(counts))).map_err(Error::internal)
    }

    /// The text of [`Notice::body`] up to the counts. It is built once for all members.
    pub fn template(&self) -> Result<Template> {
        let body = self.body(Counts::default())?;
        let head = body.strip_suffix(&Template::tail(Counts::default())).map(str::to_owned);
        head.map(Template).ok_or_else(|| Error::internal("the counts are the last fields"))
    }
}

pub struct Template(String);

impl Template {
    pub fn body(&self, counts: Counts) -> String {
        self.0.clone() + &Template::tail(counts)
    }

    fn tail(counts: Counts) -> String {
        format!(r#""thread_count":{},"mention_count":{}}}}}"#, counts.threads, counts.mentions)
    }
}

/// The unread counts of the channel's members, without deactivated ones.
pub fn members(conn: &Connection, channel: ChannelId) -> Result<Vec<(UserId, Counts)>> {
    let mut select = conn.prepare_cached(&members_where(""))?;
    Ok(select.query_map([channel], member)?.collect::<rusqlite::Result<_>>()?)
}

/// [`members`], of these users only.
pub fn members_among(conn: &Connection, channel: ChannelId, users: &[UserId]) -> Result<Vec<(UserId, Counts)>> {
    let mut select = conn.prepare_cached(&members_where("and cm.user_id = ?2"))?;
    let mut found = Vec::new();
    for user in users {
        found.extend(select.query_row((channel, user), member).optional()?);
    }
    Ok(found)
}

fn members_where(condition: &str) -> String {
    // `cross join` fixes the order of joins: it starts at the channel's few members, not at all of the organisation's.
    format!(
        "select cm.user_id, {COUNTS} from channel_members cm
           cross join channels c on c.id = cm.channel_id
           cross join organisation_members m on m.organisation_id = c.organisation_id and m.user_id = cm.user_id
         where cm.channel_id = ?1 and {ENTITLED} {condition}"
    )
}

fn member(row: &Row) -> rusqlite::Result<(UserId, Counts)> {
    let mut columns = Columns::of(row);
    Ok((columns.take()?, Counts::take(&mut columns)?))
}
