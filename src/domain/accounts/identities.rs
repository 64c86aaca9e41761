//! Federated log-in: accounts of OpenID Connect issuers, keyed by issuer and subject.

use rusqlite::{Connection, OptionalExtension};

use crate::{
    db::Tx,
    domain::{
        accounts::{
            self, User,
            mailbox_proof::{self, Proof},
            registration, sessions,
        },
        text,
    },
    error::{Code, Error, OrConflict, Result},
    id::UserId,
    issuer::{Claims, Verified},
    time::Time,
};

/// Logs in with a verified id token. The account is the one linked to the token's identity, else the one with its verified
/// address, else a new one; the last two get linked.
///
/// 401 for a token that was used before, for an address that the issuer has not verified, and for an address that has an
/// account if the issuer is not authoritative for it. 403 for a disabled account and if the policy does not let the address
/// register.
pub fn log_in(tx: &mut Tx, token: &Verified, device: &sessions::Device) -> Result<sessions::Started> {
    tx.prepare_cached("insert into used_id_tokens (hash, expires_at) values (?1, ?2)")?
        .execute((token.hash, token.expires_at))
        .or_conflict(|| Error::Unauthorized(Code::IdTokenInvalid, "The id token has already been used"))?;
    let claims = &token.claims;
    let user = match find(tx, claims)? {
        Some(user) => accounts::get(tx, user)?,
        None => link(tx, claims)?,
    };
    sessions::require_enabled_account(&user)?;
    sessions::start(tx, user, device)
}

fn find(conn: &Connection, claims: &Claims) -> Result<Option<UserId>> {
    Ok(conn
        .prepare_cached("select user_id from identities where issuer = ?1 and subject = ?2")?
        .query_row((&claims.iss, &claims.sub), |row| row.get(0))
        .optional()?)
}

fn link(tx: &mut Tx, claims: &Claims) -> Result<User> {
    let email = text::normalised_address(&claims.person.email).filter(|_| claims.person.email_verified);
    let email = email
        .ok_or(Error::Unauthorized(Code::ProviderEmailUnverified, "The identity provider has not verified an e-mail address"))?;
    let user = match accounts::find_by_email(tx, &email)? {
        Some(_) if !claims.is_authoritative_for(&email) => {
            return Err(Error::Unauthorized(
                Code::AccountExists,
                "The address has an account already: log in with its password or a magic link",
            ));
        }
        Some(user) => {
            sessions::require_enabled_account(&user)?;
            mailbox_proof::prove(tx, user, Proof::Mailbox)?
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

/// Makes an account without a password. 403 if the policy does not let the address register.
fn register(tx: &mut Tx, email: &str, claims: &Claims) -> Result<User> {
    registration::require_may_register(tx, email)?;
    // The issuer's name and picture are optional: bad ones are dropped, and the log-in succeeds.
    let person = &claims.person;
    let named = accounts::New::check(email, None, &person.given_name, &person.family_name);
    let new = named.or_else(|_| accounts::New::check(email, None, "", "")).map_err(Error::BadRequest)?;
    let id = accounts::create(tx, &new, "")?;
    let picture = text::web_address_if_any(&person.picture, "picture").unwrap_or_default();
    // The issuer has verified the address at some time. Unless it is authoritative for the address, that is no proof.
    tx.prepare_cached("update users set is_verified = 1, avatar_url = ?2 where id = ?1")?.execute((id, picture))?;
    registration::note_unfinished(tx, id)?;
    let user = accounts::get(tx, id)?;
    if claims.is_authoritative_for(email) { mailbox_proof::prove(tx, user, Proof::Mailbox) } else { Ok(user) }
}

/// Deletes at most `limit` used id tokens that expired before `now`.
pub fn prune_used_tokens(tx: &mut Tx, now: Time, limit: u32) -> Result<usize> {
    let sql = "delete from used_id_tokens where hash in (select hash from used_id_tokens where expires_at < ?1 limit ?2)";
    Ok(tx.prepare_cached(sql)?.execute((now, limit))?)
}
