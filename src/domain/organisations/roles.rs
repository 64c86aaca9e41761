//! Roles of members: five built-in ones, numbered 1 to 5, and an organisation's own, numbered from 6.
//!
//! Nobody makes, changes, gives or takes away a role that holds a right which they lack.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Row, ToSql};

use crate::{
    db::{Columns, Tx},
    domain::{
        access::{self, Caller, Membership, UNKNOWN_ORGANISATION},
        accounts,
        deferred_work::{self, Cursor, DeferredWork},
        log::events,
        organisations::{
            member_events,
            payloads::{Permissions, RoleUpdate},
        },
        rights::{self, BuiltInRole, MemberStatus, OWNER, Rights},
        text::{self, Rule},
    },
    error::{Code, Error, OrConflict, Result},
    event::Kind,
    id::{OrganisationId, RoleUuid, UserId},
    time::Time,
};

text::rules! {
    /// A role's name: numbers name roles by their integers.
    pub Name: Rule::not_a_number(64);
    pub Description: Rule::text(255);
    /// The integer, the UUID, the key or the name of a role.
    pub Named: Rule::name(64);
}
/// At most 100 custom roles per organisation.
const MOST: i64 = 100;
/// At most 50 holders of a deleted role get the role `member` per slice, each of whom costs a row of the event log.
const SLICE: usize = 50;

#[derive(Clone, Debug)]
pub struct Role {
    pub id: i64,
    pub uuid: RoleUuid,
    /// The organisation that the role belongs to; none for a built-in role.
    pub organisation: Option<OrganisationId>,
    pub name: String,
    pub description: String,
    pub rights: Rights,
    pub created_at: Time,
    pub updated_at: Time,
}

impl Role {
    /// The integer and the name.
    pub fn number_and_name(&self) -> (i64, &str) {
        (self.id, &self.name)
    }
}

/// Finds the role that a request names by integer, UUID, key or name, all as text. 400 for a text that names no role at all.
pub fn find_named(conn: &Connection, organisation: OrganisationId, named: &str) -> Result<Option<Role>> {
    let named = Named::check(named, "role").map_err(Error::BadRequest)?;
    if named.parse::<i64>().is_ok() {
        return one(conn, "id = cast(?2 as integer)", organisation, named);
    }
    if let Ok(uuid) = named.parse::<uuid::Uuid>() {
        return one(conn, "uuid = ?2", organisation, RoleUuid(uuid));
    }
    let name = BuiltInRole::named(named).map_or(named, |role| role.name());
    let mut select = conn.prepare_cached(&format!("{SELECT} where {OF} and name = ?2 collate nocase"))?;
    let built_in = select.query_row((BUILT_IN, name), from_row).optional()?;
    Ok(match built_in {
        None => select.query_row((organisation, name), from_row).optional()?,
        built_in => built_in,
    })
}

/// SQL condition for the live roles of the organisation ?1, or for the built-in ones if that is [`BUILT_IN`]. An `or` of both
/// would look through the roles of all organisations.
const OF: &str = "organisation_id is ?1 and deleted_at is null";
const BUILT_IN: Option<OrganisationId> = None;

fn one(conn: &Connection, by: &str, organisation: OrganisationId, value: impl ToSql) -> Result<Option<Role>> {
    let sql = format!("{SELECT} where {by} and deleted_at is null and (organisation_id is null or organisation_id = ?1)");
    Ok(conn.prepare_cached(&sql)?.query_row((organisation, value), from_row).optional()?)
}

/// The role that a membership or an invitation names.
pub fn get(conn: &Connection, id: impl ToSql) -> Result<Role> {
    Ok(conn.prepare_cached(&format!("{SELECT} where id = ?1"))?.query_row([id], from_row)?)
}

/// All roles of an organisation: the built-in ones, then its own.
fn all(conn: &Connection, organisation: OrganisationId) -> Result<Vec<Role>> {
    let mut select = conn.prepare_cached(&format!("{SELECT} where {OF} order by id"))?;
    let mut roles = Vec::new();
    for owner in [BUILT_IN, Some(organisation)] {
        for role in select.query_map([owner], from_row)? {
            roles.push(role?);
        }
    }
    Ok(roles)
}

/// The names of an organisation's roles, for the operator.
pub fn joined_names(conn: &Connection, organisation: OrganisationId) -> Result<String> {
    let names: Vec<String> = all(conn, organisation)?.into_iter().map(|role| role.name).collect();
    Ok(names.join(", "))
}

/// Lists the roles of an organisation. For members; 404 for outsiders.
pub fn list(conn: &Connection, caller: Caller, organisation: OrganisationId) -> Result<Vec<Role>> {
    access::require_member(conn, caller, organisation, UNKNOWN_ORGANISATION)?;
    all(conn, organisation)
}

/// The role that the request names. For members; 404 for outsiders, and if there is no such role.
pub fn read(conn: &Connection, caller: Caller, organisation: OrganisationId, named: &str) -> Result<Role> {
    access::require_member(conn, caller, organisation, UNKNOWN_ORGANISATION)?;
    find_named(conn, organisation, named)?.ok_or(UNKNOWN)
}

#[derive(Default)]
pub struct Edit {
    pub name: Option<String>,
    pub description: Option<String>,
    /// Rights by name or by key; see [`Rights::changed_by`].
    pub permissions: BTreeMap<String, bool>,
}

/// Makes a role and tells the organisation. Needs `manage:roles` and every right of the new role. 404 for outsiders, 422 for
/// a bad or taken name and beyond the most roles of an organisation.
pub fn create(tx: &mut Tx, caller: Caller, organisation: OrganisationId, new: &Edit) -> Result<Role> {
    let membership = access::require_right(tx, caller, Rights::MANAGE_ROLES, organisation, UNKNOWN_ORGANISATION)?;
    let rights = Rights(0).changed_by(&new.permissions)?;
    membership.require_all(rights)?;
    let name = check_name(new.name.as_deref().unwrap_or_default())?;
    let own: i64 = tx
        .prepare_cached("select count(*) from roles where organisation_id = ?1 and deleted_at is null")?
        .query_row([organisation], |row| row.get(0))?;
    if own >= MOST {
        return Err(Error::Invalid(
            Code::LimitReached.says(format!("an organisation has at most {MOST} roles of its own")).with_limit(MOST),
        ));
    }
    tx.prepare_cached(
        "insert into roles (uuid, organisation_id, name, description, rights, created_at, updated_at)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?6)",
    )?
    .execute((
        RoleUuid::new(),
        organisation,
        name,
        check_description(new.description.as_deref().unwrap_or_default())?,
        rights,
        tx.now(),
    ))
    .or_conflict(taken)?;
    let role = get(tx, tx.last_insert_rowid())?;
    announce(tx, organisation, caller, "created", &role)?;
    Ok(role)
}

/// Changes the given fields of a role, and tells the organisation; its holders have the new rights at once. Needs
/// `manage:roles` and every right that the role has before and after. 403 for built-in roles, 422 for a bad or taken name.
pub fn update(tx: &mut Tx, caller: Caller, organisation: OrganisationId, named: &str, edit: &Edit) -> Result<Role> {
    let (membership, role) = managed(tx, caller, organisation, named)?;
    let rights = role.rights.changed_by(&edit.permissions)?;
    membership.require_all(rights)?;
    let name = edit.name.as_deref().map(check_name).transpose()?;
    let description = edit.description.as_deref().map(check_description).transpose()?;
    if rights == role.rights && name.is_none() && description.is_none() {
        return Ok(role);
    }
    tx.prepare_cached(
        "update roles set name = coalesce(?2, name), description = coalesce(?3, description), rights = ?4, updated_at = ?5
         where id = ?1",
    )?
    .execute((role.id, name, description, rights, tx.now()))
    .or_conflict(taken)?;
    let role = get(tx, role.id)?;
    announce(tx, organisation, caller, "updated", &role)?;
    Ok(role)
}

/// Deletes a role; its holders, and those invited to it, get the role `member`. Needs `manage:roles` and every right of the
/// role and of `member`. 403 for built-in roles.
pub fn delete(tx: &mut Tx, caller: Caller, organisation: OrganisationId, named: &str) -> Result<()> {
    let (membership, role) = managed(tx, caller, organisation, named)?;
    let member = get(tx, BuiltInRole::Member)?;
    membership.require_all(member.rights)?;
    // Until the slices are done, the deleted role holds the rights of `member` for its holders and the invited.
    tx.prepare_cached("update roles set name = ?2, rights = ?3, deleted_at = ?4 where id = ?1")?.execute((
        role.id,
        &member.name,
        member.rights,
        tx.now(),
    ))?;
    let rest = reassign_holders_slice(tx, role.id)?;
    deferred_work::defer(tx, DeferredWork::Role { role: role.id }, rest)?;
    announce(tx, organisation, caller, "deleted", &role)
}

/// Gives some holders of a deleted role, and some of those invited to it, the role `member`, and tells their organisation.
/// The last slice deletes the role's row.
pub fn reassign_holders_slice(tx: &mut Tx, role: i64) -> Result<Option<Cursor>> {
    let invited = tx
        .prepare_cached(
            "update invitations set role_id = ?2 where id in (select id from invitations where role_id = ?1 limit ?3)",
        )?
        .execute((role, BuiltInRole::Member, SLICE as i64))?;
    // At most `join_links::MOST`.
    tx.prepare_cached("update join_links set role_id = ?2 where role_id = ?1")?.execute((role, BuiltInRole::Member))?;
    let holders: Vec<(OrganisationId, UserId, MemberStatus)> = tx
        .prepare_cached(
            "update organisation_members set role_id = ?2, updated_at = ?3 where (organisation_id, user_id) in
               (select organisation_id, user_id from organisation_members where role_id = ?1 limit ?4)
             returning organisation_id, user_id, status",
        )?
        .query_map((role, BuiltInRole::Member, tx.now(), SLICE as i64), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let member = get(tx, BuiltInRole::Member)?;
    for (organisation, user, status) in &holders {
        let user = accounts::get(tx, *user)?;
        member_events::announce_member(tx, *organisation, &user, "updated", member.number_and_name(), *status)?;
    }
    if invited == SLICE || holders.len() == SLICE {
        return Ok(Some(Cursor::new()));
    }
    tx.prepare_cached("delete from roles where id = ?1")?.execute([role])?;
    Ok(None)
}

/// Tells the organisation of a change to a role. One event stands for all its holders, who may be very many.
fn announce(tx: &mut Tx, organisation: OrganisationId, caller: Caller, action: &str, role: &Role) -> Result<()> {
    let data = RoleUpdate {
        action,
        organisation_id: organisation,
        id: role.id,
        uuid: role.uuid,
        key: &role.name,
        name: rights::role_title(&role.name),
        description: &role.description,
        permission_list: role.rights.held_by_name(),
        permissions: Permissions { permission_list: role.rights.by_every_key() },
        created_at: role.created_at,
        updated_at: role.updated_at,
    };
    events::emit_to_organisation(tx, organisation, Kind::Role, caller.user, data)
}

/// The caller's membership, and a custom role that they may change. Needs `manage:roles` and every right of the role; 404
/// for outsiders and if there is no such role, 403 for built-in roles.
fn managed(conn: &Connection, caller: Caller, organisation: OrganisationId, named: &str) -> Result<(Membership, Role)> {
    let membership = access::require_member(conn, caller, organisation, UNKNOWN_ORGANISATION)?;
    let role = find_named(conn, organisation, named)?.ok_or(UNKNOWN)?;
    membership.require_right(Rights::MANAGE_ROLES)?;
    if role.organisation.is_none() {
        return Err(Error::Forbidden(Code::RoleBuiltIn, "Built-in roles can't be changed"));
    }
    membership.require_all(role.rights)?;
    Ok((membership, role))
}

const UNKNOWN: Error = Error::NotFound(Code::RoleNotFound);

fn taken() -> Error {
    Error::Invalid(Code::NameTaken.says("A role with this name already exists").at("name"))
}

/// Checks a role's name, which names no other role, as UUIDs and built-in names do.
pub(in crate::domain) fn check_name(name: &str) -> Result<String> {
    let name = Name::check(name, "name").map_err(Error::Invalid)?;
    if name.parse::<uuid::Uuid>().is_ok() {
        return Err(Error::Invalid(Code::InvalidValue.says("name must not be a UUID").at("name")));
    }
    let is_reserved = BuiltInRole::named(name).is_some() || name.eq_ignore_ascii_case(OWNER);
    if is_reserved { Err(taken()) } else { Ok(name.to_owned()) }
}

fn check_description(text: &str) -> Result<String> {
    Description::check(text, "description").map(str::to_owned).map_err(Error::Invalid)
}

/// Selects roles. [`from_row`] takes the columns in this order.
const SELECT: &str = "select id, uuid, organisation_id, name, description, rights, created_at, updated_at from roles";

fn from_row(row: &Row) -> rusqlite::Result<Role> {
    let mut columns = Columns::of_row(row);
    Ok(Role {
        id: columns.take()?,
        uuid: columns.take()?,
        organisation: columns.take()?,
        name: columns.take()?,
        description: columns.take()?,
        rights: columns.take()?,
        created_at: columns.take()?,
        updated_at: columns.take()?,
    })
}
