//! The record of a webhook, and its reads for managers.

use rusqlite::{Connection, OptionalExtension, Row};

use crate::{
    db::{Columns, View, text_enum},
    domain::{
        access::{self, Caller, HIDDEN_CHANNEL, UNKNOWN_CHANNEL},
        page::Page,
        webhooks::{subscription::Subscription, trigger_words::TriggerWords},
    },
    error::{Code, Error, Result},
    id::{ChannelId, OrganisationId, UserId, WebhookId},
    secret::Hash,
    time::Time,
};

#[derive(Clone, Debug)]
pub struct Webhook {
    pub id: WebhookId,
    pub channel: ChannelId,
    /// The member who answers for the webhook; see [`super::owners`].
    pub owner_id: UserId,
    pub name: String,
    pub event_name: String,
    /// The address to which the channel's messages are delivered; empty for none.
    pub url: String,
    /// The member who answers for the address because they set it or vouched for it; none without an address.
    pub(in crate::domain) url_by: Option<UserId>,
    /// Host and port of the address.
    pub target: String,
    /// Whether feeds are taken only from who proves to know a secret.
    pub has_sender_secret: bool,
    /// What is delivered.
    pub events: Subscription,
    pub trigger_words: TriggerWords,
    /// The organisation, if the webhook delivers from all its public channels; none if it delivers from its own channel alone.
    pub organisation: Option<OrganisationId>,
    /// Whether a delivery waits until the one before it has succeeded or was given up.
    pub is_ordered: bool,
    pub status: Status,
    /// Number of the current slug, which is derived from it; each new slug increases it.
    pub generation: i64,
    /// The hash of that slug.
    pub slug_hash: Hash,
    pub created_at: Time,
    pub updated_at: Time,
}

text_enum! {
    pub enum Status {
        Active = "active",
        /// The webhook refuses feeds and delivers nothing.
        Inactive = "inactive",
        /// The webhook takes feeds without posting them, and holds deliveries.
        Paused = "paused",
    }
}

/// The error for a missing webhook in a channel whose webhooks the caller manages.
pub(in crate::domain) const UNKNOWN: Error = Error::NotFound(Code::WebhookNotFound);

/// The signing secrets: the webhook's own, and the previous one while it is valid. 422 when the server's key can't open
/// them.
pub(in crate::domain) fn secrets(conn: &View, id: WebhookId) -> Result<Vec<String>> {
    let sealed: Vec<Vec<u8>> = conn
        .prepare_cached(
            "select secret from webhooks where id = ?1
             union all select old_secret from webhooks where id = ?1 and old_secret_until > ?2",
        )?
        .query_map((id, conn.now()), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    sealed.iter().map(|secret| open(conn, secret, "webhook")).collect()
}

/// A secret that is stored with a program, which `whose` names. 422 when the server's key can't open it.
pub(in crate::domain) fn open(conn: &View, sealed: &[u8], whose: &str) -> Result<String> {
    conn.site().keys().unseal(sealed).map_err(|_| {
        let says = format!("the {whose}'s secret can't be read, for the server's key was replaced: give it a new one");
        Error::Invalid(Code::SecretUnreadable.says(says))
    })
}

/// Reads a webhook. For managers. 403 for hidden channels, 404 for a webhook that is not the channel's.
pub fn get(conn: &Connection, caller: Caller, channel: ChannelId, id: WebhookId) -> Result<Webhook> {
    access::require_webhook_manager(conn, caller, channel, HIDDEN_CHANNEL)?;
    find(conn, channel, id)?.ok_or(UNKNOWN)
}

/// Reads the channel's oldest webhook. For managers. 404 for hidden channels, and when there is none.
pub fn oldest_of_channel(conn: &Connection, caller: Caller, channel: ChannelId) -> Result<Webhook> {
    list(conn, caller, channel, Page { size: 1, offset: 0 })?.pop().ok_or(UNKNOWN)
}

/// Lists the channel's webhooks, oldest first. For managers. 404 for hidden channels.
pub fn list(conn: &Connection, caller: Caller, channel: ChannelId, page: Page) -> Result<Vec<Webhook>> {
    access::require_webhook_manager(conn, caller, channel, UNKNOWN_CHANNEL)?;
    let sql = format!("{SELECT} where channel_id = ?1 and deleted_at is null order by created_at, id limit ?2 offset ?3");
    let found =
        conn.prepare_cached(&sql)?.query_map((channel, page.size, page.offset), from_row)?.collect::<rusqlite::Result<_>>()?;
    Ok(found)
}

pub(in crate::domain) fn find(conn: &Connection, channel: ChannelId, id: WebhookId) -> Result<Option<Webhook>> {
    let sql = format!("{SELECT} where id = ?1 and channel_id = ?2 and deleted_at is null");
    Ok(conn.prepare_cached(&sql)?.query_row((id, channel), from_row).optional()?)
}

/// Selects webhooks. [`from_row`] takes the columns in this order.
const SELECT: &str = "select id, channel_id, owner_id, name, event_name, url, url_by, target, sender_secret is not null, events, trigger_words, organisation_id, is_ordered, status, generation, slug_hash, created_at, updated_at from webhooks";

fn from_row(row: &Row) -> rusqlite::Result<Webhook> {
    let mut columns = Columns::of_row(row);
    Ok(Webhook {
        id: columns.take()?,
        channel: columns.take()?,
        owner_id: columns.take()?,
        name: columns.take()?,
        event_name: columns.take()?,
        url: columns.take()?,
        url_by: columns.take()?,
        target: columns.take()?,
        has_sender_secret: columns.take()?,
        events: columns.take()?,
        trigger_words: columns.take()?,
        organisation: columns.take()?,
        is_ordered: columns.take()?,
        status: columns.take()?,
        generation: columns.take()?,
        slug_hash: columns.take()?,
        created_at: columns.take()?,
        updated_at: columns.take()?,
    })
}
