//! Stops webhooks for a reason that the server has found, and tells their owners.

use rusqlite::OptionalExtension;

use crate::{
    db::Tx,
    domain::webhooks::{delivery::schedule, owners, record::Status},
    error::Result,
    id::{UserId, WebhookId},
    mail,
};

/// Makes a webhook inactive, or an active one paused, and tells its owner by mail and by push. Changes nothing if it was
/// deleted meanwhile, alone or with its channel. Its queue is kept.
pub(in crate::domain) fn stop(tx: &mut Tx, webhook: WebhookId, status: Status, reason: &str) -> Result<()> {
    let status = status.as_str();
    let stopped: Option<UserId> = tx
        .prepare_cached(
            "update webhooks set status = ?2, updated_at = ?3
             where id = ?1 and status not in (?2, 'inactive') and deleted_at is null and exists (select 1 from channels c
               join organisations o on o.id = c.organisation_id
               where c.id = webhooks.channel_id and c.deleted_at is null and o.deleted_at is null)
             returning owner_id",
        )?
        .query_row((webhook, status, tx.now()), |row| row.get(0))
        .optional()?;
    schedule::changed(tx, webhook);
    let Some(owner) = stopped else { return Ok(()) };
    tracing::info!(%webhook, status, reason, "a webhook was stopped");
    owners::notify(tx, webhook, owner, reason, |told| {
        mail::webhook_stopped(&told.email, &told.name, &told.channel_name, status, reason)
    })
}
