//! Pauses webhooks when a user who answers for them leaves the organisation, or when the owner of the mailbox reclaims that
//! user's account, until a manager makes them active. A bot's webhooks pause when either happens to the bot's owner. There may be
//! thousands, so they pause in slices, while the cursor stays before the log's row of that change. Until it moves on, none of the
//! user's webhooks delivers or takes feeds ([`cursor::is_ending`](super::delivery::cursor::is_ending)). Webhooks made after that
//! row are left alone.

use rusqlite::Params;

use crate::{
    db::Tx,
    domain::webhooks::{delivery::cursor::Logged, record::Status, suspension::stop},
    error::Result,
    event::Kind,
    id::{UserId, WebhookId},
};

/// Webhooks in one slice; each costs a row of the event log and a mail.
const SLICE: usize = 25;

/// SQL of the webhooks that a row of the log may affect: older than the row, and in a live channel.
const AFFECTED: &str = "from webhooks w join channels c on c.id = w.channel_id join organisations o on o.id = c.organisation_id
    where w.from_seq < ?2 and w.deleted_at is null and c.deleted_at is null and o.deleted_at is null";

/// Processes one slice of what a row of the log asks for. Returns whether nothing is left.
pub(in crate::domain) fn slice(tx: &mut Tx, row: &Logged) -> Result<bool> {
    let Some(user) = row.actor else { return Ok(true) };
    match row.kind {
        Kind::Departed => departed(tx, user, row.seq),
        _ => reclaimed(tx, user, row.seq),
    }
}

/// Passes the webhooks of a leaver, or of a leaver's bot, to the channel's owner and pauses them, because the leaver knows their
/// feed addresses. Also pauses other webhooks whose address the leaver or the bot set, because the leaver could go on reading the
/// channel there. They stay paused until their owners have reviewed them.
fn departed(tx: &mut Tx, user: UserId, seq: i64) -> Result<bool> {
    let is_bot = tx.prepare_cached("select 1 from users where id = ?1 and is_bot")?.exists([user])?;
    let who = if is_bot { "the owner of the bot that" } else { "whoever" };
    // Neither query finds a webhook twice: the leaver's has another owner then, and another's is paused.
    let own = format!(
        "select w.id {AFFECTED} and {DEPARTED_FROM} and w.owner_id = ?1 and (c.owner_id <> ?1 or w.status = 'active') limit ?3"
    );
    let own = some(tx, &own, (user, seq, SLICE as i64))?;
    for id in &own {
        let sql = "update webhooks set owner_id = (select owner_id from channels c where c.id = channel_id) where id = ?1";
        tx.prepare_cached(sql)?.execute([id])?;
        let reason = format!("{who} set it up has left the organisation; see whether it should go on as it is");
        stop(tx, *id, Status::Paused, &reason)?;
    }
    let others = format!("select w.id {AFFECTED} and {DEPARTED_FROM} and w.url_by = ?1 and w.status = 'active' limit ?3");
    let others = some(tx, &others, (user, seq, (SLICE - own.len()) as i64))?;
    for id in &others {
        let reason = format!("{who} set its address has left the organisation; see whether it should go on delivering there");
        stop(tx, *id, Status::Paused, &reason)?;
    }
    Ok(own.len() + others.len() < SLICE)
}

/// SQL condition for channels of the organisation that was left, whose identifier is the body of the log's row.
const DEPARTED_FROM: &str = "c.organisation_id = (select unhex(e.body, '-\"') from events e where e.seq = ?2)";

/// Pauses the user's webhooks, because somebody else may have chosen their addresses, and may know their secrets and feed
/// addresses.
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
