//! Full-text search over messages.

use poem::web::Data;
use poem_openapi::{
    OpenApi,
    param::{Path, Query},
};

use super::{
    Tag,
    auth::Bearer,
    body::Text,
    envelope::{Success, ok},
    messages::Message,
    size,
};
use crate::{
    app::App,
    domain::search,
    error::Result,
    id::{ChannelId, OrganisationId},
};

/// Messages found.
const PAGE: u32 = 50;
const LARGEST_PAGE: u32 = 200;

pub struct Api;

#[OpenApi]
impl Api {
    /// Search messages
    ///
    /// Posts and replies of the channels that the caller is in, newest first. Found are those that contain all words of
    /// `q`, in any place and without regard to case; words of less than three characters count only where there are no
    /// others. New and edited texts are found within some seconds.
    #[oai(path = "/organisations/:organisation_id/search", method = "get", tag = "Tag::Messages")]
    async fn search(
        &self,
        caller: Bearer,
        app: Data<&App>,
        organisation_id: Path<OrganisationId>,
        /// 3 to 256 characters.
        q: Query<Text>,
        /// Only in this channel.
        channel_id: Query<Option<ChannelId>>,
        /// Up to 200; default 50.
        limit: Query<Option<u64>>,
    ) -> Result<Success<Vec<Message>>> {
        let query = search::Query::parse(&q)?;
        let limit = size(*limit, PAGE, LARGEST_PAGE)?;
        let (caller, organisation, channel) = (caller.0, *organisation_id, *channel_id);
        let read = app.db.read_slow(caller.user, move |conn| search::find(conn, caller, organisation, channel, &query, limit));
        Ok(ok("Messages found successfully", read.await?.into_iter().map(Message::from).collect()))
    }
}
