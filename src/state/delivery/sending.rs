//! Signs and sends the events of webhooks, for the job that delivers and for tests on demand.

use std::time::Instant;

use url::Url;

use crate::{
    domain::webhooks::delivery::{outcome::Outcome, queue::Claimed, replay::Test, slots::DeliverySlot},
    error::{Error, Result},
    event::Queue,
    outgoing::Answer,
    secret,
    state::App,
};

/// Sends a test event at once. 429 if no slot for tests is free, in all or for the organisation or host.
pub async fn send_test(app: &App, test: &Test) -> Result<Outcome> {
    let permit = app.delivery.slots().acquire_for_test(test.organisation, &test.host).ok_or(Error::TooMany(1))?;
    let slot = Slot { app: app.clone(), permit };
    Ok(attempt(&slot.app, &test.event).await)
}

/// Signs and sends an event once.
pub async fn attempt(app: &App, claimed: &Claimed) -> Outcome {
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
pub struct Slot {
    pub app: App,
    pub permit: DeliverySlot,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.app.delivery.slots().release(&self.permit);
        self.app.wakeups.wake(Queue::Deliveries);
    }
}
