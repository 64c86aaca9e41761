//! The users who answer for a webhook, and whose access to the channel it needs: its owner and, to deliver, the member who
//! answers for its address. They may differ: a new secret or slug changes the owner, who need not know where the address
//! leads.

use rusqlite::{Connection, OptionalExtension};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    db::Tx,
    domain::{
        access::{Caller, RIGHTS, SEEN},
        log::events,
        mail_queue,
        rights::Rights,
        webhooks::{
            delivery::{cursor, schedule},
            record::Webhook,
        },
    },
    error::Result,
    event::Kind,
    id::{ChannelId, OrganisationId, UserId, WebhookId},
    mail::{self, Mail},
};

/// The channel rights of a user who answers for a webhook. None if the user's account is disabled, if the user does not see
/// the channel (see [`SEEN`]), and while the user's webhooks are about to pause. Without rights, the webhook does not
/// deliver, nor take feeds if the user is its owner.
pub(in crate::domain) fn rights(conn: &Connection, user: UserId, channel: ChannelId) -> Result<Option<Rights>> {
    if cursor::is_ending(conn, user, channel)? {
        return Ok(None);
    }
    let sql = format!("select {RIGHTS} {SEEN} and c.id = ?2 and exists (select 1 from users u where u.id = ?1 and u.is_active)");
    Ok(conn.prepare_cached(&sql)?.query_row((user, channel), |row| row.get(0)).optional()?)
}

/// Makes the caller, who manages the channel's webhooks, the owner. `have` names the change that they made to the webhook's
/// address, status, secret or feed address; the webhook must stop when they lose access. Tells the former owner by mail and
/// push, unless they have lost access.
///
/// If the former owner had lost access or the right to post, an active webhook becomes paused: that person may still have
/// its feed address and receive what it delivers. The caller makes it active after a review.
pub(in crate::domain) fn take_over(tx: &mut Tx, caller: Caller, webhook: &Webhook, have: &str) -> Result<()> {
    let former = webhook.owner_id;
    if former == caller.user {
        return Ok(());
    }
    let rights = rights(tx, former, webhook.channel)?;
    let was_working = rights.is_some_and(|rights| rights.contains(Rights::POST_MESSAGES));
    tx.prepare_cached(
        "update webhooks set owner_id = ?2, status = case when ?3 or status <> 'active' then status else 'paused' end,
           updated_at = ?4 where id = ?1",
    )?
    .execute((webhook.id, caller.user, was_working, tx.now()))?;
    schedule::changed(tx, webhook.id);
    if rights.is_some() {
        let reason = format!("another manager of the channel has {have}, and is its owner now");
        notify(tx, webhook.id, former, &reason, |told| {
            mail::webhook_taken_over(&told.email, &told.name, &told.channel_name, &reason)
        })?;
    }
    Ok(())
}

/// The user who answers for an address that the caller sets: the caller, or nobody for an empty address.
pub(in crate::domain) fn answers_for(url: &str, caller: Caller) -> Option<UserId> {
    (!url.is_empty()).then_some(caller.user)
}

/// Makes the caller, who activates the webhook, answer for its address if the member who did has lost access: the webhook
/// had stopped for that reason. While that member has access, the webhook goes on depending on it.
pub(in crate::domain) fn take_over_address(tx: &Tx, caller: Caller, webhook: &Webhook) -> Result<()> {
    let Some(former) = webhook.url_by else { return Ok(()) };
    if rights(tx, former, webhook.channel)?.is_none() {
        tx.prepare_cached("update webhooks set url_by = ?2 where id = ?1")?.execute((webhook.id, caller.user))?;
    }
    Ok(())
}

/// Data for telling a present or former owner about a webhook.
pub(in crate::domain) struct OwnerNotice {
    pub name: String,
    pub channel_name: String,
    /// E-mail address of the person who is told.
    pub email: String,
}

/// A webhook that the server has stopped, or that another manager has taken over.
#[derive(Serialize, JsonSchema)]
pub struct WebhookUpdate {
    /// The webhook.
    id: WebhookId,
    /// The webhook's channel.
    channel_id: ChannelId,
    /// The same as `channel_id`.
    channels_id: ChannelId,
    /// The channel's organisation.
    organisation_id: OrganisationId,
    /// The webhook's name.
    webhook_name: String,
    /// The status after the change.
    #[schemars(extend("enum" = ["active", "inactive", "paused"]))]
    status: String,
    /// The present owner, who may be another one than the receiver.
    owner_id: UserId,
    /// Why the webhook has changed, for people to read.
    reason: String,
}

/// Tells a present or former owner, by push and by mail, why the webhook has changed. The mail for a bot is its owner's.
pub(in crate::domain) fn notify(
    tx: &mut Tx,
    webhook: WebhookId,
    owner: UserId,
    reason: &str,
    mail: impl FnOnce(&OwnerNotice) -> Mail,
) -> Result<()> {
    let (told, organisation, channel, data) = tx
        .prepare_cached(
            "select w.name, w.channel_id, w.status, w.owner_id, c.name as channel_name, c.organisation_id, u.email
             from webhooks w join channels c on c.id = w.channel_id
               join users u on u.id = coalesce((select b.owner_id from bots b where b.user_id = ?2), ?2)
             where w.id = ?1",
        )?
        .query_row((webhook, owner), |row| {
            let told = OwnerNotice { name: row.get("name")?, channel_name: row.get("channel_name")?, email: row.get("email")? };
            let (organisation, channel): (OrganisationId, ChannelId) = (row.get("organisation_id")?, row.get("channel_id")?);
            let data = WebhookUpdate {
                id: webhook,
                channel_id: channel,
                channels_id: channel,
                organisation_id: organisation,
                webhook_name: told.name.clone(),
                status: row.get("status")?,
                owner_id: row.get("owner_id")?,
                reason: reason.into(),
            };
            Ok((told, organisation, channel, data))
        })?;
    events::emit_to_member(tx, organisation, owner, Kind::Webhook, channel, data)?;
    let mut mail = mail(&told);
    mail.webhook = Some(webhook);
    mail_queue::add(tx, mail)
}
