//! What is done later: mails and deliveries that are due, the search index, housekeeping, and the way of the log to a push
//! server outside.

pub mod deliveries;

use std::{sync::Arc, time::Duration};

use tokio::{sync::Semaphore, task::JoinSet, time::timeout};

use crate::{
    db::Tx,
    domain::{
        self,
        accounts::{self, identities, one_time_tokens, sessions},
        log::events,
        messages::{indexing, purging},
        organisations::invitations,
        outbox,
        webhooks::{self, history},
    },
    error::{Error, Result},
    event::Queue,
    jobs::deliveries::Dispatcher,
    push::external::forwarder::Forwarder,
    state::App,
    time::Time,
};

/// Mails in flight at once.
const MAILS: usize = 4;
/// Shorter than the lease, so that a mail is never in two hands.
const MAIL_WITHIN: Duration = Duration::from_secs(60);
const MINUTE: Duration = Duration::from_secs(60);
/// Between tries of a write.
const AGAIN: Duration = Duration::from_millis(200);
/// Between tries of a queue.
const AFTER_FAILURE: Duration = Duration::from_secs(5);
/// For mails and deliveries under way to arrive, once the server is to end.
const IN_FLIGHT_WITHIN: Duration = Duration::from_secs(2);
/// How long sessions, tokens, mails, webhooks and their history are kept after their end, for whoever looks
/// into what happened; and how long webhooks' events after they were made, to be delivered or sent again.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);
/// Between a post and its place in the search index.
const INDEX_AFTER: Duration = Duration::from_secs(1);
/// Rows changed in one write, so that it does not hold up others.
const SLICE: u32 = 200;

/// Runs until the server stops. `forwarded` is what [`prepare`](crate::push::external::forwarder::prepare) returned.
pub async fn run(app: App, forwarded: Option<i64>) {
    let mut stopping = app.stopping();
    let (mut sending, mut delivering) = (JoinSet::new(), JoinSet::new());
    let mut forwarder = app.centrifugo.as_ref().zip(forwarded).map(|(server, taken)| Forwarder::new(&app, server, taken));
    tokio::select! {
        () = async {
            let forward = async { if let Some(forwarder) = &mut forwarder { forwarder.run().await } };
            let mut dispatcher = Dispatcher::default();
            let deliver = dispatcher.run(&app, &mut delivering);
            tokio::join!(mails(&app, &mut sending), deliver, chores(&app), search_index(&app), housekeeping(&app), forward);
        } => {}
        _ = stopping.wait_for(|stopping| *stopping) => {}
    }
    if let Some(forwarder) = &mut forwarder {
        forwarder.record().await;
    }
    // What is cut off between its arrival and its record is sent twice.
    _ = timeout(IN_FLIGHT_WITHIN, async { tokio::join!(sending.join_all(), delivering.join_all()) }).await;
}

/// Sends due mails; sleeps until the next is due or one is queued.
async fn mails(app: &App, sending: &mut JoinSet<()>) {
    let slots = Arc::new(Semaphore::new(MAILS));
    loop {
        let idle = send_due(app, &slots, sending).await;
        rest(idle, app, Queue::Mails, sending).await;
    }
}

/// Sleeps for as long as nothing of a queue is due, or until it is woken.
async fn rest(idle: Result<Duration>, app: &App, queue: Queue, sending: &mut JoinSet<()>) {
    match idle {
        Ok(wait) => _ = timeout(wait, app.wakeups.wait(queue)).await,
        Err(err) => {
            tracing::error!(?queue, err = err.detail(), "a queue could not be worked off, next try in five seconds");
            tokio::time::sleep(AFTER_FAILURE).await; // to the end: what has failed may itself have woken it
        }
    }
    while sending.try_join_next().is_some() {}
}

/// Returns how long nothing is due.
async fn send_due(app: &App, slots: &Arc<Semaphore>, sending: &mut JoinSet<()>) -> Result<Duration> {
    while app.db.read(outbox::next_due)?.is_some_and(|due| due <= Time::now()) {
        // Claimed only when it can be sent: a lease must not run while a mail waits for its turn.
        let slot = slots.clone().acquire_owned().await.map_err(Error::internal)?;
        let site = app.site.clone();
        if let Some(claimed) = app.db.write(move |tx| outbox::claim(tx, &site)).await? {
            let app = app.clone();
            sending.spawn(async move {
                send(&app, claimed).await;
                drop(slot);
            });
        }
    }
    let next = app.db.read(outbox::next_due)?;
    Ok(next.map_or(MINUTE, |due| due.since(Time::now())).clamp(Duration::from_millis(50), MINUTE))
}

async fn send(app: &App, claimed: outbox::Claimed) {
    let outbox::Claimed { id, attempts, mail } = claimed;
    let sent = timeout(MAIL_WITHIN, app.mailer.send(id, &mail)).await.unwrap_or_else(|_| Err(Error::internal("timed out")));
    let recorded = match sent {
        Ok(()) => app.write_in_background(move |tx| outbox::sent(tx, id)).await,
        Err(err) => {
            let reason = err.detail();
            tracing::warn!(%id, attempts, reason, "a mail could not be sent");
            app.write_in_background(move |tx| outbox::failed(tx, id, attempts, &reason)).await
        }
    };
    if let Err(err) = recorded {
        tracing::error!(%id, err = err.detail(), "a mail's outcome could not be recorded");
    }
}

/// Works off what changes have left to be done, from before the start, too.
async fn chores(app: &App) {
    loop {
        match in_slices(app, domain::chores::work).await {
            // What was postponed comes up again without a change that leaves more.
            Ok(()) => _ = timeout(MINUTE, app.wakeups.wait(Queue::Chores)).await,
            Err(err) => postpone(app, err).await,
        }
    }
}

/// Puts a chore off whose slice has failed, so that it does not keep the others waiting.
async fn postpone(app: &App, failure: Error) {
    match app.write_in_background(|tx| domain::chores::postpone(tx, Time::now() + MINUTE)).await {
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

/// Takes new and edited messages into the search index, a second behind the posts so that many go in together.
async fn search_index(app: &App) {
    loop {
        if let Err(err) = in_slices(app, |tx| indexing::index(tx, SLICE)).await {
            tracing::warn!(
                err = err.detail(),
                "the search index could not be brought up to date, next try with the next post or edit"
            );
        }
        app.wakeups.wait(Queue::Search).await;
        tokio::time::sleep(INDEX_AFTER).await;
    }
}

/// Once a minute: who was seen, old rows of the event log, what the limits remember.
async fn housekeeping(app: &App) {
    loop {
        tokio::time::sleep(MINUTE).await;
        app.limits.tidy();
        if let Err(err) = tidy(app).await {
            tracing::warn!(err = err.detail(), "housekeeping failed, next try in a minute");
        }
    }
}

/// Writes what is gathered in memory, and deletes what is past its time.
pub async fn tidy(app: &App) -> Result<()> {
    let seen = app.take_seen();
    for slice in seen.chunks(SLICE as usize) {
        let slice = slice.to_vec();
        app.write_in_background(move |tx| accounts::seen(tx, &slice)).await?;
    }
    let (now, events_before) = (Time::now(), Time::now() - app.site.event_retention);
    deliveries::write_down(app).await?;
    in_slices(app, move |tx| events::prune(tx, events_before, SLICE)).await?;
    in_slices(app, move |tx| sessions::prune(tx, now - KEPT, SLICE)).await?;
    in_slices(app, move |tx| one_time_tokens::prune(tx, now - KEPT, SLICE)).await?;
    in_slices(app, move |tx| outbox::prune(tx, now - KEPT, SLICE)).await?;
    in_slices(app, move |tx| invitations::send::prune(tx, now, SLICE)).await?;
    in_slices(app, move |tx| identities::prune(tx, now, SLICE)).await?;
    in_slices(app, move |tx| domain::webhooks::deliveries::prune(tx, now - KEPT, SLICE)).await?;
    in_slices(app, move |tx| domain::webhooks::deliveries::prune_events(tx, SLICE)).await?;
    in_slices(app, move |tx| history::prune(tx, now - KEPT, SLICE)).await?;
    in_slices(app, move |tx| webhooks::prune(tx, now - KEPT, SLICE)).await?;
    let deleted_before = now - app.site.purge_after;
    // The webhooks of a channel refer to it, so the channel comes after them.
    let purge = move |tx: &mut Tx| match webhooks::purging::purge(tx, deleted_before, SLICE)? {
        0 => purging::purge(tx, deleted_before, SLICE),
        gone => Ok(gone),
    };
    in_slices(app, purge).await
}

/// Until a slice comes out empty, or the server is to end: what is left is done after the next start.
async fn in_slices(app: &App, work: impl Fn(&mut Tx) -> Result<usize> + Clone + Send + 'static) -> Result<()> {
    while app.write_in_background(work.clone()).await? > 0 && !*app.stopping().borrow() {}
    Ok(())
}
