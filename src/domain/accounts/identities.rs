//! Federated log-in: accounts of OpenID Connect issuers, keyed by issuer and subject.

use rusqlite::{Connection, OptionalExtension};

use crate::{
    db::Tx,
    domain::{
        accounts::{
            self, User,
            proof::{self, Proof},
            registration, sessions,
        },
        text,
    },
    error::{Error, OrConflict, Result},
    id::UserId,
    issuer::{Claims, Verified},
    time::Time,
};

/// Logs in whom a verified token names: the account that its identity is linked to, else the one of its verified address,
/// which is linked, else a new one.
///
/// 401 for a token that has logged in before, and when the issuer has not verified the address, or is not authoritative
/// for one that has an account; 403 for a disabled account and where registration is not open to them.
pub fn log_in(tx: &mut Tx, token: &Verified, device: &sessions::Device) -> Result<sessions::Started> {
    tx.prepare_cached("insert into used_id_tokens (hash, expires_at) values (?1, ?2)")?
        .execute((token.hash, token.expires_at))
        .or_conflict(|| Error::Unauthorized("The id token has already been used"))?;
    let claims = &token.claims;
    let user = match find(tx, claims)? {
        Some(user) => accounts::get(tx, user)?,
        None => link(tx, claims)?,
    };
    sessions::require_active(&user)?;
    sessions::start(tx, user, device)
}

fn find(conn: &Connection, claims: &Claims) -> Result<Option<UserId>> {
    Ok(conn
        .prepare_cached("select user_id from identities where issuer = ?1 and subject = ?2")?
        .query_row((&claims.iss, &claims.sub), |row| row.get(0))
        .optional()?)
}

fn link(tx: &mut Tx, claims: &Claims) -> Result<User> {
    let email = text::email_address(&claims.email).filter(|_| claims.email_verified);
    let email = email.ok_or(Error::Unauthorized("The identity provider has not verified an e-mail address"))?;
    let user = match accounts::find_by_email(tx, &email)? {
        Some(_) if !claims.is_authoritative_for(&email) => {
            return Err(Error::Unauthorized("The address has an account already: log in with its password or a magic link"));
        }
        Some(user) => {
            sessions::require_active(&user)?;
            proof::prove(tx, user, Proof::Mailbox)?
        }
        None => register(tx, &email, claims)?,
    };
    tx.prepare_cached("insert into identities (issuer, subject, user_id) values (?1, ?2, ?3)")?.execute((
        &claims.iss,
        &claims.sub,
        user.id,
    ))?;
    Ok(user)
}

/// An account without a password.
fn register(tx: &mut Tx, email: &str, claims: &Claims) -> Result<User> {
    registration::require_welcome(tx, email)?;
    // What the issuer says of name and picture is a courtesy: it keeps nobody out.
    let named = accounts::New::check(email, None, &claims.given_name, &claims.family_name);
    let new = named.or_else(|_| accounts::New::check(email, None, "", "")).map_err(Error::BadRequest)?;
    let id = accounts::create(tx, &new, "")?;
    let picture = text::web_address_if_any(&claims.picture, "picture").unwrap_or_default();
    // The issuer has verified the address, if only once; that is less than a proof where it is not authoritative.
    tx.prepare_cached("update users set is_verified = 1, avatar_url = ?2 where id = ?1")?.execute((id, picture))?;
    let user = accounts::get(tx, id)?;
    if claims.is_authoritative_for(email) { proof::prove(tx, user, Proof::Mailbox) } else { Ok(user) }
}

/// Forgets used tokens that have expired by then, up to `limit`.
pub fn prune(tx: &mut Tx, now: Time, limit: u32) -> Result<usize> {
    let sql = "delete from used_id_tokens where hash in (select hash from used_id_tokens where expires_at < ?1 limit ?2)";
    Ok(tx.prepare_cached(sql)?.execute((now, limit))?)
}
