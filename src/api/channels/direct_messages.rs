//! Direct messages between members of an organisation.

use poem::web::Data;
use poem_openapi::{
    Object, OpenApi, Union,
    param::{Path, Query},
};
use serde::Serialize;

use super::channel_objects::{Channel, ChannelDetails, Participant};
use crate::{
    api::{
        http::{
            auth::{Bearer, POST, READ},
            body::{Body, List},
            envelope::{Opened, created_or_existing},
            listing::{Address, Listed, Offset, Size, answer_list, fill_in_two_steps, page_or_whole_list},
            rows::Rows,
        },
        tags::Tag,
    },
    domain::{
        access::Caller,
        channel_summaries,
        channels::{direct_messages, lists},
        page::Page,
    },
    error::Result,
    id::{OrganisationId, UserId},
    site::Site,
    state::App,
    time::Time,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Open a direct message
    ///
    /// Answers the direct message that these members have (200), or makes it (201). It works like a channel, with
    /// posts, threads, read marks and live push, but nobody joins or leaves it, and it is not edited, archived or
    /// deleted. Its name consists of the usernames of its members; if one changes, `channel_update` tells the members.
    /// A member opens up to 500 in an organisation.
    #[oai(path = "/organisations/:org_id/dms", method = "post", operation_id = "openDirectMessage", tag = "Tag::Channels")]
    async fn open(
        &self,
        caller: Bearer<POST>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        body: Body<Others>,
    ) -> Result<Opened<ChannelDetails>> {
        let others = match body.0 {
            Others::Several(SeveralOthers { user_ids }) => user_ids.0,
            Others::One(OneOther { participant_id }) => vec![participant_id],
        };
        let site = app.site.clone();
        let opening = app.db.write_sized(body.1, move |tx| {
            let (found, is_new) = direct_messages::open(tx, caller.0, *org_id, others)?;
            Ok((ChannelDetails::read(tx, &site, caller.0, found)?, is_new))
        });
        let (found, is_new) = opening.await?;
        Ok(created_or_existing("Direct message opened successfully", found, is_new))
    }

    /// List the caller's direct messages
    ///
    /// Ordered by latest activity, each with its unread counts.
    #[oai(path = "/organisations/:org_id/dms", method = "get", operation_id = "listDirectMessages", tag = "Tag::Channels")]
    async fn list(
        &self,
        caller: Bearer<READ>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        address: Address,
        /// Rows to skip; default 0.
        offset: Query<Option<Offset>>,
        /// Up to 1,000, the default. An answer may end earlier, at 1 MB.
        limit: Query<Option<Size>>,
    ) -> Result<Listed<Rows<DirectMessage>>> {
        list(&app, caller.0, *org_id, page_or_whole_list(*offset, *limit), &address).await
    }

    /// List the caller's direct messages, by another path
    ///
    /// The same as `GET /organisations/{org_id}/dms`.
    #[oai(
        path = "/organisations/:org_id/dms/visible",
        method = "get",
        operation_id = "listVisibleDirectMessages",
        tag = "Tag::Channels"
    )]
    async fn list_visible(
        &self,
        caller: Bearer<READ>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        address: Address,
        /// Rows to skip; default 0.
        offset: Query<Option<Offset>>,
        /// Up to 1,000, the default. An answer may end earlier, at 1 MB.
        limit: Query<Option<Size>>,
    ) -> Result<Listed<Rows<DirectMessage>>> {
        list(&app, caller.0, *org_id, page_or_whole_list(*offset, *limit), &address).await
    }
}

async fn list(
    app: &App,
    caller: Caller,
    organisation: OrganisationId,
    page: Page,
    address: &Address,
) -> Result<Listed<Rows<DirectMessage>>> {
    let site = app.site.clone();
    let read = app.db.read_bounded(caller.share(), move |conn| {
        let find = |page| lists::direct_messages(conn, caller, organisation, page);
        fill_in_two_steps(
            page,
            find,
            |part| channel_summaries::direct_messages(conn, part),
            |found| DirectMessage::new(&site, found),
        )
    });
    Ok(answer_list("Direct messages fetched successfully", read.await?, address))
}

/// A list of members, which takes precedence, or one member.
#[derive(Union)]
enum Others {
    Several(SeveralOthers),
    One(OneOther),
}

#[derive(Object)]
struct SeveralOthers {
    /// Members of the organisation; the caller may be omitted.
    user_ids: List<UserId, 1, { direct_messages::OTHERS_MAX }>,
}

#[derive(Object)]
struct OneOther {
    /// The other member.
    participant_id: UserId,
}

#[derive(Object, Serialize)]
struct DirectMessage {
    #[oai(flatten)]
    #[serde(flatten)]
    channel: Channel,
    /// The members, with those who have left the organisation. Names and pictures change with `member_update`.
    participants: Vec<Participant>,
    /// When the newest message was written, post or reply; `0001-01-01T00:00:00Z` if there is none.
    last_message_at: Time,
    /// The number of unread top-level posts.
    thread_count: i64,
    /// The number of unread mentions.
    mention_count: i64,
    /// The newest top-level post that the caller has read; empty if there is none.
    last_read_id: String,
}

impl DirectMessage {
    fn new(
        site: &Site,
        channel_summaries::DirectMessage { unread, channel, participants }: channel_summaries::DirectMessage,
    ) -> Self {
        DirectMessage {
            last_message_at: channel.channel.channel.last_message_at.unwrap_or(Time::NEVER),
            channel: Channel::new(site, channel),
            participants: participants.into_iter().map(Participant::from).collect(),
            thread_count: unread.threads,
            mention_count: unread.mentions,
            last_read_id: unread.last_read_id(),
        }
    }
}
