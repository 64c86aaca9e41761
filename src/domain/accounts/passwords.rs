//! Passwords: how an account gets another one.

use crate::{
    db::Tx,
    domain::{
        access::Caller,
        accounts::{self, User, one_time_tokens, sessions},
        outbox,
    },
    error::{Error, Result},
    id::{SessionId, UserId},
    mail,
};

/// Sets the password if it is still the one that `old_hash` was made from; the caller's session goes on.
/// 401 when it changed meanwhile.
pub fn change(tx: &mut Tx, caller: Caller, old_hash: &str, new_hash: &str) -> Result<()> {
    let user = accounts::find(tx, caller.user)?.filter(|user| user.password_hash == old_hash);
    let user = user.ok_or(Error::Unauthorized("The old password is incorrect"))?;
    set(tx, &user, new_hash, Some(caller.session))
}

/// Sets a password, ends all sessions but `keep`, voids links that log in, and tells the user by mail.
pub fn set(tx: &mut Tx, user: &User, hash: &str, keep: Option<SessionId>) -> Result<()> {
    tx.prepare_cached("update users set password_hash = ?2, updated_at = ?3 where id = ?1")?.execute((
        user.id,
        hash,
        tx.now(),
    ))?;
    one_time_tokens::void_entrances(tx, user.id)?;
    sessions::end_others(tx, user.id, keep)?;
    outbox::queue(tx, mail::password_changed(&user.email))
}

/// Replaces a hash by one of the same password with today's parameters.
pub fn rehash(tx: &mut Tx, user: UserId, old_hash: &str, new_hash: &str) -> Result<()> {
    tx.prepare_cached("update users set password_hash = ?3 where id = ?1 and password_hash = ?2")?
        .execute((user, old_hash, new_hash))?;
    Ok(())
}
