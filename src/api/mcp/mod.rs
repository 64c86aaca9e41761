//! The endpoint of the Model Context Protocol, by which assistants read and post as their user: `POST /mcp`.
//!
//! Streamable HTTP without streams and sessions: each request is answered by itself, in JSON. Callers, rates and bodies are checked
//! as for operations of the API. It is no operation of the OpenAPI document: clients learn the tools from `tools/list`.

mod arguments;
mod protocol;
mod read;
mod rpc;
mod shown;
mod tools;
mod write;

use std::sync::LazyLock;

use poem::{
    Body, IntoResponse, Request, Response, handler,
    http::StatusCode,
    web::{Data, Json},
};
use serde_json::Value;

use self::{
    protocol::{ASSUMED, Stop, VERSIONS},
    rpc::{Fault, Message},
};
use super::{
    document::Methods,
    http::{
        auth::require_caller,
        body::{self, WITHOUT_SESSION},
    },
};
use crate::{
    domain::{access::Caller, scopes::Need},
    error::{Error, Result},
    state::App,
};

pub const PATH: &str = "/mcp";
/// The header with the protocol version that a client and the server have agreed on.
pub const VERSION: &str = "mcp-protocol-version";
/// Messages in a batch, at most. Each counts towards the user's rate.
const BATCH: usize = 20;

/// The methods of the endpoint, for the header `Allow`.
pub fn allowed_http_methods() -> &'static Methods {
    static METHODS: LazyLock<Methods> = LazyLock::new(|| [(PATH.to_owned(), vec!["POST".to_owned()])].into());
    &METHODS
}

/// Handles `POST /mcp`: one message of JSON-RPC, or a batch of them.
#[handler]
pub async fn answer(req: &Request, app: Data<&App>, body: Body) -> poem::Result<Response> {
    // A page whose name was made to lead here (DNS rebinding) is refused even with a token.
    if !app.origins.may_open_socket(req) {
        return Ok("this origin is not allowed".with_status(StatusCode::FORBIDDEN).into_response());
    }
    let caller = require_caller(req, Need::AnyToken).await?;
    let bytes = body::read_json_bytes(req, body, WITHOUT_SESSION).await?;
    let version = req.header(VERSION).unwrap_or(ASSUMED);
    if !VERSIONS.contains(&version) {
        let words = format!("{VERSION} {version:?} is not supported, these are: {}", VERSIONS.join(", "));
        return Ok(refused(Fault::invalid_request(words)));
    }
    match body::parse(&bytes) {
        Ok(Value::Array(messages)) if version == ASSUMED => batch(&app, caller, messages).await,
        Ok(message) => single(&app, caller, message).await,
        Err(unreadable) => Ok(refused(Fault::unreadable(&unreadable))),
    }
}

async fn single(app: &App, caller: Caller, message: Value) -> poem::Result<Response> {
    match rpc::read(message) {
        Ok(Message::Request { id, method, params }) => Ok(Json(reply(app, caller, id, &method, params).await?).into_response()),
        Ok(Message::Notice) => Ok(StatusCode::ACCEPTED.into_response()),
        Err((id, fault)) => Ok(Json(rpc::reply(id, Err(fault))).with_status(StatusCode::BAD_REQUEST).into_response()),
    }
}

/// Answers the messages of a batch in one list, in their order. 429 before the first of them if the user's rate has no room for all.
async fn batch(app: &App, caller: Caller, messages: Vec<Value>) -> poem::Result<Response> {
    if messages.is_empty() || messages.len() > BATCH {
        let words = format!("a batch has 1 to {BATCH} messages, not {}", messages.len());
        return Ok(refused(Fault::invalid_request(words)));
    }
    for _ in 1..messages.len() {
        app.limits.user(caller.share())?;
    }
    let mut replies = Vec::new();
    for message in messages {
        match rpc::read(message) {
            Ok(Message::Request { id, method, .. }) if method == "initialize" => {
                replies.push(rpc::reply(id, Err(Fault::invalid_request("initialize stands in no batch"))));
            }
            Ok(Message::Request { id, method, params }) => {
                // The answers of the others are not lost with it: a client would post again.
                let answered = match reply(app, caller, id.clone(), &method, params).await {
                    Ok(answered) => answered,
                    Err(failure) => {
                        tracing::error!(err = failure.log_text(), method, "a message of a batch failed");
                        rpc::reply(id, Err(Fault::internal()))
                    }
                };
                replies.push(answered);
            }
            Ok(Message::Notice) => {}
            Err((id, fault)) => replies.push(rpc::reply(id, Err(fault))),
        }
    }
    Ok(if replies.is_empty() { StatusCode::ACCEPTED.into_response() } else { Json(replies).into_response() })
}

/// The reply to a request. A failure of the server fails the whole HTTP request, as in the API, so that it is logged.
async fn reply(app: &App, caller: Caller, id: Value, method: &str, params: Value) -> Result<Value, Error> {
    match protocol::answer(app, caller, method, params).await {
        Ok(result) => Ok(rpc::reply(id, Ok(result))),
        Err(Stop::Fault(fault)) => Ok(rpc::reply(id, Err(fault))),
        Err(Stop::Failure(failure)) => Err(failure),
    }
}

/// The answer to a body of which no message can be answered.
fn refused(fault: Fault) -> Response {
    Json(rpc::reply(Value::Null, Err(fault))).with_status(StatusCode::BAD_REQUEST).into_response()
}
