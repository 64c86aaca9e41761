//! Channels: who sees them, making, changing and deleting them.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, Row};
use serde_json::json;

use crate::{
    db::Tx,
    domain::{
        self, Caller, accounts, channel_members, events,
        members::{self, Membership},
        messages::{self, Message},
        roles::Rights,
        webhooks,
    },
    error::{Error, OrConflict, Result},
    event::{Audience, Effect, Stream},
    id::{ChannelId, OrganisationId, UserId},
    time::Time,
};

const NAME_MAX: usize = 80;
const DESCRIPTION_MAX: usize = 1000;
const TOPIC_MAX: usize = 250;
/// Users made members with a new channel.
const USERS_MAX: usize = 1000;

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
    pub thread_count: i64,
    pub user_count: i64,
    pub created_at: Time,
    pub updated_at: Time,
    pub archived_at: Option<Time>,
}

/// A channel that the caller may know of, and what they may do there.
#[derive(Debug)]
pub struct Access {
    pub channel: Channel,
    pub membership: Membership,
    /// The caller's name in the channel; none for who is not in it.
    pub username: Option<String>,
    pub user: UserId,
}

impl Access {
    pub fn require_member(&self) -> Result<()> {
        if self.username.is_some() { Ok(()) } else { Err(Error::Forbidden("You are not a member of this channel")) }
    }

    /// The owner of the channel and who holds `manage:channels`; never of a direct message.
    pub fn require_manager(&self) -> Result<()> {
        self.require_no_dm()?;
        if self.channel.owner_id == self.user { Ok(()) } else { self.membership.require(Rights::MANAGE_CHANNELS) }
    }

    /// The owner of the channel and who holds `manage:webhooks`.
    pub fn manages_webhooks(&self) -> bool {
        self.channel.owner_id == self.user || self.membership.rights.include(Rights::MANAGE_WEBHOOKS)
    }

    pub fn require_no_dm(&self) -> Result<()> {
        if self.channel.is_dm { Err(Error::Forbidden("This can't be done with a direct message")) } else { Ok(()) }
    }

    pub fn require_live(&self) -> Result<()> {
        if self.channel.archived_at.is_none() { Ok(()) } else { Err(Error::Forbidden("The channel is archived")) }
    }
}

/// The answer of rows that list 403 and no 404, to unknown and to hidden channels alike.
pub const HIDDEN: Error = Error::Forbidden("You do not have access to this channel");
/// The same for rows that list 404.
pub const UNKNOWN: Error = Error::NotFound("Channel");

/// None for a channel that does not exist and for one that the caller may not know of: private ones and
/// direct messages of others, and to guests all that they are not in.
pub fn find(conn: &Connection, caller: Caller, id: ChannelId) -> Result<Option<Access>> {
    let sql = format!("{SELECT} where c.id = ?1 and c.deleted_at is null");
    match conn.prepare_cached(&sql)?.query_row([id], from_row).optional()? {
        Some(channel) => visible(conn, caller, channel),
        None => Ok(None),
    }
}

fn visible(conn: &Connection, caller: Caller, channel: Channel) -> Result<Option<Access>> {
    let Some(membership) = members::find(conn, channel.organisation, caller.user)? else { return Ok(None) };
    let username = channel_members::name(conn, channel.id, caller.user)?;
    let visible = username.is_some() || !(channel.is_private || channel.is_dm || membership.is_guest());
    Ok(visible.then_some(Access { channel, membership, username, user: caller.user }))
}

pub struct New {
    pub organisation: OrganisationId,
    pub name: String,
    pub description: String,
    pub is_private: bool,
    /// The creator's name in the channel; their account's when none.
    pub username: Option<String>,
    pub users: Vec<UserId>,
}

/// Needs `create:channels`. The creator is owner and member; the named users become members.
pub fn create(tx: &mut Tx, caller: Caller, new: New) -> Result<Described> {
    let membership = members::find(tx, new.organisation, caller.user)?;
    let membership = membership.ok_or(Error::Forbidden("You are not a member of this organisation"))?;
    membership.require(Rights::CREATE_CHANNELS)?;
    let id = insert(tx, new.organisation, caller.user, &check_name(&new.name)?, &new.description, new.is_private, false)?;
    let creator = accounts::find(tx, caller.user)?.ok_or(Error::Unauthorized("The account is gone"))?;
    channel_members::insert(tx, id, &creator, new.username.as_deref())?;
    // A set: the writer does this while all others wait.
    let users: BTreeSet<UserId> = new.users.into_iter().filter(|user| *user != caller.user).collect();
    if users.len() > USERS_MAX {
        return Err(Error::invalid(format!("at most {USERS_MAX} users can be added at once")));
    }
    for user in users {
        if members::find(tx, new.organisation, user)?.is_none() {
            return Err(Error::invalid(format!("user {user} is not a member of the organisation")));
        }
        let account = accounts::find(tx, user)?.ok_or_else(|| Error::internal("a member has an account"))?;
        channel_members::insert(tx, id, &account, None)?;
    }
    announce(tx, id, "created", caller.user)?;
    get(tx, caller, id)
}

/// The channel that every member is in; made with the organisation, joined with it.
pub fn create_default(tx: &mut Tx, organisation: OrganisationId, name: &str, owner: &accounts::User) -> Result<ChannelId> {
    insert(tx, organisation, owner.id, "general", &format!("{name}'s general channel"), false, true)
}

fn insert(
    tx: &mut Tx,
    organisation: OrganisationId,
    owner: UserId,
    name: &str,
    description: &str,
    is_private: bool,
    is_default: bool,
) -> Result<ChannelId> {
    let description = domain::trimmed(description, "description", DESCRIPTION_MAX).map_err(Error::Invalid)?;
    let (id, now) = (ChannelId::new(), Time::now());
    tx.prepare_cached(
        "insert into channels (id, organisation_id, name, description, is_private, is_default, owner_id, created_by, created_at, updated_at)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8, ?8)",
    )?
    .execute((id, organisation, name, description, is_private, is_default, owner, now))
    .or_conflict(taken)?;
    Ok(id)
}

fn taken() -> Error {
    Error::invalid("A channel with this name already exists")
}

/// 1 to 80 characters; 422 otherwise.
fn check_name(name: &str) -> Result<String> {
    let name = domain::one_line(name, "name", NAME_MAX).map_err(Error::Invalid)?;
    if name.is_empty() { Err(Error::invalid("name must not be empty")) } else { Ok(name.to_owned()) }
}

#[derive(Default)]
pub struct Edit {
    pub name: Option<String>,
    pub description: Option<String>,
    pub topic: Option<String>,
    pub is_private: Option<bool>,
}

/// The owner of the channel, or `manage:channels`.
pub fn update(tx: &mut Tx, caller: Caller, id: ChannelId, edit: Edit) -> Result<Described> {
    let access = find(tx, caller, id)?.ok_or(HIDDEN)?;
    access.require_manager()?;
    let name = edit.name.as_deref().map(check_name).transpose()?;
    let text = |value: &Option<String>, field, max| -> Result<Option<String>> {
        let checked = value.as_deref().map(|value| domain::trimmed(value, field, max).map(str::to_owned));
        checked.transpose().map_err(Error::Invalid)
    };
    let description = text(&edit.description, "description", DESCRIPTION_MAX)?;
    let topic = text(&edit.topic, "topic", TOPIC_MAX)?;
    if name.is_none() && description.is_none() && topic.is_none() && edit.is_private.is_none() {
        return describe(tx, access);
    }
    tx.prepare_cached(
        "update channels set name = coalesce(?2, name), description = coalesce(?3, description), topic = coalesce(?4, topic),
           is_private = coalesce(?5, is_private), updated_at = ?6
         where id = ?1",
    )?
    .execute((id, name, description, topic, edit.is_private, Time::now()))
    .or_conflict(taken)?;
    announce(tx, id, "updated", caller.user)?;
    // Without looking at who may know of it: a manager can make a channel private that they are not in.
    let channel = tx.prepare_cached(&format!("{SELECT} where c.id = ?1"))?.query_row([id], from_row)?;
    describe(tx, Access { channel, ..access })
}

/// The owner of the channel, or `manage:channels`; never the default channel. Its messages go with it.
pub fn delete(tx: &mut Tx, caller: Caller, id: ChannelId) -> Result<()> {
    let access = find(tx, caller, id)?.ok_or(UNKNOWN)?;
    access.require_manager()?;
    if access.channel.is_default {
        return Err(Error::Forbidden("The default channel can't be deleted"));
    }
    tx.prepare_cached("update channels set deleted_at = ?2 where id = ?1")?.execute((id, Time::now()))?;
    announce(tx, id, "deleted", caller.user)?;
    // The memberships stay, so that whoever was away is told when they come back.
    tx.then(Effect::RightsChanged(channel_members::ids(tx, id)?));
    Ok(())
}

/// Pushes `channel_update` to those in the channel and to each member's personal stream.
fn announce(tx: &mut Tx, id: ChannelId, action: &str, actor: UserId) -> Result<()> {
    let body = update_body(tx, id, action, actor)?;
    let seq = events::emit(
        tx,
        events::New {
            stream: Stream::Channel(id),
            audience: Audience::Both,
            kind: "channel_update",
            section: events::CHANNELS_SECTION,
            channel: Some(id),
            message: None,
            actor: None, // who did it has other devices
            body: &body,
        },
    )?;
    tx.prepare_cached("update channels set edit_seq = ?2 where id = ?1")?.execute((id, seq))?;
    Ok(())
}

/// The body of a `channel_update`: the channel as it is now, and what happened by whom.
pub fn update_body(conn: &Connection, id: ChannelId, action: &str, user: UserId) -> Result<serde_json::Value> {
    let sql = format!("{SELECT} where c.id = ?1");
    let channel = conn.prepare_cached(&sql)?.query_row([id], from_row)?;
    let deleted: Option<Time> =
        conn.prepare_cached("select deleted_at from channels where id = ?1")?.query_row([id], |row| row.get(0))?;
    let data = json!({
        "action": action, "user_id": user, "user_count": channel.user_count,
        "channels_id": id, "organisation_id": channel.organisation, "owner_id": channel.owner_id,
        "name": channel.name, "description": channel.description, "topic": channel.topic,
        "is_private": channel.is_private, "is_dm": channel.is_dm, "archived": channel.archived_at.is_some(),
        "created_at": channel.created_at, "updated_at": channel.updated_at, "deleted_at": deleted.unwrap_or(Time::NEVER),
    });
    let mut body = events::envelope("channel_update", events::CHANNELS_SECTION, data);
    body["modification_ids"] = json!({ "channel_id": id, "user_id": user, "org_id": channel.organisation });
    Ok(body)
}

/// 404 for whoever may not know of it.
pub fn get(conn: &Connection, caller: Caller, id: ChannelId) -> Result<Described> {
    describe(conn, find(conn, caller, id)?.ok_or(UNKNOWN)?)
}

/// The caller's live channels of all organisations.
pub fn list_own(conn: &Connection, caller: Caller) -> Result<Vec<Access>> {
    let sql = format!(
        "{SELECT} join channel_members own on own.channel_id = c.id and own.user_id = ?1
         where c.deleted_at is null and c.archived_at is null and c.is_dm = 0 order by c.organisation_id, c.name collate nocase, c.id"
    );
    all_visible(conn, caller, conn.prepare_cached(&sql)?.query_map([caller.user], from_row)?)
}

/// An organisation's live channels that the caller may know of. 404 for outsiders.
pub fn list(conn: &Connection, caller: Caller, organisation: OrganisationId) -> Result<Vec<Access>> {
    members::find(conn, organisation, caller.user)?.ok_or(Error::NotFound("Organisation"))?;
    let sql = format!(
        "{SELECT} where c.organisation_id = ?1 and c.deleted_at is null and c.archived_at is null and c.is_dm = 0
         order by c.name collate nocase, c.id"
    );
    all_visible(conn, caller, conn.prepare_cached(&sql)?.query_map([organisation], from_row)?)
}

/// The channel of exactly that name, else the first match without regard to case, among those that the
/// caller may know of, in one organisation or in all of theirs.
pub fn find_by_name(
    conn: &Connection,
    caller: Caller,
    name: &str,
    organisation: Option<OrganisationId>,
) -> Result<Option<Access>> {
    let sql = format!(
        "{SELECT} join organisation_members m on m.organisation_id = c.organisation_id and m.user_id = ?1
         where c.name = ?2 collate nocase and (?3 is null or c.organisation_id = ?3)
           and c.deleted_at is null and c.archived_at is null and c.is_dm = 0
         order by c.name <> ?2, c.created_at, c.id"
    );
    let candidates = conn.prepare_cached(&sql)?.query_map((caller.user, name, organisation), from_row)?.collect::<Vec<_>>();
    Ok(all_visible(conn, caller, candidates.into_iter())?.into_iter().next())
}

fn all_visible(
    conn: &Connection,
    caller: Caller,
    channels: impl Iterator<Item = rusqlite::Result<Channel>>,
) -> Result<Vec<Access>> {
    channels
        .filter_map(|channel| channel.map_err(Error::from).and_then(|channel| visible(conn, caller, channel)).transpose())
        .collect()
}

/// A channel as lists show it.
pub struct Described {
    pub channel: Channel,
    pub users: Vec<UserId>,
    /// The newest top-level post, for who is in the channel.
    pub newest: Option<Message>,
    /// The secret of the first webhook's feed address, for who may manage the channel's webhooks.
    pub slug: Option<String>,
}

pub fn describe(conn: &Connection, access: Access) -> Result<Described> {
    let id = access.channel.id;
    let first = if access.manages_webhooks() { webhooks::first(conn, id)? } else { None };
    let newest = if access.username.is_some() { messages::newest(conn, id)? } else { None };
    Ok(Described {
        users: channel_members::ids(conn, id)?,
        newest,
        slug: first.map(|webhook| webhook.slug),
        channel: access.channel,
    })
}

const SELECT: &str =
    "select c.id, c.organisation_id, c.name, c.description, c.topic, c.is_private, c.is_dm, c.is_default, c.owner_id,
      c.created_by, c.message_count, c.thread_count,
      c.user_count, c.created_at, c.updated_at, c.archived_at
    from channels c";

fn from_row(row: &Row) -> rusqlite::Result<Channel> {
    Ok(Channel {
        id: row.get("id")?,
        organisation: row.get("organisation_id")?,
        name: row.get("name")?,
        description: row.get("description")?,
        topic: row.get("topic")?,
        is_private: row.get("is_private")?,
        is_dm: row.get("is_dm")?,
        is_default: row.get("is_default")?,
        owner_id: row.get("owner_id")?,
        created_by: row.get("created_by")?,
        message_count: row.get("message_count")?,
        thread_count: row.get("thread_count")?,
        user_count: row.get("user_count")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        archived_at: row.get("archived_at")?,
    })
}
