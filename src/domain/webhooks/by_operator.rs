//! Webhooks as the command line shows and changes them.

use rusqlite::{Connection, OptionalExtension, Row};
use serde::Serialize;

use crate::{
    db::{Columns, Tx},
    domain::webhooks::{
        delivery::schedule,
        record::{Status, UNKNOWN},
        suspension,
    },
    error::{Code, Error, Result},
    id::{OrganisationId, WebhookId},
    time::Time,
};

/// A webhook, as administrators see it: without its secrets and its feed's address.
#[derive(Serialize)]
pub struct Listed {
    pub id: WebhookId,
    pub name: String,
    pub organisation: String,
    pub channel: String,
    /// The owner's address.
    pub owner: String,
    pub status: String,
    /// Host and port of the address to which it delivers; empty for none.
    pub target: String,
    /// Deliveries that wait.
    pub queued: i64,
    pub created_at: Time,
}

const SELECT: &str = "select w.id, w.name, o.name, c.name, u.email, w.status, w.target,
      (select count(*) from deliveries d where d.webhook_id = w.id and d.due_at is not null), w.created_at
    from webhooks w cross join channels c on c.id = w.channel_id cross join organisations o on o.id = c.organisation_id
      cross join users u on u.id = w.owner_id
    where w.deleted_at is null and c.deleted_at is null and o.deleted_at is null";

fn from_row(row: &Row) -> rusqlite::Result<Listed> {
    let mut columns = Columns::of_row(row);
    Ok(Listed {
        id: columns.take()?,
        name: columns.take()?,
        organisation: columns.take()?,
        channel: columns.take()?,
        owner: columns.take()?,
        status: columns.take()?,
        target: columns.take()?,
        queued: columns.take()?,
        created_at: columns.take()?,
    })
}

/// Lists the webhooks of an organisation, or of all, the oldest first.
pub fn list(conn: &Connection, organisation: Option<OrganisationId>, limit: u32) -> Result<Vec<Listed>> {
    let mut select =
        conn.prepare_cached(&format!("{SELECT} and (?1 is null or c.organisation_id = ?1) order by w.id limit ?2"))?;
    Ok(select.query_map((organisation, limit), from_row)?.collect::<rusqlite::Result<_>>()?)
}

pub fn show(conn: &Connection, id: WebhookId) -> Result<Listed> {
    conn.prepare_cached(&format!("{SELECT} and w.id = ?1"))?.query_row([id], from_row).optional()?.ok_or(UNKNOWN)
}

/// Makes a webhook inactive, and tells its owner by mail and by push. Its queue is kept.
pub fn disable(tx: &mut Tx, id: WebhookId) -> Result<()> {
    show(tx, id)?;
    suspension::stop(tx, id, Status::Inactive, "an administrator of the server has disabled it")
}

/// Makes all queued deliveries of a webhook due now, as if none had failed. Returns their number. 422 for one that is not
/// active: it holds its queue.
pub fn retry_queued(tx: &mut Tx, id: WebhookId) -> Result<usize> {
    let Listed { status, .. } = show(tx, id)?;
    if status != Status::Active.as_str() {
        return Err(Error::Invalid(
            Code::WebhookInactive.says(format!("the webhook is {status}: it delivers again when its owner makes it active")),
        ));
    }
    let due = tx
        .prepare_cached(
            "update deliveries set due_at = ?2, attempts = 0, first_at = null
             where webhook_id = ?1 and due_at is not null and is_leased = 0",
        )?
        .execute((id, tx.now()))?;
    tx.prepare_cached("update webhooks set waits_until = null where id = ?1")?.execute([id])?;
    schedule::changed(tx, id);
    Ok(due)
}
