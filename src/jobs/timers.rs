//! Does what users have chosen a time for, when it comes.

use std::time::Duration;

use tokio::task::JoinSet;

use super::queue_loops::{MINUTE, in_slices, rest};
use crate::{
    domain::{accounts::profiles, reminders},
    error::Result,
    event::Queue,
    state::App,
};

/// Most rows that one write changes, each of which is an event or more.
const SLICE: u32 = 50;

/// Does what is due, and sleeps until more is.
pub(super) async fn run(app: &App) {
    loop {
        let idle = do_due(app).await;
        rest(idle, app, Queue::Timers, &mut JoinSet::new()).await;
    }
}

/// Returns the time until more is due.
async fn do_due(app: &App) -> Result<Duration> {
    let ended = in_slices(app, |tx| profiles::end_due_statuses(tx, SLICE)).await;
    in_slices(app, |tx| reminders::tell_due(tx, SLICE)).await.and(ended)?;
    let (ends, due) = app.db.read(|conn| Ok((profiles::next_status_end(conn)?, reminders::next_due(conn)?)))?;
    let next = ends.into_iter().chain(due).min();
    Ok(next.map_or(MINUTE, |due| due.since(app.clock.now())).min(MINUTE))
}
