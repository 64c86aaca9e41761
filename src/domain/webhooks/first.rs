//! The first webhook of each channel in a list, for who may manage the channel's webhooks.

use std::collections::HashMap;

use rusqlite::Connection;
use serde_json::json;

use crate::{
    domain::channels::lists::Described,
    error::{Error, Result},
    id::{ChannelId, WebhookId},
};

/// A channel as lists show it.
pub struct WithWebhook {
    pub channel: Described,
    /// The oldest webhook and its generation, where the caller manages the channel's webhooks.
    pub webhook: Option<(WebhookId, i64)>,
}

impl WithWebhook {
    /// A direct message, which has no webhooks.
    pub fn none(channel: Described) -> WithWebhook {
        WithWebhook { channel, webhook: None }
    }
}

/// Adds each channel's oldest webhook, with one statement for all.
pub fn of_all(conn: &Connection, found: Vec<Described>) -> Result<Vec<WithWebhook>> {
    let managed = found.iter().filter(|described| described.manages_webhooks);
    let ids: Vec<String> = managed.map(|described| described.channel.id.0.simple().to_string()).collect();
    // The oldest comes last and stays.
    let mut select = conn.prepare_cached(
        "select w.channel_id, w.id, w.generation from json_each(?1) listed cross join webhooks w on w.channel_id = unhex(listed.value)
         where w.deleted_at is null order by w.created_at desc, w.id desc",
    )?;
    let mut oldest: HashMap<ChannelId, (WebhookId, i64)> = select
        .query_map([json!(ids).to_string()], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(found.into_iter().map(|channel| WithWebhook { webhook: oldest.remove(&channel.channel.id), channel }).collect())
}

/// [`of_all`] for one channel.
pub fn of(conn: &Connection, found: Described) -> Result<WithWebhook> {
    of_all(conn, vec![found])?.pop().ok_or_else(|| Error::internal("one channel gives one description"))
}
