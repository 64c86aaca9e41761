//! Passwords: changing, setting and rehashing them.

use crate::{
    db::Tx,
    domain::{
        access::Caller,
        accounts::{self, User, one_time_tokens, sessions},
        mail_queue,
    },
    error::{Code, Error, Result},
    id::{SessionId, UserId},
    mail,
};

/// Changes the caller's password and ends their other sessions. 401 if the password is no longer the one of `old_hash`.
pub fn change(tx: &mut Tx, caller: Caller, old_hash: &str, new_hash: &str) -> Result<()> {
    let user = accounts::find(tx, caller.user)?.filter(|user| user.password_hash == old_hash);
    let user = user.ok_or(Error::Unauthorized(Code::WrongPassword, "The old password is incorrect"))?;
    set(tx, &user, new_hash, Some(caller.session))
}

/// Sets a password, ends all sessions but `keep`, voids the links that log in, and mails the user a notice.
pub fn set(tx: &mut Tx, user: &User, hash: &str, keep: Option<SessionId>) -> Result<()> {
    tx.prepare_cached("update users set password_hash = ?2, updated_at = ?3 where id = ?1")?.execute((
        user.id,
        hash,
        tx.now(),
    ))?;
    one_time_tokens::void_entrances(tx, user.id)?;
    sessions::end_others(tx, user.id, keep)?;
    mail_queue::add(tx, mail::password_changed(&user.email))
}

/// Replaces a password's hash by one with the current parameters. Does nothing if the password has changed meanwhile. The marks
/// of known devices become void with the old hash; the next log-in on each gives another.
pub fn rehash(tx: &mut Tx, user: UserId, old_hash: &str, new_hash: &str) -> Result<()> {
    tx.prepare_cached("update users set password_hash = ?3 where id = ?1 and password_hash = ?2")?
        .execute((user, old_hash, new_hash))?;
    Ok(())
}
