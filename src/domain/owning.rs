//! The owner of a webhook: the member who answers for it, and whose access to the channel it needs.

use rusqlite::{Connection, OptionalExtension};
use serde_json::json;

use crate::{
    db::Tx,
    domain::{channels, events, outbox, roles::Rights},
    error::Result,
    event::{Audience, Stream},
    id::{ChannelId, OrganisationId, UserId, WebhookId},
    mail::Mail,
    site::Site,
};

/// The owner's rights in the channel; none for an owner whose account is disabled, and for one who may not know of the
/// channel (see [`channels::find`]): their webhook neither delivers nor takes feeds.
pub(super) fn rights(conn: &Connection, owner: UserId, channel: ChannelId) -> Result<Option<Rights>> {
    let sql =
        format!("select {} and c.id = ?2 and exists (select 1 from users u where u.id = ?1 and u.is_active)", channels::ACCESS);
    Ok(conn.prepare_cached(&sql)?.query_row((owner, channel), |row| Ok(Rights(row.get("rights")?))).optional()?)
}

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
