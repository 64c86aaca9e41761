//! Tokens for the push endpoint, and the identifiers from which clients form channel names.

use poem::web::Data;
use poem_openapi::{Object, OpenApi, Union, param::Query};
use serde::Serialize;

use super::{
    http::{
        auth::{Bearer, IN_CHANNEL, NotificationToken, READ},
        body::{Body, List, Text, into_strings},
        envelope::{Success, ok},
        listing::{Address, Listed, Offset, Size, answer_list, fill, page_or_whole_list},
        rows::Rows,
        secret_text::ShortLivedToken,
    },
    tags::Tag,
};
use crate::{
    db::View,
    domain::{access::Caller, accounts::sessions, organisations, scopes::Grant, streams},
    error::{Code, Error, Result},
    id::{ChannelId, OrganisationId},
    push::tokens::PushClaims,
    state::App,
};

/// Streams in one request for tokens: more than a connection may have, so that a client renews all of its tokens at once.
const STREAMS: usize = 200;

pub struct Api;

#[OpenApi]
impl Api {
    /// Get a connection token
    ///
    /// Answers a JSON Web Token that opens `/connection/websocket`. It is good for an hour, unless the server is
    /// configured otherwise; a new token keeps an open connection.
    ///
    /// With `streams=own`, the server subscribes the connection to the streams of the caller's account (`<user_id>`), and to
    /// `<org_id>` and `<org_id>/<user_id>` of the 50 organisations that the caller joined first, also those joined later.
    #[oai(path = "/token/connection", method = "get", operation_id = "createConnectionToken", tag = "Tag::Realtime")]
    async fn connection(
        &self,
        caller: Bearer<READ, IN_CHANNEL>,
        app: Data<&App>,
        /// The streams that the server subscribes the connection to; none if omitted.
        streams: Query<Option<Text<streams::Group>>>,
    ) -> Result<Success<Token>> {
        connection_token(&app, caller.0, streams.0)
    }

    /// Get subscription tokens
    ///
    /// Answers a token for a channel (`channel_id`), for any stream (`channel`), or for up to 200 streams (`channels`). Streams
    /// are `<channel_id>`, `<thread_id>`, `<org_id>`, `<org_id>/<user_id>` and the caller's `<user_id>`. 403 for a stream that
    /// the caller may not hear; one in a list is `refused` by itself.
    #[oai(path = "/token/subscription", method = "post", operation_id = "createSubscriptionToken", tag = "Tag::Realtime")]
    async fn subscription(
        &self,
        caller: Bearer<READ, IN_CHANNEL>,
        app: Data<&App>,
        body: Body<Subscription>,
    ) -> Result<Success<Granted>> {
        grant(&app, caller.0, body.0).await
    }

    /// Get a connection token with the notification token
    #[oai(path = "/realtime/connection", method = "get", operation_id = "createRealtimeConnectionToken", tag = "Tag::Realtime")]
    async fn realtime_connection(
        &self,
        caller: NotificationToken,
        app: Data<&App>,
        /// The streams that the server subscribes the connection to; none if omitted.
        streams: Query<Option<Text<streams::Group>>>,
    ) -> Result<Success<Token>> {
        connection_token(&app, caller.0, streams.0)
    }

    /// Get subscription tokens with the notification token
    #[oai(
        path = "/realtime/subscription",
        method = "post",
        operation_id = "createRealtimeSubscriptionToken",
        tag = "Tag::Realtime"
    )]
    async fn realtime_subscription(
        &self,
        caller: NotificationToken,
        app: Data<&App>,
        body: Body<Subscription>,
    ) -> Result<Success<Granted>> {
        grant(&app, caller.0, body.0).await
    }

    /// List the caller's organisations
    ///
    /// Lists the organisations, ordered by name.
    #[oai(path = "/users/organisations", method = "get", operation_id = "listOwnOrganisations", tag = "Tag::Organisations")]
    async fn organisations(
        &self,
        caller: Bearer<READ>,
        app: Data<&App>,
        address: Address,
        /// Rows to skip; default 0.
        offset: Query<Option<Offset>>,
        /// Up to 1,000, the default. An answer may end earlier, at 1 MB.
        limit: Query<Option<Size>>,
    ) -> Result<Listed<Rows<OwnOrganisation>>> {
        let page = page_or_whole_list(*offset, *limit);
        let read = app.db.read_bounded(caller.0.share(), move |conn| {
            fill(page, |part| organisations::list_own(conn, caller.0, part), OwnOrganisation::from)
        });
        Ok(answer_list("Organisations retrieved successfully", read.await?, &address))
    }
}

fn connection_token(app: &App, caller: Caller, group: Option<Text<streams::Group>>) -> Result<Success<Token>> {
    if let Some(group) = &group {
        streams::Group::check(group, "streams").map_err(Error::BadRequest)?;
    }
    if group.is_some() && caller.grant.is_channel_limited() {
        return Err(Error::Forbidden(Code::TokenLimited, "The token is for some channels only: subscribe to each"));
    }
    let token = for_connection(app, caller, group.is_some())?;
    Ok(ok("Connection token retrieved successfully", Token { token: token.into() }))
}

/// A connection token for the caller; with `own_streams`, for a connection that hears the caller's own streams.
pub fn for_connection(app: &App, caller: Caller, own_streams: bool) -> Result<String> {
    // A Centrifugo takes their names from the token; this server looks for them itself.
    let channels = if own_streams && app.centrifugo.is_some() {
        app.db.read(|conn| streams::streams_of_user(conn, caller.user))?.iter().map(ToString::to_string).collect()
    } else {
        Vec::new()
    };
    let (sub, sid, exp) = (caller.user, Some(caller.session), expiry(app, caller)?);
    app.site.keys().push.sign(&PushClaims { sub, exp, sid, own_streams, channels, channel: None })
}

/// Signs tokens for the streams that the caller may hear. A list is not refused for one stream, so that a right that was lost a
/// moment ago keeps no client from the others.
async fn grant(app: &App, caller: Caller, asked: Subscription) -> Result<Success<Granted>> {
    let (names, is_list) = match asked {
        Subscription::Streams(NamedSubscriptions { channels }) => (into_strings(channels), true),
        Subscription::Stream(NamedSubscription { channel }) => (vec![channel.0], false),
        Subscription::Channel(ChannelSubscription { channel_id }) => (vec![channel_id.to_string()], false),
    };
    if names.len() > STREAMS {
        return Err(Error::BadRequest(
            Code::TooManyItems.says(format!("channels has at most {STREAMS} streams")).at("channels").with_limit(STREAMS),
        ));
    }
    for name in &names {
        let (said, field) = if is_list { ("channels: each", "channels") } else { ("channel", "channel") };
        streams::StreamName::check(name, said).map_err(|refusal| Error::BadRequest(refusal.at(field)))?;
    }
    let read = move |conn: &View| {
        names.into_iter().map(|harmless| Ok((streams::find_permitted(conn, caller, &harmless)?.is_some(), harmless))).collect()
    };
    let heard: Vec<(bool, String)> =
        if is_list { app.db.read_bounded(caller.share(), read).await? } else { app.db.read(read)? };
    let (mut tokens, mut refused) = (Vec::new(), Vec::new());
    for (is_heard, channel) in heard {
        if is_heard {
            tokens.push(for_stream(app, caller, channel)?);
        } else {
            refused.push(channel);
        }
    }
    let token = match tokens.first() {
        _ if is_list => String::new().into(),
        Some(one) => one.token.clone(),
        None => return Err(Error::Forbidden(Code::PermissionDenied, "You may not listen to this channel")),
    };
    Ok(ok("Subscription token generated successfully", Granted { token, tokens, refused }))
}

/// A subscription token for a stream that the caller may hear.
pub fn for_stream(app: &App, caller: Caller, name: String) -> Result<StreamToken> {
    let channel = Some(name.clone());
    let claims =
        PushClaims { sub: caller.user, exp: expiry(app, caller)?, sid: None, own_streams: false, channels: Vec::new(), channel };
    Ok(StreamToken { channel: name, token: app.site.keys().push.sign(&claims)?.into() })
}

/// When a new token expires, in Unix seconds: no later than the program's own token that asks for it.
fn expiry(app: &App, caller: Caller) -> Result<i64> {
    let usual = app.clock.now() + app.site.push_token_lifetime;
    let end = match caller.grant {
        Grant::Session => usual,
        Grant::Token { .. } => app.db.read(|conn| sessions::expiry(conn, caller))?.min(usual),
    };
    Ok(end.unix_seconds())
}

#[derive(Object, Serialize)]
struct Token {
    token: ShortLivedToken,
}

/// Tokens for streams.
#[derive(Object, Serialize)]
struct Granted {
    /// The token for the one stream that was asked for; empty for a list.
    token: ShortLivedToken,
    /// Each token with the name of its stream, in the order of the request.
    tokens: Vec<StreamToken>,
    /// The streams of a list that the caller may not hear.
    refused: Vec<String>,
}

#[derive(Object, Serialize)]
pub struct StreamToken {
    /// The name of the stream.
    pub channel: String,
    pub token: ShortLivedToken,
}

/// A list of streams, which takes precedence, or one stream by its name, or a channel.
#[derive(Union)]
enum Subscription {
    Streams(NamedSubscriptions),
    Stream(NamedSubscription),
    Channel(ChannelSubscription),
}

#[derive(Object)]
struct ChannelSubscription {
    channel_id: ChannelId,
}

#[derive(Object)]
struct NamedSubscriptions {
    /// Up to 200 names of streams.
    channels: List<Text<streams::StreamName>, 0, STREAMS>,
}

#[derive(Object)]
struct NamedSubscription {
    /// `<org_id>/<user_id>`, or the name of any other stream.
    channel: Text<streams::StreamName>,
}

#[derive(Object, Serialize)]
pub struct OwnOrganisation {
    id: OrganisationId,
    name: String,
    organisation_slug: String,
    logo_url: String,
    /// The `key` of the caller's role.
    org_role: String,
    /// The name of the caller's role in the list of roles; `Owner` for the organisation's owner.
    role_name: String,
    /// The number of live channels that the caller may see, without direct messages.
    channels_count: i64,
    /// Whether the caller has pinned the organisation.
    pinned: bool,
}

impl From<organisations::Own> for OwnOrganisation {
    fn from(own: organisations::Own) -> Self {
        OwnOrganisation {
            id: own.id,
            role_name: own.role_title().into(),
            name: own.name,
            organisation_slug: own.slug,
            logo_url: own.logo_url,
            org_role: own.role,
            channels_count: own.channels_count,
            pinned: own.is_pinned,
        }
    }
}
