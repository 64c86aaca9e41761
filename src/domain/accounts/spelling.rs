//! Addresses that were stored before domains had one form are brought to it, once.

use crate::{db::Tx, domain::text, error::Result};

/// The key in `meta` that says that it is done.
const DONE: &str = "domains_in_ascii";

/// What finds and changes the addresses of accounts, and of open invitations. Only characters beyond ASCII have another form.
const STATEMENTS: [(&str, &str); 2] = [
    ("select email from users where email glob '*[^ -~]*'", "update or ignore users set email = ?2 where email = ?1"),
    (
        "select distinct email from invitations where email glob '*[^ -~]*' and accepted_at is null",
        "update or ignore invitations set email = ?2 where email = ?1 and accepted_at is null",
    ),
];

/// Brings the addresses of accounts and invitations to the form of [`text::email_address`]. An account stays as it is if another
/// one has that address already, or if its address would be refused today: it is known by the address as it was stored.
pub fn unify(tx: &mut Tx) -> Result<()> {
    if tx.prepare_cached("insert or ignore into meta (key, value) values (?1, '')")?.execute([DONE])? == 0 {
        return Ok(());
    }
    for (select, update) in STATEMENTS {
        let mut select = tx.prepare(select)?;
        let stored: Vec<String> = select.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        let mut update = tx.prepare(update)?;
        for email in stored {
            let Some(unified) = text::email_address(&email).filter(|unified| *unified != email) else { continue };
            if update.execute((&email, &unified))? == 0 {
                tracing::warn!(email, "another account has this address in its other spelling, and logs in by both");
            }
        }
    }
    Ok(())
}
