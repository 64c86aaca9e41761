//! Writes what is collected in memory, and deletes expired rows.

use std::time::Duration;

use tokio::time::timeout;

use super::{
    deliveries,
    queue_loops::{MINUTE, in_slices},
};
use crate::{
    domain::{
        accounts::{self, identities, login_codes, one_time_tokens, sessions},
        channel_purging,
        commands::calling,
        log::events,
        mail_queue,
        organisations::{invitations, join_links},
        unfinished_accounts,
        webhooks::{self, history},
    },
    error::Result,
    push::last_active::Noted,
    state::App,
};

/// Most rows that one write changes, so that it doesn't hold up other writes.
const SLICE: u32 = 200;
/// Most unfinished accounts that one write looks at: each that ends costs some twenty statements.
const ENDING: u32 = 20;
/// How long sessions, tokens, mails, webhooks and their history are kept after their end, so that an incident can be
/// examined; and how long webhooks' events are kept after they were made, to be delivered or sent again.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// Runs [`tidy`] once per minute and when the clock is advanced, and drops the expired counters of the limits.
pub(super) async fn run(app: &App) {
    let mut advances = app.clock.watch_advances();
    loop {
        _ = timeout(MINUTE, advances.changed()).await;
        app.limits.tidy();
        app.quotas.tidy();
        if let Err(err) = tidy(app).await {
            tracing::warn!(err = err.log_text(), "housekeeping failed, next try in a minute");
        }
    }
}

/// Writes users' times of activity and the webhooks' cursor, and deletes expired rows.
pub async fn tidy(app: &App) -> Result<()> {
    let Noted { users, sessions: used } = app.push.activity.take();
    for slice in Vec::from_iter(users).chunks(SLICE as usize) {
        let slice = slice.to_vec();
        app.write_with_retry(move |tx| accounts::seen(tx, &slice)).await?;
    }
    for slice in Vec::from_iter(used).chunks(SLICE as usize) {
        let slice = slice.to_vec();
        app.write_with_retry(move |tx| sessions::seen(tx, &slice)).await?;
    }
    let now = app.clock.now();
    let events_before = now - app.site.event_retention;
    deliveries::save_cursor(app).await?;
    in_slices(app, move |tx| events::prune(tx, events_before, SLICE)).await?;
    in_slices(app, move |tx| sessions::prune(tx, now - KEPT, SLICE)).await?;
    in_slices(app, move |tx| one_time_tokens::prune(tx, now - KEPT, SLICE)).await?;
    in_slices(app, move |tx| mail_queue::prune(tx, now - KEPT, SLICE)).await?;
    in_slices(app, move |tx| invitations::send::prune_daily_counts(tx, now, SLICE)).await?;
    in_slices(app, move |tx| join_links::prune(tx, now - KEPT, SLICE)).await?;
    in_slices(app, move |tx| calling::prune(tx, now, SLICE)).await?;
    in_slices(app, move |tx| login_codes::prune(tx, now, SLICE)).await?;
    in_slices(app, move |tx| identities::prune_used_tokens(tx, now, SLICE)).await?;
    let noting = app.clone();
    in_slices(app, move |tx| unfinished_accounts::end_due(tx, ENDING, |user| noting.push.activity.noted(user))).await?;
    in_slices(app, move |tx| webhooks::delivery::queue::prune(tx, now - KEPT, SLICE)).await?;
    in_slices(app, move |tx| webhooks::delivery::queue::prune_unreferenced_events(tx, SLICE)).await?;
    in_slices(app, move |tx| history::prune(tx, now - KEPT, SLICE)).await?;
    in_slices(app, move |tx| webhooks::purge_deleted(tx, now - KEPT, SLICE)).await?;
    let deleted_before = now - app.site.purge_after;
    in_slices(app, move |tx| channel_purging::purge(tx, deleted_before, SLICE)).await
}
