//! Faces of people and bots, and logos of organisations. Whoever has the address of one opens it, and keeps it for good: it is not to
//! be guessed, and another picture has another address.

use rusqlite::{Connection, OptionalExtension};
use uuid::Uuid;

use crate::{
    db::Tx,
    error::{Code, Error, Result},
    id::FaceId,
    pictures::CopySize,
    secret,
};

/// What the path of a face begins with.
const PATH: &str = "/api/v1/faces/";

/// The two sizes of a face, the smaller one first.
pub type Face = [Vec<u8>; 2];

/// Keeps the face of a user or the logo of an organisation, instead of the one before. Returns its address; an empty one without.
pub(super) fn keep(tx: &mut Tx, owner: Uuid, face: Option<&Face>) -> Result<String> {
    remove(tx, owner)?;
    let Some([small, large]) = face else { return Ok(String::new()) };
    let id = FaceId(Uuid::from_bytes(secret::random()));
    tx.prepare_cached("insert into faces (id, owner, small, large) values (?1, ?2, ?3, ?4)")?.execute((
        id,
        owner.as_bytes(),
        small,
        large,
    ))?;
    Ok(format!("{}{PATH}{id}", tx.site().base_url))
}

/// Removes the face of a user, or the logo of an organisation.
pub(super) fn remove(tx: &Tx, owner: Uuid) -> Result<()> {
    tx.prepare_cached("delete from faces where owner = ?1")?.execute([owner.as_bytes()])?;
    Ok(())
}

/// Removes the face that a user or an organisation no longer shows.
pub(super) fn remove_unless_shown(tx: &Tx, owner: Uuid, address: &str) -> Result<()> {
    let shown = address.rsplit_once(PATH).and_then(|(_, id)| id.parse().ok()).map(FaceId);
    tx.prepare_cached("delete from faces where owner = ?1 and id is not ?2")?.execute((owner.as_bytes(), shown))?;
    Ok(())
}

/// The bytes of a face in one of its sizes. 404 if it is gone.
pub fn get(conn: &Connection, id: FaceId, size: CopySize) -> Result<Vec<u8>> {
    let sql = match size {
        CopySize::Small => "select small from faces where id = ?1",
        CopySize::Large => "select large from faces where id = ?1",
    };
    let found = conn.prepare_cached(sql)?.query_row([id], |row| row.get(0)).optional()?;
    found.ok_or(Error::NotFound(Code::FileNotFound))
}

/// Gives all faces the address that the server has now.
pub(super) fn follow_base_url(tx: &Tx) -> Result<()> {
    let mut select = tx.prepare("select id, owner from faces")?;
    let faces = select.query_map([], |row| row.try_into())?.collect::<rusqlite::Result<Vec<(FaceId, [u8; 16])>>>()?;
    for (id, owner) in faces {
        for (table, column) in [("users", "avatar_url"), ("organisations", "logo_url")] {
            let sql = format!("update {table} set {column} = ?2 where id = ?1 and {column} like ?3");
            let address = format!("{}{PATH}{id}", tx.site().base_url);
            tx.prepare_cached(&sql)?.execute((owner, address, format!("%{PATH}{id}")))?;
        }
    }
    Ok(())
}
