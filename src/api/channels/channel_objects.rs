//! The channel objects of answers.

use poem_openapi::Object;
use serde::Serialize;

use crate::{
    api::{
        accounts::custom_status::CustomStatus,
        http::{
            framework_traits::Nullable,
            listing::{BYTES, Bounds, fill_within, json_length, shorten_row},
            number::Number,
            rows::Rows,
            secret_text::Secret,
        },
    },
    db::View,
    domain::{
        access::Caller,
        accounts,
        channel_summaries::{self, ChannelSummary, Own},
        channels::{
            lists::{Described, Users},
            members, preferences, record,
            record::Visible,
            unread_counts::{self, Counts},
        },
        messages::record::Message,
        page::Page,
    },
    error::Result,
    id::{ChannelId, OrganisationId, UserId},
    site::Site,
    time::Time,
};

/// The members that an answer lists, for its parameter `users`.
pub fn users_to_list(asked: Option<Number<0, 1>>) -> Users {
    if asked.is_some_and(|asked| asked.0 == 0) { Users::None } else { Users::First }
}

#[derive(Object, Serialize)]
pub struct ChannelList {
    pub channels: Rows<Channel>,
}

/// An organisation's channels, listed twice.
#[derive(Object, Serialize)]
pub struct OrganisationChannels {
    channels: Rows<Channel>,
    /// The same as `channels`.
    data: Rows<Channel>,
}

impl OrganisationChannels {
    /// The bounds of each of the two lists.
    pub const BOUNDS: Bounds = Bounds { bytes: BYTES / 2, ..Bounds::ANSWER };

    /// A row that fits into the answer twice, if need be without its newest post.
    pub fn shorten_for_answer(channel: Channel) -> Channel {
        shorten_row(channel, OrganisationChannels::BOUNDS.bytes, |channel| channel.messages.pop())
    }

    pub fn new(channels: Rows<Channel>) -> OrganisationChannels {
        OrganisationChannels { data: channels.clone(), channels }
    }
}

/// What the caller alone has set for a channel.
#[derive(Object, Serialize)]
#[oai(rename = "ChannelPreferences")]
struct Preferences {
    /// Whether the caller has starred the channel.
    is_starred: bool,
    /// Whether the caller has muted the channel.
    is_muted: bool,
}

impl From<preferences::Preferences> for Preferences {
    fn from(preferences: preferences::Preferences) -> Preferences {
        Preferences { is_starred: preferences.is_starred, is_muted: preferences.is_muted }
    }
}

#[derive(Object, Serialize)]
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
    /// The first 1,000 members, ordered by when they joined; none of them with `users=0`.
    users: Vec<UserId>,
    /// The number of all members.
    user_count: i64,
    /// The same as `user_count`.
    members_count: i64,
    /// The number of posts and replies.
    message_count: i64,
    /// Whether the caller is in the channel.
    access: bool,
    #[oai(flatten)]
    #[serde(flatten)]
    preferences: Preferences,
    /// The feed address of the channel's first webhook; empty for callers who may not manage its webhooks.
    webhook_url: Secret,
    created_at: Time,
    updated_at: Time,
    /// Always `0001-01-01T00:00:00Z`: deleted channels are not shown.
    deleted_at: Time,
    /// The newest top-level post, if there is one; empty for callers who are not in the channel. An organisation's list
    /// leaves out a post that would fill half an answer.
    messages: Vec<Message>,
}

impl Channel {
    pub fn new(site: &Site, ChannelSummary { channel, newest, webhook }: ChannelSummary) -> Self {
        let Described { channel, users, is_in, preferences, .. } = channel;
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
            members_count: channel.user_count,
            message_count: channel.message_count,
            access: is_in,
            preferences: preferences.into(),
            webhook_url: webhook
                .map_or_else(String::new, |(webhook, generation, slug)| site.webhook_feed_url(webhook, generation, &slug))
                .into(),
            created_at: channel.created_at,
            updated_at: channel.updated_at,
            deleted_at: Time::NEVER,
            messages: newest.into_iter().collect(),
        }
    }
}

/// A channel with its owner's name and its first members.
#[derive(Object, Serialize)]
pub struct ChannelDetails {
    #[oai(flatten)]
    #[serde(flatten)]
    channel: Channel,
    /// The owner's name in the channel; the account's username for an owner who is not in it.
    owner_name: String,
    /// The number of the caller's unread top-level posts.
    thread_count: i64,
    /// The number of the caller's unread mentions.
    mention_count: i64,
    /// The newest top-level post that the caller has read; empty if there is none.
    last_read_id: String,
    /// When the newest message was written, post or reply; `0001-01-01T00:00:00Z` if there is none, and for callers who are not in
    /// the channel.
    last_message_at: Time,
    /// The first 200 members, ordered by when they joined. There may be fewer if the answer would be over 1 MB. Names and
    /// pictures change with `member_update`.
    participants: Rows<Participant>,
    /// The same members, in the form that existing clients read.
    members: Vec<ChannelPerson>,
}

/// A member of a channel, with what others see of them.
#[derive(Object, Serialize)]
struct ChannelPerson {
    id: UserId,
    profile: ChannelProfile,
}

#[derive(Object, Serialize)]
struct ChannelProfile {
    /// The member's name in the channel; in a direct message that of the account.
    username: String,
    /// The address of the member's picture; empty if there is none.
    avatar_url: String,
}

/// At most 200 members are shown with their names and pictures.
const PARTICIPANTS: Page = Page { offset: 0, size: 200 };

impl ChannelDetails {
    pub fn read(conn: &View, site: &Site, caller: Caller, found: Described) -> Result<Self> {
        let unread = if found.is_in { unread_counts::counts(conn, found.channel.id, caller.user)? } else { Counts::default() };
        let last_message_at = found.channel.last_message_at.filter(|_| found.is_in).unwrap_or(Time::NEVER);
        let channel = Channel::new(site, channel_summaries::read_one(conn, found)?);
        let owner_name = members::shown_name(conn, channel.id, channel.owner_id)?;
        // A person of `members` is shorter than the participant.
        let bytes = BYTES.saturating_sub(json_length(&channel)) / 2;
        let first = |part| members::list(conn, caller, channel.id, part);
        let mut members = Vec::new();
        let show = |member: members::Member| {
            let profile = ChannelProfile { username: member.username.clone(), avatar_url: member.avatar_url.clone() };
            members.push(ChannelPerson { id: member.user, profile });
            Participant::from(member)
        };
        let participants = fill_within(Bounds { bytes, ..Bounds::ANSWER }, PARTICIPANTS, first, show)?.data;
        members.truncate(participants.len());
        let (thread_count, mention_count, last_read_id) = (unread.threads, unread.mentions, unread.last_read_id());
        Ok(ChannelDetails {
            channel,
            owner_name,
            thread_count,
            mention_count,
            last_read_id,
            last_message_at,
            participants,
            members,
        })
    }
}

#[derive(Object, Serialize)]
pub struct Participant {
    user_id: UserId,
    /// The member's name in the channel; in a direct message that of the account.
    username: String,
    /// The member's full name; may be empty.
    full_name: String,
    /// The address of the member's picture; empty if there is none.
    avatar_url: String,
    // Left out if there is none. Generators of clients can't take a description beside a reference.
    #[oai(skip_serializing_if_is_none)]
    #[serde(skip_serializing_if = "Option::is_none")]
    custom_status: Option<CustomStatus>,
    /// Whether the member is a person or a bot: `user` or `bot`.
    user_type: String,
}

impl From<members::Member> for Participant {
    fn from(member: members::Member) -> Self {
        Participant {
            user_id: member.user,
            username: member.username,
            full_name: member.full_name,
            avatar_url: member.avatar_url,
            custom_status: member.custom_status.map(CustomStatus::from),
            user_type: accounts::user_type(member.is_bot).into(),
        }
    }
}

/// A channel that the caller is in, with its unread counts.
#[derive(Object, Serialize)]
pub struct OwnChannel {
    id: ChannelId,
    /// The same as `id`.
    channels_id: ChannelId,
    name: String,
    description: String,
    topic: String,
    owner_id: UserId,
    is_private: bool,
    /// Whether new members of the organisation join the channel.
    is_default: bool,
    /// The number of members.
    user_count: i64,
    /// When the newest message was written, post or reply; `0001-01-01T00:00:00Z` if there is none.
    last_message_at: Time,
    /// The number of unread top-level posts.
    thread_count: i64,
    /// The number of unread mentions.
    mention_count: i64,
    /// The newest top-level post that the caller has read; empty if there is none.
    last_read_id: String,
    #[oai(flatten)]
    #[serde(flatten)]
    preferences: Preferences,
    /// Always `true`: the caller is in the channel.
    access: bool,
    /// Always `false`: archived channels have a list of their own.
    archived: bool,
    /// The latest top-level posts, newest first, up to the number in `preview`. There may be fewer if the answer would be
    /// over 1 MB.
    preview_thread: Vec<Message>,
    created_at: Time,
}

impl OwnChannel {
    pub fn new(Own { unread, channel, latest }: Own) -> Self {
        let Visible { channel, access, preferences } = channel;
        let shown = OwnChannel {
            id: channel.id,
            channels_id: channel.id,
            name: channel.name,
            description: channel.description,
            topic: channel.topic,
            owner_id: channel.owner_id,
            is_private: channel.is_private,
            is_default: channel.is_default,
            user_count: channel.user_count,
            last_message_at: channel.last_message_at.unwrap_or(Time::NEVER),
            thread_count: unread.threads,
            mention_count: unread.mentions,
            last_read_id: unread.last_read_id(),
            preferences: preferences.into(),
            access: access.username.is_some(),
            archived: channel.archived_at.is_some(),
            preview_thread: latest,
            created_at: channel.created_at,
        };
        // Without previews there is nothing to leave out, and to count the text of every row takes time.
        if shown.preview_thread.is_empty() { shown } else { shorten_row(shown, BYTES, |channel| channel.preview_thread.pop()) }
    }
}

/// A channel that the caller can join.
#[derive(Object, Serialize)]
pub struct OpenChannel {
    id: ChannelId,
    name: String,
    description: String,
    topic: String,
    user_count: i64,
    created_at: Time,
}

impl From<record::Channel> for OpenChannel {
    fn from(channel: record::Channel) -> Self {
        OpenChannel {
            id: channel.id,
            name: channel.name,
            description: channel.description,
            topic: channel.topic,
            user_count: channel.user_count,
            created_at: channel.created_at,
        }
    }
}

#[derive(Object, Serialize)]
pub struct ArchivedChannel {
    channels_id: ChannelId,
    name: String,
    description: String,
    organisation_id: OrganisationId,
    owner_id: UserId,
    is_private: bool,
    /// The first 1,000 members, ordered by when they joined; none of them with `users=0`.
    users: Vec<UserId>,
    /// The number of all members.
    user_count: i64,
    /// The number of posts and replies.
    message_count: i64,
    /// Always `true`.
    archived: bool,
    /// Always null: channels have no groups.
    group_id: Nullable<String>,
    created_at: Time,
    /// Always `0001-01-01T00:00:00Z`: deleted channels are not shown.
    deleted_at: Time,
    /// Always null: the threads of a channel have their own list.
    threads: Nullable<Vec<String>>,
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
            group_id: Nullable(None),
            created_at: channel.created_at,
            deleted_at: Time::NEVER,
            threads: Nullable(None),
        }
    }
}
