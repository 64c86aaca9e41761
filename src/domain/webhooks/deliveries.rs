//! Deliveries: new posts and replies on their way to the addresses of their channel's webhooks. A delivery is a
//! row of the message's own transaction, and is sent later.
//!
//! Each webhook knows when its next delivery is due (`next_due`, see `wake`), so that neither a long queue nor a
//! target without room is looked through. What became of an attempt is in [`super::retry`].

use std::time::Duration;

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension, Params};
use serde_json::{Value, json};

use crate::{
    db::Tx,
    domain::{
        bounded,
        chores::{self, Chore, Cursor},
        messages::{self, Message, events},
        webhooks::{
            self, Status,
            delivery_slots::{Room, Wanted},
            owning, suspend,
        },
    },
    error::{Error, Result},
    event::Effect,
    id::{CallbackId, ChannelId, OrganisationId, UserId, WebhookId},
    site::Site,
    time::Time,
};

/// How long one attempt may take before another is made; longer than any does.
const LEASE: Duration = Duration::from_secs(60);
/// Deliveries claimed in one write.
const AT_ONCE: usize = 32;
/// Bytes of events after which one write claims no more.
const CLAIMED_BYTES: usize = 256 << 10;
/// Webhooks of one user that one write wakes.
const WOKEN: usize = 200;

/// Queues a new message for each webhook of its channel that delivers: a paused one, too, which holds it. A feed's
/// post goes nowhere: two servers that feed each other would never end.
pub(in crate::domain) fn queue(tx: &mut Tx, message: &Message, organisation: OrganisationId) -> Result<()> {
    if message.kind == messages::FED {
        return Ok(());
    }
    let webhooks: Vec<WebhookId> = tx
        .prepare_cached(
            "select id from webhooks where channel_id = ?1 and deleted_at is null and url <> '' and status <> 'inactive'",
        )?
        .query_map([message.channel], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    if webhooks.is_empty() {
        return Ok(());
    }
    let payload = payload("message.created", message.created_at, events::object(message, organisation));
    tx.prepare_cached("insert into webhook_events (message_n, payload) values (?1, ?2)")?.execute((message.n, payload))?;
    for webhook in webhooks {
        let sql = "insert into deliveries (id, webhook_id, message_n, due_at, created_at) values (?1, ?2, ?3, ?4, ?4)";
        tx.prepare_cached(sql)?.execute((CallbackId::new(), webhook, message.n, Time::now()))?;
        wake(tx, webhook)?;
    }
    Ok(())
}

/// The body of an event, as the Standard Webhooks specification has it.
pub(in crate::domain) fn payload(kind: &str, at: Time, data: Value) -> String {
    json!({ "type": kind, "timestamp": at, "data": data }).to_string()
}

/// Brings `next_due` of a webhook in line with its deliveries and with whether it sends any. To be called after every
/// change to either.
pub(in crate::domain) fn wake(tx: &mut Tx, webhook: WebhookId) -> Result<()> {
    let sends = sends(tx, webhook)?;
    set_next_due(tx, webhook, sends)?;
    tx.then(Effect::DeliveryQueued);
    Ok(())
}

fn set_next_due(tx: &Tx, webhook: WebhookId, sends: bool) -> Result<()> {
    tx.prepare_cached(
        "update webhooks set next_due =
           case when ?2 then (select min(due_at) from deliveries where webhook_id = ?1 and due_at is not null) end
         where id = ?1",
    )?
    .execute((webhook, sends))?;
    Ok(())
}

/// Only while the owner and whoever set the address may know of the channel: nobody goes on hearing it through a webhook.
fn sends(conn: &Connection, webhook: WebhookId) -> Result<bool> {
    let delivering: Option<(UserId, UserId, ChannelId)> = conn
        .prepare_cached(
            "select owner_id, url_by, channel_id from webhooks
             where id = ?1 and status = 'active' and url <> '' and deleted_at is null",
        )?
        .query_row([webhook], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((owner, url_by, channel)) = delivering else { return Ok(false) };
    let may_know = |user| Ok::<_, Error>(owning::rights(conn, user, channel)?.is_some());
    Ok(may_know(owner)? && (url_by == owner || may_know(url_by)?))
}

/// [`wake`] for all webhooks that a user answers for, when their access changed: those that they own, and those whose
/// address they set. The last may follow later: what sends too much until then is held back when it is claimed.
pub(in crate::domain) fn wake_of(tx: &mut Tx, user: UserId) -> Result<()> {
    let rest = wake_slice(tx, user, &[])?;
    chores::leave(tx, Chore::Webhooks { user }, rest)
}

/// [`wake`] for some of these webhooks.
pub(in crate::domain) fn wake_slice(tx: &mut Tx, user: UserId, after: &[u8]) -> Result<Option<Cursor>> {
    let mut webhooks = owning::some_of(tx, user, after, WOKEN)?;
    for (webhook, _) in &webhooks {
        wake(tx, *webhook)?;
    }
    let is_full = webhooks.len() == WOKEN;
    Ok(webhooks.pop().filter(|_| is_full).map(|(_, place)| place))
}

/// [`wake`] for those in one channel, when the user's access to it changed.
pub(in crate::domain) fn wake_of_in(tx: &mut Tx, user: UserId, channel: ChannelId) -> Result<()> {
    let select = "select id from webhooks where (owner_id = ?1 or url_by = ?1) and channel_id = ?2 and url <> ''
      and deleted_at is null";
    wake_all(tx, select, (user, channel))
}

/// [`wake`] for all webhooks of a channel, when it changed who may know of it.
pub(in crate::domain) fn wake_in(tx: &mut Tx, channel: ChannelId) -> Result<()> {
    wake_all(tx, "select id from webhooks where channel_id = ?1 and url <> '' and deleted_at is null", [channel])
}

fn wake_all(tx: &mut Tx, select: &str, of: impl Params) -> Result<()> {
    let webhooks: Vec<WebhookId> =
        tx.prepare_cached(select)?.query_map(of, |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    webhooks.into_iter().try_for_each(|webhook| wake(tx, webhook))
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

/// A webhook that may send an event now.
#[derive(Debug)]
pub struct Turn {
    pub webhook: WebhookId,
    pub place: Wanted,
}

/// Whose turn it is, as many as there is room for and as one write should take; and when the next is due of those that
/// could be sent now. Each webhook is named once: if more of its events are due, it comes again.
pub fn turns(conn: &Connection, mut room: Room) -> Result<(Vec<Turn>, Option<Time>)> {
    let (mut turns, mut next, now) = (Vec::new(), None, Time::now());
    // First those that get no more than half of the places.
    for is_prompt in [false, true] {
        let mut due = conn.prepare_cached(DUE)?;
        let mut rows = due.query([is_prompt])?;
        while room.has_any(is_prompt)
            && turns.len() < AT_ONCE
            && let Some(row) = rows.next()?
        {
            let due: Time = row.get("next_due")?;
            if due > now {
                next = next.into_iter().chain([due]).min();
                break;
            }
            let place = Wanted { organisation: row.get("organisation_id")?, target: row.get("target")?, is_prompt };
            if room.enter(&place) {
                turns.push(Turn { webhook: row.get("id")?, place });
            }
        }
    }
    Ok((turns, next))
}

pub const DUE: &str = "select w.id, w.target, w.next_due, c.organisation_id
    from webhooks w cross join channels c on c.id = w.channel_id
    where w.is_prompt = ?1 and w.next_due is not null order by w.next_due";

/// How many webhooks have something to deliver now.
pub fn count_due(conn: &Connection) -> Result<i64> {
    // Both kinds are named, so that the index serves.
    let sql = "select count(*) from webhooks where is_prompt in (0, 1) and next_due <= ?1";
    Ok(conn.prepare_cached(sql)?.query_row([Time::now()], |row| row.get(0))?)
}

/// Takes under a lease what is due longest of each webhook, where something still is: of as many of them as one write
/// may read, in their order.
pub fn claim(tx: &mut Tx, site: &Site, webhooks: &[WebhookId]) -> Result<Vec<Option<Claimed>>> {
    let (mut claimed, mut bytes) = (Vec::new(), 0);
    for webhook in webhooks {
        if bytes >= CLAIMED_BYTES {
            break;
        }
        let next = claim_one(tx, site, *webhook)?;
        bytes += next.as_ref().map_or(0, |next| next.payload.len());
        claimed.push(next);
    }
    Ok(claimed)
}

fn claim_one(tx: &mut Tx, site: &Site, webhook: WebhookId) -> Result<Option<Claimed>> {
    if !sends(tx, webhook)? {
        set_next_due(tx, webhook, false)?; // its channel has gone since
        return Ok(None);
    }
    let now = Time::now();
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
    let Some(mut claimed) = due else {
        set_next_due(tx, webhook, true)?; // what was due has gone since
        return Ok(None);
    };
    match webhooks::secrets(tx, site, webhook) {
        Ok(secrets) => claimed.secrets = secrets,
        Err(err) => {
            tracing::error!(%webhook, err = err.detail(), "a webhook's secret can't be read");
            suspend::stop(tx, site, webhook, Status::Inactive, "its secret can't be read; give it a new one")?;
            return Ok(None);
        }
    }
    tx.prepare_cached("update deliveries set due_at = ?2, is_leased = 1, first_at = coalesce(first_at, ?3) where id = ?1")?
        .execute((claimed.id, claimed.lease, now))?;
    set_next_due(tx, webhook, true)?;
    Ok(Some(claimed))
}

pub const CLAIM: &str = "select d.id, d.attempts, w.url, e.payload
    from webhooks w join deliveries d on d.webhook_id = w.id join webhook_events e on e.message_n = d.message_n
    where w.id = ?1 and d.due_at <= ?2 order by d.due_at limit 1";

/// What a former server had under lease when it ended is due at once. Returns how many there were.
pub fn release(tx: &mut Tx) -> Result<usize> {
    let leased: Vec<WebhookId> = tx
        .prepare_cached("update deliveries set due_at = ?1, is_leased = 0 where is_leased = 1 returning webhook_id")?
        .query_map([Time::now()], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for webhook in &leased {
        wake(tx, *webhook)?;
    }
    Ok(leased.len())
}

/// Takes the text of a deleted message out of what is queued and of what was sent.
pub(in crate::domain) fn erase(tx: &Tx, message_n: i64) -> Result<()> {
    tx.prepare_cached(
        "update webhook_events set payload = json_replace(payload, '$.data.content', '', '$.data.message', '',
           '$.data.mentions', json('[]'))
         where message_n = ?1",
    )?
    .execute([message_n])?;
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
