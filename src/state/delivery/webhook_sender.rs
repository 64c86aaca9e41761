//! Signs and sends the events of webhooks, for the job that delivers and for tests on demand.

use std::time::{Duration, Instant};

use url::Url;

use crate::{
    domain::{
        commands::calling::Prepared,
        webhooks::delivery::{
            outcome::{Outcome, PROMPT},
            queue::Claimed,
            replay::Test,
            slots::DeliverySlot,
        },
    },
    error::{Code, Error, Result},
    event::Queue,
    outgoing::{Answer, Reply},
    secret,
    state::App,
    time::Time,
};

/// Sends a test event at once. 429 if no slot for tests is free, in all or for the account or host.
pub async fn send_test(app: &App, test: &Test) -> Result<Outcome> {
    let permit = app.delivery.slots().acquire_for_test(test.account, &test.host).ok_or(Error::TooMany(1))?;
    let slot = Slot { app: app.clone(), permit };
    Ok(attempt(&slot.app, &test.event).await)
}

/// Deadline of the program of a command, since somebody waits for its answer.
const CALL_WITHIN: Duration = Duration::from_secs(3);

/// Signs and sends a call of a command, or a click. 429 if no slot is free for the program's account or host, 422 without an answer
/// of success.
pub async fn call_program(app: &App, call: &Prepared) -> Result<Reply> {
    let permit = app.delivery.slots().acquire_for_test(call.target.account, &call.target.host).ok_or(Error::TooMany(1))?;
    let slot = Slot { app: app.clone(), permit };
    let failed = |why: String| Error::Invalid(Code::CommandFailed.says(format!("The program failed: {why}")));
    let url = Url::parse(&call.target.url).map_err(Error::internal)?;
    let body = (call.content_type, &*call.body);
    let headers = signed(&call.id.to_string(), app.clock.now(), body, &call.target.secrets)?;
    let began = Instant::now();
    let reply = slot.app.outgoing.ask(&url, &headers, call.body.clone(), CALL_WITHIN).await;
    let reply = reply.map_err(|failure| failed(failure.to_string()))?;
    if !(200..300).contains(&reply.status) {
        return Err(failed(complaint(reply.status)));
    }
    // What one command's program refuses says nothing of the host's other programs.
    if began.elapsed() < PROMPT {
        app.delivery.slots().note_proven(&slot.permit.target, true);
    }
    Ok(reply)
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
    let body = ("application/json", &*claimed.payload);
    let headers =
        signed(&claimed.id.to_string(), app.clock.now(), body, &claimed.secrets).map_err(|_| "it could not be signed")?;
    app.outgoing.post(&url, &headers, claimed.payload.clone()).await.map_err(|failure| failure.to_string())
}

/// The headers of a signed request (Standard Webhooks), whose body is of this content type.
pub fn signed(
    id: &str,
    at: Time,
    (content_type, body): (&str, &[u8]),
    secrets: &[String],
) -> Result<[(&'static str, String); 4]> {
    let time = at.unix_seconds();
    Ok([
        ("content-type", content_type.to_owned()),
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", time.to_string()),
        ("webhook-signature", secret::webhook_signature(secrets, id, time, body)?),
    ])
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
