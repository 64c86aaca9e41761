//! The event `channel_update`, which reports changes of a channel and of its members.

use rusqlite::Connection;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    db::Tx,
    domain::{
        accounts,
        channels::{record, sidebar_trigger},
        log::{
            events,
            publication_envelope::{Envelope, Ids, envelope},
        },
    },
    error::Result,
    event::{Kind, Stream},
    id::{ChannelId, OrganisationId, UserId},
    time::Time,
};

/// A channel after a change.
#[derive(Serialize, JsonSchema)]
pub struct ChannelUpdate {
    /// What happened to the channel, or to its member `user_id`.
    #[schemars(extend("enum" = ["created", "updated", "archived", "unarchived", "deleted", "joined", "renamed", "left"]))]
    action: String,
    /// The user who made the change, or the member who joined, was renamed or left.
    user_id: UserId,
    /// Whether that user is a person or a bot.
    #[schemars(extend("enum" = ["user", "bot"]))]
    user_type: &'static str,
    /// The member's name in the channel, after `joined` and `renamed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub username: Option<String>,
    /// When the member joined, after `joined` and `renamed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Time")]
    pub joined_at: Option<Time>,
    /// The number of the channel's members.
    user_count: i64,
    /// The channel.
    channels_id: ChannelId,
    /// The channel's organisation.
    organisation_id: OrganisationId,
    /// The user who owns the channel.
    owner_id: UserId,
    /// The channel's name.
    name: String,
    /// The channel's description.
    description: String,
    /// The channel's topic.
    topic: String,
    /// Whether only its members may see the channel.
    is_private: bool,
    /// Whether the channel is a direct message.
    is_dm: bool,
    /// Whether the channel is archived.
    archived: bool,
    /// When the channel was created.
    created_at: Time,
    /// When the channel was last changed.
    updated_at: Time,
    /// `0001-01-01T00:00:00Z` unless the channel is deleted.
    deleted_at: Time,
}

/// The identifiers of a `channel_update`.
#[derive(Serialize, JsonSchema)]
pub struct ChannelIds {
    /// The channel.
    channel_id: ChannelId,
    /// The user who made the change, or whom it is about.
    user_id: UserId,
    /// The channel's organisation.
    org_id: OrganisationId,
}

/// The body of a `channel_update`.
pub type Body = Envelope<ChannelUpdate, Ids<ChannelIds>>;

/// Logs a `channel_update` for the channel's stream and for the personal stream of each of its members, and beside it that a
/// channel is new.
pub(in crate::domain) fn announce(tx: &mut Tx, id: ChannelId, action: &str, actor: UserId) -> Result<()> {
    let body = update_body(tx, id, action, actor)?;
    emit_to_all(tx, id, &body)?;
    if action == "created" { sidebar_trigger::emit_created(tx, id) } else { Ok(()) }
}

/// Logs a `channel_update` for the streams of [`announce`].
pub(super) fn emit_to_all(tx: &mut Tx, id: ChannelId, body: &Body) -> Result<()> {
    // The event has no actor: members get it unless they are the actor, and the actor's other devices need it, too.
    let new = events::New {
        kind: Kind::Channel,
        stream: Stream::Channel(id),
        to_members: true,
        channel: Some(id),
        message: None,
        actor: None,
        body,
    };
    events::emit(tx, new)?;
    Ok(())
}

/// Logs a `channel_update` for one stream. `user` is the member whom it is about.
pub(in crate::domain) fn emit(tx: &mut Tx, id: ChannelId, stream: Stream, user: UserId, body: &Body) -> Result<()> {
    let new =
        events::New { kind: Kind::Channel, stream, to_members: false, channel: Some(id), message: None, actor: Some(user), body };
    events::emit(tx, new)?;
    Ok(())
}

/// The body of a `channel_update`: the channel as it is now, what happened, and the user who did it or whom it is about.
pub(in crate::domain) fn update_body(conn: &Connection, id: ChannelId, action: &str, user: UserId) -> Result<Body> {
    let channel = record::get(conn, id)?;
    let modification_ids = ChannelIds { channel_id: id, user_id: user, org_id: channel.organisation };
    let data = ChannelUpdate {
        action: action.into(),
        user_id: user,
        user_type: accounts::user_type(accounts::is_bot(conn, user)?),
        username: None,
        joined_at: None,
        user_count: channel.user_count,
        channels_id: id,
        organisation_id: channel.organisation,
        owner_id: channel.owner_id,
        name: channel.name,
        description: channel.description,
        topic: channel.topic,
        is_private: channel.is_private,
        is_dm: channel.is_dm,
        archived: channel.archived_at.is_some(),
        created_at: channel.created_at,
        updated_at: channel.updated_at,
        deleted_at: channel.deleted_at.unwrap_or(Time::NEVER),
    };
    Ok(envelope(Kind::Channel, false, data).with(Ids { modification_ids }))
}
