//! The owner of a webhook, and what they are told of it.

use serde_json::json;

use crate::{
    db::Tx,
    domain::{events, outbox},
    error::Result,
    event::{Audience, Stream},
    id::{ChannelId, OrganisationId, UserId, WebhookId},
    mail::Mail,
    site::Site,
};

/// A webhook as a present or former owner is told of it.
pub(super) struct Told {
    pub name: String,
    pub channel_name: String,
    /// Of the person who is told.
    pub email: String,
}

/// Tells an owner of the webhook why it has changed, by push and by mail.
pub(super) fn tell(
    tx: &mut Tx,
    site: &Site,
    webhook: WebhookId,
    owner: UserId,
    reason: &str,
    mail: impl FnOnce(&Told) -> Mail,
) -> Result<()> {
    let (told, organisation, channel, data) = tx
        .prepare_cached(
            "select w.name, w.channel_id, w.status, c.name as channel_name, c.organisation_id, u.email
             from webhooks w join channels c on c.id = w.channel_id join users u on u.id = ?2 where w.id = ?1",
        )?
        .query_row((webhook, owner), |row| {
            let told = Told { name: row.get("name")?, channel_name: row.get("channel_name")?, email: row.get("email")? };
            let (organisation, channel): (OrganisationId, ChannelId) = (row.get("organisation_id")?, row.get("channel_id")?);
            let data = json!({
                "id": webhook, "channel_id": channel, "channels_id": channel, "organisation_id": organisation,
                "webhook_name": told.name, "status": row.get::<_, String>("status")?, "reason": reason,
            });
            Ok((told, organisation, channel, data))
        })?;
    let body = events::envelope("webhook_update", events::CHANNELS_SECTION, data);
    let new = events::New {
        stream: Stream::Personal(organisation, owner),
        audience: Audience::Subscribers,
        kind: "webhook_update",
        channel: Some(channel),
        message: None,
        actor: None,
        body: &body,
    };
    events::emit(tx, new)?;
    outbox::queue(tx, site, mail(&told))
}
