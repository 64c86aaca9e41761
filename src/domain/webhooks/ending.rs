//! What becomes of webhooks when somebody who answers for them has left the organisation, or when their account was
//! reclaimed by the owner of its mailbox: they pause, until somebody has looked and makes them active.
//!
//! There may be thousands: they pause in slices, while the cursor stays before the row of the log
//! that says so. Until it has moved on, none of the user's webhooks delivers or takes feeds
//! ([`cursor::is_ending`](super::cursor::is_ending)). Webhooks
//! that are made after that row are left alone.

use rusqlite::Params;

use crate::{
    db::Tx,
    domain::webhooks::{cursor::Logged, record::Status, suspend::stop},
    error::Result,
    event::Kind,
    id::{UserId, WebhookId},
};

/// Webhooks of a slice, each with a row of the event log and a mail.
const SLICE: usize = 25;

/// What a webhook that is looked for has in common with the row of the log: it is older, and of a channel that lives.
const AFFECTED: &str = "from webhooks w join channels c on c.id = w.channel_id join organisations o on o.id = c.organisation_id
    where w.from_seq < ?2 and w.deleted_at is null and c.deleted_at is null and o.deleted_at is null";

/// Does some of what a row of the log asks for. Returns whether that was all.
pub(super) fn slice(tx: &mut Tx, row: &Logged) -> Result<bool> {
    let Some(user) = row.actor else { return Ok(true) };
    match row.kind {
        Kind::Departed => departed(tx, user, row.seq),
        _ => reclaimed(tx, user, row.seq),
    }
}

/// The leaver's webhooks pass to the channel's owner, and pause until that one has seen to them, as do those of others
/// that deliver where the leaver wanted, who would go on hearing the channel; the leaver's are fed at an address that the
/// leaver knows, too.
fn departed(tx: &mut Tx, user: UserId, seq: i64) -> Result<bool> {
    // Neither is found again: the leaver's has another owner then, and another's is paused.
    let own = format!(
        "select w.id {AFFECTED} and {DEPARTED_FROM} and w.owner_id = ?1 and (c.owner_id <> ?1 or w.status = 'active') limit ?3"
    );
    let own = some(tx, &own, (user, seq, SLICE as i64))?;
    for id in &own {
        let sql = "update webhooks set owner_id = (select owner_id from channels c where c.id = channel_id) where id = ?1";
        tx.prepare_cached(sql)?.execute([id])?;
        let reason = "whoever set it up has left the organisation; see whether it should go on as it is";
        stop(tx, *id, Status::Paused, reason)?;
    }
    let others = format!("select w.id {AFFECTED} and {DEPARTED_FROM} and w.url_by = ?1 and w.status = 'active' limit ?3");
    let others = some(tx, &others, (user, seq, (SLICE - own.len()) as i64))?;
    for id in &others {
        let reason = "whoever set its address has left the organisation; see whether it should go on delivering there";
        stop(tx, *id, Status::Paused, reason)?;
    }
    Ok(own.len() + others.len() < SLICE)
}

/// The body of the row is the organisation's identifier.
const DEPARTED_FROM: &str = "c.organisation_id = (select unhex(e.body, '-\"') from events e where e.seq = ?2)";

/// Somebody else may have chosen where the user's webhooks lead, and knows their secrets and feed addresses.
fn reclaimed(tx: &mut Tx, user: UserId, seq: i64) -> Result<bool> {
    let sql = format!("select w.id {AFFECTED} and (w.owner_id = ?1 or w.url_by = ?1) and w.status = 'active' limit ?3");
    let found = some(tx, &sql, (user, seq, SLICE as i64))?;
    for id in &found {
        let reason = "its owner, or whoever set its address, has proved their mailbox for the first time, and somebody else may \
            have used their account until then; see whether the address is right, and give it a new secret and a new feed address";
        stop(tx, *id, Status::Paused, reason)?;
    }
    Ok(found.len() < SLICE)
}

fn some(tx: &Tx, sql: &str, params: impl Params) -> Result<Vec<WebhookId>> {
    Ok(tx.prepare_cached(sql)?.query_map(params, |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
}
