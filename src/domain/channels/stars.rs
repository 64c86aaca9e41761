//! Stars mark the channels that matter most to a member. Only that member sees them, and they end with the membership.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    db::Tx,
    domain::{
        access::{self, Caller},
        log::events,
    },
    error::Result,
    event::Kind,
    id::{ChannelId, OrganisationId},
};

/// Adds or removes the caller's star on a channel. Needs membership of the channel; guests may, too, and the channel may be
/// archived or a direct message. Pushes a change to the caller's own devices. 404 for a channel that the caller can't see;
/// 403 if they are not in it.
pub fn set(tx: &mut Tx, caller: Caller, channel: ChannelId, is_starred: bool) -> Result<()> {
    let access = access::is_in_channel(tx, caller, channel, access::UNKNOWN_CHANNEL)?;
    let changed = tx
        .prepare_cached("update channel_members set is_starred = ?3 where channel_id = ?1 and user_id = ?2 and is_starred <> ?3")?
        .execute((channel, caller.user, is_starred))?;
    if changed == 0 {
        return Ok(());
    }
    let data = StarChange { channels_id: channel, organisation_id: access.organisation, is_starred };
    events::emit_to_member(tx, access.organisation, caller.user, Kind::Star, channel, data)
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
