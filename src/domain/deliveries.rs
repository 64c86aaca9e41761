//! Deliveries: new posts and replies on their way to the addresses of their channel's webhooks. A delivery is a
//! row of the message's own transaction, and is sent later.
//!
//! Each webhook knows when its next delivery is due (`next_due`, see [`wake`]), so that neither a long queue nor a
//! target without room is looked through. What became of an attempt is in [`super::outcomes`].

use std::{collections::HashMap, time::Duration};

use rusqlite::{Connection, OptionalExtension};
use serde_json::{Value, json};

use crate::{
    db::Tx,
    domain::{messages::Message, outcomes, webhooks},
    error::Result,
    event::Effect,
    id::{CallbackId, WebhookId},
    site::Site,
    time::Time,
};

/// How long one attempt may take before another is made; longer than any does.
const LEASE: Duration = Duration::from_secs(60);

/// Queues a new message for each webhook of its channel that delivers: a paused one, too, which holds it. A feed's
/// post goes nowhere: two servers that feed each other would never end.
pub(super) fn queue(tx: &mut Tx, message: &Message, object: Value) -> Result<()> {
    if message.user.is_none() {
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
    let payload = payload("message.created", message.created_at, object);
    for webhook in webhooks {
        let now = Time::now();
        tx.prepare_cached(
            "insert into deliveries (id, webhook_id, message_n, payload, due_at, created_at) values (?1, ?2, ?3, ?4, ?5, ?5)",
        )?
        .execute((CallbackId::new(), webhook, message.n, &payload, now))?;
        wake(tx, webhook)?;
    }
    Ok(())
}

/// The body of an event, as the Standard Webhooks specification has it.
pub(super) fn payload(kind: &str, at: Time, data: Value) -> String {
    json!({ "type": kind, "timestamp": at, "data": data }).to_string()
}

/// Brings `next_due` of a webhook in line with its deliveries and with whether it sends any. To be called after
/// every change to either.
pub(super) fn wake(tx: &mut Tx, webhook: WebhookId) -> Result<()> {
    tx.prepare_cached(
        "update webhooks set next_due = case
           when status = 'active' and url <> '' and deleted_at is null and exists (select 1 from channels c
             join organisations o on o.id = c.organisation_id
             where c.id = webhooks.channel_id and c.deleted_at is null and o.deleted_at is null)
           then (select min(due_at) from deliveries where webhook_id = ?1 and due_at is not null) end
         where id = ?1",
    )?
    .execute([webhook])?;
    tx.then(Effect::DeliveryQueued);
    Ok(())
}

/// What is being sent, which is bounded: in all, for one target, and for targets that fail, which hold on to their
/// place the longest.
#[derive(Clone, Debug, Default)]
pub struct Room {
    by_target: HashMap<String, usize>,
    all: usize,
    failing: usize,
}

impl Room {
    const ALL: usize = 32;
    const FAILING: usize = 16;
    const OF_A_TARGET: usize = 4;

    pub fn has_place(&self, target: &str) -> bool {
        self.all < Room::ALL && self.by_target.get(target).is_none_or(|taken| *taken < Room::OF_A_TARGET)
    }

    pub fn enter(&mut self, target: &str, is_failing: bool) {
        *self.by_target.entry(target.to_owned()).or_default() += 1;
        self.all += 1;
        self.failing += usize::from(is_failing);
    }

    pub fn leave(&mut self, target: &str, is_failing: bool) {
        if let Some(taken) = self.by_target.get_mut(target) {
            *taken -= 1;
            if *taken == 0 {
                self.by_target.remove(target);
            }
        }
        self.all -= 1;
        self.failing -= usize::from(is_failing);
    }

    /// The targets at their bound, as JSON.
    fn full(&self) -> String {
        let full = self.by_target.iter().filter(|(_, taken)| **taken >= Room::OF_A_TARGET).map(|(target, _)| target);
        json!(full.collect::<Vec<_>>()).to_string()
    }
}

/// A delivery under lease, or a test, with all that an attempt takes.
#[derive(Clone, Debug)]
pub struct Claimed {
    pub id: CallbackId,
    pub webhook: WebhookId,
    pub url: String,
    pub target: String,
    pub is_failing: bool,
    pub payload: String,
    /// `whsec_…`: the webhook's, and the one before while that is good.
    pub secrets: Vec<String>,
    /// The end of the lease, by which it is known to be this one; none of a test.
    pub(super) lease: Option<Time>,
}

/// Takes what is due under a lease, as much as there is room for.
pub fn claim(tx: &mut Tx, site: &Site, mut room: Room) -> Result<Vec<Claimed>> {
    let (mut claimed, now) = (Vec::new(), Time::now());
    while let Some((webhook, _)) = next(tx, &room)?.filter(|(_, due)| *due <= now) {
        if let Some(taken) = take(tx, site, webhook, now)? {
            room.enter(&taken.target, taken.is_failing);
            claimed.push(taken);
        }
    }
    Ok(claimed)
}

/// When something is due for which there is room.
pub fn next_due(conn: &Connection, room: &Room) -> Result<Option<Time>> {
    Ok(next(conn, room)?.map(|(_, due)| due))
}

/// How many webhooks have something to deliver now.
pub fn count_due(conn: &Connection) -> Result<i64> {
    let sql = "select count(*) from webhooks where next_due <= ?1";
    Ok(conn.prepare_cached(sql)?.query_row([Time::now()], |row| row.get(0))?)
}

/// Whose turn it is, and when.
fn next(conn: &Connection, room: &Room) -> Result<Option<(WebhookId, Time)>> {
    if room.all >= Room::ALL {
        return Ok(None);
    }
    Ok(conn
        .prepare_cached(NEXT)?
        .query_row((room.full(), room.failing < Room::FAILING), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?)
}

pub const NEXT: &str = "select id, next_due from webhooks
    where next_due is not null and target not in (select value from json_each(?1)) and (is_failing = 0 or ?2)
    order by next_due limit 1";

/// The webhook's delivery that is due longest.
fn take(tx: &mut Tx, site: &Site, webhook: WebhookId, now: Time) -> Result<Option<Claimed>> {
    wake(tx, webhook)?; // a channel may have gone since
    let due = tx
        .prepare_cached(TAKE)?
        .query_row((webhook, now), |row| {
            Ok(Claimed {
                id: row.get("id")?,
                webhook,
                url: row.get("url")?,
                target: row.get("target")?,
                is_failing: row.get("is_failing")?,
                payload: row.get("payload")?,
                secrets: Vec::new(),
                lease: Some(now + LEASE),
            })
        })
        .optional()?;
    let Some(mut claimed) = due else { return Ok(None) };
    match webhooks::secrets(tx, site, webhook) {
        Ok(secrets) => claimed.secrets = secrets,
        Err(err) => {
            tracing::error!(%webhook, err = err.detail(), "a webhook's secret can't be read");
            outcomes::stop(tx, site, webhook, "its secret can't be read; give it a new one")?;
            return Ok(None);
        }
    }
    tx.prepare_cached("update deliveries set due_at = ?2, is_leased = 1, first_at = coalesce(first_at, ?3) where id = ?1")?
        .execute((claimed.id, claimed.lease, now))?;
    wake(tx, webhook)?;
    Ok(Some(claimed))
}

pub const TAKE: &str = "select d.id, d.payload, w.url, w.target, w.is_failing
    from webhooks w join deliveries d on d.webhook_id = w.id
    where w.id = ?1 and w.next_due is not null and d.due_at <= ?2 order by d.due_at limit 1";

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
pub(super) fn erase(tx: &Tx, message_n: i64) -> Result<()> {
    tx.prepare_cached(
        "update deliveries set payload = json_replace(payload, '$.data.content', '', '$.data.message', '',
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
