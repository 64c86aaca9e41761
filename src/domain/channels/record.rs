//! The record of a channel, and its queries.

use rusqlite::{Connection, OptionalExtension, Params, Row};

use crate::{
    db::{Columns, Tx},
    domain::{
        access::{self, ACCESS, Caller, ChannelAccess, OWN, SEEN},
        channels::{
            preferences::{PREFERENCES, Preferences},
            unread_counts::{COUNTS, Counts},
        },
        text::{self, Rule},
    },
    error::Result,
    id::{ChannelId, OrganisationId, UserId},
    time::Time,
};

text::rules! {
    pub Name: Rule::name(80);
}

#[derive(Clone, Debug)]
pub struct Channel {
    pub id: ChannelId,
    pub organisation: OrganisationId,
    pub name: String,
    pub description: String,
    pub topic: String,
    pub is_private: bool,
    pub is_dm: bool,
    pub is_default: bool,
    pub owner_id: UserId,
    pub created_by: UserId,
    pub message_count: i64,
    pub user_count: i64,
    /// `n` of the newest top-level post; 0 when there is none.
    pub last_thread: i64,
    /// When the newest message was written, deleted or not.
    pub last_message_at: Option<Time>,
    pub created_at: Time,
    pub updated_at: Time,
    pub archived_at: Option<Time>,
    pub deleted_at: Option<Time>,
}

/// A channel that the caller can see, and what they may do there.
pub struct Visible {
    pub channel: Channel,
    pub access: ChannelAccess,
    pub preferences: Preferences,
}

/// Finds a channel by id. `None` if it does not exist or the caller can't see it.
pub fn find(conn: &Connection, caller: Caller, id: ChannelId) -> Result<Option<Visible>> {
    if !access::token_admits_channel(conn, caller, id)? {
        return Ok(None);
    }
    let sql = format!("select {COLUMNS}, {PREFERENCES}, {ACCESS} {SEEN} and c.id = ?2");
    let row = |row: &Row| visible(caller, &mut Columns::of_row(row));
    Ok(conn.prepare_cached(&sql)?.query_row((caller.user, id), row).optional()?)
}

/// The channels that the caller can see; the SQL in `rule` filters and orders them. Parameter ?1 is the caller.
pub(super) fn select(conn: &Connection, caller: Caller, rule: &str, params: impl Params) -> Result<Vec<Visible>> {
    let sql = format!("select {COLUMNS}, {PREFERENCES}, {ACCESS} {SEEN} {rule}");
    let mut select = conn.prepare_cached(&sql)?;
    Ok(select.query_map(params, |row| visible(caller, &mut Columns::of_row(row)))?.collect::<rusqlite::Result<_>>()?)
}

/// The channels of an organisation that the caller is in, with their unread counts. Parameter ?2 is the organisation.
pub(super) fn select_own(conn: &Connection, caller: Caller, rule: &str, params: impl Params) -> Result<Vec<(Counts, Visible)>> {
    let sql = format!("select {COUNTS}, {COLUMNS}, {PREFERENCES}, {ACCESS} {OWN} {rule}");
    let mut select = conn.prepare_cached(&sql)?;
    let own = |row: &Row| {
        let mut columns = Columns::of_row(row);
        Ok((Counts::take(&mut columns)?, visible(caller, &mut columns)?))
    };
    Ok(select.query_map(params, own)?.collect::<rusqlite::Result<_>>()?)
}

/// Takes the columns of [`select`].
fn visible(caller: Caller, columns: &mut Columns) -> rusqlite::Result<Visible> {
    Ok(Visible {
        channel: channel(columns)?,
        preferences: Preferences::take(columns)?,
        access: ChannelAccess::take(caller, columns)?,
    })
}

/// Reads a channel, deleted or not, without a check of access.
pub(super) fn get(conn: &Connection, id: ChannelId) -> Result<Channel> {
    let sql = format!("select {COLUMNS} from channels c where c.id = ?1");
    Ok(conn.prepare_cached(&sql)?.query_row([id], |row| channel(&mut Columns::of_row(row)))?)
}

/// Takes [`COLUMNS`].
fn channel(columns: &mut Columns) -> rusqlite::Result<Channel> {
    Ok(Channel {
        id: columns.take()?,
        organisation: columns.take()?,
        name: columns.take()?,
        description: columns.take()?,
        topic: columns.take()?,
        is_private: columns.take()?,
        is_dm: columns.take()?,
        is_default: columns.take()?,
        owner_id: columns.take()?,
        created_by: columns.take()?,
        message_count: columns.take()?,
        user_count: columns.take()?,
        last_thread: columns.take()?,
        last_message_at: columns.take()?,
        created_at: columns.take()?,
        updated_at: columns.take()?,
        archived_at: columns.take()?,
        deleted_at: columns.take()?,
    })
}

/// Archives a private channel without members. Nobody can see it, so nobody could archive it by hand to free quota.
pub(in crate::domain) fn archive_deserted(tx: &Tx, id: ChannelId) -> Result<()> {
    let deserted = tx
        .prepare_cached(
            "update channels set archived_at = ?2, updated_at = ?2
             where id = ?1 and is_private and not is_dm and user_count = 0 and archived_at is null and deleted_at is null
             returning organisation_id",
        )?
        .query_row((id, tx.now()), |row| row.get(0))
        .optional()?;
    deserted.map_or(Ok(()), |organisation| count(tx, organisation, -1))
}

/// Adds `more`, which may be negative, to the organisation's counter of live channels. Direct messages don't count.
pub(in crate::domain) fn count(tx: &Tx, organisation: OrganisationId, more: i64) -> Result<()> {
    tx.prepare_cached("update organisations set channels_count = channels_count + ?2 where id = ?1")?
        .execute((organisation, more))?;
    Ok(())
}

const COLUMNS: &str = "c.id, c.organisation_id, c.name, c.description, c.topic, c.is_private, c.is_dm, c.is_default,
    c.owner_id, c.created_by, c.message_count, c.user_count, c.last_thread, c.last_message_at, c.created_at, c.updated_at, c.archived_at,
    c.deleted_at";
