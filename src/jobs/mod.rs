//! Background jobs: mails, webhook deliveries, notifications, deferred work, the search index, timers, files that have ended, housekeeping,
//! backups, the secret key, and forwarding the event log to an external Centrifugo.

mod backups;
pub mod deferred_work;
pub mod deliveries;
mod files;
pub mod forwarding;
pub mod housekeeping;
mod key_changes;
mod mails;
pub mod notifications;
mod queue_loops;
mod search;
mod timers;

use std::time::Duration;

use tokio::{task::JoinSet, time::timeout};

use self::{deliveries::Dispatcher, forwarding::Forwarder, notifications::Follower};
use crate::{event::Queue, state::App};

/// How long mails and deliveries in flight may take once the server stops.
const IN_FLIGHT_WITHIN: Duration = Duration::from_secs(2);

/// Runs all jobs until the server stops. `forwarded` is what [`forwarding::start_or_stop_log_retention`] returned, and `notified`
/// what [`notifications::start_retaining_log`] did.
pub async fn run(app: App, forwarded: Option<i64>, notified: i64) {
    let mut stopping = app.stopping();
    let (mut sending, mut delivering) = (JoinSet::new(), JoinSet::new());
    let mut forwarder = app.centrifugo.as_ref().zip(forwarded).map(|(server, taken)| Forwarder::new(&app, server, taken));
    let mut follower = Follower::new(&app, notified);
    tokio::select! {
        () = async {
            let forward = async { if let Some(forwarder) = &mut forwarder { forwarder.run().await } };
            let mut dispatcher = Dispatcher::default();
            let deliver = dispatcher.run(&app, &mut delivering);
            let wake = wake_when_advanced(&app);
            tokio::join!(
                mails::run(&app, &mut sending),
                deliver,
                deferred_work::run(&app),
                search::run(&app),
                timers::run(&app),
                files::run(&app),
                follower.run(),
                housekeeping::run(&app),
                backups::run(&app),
                key_changes::run(&app),
                forward,
                wake,
            );
        } => {}
        _ = stopping.wait_for(|stopping| *stopping) => {}
    }
    if let Some(forwarder) = &mut forwarder {
        forwarder.save_cursor().await;
    }
    follower.save_cursor().await;
    // A mail or delivery that is cancelled after it has arrived, but before its outcome is recorded, is sent a second time.
    _ = timeout(IN_FLIGHT_WITHIN, async { tokio::join!(sending.join_all(), delivering.join_all()) }).await;
}

/// Has all queues looked at when the clock is advanced: what was due later may be due now.
async fn wake_when_advanced(app: &App) {
    let mut advances = app.clock.watch_advances();
    while advances.changed().await.is_ok() {
        Queue::ALL.into_iter().for_each(|queue| app.wakeups.wake(queue));
    }
}
