//! Lists of channels that the caller is in or can see, and how one channel is shown in them.

use rusqlite::Connection;

use crate::{
    domain::{
        access::{self, Caller},
        channels::{
            preferences::Preferences,
            record::{self, Channel, Name, Visible},
            unread_counts::Counts,
        },
        page::Page,
        text::{self, Rule},
    },
    error::{Error, Result},
    id::{ChannelId, OrganisationId, UserId},
};

text::rules! {
    /// What is looked for in the names and topics of channels.
    pub Sought: Rule::line(256);
}

/// A channel as lists show it.
pub struct Described {
    pub channel: Channel,
    /// As [`Users`] has it.
    pub users: Vec<UserId>,
    /// Whether the caller is in the channel.
    pub is_in: bool,
    pub preferences: Preferences,
    /// Whether the caller may manage the channel's webhooks.
    pub manages_webhooks: bool,
}

/// The members that are listed with a channel, whose `user_count` counts all of them.
#[derive(Clone, Copy)]
pub enum Users {
    /// The longest-standing ones, at most 1,000.
    First,
    None,
}

const USERS_SHOWN: i64 = 1000;
const PAGE: &str = "limit ?3 offset ?4";
/// The live channels of an organisation, by name.
const LIVE: &str = "and c.archived_at is null and c.is_dm = 0 order by c.name collate nocase, c.id";

/// The caller's live channels of all organisations.
pub fn own(conn: &Connection, caller: Caller, page: Page) -> Result<Vec<Visible>> {
    let rule = "and c.id in (select own.channel_id from channel_members own where own.user_id = ?1)
        and c.archived_at is null and c.is_dm = 0 order by c.organisation_id, c.name collate nocase, c.id limit ?2 offset ?3";
    record::select(conn, caller, rule, (caller.user, page.size, page.offset))
}

/// An organisation's live channels that the caller can see. 404 for outsiders.
pub fn live(conn: &Connection, caller: Caller, organisation: OrganisationId, page: Page) -> Result<Vec<Visible>> {
    of_organisation(conn, caller, organisation, page, LIVE)
}

/// An organisation's archived channels that the caller can see. 404 for outsiders.
pub fn archived(conn: &Connection, caller: Caller, organisation: OrganisationId, page: Page) -> Result<Vec<Visible>> {
    let rule = "and c.archived_at is not null and c.is_dm = 0 order by c.name collate nocase, c.id";
    of_organisation(conn, caller, organisation, page, rule)
}

/// An organisation's live channels that the caller is in, with their unread counts. 404 for outsiders.
pub fn joined(conn: &Connection, caller: Caller, organisation: OrganisationId, page: Page) -> Result<Vec<(Counts, Visible)>> {
    own_in(conn, caller, organisation, page, LIVE)
}

/// The caller's direct messages in an organisation, the latest active first, with their unread counts. 404 for outsiders.
pub fn direct_messages(
    conn: &Connection,
    caller: Caller,
    organisation: OrganisationId,
    page: Page,
) -> Result<Vec<(Counts, Visible)>> {
    own_in(conn, caller, organisation, page, "and c.is_dm = 1 order by c.last_n desc, c.created_at desc, c.id")
}

/// An organisation's live channels that the caller can join, those with `sought` in their name or topic, without regard to case.
/// 404 for outsiders, 400 for a text of several lines or one that is too long.
pub fn not_joined(
    conn: &Connection,
    caller: Caller,
    organisation: OrganisationId,
    sought: &str,
    page: Page,
) -> Result<Vec<Channel>> {
    let rule = "and cm.user_id is null and c.archived_at is null and c.is_dm = 0 order by c.name collate nocase, c.id";
    let sought = text::folded(Sought::check(sought, "q").map_err(Error::BadRequest)?);
    // All of them are looked at for a text, within the quota of live channels.
    let read = if sought.is_empty() { page } else { Page { offset: 0, size: u32::MAX } };
    let found = of_organisation(conn, caller, organisation, read, rule)?;
    let is_sought = |channel: &Channel| [&channel.name, &channel.topic].iter().any(|text| text::folded(text).contains(&sought));
    let found: Vec<Channel> = found.into_iter().map(|found| found.channel).filter(is_sought).collect();
    Ok(if sought.is_empty() { found } else { page.slice_of(&found).to_vec() })
}

/// Finds a live channel by name among those that the caller can see, in one organisation or in all of theirs. An exact match
/// wins over one that differs in case, and an older channel over a newer one. 404 when no channel matches.
pub fn find_by_name(
    conn: &Connection,
    caller: Caller,
    name: &str,
    organisation: Option<OrganisationId>,
    users: Users,
) -> Result<Described> {
    Name::check(name, "channel_name").map_err(Error::BadRequest)?;
    let rule = "and c.name = ?2 collate nocase and (?3 is null or c.organisation_id = ?3)
        and c.archived_at is null and c.is_dm = 0
        and (?4 is null or exists (select 1 from token_channels t where t.session_id = ?4 and t.channel_id = c.id))
        order by c.name <> ?2, c.created_at, c.id limit 1";
    let limit = caller.grant.is_channel_limited().then_some(caller.session);
    let found = record::select(conn, caller, rule, (caller.user, name, organisation, limit))?.pop();
    one(conn, found.ok_or(access::UNKNOWN_CHANNEL)?, users)
}

/// A page of the organisation's channels that the caller is in; the SQL in `rule` filters and orders them. 404 for outsiders.
fn own_in(
    conn: &Connection,
    caller: Caller,
    organisation: OrganisationId,
    page: Page,
    rule: &str,
) -> Result<Vec<(Counts, Visible)>> {
    access::require_member(conn, caller, organisation, access::UNKNOWN_ORGANISATION)?;
    record::select_own(conn, caller, &format!("{rule} {PAGE}"), (caller.user, organisation, page.size, page.offset))
}

/// A page of the organisation's channels that the caller can see; the SQL in `rule` filters and orders them. 404 for
/// outsiders.
fn of_organisation(
    conn: &Connection,
    caller: Caller,
    organisation: OrganisationId,
    page: Page,
    rule: &str,
) -> Result<Vec<Visible>> {
    access::require_member(conn, caller, organisation, access::UNKNOWN_ORGANISATION)?;
    let rule = format!("and c.organisation_id = ?2 {rule} {PAGE}");
    record::select(conn, caller, &rule, (caller.user, organisation, page.size, page.offset))
}

/// One channel as lists show it. 404 for a caller who can't see it.
pub fn get(conn: &Connection, caller: Caller, id: ChannelId, users: Users) -> Result<Described> {
    one(conn, record::find(conn, caller, id)?.ok_or(access::UNKNOWN_CHANNEL)?, users)
}

/// Adds to a channel that was found what lists show with it.
pub fn describe(conn: &Connection, found: Visible) -> Result<Described> {
    one(conn, found, Users::First)
}

fn one(conn: &Connection, found: Visible, users: Users) -> Result<Described> {
    let described = describe_all(conn, vec![found], users)?.pop();
    described.ok_or_else(|| Error::internal("one channel gives one description"))
}

/// Adds to channels that were found what lists show with them.
pub fn describe_all(conn: &Connection, found: Vec<Visible>, users: Users) -> Result<Vec<Described>> {
    let mut first_users =
        conn.prepare_cached("select user_id from channel_members where channel_id = ?1 order by created_at, user_id limit ?2")?;
    let describe = |Visible { channel, access, preferences }: Visible| {
        let (is_in, manages_webhooks) = (access.username.is_some(), access.manages_webhooks());
        let users = match users {
            Users::First => {
                first_users.query_map((channel.id, USERS_SHOWN), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?
            }
            Users::None => Vec::new(),
        };
        Ok(Described { users, is_in, preferences, manages_webhooks, channel })
    };
    found.into_iter().map(describe).collect()
}
