//! Changes to the counts of unread mentions by an edit or a deletion.

use std::collections::HashSet;

use crate::{
    db::Tx,
    domain::messages::{
        mentions::{self, Mention, MessageKey},
        thread_members, thread_unreads,
    },
    error::Result,
    id::UserId,
};

/// Members whose unread counts an edit has changed.
#[derive(Default)]
pub(in crate::domain) struct Recount {
    /// All members of the channel, as the message begins or ceases to mention them all.
    pub everybody: bool,
    /// Further members whose counts of the channel have changed.
    pub of_channel: Vec<UserId>,
    /// Members whose counts of the thread have changed.
    pub of_thread: Vec<UserId>,
}

/// Replaces the rows that [`mentions::record`] wrote, after an edit. A member who has read the message has read its new
/// mentions, too.
pub(in crate::domain) fn record_anew(
    tx: &Tx,
    key: MessageKey,
    author: Option<UserId>,
    before: &[Mention],
    now: &[Mention],
) -> Result<Recount> {
    let MessageKey { channel, n, root } = key;
    let (were_all, were) = mentions::forget(tx, key)?;
    mentions::record(tx, key, now)?;
    let are_all = mentions::has_channel_mention(now);
    let mut recount = Recount { everybody: were_all != are_all, ..Recount::default() };
    if recount.everybody {
        count_everybody(tx, key, author, i64::from(are_all) - i64::from(were_all))?;
    }
    let are: HashSet<UserId> = mentions::users(now).filter(|_| !are_all).collect();
    // Whoever has left a thread comes back for a mention, and not for each edit that keeps it.
    let is_named_anew = |user| Some(user) != author && !mentions::users(before).any(|named| named == user);
    let Some(root) = root else {
        let mut unread =
            tx.prepare_cached("select 1 from channel_members where channel_id = ?1 and user_id = ?2 and read_n < ?3")?;
        for user in were.symmetric_difference(&are).filter(|_| !recount.everybody) {
            if unread.exists((channel, user, n))? {
                recount.of_channel.push(*user);
            }
        }
        for user in mentions::users(now) {
            let is_back = is_named_anew(user) && thread_members::come_back(tx, n, channel, user)?.is_some();
            if is_back || thread_members::join_at_end(tx, n, channel, user)? {
                recount.of_thread.push(user);
            }
        }
        return Ok(recount);
    };
    for user in were.difference(&are) {
        if thread_members::unmention(tx, root, n, *user)? {
            recount.of_thread.push(*user);
        }
    }
    for user in mentions::users(now) {
        let left_at = if is_named_anew(user) { thread_members::come_back(tx, root, channel, user)? } else { None };
        let is_new = left_at.is_some() || thread_members::join_at_end(tx, root, channel, user)?;
        if is_new && left_at.is_none_or(|read| read < n) {
            thread_unreads::step_to(tx, root, user, |from| from.min(n - 1))?;
        } else if !were.contains(&user) && are.contains(&user) {
            thread_unreads::count_mentions(tx, root, user)?;
        }
        if is_new || !were.contains(&user) {
            recount.of_thread.push(user);
        }
    }
    recount.of_channel = if recount.everybody { Vec::new() } else { recount.of_thread.clone() };
    Ok(recount)
}

/// Counts one mention of all members more or less, and for those who have read the message as read: a reply's author has,
/// wherever their mark is.
pub(super) fn count_everybody(tx: &Tx, key: MessageKey, author: Option<UserId>, more: i64) -> Result<()> {
    let MessageKey { channel, n, root } = key;
    tx.prepare_cached("update channels set mention_count = mention_count + ?2 where id = ?1")?.execute((channel, more))?;
    tx.prepare_cached(
        "update channel_members set read_mention_count = read_mention_count + ?3
         where channel_id = ?1 and (read_n >= ?2 or user_id is ?4)",
    )?
    .execute((channel, n, more, author.filter(|_| root.is_some())))?;
    Ok(())
}
