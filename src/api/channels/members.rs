//! Members of channels: joining and leaving, adding and removing, names, counts.

use poem::web::Data;
use poem_openapi::{
    Object, OpenApi,
    param::{Path, Query},
};
use serde::Serialize;

use crate::{
    api::{
        accounts::custom_status::CustomStatus,
        http::{
            auth::{Bearer, CHANNELS, IN_CHANNEL, READ},
            body::{Body, List, Text},
            envelope::{Done, Success, done, ok},
            framework_traits::{Null, Nullable},
            json::Json,
            listing::{Address, BareListed, Offset, Size, bare, fill, page_or_whole_list},
            rows::Rows,
        },
        tags::Tag,
    },
    domain::{
        accounts::{self, Username, UsernameIfAny},
        channels::{self, members::LISTED_MAX},
    },
    error::Result,
    id::{ChannelId, OrganisationId, UserId},
    state::App,
    time::Time,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Join a channel
    ///
    /// The caller joins under the account's username, or under a name chosen for this channel.
    #[oai(path = "/channels/:channel_id/join", method = "post", operation_id = "joinChannel", tag = "Tag::Channels")]
    async fn join(
        &self,
        caller: Bearer<CHANNELS, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        body: Body<JoinName>,
    ) -> Result<Success<Membership>> {
        let caller = caller.0;
        let name = body.0.username.map(|name| name.0).filter(|name| !name.is_empty());
        let (channel, at) = app
            .write_throttled(caller.share(), body.1, move |tx| channels::members::join(tx, caller, *channel_id, name.as_deref()))
            .await?;
        Ok(ok("User joined channel successfully", Membership::new(channel, caller.user, at)))
    }

    /// Leave a channel
    #[oai(path = "/channels/:channel_id/leave", method = "post", operation_id = "leaveChannel", tag = "Tag::Channels")]
    async fn leave(
        &self,
        caller: Bearer<CHANNELS, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
    ) -> Result<Success<Membership>> {
        let caller = caller.0;
        let (channel, at) =
            app.write_throttled(caller.share(), 0, move |tx| channels::members::leave(tx, caller, *channel_id)).await?;
        Ok(ok("User left channel successfully", Membership::new(channel, caller.user, at)))
    }

    /// Change the caller's name in a channel
    #[oai(
        path = "/channels/:channel_id/username",
        method = "patch",
        operation_id = "updateChannelUsername",
        tag = "Tag::Channels"
    )]
    async fn rename(
        &self,
        caller: Bearer<CHANNELS, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        body: Body<NewName>,
    ) -> Result<Done> {
        app.write_throttled(caller.0.share(), body.1, move |tx| {
            channels::members::set_own_name(tx, caller.0, *channel_id, &body.username)
        })
        .await?;
        Ok(done("Username updated successfully"))
    }

    /// Check whether a user is in a channel
    #[oai(path = "/channels/:channel_id/user-exist", method = "get", operation_id = "isChannelMember", tag = "Tag::Channels")]
    async fn user_exist(
        &self,
        caller: Bearer<READ, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        #[oai(name = "userId")] user: Query<UserId>,
    ) -> Result<Success<Exists>> {
        let exists = app.db.read(|conn| channels::members::contains_user(conn, caller.0, *channel_id, *user))?;
        Ok(ok("User exists in channel", Exists { exists }))
    }

    /// Count a channel's members
    #[oai(path = "/channels/:channel_id/num-users", method = "get", operation_id = "countChannelMembers", tag = "Tag::Channels")]
    async fn num_users(
        &self,
        caller: Bearer<READ, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
    ) -> Result<Json<UserCount>> {
        let user_count = app.db.read(|conn| channels::members::number(conn, caller.0, *channel_id))?;
        Ok(Json(UserCount { user_count }))
    }

    /// List a channel's members
    ///
    /// Ordered by when they joined.
    #[oai(path = "/channels/:channel_id/users", method = "get", operation_id = "listChannelMembers", tag = "Tag::Channels")]
    async fn users(
        &self,
        caller: Bearer<READ, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        address: Address,
        /// Rows to skip; default 0.
        offset: Query<Option<Offset>>,
        /// Up to 1,000, the default. An answer may end earlier, at 1 MB.
        limit: Query<Option<Size>>,
    ) -> Result<BareListed<UserList>> {
        let (id, page) = (*channel_id, page_or_whole_list(*offset, *limit));
        let read = app.db.read_bounded(caller.0.share(), move |conn| {
            fill(page, |part| channels::members::list(conn, caller.0, id, part), ChannelMember::from)
        });
        Ok(bare(read.await?.map(|users| UserList { users }), &address))
    }

    /// Add users to a channel
    ///
    /// Adds members of the organisation; users who are already in the channel stay as they are. Needs membership of the
    /// channel and the right to post. Answers all named users.
    #[oai(path = "/channels/:channel_id/users", method = "post", operation_id = "addChannelMembers", tag = "Tag::Channels")]
    async fn add(
        &self,
        caller: Bearer<CHANNELS, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        body: Body<NewMembers>,
    ) -> Result<Success<Vec<ChannelMember>>> {
        let users = body.0.user_ids.0;
        let added = app
            .write_throttled(caller.0.share(), body.1, move |tx| channels::members::add(tx, caller.0, *channel_id, users))
            .await?;
        Ok(ok("Users added to channel successfully", added.into_iter().map(ChannelMember::from).collect()))
    }

    /// Add users to a channel that the body names
    ///
    /// The same as `POST /channels/{channel_id}/users`.
    #[oai(path = "/channels/add-multiple", method = "post", operation_id = "addMultipleChannelMembers", tag = "Tag::Channels")]
    async fn add_multiple(
        &self,
        caller: Bearer<CHANNELS>,
        app: Data<&App>,
        body: Body<NewMembersOf>,
    ) -> Result<Success<Vec<ChannelMember>>> {
        let NewMembersOf { channel_id, user_ids } = body.0;
        let added = app
            .write_throttled(caller.0.share(), body.1, move |tx| channels::members::add(tx, caller.0, channel_id, user_ids.0))
            .await?;
        Ok(ok("Users added to channel successfully", added.into_iter().map(ChannelMember::from).collect()))
    }

    /// Remove a user from a channel
    ///
    /// For the channel's owner and for holders of `manage:channels`.
    #[oai(
        path = "/channels/:channel_id/users/:user_id",
        method = "delete",
        operation_id = "removeChannelMember",
        tag = "Tag::Channels"
    )]
    async fn remove(
        &self,
        caller: Bearer<CHANNELS, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        user_id: Path<UserId>,
    ) -> Result<Success<Null>> {
        app.write_throttled(caller.0.share(), 0, move |tx| channels::members::remove(tx, caller.0, *channel_id, *user_id))
            .await?;
        Ok(ok("User removed from channel successfully", Null))
    }
}

#[derive(Object)]
struct JoinName {
    /// The caller's name in the channel; the account's username if omitted.
    username: Option<Text<UsernameIfAny>>,
}

#[derive(Object)]
struct NewName {
    /// Unique in the channel.
    username: Text<Username>,
}

#[derive(Object)]
struct NewMembers {
    /// Members of the organisation.
    user_ids: List<UserId, 1, LISTED_MAX>,
}

#[derive(Object)]
struct NewMembersOf {
    channel_id: ChannelId,
    /// Members of the organisation.
    user_ids: List<UserId, 1, LISTED_MAX>,
}

/// A caller's membership of a channel, as answered to joining and leaving.
#[derive(Object, Serialize)]
struct Membership {
    name: String,
    description: String,
    #[oai(rename = "userId")]
    #[serde(rename = "userId")]
    user_id: UserId,
    channel_id: ChannelId,
    organisation_id: OrganisationId,
    owner_id: UserId,
    /// When the caller joined.
    created_at: Time,
}

impl Membership {
    fn new(channel: channels::record::Channel, user: UserId, joined_at: Time) -> Self {
        Membership {
            name: channel.name,
            description: channel.description,
            user_id: user,
            channel_id: channel.id,
            organisation_id: channel.organisation,
            owner_id: channel.owner_id,
            created_at: joined_at,
        }
    }
}

#[derive(Object, Serialize)]
struct Exists {
    exists: bool,
}

#[derive(Object, Serialize)]
struct UserCount {
    user_count: i64,
}

#[derive(Object, Serialize)]
struct UserList {
    users: Rows<ChannelMember>,
}

#[derive(Object, Serialize)]
struct ChannelMember {
    user_id: UserId,
    /// The member's name in the channel.
    username: String,
    /// The member's full name; may be empty.
    full_name: String,
    /// The address of the member's picture; empty if there is none.
    avatar_url: String,
    /// What the member does now; null if they have not said so.
    custom_status: Nullable<CustomStatus>,
    /// Whether the member is a person or a bot: `user` or `bot`.
    user_type: String,
    /// The integer of the member's role in the organisation; null for a side of a direct message who has left.
    role_id: Nullable<i64>,
    joined_at: Time,
}

impl From<channels::members::Member> for ChannelMember {
    fn from(member: channels::members::Member) -> Self {
        ChannelMember {
            user_id: member.user,
            username: member.username,
            full_name: member.full_name,
            avatar_url: member.avatar_url,
            custom_status: Nullable(member.custom_status.map(CustomStatus::from)),
            user_type: accounts::user_type(member.is_bot).into(),
            role_id: Nullable(member.role_id),
            joined_at: member.joined_at,
        }
    }
}
