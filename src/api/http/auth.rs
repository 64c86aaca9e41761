//! Extractors for the caller. A handler that takes one of them answers 401 if its token is missing.

use poem::{
    FromRequest, PathPattern, Request, RequestBody,
    http::{HeaderValue, Method, header},
};
use poem_openapi::{
    ApiExtractor, ApiExtractorType, ExtractParamOptions, SecurityScheme,
    auth::ApiKey,
    registry::{MetaSecurityScheme, Registry},
};

use super::{
    app,
    body::{self, Bound},
    cookies::{self, Cookies},
    visitor::count_without_session,
};
use crate::{
    config::FeedAuth,
    db,
    domain::{
        access::{Caller, PlatformRole},
        accounts::{sessions, tokens},
        commands::answers,
        scopes::{Need, Scope},
        webhooks::incoming_posts,
    },
    error::{Code, Error, Result},
    id::{SessionId, UserId},
    limits::admission,
    secret::api_token,
    state::App,
};

/// The words of a refusal for want of a bearer token.
pub const BEARER_REQUIRED: &str = "A bearer token is required";
/// The words of the refusal of a bearer token.
pub const ACCESS_TOKEN_INVALID: &str = "The access token is invalid or expired";

/// The header with the id of the user that a request is meant for. A browser may have got the session of somebody else since.
const MEANT_FOR: &str = "tidings-user";

/// The operations besides `DELETE` that end something. Like those, they are served while the disk is nearly full.
const ENDS: [&str; 2] = ["/auth/logout", "/users/revoke-session"];
/// Parts of the paths of those that free nothing: each tells a channel or its reader of the change, and a member who did that often could
/// fill the disk.
const FREES_NOTHING: [&str; 4] = ["/pin", "/reactions/", "/star", "/mute"];

/// The scopes, as numbers because no enum may be a parameter of [`Bearer`].
pub const READ: u8 = Scope::Read as u8;
pub const POST: u8 = Scope::Post as u8;
pub const CHANNELS: u8 = Scope::Channels as u8;
pub const MEMBERS: u8 = Scope::Members as u8;
pub const WEBHOOKS: u8 = Scope::Webhooks as u8;
pub const CONTENT: u8 = Scope::Content as u8;
const NO_SCOPE: u8 = u8::MAX;

/// Says that a token for some channels opens the operation, too: its rules look at one channel and refuse another, or it shows
/// the token's user alone.
pub const IN_CHANNEL: bool = true;

/// The caller of a session, whose token comes as a bearer token or in a browser's cookie; or of a program's token with the
/// scope that the handler names, as in `Bearer<READ>` or `Bearer<READ, IN_CHANNEL>`. `Bearer` alone refuses programs, so that a
/// new operation is closed to them until somebody decides.
pub struct Bearer<const SCOPE: u8 = NO_SCOPE, const IS_FOR_ONE_CHANNEL: bool = false>(pub Caller);

impl<const SCOPE: u8, const IS_FOR_ONE_CHANNEL: bool> Bearer<SCOPE, IS_FOR_ONE_CHANNEL> {
    const NEED: Need = match SCOPE {
        NO_SCOPE => Need::Session,
        scope => Need::Scope { scope: Scope::ALL[scope as usize], is_for_one_channel: IS_FOR_ONE_CHANNEL },
    };
}

impl<'a, const SCOPE: u8, const IS_FOR_ONE_CHANNEL: bool> ApiExtractor<'a> for Bearer<SCOPE, IS_FOR_ONE_CHANNEL> {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::SecurityScheme];
    type ParamType = ();
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        let scheme = |ty, description| MetaSecurityScheme {
            ty,
            description: Some(description),
            name: None,
            key_in: None,
            scheme: None,
            bearer_format: None,
            flows: None,
            openid_connect_url: None,
        };
        let bearer = scheme("http", BEARER);
        registry.create_security_scheme(
            "Bearer",
            MetaSecurityScheme { scheme: Some("bearer"), bearer_format: Some("JWT"), ..bearer },
        );
        let cookie = scheme("apiKey", COOKIE);
        registry.create_security_scheme(
            "Cookie",
            MetaSecurityScheme { name: Some("__Host-tidings-ID"), key_in: Some("cookie"), ..cookie },
        );
    }

    fn security_schemes() -> Vec<&'static str> {
        [vec!["Bearer", "Cookie"], said_of_tokens(Self::NEED)].concat()
    }

    async fn from_request(req: &'a Request, _: &mut RequestBody, _: ExtractParamOptions<()>) -> poem::Result<Self> {
        Ok(Bearer(require_caller(req, Self::NEED).await?))
    }
}

/// The extension of an operation that a token for some channels opens, too.
pub const FOR_SOME_CHANNELS: &str = "x-token-for-some-channels";

/// What the document says of an operation's tokens: the scope, and [`FOR_SOME_CHANNELS`]. It is given among the security
/// schemes, since an extractor can say nothing else of its operation; `document/finish.rs` takes it out of these.
fn said_of_tokens(need: Need) -> Vec<&'static str> {
    match need {
        Need::Scope { scope, is_for_one_channel: true } => vec![scope.as_str(), FOR_SOME_CHANNELS],
        Need::Scope { scope, is_for_one_channel: false } => vec![scope.as_str()],
        Need::Session | Need::AnyToken => Vec::new(),
    }
}

/// The caller of the request's session or token. 401 without one, which counts towards the rate of the client's address; 403 if
/// the token is not what the operation needs.
pub async fn require_caller(req: &Request, need: Need) -> Result<Caller> {
    require_session(req, need, Use::Call).await
}

pub(super) async fn require_session(req: &Request, need: Need, used: Use) -> Result<Caller> {
    if let Some(caller) = find_session(req, need, used).await? {
        return Ok(caller);
    }
    count_without_session(req).await?;
    Err(Error::Unauthorized(Code::TokenMissing, BEARER_REQUIRED))
}

/// The description of the bearer token in the OpenAPI document.
const BEARER: &str = "`Authorization: Bearer <access token>`, issued by log-in; or `Bearer tdg_…`, the token of a program, which is made \
    by `POST /users/{user_id}/tokens` and opens the operations whose `x-token-scope` is one of its scopes.";

/// The description of the cookie in the OpenAPI document.
const COOKIE: &str = "Set by a log-in with `cookie: true`; `ID` stands for the server's own identifier, and over plain http the \
    name is `tidings-ID`. It counts only in requests from pages of this server, with `Sec-Fetch-Site: same-origin` or, where the \
    browser sends no such header, with the header `Tidings-Client`. `downloadFile` takes it more often.";

/// `X-Notification-Token: <notification token>`, issued by log-in beside the access token.
#[derive(SecurityScheme)]
#[oai(ty = "api_key", key_name = "X-Notification-Token", key_in = "header", checker = "by_notification_token")]
pub struct NotificationToken(pub Caller);

async fn by_notification_token(req: &Request, key: ApiKey) -> poem::Result<Caller> {
    let app = app(req);
    let known = app.db.read_without_position(|conn| sessions::find_by_notification_token(conn, &key.key))?;
    let Some(known) = known else {
        count_without_session(req).await?;
        return Err(Error::Unauthorized(Code::NotificationTokenInvalid, "The notification token is invalid").into());
    };
    app.limits.user(known.share())?;
    Ok(admit(req, known, Need::Session)?)
}

/// The caller of the request's session, if it has one. A bearer token that is sent must be good, and cookies are not looked at
/// beside it. A token that isn't good counts towards the rate of the client's address.
async fn session(req: &Request, need: Need) -> Result<Option<Caller>> {
    find_session(req, need, Use::Call).await
}

async fn find_session(req: &Request, need: Need, used: Use) -> Result<Option<Caller>> {
    if req.headers().contains_key(header::AUTHORIZATION) {
        by_authorization(req, need, used).await
    } else {
        by_cookie(req, need, used)
    }
}

/// What a session is used for: by it the rate that a request counts towards, and where a cookie counts.
#[derive(Clone, Copy)]
pub(super) enum Use {
    Call,
    /// Opening a file, as pages do that show it.
    File,
}

impl Use {
    pub(super) fn caller(self, app: &App, session: SessionId) -> Result<Option<Caller>> {
        match self {
            Use::Call => app.caller(session),
            Use::File => app.file_reader(session),
        }
    }

    fn takes_cookie(self, app: &App, req: &Request) -> bool {
        match self {
            Use::Call => app.origins.is_own_page(req),
            Use::File => app.origins.may_show_file(req),
        }
    }
}

/// The caller of the bearer token, if one is sent.
async fn by_authorization(req: &Request, need: Need, used: Use) -> Result<Option<Caller>> {
    let app = app(req);
    let Some(value) = req.headers().get(header::AUTHORIZATION) else { return Ok(None) };
    let token = bearer_token(value.to_str().unwrap_or_default())?;
    let found = if token.starts_with(api_token::PREFIX) { of_program(app, token, used)? } else { of_session(app, token, used)? };
    let Some(caller) = found else {
        count_without_session(req).await?;
        return Err(Error::Unauthorized(Code::TokenInvalid, ACCESS_TOKEN_INVALID));
    };
    admit(req, caller, need).map(Some)
}

/// The caller of the session in a browser's cookie, if there is a live one. A GET may be a link that somebody has followed, so that
/// it writes nothing from here on.
fn by_cookie(req: &Request, need: Need, used: Use) -> Result<Option<Caller>> {
    let app = app(req);
    let cookies = Cookies::of(req, app);
    let token = cookies.find_value(req.headers(), cookies::Purpose::Session).filter(|_| used.takes_cookie(app, req));
    let Some(token) = token else { return Ok(None) };
    // A wrong one is not taken back: another tab may have logged in meanwhile, and this answer would take the new cookie.
    let Some(caller) = of_session(app, token, used)? else { return Ok(None) };
    if *req.method() == Method::GET || matches!(used, Use::File) {
        db::ban_writes();
    }
    admit(req, caller, need).map(Some)
}

/// The caller of an access token, if its session is live.
pub fn caller_of_token(app: &App, token: &str) -> Result<Option<Caller>> {
    of_session(app, token, Use::Call)
}

fn of_session(app: &App, token: &str, used: Use) -> Result<Option<Caller>> {
    match app.site.keys().verify_access(token) {
        // Compared with each request: the token may have been verified long ago.
        Ok(claims) if claims.expires_at > app.clock.now().unix_seconds() => {
            Ok(used.caller(app, claims.session)?.filter(|caller| caller.user == claims.user))
        }
        _ => Ok(None),
    }
}

/// The caller of a program's token, if it is live.
fn of_program(app: &App, token: &str, used: Use) -> Result<Option<Caller>> {
    let session = app.db.read_without_position(|conn| tokens::find_session(conn, token))?;
    session.map_or(Ok(None), |session| used.caller(app, session))
}

/// Admits a request with a live session. 403 if it is a program's whose token is not what the operation needs, 409 if it is
/// meant for another user than the session's.
pub(super) fn admit(req: &Request, caller: Caller, need: Need) -> Result<Caller> {
    caller.grant.require(need)?;
    let template = req.data().map_or("", |PathPattern(template)| template);
    let template = template.strip_prefix("/api/v1").unwrap_or(template);
    let frees = req.method() == Method::DELETE && !FREES_NOTHING.iter().any(|part| template.contains(part));
    if frees || ENDS.contains(&template) || caller.has_platform_role(PlatformRole::Superadmin) {
        db::lift_floor();
    }
    let meant_for = req.headers().get_all(MEANT_FOR).iter();
    let is_meant = |user: &HeaderValue| user.to_str().is_ok_and(|user| user.trim().parse() == Ok(caller.user.0));
    if !meant_for.into_iter().all(is_meant) {
        return Err(Error::OtherUser);
    }
    admission::assign_to_user(req, caller.share());
    Bound::note_live_session(req, caller);
    Ok(caller)
}

/// The caller of an operation that also works without a session. A bearer token that is sent must be valid, and no program's.
pub struct MaybeBearer(pub Option<Caller>);

impl<'a> FromRequest<'a> for MaybeBearer {
    async fn from_request(req: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        Ok(MaybeBearer(session(req, Need::Session).await?))
    }
}

/// The user of an operation that anybody may call, and that tells a user more. A session that isn't good counts as none.
pub struct MaybeUser(pub Option<UserId>);

impl<'a> FromRequest<'a> for MaybeUser {
    async fn from_request(req: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        Ok(MaybeUser(session(req, Need::Session).await.ok().flatten().map(|caller| caller.user)))
    }
}

/// The token in the value of an `Authorization` header.
fn bearer_token(value: &str) -> Result<&str> {
    let token = value.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    token.map(|(_, token)| token.trim()).ok_or(Error::Unauthorized(Code::TokenMissing, BEARER_REQUIRED))
}

/// The access token of a request, for operations that answer it; empty for a session that a cookie keeps, whose token no answer
/// tells. It stands behind a [`Bearer`], which checks it.
pub struct AccessToken(pub String);

impl<'a> FromRequest<'a> for AccessToken {
    async fn from_request(req: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        Ok(AccessToken(req.header(header::AUTHORIZATION).map_or(Ok(""), bearer_token)?.to_owned()))
    }
}

/// The caller of a webhook's feed. With `--feed-auth slug` a token is optional, with `bearer` it is required. Cookies are not
/// looked at: a feed's address may be a link in a message, and a click would post in the reader's name. A program's token needs
/// the scope `post`. The request counts towards the rate of the slug, and without a session towards that of the client's
/// address.
pub struct Feeder {
    pub caller: Option<Caller>,
    /// Whether a webhook has the slug: a guess costs the writer nothing.
    pub is_known_slug: bool,
}

impl Feeder {
    const NEED: Need = Need::Scope { scope: Scope::Post, is_for_one_channel: false };
}

impl<'a> ApiExtractor<'a> for Feeder {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::SecurityScheme];
    type ParamType = ();
    type ParamRawType = ();

    fn security_schemes() -> Vec<&'static str> {
        said_of_tokens(Self::NEED)
    }

    async fn from_request(req: &'a Request, _: &mut RequestBody, _: ExtractParamOptions<()>) -> poem::Result<Self> {
        let caller = by_authorization(req, Self::NEED, Use::Call).await?;
        if caller.is_none() {
            count_without_session(req).await?;
        }
        if caller.is_none() && app(req).site.feed_auth == FeedAuth::Bearer {
            return Err(Error::Unauthorized(Code::TokenMissing, BEARER_REQUIRED).into());
        }
        let slug: String = req.path_params()?;
        app(req).limits.webhook_slug(&slug)?;
        let person = app(req).db.read_without_position(|conn| incoming_posts::answerable_person(conn, &slug))?;
        if let Some(person) = person {
            Bound::raise(req, body::FEED);
            Bound::note_person(req, person);
            Bound::charge(req, req.uri().query().map_or(0, str::len))?; // a feed may be in the query
        }
        Ok(Feeder { caller, is_known_slug: person.is_some() })
    }
}

/// The program that answers a call later, at the secret address that came with it. A program counts towards no rate, since its call
/// takes few answers. A request to an address that takes none counts towards the rate of the client's address.
pub struct AnsweringProgram {
    /// Whether the address takes an answer: a guess costs the writer nothing.
    pub may_answer: bool,
}

impl<'a> FromRequest<'a> for AnsweringProgram {
    async fn from_request(req: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        let token: String = req.path_params()?;
        let may_answer = app(req).db.read_without_position(|conn| answers::takes_answer(conn, &token))?;
        if !may_answer {
            count_without_session(req).await?;
        }
        Ok(AnsweringProgram { may_answer })
    }
}
