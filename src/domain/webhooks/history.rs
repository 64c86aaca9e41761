//! The history of webhooks: a record of each event that a webhook received or sent.

use rusqlite::{Connection, OptionalExtension, Row};

use crate::{
    db::Tx,
    domain::{
        access::Caller,
        page::Page,
        webhooks::{
            delivery::{outcome::Outcome, queue::Claimed},
            received::Received,
            record,
        },
    },
    error::Result,
    id::{AttemptId, CallbackId, ChannelId, WebhookId},
    time::Time,
};

/// Feeds of a webhook whose bodies are kept: enough to see what a program sends.
const BODIES: u32 = 20;

pub struct Attempt {
    pub id: AttemptId,
    pub webhook: WebhookId,
    /// Identifier of the event; for a feed that was posted, the message's.
    pub callback: CallbackId,
    /// `in` or `out`.
    pub direction: String,
    pub action: String,
    /// HTTP status of the answer; 0 without an answer.
    pub status_code: i64,
    pub retries: i64,
    pub latency_ms: i64,
    pub error: String,
    pub response: String,
    pub attempted_at: Time,
    /// Time of the next attempt, after a failed one.
    pub next_at: Option<Time>,
    /// The beginning of a feed's body, if it is one of the newest.
    pub received: Option<String>,
    /// What the body was read as.
    pub read_as: String,
}

/// Records a feed that a webhook received, with the action `feed`, or `paused` if it was not posted for that, and with the answer's
/// status and the words of a refusal.
pub fn record_received(
    tx: &mut Tx,
    webhook: WebhookId,
    action: &str,
    callback: CallbackId,
    received: &Received,
    (status, error): (u16, &str),
) -> Result<()> {
    tx.prepare_cached(
        "insert into webhook_history (id, webhook_id, callback_id, direction, action_type, status_code, error, attempted_at,
           received, read_as)
         values (?1, ?2, ?3, 'in', ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute((AttemptId::new(), webhook, callback, action, status, error, tx.now(), &received.body, &received.read_as))?;
    forget_older(tx, webhook)
}

/// Forgets the bodies of all but the newest feeds of a webhook, and the records of those that were refused, which anybody with the
/// address could make many of.
fn forget_older(tx: &Tx, webhook: WebhookId) -> Result<()> {
    for sql in [
        "delete from webhook_history where status_code >= 400 and id in
           (select id from webhook_history where webhook_id = ?1 and received is not null
            order by attempted_at desc, id desc limit -1 offset ?2)",
        "update webhook_history set received = null where id in
           (select id from webhook_history where webhook_id = ?1 and received is not null
            order by attempted_at desc, id desc limit -1 offset ?2)",
    ] {
        tx.prepare_cached(sql)?.execute((webhook, BODIES))?;
    }
    Ok(())
}

/// Records an attempt to send, with the action `delivery` or `test`. Returns the record's id.
pub(in crate::domain) fn record_sent(
    tx: &mut Tx,
    sent: &Claimed,
    action: &str,
    outcome: &Outcome,
    next: Option<Time>,
) -> Result<AttemptId> {
    let id = AttemptId::new();
    tx.prepare_cached(
        "insert into webhook_history (id, webhook_id, callback_id, direction, action_type, status_code, retries, latency_ms,
           error, response, attempted_at, next_at)
         values (?1, ?2, ?3, 'out', ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?
    .execute((
        id,
        sent.webhook,
        sent.id,
        action,
        outcome.status,
        sent.attempts,
        outcome.latency.as_millis() as i64,
        &outcome.error,
        &outcome.response,
        tx.now(),
        next,
    ))?;
    Ok(id)
}

/// Finds a record in the webhook's history.
pub(in crate::domain) fn find(conn: &Connection, webhook: WebhookId, id: AttemptId) -> Result<Option<Attempt>> {
    let sql = format!("{SELECT} where id = ?1 and webhook_id = ?2");
    Ok(conn.prepare_cached(&sql)?.query_row((id, webhook), from_row).optional()?)
}

/// Lists a webhook's history, newest first. For managers of the channel's webhooks. 403 for hidden channels, 404 for a
/// webhook that is not the channel's.
pub fn list(conn: &Connection, caller: Caller, channel: ChannelId, webhook: WebhookId, page: Page) -> Result<Vec<Attempt>> {
    record::get(conn, caller, channel, webhook)?;
    let sql = format!("{SELECT} where webhook_id = ?1 order by attempted_at desc, id desc limit ?2 offset ?3");
    Ok(conn.prepare_cached(&sql)?.query_map((webhook, page.size, page.offset), from_row)?.collect::<rusqlite::Result<_>>()?)
}

const SELECT: &str = "select id, webhook_id, callback_id, direction, action_type, status_code, retries, latency_ms, error,
      response, attempted_at, next_at, received, read_as from webhook_history";

fn from_row(row: &Row) -> rusqlite::Result<Attempt> {
    Ok(Attempt {
        id: row.get("id")?,
        webhook: row.get("webhook_id")?,
        callback: row.get("callback_id")?,
        direction: row.get("direction")?,
        action: row.get("action_type")?,
        status_code: row.get("status_code")?,
        retries: row.get("retries")?,
        latency_ms: row.get("latency_ms")?,
        error: row.get("error")?,
        response: row.get("response")?,
        attempted_at: row.get("attempted_at")?,
        next_at: row.get("next_at")?,
        received: row.get("received")?,
        read_as: row.get("read_as")?,
    })
}

/// Deletes up to `limit` records older than the given time.
pub fn prune(tx: &mut Tx, before: Time, limit: u32) -> Result<usize> {
    // Identifiers are ordered by time: the oldest come first, and no index is needed.
    Ok(tx
        .prepare_cached(
            "delete from webhook_history where id in
               (select id from (select id, attempted_at from webhook_history order by id limit ?2) where attempted_at < ?1)",
        )?
        .execute((before, limit))?)
}
