//! What somebody leaves behind that lets others in, or goes on working for them. A bot answers to its owner, so what it has made
//! ends with the owner's access, as if the owner had made it.
//!
//! Rights need no such end: whatever depends on them asks for those that a person, or the owner of a bot, has now
//! ([`access`](crate::domain::access)). What is ended here would come back with somebody else's rights.

use crate::{
    db::Tx,
    domain::{accounts::sessions, log::events},
    error::Result,
    event::Kind,
    id::{OrganisationId, UserId},
};

/// Ends the ways into organisations that the user has opened: deletes their open invitations, which are few because of their
/// daily quota, and their join links.
pub(in crate::domain) fn end_ways_in(tx: &Tx, user: UserId) -> Result<()> {
    tx.prepare_cached("delete from invitations where invited_by = ?1 and accepted_at is null and expires_at > ?2")?
        .execute((user, tx.now()))?;
    tx.prepare_cached("delete from join_links where created_by = ?1")?.execute([user])?;
    Ok(())
}

/// Gives back the place that a join link keeps for this account: nobody will join by it.
pub(in crate::domain) fn give_back_kept_place(tx: &Tx, user: UserId) -> Result<()> {
    tx.prepare_cached("update join_links set used = used - 1 where id = (select link_id from join_places where user_id = ?1)")?
        .execute([user])?;
    tx.prepare_cached("delete from join_places where user_id = ?1")?.execute([user])?;
    Ok(())
}

/// Ends what the earlier users of an account left at work, also by its bots: ways in, the addresses of programs, and reminders,
/// which would tell the owner what an earlier user wanted. A place at a join link stays taken, since the account stays. Notes
/// `Reclaimed` in the log, by which webhooks pause.
pub(super) fn end_for_reclaimed(tx: &mut Tx, user: UserId) -> Result<()> {
    let bots = sessions::bots_of(tx, user, None)?;
    for maker in [user].into_iter().chain(bots) {
        end_ways_in(tx, maker)?;
        events::note(tx, Kind::Reclaimed, Some(maker), ())?;
    }
    tx.prepare_cached(
        "update bots set url = '', url_by = null, target = '' where url_by = ?1", // also where they may come back
    )?
    .execute([user])?;
    tx.prepare_cached("update commands set url = '', target = '' where owner_id = ?1")?.execute([user])?;
    tx.prepare_cached("delete from reminders where user_id = ?1")?.execute([user])?;
    Ok(())
}

/// Ends what the bots of somebody who has lost access to the organisation have made there for them: ways in, and the tokens,
/// which that person knows. Notes `Departed` in the log for each bot, by which its webhooks pass to the owners of their channels
/// and pause. At most a hundred bots.
pub(in crate::domain) fn end_for_former_owner(tx: &mut Tx, organisation: OrganisationId, former: UserId) -> Result<()> {
    sessions::end_tokens_of_bots(tx, former, Some(organisation))?;
    for bot in sessions::bots_of(tx, former, Some(organisation))? {
        end_ways_in(tx, bot)?;
        events::note(tx, Kind::Departed, Some(bot), organisation)?;
    }
    Ok(())
}
