//! Changing memberships: roles and statuses, and which organisations a member has pinned.

use rusqlite::{Connection, OptionalExtension};

use crate::{
    db::{Tx, log_reader},
    domain::{
        access::{self, Caller, Membership},
        accounts::{self, profiles},
        log::revocations,
        organisations::{
            bot_succession, member_events,
            roles::{self, Role},
        },
        rights::{MemberStatus, Rights},
        text::{self, Rule},
    },
    error::{Code, Error, Result},
    id::{OrganisationId, UserId},
    time::Time,
};

/// A member, as callers who manage members see them.
pub struct Member {
    pub user: UserId,
    pub organisation: OrganisationId,
    pub role: Role,
    pub status: MemberStatus,
    pub is_owner: bool,
    pub created_at: Time,
}

/// The caller's own membership, and a member whatever their status. For members; 403 for outsiders, 404 if there is no such
/// member.
pub fn find_with_callers(
    conn: &Connection,
    caller: Caller,
    organisation: OrganisationId,
    user: UserId,
) -> Result<(Membership, Member)> {
    let own = access::require_member(conn, caller, organisation, access::OUTSIDER)?;
    Ok((own, get(conn, organisation, user)?))
}

/// A member whatever their status. 404 if there is no such member.
pub fn get(conn: &Connection, organisation: OrganisationId, user: UserId) -> Result<Member> {
    let found: Option<(i64, MemberStatus, bool, Time)> = conn
        .prepare_cached(
            "select m.role_id, m.status, o.owner_id = m.user_id, m.created_at
               from organisation_members m join organisations o on o.id = m.organisation_id
             where m.organisation_id = ?1 and m.user_id = ?2",
        )?
        .query_row((organisation, user), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .optional()?;
    let (role, status, is_owner, created_at) = found.ok_or(Error::NotFound(Code::MemberNotFound))?;
    Ok(Member { user, organisation, role: roles::get(conn, role)?, status, is_owner, created_at })
}

pub struct Edit {
    /// The role's integer, UUID or name, from the request.
    pub role: Option<String>,
    pub status: Option<String>,
}

/// Changes a member's role or status. A new role needs `manage:roles`, a new status `remove:members`; the caller also needs
/// every right of the member's old and new role. Nobody else changes the owner, who stays an active admin. Deactivation ends
/// access at once, and reactivation gives it back. 400 for an unknown role or status, 403 for outsiders and without the
/// rights.
pub fn update(tx: &mut Tx, caller: Caller, organisation: OrganisationId, user: UserId, edit: Edit) -> Result<Member> {
    let (own, before) = find_with_callers(tx, caller, organisation, user)?;
    if !own.rights.contains(Rights::MANAGE_ROLES) {
        own.require_right(Rights::REMOVE_MEMBERS)?;
    }
    own.require_all(before.role.rights)?;
    if before.is_owner && user != caller.user {
        return Err(Error::Forbidden(Code::OwnerOnly, "Only the owner changes the owner"));
    }
    let role = match edit.role {
        Some(named) => new_role(tx, own, &before, &named)?,
        None => before.role.clone(),
    };
    let status = match edit.status {
        Some(named) => new_status(own, &before, &named)?,
        None => before.status,
    };
    if role.id == before.role.id && status == before.status {
        return Ok(before);
    }
    tx.prepare_cached(
        "update organisation_members set role_id = ?3, status = ?4, updated_at = ?5 where organisation_id = ?1 and user_id = ?2",
    )?
    .execute((organisation, user, role.id, status, tx.now()))?;
    let account = accounts::get(tx, user)?;
    member_events::announce_member(tx, organisation, &account, "updated", role.number_and_name(), status)?;
    if status == MemberStatus::Deactivated {
        profiles::leave_current_organisation(tx, user, organisation)?;
        bot_succession::pass_on(tx, organisation, user)?;
        member_events::emit_membership_update(tx, organisation, user, "left", &role.name)?;
        revocations::rights(tx, vec![user])?;
    } else if before.status == MemberStatus::Deactivated {
        // The member may not see what was pushed while they were deactivated.
        tx.prepare_cached("update organisation_members set joined_seq = ?3 where organisation_id = ?1 and user_id = ?2")?
            .execute((organisation, user, log_reader::last_seq(tx)?))?;
        member_events::emit_membership_update(tx, organisation, user, "joined", &role.name)?;
    }
    Ok(Member { role, status, ..before })
}

/// Pins or unpins the organisation in the caller's own list of organisations. For members; 404 for outsiders.
pub fn set_pinned(tx: &mut Tx, caller: Caller, organisation: OrganisationId, is_pinned: bool) -> Result<()> {
    access::require_member(tx, caller, organisation, access::UNKNOWN_ORGANISATION)?;
    tx.prepare_cached("update organisation_members set is_pinned = ?3 where organisation_id = ?1 and user_id = ?2")?
        .execute((organisation, caller.user, is_pinned))?;
    Ok(())
}

fn new_role(conn: &Connection, own: Membership, member: &Member, named: &str) -> Result<Role> {
    let role = roles::find_named(conn, member.organisation, named)?;
    if role.as_ref().is_some_and(|role| role.id == member.role.id) {
        return Ok(member.role.clone());
    }
    own.require_right(Rights::MANAGE_ROLES)?;
    if member.is_owner {
        return Err(Error::Forbidden(Code::OwnerProtected, "The owner stays an admin"));
    }
    let role = role.ok_or_else(|| Error::BadRequest(Code::RoleNotFound.says("role_id: no such role").at("role_id")))?;
    own.require_all(role.rights)?;
    Ok(role)
}

text::rules! {
    pub Status: Rule::one_of(MemberStatus::NAMES);
}

fn new_status(own: Membership, member: &Member, named: &str) -> Result<MemberStatus> {
    let status = MemberStatus::named(named);
    if status == Some(member.status) {
        return Ok(member.status);
    }
    own.require_right(Rights::REMOVE_MEMBERS)?;
    Status::check(named, "status").map_err(Error::BadRequest)?;
    let status = status.ok_or_else(|| Error::internal("each status has its name"))?;
    if member.is_owner && status == MemberStatus::Deactivated {
        return Err(Error::Forbidden(Code::OwnerProtected, "The owner can't be deactivated"));
    }
    Ok(status)
}
