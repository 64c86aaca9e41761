//! Accounts as the command line shows, makes and changes them.

use rusqlite::{Connection, OptionalExtension, Row};
use serde::Serialize;

use crate::{
    db::{Columns, Tx},
    domain::{
        access::PlatformRole,
        accounts::{self, NO_ACCOUNT, New, passwords, sessions},
        page::Page,
    },
    error::Result,
    event::Effect,
    id::UserId,
    time::Time,
};

/// An account, as administrators see it.
#[derive(Serialize)]
pub struct Account {
    pub id: UserId,
    pub email: String,
    pub username: String,
    pub name: String,
    pub role: PlatformRole,
    pub is_active: bool,
    pub is_verified: bool,
    pub created_at: Time,
    pub last_seen_at: Option<Time>,
}

const SELECT: &str =
    "select id, email, username, first_name, last_name, role, is_active, is_verified, created_at, last_seen_at from users";

fn from_row(row: &Row) -> rusqlite::Result<Account> {
    let mut columns = Columns::of_row(row);
    Ok(Account {
        id: columns.take()?,
        email: columns.take()?,
        username: columns.take()?,
        name: accounts::join_names(&columns.take::<String>()?, &columns.take::<String>()?),
        role: columns.take()?,
        is_active: columns.take()?,
        is_verified: columns.take()?,
        created_at: columns.take()?,
        last_seen_at: columns.take()?,
    })
}

/// Lists the accounts of people whose address, username or name contains a text, in any case, in the order of their addresses.
pub fn list(conn: &Connection, search: &str, limit: u32) -> Result<Vec<Account>> {
    let sql = format!(
        "{SELECT} where not is_bot
           and (?1 = '' or instr(lower(email || ' ' || username || ' ' || first_name || ' ' || last_name), ?1))
         order by email limit ?2"
    );
    let mut select = conn.prepare_cached(&sql)?;
    Ok(select.query_map((search.to_lowercase(), limit), from_row)?.collect::<rusqlite::Result<_>>()?)
}

/// An account with its memberships.
#[derive(Serialize)]
pub struct Details {
    #[serde(flatten)]
    pub account: Account,
    /// The organisations, each with the role in it.
    pub organisations: Vec<String>,
    pub sessions: i64,
}

/// The account with this address.
pub fn show(conn: &Connection, email: &str, now: Time) -> Result<Details> {
    let mut select = conn.prepare_cached(&format!("{SELECT} where email = ?1 and not is_bot"))?;
    let account = select.query_row([email], from_row).optional()?.ok_or(NO_ACCOUNT)?;
    let organisations = conn
        .prepare_cached(
            "select o.name || ' (' || iif(o.owner_id = m.user_id, 'owner', r.name) || iif(m.status = 'active', '', ', ' || m.status) || ')'
               from organisation_members m join organisations o on o.id = m.organisation_id join roles r on r.id = m.role_id
             where m.user_id = ?1 and o.deleted_at is null order by o.name",
        )?
        .query_map([account.id], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let sessions = conn
        .prepare_cached(
            "select count(*) from sessions where user_id = ?1 and token_hash is null and ended_at is null and expires_at > ?2",
        )?
        .query_row((account.id, now), |row| row.get(0))?;
    Ok(Details { account, organisations, sessions })
}

/// The live sessions of the account with this address, newest first.
pub fn sessions(conn: &Connection, email: &str, now: Time) -> Result<Vec<sessions::Session>> {
    let user = accounts::find_by_email(conn, email)?.ok_or(NO_ACCOUNT)?;
    sessions::live(conn, user.id, now, Page::new(1, sessions::MOST))
}

/// Ends all sessions and tokens of the account with this address.
pub fn log_out(tx: &mut Tx, email: &str) -> Result<()> {
    let user = accounts::find_by_email(tx, email)?.ok_or(NO_ACCOUNT)?;
    sessions::end_others(tx, user.id, None)
}

/// Sets the password of the account with this address. Ends its sessions and voids its links, and a mail tells the user.
pub fn set_password(tx: &mut Tx, email: &str, hash: &str) -> Result<()> {
    let user = accounts::find_by_email(tx, email)?.ok_or(NO_ACCOUNT)?;
    passwords::set(tx, &user, hash, None)
}

/// Makes an account with the role of `new`. Its address counts as verified and proved, because the operator vouches for it.
pub fn create(tx: &mut Tx, new: &New, password_hash: &str) -> Result<UserId> {
    let id = accounts::create(tx, new, password_hash)?;
    tx.execute("update users set is_verified = 1, mailbox_proved = 1 where id = ?1", [id])?;
    tx.then(Effect::AccountChanged(id));
    Ok(id)
}

/// Gives the account with this address a role on the whole server.
pub fn set_role(tx: &mut Tx, email: &str, role: PlatformRole) -> Result<()> {
    let sql = "update users set role = ?2, updated_at = ?3 where email = ?1";
    require_one(tx.prepare_cached(sql)?.execute((email, role, tx.now()))?)
}

/// Enables or disables an account. Disabling ends its sessions.
pub fn set_active(tx: &mut Tx, email: &str, is_active: bool) -> Result<()> {
    let sql = "update users set is_active = ?2, updated_at = ?3 where email = ?1";
    require_one(tx.prepare_cached(sql)?.execute((email, is_active, tx.now()))?)?;
    let user = accounts::find_by_email(tx, email)?.ok_or(NO_ACCOUNT)?;
    if is_active { Ok(()) } else { sessions::end_others(tx, user.id, None) }
}

/// The addresses of the active superadmins, at most a hundred.
pub fn superadmins(conn: &Connection) -> Result<Vec<String>> {
    Ok(conn
        .prepare_cached("select email from users where role = ?1 and is_active = 1 order by created_at limit 100")?
        .query_map([PlatformRole::Superadmin], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?)
}

/// Whether there is any account.
pub fn has_any_account(conn: &Connection) -> Result<bool> {
    Ok(conn.prepare_cached("select 1 from users limit 1")?.exists([])?)
}

/// Whether any account has the role of a superadmin.
pub fn has_superadmin(conn: &Connection) -> Result<bool> {
    Ok(conn.prepare_cached("select 1 from users where role = 'superadmin' limit 1")?.exists([])?)
}

fn require_one(changed: usize) -> Result<()> {
    if changed == 1 { Ok(()) } else { Err(NO_ACCOUNT) }
}
