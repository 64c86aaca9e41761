//! The event `trigger_notification`, by which existing clients load their list of channels anew. `channel_update` tells the same
//! in full.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    db::Tx,
    domain::log::{events, publication_envelope::envelope},
    error::Result,
    event::{Kind, Stream},
    id::{ChannelId, OrganisationId, UserId},
};

/// A change of the receiver's list of channels.
#[derive(Clone, Copy, Serialize, JsonSchema)]
pub struct SidebarTrigger {
    /// Whether the receiver has joined a channel, has left one, or is in a new one.
    trigger_action: SidebarChange,
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum SidebarChange {
    Joined,
    Leave,
    Create,
}

/// Logs for a user's own devices that they have joined or left a channel. The row names no channel: rows that do are not
/// recovered by those who are out of it.
pub(super) fn emit_to_user(tx: &mut Tx, organisation: OrganisationId, user: UserId, change: SidebarChange) -> Result<()> {
    emit(tx, Stream::Personal(organisation, user), None, change)
}

/// Logs for all members of a channel that it is new: one row of the log, however many they are.
pub(super) fn emit_created(tx: &mut Tx, channel: ChannelId) -> Result<()> {
    emit(tx, Stream::Channel(channel), Some(channel), SidebarChange::Create)
}

fn emit(tx: &mut Tx, stream: Stream, channel: Option<ChannelId>, trigger_action: SidebarChange) -> Result<()> {
    let kind = Kind::SidebarTrigger;
    let body = &envelope(kind, false, SidebarTrigger { trigger_action });
    let new = events::New { kind, stream, to_members: channel.is_some(), channel, message: None, actor: None, body };
    events::emit(tx, new)?;
    Ok(())
}
