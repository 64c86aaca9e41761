//! Delivers the events of webhooks: claims what is due, signs it, sends it, and records what became of it.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use tokio::task::JoinSet;
use url::Url;

use super::{AGAIN, MINUTE, rest};
use crate::{
    db::Tx,
    domain::webhooks::{
        deliveries::{self, Claimed, Turn},
        delivery_slots::{Room, Wanted},
        retry::{self, Outcome},
    },
    error::{Error, Result},
    event::Queue,
    outgoing::Answer,
    secret,
    state::App,
    time::Time,
};

const NO_PANIC: &str = "nothing panics while it holds this";

/// Sends due deliveries; sleeps until the next is due, one is queued, or there is room again.
pub(super) async fn run(app: &App, sending: &mut JoinSet<()>) {
    while let Err(err) = app.write_in_background(deliveries::release).await {
        tracing::error!(err = err.detail(), "deliveries that were under way could not be taken up");
        tokio::time::sleep(AGAIN).await;
    }
    loop {
        let idle = send_due(app, sending).await;
        rest(idle, app, Queue::Deliveries, sending).await;
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
        // The places first: what is claimed and finds none would wait for the end of its lease.
        let enter = |turn: Turn| Some((turn.webhook, Place::enter(app, &app.delivering, turn.place)?));
        let (webhooks, places): (Vec<_>, Vec<_>) = turns.into_iter().filter_map(enter).unzip();
        let site = app.site.clone();
        let claimed = app.db.write(move |tx| deliveries::claim(tx, &site, &webhooks)).await?;
        for (place, claimed) in places.into_iter().zip(claimed) {
            if let Some(claimed) = claimed {
                sending.spawn(async move { deliver(&place, claimed).await });
            }
        }
        tokio::task::yield_now().await; // what was claimed leaves before the next look, which may be a long one
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
    let record = move |tx: &mut Tx| retry::record(tx, &site, &claimed, &outcome);
    if let Err(err) = app.write_in_background(record).await {
        tracing::error!(%id, err = err.detail(), "what became of a delivery could not be recorded");
    }
}

/// A test, at once. 429 when there is no place: four are under way to its target, or many in all.
pub async fn test(app: &App, place: Wanted, test: &Claimed) -> Result<Outcome> {
    let place = Place::enter(app, &app.testing, place).ok_or(Error::TooMany(1))?;
    Ok(attempt(&place.app, test).await)
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
    let (id, time) = (claimed.id.to_string(), Time::now().unix_seconds());
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

/// A place among what is being sent, given back when it is dropped.
struct Place {
    app: App,
    room: Arc<Mutex<Room>>,
    taken: Wanted,
}

impl Place {
    fn enter(app: &App, room: &Arc<Mutex<Room>>, wanted: Wanted) -> Option<Place> {
        let has_entered = room.lock().expect(NO_PANIC).enter(&wanted);
        has_entered.then(|| Place { app: app.clone(), room: room.clone(), taken: wanted })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.room.lock().expect(NO_PANIC).leave(&self.taken);
        self.app.wakeups.wake(Queue::Deliveries);
    }
}
