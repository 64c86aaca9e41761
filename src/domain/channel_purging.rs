//! Purging deleted channels: after their retention period, everything in them is deleted for good, in slices.

use rusqlite::{Connection, Params, Row};
use serde_json::json;

use crate::{
    db::Tx,
    domain::{
        files,
        messages::indexing,
        slice_byte_budget::{self, Budget},
        webhooks,
    },
    error::Result,
    event::Stream,
    id::ChannelId,
    time::Time,
};

/// Deletes up to `limit` rows of one channel that was deleted before the given time. Webhooks come first and the channel itself
/// last, after everything that refers to it. Returns how many rows were deleted: 0 when nothing is left to do.
pub fn purge(tx: &mut Tx, before: Time, limit: u32) -> Result<usize> {
    match webhooks::channel_purging::purge_of_channel(tx, before, limit)? {
        0 => purge_channel(tx, before, limit),
        gone => Ok(gone),
    }
}

fn purge_channel(tx: &mut Tx, before: Time, limit: u32) -> Result<usize> {
    let Some(channel) = find(tx, before)? else { return Ok(0) };
    // Rows that refer to others are deleted before those.
    let mut gone = files::removal::end_of_channel(tx, channel, limit)?;
    if gone == 0 {
        gone = messages(tx, channel, limit as usize)?;
    }
    if gone == 0 {
        let sql = "delete from channel_members where (channel_id, user_id) in (select channel_id, user_id from channel_members
           where channel_id = ?1 limit ?2)";
        gone = tx.prepare_cached(sql)?.execute((channel, limit))?;
    }
    if gone == 0 {
        let log = "select seq, octet_length(body) from events where stream = ?1 limit ?2";
        gone = delete_events(tx, log, (Stream::Channel(channel).to_string(), limit))?;
    }
    if gone == 0 {
        gone = tx.prepare_cached("delete from channels where id = ?1")?.execute([channel])?;
    }
    Ok(gone)
}

fn find(conn: &Connection, before: Time) -> Result<Option<ChannelId>> {
    let mut select = conn.prepare_cached("select id from channels where deleted_at < ?1 order by deleted_at limit 1")?;
    Ok(select.query_map([before], |row| row.get(0))?.next().transpose()?)
}

fn messages(tx: &Tx, channel: ChannelId, limit: usize) -> Result<usize> {
    let gone = oldest(tx, channel, limit)?;
    let list = json!(gone).to_string();
    // A message may have any number of these rows.
    for sql in [
        "delete from mentions where (channel_id, user_id, n) in (select channel_id, user_id, n from mentions
           where n in (select value from json_each(?1)) limit ?2)",
        "delete from reply_mentions where (root, user_id, n) in (select root, user_id, n from reply_mentions
           where n in (select value from json_each(?1)) limit ?2)",
        "delete from thread_members where (root, user_id) in (select root, user_id from thread_members
           where root in (select value from json_each(?1)) limit ?2)",
        "delete from reactions where (n, emoji, user_id) in (select n, emoji, user_id from reactions
           where n in (select value from json_each(?1)) limit ?2)",
        "delete from reaction_counts where (n, emoji) in (select n, emoji from reaction_counts
           where n in (select value from json_each(?1)) limit ?2)",
    ] {
        if tx.prepare_cached(sql)?.execute((&list, limit as i64))? == limit {
            return Ok(limit);
        }
    }
    let log =
        "select seq, octet_length(body) from events where message_n in (select value from json_each(?1)) and type <> '' limit ?2";
    let told = delete_events(tx, log, (&list, limit as i64))?;
    if told > 0 {
        return Ok(told); // there may be more
    }
    for sql in [
        "delete from channel_mentions where n in (select value from json_each(?1))",
        "delete from messages where n in (select value from json_each(?1))",
    ] {
        tx.prepare_cached(sql)?.execute([&list])?;
    }
    for n in &gone {
        indexing::forget(tx, *n)?;
        webhooks::delivery::queue::erase(tx, *n)?; // of webhooks of all channels, which are elsewhere
    }
    Ok(gone.len())
}

/// Deletes the rows of the event log that `select` gives with their sizes in bytes, up to the budget of one write. Returns
/// how many.
fn delete_events(tx: &Tx, select: &str, params: impl Params) -> Result<usize> {
    let told: Vec<i64> = slice_byte_budget::keys_within(tx, select, params)?;
    let sql = "delete from events where seq in (select value from json_each(?1))";
    Ok(tx.prepare_cached(sql)?.execute([json!(told).to_string()])?)
}

/// Finds up to `limit` messages of the channel, from its oldest posts on. A post is included only after all of its replies.
fn oldest(conn: &Connection, channel: ChannelId, limit: usize) -> Result<Vec<i64>> {
    let mut posts = conn.prepare_cached(
        "select n, octet_length(content) from messages where channel_id = ?1 and root is null order by n limit ?2",
    )?;
    let mut replies = conn.prepare_cached("select n, octet_length(content) from messages where root = ?1 limit ?2")?;
    let with_bytes = |row: &Row| Ok((row.get(0)?, row.get(1)?));
    let (mut found, mut budget) = (Vec::new(), Budget::new());
    for post in posts.query_map((channel, limit as i64), with_bytes)? {
        let (post, bytes): (i64, i64) = post?;
        for reply in replies.query_map((post, (limit - found.len()) as i64), with_bytes)? {
            let (reply, bytes) = reply?;
            if !budget.try_take(bytes) {
                return Ok(found);
            }
            found.push(reply);
        }
        if found.len() >= limit || !budget.try_take(bytes) {
            break;
        }
        found.push(post);
    }
    Ok(found)
}
