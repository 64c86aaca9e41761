//! What a webhook delivers: its secret, tests, and sending events again.

use poem::web::Data;
use poem_openapi::{Object, OpenApi, param::Path};

use super::Attempt;
use crate::{
    api::{
        http::{
            auth::Bearer,
            body::{Body, example},
            envelope::{Success, ok},
        },
        tags::Tag,
    },
    db::Tx,
    domain::webhooks::{self, replay},
    error::Result,
    id::{AttemptId, CallbackId, ChannelId, WebhookId},
    jobs::deliveries,
    state::App,
    time::Time,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Give a webhook a new secret
    ///
    /// It is shown only now. For a day deliveries are signed with the one before, too, so that receivers can change over; a
    /// still older one signs no more. The caller becomes the webhook's owner, and the former owner is told. If the former
    /// owner may not post in the channel any more, the webhook is `paused` now: make it active when its `webhook_url` is right.
    #[oai(path = "/webhooks/:channel_id/:webhook_id/rotate-secret", method = "post", tag = "Tag::Webhooks")]
    async fn rotate_secret(
        &self,
        caller: Bearer,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        webhook_id: Path<WebhookId>,
    ) -> Result<Success<NewSecret>> {
        let (channel, id) = (*channel_id, *webhook_id);
        let rotated = app.db.write(move |tx| webhooks::rotate_secret(tx, caller.0, channel, id)).await;
        let (webhook_secret, old_secret_until) = rotated?;
        Ok(ok("Webhook secret rotated successfully", NewSecret { webhook_secret, old_secret_until }))
    }

    /// Test a webhook's address
    ///
    /// Sends an event of the type `webhook.test` at once and only once, whatever the webhook's status, and answers with
    /// its record in the history. A test that fails has a `status_code` that says so, and changes nothing.
    #[oai(path = "/webhooks/:channel_id/:webhook_id/test", method = "post", tag = "Tag::Webhooks")]
    async fn test(
        &self,
        caller: Bearer,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        webhook_id: Path<WebhookId>,
    ) -> Result<Success<Attempt>> {
        let test = app.db.read(|conn| replay::test(conn, caller.0, *channel_id, *webhook_id))?;
        let outcome = deliveries::test(&app, &test).await?;
        let record = app.db.write(move |tx| replay::tested(tx, &test.event, &outcome)).await?;
        Ok(ok("Test event sent", record.into()))
    }

    /// Send an event again
    ///
    /// The event of a delivery in the history, under the same `webhook-id`, and tried as often as a new one. Without the text
    /// of a message that has been deleted meanwhile. A paused webhook holds it, an inactive one must be made active first.
    #[oai(path = "/webhooks/:channel_id/:webhook_id/history/:history_id/replay", method = "post", tag = "Tag::Webhooks")]
    async fn replay(
        &self,
        caller: Bearer,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        webhook_id: Path<WebhookId>,
        history_id: Path<AttemptId>,
    ) -> Result<Success<Replayed>> {
        let (channel, webhook, attempt) = (*channel_id, *webhook_id, *history_id);
        let callback_id = app.db.write(move |tx| replay::replay(tx, caller.0, channel, webhook, attempt)).await?;
        Ok(ok("Event queued successfully", Replayed { callback_id }))
    }

    /// Send the events of a span of time again
    ///
    /// All of the webhook's that were made from `since` on and before `until`, delivered or given up; what is queued stays
    /// queued. Up to 1,000 events of the last 30 days. A paused webhook holds them, an inactive one must be made active first.
    #[oai(path = "/webhooks/:channel_id/:webhook_id/replay", method = "post", tag = "Tag::Webhooks")]
    async fn replay_all(
        &self,
        caller: Bearer,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        webhook_id: Path<WebhookId>,
        body: Body<Span>,
    ) -> Result<Success<AllReplayed>> {
        let (since, until) = (body.since, body.until.unwrap_or_else(Time::now));
        let (channel, webhook) = (*channel_id, *webhook_id);
        let caller = caller.0;
        let span = app.db.read(|conn| replay::span(conn, caller, channel, webhook, since, until))?;
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

#[derive(Object)]
struct NewSecret {
    /// Signs deliveries; shown now, and never again.
    webhook_secret: String,
    /// Until when the one before signs, too: a day from now, or now if the server can't read it.
    old_secret_until: Time,
}

#[derive(Object)]
struct Replayed {
    /// The event's.
    callback_id: CallbackId,
}

#[derive(Object)]
#[oai(example)]
struct Span {
    /// RFC 3339.
    since: Time,
    /// RFC 3339; now when left out.
    until: Option<Time>,
}
example!(Span, { "since": "2026-01-31T08:00:00Z", "until": "2026-01-31T09:30:00Z" });

#[derive(Object)]
struct AllReplayed {
    /// How many there are.
    events: u64,
}
