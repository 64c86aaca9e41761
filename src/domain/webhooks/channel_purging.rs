//! Purging webhooks of deleted channels: after the channels' retention period, in slices, and before the channels.

use rusqlite::{Connection, OptionalExtension};

use crate::{
    db::Tx,
    domain::slice_byte_budget,
    error::Result,
    id::{CallbackId, ChannelId},
    time::Time,
};

/// Deletes up to `limit` rows that belong to the webhooks of one channel that was deleted before the given time: first their
/// deliveries with the text, then their history, then the webhooks. Returns how many: 0 when nothing is left to do.
pub fn purge_of_channel(tx: &mut Tx, before: Time, limit: u32) -> Result<usize> {
    let Some(channel) = find(tx, before)? else { return Ok(0) };
    let mut gone = deliveries(tx, channel, limit)?;
    for sql in [
        "delete from webhook_history where id in (select h.id from webhook_history h join webhooks w on w.id = h.webhook_id
           where w.channel_id = ?1 limit ?2)",
        "delete from webhooks where id in (select id from webhooks where channel_id = ?1 limit ?2)",
    ] {
        if gone == 0 {
            gone = tx.prepare_cached(sql)?.execute((channel, limit))?;
        }
    }
    Ok(gone)
}

fn find(conn: &Connection, before: Time) -> Result<Option<ChannelId>> {
    let sql =
        "select id from channels where deleted_at < ?1 and exists (select 1 from webhooks w where w.channel_id = channels.id)
         order by deleted_at limit 1";
    Ok(conn.prepare_cached(sql)?.query_row([before], |row| row.get(0)).optional()?)
}

fn deliveries(tx: &Tx, channel: ChannelId, limit: u32) -> Result<usize> {
    let select = "select d.id, octet_length(e.payload) from webhooks w join deliveries d on d.webhook_id = w.id
           join webhook_events e on e.n = d.event_n
         where w.channel_id = ?1 limit ?2";
    let found: Vec<CallbackId> = slice_byte_budget::keys_within(tx, select, (channel, limit))?;
    for id in &found {
        let event: i64 =
            tx.prepare_cached("delete from deliveries where id = ?1 returning event_n")?.query_row([id], |row| row.get(0))?;
        // The webhooks of a channel share the text; the last delivery takes it along.
        let sql = "delete from webhook_events where n = ?1
             and not exists (select 1 from deliveries where event_n = webhook_events.n)";
        tx.prepare_cached(sql)?.execute([event])?;
    }
    Ok(found.len())
}
