//! The envelope of answers: the success types of handlers. That of failures is in `failure.rs`.

use poem::{IntoResponse, Response, http::StatusCode};
use poem_openapi::{
    ApiResponse, Enum, Object,
    registry::{MetaResponses, Registry},
};
use serde::Serialize;
use serde_json::json;

use super::{
    framework_traits::{Null, Nullable},
    json::{Answer, Json},
};
use crate::id::MessageId;

/// Tells a success from a failure.
#[derive(Enum, Serialize)]
#[oai(rename_all = "lowercase")]
#[serde(rename_all = "lowercase")]
enum Succeeded {
    Success,
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

/// The answer to a feed as the program expects that has sent it.
pub enum ProgramAnswer {
    Envelope(FeedAnswer),
    /// Slack's and Mattermost's: 200 with a word.
    Word,
    /// Discord's: 204.
    Nothing,
    /// Discord's for programs that wait for the message: 200 with its id, by which they know it.
    Message(FeedAnswer),
}

impl IntoResponse for ProgramAnswer {
    fn into_response(self) -> Response {
        match self {
            ProgramAnswer::Envelope(answer) => answer.into_response(),
            ProgramAnswer::Word => "ok".into_response(),
            ProgramAnswer::Nothing => StatusCode::NO_CONTENT.into_response(),
            ProgramAnswer::Message(FeedAnswer::Ok(Json(fed))) => Json(json!({ "id": fed.message_id, "type": 0 })).into_response(),
        }
    }
}

/// The document shows the envelope: the others are for programs that were written for other servers.
impl ApiResponse for ProgramAnswer {
    fn meta() -> MetaResponses {
        FeedAnswer::meta()
    }
    fn register(registry: &mut Registry) {
        FeedAnswer::register(registry);
    }
}

#[derive(ApiResponse)]
pub enum PlainCreated {
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
pub enum NoContent {
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

pub fn created_or_existing<T: Answer>(message: &str, data: T, is_new: bool) -> Opened<T> {
    if is_new { Opened::Created(envelope(201, message, data)) } else { Opened::Ok(envelope(200, message, data)) }
}

pub fn done(message: &str) -> Done {
    Done::Ok(plain(200, message))
}

pub fn webhook_post_answer(message: &str, message_id: Option<MessageId>) -> FeedAnswer {
    let (status, message_id) = (Succeeded::Success, Nullable(message_id));
    FeedAnswer::Ok(Json(Fed { status, status_code: 200, message: message.into(), data: Null, message_id }))
}

pub fn created_without_data(message: &str) -> PlainCreated {
    PlainCreated::Created(plain(201, message))
}

pub fn ok_without_code<T: Answer>(message: &str, data: T) -> Json<Uncoded<T>> {
    Json(Uncoded { status: Succeeded::Success, message: message.into(), data })
}
