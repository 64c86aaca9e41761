//! Feeding posts into a channel.

use poem::web::Data;
use poem_openapi::{
    Object, OpenApi,
    param::{Path, Query},
};

use crate::{
    api::{
        http::{
            auth::{Bearer, Feeder},
            body::{self, Body, Text},
            envelope::{FeedAnswer, fed},
        },
        tags::Tag,
    },
    domain::{
        access::Caller,
        messages::posting::Content,
        text::WebAddress,
        webhooks::{EventName, feeds},
    },
    error::{Error, Result},
    id::{ChannelId, MessageId},
    state::App,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Feed a channel without a webhook
    ///
    /// Posts for a member's own program. Needs a bearer token and the right to post. The member is the author:
    /// `user_id`, `full_name`, `email` and `avatar_url` of the post are theirs, and `username` is only a label. No
    /// history records the feed. Each feed makes a post of its own: a `thread_id` in the body is ignored.
    #[oai(path = "/webhooks/feed/backend-queue", method = "post", operation_id = "feedChannel", tag = "Tag::Webhooks")]
    async fn queue(&self, caller: Bearer, app: Data<&App>, body: Body<QueuedFeed>) -> Result<FeedAnswer> {
        let Body(QueuedFeed { channel_id, feed }, bytes) = body;
        let feed = feed.into();
        let message = app.db.write_sized(bytes, move |tx| feeds::post(tx, caller.0, channel_id, &feed)).await?;
        Ok(sent(Some(message)))
    }

    /// Feed a webhook
    ///
    /// The address is the secret: no bearer token is needed, unless the server is configured so. If a bearer token is
    /// sent, its user must be a member of the channel with the right to post, and is then the author. A paused webhook
    /// gives the same answer and posts nothing. 403 while the webhook's owner may not post in the channel. Each feed makes
    /// a post of its own: a `thread_id` in the body is ignored.
    #[oai(path = "/webhooks/feed/:webhook_slug", method = "post", operation_id = "feedWebhook", tag = "Tag::Webhooks")]
    async fn feed(
        &self,
        feeder: Feeder,
        app: Data<&App>,
        webhook_slug: Path<Text<feeds::Slug>>,
        body: Body<Feed>,
    ) -> Result<FeedAnswer> {
        take(&app, feeder.0, webhook_slug.0, body.0.into(), body.1).await
    }

    /// Feed a webhook by its address alone
    ///
    /// Takes the post from the query, for programs that can only open an address.
    #[oai(path = "/webhooks/feed/:webhook_slug", method = "get", operation_id = "feedWebhookByQuery", tag = "Tag::Webhooks")]
    async fn feed_by_query(
        &self,
        feeder: Feeder,
        app: Data<&App>,
        webhook_slug: Path<Text<feeds::Slug>>,
        username: Query<Text<feeds::Username>>,
        event_name: Query<Text<EventName>>,
        /// The text of the post.
        message: Query<Text<feeds::QueriedMessage>>,
        /// `success` or `error`; or `firing`, which the post shows as `error`, and `resolved`, which it shows as `success`.
        status: Query<Text<feeds::Status>>,
        action_type: Query<Option<Text<feeds::ActionType>>>,
        /// The address of a picture. If a bearer token is sent, the post has the member's picture instead.
        avatar_url: Query<Option<Text<WebAddress>>>,
    ) -> Result<FeedAnswer> {
        feeds::QueriedMessage::check(&message, "message").map_err(Error::Invalid)?;
        let feed = feeds::Feed {
            message: message.0.0,
            username: username.0.0,
            event_name: event_name.0.0,
            action_type: action_type.0.unwrap_or_default().0,
            avatar_url: avatar_url.0.unwrap_or_default().0,
            status: Some(status.0.0),
        };
        let bytes = feed.message.len();
        take(&app, feeder.0, webhook_slug.0, feed, bytes).await
    }
}

async fn take(app: &App, caller: Option<Caller>, slug: Text<feeds::Slug>, feed: feeds::Feed, bytes: usize) -> Result<FeedAnswer> {
    let message = app.db.write_sized(bytes, move |tx| feeds::take(tx, caller, &slug, &feed)).await?;
    Ok(sent(message))
}

fn sent(message: Option<MessageId>) -> FeedAnswer {
    fed("Data sent successfully", message)
}

#[derive(Object)]
struct Feed {
    /// The text of the post. `@username` and `@channel` mention.
    message: Text<Content>,
    /// The name shown; if omitted, the webhook's name, or without a webhook the member's.
    username: Option<Text<feeds::Username>>,
    /// If omitted, the webhook's event name.
    event_name: Option<Text<EventName>>,
    /// `success` or `error`, or as monitoring systems report alerts: `firing`, which the post shows as `error`, and
    /// `resolved`, which it shows as `success`. `success` if omitted.
    status: Option<Text<feeds::Status>>,
    action_type: Option<Text<feeds::ActionType>>,
    /// The http or https address of a picture. If a bearer token is sent, the post has the member's picture instead.
    avatar_url: Option<Text<WebAddress>>,
}

#[derive(Object)]
struct QueuedFeed {
    channel_id: ChannelId,
    #[oai(flatten)]
    feed: Feed,
}

impl From<Feed> for feeds::Feed {
    fn from(feed: Feed) -> Self {
        feeds::Feed {
            message: feed.message.0,
            username: feed.username.unwrap_or_default().0,
            event_name: feed.event_name.unwrap_or_default().0,
            action_type: feed.action_type.unwrap_or_default().0,
            avatar_url: feed.avatar_url.unwrap_or_default().0,
            status: body::text(feed.status),
        }
    }
}
