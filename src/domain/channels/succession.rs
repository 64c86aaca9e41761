//! Succession: the next owner of a channel whose owner leaves.

use rusqlite::OptionalExtension;

use crate::{
    db::Tx,
    domain::{access::ENTITLED, rights::Rights},
    error::Result,
    id::{ChannelId, UserId},
};

/// Passes the channel on if the leaver owns it, and returns whether the owner changed. The heir is the longest-standing
/// other member who may post and is no bot, otherwise the organisation's owner, who does not become a member of the channel by it.
pub(in crate::domain) fn pass_on(tx: &Tx, channel: ChannelId, leaver: UserId) -> Result<bool> {
    let owned = "select 1 from channels where id = ?1 and owner_id = ?2 and is_dm = 0 and deleted_at is null";
    if !tx.prepare_cached(owned)?.exists((channel, leaver))? {
        return Ok(false);
    }
    let heir = format!(
        "select cm.user_id from channel_members cm
           cross join channels c on c.id = cm.channel_id
           cross join organisation_members m on m.organisation_id = c.organisation_id and m.user_id = cm.user_id
           cross join users u on u.id = cm.user_id
           cross join roles r on r.id = m.role_id
         where cm.channel_id = ?1 and cm.user_id <> ?2 and {ENTITLED} and u.is_active and not u.is_bot and r.rights & ?3 <> 0
         order by cm.created_at, cm.user_id limit 1"
    );
    let member: Option<UserId> =
        tx.prepare_cached(&heir)?.query_row((channel, leaver, Rights::POST_MESSAGES), |row| row.get(0)).optional()?;
    let passed = tx
        .prepare_cached(
            "update channels set owner_id = coalesce(?3, (select o.owner_id from organisations o where o.id = organisation_id))
             where id = ?1 returning owner_id <> ?2",
        )?
        .query_row((channel, leaver, member), |row| row.get(0))?;
    Ok(passed)
}
