//! Deliveries: what happens in a channel, for the addresses of its webhooks. [`super::following`] queues them, and
//! they are sent later, in the order that [`super::schedule`] keeps.
//!
//! Claiming a delivery checks that those who answer for the webhook still have access to its channel. [`super::attempt_results`]
//! handles the result of an attempt.

use std::time::Duration;

use bytes::Bytes;
use rusqlite::OptionalExtension;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::{
    db::Tx,
    domain::{
        rights::Rights,
        slice_byte_budget,
        webhooks::{
            owners,
            record::{self, Status},
            suspension,
        },
    },
    error::{Error, Result},
    id::{CallbackId, ChannelId, UserId, WebhookId},
    time::Time,
};

/// Lease of one attempt, after which another may start; longer than any attempt takes.
const LEASE: Duration = Duration::from_secs(60);
/// Bytes of events after which one write claims no more.
const CLAIMED_BYTES: usize = 256 << 10;

/// The body of a delivery, in the format of the Standard Webhooks specification.
#[derive(Serialize, JsonSchema)]
pub struct Delivery<D> {
    /// The kind of the delivery.
    r#type: &'static str,
    /// When the event happened.
    timestamp: Time,
    data: D,
}

/// The body of a delivery, or of a call of a program. `type` is the name of a kind.
pub(in crate::domain) fn payload(r#type: &'static str, timestamp: Time, data: impl Serialize) -> Result<String> {
    serde_json::to_string(&Delivery { r#type, timestamp, data }).map_err(Error::internal)
}

/// A delivery under lease, or a test, with all that an attempt needs.
#[derive(Clone)]
pub struct Claimed {
    pub id: CallbackId,
    pub webhook: WebhookId,
    pub url: String,
    pub payload: Bytes,
    /// Signing secrets (`whsec_…`): the webhook's own, and the previous one while it is valid.
    pub secrets: Vec<String>,
    /// Number of attempts before this one.
    pub(in crate::domain) attempts: u32,
    /// End of the lease, which identifies the lease; none for a test.
    pub(in crate::domain) lease: Option<Time>,
}

/// Result of an attempt to claim a webhook's next delivery.
pub enum Claim {
    Taken(Box<Claimed>),
    /// The webhook has no delivery due, or has stopped delivering.
    Nothing,
    /// A user who answers for the webhook has no access to the channel.
    Refused,
}

/// Leases the longest due delivery of each webhook, if it still has one. Goes through the webhooks in order and stops when
/// one write has read enough bytes, so there may be fewer results than webhooks.
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

/// Leases a webhook's next delivery, in the write that records the one before it. None if there is none, or nobody may deliver it.
pub fn claim_next(tx: &mut Tx, webhook: WebhookId) -> Result<Option<Claimed>> {
    Ok(match claim_one(tx, webhook)? {
        Claim::Taken(claimed) => Some(*claimed),
        Claim::Nothing | Claim::Refused => None,
    })
}

fn claim_one(tx: &mut Tx, webhook: WebhookId) -> Result<Claim> {
    let delivering: Option<(UserId, UserId, ChannelId, bool, bool)> = tx
        .prepare_cached(
            "select owner_id, url_by, channel_id, organisation_id is not null, is_ordered from webhooks
             where id = ?1 and status = 'active' and url <> '' and deleted_at is null",
        )?
        .query_row([webhook], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))
        .optional()?;
    let Some((owner, url_by, channel, is_of_all_channels, is_ordered)) = delivering else { return Ok(Claim::Nothing) };
    let needed = if is_of_all_channels { Rights::MANAGE_WEBHOOKS } else { Rights(0) };
    let may_know = |user| Ok::<_, Error>(owners::rights(tx, user, channel)?.is_some_and(|rights| rights.contains(needed)));
    // A user without access to a channel must not go on reading it through a webhook.
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
            tracing::error!(%webhook, err = err.log_text(), "a webhook's secret can't be read");
            suspension::stop(tx, webhook, Status::Inactive, "its secret can't be read; give it a new one")?;
            return Ok(Claim::Nothing);
        }
    }
    tx.prepare_cached("update deliveries set due_at = ?2, is_leased = 1, first_at = coalesce(first_at, ?3) where id = ?1")?
        .execute((claimed.id, claimed.lease, now))?;
    if is_ordered {
        tx.prepare_cached("update webhooks set waits_until = ?2 where id = ?1")?.execute((webhook, claimed.lease))?;
    }
    Ok(Claim::Taken(Box::new(claimed)))
}

/// SQL of a payload without the message's text, mentions and actions.
macro_rules! erased {
    () => {
        "json_replace(payload, '$.data.content', '', '$.data.message', '', '$.data.mentions', json('[]'), '$.data.actions', json('[]'))"
    };
}

/// SQL that selects a webhook's longest due delivery. A deleted message's text is left out, even if webhooks have not
/// followed the log up to its deletion.
pub const CLAIM: &str = concat!(
    "select d.id, d.attempts, w.url, iif(exists (select 1 from messages m where m.n = e.message_n and m.deleted_at is not null), ",
    erased!(),
    ", payload) as payload
    from webhooks w join deliveries d on d.webhook_id = w.id join webhook_events e on e.n = d.event_n
    where w.id = ?1 and coalesce(w.waits_until, 0) <= ?2 and d.due_at <= ?2 order by d.due_at, d.created_at, d.id limit 1"
);

/// Makes all deliveries due at once that a former server process had under lease when it ended. Returns how many.
pub fn release_all_leases(tx: &mut Tx) -> Result<usize> {
    let ordered = "update webhooks set waits_until = null
         where is_ordered = 1 and id in (select webhook_id from deliveries where is_leased = 1)";
    tx.prepare_cached(ordered)?.execute([])?;
    let sql = "update deliveries set due_at = created_at, is_leased = 0 where is_leased = 1";
    Ok(tx.prepare_cached(sql)?.execute([])?)
}

/// Erases the text of a deleted message from queued events and from sent ones.
pub(in crate::domain) fn erase(tx: &Tx, message_n: i64) -> Result<()> {
    let sql = concat!("update webhook_events set payload = ", erased!(), " where message_n = ?1");
    tx.prepare_cached(sql)?.execute([message_n])?;
    Ok(())
}

/// Deletes up to `limit` deliveries older than the given time, including those that a paused webhook has held since then.
pub fn prune(tx: &mut Tx, before: Time, limit: u32) -> Result<usize> {
    // Identifiers are ordered by time: the oldest come first, and no index is needed.
    Ok(tx
        .prepare_cached(
            "delete from deliveries where id in
               (select id from (select id, created_at from deliveries order by id limit ?2) where created_at < ?1)",
        )?
        .execute((before, limit))?)
}

/// Deletes up to `limit` events that no delivery refers to any more.
pub fn prune_unreferenced_events(tx: &mut Tx, limit: u32) -> Result<usize> {
    // The oldest events lose their deliveries first.
    let idle = "select n, octet_length(payload)
        from (select n, payload from webhook_events order by n limit ?1) oldest
        where not exists (select 1 from deliveries d where d.event_n = oldest.n)";
    let idle: Vec<i64> = slice_byte_budget::keys_within(tx, idle, [limit])?;
    let sql = "delete from webhook_events where n in (select value from json_each(?1))";
    Ok(tx.prepare_cached(sql)?.execute([json!(idle).to_string()])?)
}
