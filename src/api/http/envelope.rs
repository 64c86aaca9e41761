//! The envelope of answers: the success types of handlers, and the error body of every failure under `/api/v1`.

use poem::{
    IntoResponse, Response,
    error::{MethodNotAllowedError, NotFoundError},
    http::{HeaderValue, StatusCode, header},
};
use poem_openapi::{
    ApiResponse, Enum, Object,
    error::{AuthorizationError, ParseParamError},
    registry::{MetaResponses, Registry},
};
use serde::Serialize;
use serde_json::Value;

use super::{
    auth::BEARER_REQUIRED,
    body::Faulty,
    json::{Answer, Json},
    types::{Null, Nullable},
};
use crate::{error::Error, id::MessageId};

/// Tells a success from a failure.
#[derive(Enum, Serialize)]
#[oai(rename_all = "lowercase")]
#[serde(rename_all = "lowercase")]
enum Succeeded {
    Success,
}

/// Tells a failure from a success.
#[derive(Enum, Serialize)]
#[oai(rename_all = "lowercase")]
#[serde(rename_all = "lowercase")]
enum Failed {
    Error,
}

#[derive(Object, Serialize)]
pub struct Envelope<T: Answer> {
    status: Succeeded,
    /// The HTTP status.
    status_code: u16,
    /// A message for people to read.
    message: String,
    data: T,
}

/// An envelope that documents no `data`.
#[derive(Object, Serialize)]
pub struct Plain {
    status: Succeeded,
    /// The HTTP status.
    status_code: u16,
    /// A message for people to read.
    message: String,
}

#[derive(ApiResponse)]
pub enum Success<T: Answer> {
    /// Success.
    #[oai(status = 200)]
    Ok(Json<Envelope<T>>),
}

/// The envelope of a page of a list.
#[derive(Object, Serialize)]
pub struct Page<T: Answer, P: Answer> {
    status: Succeeded,
    /// The HTTP status.
    status_code: u16,
    /// A message for people to read.
    message: String,
    data: T,
    pagination: P,
}

#[derive(ApiResponse)]
pub enum Created<T: Answer> {
    /// Created.
    #[oai(status = 201)]
    Created(Json<Envelope<T>>),
}

/// The answer to an operation that creates a record unless it exists.
#[derive(ApiResponse)]
pub enum Opened<T: Answer> {
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

/// The envelope of a feed's answer, which has no `data`.
#[derive(Object, Serialize)]
pub struct Fed {
    status: Succeeded,
    /// The HTTP status.
    status_code: u16,
    /// A message for people to read.
    message: String,
    /// Always null.
    data: Null,
    /// The post that the feed made; null if the webhook is paused, because then there is none.
    message_id: Nullable<MessageId>,
}

#[derive(ApiResponse)]
pub enum FeedAnswer {
    /// Success.
    #[oai(status = 200)]
    Ok(Json<Fed>),
}

#[derive(ApiResponse)]
pub enum Made {
    /// Created.
    #[oai(status = 201)]
    Created(Json<Plain>),
}

/// The envelope of testimonials, which has no `status_code`.
#[derive(Object, Serialize)]
pub struct Uncoded<T: Answer> {
    status: Succeeded,
    /// A message for people to read.
    message: String,
    data: T,
}

#[derive(ApiResponse)]
pub enum UncodedCreated<T: Answer> {
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

pub fn envelope<T: Answer>(status_code: u16, message: &str, data: T) -> Json<Envelope<T>> {
    Json(Envelope { status: Succeeded::Success, status_code, message: message.into(), data })
}

pub(super) fn page_envelope<T, P>(message: &str, data: T, pagination: P) -> Json<Page<T, P>>
where
    T: Answer,
    P: Answer,
{
    Json(Page { status: Succeeded::Success, status_code: 200, message: message.into(), data, pagination })
}

fn plain(status_code: u16, message: &str) -> Json<Plain> {
    Json(Plain { status: Succeeded::Success, status_code, message: message.into() })
}

pub fn ok<T: Answer>(message: &str, data: T) -> Success<T> {
    Success::Ok(envelope(200, message, data))
}

pub fn created<T: Answer>(message: &str, data: T) -> Created<T> {
    Created::Created(envelope(201, message, data))
}

pub fn opened<T: Answer>(message: &str, data: T, is_new: bool) -> Opened<T> {
    if is_new { Opened::Created(envelope(201, message, data)) } else { Opened::Ok(envelope(200, message, data)) }
}

pub fn done(message: &str) -> Done {
    Done::Ok(plain(200, message))
}

pub fn fed(message: &str, message_id: Option<MessageId>) -> FeedAnswer {
    let (status, message_id) = (Succeeded::Success, Nullable(message_id));
    FeedAnswer::Ok(Json(Fed { status, status_code: 200, message: message.into(), data: Null, message_id }))
}

pub fn made(message: &str) -> Made {
    Made::Created(plain(201, message))
}

pub fn uncoded<T: Answer>(message: &str, data: T) -> Json<Uncoded<T>> {
    Json(Uncoded { status: Succeeded::Success, message: message.into(), data })
}

/// The body of every failure.
#[derive(Object, Serialize)]
#[oai(rename = "Failure")]
struct ErrorBody {
    status: Failed,
    /// The HTTP status; absent in answers about testimonials.
    #[oai(skip_serializing_if_is_none)]
    #[serde(skip_serializing_if = "Option::is_none")]
    status_code: Option<u16>,
    /// The reason of the failure, for people to read.
    message: String,
    /// The same as `message`.
    #[oai(skip_serializing_if_is_none)]
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// The reason as a list, instead of `error`, in user management and threads.
    #[oai(skip_serializing_if_is_none)]
    #[serde(skip_serializing_if = "Option::is_none")]
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
    /// The session is not of the user that `Tidings-User` names.
    #[oai(status = 409)]
    OtherUser(Json<ErrorBody>),
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
pub fn failure_example(status: u16, message: &str, path: &str) -> Value {
    serde_json::to_value(body(status, message.to_owned(), path)).expect("it is JSON")
}

fn body(status: u16, message: String, path: &str) -> ErrorBody {
    let (error, errors) = if lists_errors(path) { (None, Some(vec![message.clone()])) } else { (Some(message.clone()), None) };
    let status_code = has_status_code(path).then_some(status);
    ErrorBody { status: Failed::Error, status_code, message, error, errors }
}

/// The details of a failure with status 500, in the extensions of its answer, for the log.
#[derive(Clone)]
pub struct Fault(pub String);

/// The answer to a failure below `/api/v1`; `path` is relative to that.
pub fn failure(err: poem::Error, path: &str) -> Response {
    let failure = translate(err, path);
    let status = StatusCode::from_u16(failure.status()).expect("each is a status");
    let body = body(status.as_u16(), failure.to_string(), path);
    let mut response = Json(body).with_status(status).into_response();
    if let Error::Internal { .. } = failure {
        response.extensions_mut().insert(Fault(failure.detail()));
    }
    let headers = response.headers_mut();
    match failure {
        Error::TooMany(seconds) | Error::Unproved(seconds) | Error::MailsUsedUp(seconds) | Error::Guessed(seconds) => {
            _ = headers.insert(header::RETRY_AFTER, seconds.into())
        }
        Error::Unavailable(_) => _ = headers.insert(header::RETRY_AFTER, 1.into()),
        Error::Unauthorized(_) => _ = headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")),
        _ => {}
    }
    response
}

/// Describes a parameter that is missing, or that its type refused. The framework puts its own names of types before and
/// after what the type says.
pub(super) fn misfit(parameter: &str, reason: &str) -> String {
    match reason.split_once("\": ") {
        Some((_, says)) => format!("{parameter} {}", says.split(" (occurred while parsing ").next().unwrap_or_default()),
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
