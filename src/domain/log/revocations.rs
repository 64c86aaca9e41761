//! Rights that end: acted on in memory by this server's own sockets, and a row of the log for an external Centrifugo,
//! which is told in the same order as of everything else.
//!
//! The row is written whether or not there is one: commands beside the server do not know, and it costs a few
//! microseconds in a transaction that is under way.

use crate::{
    db::Tx,
    domain::log::events,
    error::Result,
    event::Effect,
    id::{SessionId, UserId},
};

/// Sessions of one user have ended: their sockets close.
pub fn sessions(tx: &mut Tx, user: UserId, ended: Vec<SessionId>) -> Result<()> {
    if ended.is_empty() {
        return Ok(());
    }
    events::revoke(tx, &[user])?;
    ended.into_iter().for_each(|session| tx.then(Effect::SessionEnded { user, session }));
    Ok(())
}

/// Some streams may no longer be these users' to hear.
pub fn rights(tx: &mut Tx, users: Vec<UserId>) -> Result<()> {
    events::revoke(tx, &users)?;
    tx.then(Effect::RightsChanged(users));
    Ok(())
}
