//! What an account leaves at work for whoever used it before the owner of its mailbox did ([`super::proof`]):
//! webhooks, which go on without a session, and invitations.
//!
//! Somebody else may have chosen where the webhooks lead, and knows their secrets and feed addresses. So they pause, until
//! their owners have looked and make them active. There may be thousands: they pause in slices ([`chores`]), and until the
//! last has, none of them delivers or takes feeds ([`crate::domain::webhooks::owning`]).

use crate::{
    db::Tx,
    domain::{
        chores::{self, Chore, Cursor},
        webhooks::{Status, owning, suspend::stop},
    },
    error::Result,
    id::UserId,
    site::Site,
    time::Time,
};

/// Webhooks that a slice looks at.
const LOOKED_AT: usize = 200;
/// Of these that it pauses, each with a row of the event log and a mail.
const PAUSED: usize = 25;

const REASON: &str = "its owner, or whoever set its address, has proved their mailbox for the first time, and somebody else may \
    have used their account until then; see whether the address is right, and give it a new secret and a new feed address";

/// Ends what goes on without a session. The open invitations are few, as their number in a day is bounded.
pub(in crate::domain) fn reclaim(tx: &mut Tx, site: &Site, user: UserId) -> Result<()> {
    tx.prepare_cached("delete from invitations where invited_by = ?1 and accepted_at is null and expires_at > ?2")?
        .execute((user, Time::now()))?;
    let rest = slice(tx, site, user, &[])?;
    chores::leave(tx, Chore::Reclaim { user }, rest)
}

/// Pauses some of the webhooks that the user answers for, and tells their owners.
pub(in crate::domain) fn slice(tx: &mut Tx, site: &Site, user: UserId, after: &[u8]) -> Result<Option<Cursor>> {
    let found = owning::some_of(tx, user, after, LOOKED_AT)?;
    let (looked_at, mut paused, mut last) = (found.len(), 0, after.to_vec());
    for (webhook, place) in found {
        paused += usize::from(stop(tx, site, webhook, Status::Paused, REASON)?);
        last = place;
        if paused == PAUSED {
            return Ok(Some(last));
        }
    }
    if looked_at == LOOKED_AT {
        return Ok(Some(last));
    }
    if !after.is_empty() {
        // Those that the user has made since send what they held meanwhile, once this chore is not left any more.
        chores::leave(tx, Chore::Webhooks { user }, Some(Cursor::new()))?;
    }
    Ok(None)
}

/// Whether what the account left at work is not all paused yet.
pub(in crate::domain) fn is_under_way(conn: &rusqlite::Connection, user: UserId) -> Result<bool> {
    chores::is_left(conn, Chore::Reclaim { user })
}
