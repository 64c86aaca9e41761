//! What becomes of bots, and of somebody's bots, when a membership ends.

use crate::{
    db::Tx,
    domain::{
        accounts::{left_behind, sessions},
        mail_queue,
    },
    error::Result,
    id::{OrganisationId, UserId},
    mail,
};

/// Ends a bot whose membership has ended. Nobody can bring it back.
pub(super) fn retire_bot(tx: &mut Tx, bot: UserId) -> Result<()> {
    left_behind::end_ways_in(tx, bot)?;
    tx.prepare_cached("delete from bots where user_id = ?1")?.execute([bot])?;
    tx.prepare_cached("delete from reminders where user_id = ?1")?.execute([bot])?;
    tx.prepare_cached(
        "update users set is_active = 0, status_emoji = '', status_text = '', status_until = null, updated_at = ?2 where id = ?1",
    )?
    .execute((bot, tx.now()))?;
    sessions::end_others(tx, bot, None)
}

/// Passes the bots of somebody who has lost access to the organisation on to its owner, after what they have made for that person
/// has ended.
pub(super) fn pass_on(tx: &mut Tx, organisation: OrganisationId, former: UserId) -> Result<()> {
    left_behind::end_for_former_owner(tx, organisation, former)?;
    let passed = tx
        .prepare_cached(
            "update bots set owner_id = (select owner_id from organisations where id = organisation_id)
             where owner_id = ?1 and organisation_id = ?2",
        )?
        .execute((former, organisation))?;
    if passed == 0 {
        return Ok(());
    }
    let owner: String = tx
        .prepare_cached("select u.email from organisations o join users u on u.id = o.owner_id where o.id = ?1")?
        .query_row([organisation], |row| row.get(0))?;
    mail_queue::add(tx, mail::bots_inherited(&owner))
}
