//! Members of threads: who takes part in a thread. They are its author and those whom its post mentions, from the first reply
//! on; who has replied, followed it, or marked it unread; and whom a reply mentions by name. A member stays one, also without a
//! membership in the channel: every reader of this table asks for that, too. Whoever has left a thread is a member who does not
//! follow it. They follow it again with the next reply of theirs and the next mention of them.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, Row};

use crate::{
    db::Tx,
    domain::messages::{
        mentions::{self, Mention, MessageKey},
        record::{self, FED, Message, UNKNOWN_THREAD},
    },
    error::Result,
    id::{ChannelId, MessageId, UserId},
};

/// The post that a reply goes to.
pub(in crate::domain) struct Root {
    pub id: MessageId,
    pub n: i64,
    /// The member who wrote the post; none for a program.
    author: Option<UserId>,
    mentions: Vec<Mention>,
    /// Live replies so far.
    replies: i64,
}

impl Root {
    /// Finds a live top-level post of the channel.
    pub fn find(conn: &Connection, channel: ChannelId, id: MessageId) -> Result<Option<Root>> {
        let sql = "select n, id, user_id, type, mentions, reply_count from messages
            where id = ?1 and channel_id = ?2 and root is null and deleted_at is null";
        Ok(conn.prepare_cached(sql)?.query_row((id, channel), Root::from_row).optional()?)
    }

    /// The post that replies go to, if there are to be any. 404 if it is not there.
    pub fn find_if_any(conn: &Connection, channel: ChannelId, thread: Option<MessageId>) -> Result<Option<Root>> {
        let Some(thread) = thread else { return Ok(None) };
        Ok(Some(Root::find(conn, channel, thread)?.ok_or(UNKNOWN_THREAD)?))
    }

    /// The top-level post of this `n`.
    pub fn at(conn: &Connection, n: i64) -> Result<Root> {
        let sql = "select n, id, user_id, type, mentions, reply_count from messages where n = ?1";
        Ok(conn.prepare_cached(sql)?.query_row([n], Root::from_row)?)
    }

    fn from_row(row: &Row) -> rusqlite::Result<Root> {
        let is_fed = row.get_ref("type")?.as_str()? == FED;
        Ok(Root {
            id: row.get("id")?,
            n: row.get("n")?,
            author: if is_fed { None } else { row.get("user_id")? },
            mentions: record::mentions(row.get_ref("mentions")?.as_str()?),
            replies: row.get("reply_count")?,
        })
    }
}

/// Takes a new reply into account: its author has read the thread with it, and those whom it mentions have not. Returns whether
/// it is the author's first, so that the thread has one participant more.
pub(in crate::domain) fn replied(
    tx: &Tx,
    root: &Root,
    MessageKey { channel, n, .. }: MessageKey,
    author: Option<UserId>,
    mentions: &[Mention],
) -> Result<bool> {
    if root.replies == 0 {
        let others = mentions::users(&root.mentions).chain(root.author).filter(|user| Some(*user) != author);
        for user in others {
            join(tx, root.n, channel, user, (root.n, 0))?;
        }
    }
    let is_counted = !mentions::has_channel_mention(mentions); // otherwise the channel's mark counts it
    let mut mention = tx.prepare_cached(
        "insert into thread_members (root, user_id, channel_id, read_n, read_reply_count, mention_count) values (?1, ?2, ?3, ?4, ?5, ?6)
         on conflict do update set mention_count = mention_count + ?6, read_n = iif(is_followed, read_n, ?4),
           read_reply_count = iif(is_followed, read_reply_count, ?5), is_followed = 1",
    )?;
    for user in mentions::users(mentions) {
        mention.execute((root.n, user, channel, n - 1, root.replies, is_counted))?;
    }
    let Some(author) = author else { return Ok(false) };
    if !is_counted {
        tx.prepare_cached(
            "update channel_members set read_mention_count = read_mention_count + 1 where channel_id = ?1 and user_id = ?2",
        )?
        .execute((channel, author))?;
    }
    let replies: i64 = tx
        .prepare_cached(
            "insert into thread_members (root, user_id, channel_id, first_n, replies, read_n, read_reply_count)
             values (?1, ?2, ?3, ?4, 1, ?4, ?5)
             on conflict do update set first_n = coalesce(first_n, ?4), replies = replies + 1, read_n = ?4, read_reply_count = ?5,
               mention_count = 0, is_followed = 1
             returning replies",
        )?
        .query_row((root.n, author, channel, n, root.replies + 1), |row| row.get(0))?;
    Ok(replies == 1)
}

/// Adds a member whose mark has this `n` and count of replies; whoever is a member stays as they are. Returns whether they are
/// new.
pub(super) fn join(tx: &Tx, root: i64, channel: ChannelId, user: UserId, (n, replies): (i64, i64)) -> Result<bool> {
    let new = tx
        .prepare_cached(
            "insert into thread_members (root, user_id, channel_id, read_n, read_reply_count) values (?1, ?2, ?3, ?4, ?5)
             on conflict do nothing",
        )?
        .execute((root, user, channel, n, replies))?;
    Ok(new > 0)
}

/// Adds a member who has read everything, if the thread has replies. Returns whether they are new.
pub(super) fn join_at_end(tx: &Tx, root: i64, channel: ChannelId, user: UserId) -> Result<bool> {
    let end: Option<(i64, i64)> = tx
        .prepare_cached("select active_n, reply_count from messages where n = ?1 and reply_count > 0")?
        .query_row([root], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    end.map_or(Ok(false), |end| join(tx, root, channel, user, end))
}

/// Lets a member who has left a thread follow it again, with nothing unread. Returns the `n` up to which they had read it when they
/// left; none if they had not.
pub(super) fn come_back(tx: &Tx, root: i64, channel: ChannelId, user: UserId) -> Result<Option<i64>> {
    let left_at: Option<i64> = tx
        .prepare_cached("select read_n from thread_members where root = ?1 and user_id = ?2 and not is_followed")?
        .query_row((root, user), |row| row.get(0))
        .optional()?;
    if left_at.is_some() {
        set_followed(tx, root, channel, user, true)?;
    }
    Ok(left_at)
}

/// Lets a user follow a thread or leave it, with nothing unread. Returns whether that changed something.
pub(in crate::domain) fn set_followed(tx: &Tx, root: i64, channel: ChannelId, user: UserId, is_followed: bool) -> Result<bool> {
    let changed = tx
        .prepare_cached(
            "insert into thread_members (root, user_id, channel_id, read_n, read_reply_count, is_followed)
               select n, ?2, ?3, max(n, active_n), reply_count, ?4 from messages where n = ?1
             on conflict do update set read_n = excluded.read_n, read_reply_count = excluded.read_reply_count, mention_count = 0,
               is_followed = ?4 where is_followed <> ?4",
        )?
        .execute((root, user, channel, is_followed))?;
    Ok(changed > 0)
}

/// Takes a deleted reply into account. `mentioned` are those whom it mentioned by name. Returns whether its author has no other
/// in the thread, so that the thread has one participant less.
pub(super) fn unreplied(tx: &Tx, root: i64, reply: &Message, mentioned: &HashSet<UserId>) -> Result<bool> {
    tx.prepare_cached("update thread_members set read_reply_count = read_reply_count - 1 where root = ?1 and read_n >= ?2")?
        .execute((root, reply.n))?;
    for user in mentioned {
        unmention(tx, root, reply.n, *user)?;
    }
    let left: Option<i64> = tx
        .prepare_cached(
            "update thread_members set replies = replies - 1,
               first_n = iif(first_n = ?3, (select min(r.n) from messages r
                 where r.root = ?1 and r.user_id = ?2 and r.deleted_at is null), first_n)
             where root = ?1 and user_id = ?2 returning replies",
        )?
        .query_row((root, reply.user, reply.n), |row| row.get(0))
        .optional()?;
    Ok(left == Some(0))
}

/// No longer counts a mention in the reply `n` as unread. Returns whether it was.
pub(super) fn unmention(tx: &Tx, root: i64, n: i64, user: UserId) -> Result<bool> {
    let unread = tx
        .prepare_cached(
            "update thread_members set mention_count = mention_count - 1 where root = ?1 and user_id = ?2 and read_n < ?3",
        )?
        .execute((root, user, n))?;
    Ok(unread > 0)
}
