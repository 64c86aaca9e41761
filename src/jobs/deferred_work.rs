//! Does deferred work: the rest of large changes, in slices, by the area that deferred it.

use tokio::time::timeout;

use super::queue_loops::{AFTER_FAILURE, MINUTE, in_slices};
use crate::{
    db::Tx,
    domain::{
        deferred_work::{self, DeferredWork},
        messages::deleting,
        organisations::{leaving, member_events, roles},
    },
    error::{Error, Result},
    event::Queue,
    state::App,
};

/// Does deferred work as it comes up, including that from before the start.
pub(super) async fn run(app: &App) {
    loop {
        match in_slices(app, work_slice).await {
            // Postponed work is due again without a wake-up.
            Ok(()) => _ = timeout(MINUTE, app.wakeups.wait(Queue::DeferredWork)).await,
            Err(err) => postpone(app, err).await,
        }
    }
}

/// Does a slice of the work that has waited longest, and moves the work to the end of the queue. Returns the number of
/// slices done: 0 if none is due.
pub fn work_slice(tx: &mut Tx) -> Result<usize> {
    let Some((work, cursor)) = deferred_work::first(tx)? else { return Ok(0) };
    let rest = match work {
        DeferredWork::Departure { organisation, user } => leaving::leave_slice(tx, organisation, user, &cursor)?,
        DeferredWork::Profile { user } => member_events::tell_user_update_slice(tx, user, &cursor)?,
        DeferredWork::Role { role } => roles::reassign_holders_slice(tx, role)?,
        DeferredWork::Message { n } => deleting::erase_message_slice(tx, n, &cursor)?,
    };
    deferred_work::defer(tx, work, rest)?;
    Ok(1)
}

/// Postpones the work whose slice has failed, so that it doesn't hold up the rest.
async fn postpone(app: &App, failure: Error) {
    match app.write_with_retry(|tx| deferred_work::postpone_failed(tx, MINUTE)).await {
        Ok(work) => {
            let err = failure.log_text();
            tracing::error!(work, err, "deferred work failed, next try in a minute");
        }
        Err(err) => {
            tracing::error!(err = err.log_text(), "failed deferred work could not be postponed, next try in five seconds");
            tokio::time::sleep(AFTER_FAILURE).await;
        }
    }
}
