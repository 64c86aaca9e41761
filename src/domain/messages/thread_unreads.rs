//! Read marks of threads. As in channels, what is unread is the thread's counter minus the member's mark, so that a reply needs
//! no write for each member.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Row};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::{
    db::{Columns, Tx},
    domain::{
        access::{self, Caller, ENTITLED},
        channels::{
            marks::{self, Goal, Over, Step},
            unread_counts,
        },
        log::{events, publication_envelope::envelope},
        messages::{
            participants,
            record::{self, Participant, UNKNOWN, UNKNOWN_THREAD},
            thread_members,
        },
    },
    error::{Error, Result},
    event::{Kind, Stream},
    id::{ChannelId, MessageId, OrganisationId, UserId},
    time::Time,
};

/// A member's unread replies in a thread. Whoever doesn't follow it has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    pub replies: i64,
    /// Unread replies that mention the member by name.
    pub mentions: i64,
    /// The newest live reply that the member has read.
    pub last_read: Option<MessageId>,
    pub is_followed: bool,
}

impl Unread {
    /// Takes [`UNREAD`].
    pub(in crate::domain) fn take(columns: &mut Columns) -> rusqlite::Result<Unread> {
        Ok(Unread {
            replies: columns.take()?,
            mentions: columns.take()?,
            last_read: columns.take()?,
            is_followed: columns.take()?,
        })
    }

    /// [`Unread::last_read`] as answers and publications show it: empty if there is none.
    pub fn last_read_id(self) -> String {
        self.last_read.map_or_else(String::new, |id| id.to_string())
    }
}

/// SQL columns that compute the [`Unread`] of `thread_members t` in the thread of `messages r`.
pub(in crate::domain) const UNREAD: &str = "iif(t.is_followed, r.reply_count - t.read_reply_count, 0), t.mention_count,
    (select b.id from messages b where b.root = t.root and b.n <= t.read_n and b.deleted_at is null order by b.n desc limit 1),
    t.is_followed";

/// The `n` of a thread's post.
pub fn root_number(conn: &Connection, thread: MessageId) -> Result<i64> {
    Ok(conn.prepare_cached("select n from messages where id = ?1")?.query_row([thread], |row| row.get(0))?)
}

/// The threads of a channel that a user follows, with an event on their stream after the seq `after` and before `before`;
/// its `n`, and the last seq of its stream. At most `limit`, the earliest first or the latest.
pub fn find_changed(
    conn: &Connection,
    (channel, user): (ChannelId, UserId),
    (after, before): (i64, i64),
    latest_first: bool,
    limit: u32,
) -> Result<Vec<(i64, i64)>> {
    let order = if latest_first { "desc" } else { "asc" };
    let sql = format!(
        "select r.n, r.last_seq from messages r cross join thread_members t on t.root = r.n and t.user_id = ?2 and t.is_followed
         where r.channel_id = ?1 and r.root is null and r.last_seq <> 0 and r.last_seq > ?3 and r.last_seq < ?4 order by r.last_seq {order} limit ?5"
    );
    let mut select = conn.prepare_cached(&sql)?;
    let changed = select.query_map((channel, user, after, before, limit), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(changed.collect::<rusqlite::Result<_>>()?)
}

/// A user's unread part of a thread; none if they take no part in it.
pub fn find_in_thread(conn: &Connection, root: i64, user: UserId) -> Result<Option<Unread>> {
    let sql = format!(
        "select {UNREAD} from thread_members t cross join messages r on r.n = t.root where t.root = ?1 and t.user_id = ?2"
    );
    let from_row = |row: &Row| Unread::take(&mut Columns::of_row(row));
    Ok(conn.prepare_cached(&sql)?.query_row((root, user), from_row).optional()?)
}

/// A user's unread part of each of the threads with these `n` that they take part in.
pub fn find_by_roots(conn: &Connection, user: UserId, roots: &[i64]) -> Result<HashMap<i64, Unread>> {
    let sql = format!(
        "select t.root, {UNREAD} from json_each(?1) listed
           cross join thread_members t on t.root = listed.value and t.user_id = ?2
           cross join messages r on r.n = t.root"
    );
    let from_row = |row: &Row| {
        let mut columns = Columns::of_row(row);
        Ok((columns.take()?, Unread::take(&mut columns)?))
    };
    Ok(conn.prepare_cached(&sql)?.query_map((json!(roots).to_string(), user), from_row)?.collect::<rusqlite::Result<_>>()?)
}

/// The members of a thread who follow it and are in its channel, without deactivated ones.
pub fn members(conn: &Connection, root: i64) -> Result<Vec<(UserId, Unread)>> {
    let sql = format!(
        "select t.user_id, {UNREAD} from thread_members t
           cross join messages r on r.n = t.root
           cross join channels c on c.id = t.channel_id
           cross join channel_members cm on cm.channel_id = t.channel_id and cm.user_id = t.user_id
           cross join organisation_members m on m.organisation_id = c.organisation_id and m.user_id = t.user_id
         where t.root = ?1 and t.is_followed and {ENTITLED}"
    );
    let from_row = |row: &Row| {
        let mut columns = Columns::of_row(row);
        Ok((columns.take()?, Unread::take(&mut columns)?))
    };
    Ok(conn.prepare_cached(&sql)?.query_map([root], from_row)?.collect::<rusqlite::Result<_>>()?)
}

/// Moves the caller's read mark in a thread, and returns what is left unread. For members of its channel. Whoever marks a thread
/// unread follows it from then on; reading one without following it changes nothing. Pushes new counts, and those of the
/// channel if they change, to the caller's own devices. 404 for an unknown thread or message and in a hidden channel, 403 in a
/// channel that the caller is not in.
///
/// It returns `None` if the mark has not reached its goal: call again to go on.
pub fn mark(tx: &mut Tx, caller: Caller, thread: MessageId, goal: Goal) -> Result<Option<Unread>> {
    let root = record::find(tx, thread)?.filter(record::stays_listed).ok_or(UNKNOWN_THREAD)?;
    access::require_channel_member(tx, caller, root.channel, UNKNOWN_THREAD)?;
    let of = match goal {
        Goal::End => None,
        Goal::Read(id) | Goal::Unread(id) => Some(place(tx, root.n, id)?.ok_or(UNKNOWN)?),
    };
    let is_new = matches!(goal, Goal::Unread(_))
        && (thread_members::come_back(tx, root.n, root.channel, caller.user)?.is_some()
            || thread_members::join_at_end(tx, root.n, root.channel, caller.user)?);
    let before = find_in_thread(tx, root.n, caller.user)?.unwrap_or_default();
    if !before.is_followed {
        return Ok(Some(before));
    }
    let has_arrived = match of {
        None => mark_all(tx, root.n, caller.user).map(|()| true)?,
        Some(of) => step_to(tx, root.n, caller.user, |from| goal.n(from, of))?,
    };
    let after = find_in_thread(tx, root.n, caller.user)?.unwrap_or_default();
    // A new member may have nothing unread: what followed may be deleted.
    if is_new || after != before {
        announce(tx, caller.user, thread)?;
    }
    if after.mentions != before.mentions {
        unread_counts::push_counts(tx, caller.user, root.channel, unread_counts::counts(tx, root.channel, caller.user)?)?;
    }
    Ok(has_arrived.then_some(after))
}

/// Lets the caller follow a thread or leave it, in both cases with nothing unread. For members of its channel. Pushes the change
/// to the caller's own devices, with the channel's counts if these change. 404 for an unknown thread and in a hidden channel, 403
/// in a channel that the caller is not in.
pub fn follow(tx: &mut Tx, caller: Caller, thread: MessageId, is_followed: bool) -> Result<()> {
    let root = record::find(tx, thread)?.filter(record::stays_listed).ok_or(UNKNOWN_THREAD)?;
    access::require_channel_member(tx, caller, root.channel, UNKNOWN_THREAD)?;
    let before = find_in_thread(tx, root.n, caller.user)?.unwrap_or_default();
    if !thread_members::set_followed(tx, root.n, root.channel, caller.user, is_followed)? {
        return Ok(());
    }
    announce(tx, caller.user, thread)?;
    if before.mentions > 0 {
        unread_counts::push_counts(tx, caller.user, root.channel, unread_counts::counts(tx, root.channel, caller.user)?)?;
    }
    Ok(())
}

/// The `n` of a message of the thread: its post or one of its replies.
fn place(conn: &Connection, root: i64, id: MessageId) -> Result<Option<i64>> {
    Ok(conn
        .prepare_cached("select n from messages where id = ?1 and (n = ?2 or root = ?2)")?
        .query_row((id, root), |row| row.get(0))
        .optional()?)
}

fn mark_all(tx: &Tx, root: i64, user: UserId) -> Result<()> {
    tx.prepare_cached(
        "update thread_members set (read_n, read_reply_count) = (select max(active_n, read_n), reply_count from messages where n = ?1),
           mention_count = 0
         where root = ?1 and user_id = ?2",
    )?
    .execute((root, user))?;
    Ok(())
}

/// Moves a member's mark by one step towards the `n` that `to` gives for where it stands; returns whether it has arrived.
pub(in crate::domain) fn step_to(tx: &Tx, root: i64, user: UserId, to: impl FnOnce(i64) -> i64) -> Result<bool> {
    let from: i64 = tx
        .prepare_cached("select read_n from thread_members where root = ?1 and user_id = ?2")?
        .query_row((root, user), |row| row.get(0))?;
    let Step { n, live, has_arrived } = marks::step(tx, Over::Replies(root), from, to(from))?;
    tx.prepare_cached(
        "update thread_members set read_n = ?3, read_reply_count = read_reply_count + ?4 where root = ?1 and user_id = ?2",
    )?
    .execute((root, user, n, live))?;
    count_mentions(tx, root, user)?;
    Ok(has_arrived)
}

/// Puts a member's mark behind this reply, or before all of them: for imports, which count all that follows.
pub(in crate::domain) fn put(tx: &Tx, root: i64, user: UserId, last: Option<MessageId>) -> Result<()> {
    tx.prepare_cached(
        "with mark as (select coalesce((select n from messages where id = ?3 and root = ?1), ?1) as n)
         update thread_members set read_n = mark.n, read_reply_count = (select r.reply_count from messages r where r.n = ?1)
           - (select count(*) from messages x where x.root = ?1 and x.deleted_at is null and x.n > mark.n)
         from mark where root = ?1 and user_id = ?2",
    )?
    .execute((root, user, last))?;
    count_mentions(tx, root, user)
}

/// Counts the member's unread mentions anew, for their present mark. Whoever has left the thread has none.
pub(super) fn count_mentions(tx: &Tx, root: i64, user: UserId) -> Result<()> {
    tx.prepare_cached(
        "update thread_members set mention_count = (select count(*) from reply_mentions x
           where x.root = ?1 and x.user_id = ?2 and x.n > read_n)
         where root = ?1 and user_id = ?2 and is_followed",
    )?
    .execute((root, user))?;
    Ok(())
}

/// Pushes what a member has not read of a thread to their own devices.
pub(super) fn announce(tx: &mut Tx, user: UserId, thread: MessageId) -> Result<()> {
    let root = root_number(tx, thread)?;
    let Some(unread) = find_in_thread(tx, root, user)? else { return Ok(()) };
    let data = Notice::of_thread(tx, root)?.change(unread);
    let new = events::New {
        kind: Kind::ThreadUnread,
        stream: Stream::Personal(data.organisation_id, user),
        to_members: false,
        channel: Some(data.channels_id),
        message: Some(root),
        actor: None,
        body: &envelope(Kind::ThreadUnread, false, data),
    };
    events::emit(tx, new)?;
    Ok(())
}

/// A thread that the receiver follows or has left, with what they have not read of it.
#[derive(Clone, Serialize, JsonSchema)]
pub struct ThreadUnread {
    /// The thread.
    thread_id: MessageId,
    /// The thread's channel.
    channels_id: ChannelId,
    /// The channel's organisation.
    organisation_id: OrganisationId,
    /// The number of the thread's replies.
    message_count: i64,
    /// When the latest reply was posted; `0001-01-01T00:00:00Z` if there is none.
    last_reply: Time,
    /// The first three members who have replied, in the order of their first reply.
    participants: Vec<Participant>,
    /// The number of members who have replied.
    participant_count: i64,
    /// The number of replies that the receiver has not read.
    unread_count: i64,
    /// How many of these mention the receiver by name.
    mention_count: i64,
    /// The newest reply that the receiver has read; empty if there is none.
    last_read_id: String,
    /// Whether the receiver follows the thread.
    is_followed: bool,
}

/// The part of `thread_unread` that all members of a thread share.
pub struct Notice {
    pub organisation: OrganisationId,
    /// Without counts of a member.
    data: ThreadUnread,
}

impl Notice {
    pub fn of_thread(conn: &Connection, root: i64) -> Result<Notice> {
        let participants = participants::of(conn, &[root])?.remove(&root).unwrap_or_default();
        let from_row = |row: &Row| {
            let mut columns = Columns::of_row(row);
            let data = ThreadUnread {
                thread_id: columns.take()?,
                channels_id: columns.take()?,
                organisation_id: columns.take()?,
                message_count: columns.take()?,
                last_reply: columns.take::<Option<Time>>()?.unwrap_or(Time::NEVER),
                participant_count: columns.take()?,
                participants,
                unread_count: 0,
                mention_count: 0,
                last_read_id: String::new(),
                is_followed: false,
            };
            Ok(Notice { organisation: data.organisation_id, data })
        };
        let sql = "select r.id, r.channel_id, c.organisation_id, r.reply_count, r.last_reply_at, r.participant_count
            from messages r join channels c on c.id = r.channel_id where r.n = ?1";
        Ok(conn.prepare_cached(sql)?.query_row([root], from_row)?)
    }

    /// The data of the publication for a member.
    fn change(&self, unread: Unread) -> ThreadUnread {
        ThreadUnread {
            unread_count: unread.replies,
            mention_count: unread.mentions,
            last_read_id: unread.last_read_id(),
            is_followed: unread.is_followed,
            ..self.data.clone()
        }
    }

    /// The body of the publication for a member.
    pub fn body(&self, unread: Unread) -> Result<String> {
        serde_json::to_string(&envelope(Kind::ThreadUnread, false, self.change(unread))).map_err(Error::internal)
    }
}
