//! Lists of messages, as they are shown: with their reactions.

use rusqlite::{Connection, OptionalExtension};

use crate::{
    domain::{
        access::{self, Caller},
        messages::{
            reactions,
            record::{self, Message, SELECT, UNKNOWN, from_row},
        },
        page::Page,
    },
    error::Result,
    id::{ChannelId, MessageId},
};

/// Bounds of a list, both exclusive. Messages are named by id and ordered by `n`.
#[derive(Clone, Copy, Default)]
pub struct Range {
    pub before: Option<MessageId>,
    pub after: Option<MessageId>,
}

impl Range {
    /// Whether the list begins with the channel's newest message.
    pub fn is_open(self) -> bool {
        self.before.is_none() && self.after.is_none()
    }

    /// Whether the list is oldest first, so that a page after a message begins with its direct successors.
    pub fn is_ascending(self) -> bool {
        self.after.is_some() && self.before.is_none()
    }
}

/// The last seq of the channel's stream, which every change to its messages moves. For the callers of [`list`].
pub fn last_seq(conn: &Connection, caller: Caller, channel: ChannelId) -> Result<i64> {
    access::is_in_channel(conn, caller, channel, access::UNKNOWN_CHANNEL)?;
    Ok(conn.prepare_cached("select last_seq from channels where id = ?1")?.query_row([channel], |row| row.get(0))?)
}

/// Lists the channel's top-level posts, newest first, or oldest first in an ascending range. For members of the channel. A
/// deleted post is listed while it has replies. 404 for a hidden channel and for an unknown message in `range`, 403 for a
/// channel that the caller is not in.
pub fn list(conn: &Connection, caller: Caller, channel: ChannelId, range: Range, page: Page) -> Result<Vec<Message>> {
    access::is_in_channel(conn, caller, channel, access::UNKNOWN_CHANNEL)?;
    let place = |id: Option<MessageId>, otherwise: i64| -> Result<i64> {
        let Some(id) = id else { return Ok(otherwise) };
        let n = conn
            .prepare_cached("select n from messages where id = ?1 and channel_id = ?2")?
            .query_row((id, channel), |row| row.get(0))
            .optional()?;
        n.ok_or(UNKNOWN)
    };
    let (before, after) = (place(range.before, i64::MAX)?, place(range.after, 0)?);
    let order = if range.is_ascending() { "asc" } else { "desc" };
    let sql = format!(
        "{SELECT} where m.channel_id = ?1 and m.root is null and m.n < ?2 and m.n > ?3 and (m.deleted_at is null or m.reply_count > 0)
         order by m.n {order} limit ?4 offset ?5"
    );
    let mut messages: Vec<Message> = conn
        .prepare_cached(&sql)?
        .query_map((channel, before, after, page.size, page.offset), from_row)?
        .collect::<rusqlite::Result<_>>()?;
    reactions::attach(conn, &mut messages)?;
    Ok(messages)
}

/// Reads the messages with these `n`, in ascending order, with their reactions.
pub fn at(conn: &Connection, ns: &[i64]) -> Result<Vec<Message>> {
    let mut messages = record::find_all(conn, ns)?;
    reactions::attach(conn, &mut messages)?;
    Ok(messages)
}

/// Reads the message with this `n`, with its reactions, if it is there.
pub fn find_at(conn: &Connection, n: i64) -> Result<Option<Message>> {
    Ok(at(conn, &[n])?.pop())
}

/// [`find_at`] for a message that is known to be there.
pub(super) fn get(conn: &Connection, n: i64) -> Result<Message> {
    find_at(conn, n)?.ok_or(UNKNOWN)
}
