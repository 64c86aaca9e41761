//! Channels: creating, changing, archiving and deleting them, within their quotas.
//!
//! The submodules hold the record of a channel, lists, members, succession of ownership, direct messages, read marks, unread
//! counts, stars, mutes and the events `channel_update` and `trigger_notification`. The messages area purges deleted channels.

pub mod by_operator;
pub mod direct_messages;
pub mod lists;
pub mod marks;
pub mod members;
pub mod preferences;
pub mod record;
pub mod sidebar_trigger;
pub mod succession;
pub mod unread_counts;
pub mod update_event;

use crate::{
    db::{Tx, View},
    domain::{
        access::{self, Caller},
        accounts,
        channels::{
            lists::{Described, Users, describe},
            record::{Channel, Name, Visible},
            update_event::announce,
        },
        log::revocations,
        rights::Rights,
        text::{self, Rule},
    },
    error::{Code, Error, OrConflict, Result},
    id::{ChannelId, OrganisationId, UserId},
};

text::rules! {
    pub Description: Rule::text(1000);
    pub Topic: Rule::text(250);
}

pub struct New {
    pub organisation: OrganisationId,
    pub name: String,
    pub description: String,
    pub is_private: bool,
    /// The creator's name in the channel; `None` takes the username of their account.
    pub username: Option<String>,
    pub users: Vec<UserId>,
}

/// Creates a channel that the caller owns, with the caller and the named users (at most 100) as members. Needs
/// `create:channels`; 403 for outsiders. Pushes `channel_update`. 422 when the channel exceeds a quota, its name is invalid
/// or taken, or a named user is not a member of the organisation.
pub fn create(tx: &mut Tx, caller: Caller, new: New) -> Result<Described> {
    access::require_right(tx, caller, Rights::CREATE_CHANNELS, new.organisation, access::OUTSIDER)?;
    require_quota(tx, new.organisation, caller.user)?;
    let others = members::others(caller, "userIds", new.users)?;
    let id = insert(tx, new.organisation, caller.user, &check_name(&new.name)?, &new.description, new.is_private, false)?;
    let creator = accounts::own(tx, caller)?;
    members::insert(tx, id, &creator, new.username.as_deref())?;
    members::require_members(tx, new.organisation, &others)?;
    members::insert_all(tx, id, &others)?;
    announce(tx, id, "created", caller.user)?;
    lists::get(tx, caller, id, Users::First)
}

/// Creates the default channel of a new organisation. New members of the organisation join it; see
/// [`members::join_default`].
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
    let description = Description::check(description, "description").map_err(Error::Invalid)?;
    let (id, now) = (ChannelId::new(), tx.now());
    tx.prepare_cached(
        "insert into channels (id, organisation_id, name, description, is_private, is_default, owner_id, created_by, created_at, updated_at)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8, ?8)",
    )?
    .execute((id, organisation, name, description, is_private, is_default, owner, now))
    .or_conflict(taken)?;
    record::count(tx, organisation, 1)?;
    Ok(id)
}

/// Divisor of the organisation's channel quota: a member without `manage:channels` may own a tenth of it, so that one
/// member can't use up the quota of all.
const OWNED: u32 = 10;

/// Checks the quotas for one more live channel. 422 when the organisation has used up its quota, or an `owner` without
/// `manage:channels` has used up theirs, a tenth of it with those of their bots. Direct messages don't count.
fn require_quota(conn: &View, organisation: OrganisationId, owner: UserId) -> Result<()> {
    let (live, owned): (u32, u32) = conn
        .prepare_cached(
            "select count(*), count(*) filter (where owner_id = ?2 or owner_id in (select user_id from bots where owner_id = ?2))
             from channels where organisation_id = ?1 and is_dm = 0 and archived_at is null and deleted_at is null",
        )?
        .query_row((organisation, access::answerable_person(conn, owner)?), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let most = conn.site().channels_per_organisation;
    if live >= most {
        return Err(Error::Invalid(
            Code::LimitReached
                .says(format!("an organisation has at most {most} channels: archive or delete one first"))
                .with_limit(most),
        ));
    }
    let share = most.div_ceil(OWNED);
    let manages = access::membership(conn, organisation, owner)?.is_some_and(|own| own.rights.contains(Rights::MANAGE_CHANNELS));
    if owned >= share && !manages {
        return Err(Error::Invalid(
            Code::OwnLimitReached
                .says(format!("a member owns at most {share} channels: archive or delete one first"))
                .with_limit(share),
        ));
    }
    Ok(())
}

fn taken() -> Error {
    Error::Invalid(Code::NameTaken.says("A channel with this name already exists").at("name"))
}

/// Checks and trims a channel's name.
fn check_name(name: &str) -> Result<String> {
    Name::check(name, "name").map(str::to_owned).map_err(Error::Invalid)
}

#[derive(Default)]
pub struct Edit {
    pub name: Option<String>,
    pub description: Option<String>,
    pub topic: Option<String>,
    pub is_private: Option<bool>,
}

/// Changes the fields that `edit` names. Needs ownership of the channel or `manage:channels`; 403 otherwise, also for a
/// channel that the caller can't see. Pushes `channel_update`. 422 for an invalid or taken name, and for texts too long.
pub fn update(tx: &mut Tx, caller: Caller, id: ChannelId, edit: Edit) -> Result<Described> {
    let found = record::find(tx, caller, id)?.ok_or(access::HIDDEN_CHANNEL)?;
    found.access.require_manager()?;
    let name = edit.name.as_deref().map(check_name).transpose()?;
    let description = edit.description.as_deref().map(|text| Description::check(text, "description")).transpose();
    let description = description.map_err(Error::Invalid)?;
    let topic = edit.topic.as_deref().map(|text| Topic::check(text, "topic")).transpose().map_err(Error::Invalid)?;
    if name.is_none() && description.is_none() && topic.is_none() && edit.is_private.is_none() {
        return describe(tx, found);
    }
    tx.prepare_cached(
        "update channels set name = coalesce(?2, name), description = coalesce(?3, description), topic = coalesce(?4, topic),
           is_private = coalesce(?5, is_private), updated_at = ?6
         where id = ?1",
    )?
    .execute((id, name, description, topic, edit.is_private, tx.now()))
    .or_conflict(taken)?;
    announce(tx, id, "updated", caller.user)?;
    // No second check of access: a manager who is not in the channel loses sight of it by making it private.
    describe(tx, Visible { channel: record::get(tx, id)?, ..found })
}

/// Deletes a channel; background jobs purge its messages later. Needs ownership of the channel or `manage:channels`. Pushes
/// `channel_update` and revokes the members' rights to its streams. 404 for a channel that the caller can't see; 403 without
/// the right, and for the default channel.
pub fn delete(tx: &mut Tx, caller: Caller, id: ChannelId) -> Result<()> {
    let Visible { channel, access, .. } = record::find(tx, caller, id)?.ok_or(access::UNKNOWN_CHANNEL)?;
    access.require_manager()?;
    if channel.is_default {
        return Err(Error::Forbidden(Code::ChannelIsDefault, "The default channel can't be deleted"));
    }
    tx.prepare_cached("update channels set deleted_at = ?2 where id = ?1")?.execute((id, tx.now()))?;
    if channel.archived_at.is_none() {
        record::count(tx, channel.organisation, -1)?;
    }
    announce(tx, id, "deleted", caller.user)?;
    // The memberships stay, so that members who were away learn of the deletion when they reconnect.
    let members = members::ids(tx, id)?;
    revocations::rights(tx, members)
}

/// Archives a channel, which closes it to posts and joins, or reopens it. Needs ownership of the channel or
/// `manage:channels`. Pushes `channel_update`. 404 for a channel that the caller can't see; 403 without the right, and for
/// the default channel. On reopening, 422 when another channel has taken the name meanwhile or a quota is used up.
pub fn set_archived(tx: &mut Tx, caller: Caller, id: ChannelId, archived: bool) -> Result<Described> {
    let Visible { channel, access, preferences } = record::find(tx, caller, id)?.ok_or(access::UNKNOWN_CHANNEL)?;
    access.require_manager()?;
    if channel.is_default {
        return Err(Error::Forbidden(Code::ChannelIsDefault, "The default channel can't be archived"));
    }
    if channel.archived_at.is_some() == archived {
        return describe(tx, Visible { channel, access, preferences });
    }
    if !archived {
        require_quota(tx, channel.organisation, channel.owner_id)?;
    }
    let now = tx.now();
    tx.prepare_cached("update channels set archived_at = ?2, updated_at = ?3 where id = ?1")?
        .execute((id, archived.then_some(now), now))
        .or_conflict(taken)?;
    record::count(tx, channel.organisation, if archived { -1 } else { 1 })?;
    announce(tx, id, if archived { "archived" } else { "unarchived" }, caller.user)?;
    let channel = Channel { archived_at: archived.then_some(now), updated_at: now, ..channel };
    describe(tx, Visible { channel, access, preferences })
}

/// [`set_archived`] for a channel that must belong to the organisation; 404 otherwise.
pub fn archive_in_organisation(
    tx: &mut Tx,
    caller: Caller,
    organisation: OrganisationId,
    id: ChannelId,
    archived: bool,
) -> Result<Described> {
    access::require_member(tx, caller, organisation, access::UNKNOWN_ORGANISATION)?;
    access::require_organisation_channel(tx, caller, organisation, id, access::UNKNOWN_CHANNEL)?;
    set_archived(tx, caller, id, archived)
}
