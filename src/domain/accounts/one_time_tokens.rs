//! One-time tokens: the secrets in mailed links. Each has 256 random bits, of which only the SHA-256 is stored.

use std::time::Duration;

use rusqlite::OptionalExtension;

use crate::{
    db::{Tx, View, text_enum},
    domain::text::{self, Rule},
    error::{Code, Error, Result},
    id::UserId,
    secret::{self, Hash},
    time::Time,
};

text_enum! {
    pub enum Purpose {
        MagicLink = "magic_link",
        PasswordReset = "password_reset",
        EmailVerification = "email_verification",
    }
}

/// The state of a link, whatever its purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Open,
    /// Used up, or newer ones were mailed since.
    Used,
    Expired,
    /// Its sender may not send it any more.
    Void,
}

/// At most 3 live tokens per account and purpose. With one alone, a stranger who asks for links to somebody's mailbox would
/// void the link that its owner is about to open.
const LIVE: u32 = 3;

/// Makes a token and returns it; only its hash is stored, and that of the code beside it, if there is one.
pub fn issue(tx: &mut Tx, user: UserId, purpose: Purpose, lifetime: Duration, code: Option<Hash>) -> Result<String> {
    let (token, now) = (secret::random_token(), tx.now());
    tx.prepare_cached(
        "insert into one_time_tokens (hash, purpose, user_id, created_at, expires_at, code_hash)
         values (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute((secret::sha256(&token), purpose.as_str(), user, now, now + lifetime, code))?;
    Ok(token)
}

/// Voids an account's oldest tokens for a purpose, so that one more stays within the most.
pub fn void_oldest(tx: &mut Tx, user: UserId, purpose: Purpose) -> Result<()> {
    tx.prepare_cached(
        "update one_time_tokens set used_at = ?3
         where hash in (select hash from one_time_tokens where user_id = ?1 and purpose = ?2 and used_at is null
           order by created_at desc limit -1 offset ?4)",
    )?
    .execute((user, purpose.as_str(), tx.now(), LIVE - 1))?;
    Ok(())
}

text::rules! {
    pub Token: Rule::secret(128);
}

/// A token that is or was good.
pub struct Known {
    pub purpose: Purpose,
    pub status: Status,
    user: UserId,
}

/// Looks a token up and leaves it as it is. None if there is no such token. 400 for a text that is none.
pub fn look_up(conn: &View, token: &str) -> Result<Option<Known>> {
    Token::check(token, "token").map_err(Error::BadRequest)?;
    let status = |is_used: bool, expires_at: Time| match is_used {
        true => Status::Used,
        false if expires_at <= conn.now() => Status::Expired,
        false => Status::Open,
    };
    Ok(conn
        .prepare_cached("select purpose, used_at is not null, expires_at, user_id from one_time_tokens where hash = ?1")?
        .query_row([secret::sha256(token)], |row| {
            Ok(Known { purpose: row.get(0)?, status: status(row.get(1)?, row.get(2)?), user: row.get(3)? })
        })
        .optional()?)
}

/// The account of a token, which stays valid. 400 if there is no such token, 422 if it is used, superseded or expired.
pub fn find_account(conn: &View, purpose: Purpose, token: &str) -> Result<UserId> {
    let found = look_up(conn, token)?.filter(|known| known.purpose == purpose);
    let known = found.ok_or_else(|| Error::BadRequest(Code::LinkInvalid.says("The token is invalid")))?;
    match known.status {
        Status::Open => Ok(known.user),
        Status::Expired => Err(Error::Invalid(Code::LinkExpired.says("The token has expired"))),
        Status::Used | Status::Void => {
            Err(Error::Invalid(Code::LinkUsed.says("The token has already been used, or newer ones were sent")))
        }
    }
}

/// Uses up a token, with the account's others for the same purpose, and returns the account. Errors as in [`find_account`].
pub fn take(tx: &mut Tx, purpose: Purpose, token: &str) -> Result<UserId> {
    let now = tx.now();
    let taken: Option<UserId> = tx
        .prepare_cached(
            "update one_time_tokens set used_at = ?3
             where hash = ?1 and purpose = ?2 and used_at is null and expires_at > ?3 returning user_id",
        )?
        .query_row((secret::sha256(token), purpose.as_str(), now), |row| row.get(0))
        .optional()?;
    let Some(user) = taken else { return find_account(tx, purpose, token) };
    void_others(tx, user, purpose)?;
    Ok(user)
}

/// [`take`] of a magic link by the hash of its code. None if there is none, and if it is used, superseded or expired.
pub fn take_by_code(tx: &mut Tx, code: &Hash) -> Result<Option<UserId>> {
    let taken: Option<UserId> = tx
        .prepare_cached(
            "update one_time_tokens set used_at = ?2
             where code_hash = ?1 and used_at is null and expires_at > ?2 returning user_id",
        )?
        .query_row((code, tx.now()), |row| row.get(0))
        .optional()?;
    if let Some(user) = taken {
        void_others(tx, user, Purpose::MagicLink)?;
    }
    Ok(taken)
}

fn void_others(tx: &mut Tx, user: UserId, purpose: Purpose) -> Result<()> {
    tx.prepare_cached("update one_time_tokens set used_at = ?3 where user_id = ?1 and purpose = ?2 and used_at is null")?
        .execute((user, purpose.as_str(), tx.now()))?;
    Ok(())
}

/// Voids an account's magic links and password resets: they must not outlive a new password.
pub fn void_entrances(tx: &mut Tx, user: UserId) -> Result<()> {
    tx.prepare_cached(
        "update one_time_tokens set used_at = ?2
         where user_id = ?1 and purpose in ('magic_link', 'password_reset') and used_at is null",
    )?
    .execute((user, tx.now()))?;
    Ok(())
}

/// Deletes at most `limit` tokens that expired before the given time.
pub fn prune(tx: &mut Tx, before: Time, limit: u32) -> Result<usize> {
    let sql = "delete from one_time_tokens where hash in (select hash from one_time_tokens where expires_at < ?1 limit ?2)";
    Ok(tx.prepare_cached(sql)?.execute((before, limit))?)
}
