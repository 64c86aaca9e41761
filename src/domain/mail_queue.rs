//! The queue of mails, in the table `outbox`: a mail is a row of the transaction that asks for it, and the jobs send it later.
//!
//! A mail's text holds tokens. It is encrypted under the server's key, and erased once the mail is sent or given up.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row};
use serde::Serialize;

use crate::{
    db::{Columns, Tx, View},
    error::{Error, Result},
    event::{Effect, Queue},
    id::{MailId, WebhookId},
    mail::{Mail, MailKind},
    time::Time,
};

/// The period of the quotas, which bound the mails of one kind that others can cause for one recipient.
const HOUR: Duration = Duration::from_secs(3600);
const PER_HOUR: i64 = 5;
/// At most 2 mails of a kind per recipient and hour about the same webhook.
const PER_WEBHOOK: i64 = 2;
/// The lease of one attempt, after which another process may try.
const LEASE: Duration = Duration::from_secs(120);
/// The backoff after each failed attempt. After the last attempt the mail is given up.
const BACKOFF: [Duration; 9] = [
    Duration::from_secs(5),
    Duration::from_secs(60),
    Duration::from_secs(5 * 60),
    Duration::from_secs(30 * 60),
    Duration::from_secs(2 * 3600),
    Duration::from_secs(5 * 3600),
    Duration::from_secs(10 * 3600),
    Duration::from_secs(14 * 3600),
    Duration::from_secs(20 * 3600),
];

/// Whether the recipient may get one more mail of a kind now: fewer than five were queued within the hour. Notices have no
/// quota.
///
/// A caller who voids an older link asks first, so that no link becomes void without a mail that replaces it.
pub fn recipient_has_quota(conn: &View, to: &str, kind: MailKind) -> Result<bool> {
    if !conn.site().rate_limit || kind == MailKind::Notice {
        return Ok(true);
    }
    // The last term lets SQLite use `mails_by_recipient`, a partial index with this condition.
    let recent: i64 = conn
        .prepare_cached("select count(*) from mails where recipient = ?1 and kind = ?2 and created_at > ?3 and kind <> 'notice'")?
        .query_row((to, kind.as_str(), conn.now() - HOUR), |row| row.get(0))?;
    Ok(recent < PER_HOUR)
}

/// Whether the recipient may get one more mail about the same webhook within the hour. A webhook that stops again and again
/// must not use up the quota for mails about others.
fn within_share(conn: &View, to: &str, kind: MailKind, webhook: WebhookId) -> Result<bool> {
    if !conn.site().rate_limit {
        return Ok(true);
    }
    let recent: i64 = conn
        .prepare_cached(
            "select count(*) from mails
             where recipient = ?1 and kind = ?2 and created_at > ?3 and kind <> 'notice' and webhook_id = ?4",
        )?
        .query_row((to, kind.as_str(), conn.now() - HOUR, webhook), |row| row.get(0))?;
    Ok(recent < PER_WEBHOOK)
}

/// Logs that a mail was dropped beyond its recipient's quota. The requester isn't told: it would reveal the account.
pub fn log_dropped(kind: MailKind) {
    tracing::info!(kind = kind.as_str(), "a mail was dropped: its recipient had enough of the kind within an hour");
}

/// Queues a mail, or drops it beyond its recipient's quota.
pub fn add(tx: &mut Tx, mail: Mail) -> Result<()> {
    let has_share = mail.webhook.map_or(Ok(true), |webhook| within_share(tx, &mail.to, mail.kind, webhook))?;
    if has_share && recipient_has_quota(tx, &mail.to, mail.kind)? {
        return add_unchecked(tx, &mail);
    }
    log_dropped(mail.kind);
    Ok(())
}

/// Queues a mail without a check of quotas: the caller has asked [`recipient_has_quota`].
pub fn add_unchecked(tx: &mut Tx, mail: &Mail) -> Result<()> {
    let (now, sealed) = (tx.now(), seal(tx, mail)?);
    tx.prepare_cached(
        "insert into mails (id, recipient, kind, webhook_id, sealed, created_at, due_at) values (?1, ?2, ?3, ?4, ?5, ?6, ?6)",
    )?
    .execute((MailId::new(), &mail.to, mail.kind.as_str(), mail.webhook, sealed, now))?;
    tx.then(Effect::Queued(Queue::Mails));
    Ok(())
}

/// A mail under a lease, for one attempt to send it.
pub struct Claimed {
    pub id: MailId,
    pub attempts: u32,
    pub mail: Mail,
}

/// Leases the mail that has been due longest. A mail that the server's keys can't decrypt counts as a failed attempt: a command
/// may have sealed it with a new key that the server has not read yet.
pub fn claim(tx: &mut Tx) -> Result<Option<Claimed>> {
    let now = tx.now();
    let due: Option<(MailId, u32, Vec<u8>)> = tx
        .prepare_cached("select id, attempts, sealed from mails where due_at <= ?1 order by due_at limit 1")?
        .query_row([now], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((id, attempts, sealed)) = due else { return Ok(None) };
    let attempts = attempts + 1;
    tx.prepare_cached("update mails set due_at = ?2, attempts = ?3 where id = ?1")?.execute((id, now + LEASE, attempts))?;
    let opened = tx.site().keys().unseal(&sealed).and_then(|text| serde_json::from_str(&text).map_err(Error::internal));
    match opened {
        Ok(mail) => Ok(Some(Claimed { id, attempts, mail })),
        Err(err) => {
            let error = err.log_text();
            tracing::warn!(%id, attempts, error, "a mail could not be sent");
            failed(tx, id, attempts, &error).map(|()| None)
        }
    }
}

/// Replaces the text of a mail that was queued without.
pub fn fill_in_text(tx: &mut Tx, id: MailId, mail: &Mail) -> Result<()> {
    let sealed = seal(tx, mail)?;
    tx.prepare_cached("update mails set sealed = ?2 where id = ?1")?.execute((id, sealed))?;
    Ok(())
}

fn seal(tx: &Tx, mail: &Mail) -> Result<Vec<u8>> {
    Ok(tx.site().keys().seal(&serde_json::to_string(mail).map_err(Error::internal)?))
}

/// Records a mail as sent and erases its text.
pub fn sent(tx: &mut Tx, id: MailId) -> Result<()> {
    tx.prepare_cached("update mails set sealed = null, due_at = null, sent_at = ?2, error = '' where id = ?1")?
        .execute((id, tx.now()))?;
    Ok(())
}

/// Records a failed attempt: the mail is due again after its backoff, or given up and erased after the last attempt.
pub fn failed(tx: &mut Tx, id: MailId, attempts: u32, error: &str) -> Result<()> {
    match BACKOFF.get(attempts as usize - 1) {
        Some(wait) => {
            tx.prepare_cached("update mails set due_at = ?2, error = ?3 where id = ?1")?.execute((
                id,
                tx.now() + *wait,
                error,
            ))?;
            tx.then(Effect::Queued(Queue::Mails)); // due sooner than the end of its lease, which is waited for
            Ok(())
        }
        None => give_up(tx, id, error),
    }
}

fn give_up(tx: &mut Tx, id: MailId, error: &str) -> Result<()> {
    tracing::error!(%id, error, "a mail was given up");
    tx.prepare_cached("update mails set sealed = null, due_at = null, error = ?2 where id = ?1")?.execute((id, error))?;
    Ok(())
}

/// A mail that is not sent, as administrators see it: without its text, which may hold tokens.
#[derive(Serialize)]
pub struct Unsent {
    pub id: MailId,
    pub recipient: String,
    pub kind: String,
    pub created_at: Time,
    /// The next attempt; none once it is given up.
    pub due_at: Option<Time>,
    pub attempts: u32,
    pub error: String,
}

/// Lists the mails that wait or were given up, the newest first.
pub fn list_unsent(conn: &Connection, limit: u32) -> Result<Vec<Unsent>> {
    let mut select = conn.prepare_cached(
        "select id, recipient, kind, created_at, due_at, attempts, error from mails where sent_at is null order by id desc limit ?1",
    )?;
    let row = |row: &Row| {
        let mut columns = Columns::of_row(row);
        Ok(Unsent {
            id: columns.take()?,
            recipient: columns.take()?,
            kind: columns.take()?,
            created_at: columns.take()?,
            due_at: columns.take()?,
            attempts: columns.take()?,
            error: columns.take()?,
        })
    };
    Ok(select.query_map([limit], row)?.collect::<rusqlite::Result<_>>()?)
}

/// Makes all mails that wait after a failed attempt due now. Returns their number.
pub fn retry_all_now(tx: &mut Tx) -> Result<usize> {
    let due = tx.prepare_cached("update mails set due_at = ?1 where due_at > ?1 and error <> ''")?.execute([tx.now()])?;
    tx.then(Effect::Queued(Queue::Mails));
    Ok(due)
}

/// Deletes at most `limit` mails that were queued before the given time, and were sent or given up.
pub fn prune(tx: &mut Tx, before: Time, limit: u32) -> Result<usize> {
    let sql = "delete from mails where id in (select id from mails where due_at is null and created_at < ?1 limit ?2)";
    Ok(tx.prepare_cached(sql)?.execute((before, limit))?)
}

/// The time at which the next mail is due.
pub fn next_due(conn: &Connection) -> Result<Option<Time>> {
    Ok(conn.prepare_cached("select min(due_at) from mails where due_at is not null")?.query_row([], |row| row.get(0))?)
}

/// Counts the mails that are due now.
pub fn count_due(conn: &View) -> Result<i64> {
    Ok(conn.prepare_cached("select count(*) from mails where due_at <= ?1")?.query_row([conn.now()], |row| row.get(0))?)
}
