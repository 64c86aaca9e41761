//! The event `member_update`, which tells an organisation of one of its members, and `membership_update`, which tells the
//! member's own devices.

use crate::{
    db::Tx,
    domain::{
        accounts,
        channels::direct_messages,
        deferred_work::Cursor,
        log::{events, revocations},
        organisations::payloads::{MemberUpdate, MembershipUpdate},
        rights::{self, MemberStatus},
    },
    error::Result,
    event::Kind,
    id::{OrganisationId, UserId},
};

/// Tells the organisation that a member has `joined`, was `updated` or was `removed`. `role` is the integer and the name of
/// their role.
pub fn announce_member(
    tx: &mut Tx,
    organisation: OrganisationId,
    user: &accounts::User,
    action: &str,
    (role_id, role): (i64, &str),
    status: MemberStatus,
) -> Result<()> {
    let is_owner =
        tx.prepare_cached("select 1 from organisations where id = ?1 and owner_id = ?2")?.exists((organisation, user.id))?;
    let data = MemberUpdate {
        action,
        organisation_id: organisation,
        user_id: user.id,
        username: &user.username,
        name: &user.shown_name(),
        full_name: &user.full_name(),
        email: &user.email,
        phone_number: &user.phone,
        avatar_url: &user.avatar_url,
        custom_status: user.custom_status.as_ref().filter(|_| action != "removed"),
        user_type: accounts::user_type(user.is_bot),
        is_verified: user.is_verified,
        role,
        role_key: role,
        role_id,
        role_name: rights::member_title(role, is_owner),
        status: status.as_str(),
    };
    events::emit_to_organisation(tx, organisation, Kind::Member, user.id, data)
}

/// Tells the user's own devices that the user has `joined` the organisation, or has `left` it, which every end of access is.
/// `role` is the name of their role. New members hear the organisation's streams from now on.
pub fn emit_membership_update(tx: &mut Tx, organisation: OrganisationId, user: UserId, action: &str, role: &str) -> Result<()> {
    let (name, slug, logo_url, owner): (String, String, String, UserId) = tx
        .prepare_cached("select name, slug, logo_url, owner_id from organisations where id = ?1")?
        .query_row([organisation], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    let data = MembershipUpdate {
        action,
        organisation_id: organisation,
        name: &name,
        organisation_slug: &slug,
        logo_url: &logo_url,
        org_role: role,
        role_name: rights::member_title(role, owner == user),
    };
    events::emit_to_account(tx, user, Kind::Membership, data)?;
    if action == "joined" {
        revocations::report_rights_gained(tx, user);
    }
    Ok(())
}

/// At most 25 organisations per slice, each of which costs a row of the event log.
const SLICE: usize = 25;
/// The first byte of a cursor once all organisations are told: the rest of it is the cursor of the user's direct messages.
const TOLD: &[u8] = b"told ";

/// Tells some of the user's organisations that the user was updated, in the order of the organisations' identifiers; then
/// renames some of the user's direct messages.
pub fn tell_user_update_slice(tx: &mut Tx, user: UserId, cursor: &[u8]) -> Result<Option<Cursor>> {
    let told = |rest: &[u8]| Some([TOLD, rest].concat());
    match cursor.strip_prefix(TOLD) {
        None => Ok(emit_slice(tx, user, cursor)?.or_else(|| told(&[]))),
        Some(after) => Ok(direct_messages::rename(tx, user, after)?.and_then(|rest| told(&rest))),
    }
}

fn emit_slice(tx: &mut Tx, user: UserId, after: &[u8]) -> Result<Option<Cursor>> {
    let memberships: Vec<(OrganisationId, i64, String, MemberStatus)> = tx
        .prepare_cached(
            "select m.organisation_id, r.id, r.name, m.status from organisation_members m
               join organisations o on o.id = m.organisation_id join roles r on r.id = m.role_id
             where m.user_id = ?1 and m.organisation_id > ?2 and o.deleted_at is null order by m.organisation_id limit ?3",
        )?
        .query_map((user, after, SLICE as i64), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let user = accounts::get(tx, user)?;
    for (organisation, role_id, role, status) in &memberships {
        announce_member(tx, *organisation, &user, "updated", (*role_id, role), *status)?;
    }
    let last = memberships.last().filter(|_| memberships.len() == SLICE);
    Ok(last.map(|(organisation, ..)| organisation.0.as_bytes().to_vec()))
}
