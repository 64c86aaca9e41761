//! Who answers for a webhook, and whose access to the channel it needs: its owner, and, that it may deliver, whoever set
//! its address. The owner changes with a new secret or slug, too, and knows nothing of where the address leads.

use rusqlite::{Connection, OptionalExtension};
use serde_json::json;

use crate::{
    db::Tx,
    domain::{
        access::{Caller, SEEN},
        log::events,
        outbox,
        rights::Rights,
        webhooks::{cursor, record::Webhook, schedule},
    },
    error::Result,
    event::Kind,
    id::{ChannelId, OrganisationId, UserId, WebhookId},
    mail::{self, Mail},
};

/// The rights in the channel of somebody who answers for a webhook; none for one whose account is disabled, and for one
/// who may not know of the channel (see [`SEEN`]): it does not deliver then, nor take feeds if it is the owner.
/// None, too, while the user's webhooks are about to pause.
pub(in crate::domain) fn rights(conn: &Connection, user: UserId, channel: ChannelId) -> Result<Option<Rights>> {
    if cursor::is_ending(conn, user, channel)? {
        return Ok(None);
    }
    let sql = format!("select {} and c.id = ?2 and exists (select 1 from users u where u.id = ?1 and u.is_active)", SEEN);
    Ok(conn.prepare_cached(&sql)?.query_row((user, channel), |row| row.get("rights")).optional()?)
}

/// Makes the caller, who manages the channel's webhooks, the owner, because they `have` changed where the webhook leads or
/// what opens it: it must stop when they lose access. Tells the former owner by mail and by push.
///
/// If the webhook had stopped because the former owner lost access or the right to post, it becomes paused: that person
/// may still have its feed address and receive what it delivers. The caller makes it active once they have looked. Who has
/// no access is told nothing.
pub(in crate::domain) fn take_over(tx: &mut Tx, caller: Caller, webhook: &Webhook, have: &str) -> Result<()> {
    let former = webhook.owner_id;
    if former == caller.user {
        return Ok(());
    }
    let rights = rights(tx, former, webhook.channel)?;
    let was_working = rights.is_some_and(|rights| rights.include(Rights::POST_MESSAGES));
    tx.prepare_cached(
        "update webhooks set owner_id = ?2, status = case when ?3 or status <> 'active' then status else 'paused' end,
           updated_at = ?4 where id = ?1",
    )?
    .execute((webhook.id, caller.user, was_working, tx.now()))?;
    schedule::changed(tx, webhook.id);
    if rights.is_some() {
        let reason = format!("another manager of the channel has {have}, and is its owner now");
        tell(tx, webhook.id, former, &reason, |told| {
            mail::webhook_taken_over(&told.email, &told.name, &told.channel_name, &reason)
        })?;
    }
    Ok(())
}

/// Who answers for an address that the caller sets.
pub(in crate::domain) fn answers_for(url: &str, caller: Caller) -> Option<UserId> {
    (!url.is_empty()).then_some(caller.user)
}

/// Has the caller, who makes the webhook active, answer for its address if who did has no access any more: it had stopped
/// for that, and it is the caller who wants it to go on. As long as the former has access, it stops with theirs.
pub(in crate::domain) fn vouch(tx: &Tx, caller: Caller, webhook: &Webhook) -> Result<()> {
    let Some(former) = webhook.url_by else { return Ok(()) };
    if rights(tx, former, webhook.channel)?.is_none() {
        tx.prepare_cached("update webhooks set url_by = ?2 where id = ?1")?.execute((webhook.id, caller.user))?;
    }
    Ok(())
}

/// A webhook as a present or former owner is told of it.
pub(in crate::domain) struct Told {
    pub name: String,
    pub channel_name: String,
    /// Of the person who is told.
    pub email: String,
}

/// Tells an owner of the webhook why it has changed, by push and by mail.
pub(in crate::domain) fn tell(
    tx: &mut Tx,
    webhook: WebhookId,
    owner: UserId,
    reason: &str,
    mail: impl FnOnce(&Told) -> Mail,
) -> Result<()> {
    let (told, organisation, channel, data) = tx
        .prepare_cached(
            "select w.name, w.channel_id, w.status, w.owner_id, c.name as channel_name, c.organisation_id, u.email
             from webhooks w join channels c on c.id = w.channel_id join users u on u.id = ?2 where w.id = ?1",
        )?
        .query_row((webhook, owner), |row| {
            let told = Told { name: row.get("name")?, channel_name: row.get("channel_name")?, email: row.get("email")? };
            let (organisation, channel): (OrganisationId, ChannelId) = (row.get("organisation_id")?, row.get("channel_id")?);
            let data = json!({
                "id": webhook, "channel_id": channel, "channels_id": channel, "organisation_id": organisation,
                "webhook_name": told.name, "status": row.get::<_, String>("status")?,
                "owner_id": row.get::<_, UserId>("owner_id")?, "reason": reason,
            });
            Ok((told, organisation, channel, data))
        })?;
    let body = events::envelope(Kind::Webhook, false, data);
    events::tell_member(tx, organisation, owner, Kind::Webhook, channel, &body)?;
    let mut mail = mail(&told);
    mail.webhook = Some(webhook);
    outbox::queue(tx, mail)
}
