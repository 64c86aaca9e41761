//! Stars and mutes, which members set on channels for themselves.

use poem::web::Data;
use poem_openapi::{Object, OpenApi, param::Path};
use serde::Serialize;

use crate::{
    api::{
        http::{
            auth::{Bearer, CHANNELS, IN_CHANNEL},
            envelope::{Success, ok},
        },
        tags::Tag,
    },
    domain::channels::preferences,
    error::Result,
    id::ChannelId,
    state::App,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Star a channel
    ///
    /// For the caller alone, who must be in the channel. Direct messages and archived channels can be starred, too. The
    /// caller's own devices are told. The star ends with the membership.
    #[oai(path = "/channels/:channel_id/star", method = "post", operation_id = "starChannel", tag = "Tag::Channels")]
    async fn star(
        &self,
        caller: Bearer<CHANNELS, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
    ) -> Result<Success<Star>> {
        let channels_id = *channel_id;
        app.db.write(move |tx| preferences::set_star(tx, caller.0, channels_id, true)).await?;
        Ok(ok("Channel starred successfully", Star { channels_id, is_starred: true }))
    }

    /// Unstar a channel
    ///
    /// For the caller alone. Without a star, the answer is the same.
    #[oai(path = "/channels/:channel_id/star", method = "delete", operation_id = "unstarChannel", tag = "Tag::Channels")]
    async fn unstar(
        &self,
        caller: Bearer<CHANNELS, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
    ) -> Result<Success<Star>> {
        let channels_id = *channel_id;
        app.db.write(move |tx| preferences::set_star(tx, caller.0, channels_id, false)).await?;
        Ok(ok("Channel unstarred successfully", Star { channels_id, is_starred: false }))
    }

    /// Mute a channel
    ///
    /// For the caller alone, who must be in the channel. Direct messages and archived channels can be muted, too. Unread posts
    /// are counted as before, and so are mentions of the caller, but not those of everybody; clients show its other posts
    /// without emphasis, and the `unread_count` of the organisation in `GET /start` leaves them out. The caller's own devices
    /// are told. The mute ends with the membership.
    #[oai(path = "/channels/:channel_id/mute", method = "post", operation_id = "muteChannel", tag = "Tag::Channels")]
    async fn mute(
        &self,
        caller: Bearer<CHANNELS, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
    ) -> Result<Success<Mute>> {
        let channels_id = *channel_id;
        app.db.write(move |tx| preferences::set_mute(tx, caller.0, channels_id, true)).await?;
        Ok(ok("Channel muted successfully", Mute { channels_id, is_muted: true }))
    }

    /// Unmute a channel
    ///
    /// For the caller alone. Without a mute, the answer is the same.
    #[oai(path = "/channels/:channel_id/mute", method = "delete", operation_id = "unmuteChannel", tag = "Tag::Channels")]
    async fn unmute(
        &self,
        caller: Bearer<CHANNELS, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
    ) -> Result<Success<Mute>> {
        let channels_id = *channel_id;
        app.db.write(move |tx| preferences::set_mute(tx, caller.0, channels_id, false)).await?;
        Ok(ok("Channel unmuted successfully", Mute { channels_id, is_muted: false }))
    }
}

#[derive(Object, Serialize)]
struct Star {
    channels_id: ChannelId,
    /// Whether the caller has starred the channel.
    is_starred: bool,
}

#[derive(Object, Serialize)]
struct Mute {
    channels_id: ChannelId,
    /// Whether the caller has muted the channel.
    is_muted: bool,
}
