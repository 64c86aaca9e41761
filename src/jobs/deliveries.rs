//! Delivers the events of webhooks: follows the log, claims due deliveries, signs and sends them, and records the outcomes.

use std::{
    collections::HashSet,
    sync::atomic::Ordering::Relaxed,
    time::{Duration, Instant},
};

use tokio::task::JoinSet;
use url::Url;
use uuid::Uuid;

use super::queue::{AGAIN, MINUTE, rest};
use crate::{
    db::Tx,
    domain::webhooks::{
        deliveries::{self, Claim, Claimed},
        delivery_slots::Permit,
        following::{self, Comes},
        outcome::Outcome,
        replay::Test,
        retry,
        schedule::{self, Schedule},
    },
    error::{Error, Result},
    event::Queue,
    id::WebhookId,
    outgoing::Answer,
    secret,
    state::{App, delivering::Changed},
    time::Time,
};

/// Starts retaining the event log for webhooks, before the server serves anything.
pub async fn prepare(app: &App) -> Result<()> {
    let taken = app.db.write(following::start).await?;
    app.delivering.followed.store(taken, Relaxed);
    app.delivering.written.store(taken, Relaxed);
    Ok(())
}

/// Writes the cursor to the database. The log is retained from there on.
pub(super) async fn write_down(app: &App) -> Result<()> {
    let (followed, written) = (&app.delivering.followed, &app.delivering.written);
    let seq = followed.load(Relaxed);
    if written.load(Relaxed) < seq {
        app.write_in_background(move |tx| following::write_down(tx, seq)).await?;
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
        while let Err(err) = app.write_in_background(deliveries::release).await {
            tracing::error!(err = err.detail(), "the leases of earlier deliveries could not be released, next try in 200 ms");
            tokio::time::sleep(AGAIN).await;
        }
        app.delivering.changed().is_all = true;
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
            app.delivering.due.store(self.schedule.count_due(now) - webhooks.len(), Relaxed);
            if webhooks.is_empty() {
                let next = self.schedule.next_after(now);
                let next = next.map_or(MINUTE, |due| due.since(app.clock.now())).clamp(Duration::from_millis(1), MINUTE);
                return Ok(look_in.map_or(next, |look_in| look_in.min(next)));
            }
            let claimed = webhooks.clone();
            let claims = app.db.write(move |tx| deliveries::claim(tx, &claimed)).await?;
            for ((webhook, slot), claim) in webhooks.into_iter().zip(slots).zip(claims) {
                app.delivering.changed().webhooks.insert(webhook);
                match claim {
                    Claim::Taken(claimed) => {
                        self.schedule.unpark(webhook);
                        sending.spawn(async move { deliver(&slot, *claimed).await });
                    }
                    Claim::Refused => self.schedule.park(webhook, now),
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

    fn pick(&self, app: &App, now: Time) -> (Vec<WebhookId>, Vec<Slot>) {
        let picked = self.schedule.pick(now, &mut app.delivering.slots());
        picked.into_iter().map(|(webhook, permit)| (webhook, Slot { app: app.clone(), permit })).unzip()
    }

    /// Reads the webhooks that have changed since the last pass.
    fn refresh(&mut self, app: &App) -> Result<()> {
        let Changed { webhooks, is_all } = std::mem::take(&mut *app.delivering.changed());
        let read = if is_all { self.load(app) } else { self.read(app, &webhooks) };
        read.inspect_err(|_| {
            let mut changed = app.delivering.changed();
            changed.webhooks.extend(webhooks);
            changed.is_all |= is_all;
        })
    }

    fn load(&mut self, app: &App) -> Result<()> {
        self.schedule = Schedule::default();
        let mut cursor = Some(WebhookId(Uuid::nil()));
        while let Some(after) = cursor {
            let (page, rest) = app.db.read(|conn| schedule::page(conn, after))?;
            page.into_iter().for_each(|due| self.schedule.set(due.webhook, Some(due)));
            cursor = rest;
        }
        Ok(())
    }

    fn read(&mut self, app: &App, webhooks: &HashSet<WebhookId>) -> Result<()> {
        for webhook in webhooks {
            let due = app.db.read(|conn| schedule::find(conn, *webhook))?;
            self.schedule.set(*webhook, due);
        }
        Ok(())
    }
}

/// Follows the log, up to a number of slices: if others post faster than it is followed, deliveries are sent nevertheless.
async fn follow(app: &App) -> Result<()> {
    let shared = &app.delivering;
    let mut left = SLICES;
    loop {
        if left == 0 {
            app.wakeups.wake(Queue::Deliveries); // for the rest
            break;
        }
        let ahead = app.db.read(|conn| following::look(conn, shared.followed()))?;
        shared.followed.store(ahead.seq, Relaxed);
        match ahead.comes {
            Comes::Nothing => break,
            Comes::More => {}
            Comes::Work => {
                left -= 1;
                let taken = app.db.write(move |tx| following::follow(tx, ahead.seq)).await?;
                shared.followed.store(taken, Relaxed);
                shared.written.store(taken, Relaxed);
            }
        }
    }
    if following::should_write_down(shared.followed(), shared.written.load(Relaxed)) {
        write_down(app).await?;
    }
    Ok(())
}

async fn deliver(slot: &Slot, claimed: Claimed) {
    let app = &slot.app;
    let outcome = attempt(app, &claimed).await;
    app.delivering.slots().note(&slot.permit.host, outcome.is_prompt());
    app.metrics.attempt(outcome.is_success());
    if !outcome.is_success() {
        let (id, webhook, status) = (claimed.id, claimed.webhook, outcome.status);
        tracing::debug!(%id, %webhook, status, error = outcome.error, "an event could not be delivered");
    }
    let id = claimed.id;
    let record = move |tx: &mut Tx| retry::record(tx, &claimed, &outcome);
    if let Err(err) = app.write_in_background(record).await {
        tracing::error!(%id, err = err.detail(), "the outcome of a delivery could not be recorded");
    }
}

/// Sends a test event at once. 429 if no slot for tests is free, in all or for the organisation or host.
pub async fn test(app: &App, test: &Test) -> Result<Outcome> {
    let permit = app.delivering.slots().acquire_for_test(test.organisation, &test.host).ok_or(Error::TooMany(1))?;
    let slot = Slot { app: app.clone(), permit };
    Ok(attempt(&slot.app, &test.event).await)
}

/// Signs and sends an event once.
async fn attempt(app: &App, claimed: &Claimed) -> Outcome {
    let began = Instant::now();
    let answer = send(app, claimed).await;
    let latency = began.elapsed();
    match answer {
        Ok(Answer { status, retry_after, excerpt }) => {
            Outcome { status, latency, error: complaint(status), response: excerpt, retry_after }
        }
        Err(error) => Outcome { status: 0, latency, error, response: String::new(), retry_after: None },
    }
}

/// The error that an answer of this status stands for; empty for a success.
fn complaint(status: u16) -> String {
    match status {
        200..300 => String::new(),
        300..400 => format!("answered {status}: redirects are not followed"),
        _ => format!("answered {status}"),
    }
}

/// Signs and posts an event. Returns the answer, or why there is none.
async fn send(app: &App, claimed: &Claimed) -> Result<Answer, String> {
    let url = Url::parse(&claimed.url).map_err(|err| err.to_string())?;
    let (id, time) = (claimed.id.to_string(), app.clock.now().unix_seconds());
    let signature =
        secret::webhook_signature(&claimed.secrets, &id, time, &claimed.payload).map_err(|_| "it could not be signed")?;
    let headers = [
        ("content-type", "application/json".to_owned()),
        ("webhook-id", id),
        ("webhook-timestamp", time.to_string()),
        ("webhook-signature", signature),
    ];
    app.outgoing.post(&url, &headers, claimed.payload.clone()).await.map_err(|failure| failure.to_string())
}

/// A slot of a delivery in flight. Dropping it frees the slot.
struct Slot {
    app: App,
    permit: Permit,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.app.delivering.slots().release(&self.permit);
        self.app.wakeups.wake(Queue::Deliveries);
    }
}
