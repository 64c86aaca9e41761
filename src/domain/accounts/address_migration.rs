//! Addresses that were stored before domains had one form are brought to it, once.

use crate::{db::Tx, domain::text, error::Result};

/// The key in `meta` that says that it is done.
const DONE: &str = "domains_in_ascii";

/// The statements that find and change the addresses of accounts and of open invitations, and the log line if the other form is
/// taken. Only characters beyond ASCII have another form.
const STATEMENTS: [(&str, &str, &str); 2] = [
    (
        "select email from users where email glob '*[^ -~]*'",
        "update or ignore users set email = ?2 where email = ?1",
        "another account has this address in its ASCII form: nobody can log in to this account by its address",
    ),
    (
        "select distinct email from invitations where email glob '*[^ -~]*' and accepted_at is null",
        "update or ignore invitations set email = ?2 where email = ?1 and accepted_at is null",
        "another open invitation is for the same address in its ASCII form: this one stays as it is",
    ),
];

/// Brings the addresses of accounts and invitations to the form of [`text::normalised_address`]. Two kinds of accounts stay as they
/// are. One whose address would be refused today logs in by the address as it was stored. One whose ASCII form another account
/// has can't be reached by either spelling: both are the other account's.
pub fn canonicalise_stored(tx: &mut Tx) -> Result<()> {
    if tx.prepare_cached("insert or ignore into meta (key, value) values (?1, '')")?.execute([DONE])? == 0 {
        return Ok(());
    }
    for (select, update, taken) in STATEMENTS {
        let mut select = tx.prepare(select)?;
        let stored: Vec<String> = select.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        let mut update = tx.prepare(update)?;
        for email in stored {
            let Some(unified) = text::normalised_address(&email).filter(|unified| *unified != email) else { continue };
            if update.execute((&email, &unified))? == 0 {
                tracing::warn!(email, "{taken}");
            }
        }
    }
    Ok(())
}
