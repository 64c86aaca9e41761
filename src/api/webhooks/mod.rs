//! Webhooks of a channel, and their history.

pub mod deliveries;
pub mod feeds;

use poem::web::Data;
use poem_openapi::{
    Object, OpenApi,
    param::{Path, Query},
};

use super::{
    http::{
        auth::Bearer,
        body::{Body, Text, example, text},
        envelope::{Created, Gone, Success, created, ok},
        listing::{self, Address, Listed, Rows, fill, listed},
    },
    tags::Tag,
};
use crate::{
    db::Tx,
    domain::webhooks::{self, history, record},
    error::Result,
    id::{AttemptId, CallbackId, ChannelId, UserId, WebhookId},
    site::Site,
    state::App,
    time::Time,
};

/// Webhooks, and records of a history, on a page.
const PAGE: u32 = 10;
const LARGEST_PAGE: u32 = 100;

pub struct Api;

#[OpenApi]
impl Api {
    /// Read a channel's first webhook
    ///
    /// The oldest. Like all of a channel's webhooks it is for the channel's owner and for who holds `manage:webhooks`.
    #[oai(path = "/webhooks/:channel_id", method = "get", tag = "Tag::Webhooks")]
    async fn get(&self, caller: Bearer, app: Data<&App>, channel_id: Path<ChannelId>) -> Result<Success<Webhook>> {
        let found = app.db.read(|conn| record::oldest(conn, caller.0, *channel_id))?;
        Ok(ok("Webhook fetched successfully", Webhook::new(&app.site, found)))
    }

    /// Make a webhook
    ///
    /// What is sent to its `feed_url` is posted in the channel: keep that address secret. To its `webhook_url` the channel's
    /// new posts and replies are delivered, but for those that were fed; the `webhook_secret`, which is shown only now,
    /// signs them as the Standard Webhooks specification has it.
    #[oai(path = "/webhooks/:channel_id", method = "post", tag = "Tag::Webhooks")]
    async fn create(
        &self,
        caller: Bearer,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        body: Body<NewWebhook>,
    ) -> Result<Created<Webhook>> {
        let Body(NewWebhook { webhook_name, event_name, webhook_url }, bytes) = body;
        let (event_name, url) = (event_name.unwrap_or_default().0, webhook_url.unwrap_or_default().0);
        let new = webhooks::New { name: webhook_name.0, event_name, url };
        let made = app.db.write_sized(bytes, move |tx| webhooks::create(tx, caller.0, *channel_id, &new));
        let (made, secret) = made.await?;
        let shown = Webhook { webhook_secret: Some(secret), ..Webhook::new(&app.site, made) };
        Ok(created("Webhook created successfully", shown))
    }

    /// List a channel's webhooks
    ///
    /// Oldest first.
    #[oai(path = "/webhooks/:channel_id/all", method = "get", tag = "Tag::Webhooks")]
    async fn list(
        &self,
        caller: Bearer,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        address: Address,
        /// From 1; default 1.
        page: Query<Option<u32>>,
        /// Rows to skip, instead of `page`.
        offset: Query<Option<u64>>,
        /// Up to 100; default 10.
        limit: Query<Option<u64>>,
    ) -> Result<Listed<WebhookList>> {
        let page = listing::page(*page, *offset, *limit, PAGE, LARGEST_PAGE)?;
        let one = |webhook| Webhook::new(&app.site, webhook);
        let read = app.db.read(|conn| fill(page, |part| record::list(conn, caller.0, *channel_id, part), one));
        let Rows { rows: webhooks, rest } = read?;
        Ok(listed("Webhooks fetched successfully", WebhookList { webhooks }, address.rest(rest)))
    }

    /// Read a webhook's history
    ///
    /// What it took in and gave out, newest first, of the last 30 days.
    #[oai(path = "/webhooks/:channel_id/history/:webhook_id", method = "get", tag = "Tag::Webhooks")]
    async fn history(
        &self,
        caller: Bearer,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        webhook_id: Path<WebhookId>,
        address: Address,
        /// From 1; default 1.
        page: Query<Option<u32>>,
        /// Rows to skip, instead of `page`.
        offset: Query<Option<u64>>,
        /// Up to 100; default 10.
        limit: Query<Option<u64>>,
    ) -> Result<Listed<History>> {
        let page = listing::page(*page, *offset, *limit, PAGE, LARGEST_PAGE)?.shallow()?;
        let (channel, webhook) = (*channel_id, *webhook_id);
        let read = app.db.read(|conn| fill(page, |part| history::list(conn, caller.0, channel, webhook, part), Attempt::from));
        let Rows { rows: webhooks_history, rest } = read?;
        Ok(listed("Webhook history fetched successfully", History { webhooks_history }, address.rest(rest)))
    }

    /// Change a webhook
    ///
    /// Fields that are left out stay as they are; empty ones are cleared, but the name can't be. What is still to be
    /// delivered goes to the new `webhook_url`. Whoever sets an address becomes the webhook's owner, and the former owner is
    /// told; a webhook whose former owner may not post in the channel any more is `paused` then.
    #[oai(path = "/webhooks/:channel_id/:webhook_id", method = "put", tag = "Tag::Webhooks")]
    async fn update(
        &self,
        caller: Bearer,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        webhook_id: Path<WebhookId>,
        body: Body<EditWebhook>,
    ) -> Result<Success<Webhook>> {
        let Body(EditWebhook { webhook_name, event_name, webhook_url }, bytes) = body;
        let edit = webhooks::Edit { name: text(webhook_name), event_name: text(event_name), url: text(webhook_url) };
        let (channel, id) = (*channel_id, *webhook_id);
        let edited = app.db.write_sized(bytes, move |tx| webhooks::update(tx, caller.0, channel, id, &edit)).await?;
        Ok(ok("Webhook updated successfully", Webhook::new(&app.site, edited)))
    }

    /// Delete a webhook
    ///
    /// Its feed address is dead at once, its history is gone, and nothing is delivered any more.
    #[oai(path = "/webhooks/:channel_id/:webhook_id", method = "delete", tag = "Tag::Webhooks")]
    async fn delete(
        &self,
        caller: Bearer,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        webhook_id: Path<WebhookId>,
    ) -> Result<Gone> {
        app.db.write(move |tx| webhooks::delete(tx, caller.0, *channel_id, *webhook_id)).await?;
        Ok(Gone::NoContent)
    }

    /// Change a webhook's status
    ///
    /// A `paused` webhook takes what is fed without posting it, and holds its deliveries, up to 30 days, until it is active;
    /// an `inactive` one refuses what is fed, and holds what it had to deliver, but what is posted meanwhile is never delivered.
    /// Whoever makes it active becomes its owner, and the former owner is told. If whoever set its `webhook_url` has no access
    /// to the channel any more, the caller answers for that address from now on.
    #[oai(path = "/webhooks/:channel_id/:webhook_id/change-status", method = "put", tag = "Tag::Webhooks")]
    async fn change_status(
        &self,
        caller: Bearer,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        webhook_id: Path<WebhookId>,
        body: Body<NewStatus>,
    ) -> Result<Success<ChangedStatus>> {
        let Body(NewStatus { webhook_status }, bytes) = body;
        let (channel, id) = (*channel_id, *webhook_id);
        let change = move |tx: &mut Tx| webhooks::change_status(tx, caller.0, channel, id, &webhook_status);
        let changed = app.db.write_sized(bytes, change).await?;
        let changed = ChangedStatus { id: changed.id, webhook_status: changed.status.as_str().into() };
        Ok(ok("Webhook updated successfully", changed))
    }

    /// Give a webhook a new feed address
    ///
    /// The `feed_url` before is dead at once. The caller becomes the webhook's owner, and the former owner is told. If the
    /// former owner may not post in the channel any more, the webhook is `paused` now: make it active when its `webhook_url`
    /// is right.
    #[oai(path = "/webhooks/:channel_id/:webhook_id/rotate-slug", method = "post", tag = "Tag::Webhooks")]
    async fn rotate_slug(
        &self,
        caller: Bearer,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        webhook_id: Path<WebhookId>,
    ) -> Result<Success<Webhook>> {
        let (channel, id) = (*channel_id, *webhook_id);
        let rotated = app.db.write(move |tx| webhooks::rotate_slug(tx, caller.0, channel, id)).await?;
        Ok(ok("Webhook slug rotated successfully", Webhook::new(&app.site, rotated)))
    }
}

#[derive(Object)]
#[oai(example)]
struct NewWebhook {
    /// 1 to 80 characters; also the author of what is fed without a `username`.
    webhook_name: Text,
    /// The event of what is fed without one.
    event_name: Option<Text>,
    /// An address for deliveries: http or https, up to 2,000 characters, not on this server.
    webhook_url: Option<Text>,
}
example!(NewWebhook, { "webhook_name": "builds", "event_name": "build finished" });

#[derive(Object)]
#[oai(example)]
struct EditWebhook {
    webhook_name: Option<Text>,
    event_name: Option<Text>,
    /// Empty takes the address away.
    webhook_url: Option<Text>,
}
example!(EditWebhook, { "event_name": "build failed" });

#[derive(Object)]
#[oai(example)]
struct NewStatus {
    /// `active`, `inactive` or `paused`.
    webhook_status: Text,
}
example!(NewStatus, { "webhook_status": "paused" });

#[derive(Object)]
struct ChangedStatus {
    id: WebhookId,
    webhook_status: String,
}

#[derive(Object)]
struct WebhookList {
    webhooks: Vec<Webhook>,
}

#[derive(Object)]
struct Webhook {
    id: WebhookId,
    channel_id: ChannelId,
    /// Whoever made it, or was the last to set its address, give it a new secret or slug, or make it active; the channel's
    /// owner, once they have left the organisation. It delivers and is fed only while they have access to the channel, and
    /// delivers only while whoever set its `webhook_url` has, too.
    owner_id: UserId,
    webhook_name: String,
    event_name: String,
    /// `active`, `inactive` or `paused`.
    status: String,
    /// Where messages are delivered; without an address, the same as `feed_url`.
    webhook_url: String,
    /// The secret of the feed address.
    webhook_slug: String,
    /// Where posts are fed.
    feed_url: String,
    /// Signs deliveries; shown when the webhook is made, and never again.
    #[oai(skip_serializing_if_is_none)]
    webhook_secret: Option<String>,
    created_at: Time,
    updated_at: Time,
    /// Null: deleted webhooks are not shown.
    #[oai(nullable)]
    deleted_at: Option<Time>,
}

impl Webhook {
    fn new(site: &Site, webhook: record::Webhook) -> Self {
        let feed_url = site.feed_url(webhook.id, webhook.generation);
        Webhook {
            id: webhook.id,
            channel_id: webhook.channel,
            owner_id: webhook.owner_id,
            webhook_name: webhook.name,
            event_name: webhook.event_name,
            status: webhook.status.as_str().into(),
            webhook_url: if webhook.url.is_empty() { feed_url.clone() } else { webhook.url },
            webhook_slug: site.keys.webhook_slug(webhook.id, webhook.generation),
            feed_url,
            webhook_secret: None,
            created_at: webhook.created_at,
            updated_at: webhook.updated_at,
            deleted_at: None,
        }
    }
}

#[derive(Object)]
struct History {
    webhooks_history: Vec<Attempt>,
}

#[derive(Object)]
pub(super) struct Attempt {
    id: AttemptId,
    webhook_id: WebhookId,
    /// The event's: of a delivery its `webhook-id`, of a feed the id of the message that it made.
    callback_id: CallbackId,
    /// `in` for what was fed, `out` for what was delivered.
    direction: String,
    /// `feed`, `delivery`, `paused` or `test`.
    action_type: String,
    /// The HTTP status; `0` without an answer.
    status_code: String,
    /// Attempts before this one, since the event was last queued.
    retries: String,
    /// How long the attempt took.
    latency_ms: i64,
    /// Why it failed; empty when it did not.
    error: String,
    /// What the other side answered, the first 1,024 bytes.
    response: String,
    /// When.
    attempted: Time,
    /// When the next attempt is to be made, after one that failed; null when there is to be none.
    #[oai(nullable)]
    next_attempt: Option<Time>,
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
            next_attempt: attempt.next_at,
        }
    }
}
