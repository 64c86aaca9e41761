//! Webhooks follow the event log. A new message becomes a delivery for each webhook of its channel, a deletion erases the
//! text of stored events, and webhooks of users who left or were reclaimed change owner or pause ([`departures`]). Deliveries
//! and the cursor are committed together, so a kill loses and repeats nothing. Rows that concern no webhook are skipped in a
//! read: where there are no webhooks, a post costs no second write.

use rusqlite::Connection;

use crate::{
    db::Tx,
    domain::{
        byte_budget::Budget,
        log::cursors,
        messages::{lists, record::FED},
        webhooks::{
            delivery::{
                cursor::{self, Logged, RECEIVES, ROWS, WEBHOOKS},
                queue, schedule,
            },
            departures,
        },
    },
    error::{Code, Error, Result},
    event::Kind,
    id::{CallbackId, ChannelId, WebhookId},
};

/// Deliveries after which a slice ends. One message may add 50, one for each webhook of its channel.
const DELIVERIES: usize = 200;
/// Rows that may be skipped before the cursor is saved.
const UNWRITTEN_ROWS: i64 = 500;

/// Starts to keep the log for webhooks, in a database that is new or older than this consumer. Returns the last row that was
/// processed.
pub fn start(tx: &mut Tx) -> Result<i64> {
    match cursors::find(tx, WEBHOOKS)? {
        Some(taken) => Ok(taken),
        None => cursors::start(tx, WEBHOOKS),
    }
}

/// Result of looking ahead in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookahead {
    /// The last row up to which nothing concerns a webhook.
    pub seq: i64,
    pub next: Next,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Nothing,
    /// Rows that were not looked at yet.
    More,
    /// A row that concerns a webhook.
    Work,
}

/// Skips rows that concern no webhook, at most one slice.
pub fn look(conn: &Connection, after: i64) -> Result<Lookahead> {
    let mut ahead = Lookahead { seq: after, next: Next::Nothing };
    let rows = cursor::rows(conn, after)?;
    for row in &rows {
        if row.concerns {
            return Ok(Lookahead { next: Next::Work, ..ahead });
        }
        ahead.seq = row.seq;
    }
    if rows.len() == ROWS as usize {
        ahead.next = Next::More;
    }
    Ok(ahead)
}

/// Whether enough rows were skipped that the cursor should be saved.
pub fn should_write_down(taken: i64, written: i64) -> bool {
    taken - written >= UNWRITTEN_ROWS
}

/// Saves the cursor at this row, because nothing up to it concerns a webhook any more.
pub fn write_down(tx: &mut Tx, seq: i64) -> Result<()> {
    let seq = cursor::find(tx)?.max(seq);
    cursors::advance(tx, WEBHOOKS, seq)
}

/// Processes a slice of the rows after the cursor, or after a later row up to which [`look`] has skipped. Returns the last
/// row processed.
pub fn follow(tx: &mut Tx, after: i64) -> Result<i64> {
    let after = cursor::find(tx)?.max(after);
    let (mut taken, mut budget, mut queued) = (after, Budget::new(), 0);
    for row in cursor::rows(tx, after)? {
        if row.concerns {
            if queued >= DELIVERIES || !budget.takes(row.bytes) {
                break;
            }
            match row.kind {
                Kind::Message => queued += queue(tx, &row)?,
                Kind::Deleted => row.message.map_or(Ok(()), |n| queue::erase(tx, n))?,
                // The next slice processes the rest of this row.
                _ if !departures::slice(tx, &row)? => break,
                _ => {}
            }
        }
        taken = row.seq;
    }
    if taken > after {
        cursors::advance(tx, WEBHOOKS, taken)?;
    }
    Ok(taken)
}

/// Follows the log before a change to a webhook of the channel: messages posted until now are for the webhook as it was. 503 if
/// messages of the channel are left after one slice; the job follows them meanwhile.
pub(in crate::domain) fn catch_up(tx: &mut Tx, channel: ChannelId) -> Result<()> {
    let mut after = follow(tx, 0)?;
    loop {
        let rows = cursor::rows(tx, after)?;
        if rows.iter().any(|row| row.concerns && row.kind == Kind::Message && row.channel == Some(channel)) {
            return Err(Error::Unavailable(
                Code::StillInProgress,
                "New messages are still being queued for webhooks, try again in a moment",
            ));
        }
        match rows.last() {
            Some(last) if rows.len() == ROWS as usize => after = last.seq,
            _ => return Ok(()),
        }
    }
}

/// Queues a new message for each delivering webhook of its channel; a paused one holds it. A feed's post is not delivered,
/// because two servers that feed each other would never end. Returns how many deliveries there are.
fn queue(tx: &mut Tx, row: &Logged) -> Result<usize> {
    let Some(n) = row.message else { return Ok(0) };
    let Some(message) = lists::find_at(tx, n)?.filter(|message| message.kind != FED) else { return Ok(0) };
    let payload = queue::payload(queue::DeliveryKind::MessageCreated, message.created_at, &message)?;
    tx.prepare_cached("insert into webhook_events (payload, message_n) values (?1, ?2)")?.execute((payload, n))?;
    let event = tx.last_insert_rowid();
    let webhooks: Vec<WebhookId> = tx
        .prepare_cached(&format!("select w.id from webhooks w, (select ?1 as channel_id, ?2 as seq) e where {RECEIVES}"))?
        .query_map((row.channel, row.seq), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for webhook in &webhooks {
        let sql = "insert into deliveries (id, webhook_id, event_n, due_at, created_at) values (?1, ?2, ?3, ?4, ?4)";
        tx.prepare_cached(sql)?.execute((CallbackId::new(), webhook, event, message.created_at))?;
        schedule::changed(tx, *webhook);
    }
    Ok(webhooks.len())
}
