//! Webhooks of a channel, and their history.

pub mod deliveries;
mod history_entry;
pub mod incoming;
pub mod incoming_posts;

use poem::web::Data;
use poem_openapi::{
    Object, OpenApi,
    param::{Path, Query},
};
use serde::Serialize;

use self::history_entry::Attempt;
use super::{
    http::{
        auth::{Bearer, IN_CHANNEL, WEBHOOKS},
        body::{Body, List, Text, into_string, into_strings},
        envelope::{Created, NoContent, Success, created, ok},
        framework_traits::Nullable,
        listing::{self, Address, Listed, Offset, PageNumber, ShallowOffset, ShallowPage, Size, answer_list, fill},
        rows::Rows,
        secret_text::Secret,
    },
    tags::Tag,
};
use crate::{
    db::Tx,
    domain::{
        text::WebAddress,
        webhooks::{
            self, delivery::kind::DeliveryKind, history, record, subscription::EventKind, trigger_words,
            trigger_words::TriggerWord,
        },
    },
    error::Result,
    id::{ChannelId, UserId, WebhookId},
    site::Site,
    state::App,
    time::Time,
};

/// Webhooks, or records of a history, on a page.
const PAGE: u32 = 10;
const LARGEST_PAGE: u32 = 100;

pub struct Api;

#[OpenApi]
impl Api {
    /// Read a channel's first webhook
    ///
    /// Answers the channel's oldest webhook. All webhooks of a channel are for the channel's owner and for holders of
    /// `manage:webhooks`.
    #[oai(path = "/webhooks/:channel_id", method = "get", operation_id = "getWebhook", tag = "Tag::Webhooks")]
    async fn get(
        &self,
        caller: Bearer<WEBHOOKS, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
    ) -> Result<Success<Webhook>> {
        let found = app.db.read(|conn| record::oldest_of_channel(conn, caller.0, *channel_id))?;
        Ok(ok("Webhook fetched successfully", Webhook::new(&app.site, found)))
    }

    /// Make a webhook
    ///
    /// Requests to its `feed_url` post in the channel, so keep that address secret. The channel's new posts and replies,
    /// except fed ones, are delivered to its `webhook_url`; `events` chooses other events. The `webhook_secret`, which is shown
    /// only this once, signs deliveries as the Standard Webhooks specification says.
    #[oai(path = "/webhooks/:channel_id", method = "post", operation_id = "createWebhook", tag = "Tag::Webhooks")]
    async fn create(
        &self,
        caller: Bearer<WEBHOOKS, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        body: Body<NewWebhook>,
    ) -> Result<Created<Webhook>> {
        let Body(body, bytes) = body;
        let NewWebhook { webhook_name, event_name, webhook_url, sender_secret, events, trigger_words, all_channels, ordered } =
            body;
        let (event_name, url) = (event_name.unwrap_or_default().0, webhook_url.unwrap_or_default().0);
        let sender_secret = sender_secret.unwrap_or_default().0;
        let new = webhooks::New {
            name: webhook_name.0,
            event_name,
            url,
            sender_secret,
            events: events.map(into_strings),
            trigger_words: trigger_words.map(into_strings).unwrap_or_default(),
            is_of_all_channels: all_channels.unwrap_or_default(),
            is_ordered: ordered.unwrap_or_default(),
        };
        let made = app.db.write_sized(bytes, move |tx| webhooks::create(tx, caller.0, *channel_id, &new));
        let (made, secret) = made.await?;
        let shown = Webhook { webhook_secret: Some(secret.into()), ..Webhook::new(&app.site, made) };
        Ok(created("Webhook created successfully", shown))
    }

    /// List a channel's webhooks
    ///
    /// Lists webhooks, oldest first.
    #[oai(path = "/webhooks/:channel_id/all", method = "get", operation_id = "listWebhooks", tag = "Tag::Webhooks")]
    async fn list(
        &self,
        caller: Bearer<WEBHOOKS, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        address: Address,
        /// The page, from 1; default 1.
        page: Query<Option<PageNumber>>,
        /// Rows to skip, instead of `page`.
        offset: Query<Option<Offset>>,
        /// Up to 100; default 10.
        limit: Query<Option<Size>>,
    ) -> Result<Listed<WebhookList>> {
        let page = listing::requested_page(*page, *offset, *limit, PAGE, LARGEST_PAGE);
        let one = |webhook| Webhook::new(&app.site, webhook);
        let read = app.db.read(|conn| fill(page, |part| record::list(conn, caller.0, *channel_id, part), one));
        Ok(answer_list("Webhooks fetched successfully", read?.map(|webhooks| WebhookList { webhooks }), &address))
    }

    /// Read a webhook's history
    ///
    /// Lists the webhook's feeds and attempts of deliveries of the last 30 days, newest first, with what the last 20 feeds
    /// sent. Feeds whose body was refused are among these 20.
    #[oai(
        path = "/webhooks/:channel_id/history/:webhook_id",
        method = "get",
        operation_id = "listWebhookHistory",
        tag = "Tag::Webhooks"
    )]
    async fn history(
        &self,
        caller: Bearer<WEBHOOKS, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        webhook_id: Path<WebhookId>,
        address: Address,
        /// The page, from 1; default 1.
        page: Query<Option<ShallowPage>>,
        /// Rows to skip, instead of `page`.
        offset: Query<Option<ShallowOffset>>,
        /// Up to 100; default 10.
        limit: Query<Option<Size>>,
    ) -> Result<Listed<History>> {
        let page = listing::requested_page(*page, *offset, *limit, PAGE, LARGEST_PAGE).shallow()?;
        let (channel, webhook) = (*channel_id, *webhook_id);
        let read = app.db.read(|conn| fill(page, |part| history::list(conn, caller.0, channel, webhook, part), Attempt::from));
        Ok(answer_list(
            "Webhook history fetched successfully",
            read?.map(|webhooks_history| History { webhooks_history }),
            &address,
        ))
    }

    /// Change a webhook
    ///
    /// Omitted fields stay as they are; empty ones are cleared, except the name, which can't be empty. Queued
    /// deliveries go to the new `webhook_url`. A member who sets an address becomes the webhook's owner, and the former
    /// owner is told. If the former owner may not post in the channel any more, the webhook becomes `paused`.
    #[oai(path = "/webhooks/:channel_id/:webhook_id", method = "put", operation_id = "updateWebhook", tag = "Tag::Webhooks")]
    async fn update(
        &self,
        caller: Bearer<WEBHOOKS, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        webhook_id: Path<WebhookId>,
        body: Body<EditWebhook>,
    ) -> Result<Success<Webhook>> {
        let Body(body, bytes) = body;
        let EditWebhook { webhook_name, event_name, webhook_url, sender_secret, events, trigger_words, all_channels, ordered } =
            body;
        let edit = webhooks::Edit {
            name: into_string(webhook_name),
            event_name: into_string(event_name),
            url: into_string(webhook_url),
            sender_secret: into_string(sender_secret),
            events: events.map(into_strings),
            trigger_words: trigger_words.map(into_strings),
            is_of_all_channels: all_channels,
            is_ordered: ordered,
        };
        let (channel, id) = (*channel_id, *webhook_id);
        let edited = app.db.write_sized(bytes, move |tx| webhooks::update(tx, caller.0, channel, id, &edit)).await?;
        Ok(ok("Webhook updated successfully", Webhook::new(&app.site, edited)))
    }

    /// Delete a webhook
    ///
    /// Its feed address stops working at once, its history is deleted, and nothing more is delivered.
    #[oai(path = "/webhooks/:channel_id/:webhook_id", method = "delete", operation_id = "deleteWebhook", tag = "Tag::Webhooks")]
    async fn delete(
        &self,
        caller: Bearer<WEBHOOKS, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        webhook_id: Path<WebhookId>,
    ) -> Result<NoContent> {
        app.db.write(move |tx| webhooks::delete(tx, caller.0, *channel_id, *webhook_id)).await?;
        Ok(NoContent::NoContent)
    }

    /// Change a webhook's status
    ///
    /// A `paused` webhook accepts feeds without posting them, and holds its deliveries for up to 30 days, until it is
    /// active. An `inactive` webhook refuses feeds and holds the deliveries that were queued; messages posted meanwhile
    /// are never delivered. A member who makes a webhook active becomes its owner, and the former owner is told. If the
    /// member who set its `webhook_url` has no access to the channel any more, the caller is responsible for that
    /// address from now on.
    #[oai(
        path = "/webhooks/:channel_id/:webhook_id/change-status",
        method = "put",
        operation_id = "changeWebhookStatus",
        tag = "Tag::Webhooks"
    )]
    async fn change_status(
        &self,
        caller: Bearer<WEBHOOKS, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        webhook_id: Path<WebhookId>,
        body: Body<NewStatus>,
    ) -> Result<Success<ChangedStatus>> {
        let Body(NewStatus { webhook_status }, bytes) = body;
        let (channel, id) = (*channel_id, *webhook_id);
        let change = move |tx: &mut Tx| webhooks::change_status(tx, caller.0, channel, id, &webhook_status);
        let changed = app.db.write_sized(bytes, change).await?;
        let webhook_status = changed.status.as_str().into();
        let changed = ChangedStatus { webhook: Webhook::new(&app.site, changed), webhook_status };
        Ok(ok("Webhook updated successfully", changed))
    }

    /// Rotate a webhook's feed address
    ///
    /// The former `feed_url` stops working at once. The caller becomes the webhook's owner, and the former owner is
    /// told. If the former owner may not post in the channel any more, the webhook becomes `paused`: check its
    /// `webhook_url`, then make it active.
    #[oai(
        path = "/webhooks/:channel_id/:webhook_id/rotate-slug",
        method = "post",
        operation_id = "rotateWebhookSlug",
        tag = "Tag::Webhooks"
    )]
    async fn rotate_slug(
        &self,
        caller: Bearer<WEBHOOKS, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        webhook_id: Path<WebhookId>,
    ) -> Result<Success<Webhook>> {
        let (channel, id) = (*channel_id, *webhook_id);
        let rotated = app.db.write(move |tx| webhooks::rotate_slug(tx, caller.0, channel, id)).await?;
        Ok(ok("Webhook slug rotated successfully", Webhook::new(&app.site, rotated)))
    }
}

/// Names of kinds of deliveries.
type Events = List<Text<EventKind>, 1, { DeliveryKind::CHOSEN.len() }>;
/// Words with which messages begin.
type Words = List<Text<TriggerWord>, 0, { trigger_words::MOST }>;

#[derive(Object)]
struct NewWebhook {
    /// Also the author's name of feeds without a `username`.
    webhook_name: Text<webhooks::Name>,
    /// The event name of feeds without one.
    event_name: Option<Text<webhooks::EventName>>,
    /// The address for deliveries: http or https, not on this server.
    webhook_url: Option<Text<WebAddress>>,
    /// A secret that the program that feeds has, too: of 16 characters or more, or empty for none. With one, only bodies that
    /// it signs are taken, in the header of GitHub, Gitea, Forgejo, GitLab, Sentry, Grafana or Standard Webhooks. It is never shown.
    sender_secret: Option<Text<webhooks::SenderSecret>>,
    /// What is delivered; `message.created` alone if omitted.
    events: Option<Events>,
    /// Only new and edited messages that begin with one of these words are delivered, in small or capital letters; all of them
    /// if there are no words. Deletions and reactions are delivered in either case.
    trigger_words: Option<Words>,
    /// Whether what happens in all public channels of the organisation is delivered, beside what happens in this channel. For
    /// holders of `manage:webhooks`; an organisation has up to 10 such webhooks. `false` if omitted.
    all_channels: Option<bool>,
    /// Whether a delivery waits until the one before it has succeeded or was given up. `false` if omitted.
    ordered: Option<bool>,
}

#[derive(Object)]
struct EditWebhook {
    webhook_name: Option<Text<webhooks::Name>>,
    event_name: Option<Text<webhooks::EventName>>,
    /// The new address for deliveries; an empty one removes the address.
    webhook_url: Option<Text<WebAddress>>,
    /// The new secret with which the program that feeds signs; an empty one removes it, so that all bodies are taken.
    sender_secret: Option<Text<webhooks::SenderSecret>>,
    /// What is delivered from now on, in place of what was.
    events: Option<Events>,
    /// The new words with which delivered messages begin; an empty list delivers all.
    trigger_words: Option<Words>,
    /// Whether what happens in all public channels is delivered from now on; `true` needs `manage:webhooks`.
    all_channels: Option<bool>,
    /// Whether deliveries wait for those before them; it holds for what fails from then on.
    ordered: Option<bool>,
}

#[derive(Object)]
struct NewStatus {
    webhook_status: Text<webhooks::NewStatus>,
}

#[derive(Object, Serialize)]
struct ChangedStatus {
    #[oai(flatten)]
    #[serde(flatten)]
    webhook: Webhook,
    /// The same as `status`.
    webhook_status: String,
}

#[derive(Object, Serialize)]
struct WebhookList {
    webhooks: Rows<Webhook>,
}

#[derive(Object, Serialize)]
struct Webhook {
    id: WebhookId,
    channel_id: ChannelId,
    /// The member who made the webhook, or who last set its address, rotated its secret or feed address, or made it
    /// active. If that member leaves the organisation, the channel's owner. The webhook delivers and accepts feeds only
    /// while its owner has access to the channel, and delivers only while the member who set its `webhook_url` has
    /// access, too.
    owner_id: UserId,
    webhook_name: String,
    event_name: String,
    /// `active`, `inactive` or `paused`.
    status: String,
    /// The address for deliveries; the feed address if there is none.
    webhook_url: Secret,
    /// The kinds of events that are delivered.
    events: Vec<String>,
    /// The words with which a new or edited message must begin to be delivered; all messages are if there are none.
    trigger_words: Vec<String>,
    /// Whether what happens in all public channels of the organisation is delivered, beside what happens in this channel. It is
    /// while the webhook's owner and the member who set its `webhook_url` hold `manage:webhooks`.
    all_channels: bool,
    /// Whether a delivery waits until the one before it has succeeded or was given up.
    ordered: bool,
    /// The secret of the feed address.
    webhook_slug: Secret,
    /// The feed address.
    feed_url: Secret,
    /// Whether only bodies are taken that their program has signed with the `sender_secret`.
    has_sender_secret: bool,
    /// The secret that signs deliveries. It is shown only when the webhook is made.
    #[oai(skip_serializing_if_is_none)]
    #[serde(skip_serializing_if = "Option::is_none")]
    webhook_secret: Option<Secret>,
    created_at: Time,
    updated_at: Time,
    /// Always null: deleted webhooks are not shown.
    deleted_at: Nullable<Time>,
}

impl Webhook {
    fn new(site: &Site, webhook: record::Webhook) -> Self {
        let feed_url = site.webhook_feed_url(webhook.id, webhook.generation, &webhook.slug_hash);
        Webhook {
            id: webhook.id,
            channel_id: webhook.channel,
            owner_id: webhook.owner_id,
            webhook_name: webhook.name,
            event_name: webhook.event_name,
            status: webhook.status.as_str().into(),
            webhook_url: if webhook.url.is_empty() { feed_url.clone() } else { webhook.url }.into(),
            events: webhook.events.kind_names().into_iter().map(str::to_owned).collect(),
            trigger_words: webhook.trigger_words.words().to_vec(),
            all_channels: webhook.organisation.is_some(),
            ordered: webhook.is_ordered,
            webhook_slug: site.keys().webhook_slug(webhook.id, webhook.generation, Some(&webhook.slug_hash)).into(),
            feed_url: feed_url.into(),
            has_sender_secret: webhook.has_sender_secret,
            webhook_secret: None,
            created_at: webhook.created_at,
            updated_at: webhook.updated_at,
            deleted_at: Nullable(None),
        }
    }
}

#[derive(Object, Serialize)]
struct History {
    webhooks_history: Rows<Attempt>,
}
