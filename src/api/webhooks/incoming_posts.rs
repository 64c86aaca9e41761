//! Feeding posts into a channel.

use std::sync::Arc;

use poem::web::Data;
use poem_openapi::{
    Object, OpenApi,
    param::{Path, Query},
};

use super::incoming::{Feed, Incoming};
use crate::{
    api::{
        http::{
            auth::{Bearer, Feeder, IN_CHANNEL, POST},
            body::{Body, Text},
            envelope::{FeedAnswer, ProgramAnswer, webhook_post_answer},
        },
        tags::Tag,
    },
    db::Tx,
    domain::{
        access::Caller,
        text::WebAddress,
        webhooks::{EventName, incoming_posts, received::Received},
    },
    error::{Error, Result},
    id::{ChannelId, MessageId},
    limits::Author,
    secret::sender_proof::Proof,
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
    async fn queue(&self, caller: Bearer<POST, IN_CHANNEL>, app: Data<&App>, body: Body<QueuedFeed>) -> Result<FeedAnswer> {
        let Body(QueuedFeed { channel_id, feed }, bytes) = body;
        let feed = feed.into();
        let message = app
            .write_throttled(caller.0.share(), bytes, move |tx| incoming_posts::post_as_member(tx, caller.0, channel_id, &feed))
            .await?;
        Ok(sent(Some(message)))
    }

    /// Feed a webhook
    ///
    /// The address is the secret: no bearer token is needed, unless the server is configured so. If a bearer token is
    /// sent, its user must be a member of the channel with the right to post, and is then the author. A paused webhook
    /// gives the same answer and posts nothing. 403 while the webhook's owner may not post in the channel. Each feed makes
    /// a post of its own: a `thread_id` in the body is ignored.
    ///
    /// If the webhook has a `sender_secret`, 401 without a signature by it, in the header of GitHub, Gitea, Forgejo, GitLab,
    /// Sentry, Grafana or Standard Webhooks.
    ///
    /// Bodies of other programs are taken, too, and recognised by their fields or headers: those of Slack and Discord, plain
    /// text, and the events of the tools in the guide under Integrations. A body of Slack's is answered with 200 and the
    /// text `ok`, one of Discord's with 204, or with `?wait=true` with 200 and the `id` of the message. `POST /hooks/{webhook_slug}`, outside of `/api/v1`, takes the same bodies and
    /// reads those of Slack's form as Mattermost's, whose texts are Markdown.
    #[oai(path = "/webhooks/feed/:webhook_slug", method = "post", operation_id = "feedWebhook", tag = "Tag::Webhooks")]
    async fn feed(
        &self,
        feeder: Feeder,
        app: Data<&App>,
        webhook_slug: Path<Text<incoming_posts::Slug>>,
        body: Incoming,
    ) -> Result<ProgramAnswer> {
        let Incoming { read, received, proof, bytes, answer } = body;
        let Feeder { caller, is_known_slug } = feeder;
        let (slug, received) = (webhook_slug.0, Arc::new(received));
        let taken = match read {
            Ok(_) if !is_known_slug => Err(incoming_posts::UNKNOWN),
            Ok(feed) => take(&app, caller, slug.clone(), feed, (received.clone(), proof), bytes).await,
            Err(err) => Err(err),
        };
        if is_known_slug && let Err(err @ (Error::BadRequest(_) | Error::Invalid(_) | Error::Unauthorized(..))) = &taken {
            let (status, why) = (err.status(), err.to_string());
            let record = move |tx: &mut Tx| incoming_posts::record_refused(tx, &slug, &received, (status, &why));
            app.db.write_sized(bytes, record).await?;
        }
        Ok(answer(taken?))
    }

    /// Feed a webhook by its address alone
    ///
    /// Takes the post from the query, for programs that can only open an address. They can sign nothing: 401 if the webhook has
    /// a `sender_secret`.
    #[oai(path = "/webhooks/feed/:webhook_slug", method = "get", operation_id = "feedWebhookByQuery", tag = "Tag::Webhooks")]
    async fn feed_by_query(
        &self,
        feeder: Feeder,
        app: Data<&App>,
        webhook_slug: Path<Text<incoming_posts::Slug>>,
        username: Query<Text<incoming_posts::Username>>,
        event_name: Query<Text<EventName>>,
        /// The text of the post.
        message: Query<Text<incoming_posts::QueriedMessage>>,
        /// `success` or `error`; or `firing`, which the post shows as `error`, and `resolved`, which it shows as `success`.
        status: Query<Text<incoming_posts::Status>>,
        action_type: Query<Option<Text<incoming_posts::ActionType>>>,
        /// The address of a picture. If a bearer token is sent, the post has the member's picture instead.
        avatar_url: Query<Option<Text<WebAddress>>>,
    ) -> Result<FeedAnswer> {
        incoming_posts::QueriedMessage::check(&message, "message").map_err(Error::Invalid)?;
        if !feeder.is_known_slug {
            return Err(incoming_posts::UNKNOWN);
        }
        let feed = incoming_posts::Feed {
            message: message.0.0,
            username: username.0.0,
            event_name: event_name.0.0,
            action_type: action_type.0.unwrap_or_default().0,
            avatar_url: avatar_url.0.unwrap_or_default().0,
            status: Some(status.0.0),
            quotes_strangers: false,
            actions: Vec::new(),
        };
        let bytes = feed.message.len();
        let shown = (Arc::new(Received::from_query()), Proof::default());
        take(&app, feeder.caller, webhook_slug.0, Some(feed), shown, bytes).await
    }
}

async fn take(
    app: &App,
    caller: Option<Caller>,
    slug: Text<incoming_posts::Slug>,
    feed: Option<incoming_posts::Feed>,
    (received, proof): (Arc<Received>, Proof),
    bytes: usize,
) -> Result<FeedAnswer> {
    let author = Author::of_slug(&slug.0);
    let post = move |tx: &mut Tx| incoming_posts::receive(tx, caller, &slug, feed.as_ref(), (&received, &proof));
    Ok(sent(app.write_throttled(author, bytes, post).await?))
}

fn sent(message: Option<MessageId>) -> FeedAnswer {
    webhook_post_answer("Data sent successfully", message)
}

#[derive(Object)]
struct QueuedFeed {
    channel_id: ChannelId,
    #[oai(flatten)]
    feed: Feed,
}
