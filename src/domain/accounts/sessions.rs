//! Sessions: what an access token stands for. A token never replaces the check of its session's row. A session that no log-in
//! began belongs to a program's [`tokens`](super::tokens), and is in none of the lists here.

use rusqlite::{Connection, OptionalExtension, Row};
use serde::Serialize;

use crate::{
    db::{Tx, View},
    domain::{
        access::{Caller, PlatformRole, USABLE},
        accounts::{self, known_devices},
        log::revocations,
        page::Page,
        scopes::{Grant, Scopes},
    },
    error::{Code, Error, Result},
    id::{OrganisationId, SessionId, UserId},
    secret,
    time::Time,
};

/// The claims of an access token (RFC 7519).
#[derive(Serialize)]
struct AccessClaims {
    sub: UserId,
    sid: SessionId,
    iat: i64,
    exp: i64,
    aud: &'static str,
}

/// A new session with its tokens, which are returned only once.
pub struct Started {
    pub user: accounts::User,
    pub expires_at: Time,
    pub access_token: String,
    pub notification_token: String,
    /// The mark by which the device is known at its next log-in.
    pub device_token: String,
}

/// The client and address that began a session, for the list of sessions.
#[derive(Default, Clone)]
pub struct Device {
    pub user_agent: String,
    pub address: String,
}

/// Begins a session for an account whose password was just verified against `password_hash`. 401 if the password has changed
/// meanwhile, 403 if the account is disabled; other errors as in [`start`].
pub fn start_after_password(tx: &mut Tx, user: UserId, password_hash: &str, device: &Device) -> Result<Started> {
    let user = accounts::find(tx, user)?.filter(|user| user.password_hash == password_hash);
    let user = user.ok_or(Error::Unauthorized(Code::WrongCredentials, WRONG_CREDENTIALS))?;
    require_enabled_account(&user)?;
    start(tx, user, device)
}

/// Checks that no administrator has disabled the account: 403 if one has.
pub fn require_enabled_account(user: &accounts::User) -> Result<()> {
    if user.is_active { Ok(()) } else { Err(Error::Forbidden(Code::AccountDisabled, "This account is disabled")) }
}

pub const WRONG_CREDENTIALS: &str = "Invalid email or password";

/// At most 50 live sessions per user.
pub const MOST: u32 = 50;

/// Begins a session; every log-in ends here. If the user then has more than 50, the oldest ends, with its sockets. 403 if
/// the server requires a verified address and the user's is not.
pub fn start(tx: &mut Tx, user: accounts::User, device: &Device) -> Result<Started> {
    if tx.site().require_verified_email && !user.is_verified {
        return Err(Error::Forbidden(Code::EmailUnverified, "Verify your e-mail address first"));
    }
    let (id, now) = (SessionId::new(), tx.now());
    let expires_at = now + tx.site().session_lifetime;
    let notification_token = secret::random_token();
    let clipped = |text: &str| text.chars().take(200).collect::<String>();
    tx.prepare_cached(
        "insert into sessions (id, user_id, notification_hash, user_agent, address, created_at, expires_at)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute((
        id,
        user.id,
        secret::sha256(&notification_token),
        clipped(&device.user_agent),
        clipped(&device.address),
        now,
        expires_at,
    ))?;
    end_oldest(tx, user.id)?;
    let claims =
        AccessClaims { sub: user.id, sid: id, iat: now.unix_seconds(), exp: expires_at.unix_seconds(), aud: secret::ACCESS };
    let keys = tx.site().keys();
    let (access_token, device_token) = (keys.access.sign(&claims)?, known_devices::make_mark(&keys, &user, now)?);
    Ok(Started { user, expires_at, access_token, notification_token, device_token })
}

/// Ends a user's oldest sessions beyond the most. Expired sessions count until they are deleted, as the oldest.
fn end_oldest(tx: &mut Tx, user: UserId) -> Result<()> {
    let ended: Vec<SessionId> = tx
        .prepare_cached(
            "update sessions set ended_at = ?2 where id in
               (select id from sessions where user_id = ?1 and token_hash is null and ended_at is null order by id desc limit -1 offset ?3)
             returning id",
        )?
        .query_map((user, tx.now(), MOST), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    revocations::report_ended_sessions(tx, user, ended)
}

/// Finds the caller of a session that is live at `now`. None if it is not live or its account is disabled, and for a bot whose
/// owner's is, or is no member any more.
pub fn find(conn: &Connection, session: SessionId, now: Time) -> Result<Option<Caller>> {
    one(conn, "s.id = ?1", session, now)
}

/// The error of a request whose session has ended since it was admitted.
pub const SESSION_ENDED: Error = Error::Unauthorized(Code::TokenInvalid, "The session has ended");

/// 401 if the caller's session has ended since the request was admitted: its body may have taken long to arrive. For operations that
/// make a session or a token, which would outlive the end of all others.
pub fn require_live(tx: &Tx, caller: Caller) -> Result<()> {
    match find(tx, caller.session, tx.now())? {
        Some(_) => Ok(()),
        None => Err(SESSION_ENDED),
    }
}

/// 401 if the session of a bot has ended since the request was admitted, or somebody else answers for the bot: a request that waits
/// for the writer would be done with the rights of whoever has taken the bot over.
pub fn require_answered_by(conn: &View, session: SessionId, person: UserId) -> Result<()> {
    match find(conn, session, conn.now())? {
        Some(caller) if caller.person == person => Ok(()),
        _ => Err(SESSION_ENDED),
    }
}

pub fn find_by_notification_token(conn: &View, token: &str) -> Result<Option<Caller>> {
    one(conn, "s.notification_hash = ?1", secret::sha256(token), conn.now())
}

fn one(conn: &Connection, by: &str, value: impl rusqlite::ToSql, now: Time) -> Result<Option<Caller>> {
    let sql = format!(
        "select s.id, s.user_id, u.role, coalesce(b.owner_id, s.user_id), s.scopes, s.is_limited
         from sessions s join users u on u.id = s.user_id left join bots b on b.user_id = s.user_id
         where {by} and s.ended_at is null and s.expires_at > ?2 and {USABLE}"
    );
    let caller = |row: &Row| {
        let (session, user, role, person) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        let (scopes, is_limited): (Option<Scopes>, bool) = (row.get(4)?, row.get(5)?);
        let grant = scopes.map_or(Grant::Session, |scopes| Grant::Token { scopes, is_limited });
        Ok(Caller { user, session, role, person, grant })
    };
    Ok(conn.prepare_cached(&sql)?.query_row((value, now), caller).optional()?)
}

/// Ends the caller's session and its sockets. A session that has ended already stays as it is.
pub fn end(tx: &mut Tx, caller: Caller) -> Result<()> {
    end_one(tx, caller.user, caller.session)
}

/// A live session, as its owner sees it.
#[derive(Serialize)]
pub struct Session {
    pub id: SessionId,
    pub user_agent: String,
    pub address: String,
    pub created_at: Time,
    pub expires_at: Time,
    /// When it was last used, to the minute.
    pub last_seen_at: Time,
}

/// Lists a user's live sessions, newest first. For the user and for superadmins; 404 for other callers.
pub fn list(conn: &View, caller: Caller, user: UserId, page: Page) -> Result<Vec<Session>> {
    require_own(conn, caller, user)?;
    live(conn, user, conn.now(), page)
}

/// Checks that the caller is the user, or a superadmin: 404 if not.
pub(super) fn require_own(conn: &Connection, caller: Caller, user: UserId) -> Result<()> {
    if user != caller.user && (!caller.has_platform_role(PlatformRole::Superadmin) || accounts::find(conn, user)?.is_none()) {
        return Err(Error::NotFound(Code::UserNotFound));
    }
    Ok(())
}

/// A user's live sessions, newest first.
pub fn live(conn: &Connection, user: UserId, now: Time, page: Page) -> Result<Vec<Session>> {
    Ok(conn
        .prepare_cached(
            "select id, user_agent, address, created_at, expires_at, coalesce(last_seen_at, created_at) from sessions
             where user_id = ?1 and token_hash is null and ended_at is null and expires_at > ?2
             order by created_at desc, id desc limit ?3 offset ?4",
        )?
        .query_map((user, now, page.size, page.offset), |row| {
            Ok(Session {
                id: row.get(0)?,
                user_agent: row.get(1)?,
                address: row.get(2)?,
                created_at: row.get(3)?,
                expires_at: row.get(4)?,
                last_seen_at: row.get(5)?,
            })
        })?
        .collect::<rusqlite::Result<_>>()?)
}

/// Writes when sessions were last used. The times were gathered in memory since the last write.
pub fn seen(tx: &mut Tx, seen: &[(SessionId, Time)]) -> Result<()> {
    let mut update = tx.prepare_cached("update sessions set last_seen_at = ?2 where id = ?1")?;
    for row in seen {
        update.execute(*row)?;
    }
    Ok(())
}

/// Lists the addresses from which a user's latest 1,000 sessions began, ended ones included.
pub fn addresses(conn: &Connection, user: UserId) -> Result<Vec<String>> {
    Ok(conn
        .prepare_cached(
            "select distinct address from (select address from sessions where user_id = ?1 and token_hash is null order by id desc limit 1000)",
        )?
        .query_map([user], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?)
}

/// The time at which the caller's session expires. 401 if it was deleted a moment ago, with its account.
pub fn expiry(conn: &Connection, caller: Caller) -> Result<Time> {
    let mut select = conn.prepare_cached("select expires_at from sessions where id = ?1")?;
    select
        .query_row([caller.session], |row| row.get(0))
        .optional()?
        .ok_or(Error::Unauthorized(Code::TokenInvalid, "The account is gone"))
}

/// Ends a live session and its sockets. For the session's owner and for superadmins; 404 for other callers.
pub fn revoke(tx: &mut Tx, caller: Caller, session: SessionId) -> Result<()> {
    let owner: Option<UserId> = tx
        .prepare_cached(
            "select user_id from sessions where id = ?1 and token_hash is null and ended_at is null and expires_at > ?2",
        )?
        .query_row((session, tx.now()), |row| row.get(0))
        .optional()?;
    let seen = owner.filter(|owner| *owner == caller.user || caller.has_platform_role(PlatformRole::Superadmin));
    end_one(tx, seen.ok_or(Error::NotFound(Code::SessionNotFound))?, session)
}

/// Ends a user's session and its sockets. A session that has ended already stays as it is.
pub(super) fn end_one(tx: &mut Tx, user: UserId, session: SessionId) -> Result<()> {
    tx.prepare_cached("update sessions set ended_at = ?2 where id = ?1 and ended_at is null")?.execute((session, tx.now()))?;
    revocations::report_ended_sessions(tx, user, vec![session])
}

/// Ends all of the user's sessions but `keep`, with their sockets. Without `keep`, whoever uses the account now may be an intruder,
/// so the tokens of programs end as well, those of the user's bots included.
pub fn end_others(tx: &mut Tx, user: UserId, keep: Option<SessionId>) -> Result<()> {
    let ended: Vec<SessionId> = tx
        .prepare_cached(
            "update sessions set ended_at = ?3 where user_id = ?1 and id is not ?2 and (token_hash is null or ?2 is null)
               and ended_at is null returning id",
        )?
        .query_map((user, keep, tx.now()), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    revocations::report_ended_sessions(tx, user, ended)?;
    if keep.is_none() { end_tokens_of_bots(tx, user, None) } else { Ok(()) }
}

/// Ends the tokens of a user's bots, of one organisation or of all: whoever owns a bot may know its tokens.
pub fn end_tokens_of_bots(tx: &mut Tx, owner: UserId, organisation: Option<OrganisationId>) -> Result<()> {
    bots_of(tx, owner, organisation)?.into_iter().try_for_each(|bot| end_others(tx, bot, None))
}

/// A user's bots, of one organisation or of all.
pub(super) fn bots_of(conn: &Connection, owner: UserId, organisation: Option<OrganisationId>) -> Result<Vec<UserId>> {
    Ok(conn
        .prepare_cached("select user_id from bots where owner_id = ?1 and (?2 is null or organisation_id = ?2)")?
        .query_map((owner, organisation), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?)
}

/// Deletes at most `limit` sessions that ended or expired before the given time.
pub fn prune(tx: &mut Tx, before: Time, limit: u32) -> Result<usize> {
    Ok(tx
        .prepare_cached(
            "delete from sessions where id in (select id from sessions where expires_at < ?1 or ended_at < ?1 limit ?2)",
        )?
        .execute((before, limit))?)
}
