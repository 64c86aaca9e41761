//! Files that come with an organisation.

use rusqlite::Connection;

use super::{
    names::clean_name,
    record::{File, Media},
    taking::{self, Description},
};
use crate::{
    db::Tx,
    error::{Error, Result},
    id::{ChannelId, FileId, OrganisationId, UserId},
    secret::Hash,
};

/// Keeps files for a message that is imported, by its `n`, as if `user` had uploaded them. Returns them with another identifier where a
/// file here has their own. No quota refuses them.
pub fn keep(
    tx: &mut Tx,
    (organisation, user): (OrganisationId, UserId),
    (channel, n): (ChannelId, i64),
    files: impl Iterator<Item = (Media, Hash)>,
) -> Result<Vec<File>> {
    let mut kept = Vec::new();
    for (media, sha256) in files {
        let id = if is_taken(tx, media.id)? { FileId::new() } else { media.id };
        let description = Description::check(&media.description, "description").map_err(Error::BadRequest)?.to_owned();
        let media = Media { id, name: clean_name(&media.name), description, ..media };
        let sent_size = media.size;
        let file = File { media, organisation, user, sha256, sent_size, message: None };
        file.insert(tx)?;
        kept.push(file);
    }
    let media: Vec<Media> = kept.iter().map(|file| file.media.clone()).collect();
    taking::give(tx, (channel, n), &media, &[])?;
    Ok(kept)
}

/// The contents of the files that a message has.
pub fn contents(conn: &Connection, n: i64) -> Result<Vec<Hash>> {
    let mut select = conn.prepare_cached("select sha256 from files where message_n = ?1 and deleted_at is null")?;
    Ok(select.query_map([n], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
}

fn is_taken(tx: &Tx, id: FileId) -> Result<bool> {
    let sql = "select 1 from files where id = ?1 union all select 1 from uploads where id = ?1";
    Ok(tx.prepare_cached(sql)?.exists([id])?)
}
