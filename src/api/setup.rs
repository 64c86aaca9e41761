//! The first administrator, made in a browser with the link that the server prints at its start. It is no part of the API.

use poem::{
    Body, IntoResponse, Request, Response, handler,
    http::StatusCode,
    web::{Data, Json},
};
use serde::Deserialize;
use serde_json::json;

use super::http::{failure, visitor};
use crate::{
    domain::{
        access::PlatformRole,
        accounts::{New, one_time_tokens::Status},
        organisations::{Edit, by_operator},
    },
    error::{Code, Error, Result},
    net::bounded_request_body,
    state::App,
};

const BODY_MAX: usize = 8 << 10;
const OVER: Error = Error::Forbidden(
    Code::SetupOver,
    "This link does not work any more. Restart the server for a new one, or use `tidings user create`",
);

#[derive(Deserialize)]
struct First {
    token: String,
    email: String,
    first_name: String,
    last_name: String,
    password: String,
    organisation: String,
}

/// Handles `POST /setup/administrator`.
#[handler]
pub async fn make(req: &Request, app: Data<&App>, body: Body) -> Response {
    match first(req, app.0, body).await {
        Ok(()) => Json(json!({ "data": {} })).with_status(StatusCode::CREATED).into_response(),
        Err(err) => failure::answer(err.into(), "/setup/administrator"),
    }
}

async fn first(req: &Request, app: &App, body: Body) -> Result<()> {
    let address = visitor::address(req);
    app.limits.anonymous_request(address)?;
    let body = bounded_request_body::read(body, BODY_MAX).await?;
    let first: First = serde_json::from_slice(&body)
        .map_err(|err| Error::BadRequest(Code::InvalidValue.says(format!("The request body: {err}"))))?;
    let setup = app.setup.as_ref().ok_or(OVER)?;
    if setup.status(&first.token, app.clock.now()) != Some(Status::Open) {
        return Err(OVER);
    }
    let mut new = New::check(&first.email, None, &first.first_name, &first.last_name).map_err(Error::Invalid)?;
    new.role = PlatformRole::Superadmin;
    new.check_password(&first.password).map_err(Error::Invalid)?;
    let hash = app.hash_password(address, first.password).await?;
    let organisation = Edit { name: Some(first.organisation), ..Edit::default() };
    let made = app.db.write(move |tx| by_operator::create_first_administrator(tx, &new, &hash, organisation)).await;
    if made.is_ok() {
        setup.end();
    }
    made
}
