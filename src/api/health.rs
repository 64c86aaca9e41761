//! Whether the server lives, and whether it is ready for requests.

use std::time::Duration;

use poem::web::Json;
use poem::{IntoResponse, Response, handler, http::StatusCode, web::Data};
use serde_json::json;
use tokio::time::timeout;

use super::{http::failure, job_backlog::Backlog};
use crate::{
    db,
    error::{Code, Error, Result},
    state::App,
};

/// How long the writer may take to run an empty job. A batch takes some milliseconds.
const WRITER_WITHIN: Duration = Duration::from_secs(2);

/// Checks that the server reads and writes: `{"status": "ok", "version": …}`, or 503.
#[handler]
pub fn health(app: Data<&App>) -> Response {
    let reads = app.db.read(|conn| Ok(conn.is_readonly("main")?)).is_ok();
    let (status, word) =
        if reads && app.db.is_writable() { (StatusCode::OK, "ok") } else { (StatusCode::SERVICE_UNAVAILABLE, "unavailable") };
    Json(json!({ "status": word, "version": env!("CARGO_PKG_VERSION") })).with_status(status).into_response()
}

/// Checks that the server does its work: `{"status": "ready", "version": …}`, or 503 in the envelope, which names what fails.
#[handler]
pub async fn ready(app: Data<&App>) -> Response {
    match check(app.0).await {
        Ok(()) => Json(json!({ "status": "ready", "version": env!("CARGO_PKG_VERSION") })).into_response(),
        Err(err) => failure::answer(err.into(), "/ready"),
    }
}

/// 503 unless the writer takes a job, which it refuses while the disk is full, the schema is this version's, and no queue is too
/// long.
async fn check(app: &App) -> Result<()> {
    let is_current = timeout(WRITER_WITHIN, app.db.write(|tx| db::is_current(tx))).await;
    match is_current.unwrap_or(Err(Error::Unavailable(Code::NotReady, "the writer does not answer")))? {
        true => Backlog::read(app)?.overlong_queue().map_or(Ok(()), |says| Err(Error::Unavailable(Code::NotReady, says))),
        false => Err(Error::Unavailable(Code::NotReady, "the database has the schema of another version")),
    }
}
