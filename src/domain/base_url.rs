//! The address of the server, with which those of what it keeps begin.

use rusqlite::OptionalExtension;

use crate::{db::Tx, domain::faces, error::Result};

/// Notes the address of the server. Those of files are made with it; those of faces, which stand where they are shown, follow it.
pub fn note(tx: &mut Tx) -> Result<()> {
    let base_url = tx.site().base_url.clone();
    let before: Option<String> =
        tx.query_row("select value from meta where key = 'base_url'", [], |row| row.get(0)).optional()?;
    if before.is_none_or(|before| before != base_url) {
        faces::follow_base_url(tx)?; // an import may have come before the first server
    }
    tx.execute(
        "insert into meta (key, value) values ('base_url', ?1) on conflict (key) do update set value = excluded.value
         where value <> excluded.value",
        [base_url],
    )?;
    Ok(())
}
