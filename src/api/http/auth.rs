//! Extractors for the caller. A handler that takes one of them answers 401 if its token is missing.

use std::net::IpAddr;

use poem::{FromRequest, Request, RequestBody, http::header};
use poem_openapi::{
    SecurityScheme,
    auth::{ApiKey, Bearer as BearerToken},
};

use super::body::{self, Bound};
use crate::{
    client_address,
    config::FeedAuth,
    domain::{
        access::Caller,
        accounts::sessions::{self, Device},
        webhooks::feeds,
    },
    error::{Error, Result},
    limits::admission,
    state::App,
};

/// The words of a refusal for want of a bearer token.
pub const BEARER_REQUIRED: &str = "A bearer token is required";
/// The words of the refusal of a bearer token.
pub const ACCESS_TOKEN_INVALID: &str = "The access token is invalid or expired";

/// `Authorization: Bearer <access token>`, issued by log-in.
#[derive(SecurityScheme)]
#[oai(ty = "bearer", bearer_format = "JWT", checker = "by_bearer")]
pub struct Bearer(pub Caller);

/// `X-Notification-Token: <notification token>`, issued by log-in beside the access token.
#[derive(SecurityScheme)]
#[oai(ty = "api_key", key_name = "X-Notification-Token", key_in = "header", checker = "by_notification_token")]
pub struct NotificationToken(pub Caller);

async fn by_bearer(req: &Request, bearer: BearerToken) -> poem::Result<Caller> {
    Ok(authenticate(req, &bearer.token)?)
}

async fn by_notification_token(req: &Request, key: ApiKey) -> poem::Result<Caller> {
    let app = app(req);
    let known = app.db.check(|conn| sessions::find_by_notification_token(conn, &key.key))?;
    let Some(known) = known else {
        app.limits.address(address(req))?;
        return Err(Error::Unauthorized("The notification token is invalid").into());
    };
    app.limits.user(known.user)?;
    admission::hold(req, known.user);
    Bound::found_session(req);
    Ok(known)
}

/// Finds the caller of a token. A refused token counts towards the rate of the client's address.
fn authenticate(req: &Request, token: &str) -> Result<Caller> {
    let app = app(req);
    let caller = match app.tokens.verify(token, &app.site.keys()) {
        // Compared with each request: the token may have been verified long ago.
        Ok(claims) if claims.expires_at > app.clock.now().unix_seconds() => {
            app.caller(claims.session)?.filter(|caller| caller.user == claims.user)
        }
        _ => None,
    };
    match caller {
        Some(caller) => {
            admission::hold(req, caller.user);
            Bound::found_session(req);
            Ok(caller)
        }
        None => {
            app.limits.address(address(req))?;
            Err(Error::Unauthorized(ACCESS_TOKEN_INVALID))
        }
    }
}

pub(super) fn app(req: &Request) -> &App {
    req.data().expect("the application is installed in routes()")
}

/// The caller of an operation that also works without a token. A token that is sent must be valid.
pub struct MaybeBearer(pub Option<Caller>);

impl<'a> FromRequest<'a> for MaybeBearer {
    async fn from_request(req: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        match req.header(header::AUTHORIZATION) {
            None => Ok(MaybeBearer(None)),
            Some(value) => Ok(MaybeBearer(Some(authenticate(req, bearer_token(value)?)?))),
        }
    }
}

/// The token in the value of an `Authorization` header.
fn bearer_token(value: &str) -> Result<&str> {
    let token = value.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    token.map(|(_, token)| token.trim()).ok_or(Error::Unauthorized(BEARER_REQUIRED))
}

/// The access token of a request, for operations that answer it. It stands behind a [`Bearer`], which checks it.
pub struct AccessToken(pub String);

impl<'a> FromRequest<'a> for AccessToken {
    async fn from_request(req: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        Ok(AccessToken(bearer_token(req.header(header::AUTHORIZATION).unwrap_or_default())?.to_owned()))
    }
}

/// The caller of a webhook's feed. With `--feed-auth slug` a token is optional, with `bearer` it is required. The
/// request counts towards the rate of the slug, and without a session towards that of the client's address.
pub struct Feeder(pub Option<Caller>);

impl<'a> FromRequest<'a> for Feeder {
    async fn from_request(req: &'a Request, body: &mut RequestBody) -> poem::Result<Self> {
        let MaybeBearer(caller) = MaybeBearer::from_request(req, body).await?;
        if caller.is_none() {
            app(req).limits.address(address(req))?;
        }
        if caller.is_none() && app(req).site.feed_auth == FeedAuth::Bearer {
            return Err(Error::Unauthorized(BEARER_REQUIRED).into());
        }
        let slug: String = req.path_params()?;
        app(req).limits.slug(&slug)?;
        if app(req).db.check(|conn| feeds::is_known(conn, &slug))? {
            Bound::raise(req, body::FEED);
        }
        Ok(Feeder(caller))
    }
}

/// The client's address, for operations that need no session. Without one, the request counts towards the address's rate. In
/// a handler's arguments it comes after [`Bearer`] or [`MaybeBearer`], which find the session.
pub struct Visitor {
    pub address: IpAddr,
    pub device: Device,
}

impl<'a> FromRequest<'a> for Visitor {
    async fn from_request(req: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        if !Bound::has_session(req) {
            app(req).limits.address(address(req))?;
        }
        Ok(Visitor { address: address(req), device: device(req) })
    }
}

/// The client of a log-in. One that succeeds counts towards no rate, so that everybody in an office may come at the same time;
/// but 100 are in progress at the most.
pub struct Entrant {
    pub address: IpAddr,
    pub device: Device,
}

impl<'a> FromRequest<'a> for Entrant {
    async fn from_request(req: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        Ok(Entrant { address: address(req), device: device(req) })
    }
}

impl Entrant {
    /// Does a log-in whose body has arrived: a slow body takes nothing from others of its network. A log-in that fails counts
    /// towards the rate of the address. 429 past that rate, or if a hundred log-ins of the network are in progress.
    pub async fn admit<T>(&self, app: &App, log_in: impl Future<Output = Result<T>>) -> Result<T> {
        let _permit = app.limits.log_in(self.address)?;
        let started = log_in.await;
        if started.is_err() {
            app.limits.address(self.address)?;
        }
        started
    }
}

fn device(req: &Request) -> Device {
    let user_agent = req.header(header::USER_AGENT).unwrap_or_default().to_owned();
    Device { user_agent, address: address(req).to_string() }
}

/// The client's address: that of the peer, or the one that trusted proxies forward.
pub fn address(req: &Request) -> IpAddr {
    let peer = req.remote_addr().as_socket_addr().map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.ip());
    client_address::of(&app(req).trusted_proxies, peer, req.headers())
}
