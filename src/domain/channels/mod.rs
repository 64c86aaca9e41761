//! Channels: who sees them, making, changing and deleting them.
//!
//! Below: lists of channels, their members, direct messages, read markers, and the purging of deleted ones. Uses
//! organisations, accounts and the log.

pub mod direct_messages;
pub mod lists;
pub mod members;
pub mod purging;
pub mod reading;

use rusqlite::{Connection, OptionalExtension, Row};
use serde_json::json;

use crate::{
    db::Tx,
    domain::{
        Caller, accounts,
        channels::lists::{Described, describe},
        log::{events, revocations},
        organisations::{self, members::Membership, roles::Rights},
        text,
    },
    error::{Error, OrConflict, Result},
    event::{Kind, Stream},
    id::{ChannelId, OrganisationId, UserId},
    site::Site,
    time::Time,
};

const NAME_MAX: usize = 80;
const DESCRIPTION_MAX: usize = 1000;
const TOPIC_MAX: usize = 250;

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
    pub created_at: Time,
    pub updated_at: Time,
    pub archived_at: Option<Time>,
    pub deleted_at: Option<Time>,
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

    /// Whether the caller holds the right, or owns the channel. Ownership gives nothing to an owner without
    /// `post:messages`: it outlives a demotion, and a guest manages nothing.
    fn manages(&self, right: Rights) -> bool {
        let Membership { rights } = self.membership;
        rights.include(right) || (self.channel.owner_id == self.user && rights.include(Rights::POST_MESSAGES))
    }

    /// The owner of the channel and who holds `manage:channels`; never of a direct message.
    pub fn require_manager(&self) -> Result<()> {
        self.require_no_dm()?;
        if self.manages(Rights::MANAGE_CHANNELS) { Ok(()) } else { Err(organisations::members::LACKING) }
    }

    /// The owner of the channel and who holds `manage:webhooks`.
    pub fn manages_webhooks(&self) -> bool {
        self.manages(Rights::MANAGE_WEBHOOKS)
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
    let sql = format!("select {COLUMNS}, {ACCESS} and c.id = ?2");
    Ok(conn.prepare_cached(&sql)?.query_row((caller.user, id), |row| access_from_row(caller, row)).optional()?)
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

/// Needs `create:channels`. The creator is owner and member; the named users, at most 100, become members. 422 for one
/// channel too many.
pub fn create(tx: &mut Tx, site: &Site, caller: Caller, new: New) -> Result<Described> {
    let membership = organisations::members::find(tx, new.organisation, caller.user)?.ok_or(organisations::members::OUTSIDER)?;
    membership.require(Rights::CREATE_CHANNELS)?;
    require_quota(tx, site, new.organisation, caller.user)?;
    let others = members::others(caller, "userIds", new.users)?;
    let id = insert(tx, new.organisation, caller.user, &check_name(&new.name)?, &new.description, new.is_private, false)?;
    let creator = accounts::own(tx, caller)?;
    members::insert(tx, id, &creator, new.username.as_deref())?;
    members::require_members(tx, new.organisation, &others)?;
    members::insert_all(tx, id, &others)?;
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
    let description = text::trimmed(description, "description", DESCRIPTION_MAX).map_err(Error::Invalid)?;
    let (id, now) = (ChannelId::new(), Time::now());
    tx.prepare_cached(
        "insert into channels (id, organisation_id, name, description, is_private, is_default, owner_id, created_by, created_at, updated_at)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8, ?8)",
    )?
    .execute((id, organisation, name, description, is_private, is_default, owner, now))
    .or_conflict(taken)?;
    Ok(id)
}

/// Of an organisation's live channels, the share that a member without `manage:channels` may own: one of them alone must
/// not take all.
const OWNED: u32 = 10;

/// 422 when the organisation has as many live channels as it may have, or the owner of one more a tenth of them.
fn require_quota(conn: &Connection, site: &Site, organisation: OrganisationId, owner: UserId) -> Result<()> {
    let (live, owned): (u32, u32) = conn
        .prepare_cached(
            "select count(*), count(*) filter (where owner_id = ?2) from channels
             where organisation_id = ?1 and is_dm = 0 and archived_at is null and deleted_at is null",
        )?
        .query_row((organisation, owner), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let most = site.channels_per_organisation;
    if live >= most {
        return Err(Error::invalid(format!("an organisation has at most {most} channels: archive or delete one first")));
    }
    let share = most.div_ceil(OWNED);
    let manages =
        organisations::members::find(conn, organisation, owner)?.is_some_and(|own| own.rights.include(Rights::MANAGE_CHANNELS));
    if owned >= share && !manages {
        return Err(Error::invalid(format!("a member owns at most {share} channels: archive or delete one first")));
    }
    Ok(())
}

/// Archives a private channel that nobody is in any more: nobody may know of it, so that nobody could make room for
/// another.
pub(super) fn archive_deserted(tx: &Tx, id: ChannelId) -> Result<()> {
    tx.prepare_cached(
        "update channels set archived_at = ?2, updated_at = ?2
         where id = ?1 and is_private and not is_dm and user_count = 0 and archived_at is null",
    )?
    .execute((id, Time::now()))?;
    Ok(())
}

fn taken() -> Error {
    Error::invalid("A channel with this name already exists")
}

/// 1 to 80 characters; 422 otherwise.
fn check_name(name: &str) -> Result<String> {
    text::required(name, "name", NAME_MAX).map(str::to_owned).map_err(Error::Invalid)
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
        let checked = value.as_deref().map(|value| text::trimmed(value, field, max).map(str::to_owned));
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
    describe(tx, Access { channel: row(tx, id)?, ..access })
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
    let members = members::ids(tx, id)?;
    revocations::rights(tx, members)
}

/// Closes a channel to posts and joins, or opens it again: its owner, or `manage:channels`; never the default
/// channel. An archived name may be given to another channel: 422 when it was, and for one live channel too many.
pub fn archive(tx: &mut Tx, site: &Site, caller: Caller, id: ChannelId, archived: bool) -> Result<Described> {
    let access = find(tx, caller, id)?.ok_or(UNKNOWN)?;
    access.require_manager()?;
    if access.channel.is_default {
        return Err(Error::Forbidden("The default channel can't be archived"));
    }
    if access.channel.archived_at.is_some() == archived {
        return describe(tx, access);
    }
    if !archived {
        require_quota(tx, site, access.channel.organisation, access.channel.owner_id)?;
    }
    let now = Time::now();
    tx.prepare_cached("update channels set archived_at = ?2, updated_at = ?3 where id = ?1")?
        .execute((id, archived.then_some(now), now))
        .or_conflict(taken)?;
    announce(tx, id, if archived { "archived" } else { "unarchived" }, caller.user)?;
    let channel = Channel { archived_at: archived.then_some(now), updated_at: now, ..access.channel };
    describe(tx, Access { channel, ..access })
}

/// [`archive`] for a channel that must be the organisation's.
pub fn archive_in(
    tx: &mut Tx,
    site: &Site,
    caller: Caller,
    organisation: OrganisationId,
    id: ChannelId,
    archived: bool,
) -> Result<Described> {
    organisations::members::find(tx, organisation, caller.user)?.ok_or(Error::NotFound("Organisation"))?;
    find(tx, caller, id)?.filter(|access| access.channel.organisation == organisation).ok_or(UNKNOWN)?;
    archive(tx, site, caller, id, archived)
}

/// Pushes `channel_update` to those in the channel and to each member's personal stream.
pub(super) fn announce(tx: &mut Tx, id: ChannelId, action: &str, actor: UserId) -> Result<()> {
    let body = update_body(tx, id, action, actor)?;
    // From nobody: who did it has other devices.
    let new = events::New {
        kind: Kind::Channel,
        stream: Stream::Channel(id),
        to_members: true,
        channel: Some(id),
        message: None,
        actor: None,
        body: &body,
    };
    events::emit(tx, new)?;
    Ok(())
}

/// Logs a `channel_update` for one stream, about what `user` has to do with the channel.
pub(super) fn tell(tx: &mut Tx, id: ChannelId, stream: Stream, user: UserId, body: &serde_json::Value) -> Result<()> {
    let new =
        events::New { kind: Kind::Channel, stream, to_members: false, channel: Some(id), message: None, actor: Some(user), body };
    events::emit(tx, new)?;
    Ok(())
}

/// The body of a `channel_update`: the channel as it is now, and what happened by whom.
pub(super) fn update_body(conn: &Connection, id: ChannelId, action: &str, user: UserId) -> Result<serde_json::Value> {
    let channel = row(conn, id)?;
    let data = json!({
        "action": action, "user_id": user, "user_count": channel.user_count,
        "channels_id": id, "organisation_id": channel.organisation, "owner_id": channel.owner_id,
        "name": channel.name, "description": channel.description, "topic": channel.topic,
        "is_private": channel.is_private, "is_dm": channel.is_dm, "archived": channel.archived_at.is_some(),
        "created_at": channel.created_at, "updated_at": channel.updated_at, "deleted_at": channel.deleted_at.unwrap_or(Time::NEVER),
    });
    let mut body = events::envelope(Kind::Channel, false, data);
    body["modification_ids"] = json!({ "channel_id": id, "user_id": user, "org_id": channel.organisation });
    Ok(body)
}

/// 404 for whoever may not know of it.
pub fn get(conn: &Connection, caller: Caller, id: ChannelId) -> Result<Described> {
    describe(conn, find(conn, caller, id)?.ok_or(UNKNOWN)?)
}

pub(super) const COLUMNS: &str = "c.id, c.organisation_id, c.name, c.description, c.topic, c.is_private, c.is_dm, c.is_default,
    c.owner_id, c.created_by, c.message_count, c.user_count, c.last_thread, c.created_at, c.updated_at, c.archived_at,
    c.deleted_at";

/// The channels that user ?1 may know of, with what they may do there; goes on with `and …`.
pub(super) const ACCESS: &str = "r.rights, cm.username as own_name
    from channels c
      join organisations o on o.id = c.organisation_id and o.deleted_at is null
      join organisation_members om on om.organisation_id = c.organisation_id and om.user_id = ?1 and om.status <> 'deactivated'
      join roles r on r.id = om.role_id
      left join channel_members cm on cm.channel_id = c.id and cm.user_id = ?1
    where c.deleted_at is null
      and (cm.user_id is not null or (c.is_private = 0 and c.is_dm = 0 and om.role_id <> 5)) -- 5: guest
   ";

pub(super) fn access_from_row(caller: Caller, row: &Row) -> rusqlite::Result<Access> {
    let membership = Membership { rights: Rights(row.get("rights")?) };
    Ok(Access { channel: from_row(row)?, membership, username: row.get("own_name")?, user: caller.user })
}

/// Whoever asks, deleted or not.
fn row(conn: &Connection, id: ChannelId) -> Result<Channel> {
    let sql = format!("select {COLUMNS} from channels c where c.id = ?1");
    Ok(conn.prepare_cached(&sql)?.query_row([id], from_row)?)
}

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
        user_count: row.get("user_count")?,
        last_thread: row.get("last_thread")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        archived_at: row.get("archived_at")?,
        deleted_at: row.get("deleted_at")?,
    })
}
