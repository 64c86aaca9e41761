//! A single message.

use poem::web::Data;
use poem_openapi::{Object, OpenApi, param::Path};
use serde::Serialize;

use crate::{
    api::{
        http::{
            auth::{Bearer, IN_CHANNEL, READ},
            envelope::{Success, ok},
        },
        tags::Tag,
    },
    domain::messages::{linked_message, record::Message},
    error::Result,
    id::{ChannelId, MessageId},
    state::App,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Read a message
    ///
    /// Answers a post or a reply with its channel, as a link to the message needs them. For members of its channel.
    #[oai(path = "/messages/:message_id", method = "get", operation_id = "getMessage", tag = "Tag::Messages")]
    async fn get(
        &self,
        caller: Bearer<READ, IN_CHANNEL>,
        app: Data<&App>,
        message_id: Path<MessageId>,
    ) -> Result<Success<SingleMessage>> {
        let (message, place) = app.db.read(|conn| linked_message::get(conn, caller.0, *message_id))?;
        let channel = MessageChannel { id: message.channel, name: place.name, is_private: place.is_private, is_dm: place.is_dm };
        Ok(ok("Data retrieved successfully", SingleMessage { message, channel }))
    }
}

/// A message with its channel.
#[derive(Object, Serialize)]
struct SingleMessage {
    #[oai(flatten)]
    #[serde(flatten)]
    message: Message,
    channel: MessageChannel,
}

/// The channel of a message.
#[derive(Object, Serialize)]
struct MessageChannel {
    id: ChannelId,
    name: String,
    is_private: bool,
    /// Whether the channel is a direct message.
    is_dm: bool,
}
