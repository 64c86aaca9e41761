//! Channels: making, reading, changing, archiving and deleting them.

pub mod direct_messages;
pub mod members;
pub mod stars;

use poem::web::Data;
use poem_openapi::{
    Object, OpenApi,
    param::{Path, Query},
    payload::Json,
};

use super::{
    http::{
        auth::Bearer,
        body::{Body, List, Text, example, text},
        envelope::{Created, Gone, Success, created, ok},
        listing::{Address, BareListed, Offset, Rows, Size, fill, rows},
    },
    messages::message::Message,
    tags::Tag,
};
use crate::{
    domain::{
        accounts::UsernameIfAny,
        channels::{self, lists::Described, members::LISTED_MAX, reading::Counts, record, record::Visible},
        overviews::{self, Overview},
    },
    error::Result,
    id::{ChannelId, OrganisationId, UserId},
    site::Site,
    state::App,
    time::Time,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Make a channel
    ///
    /// The caller becomes its owner and a member, and the users in `userIds` become members. Needs
    /// `create:channels`.
    #[oai(path = "/channels", method = "post", operation_id = "createChannel", tag = "Tag::Channels")]
    async fn create(&self, caller: Bearer, app: Data<&App>, body: Body<NewChannel>) -> Result<Created<Channel>> {
        let Body(body, bytes) = body;
        let new = channels::New {
            organisation: body.organisation_id,
            name: body.name.0,
            description: body.description.unwrap_or_default().0,
            is_private: body.is_private.unwrap_or_default(),
            username: body.username.or(body.also_username).map(|name| name.0).filter(|name| !name.is_empty()),
            users: body.user_ids.map(|list| list.0).unwrap_or_default(),
        };
        let made = app.db.write_sized(bytes, move |tx| {
            let made = channels::create(tx, caller.0, new)?;
            overviews::of(tx, made)
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
        caller: Bearer,
        app: Data<&App>,
        address: Address,
        /// Rows to skip; default 0.
        offset: Query<Option<Offset>>,
        /// Up to 1,000, the default. An answer may end earlier, at 1 MB.
        limit: Query<Option<Size>>,
    ) -> Result<BareListed<ChannelList>> {
        let (site, page) = (app.site.clone(), rows(*offset, *limit));
        let read = app.db.read_list(caller.0.user, move |conn| {
            fill(
                page,
                |part| overviews::of_all(conn, channels::lists::own(conn, caller.0, part)?),
                |found| Channel::new(&site, found),
            )
        });
        Ok(ChannelList::answer(read.await?, &address))
    }

    /// Read a channel
    #[oai(path = "/channels/:channel_id", method = "get", operation_id = "getChannel", tag = "Tag::Channels")]
    async fn get(
        &self,
        caller: Bearer,
        app: Data<&App>,
        #[oai(name = "channel_id")] id: Path<ChannelId>,
    ) -> Result<Success<Channel>> {
        let found = app.db.read(|conn| overviews::of(conn, channels::lists::get(conn, caller.0, *id)?))?;
        Ok(ok("channel retrieved successfully", Channel::new(&app.site, found)))
    }

    /// Read a channel by its name
    ///
    /// Finds, among the channels that the caller may see, the one with exactly this name, else the first that matches
    /// without regard to case.
    #[oai(path = "/channels/name/:channel_name", method = "get", operation_id = "getChannelByName", tag = "Tag::Channels")]
    async fn get_by_name(
        &self,
        caller: Bearer,
        app: Data<&App>,
        #[oai(name = "channel_name")] name: Path<Text<record::Name>>,
        /// Search only this organisation.
        organisation_id: Query<Option<OrganisationId>>,
    ) -> Result<Success<Channel>> {
        let found = app.db.read(|conn| {
            let found = channels::lists::by_name(conn, caller.0, &name, *organisation_id)?;
            overviews::of(conn, found)
        })?;
        Ok(ok("channel name retrieved successfully", Channel::new(&app.site, found)))
    }

    /// Change a channel
    ///
    /// For the channel's owner and for holders of `manage:channels`. Omitted fields stay as they are.
    #[oai(path = "/channels/:channel_id", method = "patch", operation_id = "updateChannel", tag = "Tag::Channels")]
    async fn update(
        &self,
        caller: Bearer,
        app: Data<&App>,
        #[oai(name = "channel_id")] id: Path<ChannelId>,
        body: Body<EditChannel>,
    ) -> Result<Success<Channel>> {
        let EditChannel { name, description, topic, is_private } = body.0;
        let edit = channels::Edit { name: text(name), description: text(description), topic: text(topic), is_private };
        let edited = app.db.write_sized(body.1, move |tx| {
            let edited = channels::update(tx, caller.0, *id, edit)?;
            overviews::of(tx, edited)
        });
        let edited = edited.await?;
        Ok(ok("Channel updated successfully", Channel::new(&app.site, edited)))
    }

    /// Delete a channel
    ///
    /// Deletes the channel with its messages. For the channel's owner and for holders of `manage:channels`. The default
    /// channel can't be deleted.
    #[oai(path = "/channels/:channel_id", method = "delete", operation_id = "deleteChannel", tag = "Tag::Channels")]
    async fn delete(&self, caller: Bearer, app: Data<&App>, #[oai(name = "channel_id")] id: Path<ChannelId>) -> Result<Gone> {
        app.db.write(move |tx| channels::delete(tx, caller.0, *id)).await?;
        Ok(Gone::NoContent)
    }

    /// Archive or unarchive a channel
    ///
    /// An archived channel stays readable and accepts no posts and no joins. For the channel's owner and for holders of
    /// `manage:channels`. The default channel can't be archived.
    #[oai(path = "/channels/:channel_id/archive", method = "put", operation_id = "archiveChannel", tag = "Tag::Channels")]
    async fn archive(
        &self,
        caller: Bearer,
        app: Data<&App>,
        #[oai(name = "channel_id")] id: Path<ChannelId>,
        body: Body<Archive>,
    ) -> Result<Success<Channel>> {
        let archived = body.archived;
        let channel = app.db.write(move |tx| {
            let channel = channels::archive(tx, caller.0, *id, archived)?;
            overviews::of(tx, channel)
        });
        let channel = channel.await?;
        Ok(ok(archive_message(archived), Channel::new(&app.site, channel)))
    }
}

#[derive(Object)]
#[oai(example)]
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
example!(NewChannel, { "name": "engines", "description": "All about engines", "userIds": [], "organisation_id": "01900000-0000-7000-8000-0000000000bb" });

#[derive(Object)]
#[oai(example)]
struct EditChannel {
    name: Option<Text<record::Name>>,
    description: Option<Text<channels::Description>>,
    topic: Option<Text<channels::Topic>>,
    is_private: Option<bool>,
}
example!(EditChannel, { "description": "All about analytical engines" });

#[derive(Object)]
#[oai(example)]
struct Archive {
    /// `true` archives the channel, `false` unarchives it.
    archived: bool,
}
example!(Archive, { "archived": true });

pub fn archive_message(archived: bool) -> &'static str {
    if archived { "Channel archived successfully" } else { "Channel unarchived successfully" }
}

#[derive(Object)]
pub struct ChannelList {
    channels: Vec<Channel>,
}

impl ChannelList {
    pub fn answer(Rows { rows, rest }: Rows<Channel>, address: &Address) -> BareListed<ChannelList> {
        BareListed::Ok(Json(ChannelList { channels: rows }), address.rest(rest))
    }
}

#[derive(Object)]
pub struct Channel {
    id: ChannelId,
    /// The same as `id`.
    channels_id: ChannelId,
    name: String,
    description: String,
    topic: String,
    organisation_id: OrganisationId,
    owner_id: UserId,
    created_by: UserId,
    is_private: bool,
    is_dm: bool,
    archived: bool,
    /// The first 1,000 members, ordered by when they joined.
    users: Vec<UserId>,
    /// The number of all members.
    user_count: i64,
    /// The number of posts and replies.
    message_count: i64,
    /// Whether the caller has starred the channel.
    is_starred: bool,
    /// The feed address of the channel's first webhook; empty for callers who may not manage its webhooks.
    webhook_url: String,
    created_at: Time,
    updated_at: Time,
    /// Always `0001-01-01T00:00:00Z`: deleted channels are not shown.
    deleted_at: Time,
    /// The newest top-level post, if there is one; empty for callers who are not in the channel.
    messages: Vec<Message>,
}

impl Channel {
    pub fn new(site: &Site, Overview { channel, newest, webhook }: Overview) -> Self {
        let Described { channel, users, is_starred, .. } = channel;
        Channel {
            id: channel.id,
            channels_id: channel.id,
            name: channel.name,
            description: channel.description,
            topic: channel.topic,
            organisation_id: channel.organisation,
            owner_id: channel.owner_id,
            created_by: channel.created_by,
            is_private: channel.is_private,
            is_dm: channel.is_dm,
            archived: channel.archived_at.is_some(),
            users,
            user_count: channel.user_count,
            message_count: channel.message_count,
            is_starred,
            webhook_url: webhook.map_or_else(String::new, |(webhook, generation)| site.feed_url(webhook, generation)),
            created_at: channel.created_at,
            updated_at: channel.updated_at,
            deleted_at: Time::NEVER,
            messages: newest.into_iter().map(Message::from).collect(),
        }
    }
}

/// A channel that the caller is in, with its unread counts.
#[derive(Object)]
pub struct OwnChannel {
    id: ChannelId,
    name: String,
    description: String,
    is_private: bool,
    /// The number of unread top-level posts.
    thread_count: i64,
    /// The number of unread mentions.
    mention_count: i64,
    /// Whether the caller has starred the channel.
    is_starred: bool,
    created_at: Time,
}

impl OwnChannel {
    pub fn new(unread: Counts, Visible { channel, is_starred, .. }: Visible) -> Self {
        OwnChannel {
            id: channel.id,
            name: channel.name,
            description: channel.description,
            is_private: channel.is_private,
            thread_count: unread.threads,
            mention_count: unread.mentions,
            is_starred,
            created_at: channel.created_at,
        }
    }
}

/// A channel that the caller can join.
#[derive(Object)]
pub struct OpenChannel {
    id: ChannelId,
    name: String,
    description: String,
    user_count: i64,
    created_at: Time,
}

impl From<record::Channel> for OpenChannel {
    fn from(channel: record::Channel) -> Self {
        OpenChannel {
            id: channel.id,
            name: channel.name,
            description: channel.description,
            user_count: channel.user_count,
            created_at: channel.created_at,
        }
    }
}

#[derive(Object)]
pub struct ArchivedChannel {
    channels_id: ChannelId,
    name: String,
    description: String,
    organisation_id: OrganisationId,
    owner_id: UserId,
    is_private: bool,
    /// The first 1,000 members, ordered by when they joined.
    users: Vec<UserId>,
    /// The number of all members.
    user_count: i64,
    /// The number of posts and replies.
    message_count: i64,
    /// Always `true`.
    archived: bool,
    /// Always null: channels have no groups.
    #[oai(nullable)]
    group_id: Option<String>,
    created_at: Time,
    /// Always `0001-01-01T00:00:00Z`: deleted channels are not shown.
    deleted_at: Time,
    /// Always null: the threads of a channel have their own list.
    #[oai(nullable)]
    threads: Option<Vec<String>>,
}

impl From<Described> for ArchivedChannel {
    fn from(Described { channel, users, .. }: Described) -> Self {
        ArchivedChannel {
            channels_id: channel.id,
            name: channel.name,
            description: channel.description,
            organisation_id: channel.organisation,
            owner_id: channel.owner_id,
            is_private: channel.is_private,
            users,
            user_count: channel.user_count,
            message_count: channel.message_count,
            archived: channel.archived_at.is_some(),
            group_id: None,
            created_at: channel.created_at,
            deleted_at: Time::NEVER,
            threads: None,
        }
    }
}
