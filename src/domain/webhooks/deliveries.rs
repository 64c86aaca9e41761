//! Deliveries: new posts and replies on their way to the addresses of their channel's webhooks. They are queued as the
//! webhooks follow the log ([`super::following`]), and sent later, in the order that [`super::schedule`] keeps.
//!
//! Whether those who answer for a webhook may still know of its channel is asked when a delivery is claimed. What became of
//! an attempt is in [`super::retry`].

use std::time::Duration;

use bytes::Bytes;
use rusqlite::OptionalExtension;
use serde_json::{Value, json};

use crate::{
    db::Tx,
    domain::{
        bounded,
        webhooks::{
            owning,
            record::{self, Status},
            suspend,
        },
    },
    error::{Error, Result},
    id::{CallbackId, ChannelId, UserId, WebhookId},
    time::Time,
};

/// How long one attempt may take before another is made; longer than any does.
const LEASE: Duration = Duration::from_secs(60);
/// Bytes of events after which one write claims no more.
const CLAIMED_BYTES: usize = 256 << 10;

/// The body of an event, as the Standard Webhooks specification has it.
pub(super) fn payload(kind: &str, at: Time, data: Value) -> String {
    json!({ "type": kind, "timestamp": at, "data": data }).to_string()
}

/// A delivery under lease, or a test, with all that an attempt takes.
#[derive(Clone)]
pub struct Claimed {
    pub id: CallbackId,
    pub webhook: WebhookId,
    pub url: String,
    pub payload: Bytes,
    /// `whsec_…`: the webhook's, and the one before while that is good.
    pub secrets: Vec<String>,
    /// That were made before this one.
    pub(in crate::domain) attempts: u32,
    /// The end of the lease, by which it is known to be this one; none of a test.
    pub(in crate::domain) lease: Option<Time>,
}

/// What became of a webhook's turn to deliver.
pub enum Claim {
    Taken(Box<Claimed>),
    /// It has nothing to deliver now, or delivers nothing any more.
    Nothing,
    /// Somebody who answers for it may not know of the channel.
    Refused,
}

/// Takes under a lease what is due longest of each webhook, where something still is: of as many of them as one write
/// may read, in their order.
pub fn claim(tx: &mut Tx, webhooks: &[WebhookId]) -> Result<Vec<Claim>> {
    let (mut claims, mut bytes) = (Vec::new(), 0);
    for webhook in webhooks {
        if bytes >= CLAIMED_BYTES {
            break;
        }
        let claim = claim_one(tx, *webhook)?;
        if let Claim::Taken(claimed) = &claim {
            bytes += claimed.payload.len();
        }
        claims.push(claim);
    }
    Ok(claims)
}

fn claim_one(tx: &mut Tx, webhook: WebhookId) -> Result<Claim> {
    let delivering: Option<(UserId, UserId, ChannelId)> = tx
        .prepare_cached(
            "select owner_id, url_by, channel_id from webhooks
             where id = ?1 and status = 'active' and url <> '' and deleted_at is null",
        )?
        .query_row([webhook], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((owner, url_by, channel)) = delivering else { return Ok(Claim::Nothing) };
    let may_know = |user| Ok::<_, Error>(owning::rights(tx, user, channel)?.is_some());
    // Nobody goes on hearing a channel through a webhook.
    if !may_know(owner)? || (url_by != owner && !may_know(url_by)?) {
        return Ok(Claim::Refused);
    }
    let now = tx.now();
    let due = tx
        .prepare_cached(CLAIM)?
        .query_row((webhook, now), |row| {
            Ok(Claimed {
                id: row.get("id")?,
                webhook,
                url: row.get("url")?,
                payload: Bytes::from(row.get::<_, String>("payload")?),
                secrets: Vec::new(),
                attempts: row.get("attempts")?,
                lease: Some(now + LEASE),
            })
        })
        .optional()?;
    let Some(mut claimed) = due else { return Ok(Claim::Nothing) };
    match record::secrets(tx, webhook) {
        Ok(secrets) => claimed.secrets = secrets,
        Err(err) => {
            tracing::error!(%webhook, err = err.detail(), "a webhook's secret can't be read");
            suspend::stop(tx, webhook, Status::Inactive, "its secret can't be read; give it a new one")?;
            return Ok(Claim::Nothing);
        }
    }
    tx.prepare_cached("update deliveries set due_at = ?2, is_leased = 1, first_at = coalesce(first_at, ?3) where id = ?1")?
        .execute((claimed.id, claimed.lease, now))?;
    Ok(Claim::Taken(Box::new(claimed)))
}

/// A payload without the message's text.
macro_rules! erased {
    () => {
        "json_replace(payload, '$.data.content', '', '$.data.message', '', '$.data.mentions', json('[]'))"
    };
}

/// The text of a deleted message does not leave, though the log may not have been followed up to its deletion.
pub const CLAIM: &str = concat!(
    "select d.id, d.attempts, w.url, iif(exists (select 1 from messages m where m.n = d.message_n and m.deleted_at is not null), ",
    erased!(),
    ", payload) as payload
    from webhooks w join deliveries d on d.webhook_id = w.id join webhook_events e on e.message_n = d.message_n
    where w.id = ?1 and d.due_at <= ?2 order by d.due_at limit 1"
);

/// What a former server had under lease when it ended is due at once. Returns how many there were.
pub fn release(tx: &mut Tx) -> Result<usize> {
    let sql = "update deliveries set due_at = ?1, is_leased = 0 where is_leased = 1";
    Ok(tx.prepare_cached(sql)?.execute([tx.now()])?)
}

/// Takes the text of a deleted message out of what is queued and of what was sent.
pub(super) fn erase(tx: &Tx, message_n: i64) -> Result<()> {
    let sql = concat!("update webhook_events set payload = ", erased!(), " where message_n = ?1");
    tx.prepare_cached(sql)?.execute([message_n])?;
    Ok(())
}

/// Deletes what is older than the given time, up to `limit`: also what a paused webhook held all that while.
pub fn prune(tx: &mut Tx, before: Time, limit: u32) -> Result<usize> {
    // Identifiers are in the order of time: the oldest come first, and no index is needed.
    Ok(tx
        .prepare_cached(
            "delete from deliveries where id in
               (select id from (select id, created_at from deliveries order by id limit ?2) where created_at < ?1)",
        )?
        .execute((before, limit))?)
}

/// Deletes events that no delivery carries any more, up to `limit`.
pub fn prune_events(tx: &mut Tx, limit: u32) -> Result<usize> {
    // The oldest lose their deliveries first.
    let idle = "select message_n, octet_length(payload)
        from (select message_n, payload from webhook_events order by message_n limit ?1) oldest
        where not exists (select 1 from deliveries d where d.message_n = oldest.message_n)";
    let idle: Vec<i64> = bounded::rows(tx, idle, [limit])?;
    let sql = "delete from webhook_events where message_n in (select value from json_each(?1))";
    Ok(tx.prepare_cached(sql)?.execute([json!(idle).to_string()])?)
}
