//! The event `channel_update`, which reports changes of a channel and of its members.

use rusqlite::Connection;
use serde_json::json;

use crate::{
    db::Tx,
    domain::{channels::record, log::events},
    error::Result,
    event::{Kind, Stream},
    id::{ChannelId, UserId},
    time::Time,
};

/// Logs a `channel_update` for the channel's stream and for the personal stream of each of its members.
pub(in crate::domain) fn announce(tx: &mut Tx, id: ChannelId, action: &str, actor: UserId) -> Result<()> {
    let body = update_body(tx, id, action, actor)?;
    // The event has no actor: members get it unless they are the actor, and the actor's other devices need it, too.
    let new = events::New {
        kind: Kind::Channel,
        stream: Stream::Channel(id),
        to_members: true,
        channel: Some(id),
        message: None,
        actor: None,
        body: &body,
    };
    events::emit(tx, new)?;
    Ok(())
}

/// Logs a `channel_update` for one stream. `user` is the member whom it is about.
pub(in crate::domain) fn tell(tx: &mut Tx, id: ChannelId, stream: Stream, user: UserId, body: &serde_json::Value) -> Result<()> {
    let new =
        events::New { kind: Kind::Channel, stream, to_members: false, channel: Some(id), message: None, actor: Some(user), body };
    events::emit(tx, new)?;
    Ok(())
}

/// The body of a `channel_update`: the channel as it is now, what happened, and the user who did it or whom it is about.
pub(in crate::domain) fn update_body(conn: &Connection, id: ChannelId, action: &str, user: UserId) -> Result<serde_json::Value> {
    let channel = record::get(conn, id)?;
    let data = json!({
        "action": action, "user_id": user, "user_count": channel.user_count,
        "channels_id": id, "organisation_id": channel.organisation, "owner_id": channel.owner_id,
        "name": channel.name, "description": channel.description, "topic": channel.topic,
        "is_private": channel.is_private, "is_dm": channel.is_dm, "archived": channel.archived_at.is_some(),
        "created_at": channel.created_at, "updated_at": channel.updated_at, "deleted_at": channel.deleted_at.unwrap_or(Time::NEVER),
    });
    let mut body = events::envelope(Kind::Channel, false, data);
    body["modification_ids"] = json!({ "channel_id": id, "user_id": user, "org_id": channel.organisation });
    Ok(body)
}
