//! One-time tokens: what links in mails carry. 256 random bits, of which only the SHA-256 is stored.

use std::time::Duration;

use rusqlite::OptionalExtension;

use crate::{
    db::{Tx, View},
    error::{Error, Result},
    id::UserId,
    secret,
    time::Time,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    MagicLink,
    PasswordReset,
    EmailVerification,
}

impl Purpose {
    fn as_str(self) -> &'static str {
        match self {
            Purpose::MagicLink => "magic_link",
            Purpose::PasswordReset => "password_reset",
            Purpose::EmailVerification => "email_verification",
        }
    }
}

/// An account's live tokens for one purpose. More than one, so that whoever asks for links to somebody else's mailbox
/// does not void the link that its owner is about to open.
const LIVE: u32 = 3;

/// A new token, for a link that is handed over.
pub fn issue(tx: &mut Tx, user: UserId, purpose: Purpose, lifetime: Duration) -> Result<String> {
    let (token, now) = (secret::random_token(), tx.now());
    tx.prepare_cached(
        "insert into one_time_tokens (hash, purpose, user_id, created_at, expires_at) values (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute((secret::sha256(&token), purpose.as_str(), user, now, now + lifetime))?;
    Ok(token)
}

/// Makes room for one more of an account's live tokens for a purpose.
pub fn void_oldest(tx: &mut Tx, user: UserId, purpose: Purpose) -> Result<()> {
    tx.prepare_cached(
        "update one_time_tokens set used_at = ?3
         where hash in (select hash from one_time_tokens where user_id = ?1 and purpose = ?2 and used_at is null
           order by created_at desc limit -1 offset ?4)",
    )?
    .execute((user, purpose.as_str(), tx.now(), LIVE - 1))?;
    Ok(())
}

/// Whose token it is, without using it up. 400 when there is no such token, 422 when it is used,
/// superseded or expired.
pub fn find(conn: &View, purpose: Purpose, token: &str) -> Result<UserId> {
    let found: Option<(UserId, bool, Time)> = conn
        .prepare_cached("select user_id, used_at is not null, expires_at from one_time_tokens where hash = ?1 and purpose = ?2")?
        .query_row((secret::sha256(token), purpose.as_str()), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    match found {
        None => Err(Error::bad_request("The token is invalid")),
        Some((_, true, _)) => Err(Error::invalid("The token has already been used, or newer ones were sent")),
        Some((_, false, expires_at)) if expires_at <= conn.now() => Err(Error::invalid("The token has expired")),
        Some((user, ..)) => Ok(user),
    }
}

/// [`find`], and uses it up, with the account's others for the same purpose.
pub fn take(tx: &mut Tx, purpose: Purpose, token: &str) -> Result<UserId> {
    let now = tx.now();
    let taken: Option<UserId> = tx
        .prepare_cached(
            "update one_time_tokens set used_at = ?3
             where hash = ?1 and purpose = ?2 and used_at is null and expires_at > ?3 returning user_id",
        )?
        .query_row((secret::sha256(token), purpose.as_str(), now), |row| row.get(0))
        .optional()?;
    let Some(user) = taken else { return find(tx, purpose, token) };
    tx.prepare_cached("update one_time_tokens set used_at = ?3 where user_id = ?1 and purpose = ?2 and used_at is null")?
        .execute((user, purpose.as_str(), now))?;
    Ok(user)
}

/// Voids an account's tokens that let somebody in: they must not outlive a new password.
pub fn void_entrances(tx: &mut Tx, user: UserId) -> Result<()> {
    tx.prepare_cached(
        "update one_time_tokens set used_at = ?2
         where user_id = ?1 and purpose in ('magic_link', 'password_reset') and used_at is null",
    )?
    .execute((user, tx.now()))?;
    Ok(())
}

/// Deletes tokens that expired before the given time, up to `limit`.
pub fn prune(tx: &mut Tx, before: Time, limit: u32) -> Result<usize> {
    let sql = "delete from one_time_tokens where hash in (select hash from one_time_tokens where expires_at < ?1 limit ?2)";
    Ok(tx.prepare_cached(sql)?.execute((before, limit))?)
}
