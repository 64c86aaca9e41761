//! Erases a person from the server, and keeps what they wrote under "Deleted user".
//!
//! It may be a lot, and each write holds up all others, so it is done in steps: [`revoke`], then [`leave_an_organisation`] and
//! [`rename_author`] until nothing is left, then [`finish`]. Until then, an interrupted run is repeated from the beginning.
//! Above all other areas.

use rusqlite::{Connection, OptionalExtension};

use crate::{
    db::Tx,
    domain::{
        accounts::{self, ERASED, ERASED_NAME, ERASED_PERSON, NO_ACCOUNT, left_behind, sessions},
        channels::direct_messages,
        deferred_work::Cursor,
        faces,
        organisations::{leaving, memberships},
    },
    error::{Error, Result},
    event::Effect,
    id::{OrganisationId, UserId},
    secret,
};

/// Numbers of messages that one step looks at: a few milliseconds.
const LOOKED_AT: i64 = 5000;

/// Disables the account with this address, ends its sessions, and deletes what lets somebody in: sessions, links, identities.
/// Deletes mails and invitations to the address, too. 422 if it owns an organisation.
pub fn revoke(tx: &mut Tx, email: &str) -> Result<UserId> {
    let user = accounts::find_by_email(tx, email)?.ok_or(NO_ACCOUNT)?.id;
    let owned: Option<String> = tx
        .prepare_cached("select name from organisations where owner_id = ?1 and deleted_at is null order by name limit 1")?
        .query_row([user], |row| row.get(0))
        .optional()?;
    if let Some(name) = owned {
        return Err(Error::failed(format!(
            "{email} owns the organisation {name}: use `tidings org transfer` or `tidings org delete` first"
        )));
    }
    revoke_access(tx, user)?;
    tx.execute("delete from mails where recipient = ?1", [email])?;
    tx.execute("delete from invitations where email = ?1", [email])?;
    Ok(user)
}

/// Disables an account, ends its sessions, and deletes what lets somebody in by it and what it made for others to come in.
pub(super) fn revoke_access(tx: &mut Tx, user: UserId) -> Result<()> {
    tx.execute("update users set is_active = 0, updated_at = ?2 where id = ?1", (user, tx.now()))?;
    sessions::end_others(tx, user, None)?;
    tx.execute("delete from sessions where user_id = ?1", [user])?;
    tx.execute("delete from one_time_tokens where user_id = ?1", [user])?;
    tx.execute("delete from code_requests where user_id = ?1", [user])?;
    tx.execute("delete from reminders where user_id = ?1", [user])?;
    tx.execute("delete from identities where user_id = ?1", [user])?;
    left_behind::end_ways_in(tx, user)?;
    tx.execute("delete from unfinished_accounts where user_id = ?1", [user])?;
    left_behind::give_back_kept_place(tx, user)
}

/// The address and the username of an erased account. Both are reserved, but somebody may have taken one before they were.
fn names(conn: &Connection, user: UserId) -> Result<(String, String)> {
    let mut address = conn.prepare_cached("select 1 from users where email = ?1")?;
    let mut username = conn.prepare_cached("select 1 from users where username = ?1")?;
    // In direct messages, the other side may have chosen the name.
    let mut beside = conn.prepare_cached(
        "select 1 from channel_members own join channel_members other on other.channel_id = own.channel_id
         where own.user_id = ?1 and other.username = ?2",
    )?;
    let local = free(user.to_string(), |local| Ok(address.exists([format!("{local}{ERASED}")])?))?;
    let name =
        free(format!("{ERASED_NAME}{}", user.0.simple()), |name| Ok(username.exists([name])? || beside.exists((user, name))?))?;
    Ok((format!("{local}{ERASED}"), name))
}

/// The name if it is free, else with a random number behind it, which nobody can have taken beforehand.
fn free(name: String, mut is_taken: impl FnMut(&str) -> Result<bool>) -> Result<String> {
    let mut chosen = name.clone();
    while is_taken(&chosen)? {
        chosen = format!("{name}-{:016x}", u64::from_le_bytes(secret::random()));
    }
    Ok(chosen)
}

/// Takes the user out of one organisation. Returns whether there was one.
pub fn leave_an_organisation(tx: &mut Tx, user: UserId) -> Result<bool> {
    let found: Option<(OrganisationId, bool)> = tx
        .prepare_cached(
            "select m.organisation_id, o.deleted_at is null
               from organisation_members m join organisations o on o.id = m.organisation_id where m.user_id = ?1 limit 1",
        )?
        .query_row([user], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match found {
        Some((organisation, true)) => leaving::end_membership(tx, &memberships::get(tx, organisation, user)?)?,
        // Nobody is told of what happens in a deleted organisation.
        Some((organisation, false)) => {
            tx.execute("delete from organisation_members where organisation_id = ?1 and user_id = ?2", (organisation, user))?;
        }
        None => return Ok(false),
    }
    Ok(true)
}

/// Renames the author of the user's messages among those after the number `after`. Returns the number up to which it has
/// looked; `None` after the last.
pub fn rename_author(tx: &mut Tx, user: UserId, after: i64) -> Result<Option<i64>> {
    let last: Option<i64> = tx.prepare_cached("select max(n) from messages")?.query_row([], |row| row.get(0))?;
    let Some(last) = last.filter(|last| *last > after) else { return Ok(None) };
    tx.prepare_cached("update messages set username = ?4 where n > ?1 and n <= ?1 + ?2 and user_id = ?3 and username <> ?4")?
        .execute((after, LOOKED_AT, user, ERASED_PERSON))?;
    Ok(Some((after + LOOKED_AT).min(last)))
}

/// Removes the address, the names and the picture from the account, which stays as the author of what the user wrote.
pub fn finish(tx: &mut Tx, user: UserId) -> Result<()> {
    let (address, username) = names(tx, user)?;
    faces::remove(tx, user.0)?;
    tx.execute(
        "update users set email = ?2, username = ?3, password_hash = '', first_name = 'Deleted', last_name = 'user', phone = '',
           avatar_url = '', status_emoji = '', status_text = '', status_until = null, role = 'user', is_verified = 0,
           mailbox_proved = 0, current_org = null, last_seen_at = null,
           updated_at = ?4
         where id = ?1",
        (user, address, &username, tx.now()),
    )?;
    // Direct messages keep both sides, and have the names of both.
    let mut after = Some(Cursor::new());
    while let Some(cursor) = after {
        after = direct_messages::rename(tx, user, &cursor)?;
    }
    tx.then(Effect::AccountChanged(user));
    Ok(())
}
