//! Delivers the events of webhooks: claims what is due, signs it, sends it, and records what became of it.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{task::JoinSet, time::timeout};
use url::Url;

use super::{AGAIN, MINUTE, write};
use crate::{
    app::App,
    db::Tx,
    domain::{
        deliveries::{self, Claimed},
        outcomes::{self, Outcome},
        room::Room,
    },
    error::{Error, Result},
    outgoing::{Answer, Failure},
    secret,
    time::Time,
};

const NO_PANIC: &str = "nothing panics while it holds this";

/// Sends due deliveries; sleeps until the next is due, one is queued, or there is room again.
pub(super) async fn run(app: &App, sending: &mut JoinSet<()>) {
    while let Err(err) = write(app, deliveries::release).await {
        tracing::error!(err = err.detail(), "deliveries that were under way could not be taken up");
        tokio::time::sleep(AGAIN).await;
    }
    loop {
        let wait = match send_due(app, sending).await {
            Ok(wait) => wait,
            Err(err) => {
                tracing::error!(err = err.detail(), "the queue of deliveries could not be read");
                MINUTE / 12
            }
        };
        _ = timeout(wait, app.delivery_due.notified()).await;
        while sending.try_join_next().is_some() {}
    }
}

/// Returns how long nothing is due for which there is room.
async fn send_due(app: &App, sending: &mut JoinSet<()>) -> Result<Duration> {
    loop {
        let room = app.delivering.lock().expect(NO_PANIC).clone();
        let (turns, next) = app.db.read(|conn| deliveries::turns(conn, room))?;
        if turns.is_empty() {
            return Ok(next.map_or(MINUTE, |due| due.since(Time::now())).clamp(Duration::from_millis(1), MINUTE));
        }
        let site = app.site.clone();
        for claimed in app.db.write(move |tx| deliveries::claim(tx, &site, &turns)).await? {
            // None only for a target that changed meanwhile: it has another turn when the lease ends.
            let Some(place) = Place::enter(app, &app.delivering, &claimed) else { continue };
            sending.spawn(async move { deliver(&place, claimed).await });
        }
    }
}

async fn deliver(place: &Place, claimed: Claimed) {
    let app = &place.app;
    let outcome = attempt(app, &claimed).await;
    app.metrics.attempt(outcome.is_success());
    if !outcome.is_success() {
        let (id, webhook, status) = (claimed.id, claimed.webhook, outcome.status);
        tracing::debug!(%id, %webhook, status, error = outcome.error, "an event could not be delivered");
    }
    let (site, id) = (app.site.clone(), claimed.id);
    let record = move |tx: &mut Tx| outcomes::record(tx, &site, &claimed, &outcome);
    if let Err(err) = write(app, record).await {
        tracing::error!(%id, err = err.detail(), "what became of a delivery could not be recorded");
    }
}

/// A test, at once. 429 when four are under way to its target already.
pub async fn test(app: &App, test: &Claimed) -> Result<Outcome> {
    let place = Place::enter(app, &app.testing, test).ok_or(Error::TooMany(1))?;
    Ok(attempt(&place.app, test).await)
}

/// Signs and sends it once.
async fn attempt(app: &App, claimed: &Claimed) -> Outcome {
    match send(app, claimed).await {
        Ok(outcome) => outcome,
        Err(err) => {
            Outcome { status: 0, latency: Duration::ZERO, error: err.detail(), response: String::new(), retry_after: None }
        }
    }
}

async fn send(app: &App, claimed: &Claimed) -> Result<Outcome> {
    let url = Url::parse(&claimed.url).map_err(Error::internal)?;
    let (id, now) = (claimed.id.to_string(), Time::now());
    let time = now.unix_seconds();
    let signature = secret::webhook_signature(&claimed.secrets, &id, time, &claimed.payload)?;
    let headers = [
        ("content-type", "application/json".to_owned()),
        ("webhook-id", id),
        ("webhook-timestamp", time.to_string()),
        ("webhook-signature", signature),
    ];
    let answer = app.outgoing.post(&url, &headers, claimed.payload.clone()).await;
    Ok(outcome(answer, Time::now().since(now)))
}

fn outcome(answer: Result<Answer, Failure>, took: Duration) -> Outcome {
    let (status, latency, response, retry_after) = match &answer {
        Ok(answer) => (answer.status, answer.latency, answer.excerpt.clone(), answer.retry_after),
        Err(_) => (0, took, String::new(), None),
    };
    let error = match &answer {
        Err(failure) => failure.to_string(),
        Ok(_) if (200..300).contains(&status) => String::new(),
        Ok(_) if (300..400).contains(&status) => format!("answered {status}: redirects are not followed"),
        Ok(_) => format!("answered {status}"),
    };
    Outcome { status, latency, error, response, retry_after }
}

/// A place among what is being sent, given back when it is dropped.
struct Place {
    app: App,
    room: Arc<Mutex<Room>>,
    target: String,
    is_prompt: bool,
}

impl Place {
    fn enter(app: &App, room: &Arc<Mutex<Room>>, claimed: &Claimed) -> Option<Place> {
        let (target, is_prompt) = (claimed.target.clone(), claimed.is_prompt);
        let has_entered = room.lock().expect(NO_PANIC).enter(&target, is_prompt);
        has_entered.then(|| Place { app: app.clone(), room: room.clone(), target, is_prompt })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.room.lock().expect(NO_PANIC).leave(&self.target, self.is_prompt);
        self.app.delivery_due.notify_one();
    }
}
