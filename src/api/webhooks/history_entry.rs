//! An entry of a webhook's history, as answers have it.

use poem_openapi::Object;
use serde::Serialize;

use crate::{
    api::http::framework_traits::Nullable,
    domain::webhooks::history,
    id::{AttemptId, CallbackId, WebhookId},
    time::Time,
};

#[derive(Object, Serialize)]
pub struct Attempt {
    id: AttemptId,
    webhook_id: WebhookId,
    /// The id of the event: the `webhook-id` of a delivery, or the id of the message that a feed made.
    callback_id: CallbackId,
    /// `in` for feeds, `out` for deliveries.
    direction: String,
    /// `feed`, `delivery`, `paused` or `test`.
    action_type: String,
    /// The HTTP status; `0` if there was no answer.
    status_code: String,
    /// Attempts before this one, since the event was last queued.
    retries: String,
    /// The duration of the attempt, in milliseconds.
    latency_ms: i64,
    /// Why the attempt failed; empty if it succeeded.
    error: String,
    /// The first 1,024 bytes of the answer.
    response: String,
    /// When the attempt was made.
    attempted: Time,
    /// When the next attempt is due after a failure; null if there is none.
    next_attempt: Nullable<Time>,
    /// The first 8,192 bytes of a feed's body, for the webhook's last 20 feeds; otherwise null.
    received: Nullable<String>,
    /// What a feed's body was read as, as in `Slack` or `GitHub push`; `not understood` if it was refused for its form;
    /// empty for deliveries.
    read_as: String,
}

impl From<history::Attempt> for Attempt {
    fn from(attempt: history::Attempt) -> Self {
        Attempt {
            id: attempt.id,
            webhook_id: attempt.webhook,
            callback_id: attempt.callback,
            direction: attempt.direction,
            action_type: attempt.action,
            status_code: attempt.status_code.to_string(),
            retries: attempt.retries.to_string(),
            latency_ms: attempt.latency_ms,
            error: attempt.error,
            response: attempt.response,
            attempted: attempt.attempted_at,
            next_attempt: Nullable(attempt.next_at),
            received: Nullable(attempt.received),
            read_as: attempt.read_as,
        }
    }
}
