//! What a member sets on a channel for themselves: a star on those that matter most, and a mute on those that are not to call. Only
//! that member sees it, and it ends with the membership.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    db::{Columns, Tx},
    domain::{
        access::{self, Caller},
        channels::unread_counts,
        log::events,
    },
    error::Result,
    event::Kind,
    id::{ChannelId, OrganisationId},
};

/// What the caller has set on a channel; nothing on one that they are not in.
#[derive(Clone, Copy)]
pub struct Preferences {
    pub is_starred: bool,
    /// Whether posts without a mention of the caller are not to call them.
    pub is_muted: bool,
}

/// SQL columns for use with [`SEEN`](access::SEEN) or [`OWN`](access::OWN), whose `cm` is the caller's membership, if any.
pub(super) const PREFERENCES: &str = "cm.is_starred is 1, cm.is_muted is 1";

impl Preferences {
    /// Takes [`PREFERENCES`].
    pub(super) fn take(columns: &mut Columns) -> rusqlite::Result<Preferences> {
        Ok(Preferences { is_starred: columns.take()?, is_muted: columns.take()? })
    }
}

/// Adds or removes the caller's star on a channel. Needs membership of the channel; guests may, too, and the channel may be
/// archived or a direct message. Pushes a change to the caller's own devices. 404 for a channel that the caller can't see;
/// 403 if they are not in it.
pub fn set_star(tx: &mut Tx, caller: Caller, channel: ChannelId, is_starred: bool) -> Result<()> {
    let organisation_id = access::require_channel_member(tx, caller, channel, access::UNKNOWN_CHANNEL)?.organisation;
    if !set(tx, caller, channel, "is_starred", is_starred)? {
        return Ok(());
    }
    let data = StarChange { channels_id: channel, organisation_id, is_starred };
    events::emit_to_member(tx, organisation_id, caller.user, Kind::Star, channel, data)
}

/// Mutes a channel for the caller, or lets it call again. For whom, where and with which errors as [`set_star`]. If that changes
/// the caller's unread counts, these are pushed as well.
pub fn set_mute(tx: &mut Tx, caller: Caller, channel: ChannelId, is_muted: bool) -> Result<()> {
    let organisation_id = access::require_channel_member(tx, caller, channel, access::UNKNOWN_CHANNEL)?.organisation;
    let before = unread_counts::counts(tx, channel, caller.user)?;
    if !set(tx, caller, channel, "is_muted", is_muted)? {
        return Ok(());
    }
    let data = MuteChange { channels_id: channel, organisation_id, is_muted };
    events::emit_to_member(tx, organisation_id, caller.user, Kind::Mute, channel, data)?;
    let after = unread_counts::counts(tx, channel, caller.user)?;
    if after == before { Ok(()) } else { unread_counts::push_counts(tx, caller.user, channel, after) }
}

/// Sets a column of the caller's membership. Returns whether that changed something.
fn set(tx: &Tx, caller: Caller, channel: ChannelId, column: &str, value: bool) -> Result<bool> {
    let sql = format!("update channel_members set {column} = ?3 where channel_id = ?1 and user_id = ?2 and {column} <> ?3");
    Ok(tx.prepare_cached(&sql)?.execute((channel, caller.user, value))? > 0)
}

/// A channel that the receiver has starred, or taken the star off.
#[derive(Serialize, JsonSchema)]
pub struct StarChange {
    /// The channel.
    channels_id: ChannelId,
    /// The channel's organisation.
    organisation_id: OrganisationId,
    /// Whether the channel has the star after the change.
    is_starred: bool,
}

/// A channel that the receiver has muted, or lets call again.
#[derive(Serialize, JsonSchema)]
pub struct MuteChange {
    /// The channel.
    channels_id: ChannelId,
    /// The channel's organisation.
    organisation_id: OrganisationId,
    /// Whether the channel is muted after the change.
    is_muted: bool,
}
