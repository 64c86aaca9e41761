//! Constants and loops that all jobs share.

use std::time::Duration;

use tokio::{task::JoinSet, time::timeout};

use crate::{db::Tx, error::Result, event::Queue, state::App};

pub(super) const MINUTE: Duration = Duration::from_secs(60);
/// Time between two attempts at a write.
pub(super) const AGAIN: Duration = Duration::from_millis(200);
/// Time between two attempts at a queue.
pub(super) const AFTER_FAILURE: Duration = Duration::from_secs(5);

/// Sleeps until a row of the queue is due or the queue is woken. After an error it sleeps for five seconds.
pub(super) async fn rest(idle: Result<Duration>, app: &App, queue: Queue, sending: &mut JoinSet<()>) {
    match idle {
        Ok(wait) => _ = timeout(wait, app.wakeups.wait(queue)).await,
        Err(err) => {
            tracing::error!(?queue, err = err.log_text(), "a queue could not be processed, next try in five seconds");
            // A wake-up doesn't end this sleep, because the failed work itself may have caused it.
            tokio::time::sleep(AFTER_FAILURE).await;
        }
    }
    while sending.try_join_next().is_some() {}
}

/// Runs `work` until a slice of it changes nothing or the server stops; the rest is done after the next start.
pub(super) async fn in_slices(app: &App, work: impl Fn(&mut Tx) -> Result<usize> + Clone + Send + 'static) -> Result<()> {
    while app.write_with_retry(work.clone()).await? > 0 && !*app.stopping().borrow() {}
    Ok(())
}
