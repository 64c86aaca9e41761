//! Full-text search over messages.

use std::convert::identity;

use poem::web::Data;
use poem_openapi::{
    OpenApi,
    param::{Path, Query},
};

use crate::{
    api::{
        http::{
            auth::{Bearer, READ},
            body::Text,
            listing::{self, Address, Listed, ShallowOffset, Size, answer_list, fill},
            rows::Rows,
        },
        tags::Tag,
    },
    db::View,
    domain::messages::{record::Message, search},
    error::{Error, Result},
    id::{ChannelId, OrganisationId, UserId},
    state::App,
    time::Time,
};

/// Messages found.
const PAGE: u32 = 50;
const LARGEST_PAGE: u32 = 200;

pub struct Api;

#[OpenApi]
impl Api {
    /// Search messages
    ///
    /// Searches the posts and replies of the caller's channels; results come newest first. A message matches if it
    /// contains all words of `q`, anywhere in its text, or in the names and descriptions of its files, and without regard to case. Words of fewer than three characters,
    /// or two in Chinese, Japanese or Korean, count only if there are no longer ones. New and edited texts are found within some seconds.
    #[oai(path = "/organisations/:org_id/search", method = "get", operation_id = "searchMessages", tag = "Tag::Messages")]
    async fn search(
        &self,
        caller: Bearer<READ>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        address: Address,
        /// At least three characters, or two in Chinese, Japanese or Korean, not counting white space around them.
        q: Query<Text<search::Text>>,
        /// Search only this channel.
        channel_id: Query<Option<ChannelId>>,
        /// Search only this author's messages.
        user_id: Query<Option<UserId>>,
        /// Search only messages that were written before this time (RFC 3339).
        before: Query<Option<Time>>,
        /// Search only messages that were written after this time (RFC 3339).
        after: Query<Option<Time>>,
        /// Search only messages that show files.
        has: Query<Option<Text<search::Has>>>,
        /// Rows to skip; default 0.
        offset: Query<Option<ShallowOffset>>,
        /// Up to 200; default 50. An answer may end earlier, at 1 MB.
        limit: Query<Option<Size>>,
    ) -> Result<Listed<Rows<Message>>> {
        let query = search::Query::parse(&q)?;
        let page = listing::requested_page(None::<listing::ShallowPage>, *offset, *limit, PAGE, LARGEST_PAGE).shallow()?;
        let (caller, organisation) = (caller.0, *org_id);
        let with_files =
            has.0.map(|has| search::Has::check(&has, "has").map(drop).map_err(Error::BadRequest)).transpose()?.is_some();
        let among = search::Among { channel: *channel_id, user: *user_id, before: *before, after: *after, with_files };
        let find = move |conn: &View| fill(page, |part| search::find(conn, caller, organisation, among, &query, part), identity);
        let found = app.read_slow_in_organisation(caller, organisation, find).await?;
        Ok(answer_list("Messages found successfully", found, &address))
    }
}
