//! Accounts: their rows, and the checks of new ones.
//!
//! Below: registration, passwords, sessions, tokens of programs, known devices, identities of other issuers, profiles, custom
//! statuses, proofs of the mailbox, mailed links, their one-time tokens and codes, and the command line's operations.

pub mod address_migration;
pub mod by_operator;
pub mod custom_status;
pub mod identities;
pub mod known_devices;
pub mod left_behind;
pub mod login_codes;
pub mod mailbox_proof;
pub mod mailed_links;
pub mod one_time_tokens;
pub mod passwords;
pub mod profiles;
pub mod registration;
pub mod searchable_names;
pub mod sessions;
pub mod tokens;
pub mod unwritten_mails;

use std::borrow::Cow;

use rusqlite::{Connection, OptionalExtension, Row};

use self::custom_status::CustomStatus;
use crate::{
    db::{Columns, Tx},
    domain::{
        access::{Caller, PlatformRole},
        text::{self, Rule},
    },
    error::{Code, Error, OrConflict, Refusal, Result},
    id::{OrganisationId, UserId},
    secret,
    time::Time,
};

text::rules! {
    pub Username: Rule::username(64);
    /// A username that may be left empty.
    pub UsernameIfAny: Rule::username(64).at_least(0);
    /// A first or last name.
    pub PersonName: Rule::line(100).visible();
    pub Password: Rule::secret(128).at_least(8);
    /// A password that is compared with the account's.
    pub GivenPassword: Rule::secret(128).at_least(0);
    /// An ID token of an OpenID Connect issuer.
    pub IdToken: Rule::secret(12_000).not_blank();
    pub Nonce: Rule::secret(255).at_least(0);
    /// Where a browser goes after a log-in. It is kept in a cookie.
    pub NextPath: Rule::own_path(500);
}

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
    pub custom_status: Option<CustomStatus>,
    pub role: PlatformRole,
    pub is_active: bool,
    /// Whether somebody has opened a verification link; that need not be the account's user.
    pub is_verified: bool,
    /// Whether the account's user has proved to read the mailbox ([`mailbox_proof::prove`]). Implies `is_verified`.
    pub mailbox_proved: bool,
    pub is_onboarded: bool,
    /// Whether programs alone use the account, which has no mailbox and no password.
    pub is_bot: bool,
    pub current_org: Option<OrganisationId>,
    /// [`NO_ORGANISATION`] without a current organisation.
    pub current_organisation_slug: String,
    pub created_at: Time,
    pub updated_at: Time,
}

impl User {
    pub fn full_name(&self) -> String {
        join_names(&self.first_name, &self.last_name)
    }

    pub fn shown_name(&self) -> String {
        shown_name(&self.full_name(), &self.username, &self.email).to_owned()
    }
}

/// The name to show: the full name, else the username, else the address's local part.
pub fn shown_name<'a>(full_name: &'a str, username: &'a str, email: &'a str) -> &'a str {
    [full_name, username, local_part(email)].into_iter().find(|name| !name.is_empty()).unwrap_or_default()
}

pub fn join_names(first_name: &str, last_name: &str) -> String {
    format!("{first_name} {last_name}").trim().to_owned()
}

/// What answers call an account's user: a person is a `user`, a program a `bot`.
pub fn user_type(is_bot: bool) -> &'static str {
    if is_bot { "bot" } else { "user" }
}

/// The part of an address before the `@`.
pub fn local_part(email: &str) -> &str {
    email.split('@').next().unwrap_or_default()
}

/// An account to be made. Its fields are checked, except for what needs the database.
#[derive(Debug)]
pub struct New {
    pub email: String,
    pub username: Option<String>,
    pub first_name: String,
    pub last_name: String,
    pub role: PlatformRole,
}

impl New {
    /// Checks and trims the fields of a new account. The error says what is wrong with the first bad one.
    pub fn check(email: &str, username: Option<&str>, first_name: &str, last_name: &str) -> Result<New, Refusal> {
        Ok(New {
            email: check_email(email)?,
            username: username.filter(|name| !name.is_empty()).map(check_username).transpose()?,
            first_name: PersonName::check(first_name, "first_name")?.to_owned(),
            last_name: PersonName::check(last_name, "last_name")?.to_owned(),
            role: PlatformRole::User,
        })
    }

    /// Checks a password for this account, as [`check_new_password`] does.
    pub fn check_password(&self, password: &str) -> Result<(), Refusal> {
        // Without a username, one is made from the local part of the address.
        check_new_password(password, "password", &self.email, self.username.as_deref().unwrap_or(local_part(&self.email)))
    }
}

/// Checks the address of a new account, which is none of those that erased accounts and bots get.
fn check_email(email: &str) -> Result<String, Refusal> {
    let email = text::email(email, "email")?;
    if email.ends_with(ERASED) || email.ends_with(BOT) { Err(reserved("email", &email)) } else { Ok(email) }
}

/// Checks a username that somebody chooses. It is none that an erased account gets, and none that mentions everybody.
pub fn check_username(name: &str) -> Result<String, Refusal> {
    let name = check_imported_username(name)?;
    if is_reserved(&name) { Err(reserved("username", &name)) } else { Ok(name) }
}

/// Checks a username that comes from another server, where it may be an erased account's. It is none that mentions everybody.
pub(in crate::domain) fn check_imported_username(name: &str) -> Result<String, Refusal> {
    Username::check(name, "username")?;
    if mentions_everybody(name) { Err(reserved("username", name)) } else { Ok(name.to_owned()) }
}

fn reserved(field: &str, name: &str) -> Refusal {
    Code::Reserved.says(format!("{field} {name} is reserved")).at(field)
}

fn is_reserved(name: &str) -> bool {
    mentions_everybody(name) || name.get(..ERASED_NAME.len()).is_some_and(|start| start.eq_ignore_ascii_case(ERASED_NAME))
}

fn mentions_everybody(name: &str) -> bool {
    EVERYBODY.iter().any(|reserved| name.eq_ignore_ascii_case(reserved))
}

/// Names that mention every member of a channel, and so are no usernames.
pub const EVERYBODY: [&str; 4] = ["channel", "here", "all", "everyone"];

/// Checks a new password: no common one, neither the address nor the username.
pub fn check_new_password(password: &str, field: &str, email: &str, username: &str) -> Result<(), Refusal> {
    Password::check(password, field)?;
    if password.eq_ignore_ascii_case(email) || password.eq_ignore_ascii_case(username) {
        return Err(Code::PasswordTooSimilar.says(format!("{field} must not be the e-mail address or the username")).at(field));
    }
    if secret::is_common(password) {
        return Err(Code::PasswordTooCommon.says(format!("{field} is one of the most common ones")).at(field));
    }
    Ok(())
}

/// Makes an account. 422 if the address or the username is taken.
pub fn create(tx: &mut Tx, new: &New, password_hash: &str) -> Result<UserId> {
    let id = UserId::new();
    insert(tx, id, new, password_hash).map(|()| id)
}

/// [`create`] with this identifier.
pub(in crate::domain) fn insert(tx: &mut Tx, id: UserId, new: &New, password_hash: &str) -> Result<()> {
    let username = match &new.username {
        Some(name) => name.clone(),
        None => free_username(tx, &new.email)?,
    };
    let now = tx.now();
    let inserted = tx
        .prepare_cached(
            "insert into users (id, email, username, password_hash, first_name, last_name, role, created_at, updated_at)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)",
        )?
        .execute((id, &new.email, &username, password_hash, &new.first_name, &new.last_name, new.role, now));
    match inserted.or_conflict(|| Error::Invalid(Code::UsernameTaken.says("username already exists").at("username"))) {
        Err(Error::Invalid(_)) if find_by_email(tx, &new.email)?.is_some() => {
            Err(Error::Invalid(Code::EmailTaken.says("email already exists").at("email")))
        }
        other => other.map(drop),
    }
}

/// A free username: the allowed characters of the address's local part, and a number if that name is taken.
pub(in crate::domain) fn free_username(conn: &Connection, email: &str) -> Result<String> {
    let kept: String = local_part(email).chars().filter(|c| check_username(&c.to_string()).is_ok()).take(50).collect();
    let kept = kept.trim_start_matches(ERASED_NAME); // a number behind it would not make it free
    let base = if kept.is_empty() { "user" } else { kept };
    let mut taken = conn.prepare_cached("select 1 from users where username = ?1")?;
    first_free(base, |name| Ok(is_reserved(name) || taken.exists([name])?))
}

/// The first name that is free: `base`, else `base` with a number.
pub fn first_free(base: &str, mut taken: impl FnMut(&str) -> Result<bool>) -> Result<String> {
    let short: String = base.chars().take(54).collect(); // with ten digits: 64
    // First small numbers, then large random ones: the thousandth `info` must not cost a thousand look-ups.
    let small = (2..=9).map(|n| format!("{short}{n}"));
    let large = std::iter::repeat_with(|| format!("{short}{}", u32::from_le_bytes(secret::random())));
    for name in std::iter::once(base.to_owned()).chain(small).chain(large) {
        if !taken(&name)? {
            return Ok(name);
        }
    }
    unreachable!("the candidates do not end")
}

/// The ending of erased people's addresses. Nobody registers one.
pub const ERASED: &str = "@deleted.invalid";
/// The ending of bots' addresses, where nobody reads mail. Nobody registers one.
pub const BOT: &str = "@bot.invalid";
/// The name of an erased person, as author and in direct messages.
pub const ERASED_PERSON: &str = "Deleted user";
/// The beginning of erased people's usernames, in lower case. Nobody chooses one.
pub const ERASED_NAME: &str = "deleted-";

/// The slug that clients show where there is no current organisation. No organisation has it.
pub const NO_ORGANISATION: &str = "client";

/// Selects accounts. [`from_row`] takes the columns in this order.
const SELECT: &str =
    "select u.id, u.email, u.username, u.password_hash, u.first_name, u.last_name, u.phone, u.avatar_url, u.status_emoji,
      u.status_text, u.status_until, u.role, u.is_active, u.is_verified, u.mailbox_proved, u.is_onboarded, u.is_bot, o.id, o.slug,
      u.created_at, u.updated_at
    from users u left join organisations o on o.id = u.current_org and o.deleted_at is null";

pub fn find(conn: &Connection, id: UserId) -> Result<Option<User>> {
    Ok(conn.prepare_cached(&format!("{SELECT} where u.id = ?1"))?.query_row([id], from_row).optional()?)
}

/// Whether an account is a bot's.
pub fn is_bot(conn: &Connection, id: UserId) -> Result<bool> {
    Ok(conn.prepare_cached("select 1 from users where id = ?1 and is_bot")?.exists([id])?)
}

/// The account that another row names. 500 if there is none.
pub fn get(conn: &Connection, id: UserId) -> Result<User> {
    find(conn, id)?.ok_or_else(|| Error::internal("a row names an account that is gone"))
}

/// The caller's account. 401 if it is gone: it may have been erased while a request was under way.
pub fn own(conn: &Connection, caller: Caller) -> Result<User> {
    find(conn, caller.user)?.filter(|user| user.is_active).ok_or(Error::Unauthorized(Code::TokenInvalid, "The account is gone"))
}

/// Finds a person's account by its address in the form of [`text::normalised_address`]. Nobody reads mail at the address of a bot.
pub fn find_by_email(conn: &Connection, email: &str) -> Result<Option<User>> {
    Ok(conn.prepare_cached(&format!("{SELECT} where u.email = ?1 and not u.is_bot"))?.query_row([email], from_row).optional()?)
}

/// The command line's error for an address without an account.
pub const NO_ACCOUNT: Error = Error::Failed(Cow::Borrowed("Account not found: `tidings user list` lists all"));

/// Writes when users were last seen. The times were gathered in memory since the last write.
pub fn seen(tx: &mut Tx, seen: &[(UserId, Time)]) -> Result<()> {
    let mut update = tx.prepare_cached("update users set last_seen_at = ?2 where id = ?1")?;
    for row in seen {
        update.execute(*row)?;
    }
    Ok(())
}

fn from_row(row: &Row) -> rusqlite::Result<User> {
    let mut columns = Columns::of_row(row);
    Ok(User {
        id: columns.take()?,
        email: columns.take()?,
        username: columns.take()?,
        password_hash: columns.take()?,
        first_name: columns.take()?,
        last_name: columns.take()?,
        phone: columns.take()?,
        avatar_url: columns.take()?,
        custom_status: CustomStatus::take(&mut columns)?,
        role: columns.take()?,
        is_active: columns.take()?,
        is_verified: columns.take()?,
        mailbox_proved: columns.take()?,
        is_onboarded: columns.take()?,
        is_bot: columns.take()?,
        current_org: columns.take()?,
        current_organisation_slug: columns.take::<Option<String>>()?.unwrap_or_else(|| NO_ORGANISATION.into()),
        created_at: columns.take()?,
        updated_at: columns.take()?,
    })
}
