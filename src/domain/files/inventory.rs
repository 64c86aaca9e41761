//! All files of a server, for backups.

use rusqlite::Connection;

use crate::{
    error::Result,
    id::{FileId, OrganisationId},
    secret::Hash,
};

/// A file that is not deleted.
pub struct Listed {
    pub organisation: OrganisationId,
    pub id: FileId,
    pub bytes: u64,
    pub sha256: Hash,
}

/// Calls `found` with each file that is not deleted.
pub fn each(conn: &Connection, mut found: impl FnMut(Listed) -> Result<()>) -> Result<()> {
    let mut select = conn.prepare("select organisation_id, id, size, sha256 from files where deleted_at is null")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let bytes: i64 = row.get(2)?;
        found(Listed { organisation: row.get(0)?, id: row.get(1)?, bytes: bytes.cast_unsigned(), sha256: row.get(3)? })?;
    }
    Ok(())
}
