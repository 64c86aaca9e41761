//! Lists of messages, as they are shown: with their reactions and participants.

use rusqlite::{Connection, OptionalExtension, ToSql};

use crate::{
    domain::{
        access::{self, Caller},
        messages::{
            reactions_and_participants,
            record::{self, Message, SELECT, UNKNOWN, UNKNOWN_THREAD, from_row},
        },
        page::Page,
    },
    error::{Error, Result},
    id::{ChannelId, MessageId, UserId},
};

/// Where a page of a list lies. Messages are named by id and ordered by `n`.
#[derive(Clone, Copy)]
pub enum At {
    /// Between two messages, both exclusive.
    Range { before: Option<MessageId>, after: Option<MessageId> },
    /// On both sides of a message, which is on the page. In a list of posts, a reply stands for its thread.
    Around(MessageId),
    /// Around the first post that the caller has not read; the newest page if there is none.
    Unread,
}

impl At {
    /// Whether the page is the newest one.
    pub fn is_newest(self) -> bool {
        matches!(self, At::Range { before: None, after: None })
    }
}

/// Bounds of a list by the messages' `n`, both exclusive.
#[derive(Clone, Copy)]
pub struct Span {
    before: i64,
    after: i64,
    /// Whether the list is oldest first, so that a page after a message begins with its direct successors.
    pub is_ascending: bool,
}

impl Span {
    /// The whole list, newest first.
    pub const ALL: Span = Span { before: i64::MAX, after: 0, is_ascending: false };
}

/// The part of a list that a page shows.
pub enum Excerpt {
    One(Span),
    /// The messages around one: `older` begins with it.
    Both {
        older: Span,
        newer: Span,
    },
}

impl Excerpt {
    fn around(n: i64) -> Excerpt {
        let newer = Span { after: n, is_ascending: true, ..Span::ALL };
        Excerpt::Both { older: Span { before: n + 1, ..Span::ALL }, newer }
    }
}

/// A list that its reader may see: the top-level posts of a channel, or the replies of a thread. A deleted post is listed while
/// it has replies.
pub struct List {
    reader: UserId,
    channel: ChannelId,
    /// The `n` of the thread.
    root: Option<i64>,
}

impl List {
    /// The channel's posts. For members of the channel. 404 for a hidden channel, 403 for a channel that the caller is not in.
    pub fn posts(conn: &Connection, caller: Caller, channel: ChannelId) -> Result<List> {
        access::require_channel_member(conn, caller, channel, access::UNKNOWN_CHANNEL)?;
        Ok(List { reader: caller.user, channel, root: None })
    }

    /// The thread's replies, with their number. For the same callers as [`List::posts`]; 404 for an unknown thread, too.
    pub fn replies(conn: &Connection, caller: Caller, channel: ChannelId, thread: MessageId) -> Result<(List, u32)> {
        let posts = List::posts(conn, caller, channel)?;
        let sql = "select n, reply_count from messages
             where id = ?1 and channel_id = ?2 and root is null and (deleted_at is null or reply_count > 0)";
        let found: Option<(i64, i64)> =
            conn.prepare_cached(sql)?.query_row((thread, channel), |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let (n, replies) = found.ok_or(UNKNOWN_THREAD)?;
        Ok((List { root: Some(n), ..posts }, u32::try_from(replies).map_err(Error::internal)?))
    }

    /// Finds the part of the list that a page shows. 404 for a message that is not in the channel, or in the thread.
    pub fn locate_page(&self, conn: &Connection, at: At) -> Result<Excerpt> {
        let place = |id: Option<MessageId>, otherwise| -> Result<i64> {
            let Some(id) = id else { return Ok(otherwise) };
            Ok(self.find(conn, id)?.0)
        };
        match at {
            At::Range { before, after } => Ok(Excerpt::One(Span {
                before: place(before, i64::MAX)?,
                after: place(after, 0)?,
                is_ascending: after.is_some() && before.is_none(),
            })),
            At::Around(id) => {
                let (n, root) = self.find(conn, id)?;
                Ok(Excerpt::around(if self.root.is_some() { n } else { root.unwrap_or(n) }))
            }
            At::Unread => Ok(self.first_unread(conn)?.map_or(Excerpt::One(Span::ALL), Excerpt::around)),
        }
    }

    /// The `n` of a message that names a place in the list, and that of its thread if it is a reply.
    fn find(&self, conn: &Connection, id: MessageId) -> Result<(i64, Option<i64>)> {
        let found: Option<(i64, Option<i64>)> = conn
            .prepare_cached("select n, root from messages where id = ?1 and channel_id = ?2")?
            .query_row((id, self.channel), |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let is_here = |(n, root): &(i64, Option<i64>)| self.root.is_none_or(|thread| *n == thread || *root == Some(thread));
        found.filter(is_here).ok_or(UNKNOWN)
    }

    /// The `n` of the first post of the channel that the reader has not read.
    fn first_unread(&self, conn: &Connection) -> Result<Option<i64>> {
        let sql = "select n from messages where channel_id = ?1 and root is null and deleted_at is null
             and n > (select read_n from channel_members where channel_id = ?1 and user_id = ?2) order by n limit 1";
        Ok(conn.prepare_cached(sql)?.query_row((self.channel, self.reader), |row| row.get(0)).optional()?)
    }

    /// Reads a page of a part of the list.
    pub fn read(&self, conn: &Connection, span: Span, page: Page) -> Result<Vec<Message>> {
        let order = if span.is_ascending { "asc" } else { "desc" };
        let (of, sql): (&dyn ToSql, String) = match &self.root {
            None => (
                &self.channel,
                format!(
                    "{SELECT} where m.channel_id = ?1 and m.root is null and m.n < ?2 and m.n > ?3
                       and (m.deleted_at is null or m.reply_count > 0)
                     order by m.n {order} limit ?4 offset ?5"
                ),
            ),
            Some(root) => (
                root,
                format!(
                    "{SELECT} where m.root = ?1 and m.n < ?2 and m.n > ?3 and m.deleted_at is null
                     order by m.n {order} limit ?4 offset ?5"
                ),
            ),
        };
        let mut messages: Vec<Message> = conn
            .prepare_cached(&sql)?
            .query_map((of, span.before, span.after, page.size, page.offset), from_row)?
            .collect::<rusqlite::Result<_>>()?;
        reactions_and_participants::attach(conn, &mut messages)?;
        Ok(messages)
    }
}

/// The last seq of the channel's stream, which every change to its messages moves. For the callers of [`List::posts`].
pub fn last_stream_seq(conn: &Connection, caller: Caller, channel: ChannelId) -> Result<i64> {
    access::require_channel_member(conn, caller, channel, access::UNKNOWN_CHANNEL)?;
    Ok(conn.prepare_cached("select last_seq from channels where id = ?1")?.query_row([channel], |row| row.get(0))?)
}

/// Reads the messages with these `n`, in ascending order, with their reactions and participants.
pub fn find_by_numbers(conn: &Connection, ns: &[i64]) -> Result<Vec<Message>> {
    let mut messages = record::find_all(conn, ns)?;
    reactions_and_participants::attach(conn, &mut messages)?;
    Ok(messages)
}

/// Reads the message with this `n`, with its reactions and participants, if it is there.
pub fn find_by_number(conn: &Connection, n: i64) -> Result<Option<Message>> {
    Ok(find_by_numbers(conn, &[n])?.pop())
}

/// [`find_by_number`] for a message that is known to be there.
pub(super) fn get(conn: &Connection, n: i64) -> Result<Message> {
    find_by_number(conn, n)?.ok_or(UNKNOWN)
}
