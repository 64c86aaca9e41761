//! The departure of a member: it ends the membership, and takes the former member out of channels. Other areas learn of it
//! from the log.
//!
//! The membership ends at once, and every right with it, because all checks read it. The rest may be thousands of rows and
//! follows in slices ([`deferred_work`]). Until the last slice, the former member can't join again.

use crate::{
    db::Tx,
    domain::{
        access::Caller,
        accounts::{self, profiles},
        channels::{record, succession, update_event},
        deferred_work::{self, Cursor, DeferredWork},
        log::{events, revocations},
        organisations::{
            bot_succession, former_members, member_events,
            memberships::{self, Member},
        },
        rights::Rights,
    },
    error::{Code, Error, Result},
    event::{Kind, Stream},
    id::{ChannelId, OrganisationId, UserId},
};

/// At most 200 channels read per slice.
const LOOKED_AT: usize = 200;
/// A slice ends after 25 changes, each of which costs a row of the event log.
const CHANGES: usize = 25;

/// Ends a membership, and all its access at once; the former member can be invited again. Members remove themselves; to
/// remove others, callers need `remove:members` and every right of the member's role. 403 for outsiders and if the member is
/// the owner, 404 if there is no such member.
pub fn remove(tx: &mut Tx, caller: Caller, organisation: OrganisationId, user: UserId) -> Result<()> {
    let (own, member) = memberships::find_with_callers(tx, caller, organisation, user)?;
    if user != caller.user {
        own.require_right(Rights::REMOVE_MEMBERS)?;
        own.require_all(member.role.rights)?;
    }
    if member.is_owner {
        return Err(Error::Forbidden(Code::OwnerProtected, "The owner can't be removed: pass the organisation on first"));
    }
    end_membership(tx, &member)
}

/// Ends the membership of somebody who is not the owner, whatever their status.
pub fn end_membership(tx: &mut Tx, member: &Member) -> Result<()> {
    let Member { organisation, user, .. } = *member;
    tx.prepare_cached("delete from organisation_members where organisation_id = ?1 and user_id = ?2")?
        .execute((organisation, user))?;
    former_members::note(tx, organisation, user)?;
    // One that they did not need, since they came in another way, must not let them in again.
    tx.prepare_cached(
        "delete from invitations
         where organisation_id = ?1 and email = (select email from users where id = ?2) and accepted_at is null",
    )?
    .execute((organisation, user))?;
    profiles::leave_current_organisation(tx, user, organisation)?;

    let account = accounts::get(tx, user)?;
    if account.is_bot {
        bot_succession::retire_bot(tx, user)?
    } else {
        bot_succession::pass_on(tx, organisation, user)?
    }
    member_events::announce_member(tx, organisation, &account, "removed", member.role.number_and_name(), member.status)?;
    member_events::emit_membership_update(tx, organisation, user, "left", &member.role.name)?;
    // Revoke first: the former member may not see the events that follow.
    revocations::rights(tx, vec![user])?;
    let rest = leave_slice(tx, organisation, user, &[])?;
    deferred_work::defer(tx, DeferredWork::Departure { organisation, user }, rest)
}

/// Takes the former member out of some of the organisation's channels, in the order of their identifiers. Direct messages
/// keep both sides, and open again if the former member comes back.
pub fn leave_slice(tx: &mut Tx, organisation: OrganisationId, user: UserId, after: &[u8]) -> Result<Option<Cursor>> {
    let channels: Vec<ChannelId> = tx
        .prepare_cached("select id from channels where organisation_id = ?1 and is_dm = 0 and id > ?2 order by id limit ?3")?
        .query_map((organisation, after, LOOKED_AT as i64), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let (mut changes, mut done) = (0, after.to_vec());
    for channel in &channels {
        changes += leave(tx, *channel, user)?;
        done = channel.0.as_bytes().to_vec();
        if changes >= CHANGES {
            return Ok(Some(done));
        }
    }
    if channels.len() == LOOKED_AT {
        return Ok(Some(done));
    }
    events::note(tx, Kind::Departed, Some(user), organisation)?;
    Ok(None)
}

/// Removes a former member from a channel, passes on what they own there, and tells the channel. Returns the number of
/// changes.
fn leave(tx: &mut Tx, channel: ChannelId, user: UserId) -> Result<usize> {
    let was_in =
        tx.prepare_cached("delete from channel_members where channel_id = ?1 and user_id = ?2")?.execute((channel, user))? > 0;
    if was_in {
        tx.prepare_cached("update channels set user_count = user_count - 1 where id = ?1")?.execute([channel])?;
    }
    let is_passed_on = succession::pass_on(tx, channel, user)?;
    if was_in {
        record::archive_deserted(tx, channel)?;
    }
    if was_in {
        // Only the channel is told: the former member's own stream has ended.
        let body = update_event::update_body(tx, channel, "left", user)?;
        update_event::emit(tx, channel, Stream::Channel(channel), user, &body)?;
    }
    if is_passed_on {
        update_event::announce(tx, channel, "updated", user)?;
    }
    Ok(usize::from(was_in) + usize::from(is_passed_on))
}
