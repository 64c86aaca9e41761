//! What a member of an organisation leaves behind: channels, and a place in everybody's lists. Other areas learn of the
//! departure from the log.
//!
//! The membership ends at once, and all rights with it, as every check of them asks for it. The rest may be thousands
//! of records and follows in slices ([`chores`]); until the last, the former member can't join again.

use crate::{
    db::Tx,
    domain::{
        access::Caller,
        accounts,
        channels::{heirs, record, updates},
        chores::{self, Chore, Cursor},
        log::{events, revocations},
        organisations::{member_updates, memberships},
        rights::Rights,
    },
    error::{Error, Result},
    event::{Kind, Stream},
    id::{ChannelId, OrganisationId, UserId},
};

/// Channels that a slice looks at.
const LOOKED_AT: usize = 200;
/// Changes after which a slice ends, each with a row of the event log.
const CHANGES: usize = 25;

/// Ends a membership, and all access with it, at once; whoever was removed can be invited again. Members
/// remove themselves; others need `remove:members` and every right of the member's role. 403 for outsiders
/// and for the owner, 404 when there is no such member.
pub fn remove(tx: &mut Tx, caller: Caller, organisation: OrganisationId, user: UserId) -> Result<()> {
    let (own, member) = memberships::find(tx, caller, organisation, user)?;
    if user != caller.user {
        own.require(Rights::REMOVE_MEMBERS)?;
        own.require_all(member.role.rights)?;
    }
    if member.is_owner {
        return Err(Error::Forbidden("The owner can't be removed: pass the organisation on first"));
    }
    tx.prepare_cached("delete from organisation_members where organisation_id = ?1 and user_id = ?2")?
        .execute((organisation, user))?;
    accounts::leave_current_organisation(tx, user, organisation)?;

    let account = accounts::get(tx, user)?;
    member_updates::announce(tx, organisation, &account, "removed", &member.role.name, member.status)?;
    // Before what else there is to tell: it is not for them any more.
    revocations::rights(tx, vec![user])?;
    let rest = slice(tx, organisation, user, &[])?;
    chores::leave(tx, Chore::Departure { organisation, user }, rest)
}

/// Takes the former member out of some of the organisation's channels, in the order of their identifiers. All but direct
/// messages: these are their two sides' for good, and open again to whoever comes back.
pub fn slice(tx: &mut Tx, organisation: OrganisationId, user: UserId, after: &[u8]) -> Result<Option<Cursor>> {
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

/// Ends what a former member has to do with a channel, and tells of it. Returns how many changes that took.
fn leave(tx: &mut Tx, channel: ChannelId, user: UserId) -> Result<usize> {
    let was_in =
        tx.prepare_cached("delete from channel_members where channel_id = ?1 and user_id = ?2")?.execute((channel, user))? > 0;
    if was_in {
        tx.prepare_cached("update channels set user_count = user_count - 1 where id = ?1")?.execute([channel])?;
    }
    let is_passed_on = heirs::pass_on(tx, channel, user)?;
    if was_in {
        record::archive_deserted(tx, channel)?;
    }
    if was_in {
        // The channel alone: the leaver's own stream is no more.
        let body = updates::update_body(tx, channel, "left", user)?;
        updates::tell(tx, channel, Stream::Channel(channel), user, &body)?;
    }
    if is_passed_on {
        updates::announce(tx, channel, "updated", user)?;
    }
    Ok(usize::from(was_in) + usize::from(is_passed_on))
}
