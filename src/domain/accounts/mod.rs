//! Accounts: their record, and what a new one must be like.
//!
//! Below: registration, passwords, sessions, identities of other issuers, profiles, proofs of the mailbox with the links
//! and one-time tokens that give them, what a first proof takes back, and what the command line does. Uses the log and the
//! outbox; what an account has in organisations and channels is asked there.

pub mod administration;
pub mod identities;
pub mod mailbox;
pub mod one_time_tokens;
pub mod passwords;
pub mod profiles;
pub mod proof;
pub mod registration;
pub mod sessions;

use rusqlite::{Connection, OptionalExtension, Row};

use crate::{
    db::Tx,
    domain::{
        access::{Caller, PlatformRole},
        text,
    },
    error::{Error, OrConflict, Result},
    id::{OrganisationId, UserId},
    secret,
    time::Time,
};

#[derive(Clone, Debug)]
pub struct User {
    pub id: UserId,
    pub email: String,
    pub username: String,
    pub password_hash: String,
    pub first_name: String,
    pub last_name: String,
    pub phone: String,
    pub avatar_url: String,
    pub role: PlatformRole,
    pub is_active: bool,
    /// Somebody opened the link that was mailed; who that was is another question.
    pub is_verified: bool,
    /// Whoever uses the account reads the mailbox ([`proof::prove`]). Implies `is_verified`.
    pub mailbox_proved: bool,
    pub is_onboarded: bool,
    pub current_org: Option<OrganisationId>,
    pub created_at: Time,
    pub updated_at: Time,
}

impl User {
    pub fn full_name(&self) -> String {
        full_name(&self.first_name, &self.last_name)
    }

    pub fn shown_name(&self) -> String {
        shown_name(&self.full_name(), &self.username, &self.email).to_owned()
    }
}

/// Full name, else username, else the address's local part.
pub fn shown_name<'a>(full_name: &'a str, username: &'a str, email: &'a str) -> &'a str {
    [full_name, username, local_part(email)].into_iter().find(|name| !name.is_empty()).unwrap_or_default()
}

pub fn full_name(first_name: &str, last_name: &str) -> String {
    format!("{first_name} {last_name}").trim().to_owned()
}

/// What stands before the `@`.
pub fn local_part(email: &str) -> &str {
    email.split('@').next().unwrap_or_default()
}

/// An account to be made: checked, but for what only the database knows.
#[derive(Debug)]
pub struct New {
    pub email: String,
    pub username: Option<String>,
    pub first_name: String,
    pub last_name: String,
    pub role: PlatformRole,
}

impl New {
    /// The reason is one for a person to read. Names: at most 100 characters.
    pub fn check(email: &str, username: Option<&str>, first_name: &str, last_name: &str) -> Result<New, String> {
        Ok(New {
            email: text::email_address(email).ok_or("email is not a valid e-mail address")?,
            username: username.filter(|name| !name.is_empty()).map(check_username).transpose()?,
            first_name: text::one_line(first_name, "first_name", 100)?.to_owned(),
            last_name: text::one_line(last_name, "last_name", 100)?.to_owned(),
            role: PlatformRole::User,
        })
    }

    /// As [`check_password`] says.
    pub fn check_password(&self, password: &str) -> Result<(), String> {
        // The name that will be made from the address, where none is given.
        check_password(password, &self.email, self.username.as_deref().unwrap_or(local_part(&self.email)))
    }
}

/// 1 to 64 ASCII letters, digits, `_ . -`, and none of the names that mention everybody.
pub fn check_username(name: &str) -> Result<String, String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    if name.is_empty() || name.len() > 64 || !name.chars().all(allowed) {
        return Err("username must be 1 to 64 letters, digits, '_', '.' or '-'".into());
    }
    if is_reserved(name) {
        return Err(format!("username {name} is reserved"));
    }
    Ok(name.to_owned())
}

fn is_reserved(name: &str) -> bool {
    EVERYBODY.iter().any(|reserved| name.eq_ignore_ascii_case(reserved))
}

/// Names that mention every member of a channel; nobody can be called so.
pub const EVERYBODY: [&str; 4] = ["channel", "here", "all", "everyone"];

/// 8 to 128 characters, not among the most common ones, not the address or the name.
pub fn check_password(password: &str, email: &str, username: &str) -> Result<(), String> {
    let length = password.chars().count();
    if !(8..=128).contains(&length) {
        return Err("password must have 8 to 128 characters".into());
    }
    if password.eq_ignore_ascii_case(email) || password.eq_ignore_ascii_case(username) {
        return Err("password must not be the e-mail address or the username".into());
    }
    if secret::is_common(password) {
        return Err("password is one of the most common ones".into());
    }
    Ok(())
}

/// Makes an account. 422 when the address or the username is taken.
pub fn create(tx: &mut Tx, new: &New, password_hash: &str) -> Result<UserId> {
    let username = match &new.username {
        Some(name) => name.clone(),
        None => free_username(tx, &new.email)?,
    };
    let (id, now) = (UserId::new(), tx.now());
    let inserted = tx
        .prepare_cached(
            "insert into users (id, email, username, password_hash, first_name, last_name, role, created_at, updated_at)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)",
        )?
        .execute((id, &new.email, &username, password_hash, &new.first_name, &new.last_name, new.role, now));
    match inserted.or_conflict(|| Error::invalid("username already exists")) {
        Err(Error::Invalid(_)) if find_by_email(tx, &new.email)?.is_some() => Err(Error::invalid("email already exists")),
        other => other.map(|_| id),
    }
}

/// The address's local part with other characters dropped, made unique by a number.
fn free_username(conn: &Connection, email: &str) -> Result<String> {
    let kept: String = local_part(email).chars().filter(|c| check_username(&c.to_string()).is_ok()).take(50).collect();
    let base = if kept.is_empty() { "user" } else { &kept };
    let mut taken = conn.prepare_cached("select 1 from users where username = ?1")?;
    first_free(base, |name| Ok(is_reserved(name) || taken.exists([name])?))
}

/// The name, or the first of it with a number that is not taken.
pub fn first_free(base: &str, mut taken: impl FnMut(&str) -> Result<bool>) -> Result<String> {
    let short: String = base.chars().take(54).collect(); // with ten digits: 64
    // A few small numbers, then large random ones: the thousandth `info` must not cost a thousand look-ups.
    let small = (2..=9).map(|n| format!("{short}{n}"));
    let large = std::iter::repeat_with(|| format!("{short}{}", u32::from_le_bytes(secret::random())));
    for name in std::iter::once(base.to_owned()).chain(small).chain(large) {
        if !taken(&name)? {
            return Ok(name);
        }
    }
    unreachable!("the candidates do not end")
}

const SELECT: &str = "select id, email, username, password_hash, first_name, last_name, phone, avatar_url, role, is_active,
    is_verified, mailbox_proved, is_onboarded, created_at, updated_at,
    (select o.id from organisations o where o.id = current_org and o.deleted_at is null) as current_org from users";

pub fn find(conn: &Connection, id: UserId) -> Result<Option<User>> {
    Ok(conn.prepare_cached(&format!("{SELECT} where id = ?1"))?.query_row([id], from_row).optional()?)
}

/// The account that another row names.
pub fn get(conn: &Connection, id: UserId) -> Result<User> {
    find(conn, id)?.ok_or_else(|| Error::internal("a row names an account that is gone"))
}

/// The caller's. 401 when it is gone.
pub fn own(conn: &Connection, caller: Caller) -> Result<User> {
    find(conn, caller.user)?.ok_or(Error::Unauthorized("The account is gone"))
}

/// By the address as [`text::email_address`] gives it.
pub fn find_by_email(conn: &Connection, email: &str) -> Result<Option<User>> {
    Ok(conn.prepare_cached(&format!("{SELECT} where email = ?1"))?.query_row([email], from_row).optional()?)
}

/// The organisation that the account's clients open with: the last one made or joined.
pub fn set_current_organisation(tx: &mut Tx, user: UserId, organisation: OrganisationId) -> Result<()> {
    tx.prepare_cached("update users set current_org = ?2 where id = ?1")?.execute((user, organisation))?;
    Ok(())
}

/// Of an organisation that the account has lost.
pub fn leave_current_organisation(tx: &mut Tx, user: UserId, organisation: OrganisationId) -> Result<()> {
    tx.prepare_cached("update users set current_org = null where id = ?1 and current_org = ?2")?.execute((user, organisation))?;
    Ok(())
}

/// What the command line answers to an address without an account.
pub const NO_ACCOUNT: Error = Error::NotFound("Account");

/// Writes down who was seen, gathered in memory since the last time.
pub fn seen(tx: &mut Tx, seen: &[(UserId, Time)]) -> Result<()> {
    let mut update = tx.prepare_cached("update users set last_seen_at = ?2 where id = ?1")?;
    for row in seen {
        update.execute(*row)?;
    }
    Ok(())
}

fn from_row(row: &Row) -> rusqlite::Result<User> {
    Ok(User {
        id: row.get("id")?,
        email: row.get("email")?,
        username: row.get("username")?,
        password_hash: row.get("password_hash")?,
        first_name: row.get("first_name")?,
        last_name: row.get("last_name")?,
        phone: row.get("phone")?,
        avatar_url: row.get("avatar_url")?,
        role: row.get("role")?,
        is_active: row.get("is_active")?,
        is_verified: row.get("is_verified")?,
        mailbox_proved: row.get("mailbox_proved")?,
        is_onboarded: row.get("is_onboarded")?,
        current_org: row.get("current_org")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
