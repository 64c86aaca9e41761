//! Uploads that come in pieces, and go on over cuts and restarts. How much of one has arrived, the length of its bytes on disk says.

use rusqlite::{Connection, OptionalExtension};

use super::{
    UNKNOWN,
    names::clean_name,
    readable,
    record::{self, File},
    removal::KEPT_UNTAKEN,
    uploading::{self, New},
};
use crate::{
    db::Tx,
    domain::access::{self, Caller},
    error::{Code, Error, Result},
    id::{FileId, OrganisationId},
    time::Time,
};

/// Uploads of a person that have not ended, at most.
pub const MOST: u32 = 100;

/// An upload that has not ended.
pub struct Upload {
    /// Its own, and that of the file which it becomes.
    pub id: FileId,
    pub organisation: OrganisationId,
    pub name: String,
    /// Bytes of the whole.
    pub length: u64,
    pub expires_at: Time,
}

/// What an identifier of an upload stands for.
pub enum Found {
    Arriving(Upload),
    /// All of it has arrived.
    Whole(File),
}

/// Notes an upload of so many bytes, with the rights and the bounds of [`uploading::require_uploader`]. It may go on for a day.
pub fn create(tx: &mut Tx, caller: Caller, named: Option<OrganisationId>, name: &str, length: u64) -> Result<Upload> {
    let organisation = uploading::require_uploader(tx, caller, named, length)?;
    let open: u32 =
        tx.prepare_cached("select count(*) from uploads where user_id = ?1")?.query_row([caller.user], |row| row.get(0))?;
    if open >= MOST {
        let says = format!("at most {MOST} uploads go on at once");
        return Err(Error::Invalid(Code::OwnLimitReached.says(says).with_limit(MOST)));
    }
    let (id, name, expires_at) = (FileId::new(), clean_name(name), tx.now() + KEPT_UNTAKEN);
    tx.prepare_cached(
        "insert into uploads (id, organisation_id, user_id, name, length, expires_at) values (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute((id, organisation, caller.user, &name, length as i64, expires_at))?;
    Ok(Upload { id, organisation, name, length, expires_at })
}

/// An upload of the caller's, in an organisation that they are still a member of. 404 otherwise, and once it has expired.
pub fn find(conn: &Connection, caller: Caller, id: FileId, now: Time) -> Result<Found> {
    let sql = "select organisation_id, name, length, expires_at from uploads where id = ?1 and user_id = ?2 and expires_at > ?3";
    let arriving = conn
        .prepare_cached(sql)?
        .query_row((id, caller.user, now), |row| {
            let length: i64 = row.get(2)?;
            Ok(Upload { id, organisation: row.get(0)?, name: row.get(1)?, length: length as u64, expires_at: row.get(3)? })
        })
        .optional()?;
    let found = match arriving {
        Some(upload) => Found::Arriving(upload),
        None => Found::Whole(whole(conn, caller, id)?),
    };
    let organisation = match &found {
        Found::Arriving(upload) => upload.organisation,
        Found::Whole(file) => file.organisation,
    };
    access::membership(conn, organisation, caller.user)?.map(|_| found).ok_or(UNKNOWN)
}

/// A file of the caller's. One that no message has taken, a token of some channels may know as well: it may have sent its last piece.
fn whole(conn: &Connection, caller: Caller, id: FileId) -> Result<File> {
    let file = record::find(conn, id)?.filter(|file| file.user == caller.user).ok_or(UNKNOWN)?;
    if file.message.is_some() { readable(conn, caller, id) } else { Ok(file) }
}

/// Makes an upload the file whose bytes are on disk.
pub fn finish(tx: &mut Tx, caller: Caller, organisation: OrganisationId, new: New) -> Result<()> {
    forget(tx, caller, new.id)?;
    uploading::create(tx, caller, organisation, vec![new]).map(drop)
}

/// Forgets an upload of the caller's. 404 if there is none any more.
pub fn forget(tx: &mut Tx, caller: Caller, id: FileId) -> Result<()> {
    let sql = "delete from uploads where id = ?1 and user_id = ?2";
    let forgotten = tx.prepare_cached(sql)?.execute((id, caller.user))?;
    if forgotten == 1 { Ok(()) } else { Err(UNKNOWN) }
}

/// Up to `limit` uploads that have expired, whose bytes are to be removed.
pub fn expired(conn: &Connection, now: Time, limit: u32) -> Result<Vec<FileId>> {
    let mut select = conn.prepare_cached("select id from uploads where expires_at <= ?1 order by expires_at limit ?2")?;
    Ok(select.query_map((now, limit), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
}

/// Forgets uploads that have expired and whose bytes are gone.
pub fn forget_expired(tx: &mut Tx, ids: &[FileId]) -> Result<()> {
    for id in ids {
        tx.prepare_cached("delete from uploads where id = ?1 and expires_at <= ?2")?.execute((id, tx.now()))?;
    }
    Ok(())
}
