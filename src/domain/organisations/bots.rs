//! Bots: members of one organisation that are programs. A bot has an account without a mailbox and a password, which is used
//! with tokens ([`tokens`](crate::domain::accounts::tokens)). Managing bots needs `manage:webhooks`. A bot's owner makes its
//! tokens, and so can read whatever the bot can.

use rusqlite::{Connection, OptionalExtension, Row};
use serde::Serialize;

use crate::{
    db::{Columns, Tx},
    domain::{
        access::{self, BotAccess, Caller, OUTSIDER},
        accounts::{
            self,
            profiles::{self, Edit},
        },
        faces::Face,
        organisations::{bot_callbacks, leaving, members, memberships, roles},
        page::Page,
        rights::{BuiltInRole, MemberStatus, Rights},
        text::{self, Rule},
    },
    error::{Code, Error, Result},
    event::Effect,
    id::{OrganisationId, UserId},
    time::Time,
};

/// At most 100 bots of an organisation, so that passing on those of a leaver is one write.
pub const MOST: u32 = 100;

text::rules! {
    pub Name: Rule::line(100).at_least(1).visible();
    pub Description: Rule::text(500);
}

/// A bot, as the members of its organisation see it.
#[derive(Serialize)]
pub struct Bot {
    pub id: UserId,
    pub organisation: OrganisationId,
    /// The member who makes its tokens.
    pub owner: UserId,
    pub username: String,
    pub name: String,
    pub description: String,
    pub avatar_url: String,
    /// Where clicks on the actions of its messages go; empty for nowhere, and for those who don't manage bots.
    pub url: String,
    /// The key of its role.
    pub role: String,
    pub role_id: i64,
    pub status: MemberStatus,
    pub created_at: Time,
    /// When it last sent a request or had an open socket.
    pub last_used_at: Option<Time>,
}

/// A bot to be made.
pub struct New {
    pub name: String,
    /// None to make one from the name.
    pub username: Option<String>,
    pub description: String,
    pub avatar_url: String,
    /// Where clicks go; empty for nowhere.
    pub url: String,
    /// `member` if it is none.
    pub role: Option<String>,
}

/// Makes a bot of the caller, and adds it to the organisation and to its default channel. Returns it with the secret that signs
/// clicks, if it has an address for them. Needs `manage:webhooks` and every right of the role. 403 for outsiders, 400 for an
/// unknown role, 422 for a bad field, a username that is taken, and beyond the most bots of an organisation.
pub fn make(tx: &mut Tx, caller: Caller, organisation: OrganisationId, new: &New) -> Result<(Bot, Option<String>)> {
    let own = access::require_right(tx, caller, Rights::MANAGE_WEBHOOKS, organisation, OUTSIDER)?;
    let name = Name::check(&new.name, "name").map_err(Error::Invalid)?;
    let description = Description::check(&new.description, "description").map_err(Error::Invalid)?;
    let avatar_url = text::web_address_if_any(&new.avatar_url, "avatar_url").map_err(Error::Invalid)?;
    let username = new.username.as_deref().filter(|name| !name.is_empty()).map(accounts::check_username);
    let role = new.role.as_deref().unwrap_or(BuiltInRole::Member.name());
    let role = roles::find_named(tx, organisation, role)?
        .ok_or_else(|| Error::BadRequest(Code::RoleNotFound.says("role: no such role").at("role")))?;
    own.require_all(role.rights)?;
    let sql = "select count(*) from bots where organisation_id = ?1";
    let held: u32 = tx.prepare_cached(sql)?.query_row([organisation], |row| row.get(0))?;
    if held >= MOST {
        let says = format!("an organisation has at most {MOST} bots: remove one first");
        return Err(Error::Invalid(Code::LimitReached.says(says).with_limit(MOST)));
    }
    let username = match username.transpose().map_err(Error::Invalid)? {
        Some(username) => username,
        None => accounts::free_username(tx, &name.to_lowercase().split_whitespace().collect::<Vec<_>>().join("-"))?,
    };
    let bot = UserId::new();
    let account = accounts::New {
        email: format!("{bot}{}", accounts::BOT),
        username: Some(username),
        first_name: name.to_owned(),
        last_name: String::new(),
        role: access::PlatformRole::User,
    };
    accounts::insert(tx, bot, &account, "")?;
    tx.prepare_cached("update users set is_bot = 1, is_verified = 1, is_onboarded = 1, avatar_url = ?2 where id = ?1")?
        .execute((bot, avatar_url))?;
    tx.prepare_cached("insert into bots (user_id, organisation_id, owner_id, description) values (?1, ?2, ?3, ?4)")?
        .execute((bot, organisation, caller.user, description))?;
    tx.then(Effect::AccountChanged(bot));
    let account = accounts::get(tx, bot)?;
    members::join(tx, organisation, &account, &role)?;
    let secret = bot_callbacks::set(tx, caller, bot, Some(&new.url), false)?;
    Ok((get(tx, bot)?, secret))
}

/// Lists the bots of an organisation, in the order of their usernames. For members; 403 for outsiders.
pub fn list(conn: &Connection, caller: Caller, organisation: OrganisationId, page: Page) -> Result<Vec<Bot>> {
    let own = access::require_member(conn, caller, organisation, OUTSIDER)?;
    let mut bots = page_of(conn, organisation, page)?;
    if !caller.sees_program_urls(own) {
        bots.iter_mut().for_each(|bot| bot.url.clear());
    }
    Ok(bots)
}

/// All bots of an organisation.
pub fn all(conn: &Connection, organisation: OrganisationId) -> Result<Vec<Bot>> {
    page_of(conn, organisation, Page::new(1, MOST))
}

/// The error for an account that is no bot of the organisation, or was removed.
pub const NO_BOT: Error = Error::NotFound(Code::BotNotFound);

/// The bot with this username.
pub fn named(conn: &Connection, username: &str) -> Result<Option<Bot>> {
    Ok(conn.prepare_cached(&format!("{SELECT} where u.username = ?1"))?.query_row([username], from_row).optional()?)
}

fn page_of(conn: &Connection, organisation: OrganisationId, page: Page) -> Result<Vec<Bot>> {
    let sql = format!("{SELECT} where b.organisation_id = ?1 order by u.username limit ?2 offset ?3");
    let mut select = conn.prepare_cached(&sql)?;
    Ok(select.query_map((organisation, page.size, page.offset), from_row)?.collect::<rusqlite::Result<_>>()?)
}

/// Changes to a bot. An absent field stays as it is.
#[derive(Default)]
pub struct Change {
    pub name: Option<String>,
    pub username: Option<String>,
    pub description: Option<String>,
    pub avatar_url: Option<String>,
    pub url: Option<String>,
    /// Whether it gets a new secret. The former one signs no more.
    pub is_new_secret: bool,
}

/// Changes what a bot shows, and where clicks go; returns it with the secret that signs them if that is new. Needs
/// `manage:webhooks`; 403 for outsiders, 404 if the organisation has no such bot, 422 for a bad field and a username that is
/// taken.
pub fn update(
    tx: &mut Tx,
    caller: Caller,
    organisation: OrganisationId,
    bot: UserId,
    change: Change,
) -> Result<(Bot, Option<String>)> {
    find(tx, caller, organisation, bot)?;
    let Change { name, username, description, avatar_url, url, is_new_secret } = change;
    let first_name = name.map(|name| Name::check(&name, "name").map(str::to_owned)).transpose().map_err(Error::Invalid)?;
    let before = accounts::get(tx, bot)?;
    let username = username.filter(|name| *name != before.username);
    let username = username.map(|name| accounts::check_username(&name)).transpose().map_err(Error::Invalid)?;
    if let Some(description) = description {
        let description = Description::check(&description, "description").map_err(Error::Invalid)?;
        tx.prepare_cached("update bots set description = ?2 where user_id = ?1")?.execute((bot, description))?;
    }
    profiles::change(tx, before, Edit { username, first_name, avatar_url, ..Edit::default() })?;
    let secret = bot_callbacks::set(tx, caller, bot, url.as_deref(), is_new_secret)?;
    Ok((get(tx, bot)?, secret))
}

/// Gives a bot a face, or none. Needs `manage:webhooks`; 403 for outsiders, 404 if the organisation has no such bot.
pub fn set_face(tx: &mut Tx, caller: Caller, organisation: OrganisationId, bot: UserId, face: Option<&Face>) -> Result<Bot> {
    require_manager(tx, caller, organisation, bot)?;
    let before = accounts::get(tx, bot)?;
    profiles::change_face(tx, before, face)?;
    get(tx, bot)
}

/// Checks that the caller may change the bot, as [`update`] does.
pub fn require_manager(conn: &Connection, caller: Caller, organisation: OrganisationId, bot: UserId) -> Result<()> {
    find(conn, caller, organisation, bot).map(drop)
}

/// Removes a bot for good: its tokens and its membership end, and what it wrote stays. Needs `manage:webhooks` and every right
/// of the bot's role. 403 for outsiders, 404 if the organisation has no such bot.
pub fn remove(tx: &mut Tx, caller: Caller, organisation: OrganisationId, bot: UserId) -> Result<()> {
    let access = find(tx, caller, organisation, bot)?;
    let member = memberships::get(tx, organisation, bot)?;
    access.membership.require_all(member.role.rights)?;
    leaving::end_membership(tx, &member)
}

fn find(conn: &Connection, caller: Caller, organisation: OrganisationId, bot: UserId) -> Result<BotAccess> {
    access::require_right(conn, caller, Rights::MANAGE_WEBHOOKS, organisation, OUTSIDER)?;
    let access = access::find_managed_bot(conn, caller, bot)?.filter(|access| access.organisation == organisation);
    access.ok_or(NO_BOT)
}

/// Selects bots that are not removed. [`from_row`] takes the columns in this order.
const SELECT: &str =
    "select u.id, b.organisation_id, b.owner_id, u.username, u.first_name, b.description, u.avatar_url, b.url, r.name, r.id,
      m.status, m.created_at, u.last_seen_at
    from bots b join users u on u.id = b.user_id
      join organisation_members m on m.organisation_id = b.organisation_id and m.user_id = b.user_id
      join roles r on r.id = m.role_id";

fn get(conn: &Connection, bot: UserId) -> Result<Bot> {
    let found = conn.prepare_cached(&format!("{SELECT} where b.user_id = ?1"))?.query_row([bot], from_row).optional()?;
    found.ok_or(NO_BOT)
}

fn from_row(row: &Row) -> rusqlite::Result<Bot> {
    let mut columns = Columns::of_row(row);
    Ok(Bot {
        id: columns.take()?,
        organisation: columns.take()?,
        owner: columns.take()?,
        username: columns.take()?,
        name: columns.take()?,
        description: columns.take()?,
        avatar_url: columns.take()?,
        url: columns.take()?,
        role: columns.take()?,
        role_id: columns.take()?,
        status: columns.take()?,
        created_at: columns.take()?,
        last_used_at: columns.take()?,
    })
}
