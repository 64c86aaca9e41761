//! Channels: making, reading, changing, archiving and deleting them.

pub mod channel_objects;
pub mod direct_messages;
pub mod members;
pub mod preferences;

use poem::web::Data;
use poem_openapi::{
    Object, OpenApi,
    param::{Path, Query},
};

use self::channel_objects::{Channel, ChannelDetails, ChannelList};
use super::{
    http::{
        auth::{Bearer, CHANNELS, IN_CHANNEL, READ},
        body::{Body, List, Text, into_string},
        envelope::{Created, NoContent, Success, created, ok},
        listing::{Address, BareListed, Offset, Size, bare, fill_in_two_steps, page_or_whole_list},
        number::Number,
    },
    tags::Tag,
};
use crate::{
    domain::{
        accounts::UsernameIfAny,
        channel_summaries,
        channels::{self, members::LISTED_MAX, record},
    },
    error::Result,
    id::{ChannelId, OrganisationId, UserId},
    state::App,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Make a channel
    ///
    /// The caller becomes its owner and a member, and the users in `userIds` become members. Needs
    /// `create:channels`.
    #[oai(path = "/channels", method = "post", operation_id = "createChannel", tag = "Tag::Channels")]
    async fn create(&self, caller: Bearer<CHANNELS>, app: Data<&App>, body: Body<NewChannel>) -> Result<Created<Channel>> {
        let Body(body, bytes) = body;
        let new = channels::New {
            organisation: body.organisation_id,
            name: body.name.0,
            description: body.description.unwrap_or_default().0,
            is_private: body.is_private.unwrap_or_default(),
            username: body.username.or(body.also_username).map(|name| name.0).filter(|name| !name.is_empty()),
            users: body.user_ids.map(|list| list.0).unwrap_or_default(),
        };
        let made = app.write_throttled(caller.0.share(), bytes, move |tx| {
            let made = channels::create(tx, caller.0, new)?;
            channel_summaries::read_one(tx, made)
        });
        let made = made.await?;
        Ok(created("Channel created successfully", Channel::new(&app.site, made)))
    }

    /// List the caller's channels
    ///
    /// Lists the live channels that the caller is in, over all organisations, each with its newest top-level post.
    #[oai(path = "/channels", method = "get", operation_id = "listChannels", tag = "Tag::Channels")]
    async fn list(
        &self,
        caller: Bearer<READ>,
        app: Data<&App>,
        address: Address,
        /// Rows to skip; default 0.
        offset: Query<Option<Offset>>,
        /// Up to 1,000, the default. An answer may end earlier, at 1 MB.
        limit: Query<Option<Size>>,
        /// `0` leaves `users` empty, the ids of a channel's members; default 1.
        users: Query<Option<Number<0, 1>>>,
    ) -> Result<BareListed<ChannelList>> {
        let (site, page, users) = (app.site.clone(), page_or_whole_list(*offset, *limit), channel_objects::users_to_list(*users));
        let read = app.db.read_bounded(caller.0.share(), move |conn| {
            let find = |page| channels::lists::own(conn, caller.0, page);
            fill_in_two_steps(page, find, |part| channel_summaries::read(conn, part, users), |found| Channel::new(&site, found))
        });
        Ok(bare(read.await?.map(|channels| ChannelList { channels }), &address))
    }

    /// Read a channel
    #[oai(path = "/channels/:channel_id", method = "get", operation_id = "getChannel", tag = "Tag::Channels")]
    async fn get(
        &self,
        caller: Bearer<READ, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        /// `0` leaves `users` empty, the ids of a channel's members; default 1.
        users: Query<Option<Number<0, 1>>>,
    ) -> Result<Success<ChannelDetails>> {
        let read = app.db.read(|conn| {
            let found = channels::lists::get(conn, caller.0, *channel_id, channel_objects::users_to_list(*users))?;
            ChannelDetails::read(conn, &app.site, caller.0, found)
        });
        Ok(ok("channel retrieved successfully", read?))
    }

    /// Read a channel by its name
    ///
    /// Finds, among the channels that the caller may see, the one with exactly this name, else the first that matches
    /// without regard to case.
    #[oai(path = "/channels/name/:channel_name", method = "get", operation_id = "getChannelByName", tag = "Tag::Channels")]
    async fn get_by_name(
        &self,
        caller: Bearer<READ>,
        app: Data<&App>,
        channel_name: Path<Text<record::Name>>,
        /// Search only this organisation.
        organisation_id: Query<Option<OrganisationId>>,
        /// `0` leaves `users` empty, the ids of a channel's members; default 1.
        users: Query<Option<Number<0, 1>>>,
    ) -> Result<Success<ChannelDetails>> {
        let read = app.db.read(|conn| {
            let found = channels::lists::find_by_name(
                conn,
                caller.0,
                &channel_name,
                *organisation_id,
                channel_objects::users_to_list(*users),
            )?;
            ChannelDetails::read(conn, &app.site, caller.0, found)
        });
        Ok(ok("channel name retrieved successfully", read?))
    }

    /// Change a channel
    ///
    /// For the channel's owner and for holders of `manage:channels`. Omitted fields stay as they are.
    #[oai(path = "/channels/:channel_id", method = "patch", operation_id = "updateChannel", tag = "Tag::Channels")]
    async fn update(
        &self,
        caller: Bearer<CHANNELS, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        body: Body<EditChannel>,
    ) -> Result<Success<Channel>> {
        let EditChannel { name, description, topic, is_private } = body.0;
        let edit = channels::Edit {
            name: into_string(name),
            description: into_string(description),
            topic: into_string(topic),
            is_private,
        };
        let edited = app.write_throttled(caller.0.share(), body.1, move |tx| {
            let edited = channels::update(tx, caller.0, *channel_id, edit)?;
            channel_summaries::read_one(tx, edited)
        });
        let edited = edited.await?;
        Ok(ok("Channel updated successfully", Channel::new(&app.site, edited)))
    }

    /// Delete a channel
    ///
    /// Deletes the channel with its messages. For the channel's owner and for holders of `manage:channels`. The default
    /// channel can't be deleted.
    #[oai(path = "/channels/:channel_id", method = "delete", operation_id = "deleteChannel", tag = "Tag::Channels")]
    async fn delete(
        &self,
        caller: Bearer<CHANNELS, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
    ) -> Result<NoContent> {
        app.write_throttled(caller.0.share(), 0, move |tx| channels::delete(tx, caller.0, *channel_id)).await?;
        Ok(NoContent::NoContent)
    }

    /// Archive or unarchive a channel
    ///
    /// An archived channel stays readable and accepts no posts and no joins. For the channel's owner and for holders of
    /// `manage:channels`. The default channel can't be archived.
    #[oai(path = "/channels/:channel_id/archive", method = "put", operation_id = "archiveChannel", tag = "Tag::Channels")]
    async fn archive(
        &self,
        caller: Bearer<CHANNELS, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        body: Body<Archive>,
    ) -> Result<Success<Channel>> {
        let archived = body.archived;
        let channel = app.write_throttled(caller.0.share(), 0, move |tx| {
            let channel = channels::set_archived(tx, caller.0, *channel_id, archived)?;
            channel_summaries::read_one(tx, channel)
        });
        let channel = channel.await?;
        Ok(ok(archived_text(archived), Channel::new(&app.site, channel)))
    }
}

#[derive(Object)]
struct NewChannel {
    /// Unique among the organisation's live channels.
    name: Text<record::Name>,
    description: Option<Text<channels::Description>>,
    /// Members of the organisation who become members of the channel.
    #[oai(rename = "userIds")]
    user_ids: Option<List<UserId, 0, LISTED_MAX>>,
    organisation_id: OrganisationId,
    /// The caller's name in the channel; the account's username if omitted.
    username: Option<Text<UsernameIfAny>>,
    #[oai(rename = "Username")]
    also_username: Option<Text<UsernameIfAny>>,
    /// Whether only its members see the channel.
    is_private: Option<bool>,
}

#[derive(Object)]
struct EditChannel {
    name: Option<Text<record::Name>>,
    description: Option<Text<channels::Description>>,
    topic: Option<Text<channels::Topic>>,
    is_private: Option<bool>,
}

#[derive(Object)]
struct Archive {
    /// `true` archives the channel, `false` unarchives it.
    archived: bool,
}

pub fn archived_text(archived: bool) -> &'static str {
    if archived { "Channel archived successfully" } else { "Channel unarchived successfully" }
}
