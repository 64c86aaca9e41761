//! What the work on all queues shares.

use std::time::Duration;

use tokio::{task::JoinSet, time::timeout};

use crate::{db::Tx, error::Result, event::Queue, state::App};

pub(super) const MINUTE: Duration = Duration::from_secs(60);
/// Between tries of a write.
pub(super) const AGAIN: Duration = Duration::from_millis(200);
/// Between tries of a queue.
pub(super) const AFTER_FAILURE: Duration = Duration::from_secs(5);
/// Rows changed in one write, so that it does not hold up others.
pub(super) const SLICE: u32 = 200;

/// Sleeps for as long as nothing of a queue is due, or until it is woken.
pub(super) async fn rest(idle: Result<Duration>, app: &App, queue: Queue, sending: &mut JoinSet<()>) {
    match idle {
        Ok(wait) => _ = timeout(wait, app.wakeups.wait(queue)).await,
        Err(err) => {
            tracing::error!(?queue, err = err.detail(), "a queue could not be worked off, next try in five seconds");
            tokio::time::sleep(AFTER_FAILURE).await; // to the end: what has failed may itself have woken it
        }
    }
    while sending.try_join_next().is_some() {}
}

/// Until a slice comes out empty, or the server is to end: what is left is done after the next start.
pub(super) async fn in_slices(app: &App, work: impl Fn(&mut Tx) -> Result<usize> + Clone + Send + 'static) -> Result<()> {
    while app.write_in_background(work.clone()).await? > 0 && !*app.stopping().borrow() {}
    Ok(())
}
