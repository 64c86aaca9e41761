//! Webhooks that stop to deliver, though nobody said so: their owners are told.

use serde_json::json;

use crate::{
    db::Tx,
    domain::{deliveries, events, outbox, webhooks::Status},
    error::Result,
    event::{Audience, Stream},
    id::{ChannelId, OrganisationId, UserId, WebhookId},
    mail,
    site::Site,
    time::Time,
};

struct Stopped {
    name: String,
    channel: ChannelId,
    channel_name: String,
    organisation: OrganisationId,
    owner: UserId,
    email: String,
}

/// Makes a webhook inactive, or paused if it is active, and tells its owner by mail and by push, unless it was deleted
/// meanwhile, itself or with its channel or organisation. What it has queued is kept.
pub(super) fn stop(tx: &mut Tx, site: &Site, webhook: WebhookId, status: Status, reason: &str) -> Result<()> {
    let status = status.as_str();
    let changed = tx
        .prepare_cached(
            "update webhooks set status = ?2, updated_at = ?3
             where id = ?1 and status not in (?2, 'inactive') and deleted_at is null and exists (select 1
               from channels c join organisations o on o.id = c.organisation_id
               where c.id = webhooks.channel_id and c.deleted_at is null and o.deleted_at is null)",
        )?
        .execute((webhook, status, Time::now()))?;
    deliveries::wake(tx, webhook)?;
    if changed == 0 {
        return Ok(());
    }
    tracing::info!(%webhook, status, reason, "a webhook was stopped");
    let stopped = tx
        .prepare_cached(
            "select w.name, w.channel_id, c.name as channel_name, c.organisation_id, w.owner_id, u.email
             from webhooks w join channels c on c.id = w.channel_id join users u on u.id = w.owner_id where w.id = ?1",
        )?
        .query_row([webhook], |row| {
            Ok(Stopped {
                name: row.get("name")?,
                channel: row.get("channel_id")?,
                channel_name: row.get("channel_name")?,
                organisation: row.get("organisation_id")?,
                owner: row.get("owner_id")?,
                email: row.get("email")?,
            })
        })?;
    let data = json!({
        "id": webhook, "channel_id": stopped.channel, "channels_id": stopped.channel, "organisation_id": stopped.organisation,
        "webhook_name": stopped.name, "status": status, "reason": reason,
    });
    let body = events::envelope("webhook_update", events::CHANNELS_SECTION, data);
    let new = events::New {
        stream: Stream::Personal(stopped.organisation, stopped.owner),
        audience: Audience::Subscribers,
        kind: "webhook_update",
        channel: Some(stopped.channel),
        message: None,
        actor: None,
        body: &body,
    };
    events::emit(tx, new)?;
    outbox::queue(tx, site, mail::webhook_stopped(&stopped.email, &stopped.name, &stopped.channel_name, status, reason))
}
