//! Does the chores: work that a large change leaves for later, done in slices by the area that left it.

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

/// Does chores as they come up, including those from before the start.
pub(super) async fn run(app: &App) {
    loop {
        match in_slices(app, work).await {
            // A postponed chore is due again without a wake-up.
            Ok(()) => _ = timeout(MINUTE, app.wakeups.wait(Queue::Chores)).await,
            Err(err) => postpone(app, err).await,
        }
    }
}

/// Does a slice of the chore that has waited longest, and moves the chore to the end of the queue. Returns the number of
/// slices done: 0 if no chore is due.
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

/// Postpones the chore whose slice has failed, so that it doesn't hold up the others.
async fn postpone(app: &App, failure: Error) {
    match app.write_in_background(|tx| chores::postpone(tx, MINUTE)).await {
        Ok(chore) => {
            let err = failure.detail();
            tracing::error!(chore, err, "a chore failed, next try in a minute");
        }
        Err(err) => {
            tracing::error!(err = err.detail(), "a failed chore could not be postponed, next try in five seconds");
            tokio::time::sleep(AFTER_FAILURE).await;
        }
    }
}
