//! The envelope of answers: the success types of handlers, and the error body of every failure under `/api/v1`.

use std::{collections::BTreeMap, panic::AssertUnwindSafe};

use futures_util::FutureExt;
use poem::{
    Endpoint, IntoResponse, Request, Response,
    error::{MethodNotAllowedError, NotFoundError},
    http::{HeaderValue, Method, StatusCode, header},
};
use poem_openapi::{
    ApiResponse, Object,
    error::{AuthorizationError, ParseParamError, ParsePathError},
    payload::Json,
    registry::{MetaResponses, Registry},
    types::{ParseFromJSON, ToJSON, Type},
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;

use super::{
    auth::BEARER_REQUIRED,
    body::{Bound, Faulty},
};
use crate::error::Error;

#[derive(Object)]
pub struct Envelope<T: Type + ParseFromJSON + ToJSON> {
    /// Always `success`.
    status: String,
    /// The HTTP status.
    status_code: u16,
    /// A message for people to read.
    message: String,
    data: T,
}

/// An envelope that documents no `data`.
#[derive(Object)]
pub struct Plain {
    /// Always `success`.
    status: String,
    /// The HTTP status.
    status_code: u16,
    /// A message for people to read.
    message: String,
}

#[derive(ApiResponse)]
pub enum Success<T: Type + ParseFromJSON + ToJSON> {
    /// Success.
    #[oai(status = 200)]
    Ok(Json<Envelope<T>>),
}

/// The envelope of a page of a list.
#[derive(Object)]
pub struct Page<T: Type + ParseFromJSON + ToJSON, P: Type + ParseFromJSON + ToJSON> {
    /// Always `success`.
    status: String,
    /// The HTTP status.
    status_code: u16,
    /// A message for people to read.
    message: String,
    data: T,
    pagination: P,
}

#[derive(ApiResponse)]
pub enum Created<T: Type + ParseFromJSON + ToJSON> {
    /// Created.
    #[oai(status = 201)]
    Created(Json<Envelope<T>>),
}

/// The answer to an operation that creates a record unless it exists.
#[derive(ApiResponse)]
pub enum Opened<T: Type + ParseFromJSON + ToJSON> {
    /// The record existed.
    #[oai(status = 200)]
    Ok(Json<Envelope<T>>),
    /// Created.
    #[oai(status = 201)]
    Created(Json<Envelope<T>>),
}

#[derive(ApiResponse)]
pub enum Done {
    /// Success.
    #[oai(status = 200)]
    Ok(Json<Plain>),
}

#[derive(ApiResponse)]
pub enum Made {
    /// Created.
    #[oai(status = 201)]
    Created(Json<Plain>),
}

/// The envelope of testimonials, which has no `status_code`.
#[derive(Object)]
pub struct Uncoded<T: Type + ParseFromJSON + ToJSON> {
    /// Always `success`.
    status: String,
    /// A message for people to read.
    message: String,
    data: T,
}

#[derive(ApiResponse)]
pub enum UncodedCreated<T: Type + ParseFromJSON + ToJSON> {
    /// Created.
    #[oai(status = 201)]
    Created(Json<Uncoded<T>>),
}

#[derive(ApiResponse)]
pub enum Gone {
    /// Success, without a body.
    #[oai(status = 204)]
    NoContent,
}

pub(super) fn envelope<T: Type + ParseFromJSON + ToJSON>(status_code: u16, message: &str, data: T) -> Json<Envelope<T>> {
    Json(Envelope { status: "success".into(), status_code, message: message.into(), data })
}

pub(super) fn page_envelope<T, P>(message: &str, data: T, pagination: P) -> Json<Page<T, P>>
where
    T: Type + ParseFromJSON + ToJSON,
    P: Type + ParseFromJSON + ToJSON,
{
    Json(Page { status: "success".into(), status_code: 200, message: message.into(), data, pagination })
}

fn plain(status_code: u16, message: &str) -> Json<Plain> {
    Json(Plain { status: "success".into(), status_code, message: message.into() })
}

pub fn ok<T: Type + ParseFromJSON + ToJSON>(message: &str, data: T) -> Success<T> {
    Success::Ok(envelope(200, message, data))
}

pub fn created<T: Type + ParseFromJSON + ToJSON>(message: &str, data: T) -> Created<T> {
    Created::Created(envelope(201, message, data))
}

pub fn opened<T: Type + ParseFromJSON + ToJSON>(message: &str, data: T, is_new: bool) -> Opened<T> {
    if is_new { Opened::Created(envelope(201, message, data)) } else { Opened::Ok(envelope(200, message, data)) }
}

pub fn done(message: &str) -> Done {
    Done::Ok(plain(200, message))
}

pub fn made(message: &str) -> Made {
    Made::Created(plain(201, message))
}

pub fn uncoded<T: Type + ParseFromJSON + ToJSON>(message: &str, data: T) -> Json<Uncoded<T>> {
    Json(Uncoded { status: "success".into(), message: message.into(), data })
}

/// The body of every failure.
#[derive(Object)]
#[oai(rename = "Failure")]
struct ErrorBody {
    /// Always `error`.
    status: String,
    /// The HTTP status; absent in answers about testimonials.
    #[oai(skip_serializing_if_is_none)]
    status_code: Option<u16>,
    /// The reason of the failure, for people to read.
    message: String,
    /// The same as `message`.
    #[oai(skip_serializing_if_is_none)]
    error: Option<String>,
    /// The reason as a list, instead of `error`, in user management and threads.
    #[oai(skip_serializing_if_is_none)]
    errors: Option<Vec<String>>,
}

/// All failures, as the OpenAPI document lists them.
#[derive(ApiResponse)]
#[expect(dead_code, reason = "read by the derive")]
enum Failure {
    /// Invalid or missing input.
    #[oai(status = 400)]
    BadRequest(Json<ErrorBody>),
    /// A token is missing or invalid, or credentials are wrong.
    #[oai(status = 401)]
    Unauthorized(Json<ErrorBody>),
    /// The caller lacks the right.
    #[oai(status = 403)]
    Forbidden(Json<ErrorBody>),
    /// The record does not exist, or is hidden from the caller.
    #[oai(status = 404)]
    NotFound(Json<ErrorBody>),
    /// The request body is larger than the limit.
    #[oai(status = 413)]
    TooLarge(Json<ErrorBody>),
    /// The input is readable but refused.
    #[oai(status = 422)]
    Invalid(Json<ErrorBody>),
    /// Too many requests; `Retry-After` says when to try again.
    #[oai(status = 429)]
    TooMany(Json<ErrorBody>),
    /// The server failed.
    #[oai(status = 500)]
    Internal(Json<ErrorBody>),
    /// Overload, or a write whose outcome is unknown; `Retry-After` says when to try again.
    #[oai(status = 503)]
    Unavailable(Json<ErrorBody>),
}

impl ApiResponse for Error {
    fn meta() -> MetaResponses {
        Failure::meta()
    }
    fn register(registry: &mut Registry) {
        Failure::register(registry);
    }
}

/// The words of a refusal for want of a free connection.
pub const TOO_MANY_CONNECTIONS: &str = "Too many connections are open";

/// Alternative path prefixes that clients use, and the prefixes that they stand for.
const ALIASES: [(&str, &str); 2] = [("/centrifugo/", "/realtime/"), ("/auth/magick-link", "/auth/magic-link")];

/// Wraps all of `/api/v1`: aliases in front, the envelope behind.
pub struct Enveloped<E> {
    inner: E,
    /// The methods of each path template, for the `Allow` header.
    methods: BTreeMap<String, Vec<String>>,
}

impl<E> Enveloped<E> {
    /// Wraps `inner`. `document` is the OpenAPI document, as JSON.
    pub fn new(inner: E, document: &str) -> Self {
        #[derive(Deserialize)]
        struct Document {
            paths: BTreeMap<String, BTreeMap<String, IgnoredAny>>,
        }
        let Document { paths } = serde_json::from_str(document).expect("the OpenAPI document is JSON");
        let methods = paths
            .into_iter()
            .map(|(path, operations)| (path, operations.into_keys().map(|method| method.to_uppercase()).collect()));
        Enveloped { inner, methods: methods.collect() }
    }

    fn allow(&self, path: &str) -> String {
        let fits = |template: &str| {
            template.split('/').count() == path.split('/').count()
                && template.split('/').zip(path.split('/')).all(|(template, part)| template.starts_with('{') || template == part)
        };
        // As in routing, a literal segment comes before a parameter, and the first segment that differs decides.
        let parameters = |template: &str| -> Vec<bool> { template.split('/').map(|part| part.starts_with('{')).collect() };
        let nearest = self.methods.iter().filter(|(template, _)| fits(template)).min_by_key(|(template, _)| parameters(template));
        nearest.map(|(_, methods)| methods.join(", ")).unwrap_or_default()
    }
}

impl<E: Endpoint> Endpoint for Enveloped<E> {
    type Output = Response;

    async fn call(&self, mut req: Request) -> poem::Result<Response> {
        rewrite(&mut req);
        req.set_data(Bound::default());
        let path = req.uri().path().to_owned();
        // The router would answer HEAD with GET. A HEAD request to a feed must not post, as it may only check that the
        // address exists.
        let answered = if req.method() == Method::HEAD && path.starts_with("/webhooks/feed/") {
            Ok(Err(MethodNotAllowedError.into()))
        } else {
            AssertUnwindSafe(self.inner.call(req)).catch_unwind().await
        };
        let failed = match answered {
            Ok(Ok(response)) => return Ok(response.into_response()),
            Ok(Err(err)) => err,
            Err(_) => Error::internal("the handler panicked").into(),
        };
        let method_is_wrong = failed.is::<MethodNotAllowedError>();
        let mut response = failure(failed, &path);
        if method_is_wrong && let Ok(allow) = HeaderValue::from_str(&self.allow(&path)) {
            response.headers_mut().insert(header::ALLOW, allow);
        }
        Ok(response)
    }
}

/// Another name of a query parameter, at paths with this end: the specification has it in one place only.
const PARAMETER_ALIAS: (&str, &str, &str) = ("/user-exist", "user_id=", "userId=");

/// Removes a trailing slash, and replaces aliases by the prefixes and the parameter that they stand for.
fn rewrite(req: &mut Request) {
    let path = req.uri().path();
    let mut wanted = if path.len() > 1 { path.trim_end_matches('/').to_owned() } else { path.to_owned() };
    for (alias, real) in ALIASES {
        if let Some(rest) = wanted.strip_prefix(alias) {
            wanted = format!("{real}{rest}");
        }
    }
    let mut query = req.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    let (end, alias, real) = PARAMETER_ALIAS;
    let is_aliased = wanted.ends_with(end) && query.contains(alias);
    if is_aliased {
        query = query.replace(alias, real);
    }
    if wanted != path || is_aliased {
        if let Ok(uri) = format!("{wanted}{query}").parse() {
            *req.uri_mut() = uri;
        }
    }
}

/// Whether failures at this path carry `errors: [..]`: those of user management and threads do.
pub fn lists_errors(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    matches!(parts.as_slice(), ["threads", ..] | ["organisations", _, "users" | "metrics" | "invites", ..])
}

/// Whether answers at this path carry `status_code`: those of testimonials don't, nor do their failures.
pub fn has_status_code(path: &str) -> bool {
    path.split('/').nth(1) != Some("testimonials")
}

/// The body of a failure, as the OpenAPI document shows it.
pub fn failure_example(status: u16, message: &str, path: &str) -> Option<Value> {
    body(status, message.to_owned(), path).to_json()
}

fn body(status: u16, message: String, path: &str) -> ErrorBody {
    let (error, errors) = if lists_errors(path) { (None, Some(vec![message.clone()])) } else { (Some(message.clone()), None) };
    let status_code = has_status_code(path).then_some(status);
    ErrorBody { status: "error".into(), status_code, message, error, errors }
}

/// The answer to a failure below `/api/v1`; `path` is relative to that.
pub fn failure(err: poem::Error, path: &str) -> Response {
    let failure = translate(err, path);
    let status = StatusCode::from_u16(failure.status()).expect("each is a status");
    let request = uuid::Uuid::now_v7();
    if let Error::Internal { .. } = failure {
        tracing::error!(%request, err = failure.detail(), "request failed");
    }
    let body = body(status.as_u16(), failure.to_string(), path);
    let mut response = Json(body).with_status(status).into_response();
    let headers = response.headers_mut();
    match failure {
        Error::TooMany(seconds) | Error::Unproved(seconds) => _ = headers.insert(header::RETRY_AFTER, seconds.into()),
        Error::Unavailable(_) => _ = headers.insert(header::RETRY_AFTER, 1.into()),
        Error::Unauthorized(_) => _ = headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")),
        _ => {}
    }
    if status.is_server_error()
        && let Ok(id) = HeaderValue::from_str(&request.to_string())
    {
        headers.insert("x-request-id", id);
    }
    response
}

/// Describes a parameter that is missing, or that its type refused. The framework puts its own name of the type before what
/// the type says.
fn misfit(parameter: &str, reason: &str) -> String {
    match reason.split_once("\": ") {
        Some((_, says)) => format!("{parameter} {says}"),
        None => format!("{parameter} is required"),
    }
}

/// Translates the framework's failures into the server's messages and statuses.
fn translate(err: poem::Error, path: &str) -> Error {
    if err.is::<AuthorizationError>() {
        let by_notification_token = path.starts_with("/realtime/");
        return Error::Unauthorized(if by_notification_token {
            "The header X-Notification-Token is required"
        } else {
            BEARER_REQUIRED
        });
    }
    if err.is::<NotFoundError>() {
        return Error::NotFound("Route");
    }
    if err.is::<MethodNotAllowedError>() {
        return Error::MethodNotAllowed;
    }
    if let Some(ParsePathError { name, reason }) = err.downcast_ref() {
        return Error::bad_request(misfit(name, reason));
    }
    if let Some(ParseParamError { name, reason }) = err.downcast_ref() {
        return Error::bad_request(misfit(name, reason));
    }
    if let Some(Faulty(reason)) = err.downcast_ref() {
        return Error::bad_request(reason.clone());
    }
    match err.downcast::<Error>() {
        Ok(ours) => ours,
        Err(other) if other.status().is_client_error() => Error::bad_request(other.to_string()),
        Err(other) => Error::internal(other.to_string()),
    }
}
