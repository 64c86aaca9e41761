//! Tokens of programs. A token is a session that no log-in began: it is admitted, heard of and ended as one. It opens the
//! operations of its scopes, in all channels of its user or in some, until its end. Only its hash is stored.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row};
use serde::Serialize;

use crate::{
    db::{Columns, Tx, View},
    domain::{
        access::{self, Caller, UNKNOWN_CHANNEL},
        accounts::{self, User, sessions},
        mail_queue,
        page::Page,
        scopes::{Scope, Scopes},
        text::{self, Rule},
    },
    error::{Code, Error, Refusal, Result},
    id::{ChannelId, SessionId, UserId},
    mail::{self, Mail},
    secret::{self, api_token},
    time::Time,
};

/// At most 50 tokens of a user: those that are live, and those that were made within a day, since each making is told by mail.
pub const MOST: u32 = 50;
const DAY: Duration = Duration::from_secs(24 * 3600);
/// At most 100 channels of a limited token.
pub const MOST_CHANNELS: usize = 100;
/// When a token ends that has no end.
const FOREVER: Time = Time::from_unix_seconds(253_402_300_799);

text::rules! {
    pub TokenName: Rule::line(80).at_least(1).visible();
    pub ScopeName: Rule::one_of(Scope::NAMES);
}

/// A token to be made.
pub struct New {
    pub name: String,
    /// Names of scopes.
    pub scopes: Vec<String>,
    /// None if it has no end.
    pub expires_at: Option<Time>,
    /// None if it is for all channels of its user.
    pub channels: Option<Vec<ChannelId>>,
}

impl New {
    /// Checks the fields, and returns the scopes.
    fn check(&self, now: Time) -> Result<Scopes, Refusal> {
        TokenName::check(&self.name, "name")?;
        if self.scopes.is_empty() {
            return Err(Code::Empty.says("scopes: name at least one").at("scopes"));
        }
        for scope in &self.scopes {
            ScopeName::check(scope, "scopes: each").map_err(|refusal| refusal.at("scopes"))?;
        }
        if self.scopes.len() > Scope::ALL.len() {
            let most = Scope::ALL.len();
            return Err(Code::TooManyItems.says(format!("scopes has at most {most} scopes")).at("scopes").with_limit(most));
        }
        let channels = self.channels.as_ref().map_or(1, Vec::len);
        if channels == 0 {
            return Err(Code::Empty.says("channels: name at least one, or omit the field for all").at("channels"));
        }
        if channels > MOST_CHANNELS {
            let says = format!("channels has at most {MOST_CHANNELS} channels");
            return Err(Code::TooManyItems.says(says).at("channels").with_limit(MOST_CHANNELS));
        }
        if self.expires_at.is_some_and(|end| end <= now || end > FOREVER) {
            return Err(Code::InvalidValue.says("expires_at must be a time to come, before the year 10000").at("expires_at"));
        }
        Ok(self.scopes.iter().filter_map(|name| Scope::named(name)).collect())
    }
}

/// A live token, as its user sees it.
#[derive(Serialize)]
pub struct Token {
    pub id: SessionId,
    pub name: String,
    pub scopes: Vec<Scope>,
    /// The channels that it is for; none if it is for all of its user's.
    pub channels: Option<Vec<ChannelId>>,
    pub created_at: Time,
    /// None if it has no end.
    pub expires_at: Option<Time>,
    /// To the minute; none if it was never used.
    pub last_used_at: Option<Time>,
}

/// Makes a token for the caller or a bot of theirs, and returns it with its text, which is never shown again. A mail tells the caller.
/// 404 for another user, and for a channel that the token's user doesn't see; 403 for a channel that this user isn't in, for a bot of
/// another owner or with rights that the caller lacks, and for a disabled account; 422 for a bad name or end, no scope, and beyond the
/// most tokens of a user.
pub fn make(tx: &mut Tx, caller: Caller, user: UserId, new: &New) -> Result<(Token, String)> {
    sessions::require_live(tx, caller)?;
    make_as(tx, caller, user, new)
}

/// [`make`] for an operator, who has no session.
pub fn make_by_operator(tx: &mut Tx, user: UserId, new: &New) -> Result<(Token, String)> {
    make_as(tx, Caller::operator_as(user), user, new)
}

fn make_as(tx: &mut Tx, caller: Caller, user: UserId, new: &New) -> Result<(Token, String)> {
    if user != caller.user {
        access::find_managed_bot(tx, caller, user)?.ok_or(Error::NotFound(Code::UserNotFound))?.require_owner()?;
    }
    let now = tx.now();
    let scopes = new.check(now).map_err(Error::Invalid)?;
    for channel in new.channels.iter().flatten() {
        access::require_channel_member(tx, Caller { user, ..caller }, *channel, UNKNOWN_CHANNEL)?;
    }
    let account = accounts::get(tx, user)?;
    sessions::require_enabled_account(&account)?;
    let held: u32 = tx
        .prepare_cached(
            "select count(*) from sessions where user_id = ?1 and token_hash is not null
               and ((ended_at is null and expires_at > ?2) or created_at > ?3)",
        )?
        .query_row((user, now, now - DAY), |row| row.get(0))?;
    if held >= MOST {
        let says = format!("an account has at most {MOST} tokens, those of the last day included: end one first, or wait");
        return Err(Error::Invalid(Code::LimitReached.says(says).with_limit(MOST)));
    }
    let (id, token) = (SessionId::new(), api_token::new());
    tx.prepare_cached(
        "insert into sessions (id, user_id, notification_hash, created_at, expires_at, token_hash, token_name, scopes, is_limited)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute((
        id,
        user,
        secret::sha256(secret::random_token()), // of a notification token that nobody has
        now,
        new.expires_at.unwrap_or(FOREVER),
        secret::sha256(&token),
        &new.name,
        scopes,
        new.channels.is_some(),
    ))?;
    let mut limit = tx.prepare_cached("insert or ignore into token_channels (session_id, channel_id) values (?1, ?2)")?;
    for channel in new.channels.iter().flatten() {
        limit.execute((id, channel))?;
    }
    drop(limit);
    if let Some(notice) = notice(tx, &account)? {
        mail_queue::add(tx, notice)?;
    }
    let made = select(tx, "id = ?1", [id])?.pop().ok_or_else(|| Error::internal("the token was just made"))?;
    Ok((made, token))
}

/// The mail that tells of a new token: for that of a bot, to its owner if the mailbox is theirs. Somebody may have registered with
/// the address of a stranger, whom each token of a hundred bots would mail.
fn notice(conn: &Connection, user: &User) -> Result<Option<Mail>> {
    if !user.is_bot {
        return Ok(Some(mail::token_made(&user.email)));
    }
    let owner = accounts::get(conn, access::answerable_person(conn, user.id)?)?;
    Ok(owner.mailbox_proved.then(|| mail::bot_token_made(&owner.email)))
}

/// The session of a token, if it is live.
pub fn find_session(conn: &View, token: &str) -> Result<Option<SessionId>> {
    if !api_token::is_well_formed(token) {
        return Ok(None);
    }
    let sql = "select id from sessions where token_hash = ?1 and ended_at is null and expires_at > ?2";
    Ok(conn.prepare_cached(sql)?.query_row((secret::sha256(token), conn.now()), |row| row.get(0)).optional()?)
}

/// Lists a user's live tokens, newest first. For the user, for those who manage the bot, and for superadmins; 404 for other
/// callers.
pub fn list(conn: &View, caller: Caller, user: UserId, page: Page) -> Result<Vec<Token>> {
    require_seen(conn, caller, user)?;
    live(conn, user, conn.now(), page)
}

/// A user's live tokens, newest first.
pub fn live(conn: &Connection, user: UserId, now: Time, page: Page) -> Result<Vec<Token>> {
    let which = "user_id = ?1 and token_hash is not null and ended_at is null and expires_at > ?2
        order by created_at desc, id desc limit ?3 offset ?4";
    select(conn, which, (user, now, page.size, page.offset))
}

/// Checks that the user's tokens are for the caller to see and to end: the user's own, those of a bot that the caller manages,
/// and all for superadmins. 404 if not.
fn require_seen(conn: &Connection, caller: Caller, user: UserId) -> Result<()> {
    if access::find_managed_bot(conn, caller, user)?.is_some() { Ok(()) } else { sessions::require_own(conn, caller, user) }
}

/// Ends a live token, with its sockets. For its user, for those who manage the bot, and for superadmins; 404 for other callers.
pub fn revoke(tx: &mut Tx, caller: Caller, user: UserId, token: SessionId) -> Result<()> {
    require_seen(tx, caller, user)?;
    let sql = "select 1 from sessions where id = ?1 and user_id = ?2 and token_hash is not null and ended_at is null and expires_at > ?3";
    if !tx.prepare_cached(sql)?.exists((token, user, tx.now()))? {
        return Err(Error::NotFound(Code::TokenNotFound));
    }
    sessions::end_one(tx, user, token)
}

fn select(conn: &Connection, which: &str, parameters: impl rusqlite::Params) -> Result<Vec<Token>> {
    let sql =
        format!("select id, token_name, scopes, is_limited, created_at, expires_at, last_seen_at from sessions where {which}");
    let mut tokens: Vec<Token> = conn.prepare_cached(&sql)?.query_map(parameters, from_row)?.collect::<rusqlite::Result<_>>()?;
    let mut channels = conn.prepare_cached("select channel_id from token_channels where session_id = ?1 order by channel_id")?;
    for token in &mut tokens {
        if let Some(limits) = &mut token.channels {
            *limits = channels.query_map([token.id], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        }
    }
    Ok(tokens)
}

fn from_row(row: &Row) -> rusqlite::Result<Token> {
    let mut columns = Columns::of_row(row);
    Ok(Token {
        id: columns.take()?,
        name: columns.take()?,
        scopes: columns.take::<Scopes>()?.list(),
        channels: columns.take::<bool>()?.then(Vec::new),
        created_at: columns.take()?,
        expires_at: Some(columns.take()?).filter(|end| *end < FOREVER),
        last_used_at: columns.take()?,
    })
}
