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
            auth::Bearer,
            body::Text,
            envelope::{Success, ok},
            framework_traits::Null,
            listing::{Address, Listed, Offset, Size, answer_list, fill, page_or_whole_list},
            rows::Rows,
        },
        tags::Tag,
    },
    domain::{
        messages::{
            pins, reactions,
            record::{Message, Reaction},
        },
        text::Emoji,
    },
    error::Result,
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
        caller: Bearer,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        message_id: Path<MessageId>,
        emoji: Path<Text<Emoji>>,
    ) -> Result<Success<ReactionList>> {
        let (channel_id, message_id) = (*channel_id, *message_id);
        let reactions =
            app.write_throttled(caller.0.user, 0, move |tx| reactions::add(tx, caller.0, channel_id, message_id, &emoji)).await?;
        Ok(ok("Reaction added successfully", ReactionList { message_id, channel_id, reactions }))
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
        caller: Bearer,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        message_id: Path<MessageId>,
        emoji: Path<Text<Emoji>>,
    ) -> Result<Success<Null>> {
        app.write_throttled(caller.0.user, 0, move |tx| reactions::remove(tx, caller.0, *channel_id, *message_id, &emoji))
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
        caller: Bearer,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        message_id: Path<MessageId>,
    ) -> Result<Success<Message>> {
        let pinned = app.write_throttled(caller.0.user, 0, move |tx| pins::pin(tx, caller.0, *channel_id, *message_id)).await?;
        Ok(ok("Message pinned successfully", pinned))
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
        caller: Bearer,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        message_id: Path<MessageId>,
    ) -> Result<Success<Null>> {
        app.write_throttled(caller.0.user, 0, move |tx| pins::unpin(tx, caller.0, *channel_id, *message_id)).await?;
        Ok(ok("Message unpinned successfully", Null))
    }

    /// List a channel's pinned messages
    ///
    /// Lists posts and replies, the latest pinned first. For members of the channel.
    #[oai(path = "/channels/:channel_id/pins", method = "get", operation_id = "listPinnedMessages", tag = "Tag::Messages")]
    async fn pins(
        &self,
        caller: Bearer,
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
            .read_bounded(caller.0.user, move |conn| fill(page, |part| pins::list(conn, caller.0, channel, part), identity));
        Ok(answer_list("Pinned messages fetched successfully", read.await?, &address))
    }
}

/// The reactions to a message.
#[derive(Object, Serialize)]
struct ReactionList {
    message_id: MessageId,
    channel_id: ChannelId,
    reactions: Vec<Reaction>,
}
