//! Lists of channels, each made of a few statements however many channels there are.

use rusqlite::Connection;

use crate::{
    domain::{
        access::{self, Caller},
        channels::{
            reading::{self, Counts},
            record::{self, Channel, Visible},
        },
        page::Page,
    },
    error::{Error, Result},
    id::{ChannelId, OrganisationId, UserId},
};

/// A channel as lists show it.
pub struct Described {
    pub channel: Channel,
    /// The first of its members: at most 1,000.
    pub users: Vec<UserId>,
    /// Whether the caller is in the channel.
    pub is_in: bool,
    /// Whether the caller has starred it.
    pub is_starred: bool,
    /// Whether the caller may manage the channel's webhooks.
    pub manages_webhooks: bool,
}

/// Members that are named with a channel; its count tells of all.
const USERS_SHOWN: i64 = 1000;

/// By way of the caller's memberships: an organisation has many more channels, direct messages above all.
const OWN: &str = "and c.id in (select own.channel_id from channel_members own where own.user_id = ?1)";

/// The caller's live channels of all organisations.
pub fn own(conn: &Connection, caller: Caller, page: Page) -> Result<Vec<Described>> {
    let rule = format!(
        "{OWN} and c.archived_at is null and c.is_dm = 0 order by c.organisation_id, c.name collate nocase, c.id limit ?2 offset ?3"
    );
    describe_all(conn, record::select(conn, caller, &rule, (caller.user, page.size, page.offset))?)
}

/// An organisation's live channels that the caller may know of. 404 for outsiders.
pub fn live(conn: &Connection, caller: Caller, organisation: OrganisationId, page: Page) -> Result<Vec<Described>> {
    let rule = "and c.archived_at is null and c.is_dm = 0 order by c.name collate nocase, c.id";
    describe_all(conn, of_organisation(conn, caller, organisation, page, rule)?)
}

/// The archived ones that the caller may know of. 404 for outsiders.
pub fn archived(conn: &Connection, caller: Caller, organisation: OrganisationId, page: Page) -> Result<Vec<Described>> {
    let rule = "and c.archived_at is not null and c.is_dm = 0 order by c.name collate nocase, c.id";
    describe_all(conn, of_organisation(conn, caller, organisation, page, rule)?)
}

/// The live ones that the caller is in, with what is unread in them. 404 for outsiders.
pub fn joined(conn: &Connection, caller: Caller, organisation: OrganisationId, page: Page) -> Result<Vec<(Counts, Visible)>> {
    let rule = format!("{OWN} and c.archived_at is null and c.is_dm = 0 order by c.name collate nocase, c.id");
    let found = of_organisation(conn, caller, organisation, page, &rule)?;
    let unread = |found: Visible| Ok((reading::counts(conn, found.channel.id, caller.user)?, found));
    found.into_iter().map(unread).collect()
}

/// The caller's direct messages, the latest active first, with what is unread in them. 404 for outsiders.
pub fn direct_messages(
    conn: &Connection,
    caller: Caller,
    organisation: OrganisationId,
    page: Page,
) -> Result<Vec<(Counts, Described)>> {
    let rule = format!("{OWN} and c.is_dm = 1 order by c.last_n desc, c.created_at desc, c.id");
    let found = describe_all(conn, of_organisation(conn, caller, organisation, page, &rule)?)?;
    let unread = |dm: Described| Ok((reading::counts(conn, dm.channel.id, caller.user)?, dm));
    found.into_iter().map(unread).collect()
}

/// The live public ones that the caller could join. 404 for outsiders.
pub fn not_joined(conn: &Connection, caller: Caller, organisation: OrganisationId, page: Page) -> Result<Vec<Channel>> {
    let rule = "and cm.user_id is null and c.archived_at is null and c.is_dm = 0 order by c.name collate nocase, c.id";
    let found = of_organisation(conn, caller, organisation, page, rule)?;
    Ok(found.into_iter().map(|found| found.channel).collect())
}

/// The channel of exactly that name, else the first match without regard to case, among those that the
/// caller may know of, in one organisation or in all of theirs. 404 when there is none.
pub fn by_name(conn: &Connection, caller: Caller, name: &str, organisation: Option<OrganisationId>) -> Result<Described> {
    let rule = "and c.name = ?2 collate nocase and (?3 is null or c.organisation_id = ?3)
        and c.archived_at is null and c.is_dm = 0 order by c.name <> ?2, c.created_at, c.id limit 1";
    let found = record::select(conn, caller, rule, (caller.user, name, organisation))?.pop();
    describe(conn, found.ok_or(access::UNKNOWN_CHANNEL)?)
}

/// A page of the organisation's channels that the caller may know of; `rule` narrows them down and orders them.
fn of_organisation(
    conn: &Connection,
    caller: Caller,
    organisation: OrganisationId,
    page: Page,
    rule: &str,
) -> Result<Vec<Visible>> {
    access::is_member(conn, caller, organisation, access::UNKNOWN_ORGANISATION)?;
    let rule = format!("and c.organisation_id = ?2 {rule} limit ?3 offset ?4");
    record::select(conn, caller, &rule, (caller.user, organisation, page.size, page.offset))
}

/// One channel as lists show it, for a caller who sees it; 404 for everybody else.
pub fn get(conn: &Connection, caller: Caller, id: ChannelId) -> Result<Described> {
    describe(conn, record::find(conn, caller, id)?.ok_or(access::UNKNOWN_CHANNEL)?)
}

/// One channel as lists show it.
pub fn describe(conn: &Connection, found: Visible) -> Result<Described> {
    let described = describe_all(conn, vec![found])?.pop();
    described.ok_or_else(|| Error::internal("one channel gives one description"))
}

fn describe_all(conn: &Connection, found: Vec<Visible>) -> Result<Vec<Described>> {
    let mut first_users =
        conn.prepare_cached("select user_id from channel_members where channel_id = ?1 order by created_at, user_id limit ?2")?;
    let describe = |Visible { channel, access, is_starred }: Visible| {
        let (is_in, manages_webhooks) = (access.username.is_some(), access.manages_webhooks());
        let users = first_users.query_map((channel.id, USERS_SHOWN), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        Ok(Described { users, is_in, is_starred, manages_webhooks, channel })
    };
    found.into_iter().map(describe).collect()
}
