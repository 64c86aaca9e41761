//! Delivers the events of webhooks: follows the log, claims due deliveries, signs and sends them, and records the outcomes.

use std::{
    collections::HashSet,
    sync::atomic::Ordering::Relaxed,
    time::{Duration, Instant},
};

use tokio::task::JoinSet;
use uuid::Uuid;

use super::queue_loops::{AGAIN, MINUTE, rest};
use crate::{
    db::Tx,
    domain::{
        log::cursors::{self, Next},
        webhooks::delivery::{
            attempt_results, following,
            queue::{self, Claim, Claimed},
            schedule::{self, Schedule},
        },
    },
    error::Result,
    event::Queue,
    id::WebhookId,
    state::{
        App,
        delivery::{
            Changed,
            webhook_sender::{self, Slot},
        },
    },
    time::Time,
};

/// Starts retaining the event log for webhooks, before the server serves anything.
pub async fn start_retaining_log(app: &App) -> Result<()> {
    let taken = app.db.write(following::start).await?;
    app.delivery.followed.store(taken, Relaxed);
    app.delivery.written.store(taken, Relaxed);
    Ok(())
}

/// Writes the cursor to the database. The log is retained from there on.
pub(super) async fn save_cursor(app: &App) -> Result<()> {
    let (followed, written) = (&app.delivery.followed, &app.delivery.written);
    let seq = followed.load(Relaxed);
    if written.load(Relaxed) < seq {
        app.write_with_retry(move |tx| following::save_cursor(tx, seq)).await?;
        written.fetch_max(seq, Relaxed);
    }
    Ok(())
}

/// Slices of the log that are followed before due deliveries are claimed.
const SLICES: usize = 8;
/// Time between two looks at the log, so that posts that follow each other share one. Most concern no webhook.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The task that follows the log for webhooks and picks the next deliveries.
#[derive(Default)]
pub(super) struct Dispatcher {
    schedule: Schedule,
    looked_at: Option<Instant>,
}

impl Dispatcher {
    /// Sends due deliveries. Sleeps until the next one is due, the log has a further row, or a slot becomes free.
    pub async fn run(&mut self, app: &App, sending: &mut JoinSet<()>) {
        while let Err(err) = app.write_with_retry(queue::release_all_leases).await {
            tracing::error!(err = err.log_text(), "the leases of earlier deliveries could not be released, next try in 200 ms");
            tokio::time::sleep(AGAIN).await;
        }
        match app.db.read(|conn| schedule::proven_targets(conn)) {
            Ok(targets) => targets.iter().for_each(|target| app.delivery.slots().note_proven(target, true)),
            Err(err) => tracing::warn!(err = err.log_text(), "hosts must prove anew that they answer promptly"),
        }
        app.delivery.changed().is_all = true;
        loop {
            let idle = self.send_due(app, sending).await;
            rest(idle, app, Queue::Deliveries, sending).await;
        }
    }

    /// Sends due deliveries for which there are slots. Returns the time until the next one is due.
    async fn send_due(&mut self, app: &App, sending: &mut JoinSet<()>) -> Result<Duration> {
        loop {
            let look_in = self.follow(app).await?;
            self.refresh(app)?;
            let now = app.clock.now();
            // Slots are taken before the claim: a claimed delivery without a slot would wait until its lease ends.
            let (webhooks, slots) = self.pick(app, now);
            app.delivery.due.store(self.schedule.count_due_webhooks(now) - webhooks.len(), Relaxed);
            if webhooks.is_empty() {
                let next = self.schedule.next_due_after(now);
                let next = next.map_or(MINUTE, |due| due.since(app.clock.now())).clamp(Duration::from_millis(1), MINUTE);
                return Ok(look_in.map_or(next, |look_in| look_in.min(next)));
            }
            let claimed = webhooks.clone();
            let claims = app.db.write(move |tx| queue::claim(tx, &claimed)).await?;
            for ((webhook, slot), claim) in webhooks.into_iter().zip(slots).zip(claims) {
                app.delivery.changed().webhooks.insert(webhook);
                match claim {
                    Claim::Taken(claimed) => {
                        self.schedule.end_backoff(webhook);
                        sending.spawn(async move { deliver(&slot, *claimed).await });
                    }
                    Claim::Refused => self.schedule.back_off(webhook, now),
                    Claim::Nothing => {}
                }
            }
            tokio::task::yield_now().await; // claimed deliveries are sent before the next pass, which may take long
        }
    }

    /// Follows the log, unless it did so a moment ago; then returns when to do it again.
    async fn follow(&mut self, app: &App) -> Result<Option<Duration>> {
        let left = self.looked_at.and_then(|at| LOOK_EVERY.checked_sub(at.elapsed()));
        if left.is_none() {
            follow(app).await?;
            self.looked_at = Some(Instant::now());
        }
        Ok(left)
    }

    fn pick(&mut self, app: &App, now: Time) -> (Vec<WebhookId>, Vec<Slot>) {
        let picked = self.schedule.pick(now, &mut app.delivery.slots());
        picked.into_iter().map(|(webhook, permit)| (webhook, Slot { app: app.clone(), permit })).unzip()
    }

    /// Reads the webhooks that have changed since the last pass.
    fn refresh(&mut self, app: &App) -> Result<()> {
        let Changed { webhooks, is_all } = std::mem::take(&mut *app.delivery.changed());
        let read = if is_all { self.load(app) } else { self.read(app, &webhooks) };
        read.inspect_err(|_| {
            let mut changed = app.delivery.changed();
            changed.webhooks.extend(webhooks);
            changed.is_all |= is_all;
        })
    }

    fn load(&mut self, app: &App) -> Result<()> {
        self.schedule = Schedule::default();
        let mut cursor = Some(WebhookId(Uuid::nil()));
        while let Some(after) = cursor {
            let (page, rest) = app.db.read(|conn| schedule::webhooks_page(conn, after))?;
            page.into_iter().for_each(|due| self.schedule.set(due.webhook, Some(due)));
            cursor = rest;
        }
        Ok(())
    }

    fn read(&mut self, app: &App, webhooks: &HashSet<WebhookId>) -> Result<()> {
        for webhook in webhooks {
            let due = app.db.read(|conn| schedule::read_due_of(conn, *webhook))?;
            self.schedule.set(*webhook, due);
        }
        Ok(())
    }
}

/// Follows the log, up to a number of slices: if others post faster than it is followed, deliveries are sent nevertheless.
async fn follow(app: &App) -> Result<()> {
    let shared = &app.delivery;
    let mut left = SLICES;
    loop {
        if !app.db.is_writable() {
            break; // one post may queue for many webhooks: the last of the disk is for what frees some
        }
        if left == 0 {
            app.wakeups.wake(Queue::Deliveries); // for the rest
            break;
        }
        let ahead = app.db.read(|conn| following::skip_irrelevant_rows(conn, shared.followed_seq()))?;
        shared.followed.store(ahead.seq, Relaxed);
        match ahead.next {
            Next::Nothing => break,
            Next::More => {}
            Next::Work => {
                left -= 1;
                let taken = app.db.write(move |tx| following::queue_from_log(tx, ahead.seq)).await?;
                shared.followed.store(taken, Relaxed);
                shared.written.store(taken, Relaxed);
            }
        }
    }
    if cursors::should_save(shared.followed_seq(), shared.written.load(Relaxed)) {
        save_cursor(app).await?;
    }
    Ok(())
}

/// Deliveries of a webhook that follow each other in one slot, at most: others of the same host may become due meanwhile.
const IN_A_ROW: usize = 100;

/// Delivers an event, and then the webhook's next ones, as long as the target answers promptly and no other webhook waits for a
/// slot. Each is then claimed in the commit that records the one before it.
async fn deliver(slot: &Slot, first: Claimed) {
    let mut next = Some(first);
    for left in (0..IN_A_ROW).rev() {
        let Some(claimed) = next.take() else { return };
        next = deliver_one(slot, claimed, left > 0).await;
    }
}

/// Delivers an event and records the outcome. Returns the webhook's next one if it goes on.
async fn deliver_one(slot: &Slot, claimed: Claimed, may_go_on: bool) -> Option<Claimed> {
    let app = &slot.app;
    let outcome = webhook_sender::attempt(app, &claimed).await;
    let is_prompt = outcome.is_prompt();
    app.delivery.slots().note_proven(&slot.permit.target, is_prompt);
    app.metrics.count_delivery_attempt(outcome.is_success());
    let (id, webhook, status) = (claimed.id, claimed.webhook, outcome.status);
    if !outcome.is_success() {
        tracing::debug!(%id, %webhook, status, error = outcome.error, "an event could not be delivered");
    }
    let goes_on = may_go_on && is_prompt && app.delivery.due.load(Relaxed) == 0 && !*app.stopping().borrow();
    let record = move |tx: &mut Tx| {
        attempt_results::record_attempt(tx, &claimed, &outcome)?;
        if goes_on { queue::claim_next(tx, webhook) } else { Ok(None) }
    };
    app.write_with_retry(record).await.unwrap_or_else(|err| {
        tracing::error!(%id, err = err.log_text(), "the outcome of a delivery could not be recorded");
        None
    })
}
