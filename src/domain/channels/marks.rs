//! Moving the read marks of channels. A mark passes at most 2,000 messages in one write, in either direction.

use rusqlite::{Connection, OptionalExtension, ToSql};

use crate::{
    db::Tx,
    domain::{
        access::{self, Caller},
        channels::unread_counts::{self, Counts},
    },
    error::{Code, Error, Result},
    id::{ChannelId, MessageId, UserId},
};

/// Where a member wants their read mark.
#[derive(Clone, Copy, Debug)]
pub enum Goal {
    /// Behind all messages.
    End,
    /// Behind this message. A mark that is further on stays where it is.
    Read(MessageId),
    /// Before this message. A mark that is further back stays where it is.
    Unread(MessageId),
}

impl Goal {
    /// The goal of a request with the last message that was read, or the first that counts as unread. 422 for both.
    pub fn new(last: Option<MessageId>, unread_from: Option<MessageId>) -> Result<Goal> {
        match (last, unread_from) {
            (None, None) => Ok(Goal::End),
            (Some(last), None) => Ok(Goal::Read(last)),
            (None, Some(first)) => Ok(Goal::Unread(first)),
            (Some(_), Some(_)) => Err(Error::Invalid(
                Code::ConflictingFields.says("the last message read and unread_from exclude each other").at("unread_from"),
            )),
        }
    }

    /// The number of the message behind which a mark at `from` belongs, if `of` is the number of the goal's message.
    pub(in crate::domain) fn n(self, from: i64, of: i64) -> i64 {
        if let Goal::Unread(_) = self { from.min(of - 1) } else { from.max(of) }
    }
}

/// The messages that a mark passes: the posts of a channel, or the replies of the thread of this `n`.
#[derive(Clone, Copy)]
pub(in crate::domain) enum Over {
    Posts(ChannelId),
    Replies(i64),
}

/// One step of a mark.
pub(in crate::domain) struct Step {
    /// The `n` behind which the mark stands after it.
    pub n: i64,
    /// Live messages passed; negative if the mark moves back.
    pub live: i64,
    /// Whether this is the goal.
    pub has_arrived: bool,
}

/// Messages that a mark passes in one write.
const PASSED: i64 = 2000;

/// The step of a mark from one `n` towards another.
pub(in crate::domain) fn step(conn: &Connection, over: Over, from: i64, to: i64) -> Result<Step> {
    let (which, id): (&str, &dyn ToSql) = match &over {
        Over::Posts(channel) => ("channel_id = ?1 and root is null", channel),
        Over::Replies(root) => ("root = ?1", root),
    };
    let is_back = to < from;
    let order = if is_back { "desc" } else { "asc" };
    let (low, high) = (from.min(to), from.max(to));
    let last: Option<i64> = conn
        .prepare_cached(&format!(
            "select n from messages where {which} and n > ?2 and n <= ?3 order by n {order} limit 1 offset ?4"
        ))?
        .query_row((id, low, high, PASSED - 1), |row| row.get(0))
        .optional()?;
    let n = last.map_or(to, |last| if is_back { last - 1 } else { last });
    let live: i64 = conn
        .prepare_cached(&format!("select count(*) from messages where {which} and n > ?2 and n <= ?3 and deleted_at is null"))?
        .query_row((id, from.min(n), from.max(n)), |row| row.get(0))?;
    Ok(Step { n, live: if is_back { -live } else { live }, has_arrived: n == to })
}

/// Moves the caller's read mark, and returns what is left unread. Needs membership of the channel. Pushes new counts to the
/// caller's own devices. 404 for a channel that the caller can't see, and for a message that is not in it; 403 if they are
/// not in the channel.
///
/// It returns `None` if the mark has not reached its goal: call again to go on.
pub fn mark(tx: &mut Tx, caller: Caller, channel: ChannelId, goal: Goal) -> Result<Option<Counts>> {
    access::require_channel_member(tx, caller, channel, access::UNKNOWN_CHANNEL)?;
    let before = unread_counts::counts(tx, channel, caller.user)?;
    let has_arrived = match goal {
        Goal::End => mark_channel_read(tx, caller.user, channel).map(|()| true)?,
        Goal::Read(id) | Goal::Unread(id) => move_once(tx, caller.user, channel, goal, id)?,
    };
    let after = unread_counts::counts(tx, channel, caller.user)?;
    if after != before {
        unread_counts::push_counts(tx, caller.user, channel, after)?;
    }
    Ok(has_arrived.then_some(after))
}

/// Moves a member's read mark behind all messages of the channel. A post does this for its author, too.
pub fn mark_channel_read(tx: &Tx, user: UserId, channel: ChannelId) -> Result<()> {
    let sql = format!(
        "update channel_members set (read_n, read_thread_count, read_mention_count, read_id) = (select {END} from channels c where c.id = ?1)
         where channel_id = ?1 and user_id = ?2"
    );
    tx.prepare_cached(&sql)?.execute((channel, user))?;
    Ok(())
}

/// SQL columns of the read mark behind all messages of `channels c`: `read_n`, `read_thread_count`, `read_mention_count` and
/// `read_id`.
pub(in crate::domain) const END: &str =
    "c.last_n, c.thread_count, c.mention_count, (select newest.id from messages newest where newest.n = c.last_thread)";

/// Moves the mark by one step; returns whether it has reached its goal.
fn move_once(tx: &Tx, user: UserId, channel: ChannelId, goal: Goal, id: MessageId) -> Result<bool> {
    let of: Option<i64> = tx
        .prepare_cached("select n from messages where id = ?1 and channel_id = ?2")?
        .query_row((id, channel), |row| row.get(0))
        .optional()?;
    let from: i64 = tx
        .prepare_cached("select read_n from channel_members where channel_id = ?1 and user_id = ?2")?
        .query_row((channel, user), |row| row.get(0))?;
    let to = goal.n(from, of.ok_or(Error::NotFound(Code::MessageNotFound))?);
    let Step { n, live, has_arrived } = step(tx, Over::Posts(channel), from, to)?;
    // The author of a reply has read its mention of @channel, wherever their mark is.
    let mentions: i64 = tx
        .prepare_cached(
            "select count(*) from channel_mentions passed where passed.channel_id = ?1 and passed.n > ?3 and passed.n <= ?4
               and not exists (select 1 from messages own where own.n = passed.n and own.root is not null and own.user_id = ?2)",
        )?
        .query_row((channel, user, from.min(n), from.max(n)), |row| row.get(0))?;
    tx.prepare_cached(
        "update channel_members set read_n = ?3, read_thread_count = read_thread_count + ?4,
           read_mention_count = read_mention_count + ?5,
           read_id = (select passed.id from messages passed where passed.channel_id = ?1 and passed.root is null
             and passed.n <= ?3 and passed.deleted_at is null order by passed.n desc limit 1)
         where channel_id = ?1 and user_id = ?2",
    )?
    .execute((channel, user, n, live, if n < from { -mentions } else { mentions }))?;
    Ok(has_arrived)
}
