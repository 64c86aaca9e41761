//! All files of a server, for backups and for whoever operates it.

use rusqlite::{Connection, Row};
use serde::Serialize;

use crate::{
    db::Columns,
    error::Result,
    id::{FileId, OrganisationId},
    secret::Hash,
    time::Time,
};

/// A file that is not deleted.
pub struct Listed {
    pub organisation: OrganisationId,
    pub id: FileId,
    pub bytes: u64,
    pub sha256: Hash,
}

/// Calls `found` with each file that is not deleted.
pub fn each(conn: &Connection, mut found: impl FnMut(Listed)) -> Result<()> {
    let mut select = conn.prepare("select organisation_id, id, size, sha256 from files where deleted_at is null")?;
    for file in select.query_map([], listed)? {
        found(file?);
    }
    Ok(())
}

/// The files that messages of an organisation's channels show.
pub fn shown(conn: &Connection, of: OrganisationId) -> Result<Vec<Listed>> {
    let mut select = conn.prepare(
        "select f.organisation_id, f.id, f.size, f.sha256 from channels c cross join files f on f.channel_id = c.id
         where c.organisation_id = ?1 and c.deleted_at is null and f.deleted_at is null",
    )?;
    Ok(select.query_map([of], listed)?.collect::<rusqlite::Result<_>>()?)
}

fn listed(row: &Row) -> rusqlite::Result<Listed> {
    let bytes: i64 = row.get(2)?;
    Ok(Listed { organisation: row.get(0)?, id: row.get(1)?, bytes: bytes.cast_unsigned(), sha256: row.get(3)? })
}

/// A file, as administrators see it.
#[derive(Serialize)]
pub struct Shown {
    pub id: FileId,
    pub name: String,
    pub mime_type: String,
    /// Its length in bytes.
    pub size: i64,
    /// The slug of its organisation; empty once that is erased.
    pub organisation: String,
    /// The address of who uploaded it.
    pub uploaded_by: String,
    pub created_at: Time,
    /// Whether a message shows it. It goes a day after its upload if none does.
    pub in_message: bool,
}

/// Which files a command is about.
#[derive(Clone, Copy)]
pub struct Chosen {
    /// All organisations, if none.
    pub organisation: Option<OrganisationId>,
    /// Those that were uploaded before.
    pub before: Time,
}

/// Lists up to `limit` files, the largest first.
pub fn list(conn: &Connection, chosen: Chosen, limit: u32) -> Result<Vec<Shown>> {
    let mut select = conn.prepare_cached(
        "select f.id, f.name, f.mime_type, f.size, coalesce(o.slug, ''), u.email, f.created_at, f.message_n is not null
           from files f cross join users u on u.id = f.user_id left join organisations o on o.id = f.organisation_id
         where f.deleted_at is null and (?1 is null or f.organisation_id = ?1) and f.created_at < ?2
         order by f.size desc, f.id limit ?3",
    )?;
    let row = |row: &Row| {
        let mut columns = Columns::of_row(row);
        Ok(Shown {
            id: columns.take()?,
            name: columns.take()?,
            mime_type: columns.take()?,
            size: columns.take()?,
            organisation: columns.take()?,
            uploaded_by: columns.take()?,
            created_at: columns.take()?,
            in_message: columns.take()?,
        })
    };
    let found = select.query_map((chosen.organisation, chosen.before, limit), row)?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

/// The files that messages show, with their lengths, in the order of their identifiers.
pub fn in_messages(conn: &Connection, chosen: Chosen) -> Result<Vec<(FileId, i64)>> {
    let mut select = conn.prepare_cached(
        "select id, size from files where deleted_at is null and message_n is not null
           and (?1 is null or organisation_id = ?1) and created_at < ?2 order by id",
    )?;
    let found = select.query_map((chosen.organisation, chosen.before), |row| row.try_into())?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}
