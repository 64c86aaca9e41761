//! Tidings: a team-messaging server in one binary.
//!
//! Two halves: `api/<area>/<thing>.rs` is HTTP (routes, bodies, words), `domain/<area>/<thing>.rs` is the rules with their
//! SQL. Between them stand [`db::Db::read`] and [`db::Db::write`]; after a commit its events go to [`push`].
//!
//! ```text
//! main -> cli -> app -+-> connections -> api -> domain -> db
//!                     |                    `-> push  |
//!                     +-> push ----------------^     |  (effects, after commit)
//!                     +-> jobs ----------------^     v
//!                          |                      push::embedded::publisher -> hub
//!                          +-> mail, outgoing
//! leaves used by all: id, time, event, error, config, secret, site, limits, origins, request_body, upgrade
//! ```
//!
//! [`connections`] accepts what clients open, within bounds, and hands requests to [`api`].
//! Modules that reach outside: [`mail`] (the domain words and queues mails, [`jobs`] sends them), [`issuer`] (whose id
//! tokens log in), [`outgoing`] (requests to addresses that users gave: [`jobs`] delivers there what webhooks queue, and `api`
//! has it test one at once), [`push::external`] (a push server outside, instead of our own), [`tls`] (whom these four trust),
//! [`web`] (the embedded pages, behind the links in mails), [`metrics`] (how all of it fares).
//!
//! # Invariants
//! `tests/api/architecture.rs` enforces the first four.
//! 1. `domain/` never mentions poem, tokio, `crate::api` or `crate::app`.
//! 2. `api/` contains no SQL and no rusqlite.
//! 3. In `push/embedded/`, `hub.rs` and `connection.rs`, `protocol.rs`, `encoding.rs` and `codes.rs` know neither HTTP nor SQL
//!    nor the domain.
//! 4. Only `db` opens the database; only `config.rs` reads the environment; only `error.rs` and
//!    `api/http/envelope.rs` build error bodies.
//! 5. Nothing is published before its transaction has committed, and all is published in commit order.
//! 6. A request that was answered 2xx is on disk (fsynced), whatever is killed afterwards.
//! 7. Everything slow that a change brings about is a row written in the same transaction and done later by
//!    [`jobs`]; everything pushed is a row of the event log. The two are never mixed.
//! 8. A token never replaces the check of rights in the database.

#![forbid(unsafe_code)]

pub mod api;
pub mod app;
pub mod cli;
pub mod config;
pub mod connections;
pub mod db;
pub mod domain;
pub mod error;
pub mod event;
pub mod id;
pub mod issuer;
pub mod jobs;
pub mod limits;
pub mod mail;
pub mod metrics;
pub mod origins;
pub mod outgoing;
pub mod push;
pub mod request_body;
pub mod secret;
pub mod site;
pub mod time;
pub mod tls;
mod upgrade;
pub mod web;

use std::time::Duration;

use tokio::{net::TcpListener, time::timeout};

use crate::{
    app::App,
    error::{Error, Result},
};

/// For sockets to take their last frames and the close.
const SOCKETS_WITHIN: Duration = Duration::from_secs(2);

/// Serves on the listener until `shutdown` is ready, then ends within some ten seconds: requests finish,
/// queued writes reach the disk, sockets are closed with 3001.
pub async fn serve(
    settings: config::Settings,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<()> {
    let address = listener.local_addr().map_err(Error::internal)?;
    run(App::open(&settings, address)?, listener, shutdown).await
}

/// [`serve`] for an application that is open already.
pub async fn run(app: App, listener: TcpListener, shutdown: impl Future<Output = ()> + Send + 'static) -> Result<()> {
    let mut sockets = app.count_sockets();
    let forwarded = push::external::forwarder::prepare(&app).await?;
    jobs::deliveries::prepare(&app).await?;
    let jobs = tokio::spawn(jobs::run(app.clone(), forwarded));
    let stopping = app.clone();
    tokio::spawn(async move {
        shutdown.await;
        stopping.stop();
    });
    connections::serve(&app, listener).await;
    _ = jobs.await;
    if let Err(err) = jobs::tidy(&app).await {
        tracing::warn!(err = err.detail(), "the last housekeeping failed");
    }
    let finishing = app.clone();
    tokio::task::spawn_blocking(move || finishing.finish_writes()).await.map_err(Error::internal)?;
    app.close_sockets(); // last, so that what was answered is pushed before
    _ = timeout(SOCKETS_WITHIN, sockets.recv()).await;
    Ok(())
}
