//! Works off what changes have left to be done, each kind by the area that left it.

use tokio::time::timeout;

use super::queue::{AFTER_FAILURE, MINUTE, in_slices};
use crate::{
    db::Tx,
    domain::{
        chores::{self, Chore},
        messages::deleting,
        organisations::{leaving, member_updates, roles},
    },
    error::{Error, Result},
    event::Queue,
    state::App,
};

/// Works off what changes have left to be done, from before the start, too.
pub(super) async fn run(app: &App) {
    loop {
        match in_slices(app, work).await {
            // What was postponed comes up again without a change that leaves more.
            Ok(()) => _ = timeout(MINUTE, app.wakeups.wait(Queue::Chores)).await,
            Err(err) => postpone(app, err).await,
        }
    }
}

/// Does a slice of the chore that has waited longest, which then goes behind the others. Returns how many slices were
/// done: 0 when nothing is left to do now.
pub fn work(tx: &mut Tx) -> Result<usize> {
    let Some((chore, cursor)) = chores::first(tx)? else { return Ok(0) };
    let rest = match chore {
        Chore::Departure { organisation, user } => leaving::slice(tx, organisation, user, &cursor)?,
        Chore::Profile { user } => member_updates::slice(tx, user, &cursor)?,
        Chore::Role { role } => roles::slice(tx, role)?,
        Chore::Message { n } => deleting::slice(tx, n, &cursor)?,
    };
    chores::leave(tx, chore, rest)?;
    Ok(1)
}

/// Puts a chore off whose slice has failed, so that it does not keep the others waiting.
async fn postpone(app: &App, failure: Error) {
    match app.write_in_background(|tx| chores::postpone(tx, MINUTE)).await {
        Ok(chore) => {
            let err = failure.detail();
            tracing::error!(chore, err, "work that a change has left could not be done, next try in a minute");
        }
        Err(err) => {
            tracing::error!(err = err.detail(), "work that a change has left could not be put off, next try in five seconds");
            tokio::time::sleep(AFTER_FAILURE).await;
        }
    }
}
