//! The data of a client's first screen, in one answer.

use std::ops::Not;

use poem::web::Data;
use poem_openapi::{Object, OpenApi, param::Query};
use serde::Serialize;

use super::{
    accounts::User,
    channels::channel_objects::Participant,
    http::{
        auth::{Bearer, READ},
        body::Text,
        envelope::{Success, ok},
        framework_traits::Nullable,
        json::Answer,
        rows::Rows,
        secret_text::ShortLivedToken,
    },
    organisations::role_rights::Permissions,
    push_tokens::{self, OwnOrganisation, StreamToken},
    tags::Tag,
};
use crate::{
    domain::{
        channels::{
            members::Member,
            preferences::Preferences,
            record::{Channel, Visible},
            unread_counts::Counts,
        },
        first_screen::{self, Open},
        organisations::{Own, slugs::Slug},
        streams,
    },
    error::{Error, Result},
    id::{ChannelId, MessageId, OrganisationId},
    state::App,
    time::Time,
    web,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Get what a client shows first
    ///
    /// Answers the caller's account, organisations with their unread counts, and one organisation with the caller's rights,
    /// channels and direct messages, all of one state of the server: `Tidings-Position` is its place in the log. Each part is
    /// also answered by an operation of its own. With this, a page of messages and one connection with `connection_token`, which
    /// hears all `streams`, a client shows its first screen.
    #[oai(path = "/start", method = "get", operation_id = "start", tag = "Tag::Organisations")]
    async fn start(
        &self,
        caller: Bearer<READ>,
        app: Data<&App>,
        /// The organisation to open; the current organisation if omitted, or else the first. 404 if the caller is no member of it.
        slug: Query<Option<Text<Slug>>>,
        /// A channel whose token the client needs. It gets none if the caller may not hear it.
        channel: Query<Option<ChannelId>>,
    ) -> Result<Success<Start>> {
        let (caller, slug, channel) = (caller.0, slug.0.map(|slug| slug.0), channel.0.map(|id| id.to_string()));
        if let Some(slug) = &slug {
            Slug::check(slug, "slug").map_err(Error::BadRequest)?;
        }
        let read = app.db.read_bounded(caller.share(), move |conn| {
            let start = first_screen::read(conn, caller, slug.as_deref())?;
            let streams = streams::streams_of_user(conn, caller.user)?;
            let channel = match channel {
                Some(name) => streams::find_permitted(conn, caller, &name)?.map(|_| name),
                None => None,
            };
            Ok((start, streams, channel))
        });
        let (start, streams, channel) = read.await?;
        let tokens = channel.map(|channel| push_tokens::for_stream(&app, caller, channel)).transpose()?;
        let (open, channels, direct_messages) = match start.open {
            None => (None, Vec::new(), Vec::new()),
            Some(Open { id, membership, channels, direct_messages }) => {
                let own = start.organisations.iter().find(|(own, _)| own.id == id);
                let open = own.map(|(own, _)| OpenOrganisation {
                    id,
                    name: own.name.clone(),
                    organisation_slug: own.slug.clone(),
                    role: own.role.clone(),
                    role_name: own.role_title().into(),
                    permissions: Permissions::from(membership.rights),
                });
                (open, channels, direct_messages)
            }
        };
        let start = Start {
            user: User::new(start.user, start.expires_at),
            organisations: first(start.organisations.into_iter().map(CountedOrganisation::from)),
            organisation: Nullable(open),
            channels: first(channels.into_iter().map(LeanChannel::from)),
            direct_messages: first(direct_messages.into_iter().map(LeanDirectMessage::from)),
            streams: streams.iter().map(ToString::to_string).collect(),
            connection_token: push_tokens::for_connection(&app, caller, true)?.into(),
            tokens: tokens.into_iter().collect(),
            push_url: match &app.centrifugo {
                None => WEBSOCKET.into(),
                Some(centrifugo) => format!("{}{WEBSOCKET}", centrifugo.url().replacen("http", "ws", 1)),
            },
            client_build: web::client::build_id().into(),
            can_create_organisations: start.may_found,
        };
        Ok(ok("Start retrieved successfully", start))
    }
}

const WEBSOCKET: &str = "/connection/websocket";

/// Bytes of each list of a start, so that no answer is larger than a megabyte: more than a thousand channels with usual names.
const BYTES: usize = 300_000;

/// The first rows, as many as fit.
fn first<T: Answer>(rows: impl Iterator<Item = T>) -> Rows<T> {
    let (mut kept, mut bytes) = (Rows::default(), 0);
    for row in rows {
        bytes += kept.push(&row);
        if bytes > BYTES {
            kept.pop();
            break;
        }
    }
    kept
}

#[derive(Object, Serialize)]
struct Start {
    user: User,
    /// At most 1,000 and 300 KB, ordered by name.
    organisations: Rows<CountedOrganisation>,
    /// The organisation that is open; null if the caller is in none.
    organisation: Nullable<OpenOrganisation>,
    /// The live channels of that organisation which the caller is in: at most 1,000 and 300 KB, ordered by name.
    channels: Rows<LeanChannel>,
    /// The caller's direct messages in that organisation: at most 200 and 300 KB, the latest active first.
    direct_messages: Rows<LeanDirectMessage>,
    /// The streams that the server subscribes a connection with `connection_token` to: the account's, and those of the 50
    /// organisations that the caller joined first.
    streams: Vec<String>,
    /// As in `GET /token/connection?streams=own`.
    connection_token: ShortLivedToken,
    /// The token for `channel`; empty if the caller may not hear it.
    tokens: Vec<StreamToken>,
    /// Where clients connect with `connection_token`: a path of this server, or the whole address on an external Centrifugo.
    push_url: String,
    /// The build of the server's own web client. A page of another build loads itself again.
    client_build: String,
    /// Whether the caller may create organisations (`organisations_by` of `GET /features`).
    can_create_organisations: bool,
}

/// An organisation with what the caller has not read in it.
#[derive(Object, Serialize)]
struct CountedOrganisation {
    #[oai(flatten)]
    #[serde(flatten)]
    organisation: OwnOrganisation,
    /// The number of unread top-level posts in all live channels and direct messages that the caller has not muted.
    unread_count: i64,
    /// The number of unread mentions in all of them.
    mention_count: i64,
}

impl From<(Own, Counts)> for CountedOrganisation {
    fn from((own, unread): (Own, Counts)) -> Self {
        CountedOrganisation {
            organisation: OwnOrganisation::from(own),
            unread_count: unread.threads,
            mention_count: unread.mentions,
        }
    }
}

/// The organisation that is open, and what the caller may do there.
#[derive(Object, Serialize)]
struct OpenOrganisation {
    id: OrganisationId,
    name: String,
    organisation_slug: String,
    /// The `key` of the caller's role.
    role: String,
    /// The name of the caller's role in the list of roles; `Owner` for the organisation's owner.
    role_name: String,
    permissions: Permissions,
}

/// What the caller has set on a channel and has not read in it.
#[derive(Object, Serialize)]
struct ChannelState {
    is_starred: bool,
    /// `true` if the caller has muted the channel; otherwise it is left out.
    #[oai(default, skip_serializing_if = "Not::not")]
    #[serde(skip_serializing_if = "Not::not")]
    is_muted: bool,
    /// When the newest message was written, post or reply; `0001-01-01T00:00:00Z` if there is none.
    last_message_at: Time,
    /// The number of unread top-level posts.
    thread_count: i64,
    /// The number of unread mentions.
    mention_count: i64,
    /// The newest live top-level post that the caller has read; only where others are unread.
    #[oai(skip_serializing_if_is_none)]
    #[serde(skip_serializing_if = "Option::is_none")]
    last_read_id: Option<MessageId>,
}

impl ChannelState {
    fn new(channel: &Channel, preferences: Preferences, unread: Counts) -> ChannelState {
        ChannelState {
            is_starred: preferences.is_starred,
            is_muted: preferences.is_muted,
            last_message_at: channel.last_message_at.unwrap_or(Time::NEVER),
            thread_count: unread.threads,
            mention_count: unread.mentions,
            last_read_id: unread.last_read.filter(|_| unread.threads > 0),
        }
    }
}

/// A channel that the caller is in, as a sidebar shows it.
#[derive(Object, Serialize)]
struct LeanChannel {
    id: ChannelId,
    name: String,
    topic: String,
    is_private: bool,
    #[oai(flatten)]
    #[serde(flatten)]
    state: ChannelState,
}

impl From<(Counts, Visible)> for LeanChannel {
    fn from((unread, Visible { channel, preferences, .. }): (Counts, Visible)) -> Self {
        LeanChannel {
            state: ChannelState::new(&channel, preferences, unread),
            id: channel.id,
            name: channel.name,
            topic: channel.topic,
            is_private: channel.is_private,
        }
    }
}

/// A direct message, as a sidebar shows it.
#[derive(Object, Serialize)]
struct LeanDirectMessage {
    id: ChannelId,
    /// The names of its people.
    name: String,
    /// The members but the caller, with those who have left the organisation.
    participants: Vec<Participant>,
    #[oai(flatten)]
    #[serde(flatten)]
    state: ChannelState,
}

impl From<(Counts, Visible, Vec<Member>)> for LeanDirectMessage {
    fn from((unread, Visible { channel, preferences, .. }, people): (Counts, Visible, Vec<Member>)) -> Self {
        LeanDirectMessage {
            state: ChannelState::new(&channel, preferences, unread),
            id: channel.id,
            name: channel.name,
            participants: people.into_iter().map(Participant::from).collect(),
        }
    }
}
