//! The searchable names of an organisation's members, which stand beside each membership.

use crate::{
    db::Tx,
    domain::{
        accounts::{self, User, local_part},
        text,
    },
    error::Result,
    id::UserId,
};

/// The separator before each name. No name contains it.
pub const BEGINNING: char = '\n';

/// Each word of the full name, the username and the address, and each part of these. Folded. A bot's address says nothing.
fn names(user: &User) -> String {
    let email = Some(user.email.as_str()).filter(|_| !user.is_bot);
    let full_name = user.full_name();
    let parted = full_name.split_whitespace().chain([user.username.as_str()]).chain(email.map(local_part));
    let parted: Vec<&str> = parted.collect();
    let parts = parted.iter().flat_map(|word| word.split(|c: char| !c.is_alphanumeric())).filter(|part| !part.is_empty());
    let mut names = parted.clone();
    names.extend(email.into_iter().chain(parts));
    let (mut all, mut taken) = (String::new(), Vec::new());
    for name in names {
        if !taken.contains(&name) {
            taken.push(name);
            all.push(BEGINNING);
            all.push_str(name);
        }
    }
    text::folded(&all)
}

/// Writes the user's names beside each of their memberships, of which there is a quota.
pub fn write(tx: &Tx, user: &User) -> Result<()> {
    tx.prepare_cached("update organisation_members set names = ?2 where user_id = ?1 and names <> ?2")?
        .execute((user.id, names(user)))?;
    Ok(())
}

/// The key in `meta` that says that the names of all members are written.
const DONE: &str = "member_names";

/// Writes the names of those who were members before names were written, once.
pub fn backfill(tx: &mut Tx) -> Result<()> {
    if tx.prepare_cached("insert or ignore into meta (key, value) values (?1, '')")?.execute([DONE])? == 0 {
        return Ok(());
    }
    let mut select = tx.prepare("select distinct user_id from organisation_members where names = ''")?;
    let users: Vec<UserId> = select.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for user in users {
        write(tx, &accounts::get(tx, user)?)?;
    }
    Ok(())
}
