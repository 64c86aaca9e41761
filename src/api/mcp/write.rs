//! The tools that post.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{arguments, shown};
use crate::{
    domain::{
        access::Caller,
        messages::{
            linked_message,
            posting::{self, New},
            reactions,
            record::Message,
        },
    },
    error::Result,
    id::{ChannelId, MessageId},
    state::App,
    time::Time,
};

/// What was posted.
#[derive(Serialize)]
struct Posted {
    id: MessageId,
    channel_id: ChannelId,
    thread_id: MessageId,
    written_at: Time,
}

pub async fn post_message(app: &App, caller: Caller, arguments: Map<String, Value>) -> Result<String> {
    let arguments::PostMessage { channel, organisation, text } = arguments::parse(arguments)?;
    let channel = app.db.read(|conn| arguments::channel(conn, caller, &channel, organisation.as_deref()))?;
    post(app, caller, channel.id, New { content: text, ..New::default() }).await
}

pub async fn reply(app: &App, caller: Caller, arguments: Map<String, Value>) -> Result<String> {
    let arguments::Reply { thread, text } = arguments::parse(arguments)?;
    let (answered, _) = app.db.read(|conn| linked_message::get(conn, caller, thread))?;
    post(app, caller, answered.channel, New { content: text, thread: Some(answered.thread), ..New::default() }).await
}

async fn post(app: &App, caller: Caller, channel: ChannelId, new: New) -> Result<String> {
    let bytes = new.content.len();
    let Message { id, channel, thread, created_at, .. } =
        app.write_throttled(caller.share(), bytes, move |tx| posting::create(tx, caller, channel, new)).await?;
    Ok(shown::result_text(&Posted { id, channel_id: channel, thread_id: thread, written_at: created_at }))
}

/// The message with its reactions.
#[derive(Serialize)]
struct Reacted {
    id: MessageId,
    reactions: Option<String>,
}

pub async fn react(app: &App, caller: Caller, arguments: Map<String, Value>) -> Result<String> {
    let arguments::React { message: id, emoji } = arguments::parse(arguments)?;
    let (message, _) = app.db.read(|conn| linked_message::get(conn, caller, id))?;
    let reacted = app
        .write_throttled(caller.share(), 0, move |tx| reactions::add(tx, caller, message.channel, id, (&emoji, "emoji")))
        .await?;
    Ok(shown::result_text(&Reacted { id, reactions: shown::reactions(&reacted) }))
}
