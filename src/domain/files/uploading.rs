//! Uploads: who may, how much, and the row of a file whose bytes have arrived.

use rusqlite::OptionalExtension;

use super::{
    names::clean_name,
    record::{File, Media},
};
use crate::{
    db::{Tx, View},
    domain::{
        access::{self, Caller},
        rights::Rights,
    },
    error::{Code, Error, Result},
    id::{FileId, OrganisationId},
    pictures::Appearance,
    secret::Hash,
};

/// A file whose bytes are on disk.
pub struct New {
    pub id: FileId,
    pub name: String,
    pub mime_type: &'static str,
    /// A picture that could be decoded.
    pub picture: Option<Appearance>,
    pub size: u64,
    /// Bytes that were uploaded, as many or more.
    pub sent_size: u64,
    pub sha256: Hash,
}

/// Checks, before the first byte, that the caller may upload so many to the organisation: as a member with the right to post. The
/// organisation is the one named, or a bot's own, or the one that the caller works in. 403 for outsiders and without the right, 422
/// if there is none, or if its files would take more room than they may.
pub fn require_uploader(conn: &View, caller: Caller, named: Option<OrganisationId>, bytes: u64) -> Result<OrganisationId> {
    let organisation = match named {
        Some(organisation) => organisation,
        None => current(conn, caller)?
            .ok_or_else(|| Error::Invalid(Code::Required.says("organisation_id is required").at("organisation_id")))?,
    };
    access::require_right(conn, caller, Rights::POST_MESSAGES, organisation, access::OUTSIDER)?;
    require_room(conn, organisation, bytes)?;
    Ok(organisation)
}

fn current(conn: &View, caller: Caller) -> Result<Option<OrganisationId>> {
    let sql = "select coalesce((select organisation_id from bots where user_id = ?1), current_org) from users where id = ?1";
    Ok(conn.prepare_cached(sql)?.query_row([caller.user], |row| row.get(0)).optional()?.flatten())
}

fn require_room(conn: &View, organisation: OrganisationId, bytes: u64) -> Result<()> {
    let most = conn.site().files.per_organisation;
    // With what uploads in pieces have been promised.
    let sql = "select coalesce((select bytes from file_totals where organisation_id = ?1), 0)
          + coalesce((select sum(length) from uploads where organisation_id = ?1), 0)";
    let taken: i64 = conn.prepare_cached(sql)?.query_row([organisation], |row| row.get(0))?;
    if taken.cast_unsigned().saturating_add(bytes) <= most {
        return Ok(());
    }
    let says = format!("the files of this organisation may have {most} bytes together, and these would be more");
    Err(Error::Invalid(Code::FilesFull.says(says).with_limit(most)))
}

/// Keeps files whose bytes are on disk. Checks again what [`require_uploader`] did: it may have taken hours for them to arrive.
pub fn create(tx: &mut Tx, caller: Caller, organisation: OrganisationId, new: Vec<New>) -> Result<Vec<File>> {
    require_uploader(tx, caller, Some(organisation), new.iter().map(|new| new.size).sum())?;
    new.into_iter().map(|new| insert(tx, caller, organisation, new)).collect()
}

fn insert(tx: &Tx, caller: Caller, organisation: OrganisationId, new: New) -> Result<File> {
    let media = Media {
        id: new.id,
        name: clean_name(&new.name),
        mime_type: new.mime_type.into(),
        size: new.size as i64,
        picture: new.picture,
        description: String::new(),
        created_at: tx.now(),
        base_url: tx.site().base_url.clone(),
    };
    let (sha256, sent_size) = (new.sha256, new.sent_size as i64);
    let file = File { media, organisation, user: caller.user, sha256, sent_size, message: None };
    file.insert(tx)?;
    Ok(file)
}
