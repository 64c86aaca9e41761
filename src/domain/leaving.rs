//! What a member of an organisation leaves behind: channels, webhooks, a place in everybody's lists.

use rusqlite::Connection;

use crate::{
    db::Tx,
    domain::{Caller, accounts, channels, members, memberships, revocations, roles::Rights, stopping::stop, webhooks::Status},
    error::{Error, Result},
    event::{Audience, Stream},
    id::{ChannelId, OrganisationId, UserId, WebhookId},
    site::Site,
};

/// Ends a membership, and all access with it, at once; whoever was removed can be invited again. Members
/// remove themselves; others need `remove:members` and every right of the member's role. 403 for outsiders
/// and for the owner, 404 when there is no such member.
pub fn remove(tx: &mut Tx, site: &Site, caller: Caller, organisation: OrganisationId, user: UserId) -> Result<()> {
    let (own, member) = memberships::find(tx, caller, organisation, user)?;
    if user != caller.user {
        own.require(Rights::REMOVE_MEMBERS)?;
        own.require_all(member.role.rights)?;
    }
    if member.is_owner {
        return Err(Error::Forbidden("The owner can't be removed: pass the organisation on first"));
    }
    let left = leave_channels(tx, organisation, user)?;
    tx.prepare_cached("delete from organisation_members where organisation_id = ?1 and user_id = ?2")?
        .execute((organisation, user))?;
    let passed = pass_on(tx, organisation, user)?;
    pass_webhooks_on(tx, site, organisation, user)?;
    accounts::leave_current_organisation(tx, user, organisation)?;

    let account = accounts::get(tx, user)?;
    members::announce(tx, organisation, &account, "removed", &member.role.name, &member.status)?;
    // Before what else there is to tell: it is not for them any more.
    revocations::rights(tx, vec![user])?;
    for channel in left {
        announce(tx, channel, user)?;
    }
    for channel in passed {
        channels::announce(tx, channel, "updated", user)?;
    }
    Ok(())
}

/// All but direct messages: these are their two sides' for good, and open again to whoever comes back.
fn leave_channels(tx: &mut Tx, organisation: OrganisationId, user: UserId) -> Result<Vec<ChannelId>> {
    let left = ids(
        tx,
        "delete from channel_members
         where user_id = ?2 and channel_id in (select id from channels where organisation_id = ?1 and is_dm = 0)
         returning channel_id",
        (organisation, user),
    )?;
    let mut count = tx.prepare_cached("update channels set user_count = user_count - 1 where id = ?1")?;
    let mut unmention = tx.prepare_cached("delete from mentions where channel_id = ?1 and user_id = ?2")?;
    for channel in &left {
        count.execute([channel])?;
        unmention.execute((channel, user))?;
    }
    Ok(left)
}

/// The leaver's channels pass to the longest-standing member of each, else to the organisation's owner. Returns them.
fn pass_on(tx: &mut Tx, organisation: OrganisationId, user: UserId) -> Result<Vec<ChannelId>> {
    let passed = ids(
        tx,
        "update channels set owner_id = coalesce(
           (select cm.user_id from channel_members cm
              cross join organisation_members m on m.organisation_id = ?1 and m.user_id = cm.user_id
            where cm.channel_id = channels.id and m.status <> 'deactivated' order by cm.created_at, cm.user_id limit 1),
           (select owner_id from organisations where id = ?1))
         where organisation_id = ?1 and owner_id = ?2 and is_dm = 0 and deleted_at is null returning id",
        (organisation, user),
    )?;
    Ok(passed)
}

/// The leaver's webhooks pass to the channels' owners. Those that deliver do it where the leaver wanted, who would go on
/// hearing the channel: they pause until the new owner has seen to it.
fn pass_webhooks_on(tx: &mut Tx, site: &Site, organisation: OrganisationId, user: UserId) -> Result<()> {
    let passed: Vec<(WebhookId, bool)> = tx
        .prepare_cached(
            "update webhooks set owner_id = (select owner_id from channels where id = webhooks.channel_id)
             where owner_id = ?2 and channel_id in (select id from channels where organisation_id = ?1)
             returning id, url <> ''",
        )?
        .query_map((organisation, user), |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let delivering = passed.into_iter().filter_map(|(id, delivers)| delivers.then_some(id));
    let reason = "whoever chose its address has left the organisation; see whether it should go on delivering there";
    delivering.into_iter().try_for_each(|id| stop(tx, site, id, Status::Paused, reason))
}

fn ids(conn: &Connection, sql: &str, values: (OrganisationId, UserId)) -> Result<Vec<ChannelId>> {
    Ok(conn.prepare_cached(sql)?.query_map(values, |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
}

/// Tells the channel alone: the leaver's own stream is no more.
fn announce(tx: &mut Tx, channel: ChannelId, user: UserId) -> Result<()> {
    let body = channels::update_body(tx, channel, "left", user)?;
    channels::emit(tx, channel, Stream::Channel(channel), Audience::Subscribers, Some(user), &body)?;
    Ok(())
}
