//! Delivers the events of webhooks: follows the log, claims what is due, signs it, sends it, and records what became of it.

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

/// Has the log kept for webhooks, before anything is served.
pub async fn prepare(app: &App) -> Result<()> {
    let taken = app.db.write(following::start).await?;
    app.delivering.followed.store(taken, Relaxed);
    app.delivering.written.store(taken, Relaxed);
    Ok(())
}

/// Writes down how far the log was followed: it is kept from there on.
pub(super) async fn write_down(app: &App) -> Result<()> {
    let (followed, written) = (&app.delivering.followed, &app.delivering.written);
    let seq = followed.load(Relaxed);
    if written.swap(seq, Relaxed) < seq {
        app.write_in_background(move |tx| following::write_down(tx, seq)).await?;
    }
    Ok(())
}

/// The one task that follows the log for webhooks and decides what is sent next.
#[derive(Default)]
pub(super) struct Dispatcher {
    schedule: Schedule,
}

impl Dispatcher {
    /// Sends due deliveries; sleeps until the next is due, the log has one more, or a slot is free again.
    pub async fn run(&mut self, app: &App, sending: &mut JoinSet<()>) {
        while let Err(err) = app.write_in_background(deliveries::release).await {
            tracing::error!(err = err.detail(), "deliveries that were under way could not be taken up");
            tokio::time::sleep(AGAIN).await;
        }
        app.delivering.changed().is_all = true;
        loop {
            let idle = self.send_due(app, sending).await;
            rest(idle, app, Queue::Deliveries, sending).await;
        }
    }

    /// Returns how long nothing is due for which there is a slot.
    async fn send_due(&mut self, app: &App, sending: &mut JoinSet<()>) -> Result<Duration> {
        loop {
            follow(app).await?;
            self.refresh(app)?;
            let now = app.clock.now();
            // The slots first: what is claimed and finds none would wait for the end of its lease.
            let (webhooks, slots) = self.pick(app, now);
            app.delivering.due.store(self.schedule.count_due(now) - webhooks.len(), Relaxed);
            if webhooks.is_empty() {
                let next = self.schedule.next_after(now);
                return Ok(next.map_or(MINUTE, |due| due.since(app.clock.now())).clamp(Duration::from_millis(1), MINUTE));
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
            tokio::task::yield_now().await; // what was claimed leaves before the next look, which may be a long one
        }
    }

    fn pick(&self, app: &App, now: Time) -> (Vec<WebhookId>, Vec<Slot>) {
        let picked = self.schedule.pick(now, &mut app.delivering.slots());
        picked.into_iter().map(|(webhook, permit)| (webhook, Slot { app: app.clone(), permit })).unzip()
    }

    /// Reads what has changed since the last time.
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
        let mut after = Some(WebhookId(Uuid::nil()));
        while let Some(place) = after {
            let (page, rest) = app.db.read(|conn| schedule::page(conn, place))?;
            page.into_iter().for_each(|due| self.schedule.set(due.webhook, Some(due)));
            after = rest;
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

/// Takes in what the log has more.
async fn follow(app: &App) -> Result<()> {
    let shared = &app.delivering;
    loop {
        let ahead = app.db.read(|conn| following::look(conn, shared.followed()))?;
        shared.followed.store(ahead.seq, Relaxed);
        match ahead.comes {
            Comes::Nothing => break,
            Comes::More => {}
            Comes::Work => {
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
        tracing::error!(%id, err = err.detail(), "what became of a delivery could not be recorded");
    }
}

/// A test, at once. 429 when there is no slot: four requests are under way to its host, or many in all.
pub async fn test(app: &App, test: &Test) -> Result<Outcome> {
    let permit = app.delivering.slots().acquire_for_test(test.organisation, &test.host).ok_or(Error::TooMany(1))?;
    let slot = Slot { app: app.clone(), permit };
    Ok(attempt(&slot.app, &test.event).await)
}
/// Signs and sends it once.
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

/// What is wrong with an answer of this status; nothing with a success.
fn complaint(status: u16) -> String {
    match status {
        200..300 => String::new(),
        300..400 => format!("answered {status}: redirects are not followed"),
        _ => format!("answered {status}"),
    }
}

/// The answer, or in words why there is none.
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

/// A slot among what is being sent, given back when it is dropped.
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
