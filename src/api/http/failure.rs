//! The envelope of failures: the body of every failure under `/api/v1`, and the statuses and headers that it comes with.

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

use super::{auth::BEARER_REQUIRED, body::Faulty, json::Json};
use crate::error::{Code, Error, Refusal};

/// Tells a failure from a success.
#[derive(Enum, Serialize)]
#[oai(rename_all = "lowercase")]
#[serde(rename_all = "lowercase")]
enum Failed {
    Error,
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
    code: Code,
    /// The bound that the request is past, for codes whose meaning mentions `limit`.
    #[oai(skip_serializing_if_is_none)]
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
    /// The seconds after which to try again, as in `Retry-After`.
    #[oai(skip_serializing_if_is_none)]
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
    /// The fields of the body, or the parameters, that are at fault.
    #[oai(skip_serializing_if_is_none)]
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<Vec<Faulted>>,
}

/// A field of the body, or a parameter, that is at fault.
#[derive(Object, Clone, Serialize)]
#[oai(rename = "FailureField")]
struct Faulted {
    /// The name; a field inside of another has the names of both, as in `permissions.permission_list`.
    field: String,
    code: Code,
    /// The bound that the value is past.
    #[oai(skip_serializing_if_is_none)]
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
}

/// The fields of a failure that programs read.
#[derive(Clone)]
pub struct Reason {
    pub code: Code,
    limit: Option<u64>,
    retry_after: Option<u64>,
    fields: Option<Vec<Faulted>>,
}

impl From<&Error> for Reason {
    fn from(err: &Error) -> Self {
        let (code, limit) = (err.code(), err.exceeded_limit());
        let field = err.as_input_refusal().and_then(|refusal| refusal.field.clone());
        let fields = field.map(|field| vec![Faulted { field, code, limit }]);
        Reason { code, limit, retry_after: err.retry_after(), fields }
    }
}

impl From<Code> for Reason {
    fn from(code: Code) -> Self {
        Reason { code, limit: None, retry_after: None, fields: None }
    }
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
pub fn body_has_status_code(path: &str) -> bool {
    path.split('/').nth(1) != Some("testimonials")
}

/// The body of a failure, as the OpenAPI document shows it.
pub fn example(status: u16, message: &str, reason: &Reason, path: &str) -> Value {
    serde_json::to_value(body(status, message.to_owned(), reason.clone(), path)).expect("it is JSON")
}

fn body(status: u16, message: String, reason: Reason, path: &str) -> ErrorBody {
    let (error, errors) = if lists_errors(path) { (None, Some(vec![message.clone()])) } else { (Some(message.clone()), None) };
    let status_code = body_has_status_code(path).then_some(status);
    let Reason { code, limit, retry_after, fields } = reason;
    ErrorBody { status: Failed::Error, status_code, message, error, errors, code, limit, retry_after, fields }
}

/// The details of a failure with status 500, in the extensions of its answer, for the log.
#[derive(Clone)]
pub struct InternalDetail(pub String);

/// The answer to a failure below `/api/v1`; `path` is relative to that.
pub fn answer(err: poem::Error, path: &str) -> Response {
    let failure = translate(err, path);
    let status = StatusCode::from_u16(failure.status()).expect("each is a status");
    debug_assert!(failure.code().statuses().contains(&failure.status()), "{failure:?}: its code has another status");
    let body = body(status.as_u16(), failure.to_string(), (&failure).into(), path);
    let mut response = Json(body).with_status(status).into_response();
    if status == StatusCode::INTERNAL_SERVER_ERROR {
        response.extensions_mut().insert(InternalDetail(failure.log_text()));
    }
    let headers = response.headers_mut();
    if let Some(seconds) = failure.retry_after() {
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    if let Error::Unauthorized(..) = failure {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// Describes a parameter that is missing, or that its type refused. The framework puts its own names of types before and
/// after what the type says.
pub(super) fn misfit(parameter: &str, reason: &str) -> Refusal {
    let refusal = match reason.split_once("\": ") {
        Some((_, says)) => {
            let says = says.split(" (occurred while parsing ").next().unwrap_or_default();
            Code::InvalidValue.says(format!("{parameter} {says}"))
        }
        None => Code::Required.says(format!("{parameter} is required")),
    };
    refusal.at(parameter)
}

/// Translates the framework's failures into the server's messages and statuses.
fn translate(err: poem::Error, path: &str) -> Error {
    if err.is::<AuthorizationError>() {
        let by_notification_token = path.starts_with("/realtime/");
        return match by_notification_token {
            true => Error::Unauthorized(Code::NotificationTokenMissing, "The header X-Notification-Token is required"),
            false => Error::Unauthorized(Code::TokenMissing, BEARER_REQUIRED),
        };
    }
    if err.is::<NotFoundError>() {
        return Error::NotFound(Code::RouteNotFound);
    }
    if err.is::<MethodNotAllowedError>() {
        return Error::MethodNotAllowed;
    }
    if let Some(ParseParamError { name, reason }) = err.downcast_ref() {
        return Error::BadRequest(misfit(name, reason));
    }
    if let Some(Faulty(refusal)) = err.downcast_ref() {
        return Error::BadRequest(refusal.clone());
    }
    match err.downcast::<Error>() {
        Ok(Error::Failed(words)) => Error::internal(words),
        Ok(ours) => ours,
        Err(other) if other.status().is_client_error() => Error::BadRequest(Code::BadRequest.says(other.to_string())),
        Err(other) => Error::internal(other.to_string()),
    }
}
