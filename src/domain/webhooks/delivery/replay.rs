//! Deliveries on demand: events that are sent again, and events that only test a webhook. For managers of the channel's
//! webhooks.

use rusqlite::Connection;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    db::{Tx, View},
    domain::{
        access::{self, Caller},
        webhooks::{
            delivery::{
                kind::DeliveryKind,
                outcome::Outcome,
                queue::{self, Claimed},
                schedule,
            },
            history::{self, Attempt},
            record::{self, Status, Webhook},
        },
    },
    error::{Code, Error, Result},
    id::{AttemptId, CallbackId, ChannelId, UserId, WebhookId},
    time::Time,
};

/// Events that one call sends again, at most.
const MOST: usize = 1000;

/// Queues the event of an attempt again, under its own id and with the whole schedule of attempts. For managers. 404 for an
/// attempt that is not in the webhook's history; 422 for one that delivered nothing, for an event that is not kept any more,
/// and for a webhook that does not deliver.
pub fn replay(tx: &mut Tx, caller: Caller, channel: ChannelId, webhook: WebhookId, attempt: AttemptId) -> Result<CallbackId> {
    let webhook = record::get(tx, caller, channel, webhook)?;
    let attempt = history::find(tx, webhook.id, attempt)?.ok_or(Error::NotFound(Code::AttemptNotFound))?;
    require_delivering(&webhook)?;
    if again(tx, &webhook, &[attempt.callback])? == 0 {
        return Err(Error::Invalid(Code::TooOld.says("only deliveries of the last 30 days can be sent again").with_limit(30u64)));
    }
    Ok(attempt.callback)
}

/// Lists the webhook's events made from `since` until before `until` that are not queued, whether they were delivered or
/// given up. For managers; [`replay_some`] queues them again. 422 for more than 1,000 events, and for a webhook that does
/// not deliver.
pub fn list_events_between(
    conn: &Connection,
    caller: Caller,
    channel: ChannelId,
    webhook: WebhookId,
    since: Time,
    until: Time,
) -> Result<Vec<CallbackId>> {
    let webhook = record::get(conn, caller, channel, webhook)?;
    if since >= until {
        return Err(Error::Invalid(Code::InvertedRange.says("since must be before until").at("since")));
    }
    require_delivering(&webhook)?;
    let events: Vec<CallbackId> = conn
        .prepare_cached(SPAN)?
        .query_map((webhook.id, since, until, MOST as i64 + 1), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    if events.len() > MOST {
        return Err(Error::Invalid(
            Code::RangeTooLarge.says(format!("these are more than {MOST} events: name a shorter time")).with_limit(MOST),
        ));
    }
    Ok(events)
}

/// Events that one write queues, at most.
pub const SLICE: usize = 200;

/// Queues up to [`SLICE`] of the webhook's events again, as [`replay`] does. Returns how many were still kept.
pub fn replay_some(tx: &mut Tx, caller: Caller, channel: ChannelId, webhook: WebhookId, events: &[CallbackId]) -> Result<usize> {
    let webhook = record::get(tx, caller, channel, webhook)?;
    require_delivering(&webhook)?;
    again(tx, &webhook, events)
}

pub const SPAN: &str =
    "select id from deliveries where webhook_id = ?1 and due_at is null and created_at >= ?2 and created_at < ?3
    order by created_at limit ?4";

fn again(tx: &mut Tx, webhook: &Webhook, events: &[CallbackId]) -> Result<usize> {
    let mut queued = 0;
    for event in events {
        // An event that is being sent at this moment is sent once more.
        queued += tx
            .prepare_cached(
                "update deliveries set due_at = ?3, attempts = 0, first_at = null, is_leased = 0
                 where id = ?1 and webhook_id = ?2",
            )?
            .execute((event, webhook.id, tx.now()))?;
    }
    schedule::changed(tx, webhook.id);
    Ok(queued)
}

fn require_delivering(webhook: &Webhook) -> Result<()> {
    require_address(webhook)?;
    if webhook.status == Status::Inactive {
        Err(Error::Invalid(Code::WebhookInactive.says("the webhook is inactive: make it active first")))
    } else {
        Ok(())
    }
}

/// The user who answers for the webhook's address. 422 without one.
fn require_address(webhook: &Webhook) -> Result<UserId> {
    let without = || Error::Invalid(Code::WebhookWithoutUrl.says("the webhook has no webhook_url to deliver to"));
    webhook.url_by.ok_or_else(without)
}

/// An event that only tests a webhook's address.
pub struct Test {
    /// The account that answers for the address.
    pub account: UserId,
    /// Host and port of the address.
    pub host: String,
    pub event: Claimed,
}

/// The webhook that is tested.
#[derive(Serialize, JsonSchema)]
pub struct Tested<'a> {
    /// The webhook.
    webhook_id: WebhookId,
    /// The webhook's name.
    webhook_name: &'a str,
    /// The webhook's channel.
    channel_id: ChannelId,
    /// Says that this is a test, for people to read.
    message: &'a str,
}

/// Builds a test event, whatever the webhook's status. For managers. 422 without an address, and when the secret can't be
/// read.
pub fn build_test(conn: &View, caller: Caller, channel: ChannelId, webhook: WebhookId) -> Result<Test> {
    let webhook = record::get(conn, caller, channel, webhook)?;
    let url_by = require_address(&webhook)?;
    let message = "A test: this webhook's deliveries arrive.";
    let data = Tested { webhook_id: webhook.id, webhook_name: &webhook.name, channel_id: channel, message };
    let payload = queue::payload(DeliveryKind::Test.name(), conn.now(), data)?;
    let event = Claimed {
        id: CallbackId::new(),
        webhook: webhook.id,
        secrets: record::secrets(conn, webhook.id)?,
        url: webhook.url,
        payload: payload.into(),
        attempts: 0,
        lease: None,
    };
    Ok(Test { account: access::answerable_person(conn, url_by)?, host: webhook.target, event })
}

/// Records a test, and returns the record. Changes nothing else, because a test says nothing about the webhook's events.
pub fn record_test(tx: &mut Tx, test: &Claimed, outcome: &Outcome) -> Result<Attempt> {
    let id = history::record_sent(tx, test, "test", outcome, None)?;
    history::find(tx, test.webhook, id)?.ok_or_else(|| Error::internal("the record was just written"))
}
