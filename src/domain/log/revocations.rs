//! Revocations of rights. An effect in memory makes this server's own sockets act on it, and a row of the log tells an
//! external Centrifugo, in order with all other events.
//!
//! The row is written even without a Centrifugo: commands that run beside the server don't know whether there is one, and a
//! row costs a few microseconds in a transaction that is under way.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    db::Tx,
    domain::log::events,
    error::Result,
    event::{Effect, Kind},
    id::{SessionId, UserId},
};

/// Reports that sessions of one user have ended; their sockets close.
pub fn report_ended_sessions(tx: &mut Tx, user: UserId, ended: Vec<SessionId>) -> Result<()> {
    if ended.is_empty() {
        return Ok(());
    }
    // Tell first: the revocation disconnects all of the user's clients of an external Centrifugo.
    events::emit_to_account(tx, user, Kind::Session, SessionUpdate { action: "ended", session_ids: &ended })?;
    events::revoke(tx, &[user])?;
    ended.into_iter().for_each(|session| tx.then(Effect::SessionEnded { user, session }));
    Ok(())
}

/// Sessions of an account after a change.
#[derive(Serialize, JsonSchema)]
pub struct SessionUpdate<'a> {
    /// What happened to the sessions.
    #[schemars(extend("enum" = ["ended"]))]
    pub action: &'a str,
    /// The sessions.
    pub session_ids: &'a [SessionId],
}

/// Reports that these users may have lost the right to some streams; their subscriptions are checked again.
pub fn rights(tx: &mut Tx, users: Vec<UserId>) -> Result<()> {
    events::revoke(tx, &users)?;
    tx.then(Effect::RightsChanged(users));
    Ok(())
}

/// Reports that a user has gained the right to some streams: connections that the server subscribes hear them.
pub fn report_rights_gained(tx: &mut Tx, user: UserId) {
    tx.then(Effect::RightsChanged(vec![user]));
}
