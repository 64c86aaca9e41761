//! The end of files: at once nobody reads them, and jobs remove the bytes and then the row.

use std::time::Duration;

use rusqlite::{Connection, Params};

use crate::{
    db::Tx,
    error::Result,
    event::{Effect, Queue},
    id::{ChannelId, FileId, OrganisationId},
    time::Time,
};

/// How long a file waits for a message to take it.
pub const KEPT_UNTAKEN: Duration = Duration::from_secs(24 * 3600);

/// How long after its bytes the row of a file is written, at most: they come first.
pub const NAMED_WITHIN: Duration = Duration::from_secs(24 * 3600);

/// Ends one file.
pub fn end(tx: &mut Tx, id: FileId) -> Result<()> {
    end_all(tx, "select id, organisation_id, size from files where id = ?1 and deleted_at is null", [id]).map(drop)
}

/// Ends the files of a message.
pub fn end_of_message(tx: &mut Tx, n: i64) -> Result<usize> {
    end_all(tx, "select id, organisation_id, size from files where message_n = ?1 and deleted_at is null", [n])
}

/// Ends up to `limit` files of a channel that is purged.
pub fn end_of_channel(tx: &mut Tx, channel: ChannelId, limit: u32) -> Result<usize> {
    let sql = "select id, organisation_id, size from files where channel_id = ?1 and deleted_at is null limit ?2";
    end_all(tx, sql, (channel, limit))
}

/// Ends up to `limit` files that were uploaded before the given time and that no message has taken.
pub fn end_untaken(tx: &mut Tx, before: Time, limit: u32) -> Result<usize> {
    let sql = "select id, organisation_id, size from files
         where message_n is null and deleted_at is null and created_at < ?1 order by created_at limit ?2";
    end_all(tx, sql, (before, limit))
}

/// Ends the files that `select` gives, with their organisations and sizes.
fn end_all(tx: &mut Tx, select: &str, params: impl Params) -> Result<usize> {
    let mut select = tx.prepare_cached(select)?;
    let ended =
        select.query_map(params, |row| row.try_into())?.collect::<rusqlite::Result<Vec<(FileId, OrganisationId, i64)>>>()?;
    drop(select);
    for (id, organisation, size) in &ended {
        tx.prepare_cached("update files set deleted_at = ?2 where id = ?1")?.execute((id, tx.now()))?;
        tx.prepare_cached("update file_totals set bytes = bytes - ?2 where organisation_id = ?1")?
            .execute((organisation, size))?;
    }
    if !ended.is_empty() {
        tx.then(Effect::Queued(Queue::Files));
    }
    Ok(ended.len())
}

/// Up to `limit` files that have ended, whose bytes are to be removed.
pub fn ended(conn: &Connection, limit: u32) -> Result<Vec<(OrganisationId, FileId)>> {
    let mut select =
        conn.prepare_cached("select organisation_id, id from files where deleted_at is not null order by deleted_at limit ?1")?;
    Ok(select.query_map([limit], |row| row.try_into())?.collect::<rusqlite::Result<_>>()?)
}

/// Forgets files that have ended and whose bytes are gone.
pub fn forget(tx: &mut Tx, ids: &[FileId]) -> Result<()> {
    for id in ids {
        tx.prepare_cached("delete from files where id = ?1 and deleted_at is not null")?.execute([id])?;
    }
    Ok(())
}

/// Those of the identifiers that no row has.
pub fn unknown(conn: &Connection, ids: &[FileId]) -> Result<Vec<FileId>> {
    let mut select = conn.prepare_cached("select 1 from files where id = ?1")?;
    let mut unknown = Vec::new();
    for id in ids {
        if !select.exists([id])? {
            unknown.push(*id);
        }
    }
    Ok(unknown)
}
