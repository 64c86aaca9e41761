//! Reactions to messages, and pinned messages.

use std::convert::identity;

use poem::web::Data;
use poem_openapi::{
    Object, OpenApi,
    param::{Path, Query},
};
use serde::Serialize;

use crate::{
    api::{
        http::{
            auth::{Bearer, IN_CHANNEL, POST, READ},
            body::{Body, Text},
            envelope::{Success, ok},
            framework_traits::Null,
            listing::{Address, Listed, Offset, Size, answer_list, fill, page_or_whole_list},
            rows::Rows,
        },
        tags::Tag,
    },
    db::Tx,
    domain::{
        access::Caller,
        messages::{
            pins, reactions,
            record::{Message, Reaction},
        },
        text::Emoji,
    },
    error::{Code, Error, Result},
    id::{ChannelId, MessageId},
    state::App,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// React to a message
    ///
    /// For members of the channel with the right to post. A message takes up to 50
    /// different emojis. Repeating a reaction changes nothing.
    #[oai(
        path = "/channels/:channel_id/messages/:message_id/reactions/:emoji",
        method = "put",
        operation_id = "addReaction",
        tag = "Tag::Messages"
    )]
    async fn add(
        &self,
        caller: Bearer<POST, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        message_id: Path<MessageId>,
        emoji: Path<Text<Emoji>>,
    ) -> Result<Success<ReactionList>> {
        add(&app, caller.0, (*channel_id, *message_id), (emoji.0.0, "emoji"), 0).await
    }

    /// React to a message that the body names
    ///
    /// The same as `PUT /channels/{channel_id}/messages/{message_id}/reactions/{emoji}`.
    #[oai(path = "/reactions/:channel_id", method = "post", operation_id = "addNamedReaction", tag = "Tag::Messages")]
    async fn add_named(
        &self,
        caller: Bearer<POST, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        body: Body<NewReaction>,
    ) -> Result<Success<ReactionList>> {
        let Body(NewReaction { thread_id, message_id, reaction }, bytes) = body;
        let message = message_id.or(thread_id);
        let message = message.ok_or_else(|| Error::BadRequest(Code::Required.says("thread_id is required").at("thread_id")))?;
        add(&app, caller.0, (*channel_id, message), (reaction.0, "reaction"), bytes).await
    }

    /// Remove a reaction
    #[oai(
        path = "/channels/:channel_id/messages/:message_id/reactions/:emoji",
        method = "delete",
        operation_id = "removeReaction",
        tag = "Tag::Messages"
    )]
    async fn remove(
        &self,
        caller: Bearer<POST, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        message_id: Path<MessageId>,
        emoji: Path<Text<Emoji>>,
    ) -> Result<Success<Null>> {
        app.write_throttled(caller.0.share(), 0, move |tx| reactions::remove(tx, caller.0, *channel_id, *message_id, &emoji))
            .await?;
        Ok(ok("Reaction removed successfully", Null))
    }

    /// Pin a message to its channel
    ///
    /// For members of the channel with the right to post. A channel has up to 100 pinned messages.
    #[oai(
        path = "/channels/:channel_id/messages/:message_id/pin",
        method = "put",
        operation_id = "pinMessage",
        tag = "Tag::Messages"
    )]
    async fn pin(
        &self,
        caller: Bearer<POST, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        message_id: Path<MessageId>,
    ) -> Result<Success<Message>> {
        pin(&app, caller.0, (*channel_id, *message_id), 0).await
    }

    /// Pin a post that the body names
    ///
    /// The same as `PUT /channels/{channel_id}/messages/{message_id}/pin`.
    #[oai(path = "/channels/pin/:channel_id/thread", method = "post", operation_id = "pinThread", tag = "Tag::Messages")]
    async fn pin_thread(
        &self,
        caller: Bearer<POST, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        body: Body<NewPin>,
    ) -> Result<Success<Message>> {
        pin(&app, caller.0, (*channel_id, body.thread_id), body.1).await
    }

    /// Unpin a post, by another path
    ///
    /// The same as `DELETE /channels/{channel_id}/messages/{message_id}/pin`.
    #[oai(
        path = "/channels/pin/:channel_id/thread/:thread_id",
        method = "delete",
        operation_id = "unpinThread",
        tag = "Tag::Messages"
    )]
    async fn unpin_thread(
        &self,
        caller: Bearer<POST, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        thread_id: Path<MessageId>,
    ) -> Result<Success<Null>> {
        unpin(&app, caller.0, (*channel_id, *thread_id)).await
    }

    /// Unpin a message, by another path
    ///
    /// The same as `DELETE /channels/{channel_id}/messages/{message_id}/pin`.
    #[oai(
        path = "/channels/pin/:channel_id/message/:message_id",
        method = "delete",
        operation_id = "unpinNamedMessage",
        tag = "Tag::Messages"
    )]
    async fn unpin_message(
        &self,
        caller: Bearer<POST, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        message_id: Path<MessageId>,
    ) -> Result<Success<Null>> {
        unpin(&app, caller.0, (*channel_id, *message_id)).await
    }

    /// Unpin a message
    #[oai(
        path = "/channels/:channel_id/messages/:message_id/pin",
        method = "delete",
        operation_id = "unpinMessage",
        tag = "Tag::Messages"
    )]
    async fn unpin(
        &self,
        caller: Bearer<POST, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        message_id: Path<MessageId>,
    ) -> Result<Success<Null>> {
        unpin(&app, caller.0, (*channel_id, *message_id)).await
    }

    /// List a channel's pinned messages
    ///
    /// Lists posts and replies, the latest pinned first. For members of the channel.
    #[oai(path = "/channels/:channel_id/pins", method = "get", operation_id = "listPinnedMessages", tag = "Tag::Messages")]
    async fn pins(
        &self,
        caller: Bearer<READ, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        address: Address,
        /// Rows to skip; default 0.
        offset: Query<Option<Offset>>,
        /// Up to 1,000, the default. An answer may end earlier, at 1 MB.
        limit: Query<Option<Size>>,
    ) -> Result<Listed<Rows<Message>>> {
        let (channel, page) = (*channel_id, page_or_whole_list(*offset, *limit));
        let read = app
            .db
            .read_bounded(caller.0.share(), move |conn| fill(page, |part| pins::list(conn, caller.0, channel, part), identity));
        Ok(answer_list("Pinned messages fetched successfully", read.await?, &address))
    }
}

async fn add(
    app: &App,
    caller: Caller,
    at: (ChannelId, MessageId),
    (emoji, field): (String, &'static str),
    bytes: usize,
) -> Result<Success<ReactionList>> {
    let (channel_id, message_id) = at;
    let add = move |tx: &mut Tx| reactions::add(tx, caller, channel_id, message_id, (&emoji, field));
    let reactions = app.write_throttled(caller.share(), bytes, add).await?;
    Ok(ok("Reaction added successfully", ReactionList { message_id, channel_id, reactions }))
}

async fn pin(app: &App, caller: Caller, (channel, message): (ChannelId, MessageId), bytes: usize) -> Result<Success<Message>> {
    let pinned = app.write_throttled(caller.share(), bytes, move |tx| pins::pin(tx, caller, channel, message)).await?;
    Ok(ok("Message pinned successfully", pinned))
}

async fn unpin(app: &App, caller: Caller, (channel, message): (ChannelId, MessageId)) -> Result<Success<Null>> {
    app.write_throttled(caller.share(), 0, move |tx| pins::unpin(tx, caller, channel, message)).await?;
    Ok(ok("Message unpinned successfully", Null))
}

#[derive(Object)]
struct NewReaction {
    /// The post. It stands for the message unless there is a `message_id`.
    thread_id: Option<MessageId>,
    /// The reply, or the post.
    message_id: Option<MessageId>,
    /// An emoji, or its name.
    reaction: Text<Emoji>,
}

#[derive(Object)]
struct NewPin {
    /// The post.
    thread_id: MessageId,
}

/// The reactions to a message.
#[derive(Object, Serialize)]
struct ReactionList {
    message_id: MessageId,
    channel_id: ChannelId,
    reactions: Vec<Reaction>,
}
