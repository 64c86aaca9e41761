//! Tokens for the push endpoint, and the identifiers from which clients form channel names.

use poem::web::Data;
use poem_openapi::{Object, OpenApi, Union, param::Query};
use serde::Serialize;

use super::{
    http::{
        auth::{Bearer, NotificationToken},
        body::{Body, Text},
        envelope::{Success, ok},
        listing::{Address, Listed, Offset, Size, fill, listed, rows},
        rows::Rows,
    },
    tags::Tag,
};
use crate::{
    domain::{access::Caller, organisations, rights, streams},
    error::{Error, Result},
    id::{ChannelId, OrganisationId},
    push::tokens::PushClaims,
    state::App,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Get a connection token
    ///
    /// Answers a JSON Web Token that opens `/connection/websocket`. It is good for an hour, unless the server is
    /// configured otherwise; a new token keeps an open connection.
    #[oai(path = "/token/connection", method = "get", operation_id = "createConnectionToken", tag = "Tag::Realtime")]
    async fn connection(&self, caller: Bearer, app: Data<&App>) -> Result<Success<Token>> {
        connection_token(&app, caller.0)
    }

    /// Get a subscription token
    ///
    /// Answers a token for a channel (`channel_id`) or for any stream (`channel`): `<channel_id>`, `<thread_id>`,
    /// `<org_id>` or `<org_id>/<user_id>`. 403 for a stream that the caller may not hear.
    #[oai(path = "/token/subscription", method = "post", operation_id = "createSubscriptionToken", tag = "Tag::Realtime")]
    async fn subscription(&self, caller: Bearer, app: Data<&App>, body: Body<Subscription>) -> Result<Success<Token>> {
        let name = match body.0 {
            Subscription::Stream(NamedSubscription { channel }) => channel.0,
            Subscription::Channel(ChannelSubscription { channel_id }) => channel_id.to_string(),
        };
        subscription_token(&app, caller.0, name)
    }

    /// Get a connection token with the notification token
    #[oai(path = "/realtime/connection", method = "get", operation_id = "createRealtimeConnectionToken", tag = "Tag::Realtime")]
    async fn realtime_connection(&self, caller: NotificationToken, app: Data<&App>) -> Result<Success<Token>> {
        connection_token(&app, caller.0)
    }

    /// Get a subscription token with the notification token
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
        body: Body<NamedSubscription>,
    ) -> Result<Success<Token>> {
        subscription_token(&app, caller.0, body.0.channel.0)
    }

    /// List the caller's organisations
    ///
    /// Lists the organisations, ordered by name.
    #[oai(path = "/users/organisations", method = "get", operation_id = "listOwnOrganisations", tag = "Tag::Organisations")]
    async fn organisations(
        &self,
        caller: Bearer,
        app: Data<&App>,
        address: Address,
        /// Rows to skip; default 0.
        offset: Query<Option<Offset>>,
        /// Up to 1,000, the default. An answer may end earlier, at 1 MB.
        limit: Query<Option<Size>>,
    ) -> Result<Listed<Rows<OwnOrganisation>>> {
        let page = rows(*offset, *limit);
        let one = |organisation: organisations::Own| OwnOrganisation {
            id: organisation.id,
            name: organisation.name,
            organisation_slug: organisation.slug,
            logo_url: organisation.logo_url,
            role_name: rights::member_title(&organisation.role, organisation.is_owner).into(),
            org_role: organisation.role,
            channels_count: organisation.channels_count,
            pinned: organisation.is_pinned,
        };
        let read =
            app.db.read_list(caller.0.user, move |conn| fill(page, |part| organisations::list_own(conn, caller.0, part), one));
        Ok(listed("Organisations retrieved successfully", read.await?, &address))
    }
}

fn connection_token(app: &App, caller: Caller) -> Result<Success<Token>> {
    let claims = PushClaims { sub: caller.user, exp: expiry(app), sid: Some(caller.session), channel: None };
    Ok(ok("Connection token retrieved successfully", Token { token: app.site.keys().push.sign(&claims)? }))
}

fn subscription_token(app: &App, caller: Caller, channel: String) -> Result<Success<Token>> {
    streams::StreamName::check(&channel, "channel").map_err(Error::BadRequest)?;
    let audible = app.db.read(|conn| streams::audible(conn, caller.user, &channel))?;
    audible.ok_or(Error::Forbidden("You may not listen to this channel"))?;
    let claims = PushClaims { sub: caller.user, exp: expiry(app), sid: None, channel: Some(channel) };
    Ok(ok("Subscription token generated successfully", Token { token: app.site.keys().push.sign(&claims)? }))
}

fn expiry(app: &App) -> i64 {
    (app.clock.now() + app.site.push_token_lifetime).unix_seconds()
}

#[derive(Object, Serialize)]
struct Token {
    token: String,
}

/// A stream by its name, which takes precedence, or a channel.
#[derive(Union)]
enum Subscription {
    Stream(NamedSubscription),
    Channel(ChannelSubscription),
}

#[derive(Object)]
struct ChannelSubscription {
    channel_id: ChannelId,
}

#[derive(Object)]
struct NamedSubscription {
    /// `<org_id>/<user_id>`, or the name of any other stream.
    channel: Text<streams::StreamName>,
}

#[derive(Object, Serialize)]
struct OwnOrganisation {
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
