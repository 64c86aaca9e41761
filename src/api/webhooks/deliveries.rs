//! Deliveries of a webhook: its secret, tests, and sending events again.

use poem::web::Data;
use poem_openapi::{Object, OpenApi, param::Path};
use serde::Serialize;

use super::history_entry::Attempt;
use crate::{
    api::{
        http::{
            auth::{Bearer, IN_CHANNEL, WEBHOOKS},
            body::Body,
            envelope::{Success, ok},
            secret_text::Secret,
        },
        tags::Tag,
    },
    db::Tx,
    domain::webhooks::{self, delivery::replay},
    error::Result,
    id::{AttemptId, CallbackId, ChannelId, WebhookId},
    state::{App, delivery::webhook_sender},
    time::Time,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Rotate a webhook's secret
    ///
    /// Shows the new secret, only this once. For a day deliveries are signed with the new and the former secret, so
    /// that receivers can change over; earlier secrets no longer sign. The caller becomes the webhook's owner, and the
    /// former owner is told. If the former owner may not post in the channel any more, the webhook becomes `paused`:
    /// check its `webhook_url`, then make it active.
    #[oai(
        path = "/webhooks/:channel_id/:webhook_id/rotate-secret",
        method = "post",
        operation_id = "rotateWebhookSecret",
        tag = "Tag::Webhooks"
    )]
    async fn rotate_secret(
        &self,
        caller: Bearer<WEBHOOKS, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        webhook_id: Path<WebhookId>,
    ) -> Result<Success<NewSecret>> {
        let (channel, id) = (*channel_id, *webhook_id);
        let rotated = app.db.write(move |tx| webhooks::rotate_secret(tx, caller.0, channel, id)).await;
        let (webhook_secret, old_secret_until) = rotated?;
        Ok(ok("Webhook secret rotated successfully", NewSecret { webhook_secret: webhook_secret.into(), old_secret_until }))
    }

    /// Test a webhook's address
    ///
    /// Sends an event of the type `webhook.test` at once and only once, whatever the webhook's status, and answers its
    /// record in the history. The `status_code` of the record says whether the test failed; a failed test changes
    /// nothing.
    #[oai(path = "/webhooks/:channel_id/:webhook_id/test", method = "post", operation_id = "testWebhook", tag = "Tag::Webhooks")]
    async fn test(
        &self,
        caller: Bearer<WEBHOOKS, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        webhook_id: Path<WebhookId>,
    ) -> Result<Success<Attempt>> {
        let test = app.db.read(|conn| replay::build_test(conn, caller.0, *channel_id, *webhook_id))?;
        let outcome = webhook_sender::send_test(&app, &test).await?;
        let record = app.db.write(move |tx| replay::record_test(tx, &test.event, &outcome)).await?;
        Ok(ok("Test event sent", record.into()))
    }

    /// Send an event again
    ///
    /// Queues the event of a delivery in the history again, under the same `webhook-id`, with as many attempts as a new
    /// one. The text of a message that has been deleted meanwhile is left out. A paused webhook holds the event; an
    /// inactive one must be made active first.
    #[oai(
        path = "/webhooks/:channel_id/:webhook_id/history/:history_id/replay",
        method = "post",
        operation_id = "replayWebhookDelivery",
        tag = "Tag::Webhooks"
    )]
    async fn replay(
        &self,
        caller: Bearer<WEBHOOKS, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        webhook_id: Path<WebhookId>,
        history_id: Path<AttemptId>,
    ) -> Result<Success<Replayed>> {
        let (channel, webhook, attempt) = (*channel_id, *webhook_id, *history_id);
        let callback_id = app.db.write(move |tx| replay::replay(tx, caller.0, channel, webhook, attempt)).await?;
        Ok(ok("Event queued successfully", Replayed { callback_id }))
    }

    /// Send the events of a period again
    ///
    /// Queues again all events of the webhook that were made from `since` on and before `until`, whether delivered or
    /// given up; events that are still queued stay queued. Up to 1,000 events of the last 30 days. A paused webhook
    /// holds them; an inactive one must be made active first.
    #[oai(
        path = "/webhooks/:channel_id/:webhook_id/replay",
        method = "post",
        operation_id = "replayWebhookDeliveries",
        tag = "Tag::Webhooks"
    )]
    async fn replay_all(
        &self,
        caller: Bearer<WEBHOOKS, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        webhook_id: Path<WebhookId>,
        body: Body<Span>,
    ) -> Result<Success<AllReplayed>> {
        let (since, until) = (body.since, body.until.unwrap_or_else(Time::now));
        let (channel, webhook) = (*channel_id, *webhook_id);
        let caller = caller.0;
        let span = app.db.read(|conn| replay::list_events_between(conn, caller, channel, webhook, since, until))?;
        let (mut passed, mut queued) = (0, 0);
        let replay = move |tx: &mut Tx| {
            let end = span.len().min(passed + replay::SLICE);
            queued += replay::replay_some(tx, caller, channel, webhook, &span[passed..end])?;
            passed = end;
            Ok((passed == span.len()).then_some(queued))
        };
        let queued = app.db.write_in_steps(replay).await?;
        Ok(ok("Events queued successfully", AllReplayed { events: queued as u64 }))
    }
}

#[derive(Object, Serialize)]
struct NewSecret {
    /// The secret that signs deliveries. It is shown only this once.
    webhook_secret: Secret,
    /// Until when the former secret also signs: a day from now, or now if the server can't read that secret.
    old_secret_until: Time,
}

#[derive(Object, Serialize)]
struct Replayed {
    /// The `callback_id` of the event.
    callback_id: CallbackId,
}

#[derive(Object)]
struct Span {
    /// The start of the period, in RFC 3339.
    since: Time,
    /// The end of the period, in RFC 3339; now if omitted.
    until: Option<Time>,
}

#[derive(Object, Serialize)]
struct AllReplayed {
    /// The number of queued events.
    events: u64,
}
