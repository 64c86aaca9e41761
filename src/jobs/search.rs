//! Brings the search index up to date.

use std::time::Duration;

use super::queue_loops::in_slices;
use crate::{domain::messages::indexing, error::Result, event::Queue, state::App};

/// Time between a post and its entry in the search index.
const INDEX_AFTER: Duration = Duration::from_secs(1);

/// Indexes new and edited messages. It runs a second after the posts, so that it indexes many of them together.
pub(super) async fn run(app: &App) {
    loop {
        if let Err(err) = index(app).await {
            tracing::warn!(
                err = err.log_text(),
                "the search index could not be brought up to date, next try with the next post or edit"
            );
        }
        app.wakeups.wait(Queue::Search).await;
        tokio::time::sleep(INDEX_AFTER).await;
    }
}

/// Indexes what there is by now. Messages that are posted meanwhile wait for the next time: one by one they would cost several
/// times as much.
async fn index(app: &App) -> Result<()> {
    let last = app.db.read(|conn| indexing::newest_message_number(conn))?;
    in_slices(app, move |tx| indexing::run_step(tx, last)).await
}
