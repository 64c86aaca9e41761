//! The lists of an organisation's channels.

use poem::web::Data;
use poem_openapi::{
    Object, OpenApi,
    param::{Path, Query},
};

use crate::{
    api::{
        channels::{
            archived_text,
            channel_objects::{self, ArchivedChannel, Channel, OpenChannel, OrganisationChannels, OwnChannel},
        },
        http::{
            auth::{Bearer, CHANNELS, READ},
            body::{Body, Text, into_string},
            envelope::{Success, ok},
            listing::{
                Address, BareListed, Listed, Offset, Size, answer_list, bare, fill_in_two_steps, fill_in_two_steps_within,
                page_or_whole_list,
            },
            number::Number,
            rows::Rows,
        },
        tags::Tag,
    },
    domain::{channel_summaries, channels},
    error::Result,
    id::{ChannelId, OrganisationId},
    state::App,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// List an organisation's channels
    ///
    /// Lists the channels that the caller may see: all public ones, and the private ones that the caller is in.
    #[oai(
        path = "/organisations/:org_id/channels",
        method = "get",
        operation_id = "listOrganisationChannels",
        tag = "Tag::Organisations"
    )]
    async fn channels(
        &self,
        caller: Bearer<READ>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        address: Address,
        /// Rows to skip; default 0.
        offset: Query<Option<Offset>>,
        /// Up to 1,000, the default. An answer may end earlier, at 1 MB.
        limit: Query<Option<Size>>,
        /// `0` leaves `users` empty, the ids of a channel's members; default 1.
        users: Query<Option<Number<0, 1>>>,
    ) -> Result<BareListed<OrganisationChannels>> {
        let (site, id, page, users) =
            (app.site.clone(), *org_id, page_or_whole_list(*offset, *limit), channel_objects::users_to_list(*users));
        let read = app.db.read_bounded(caller.0.share(), move |conn| {
            let find = |page| channels::lists::live(conn, caller.0, id, page);
            let row = |found| OrganisationChannels::shorten_for_answer(Channel::new(&site, found));
            fill_in_two_steps_within(
                OrganisationChannels::BOUNDS,
                page,
                find,
                |part| channel_summaries::read(conn, part, users),
                row,
            )
        });
        Ok(bare(read.await?.map(OrganisationChannels::new), &address))
    }

    /// List the caller's channels in an organisation
    ///
    /// Lists the channels with their unread counts, top-level posts (`thread_count`) and mentions (`mention_count`), and
    /// whether the caller has starred or muted them. With `preview`, each channel shows its latest top-level posts.
    #[oai(
        path = "/organisations/:org_id/user-channels",
        method = "get",
        operation_id = "listOwnChannels",
        tag = "Tag::Organisations"
    )]
    async fn user_channels(
        &self,
        caller: Bearer<READ>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        address: Address,
        /// Rows to skip; default 0.
        offset: Query<Option<Offset>>,
        /// Up to 1,000, the default. An answer may end earlier, at 1 MB.
        limit: Query<Option<Size>>,
        /// The number of posts in each `preview_thread`; default 0.
        preview: Query<Option<Number<0, 3>>>,
    ) -> Result<Listed<Rows<OwnChannel>>> {
        let (id, page, preview) = (*org_id, page_or_whole_list(*offset, *limit), preview.map_or(0, |preview| preview.0));
        let read = app.db.read_bounded(caller.0.share(), move |conn| {
            let find = |page| channels::lists::joined(conn, caller.0, id, page);
            fill_in_two_steps(page, find, |part| channel_summaries::with_latest(conn, part, preview), OwnChannel::new)
        });
        Ok(answer_list("User channels fetched successfully", read.await?, &address))
    }

    /// List the channels that the caller can join
    ///
    /// Lists the organisation's live public channels that the caller is not in, with `q` those whose name or topic contains
    /// it. The list is empty for guests.
    #[oai(
        path = "/organisations/:org_id/user-not-channels",
        method = "get",
        operation_id = "listOpenChannels",
        tag = "Tag::Organisations"
    )]
    async fn user_not_channels(
        &self,
        caller: Bearer<READ>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        address: Address,
        /// Rows to skip; default 0.
        offset: Query<Option<Offset>>,
        /// Up to 1,000, the default. An answer may end earlier, at 1 MB.
        limit: Query<Option<Size>>,
        /// A part of the name or of the topic, without regard to case.
        q: Query<Option<Text<channels::lists::Sought>>>,
    ) -> Result<Listed<Rows<OpenChannel>>> {
        let (id, page, q) = (*org_id, page_or_whole_list(*offset, *limit), into_string(q.0).unwrap_or_default());
        let read = app.db.read_bounded(caller.0.share(), move |conn| {
            fill_in_two_steps(page, |page| channels::lists::not_joined(conn, caller.0, id, &q, page), Ok, OpenChannel::from)
        });
        Ok(answer_list("Channels user does not belong fetched successfully", read.await?, &address))
    }

    /// List the archived channels
    ///
    /// Lists the channels that the caller may see: all public ones, and the private ones that the caller is in.
    #[oai(
        path = "/organisations/:org_id/channels/archived",
        method = "get",
        operation_id = "listArchivedChannels",
        tag = "Tag::Organisations"
    )]
    async fn archived_channels(
        &self,
        caller: Bearer<READ>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        address: Address,
        /// Rows to skip; default 0.
        offset: Query<Option<Offset>>,
        /// Up to 1,000, the default. An answer may end earlier, at 1 MB.
        limit: Query<Option<Size>>,
        /// `0` leaves `users` empty, the ids of a channel's members; default 1.
        users: Query<Option<Number<0, 1>>>,
    ) -> Result<Listed<Rows<ArchivedChannel>>> {
        let (id, page, users) = (*org_id, page_or_whole_list(*offset, *limit), channel_objects::users_to_list(*users));
        let read = app.db.read_bounded(caller.0.share(), move |conn| {
            let find = |page| channels::lists::archived(conn, caller.0, id, page);
            fill_in_two_steps(page, find, |part| channels::lists::describe_all(conn, part, users), ArchivedChannel::from)
        });
        Ok(answer_list("Archived channels retrieved successfully", read.await?, &address))
    }

    /// Archive or unarchive a channel of the organisation
    ///
    /// Works like `PUT /channels/{channel_id}/archive`.
    #[oai(
        path = "/organisations/:org_id/archive-channel",
        method = "put",
        operation_id = "archiveOrganisationChannel",
        tag = "Tag::Organisations"
    )]
    async fn archive_channel(
        &self,
        caller: Bearer<CHANNELS>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        body: Body<ArchiveChannel>,
    ) -> Result<Success<Channel>> {
        let ArchiveChannel { channel_id, archived } = body.0;
        let organisation = *org_id;
        let channel = app.db.write(move |tx| {
            let channel = channels::archive_in_organisation(tx, caller.0, organisation, channel_id, archived)?;
            channel_summaries::read_one(tx, channel)
        });
        let channel = channel.await?;
        Ok(ok(archived_text(archived), Channel::new(&app.site, channel)))
    }
}

#[derive(Object)]
struct ArchiveChannel {
    channel_id: ChannelId,
    /// `true` archives the channel, `false` unarchives it.
    archived: bool,
}
