//! Identifiers that something else on this server has. A client chooses those of its messages, so another server's organisation,
//! channel or message may find its own taken here. It gets a new one, and so do the records that refer to it. `meta` keeps both,
//! so that a second import finds what the first has written.

use std::collections::HashMap;

use uuid::Uuid;

use crate::{
    db::Tx,
    error::{Error, Result},
    id::{MessageId, OrganisationId},
};

/// The new identifiers of an organisation's records.
#[derive(Default)]
pub(super) struct Identifiers {
    /// How the keys in `meta` begin; empty before the organisation is known.
    prefix: String,
    /// New identifiers by those of the file, read at the first use.
    new: Option<HashMap<Uuid, Uuid>>,
}

impl Identifiers {
    /// The identifiers of the organisation that has this identifier in the file.
    pub fn for_exported_organisation(exported: OrganisationId) -> Identifiers {
        Identifiers { prefix: format!("imported {exported} "), new: None }
    }

    /// The identifier here of a record that may be here.
    pub fn here(&mut self, tx: &Tx, exported: Uuid) -> Result<Uuid> {
        Ok(self.known(tx)?.get(&exported).copied().unwrap_or(exported))
    }

    /// The identifier for a record that is not here: its own, or a new one if something else has that. With the identifier of
    /// another's stream, a new record would let its members listen to that stream.
    pub fn unused(&mut self, tx: &Tx, exported: Uuid) -> Result<Uuid> {
        let here = self.here(tx, exported)?;
        let is_used = tx
            .prepare_cached(
                "select 1 from organisations where id = ?1 union all select 1 from channels where id = ?1
                 union all select 1 from messages where id = ?1",
            )?
            .exists([here.as_bytes().as_slice()])?;
        if !is_used {
            return Ok(here);
        }
        let new = MessageId::new().0;
        tx.prepare_cached("insert or replace into meta (key, value) values (?1, ?2)")?
            .execute((format!("{}{exported}", self.prefix), new.to_string()))?;
        self.known(tx)?.insert(exported, new);
        Ok(new)
    }

    fn known(&mut self, tx: &Tx) -> Result<&mut HashMap<Uuid, Uuid>> {
        if self.new.is_none() {
            let read = |text: &str| text.parse::<Uuid>().map_err(Error::internal);
            let mut new = HashMap::new();
            let mut select = tx.prepare_cached("select key, value from meta where key >= ?1 and key < ?1 || 'g'")?;
            let rows = select.query_map([&self.prefix], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
            for row in rows {
                let (key, value) = row?;
                new.insert(read(&key[self.prefix.len()..])?, read(&value)?);
            }
            self.new = Some(new);
        }
        Ok(self.new.get_or_insert_default())
    }
}
