//! Stars, which members give to channels for themselves.

use poem::web::Data;
use poem_openapi::{Object, OpenApi, param::Path};
use serde::Serialize;

use crate::{
    api::{
        http::{
            auth::Bearer,
            envelope::{Success, ok},
        },
        tags::Tag,
    },
    domain::channels::stars,
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
    async fn add(&self, caller: Bearer, app: Data<&App>, channel_id: Path<ChannelId>) -> Result<Success<Star>> {
        let channels_id = *channel_id;
        app.db.write(move |tx| stars::set(tx, caller.0, channels_id, true)).await?;
        Ok(ok("Channel starred successfully", Star { channels_id, is_starred: true }))
    }

    /// Unstar a channel
    ///
    /// For the caller alone. Without a star, the answer is the same.
    #[oai(path = "/channels/:channel_id/star", method = "delete", operation_id = "unstarChannel", tag = "Tag::Channels")]
    async fn remove(&self, caller: Bearer, app: Data<&App>, channel_id: Path<ChannelId>) -> Result<Success<Star>> {
        let channels_id = *channel_id;
        app.db.write(move |tx| stars::set(tx, caller.0, channels_id, false)).await?;
        Ok(ok("Channel unstarred successfully", Star { channels_id, is_starred: false }))
    }
}

#[derive(Object, Serialize)]
struct Star {
    channels_id: ChannelId,
    /// Whether the caller has starred the channel.
    is_starred: bool,
}
