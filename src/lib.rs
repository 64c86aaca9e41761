//! Tidings: a team-messaging server in one binary.
//!
//! The code has two halves: `api/<area>/<thing>.rs` is HTTP (routes, bodies, messages), and `domain/<area>/<thing>.rs` has the
//! rules with their SQL. They meet only in [`db::Db::read`] and [`db::Db::write`]. After a commit, its events go to [`push`].
//!
//! ```text
//! main -> cli -> wiring -+-> connections -> api --> domain -> db
//!                        +-> push ------------------^          |  effects of each commit
//!                        +-> jobs ------------------^          v
//!                             |                        wiring's router -+-> state's session cache
//!                             +-> mail, outgoing                        +-> wakeups -> jobs
//!                                                                       +-> push::embedded::publisher -> hub
//! used by many: state (what handlers hold), limits, net; leaves: id, time, clock, event, error, config, secret, site, formats, regular_file
//! ```
//!
//! [`connections`] accepts clients' connections within bounds, with TLS or without, and hands their requests to [`api`].
//!
//! [`archive`] has all that leaves the server as one file and comes back: backups of a whole server, exports of one organisation,
//! and what Slack exports.
//!
//! [`files`] has the bytes of files on the disk, and [`domain::files`] says who may read them. [`pictures`] looks at those that are
//! pictures, in a process of its own.
//!
//! These modules reach outside: [`mail`] (the domain writes and queues mails, and [`jobs`] sends them), [`issuer`] (the issuer
//! of id tokens that log in), [`outgoing`] (requests to addresses that users gave, for deliveries and tests of webhooks),
//! [`push::external`] (a Centrifugo that serves live push instead of this server) and [`connections::acme`] (the authority that
//! gives the server's certificate). [`net::trusted_authorities`] holds the certificates that these five trust. [`web`] has the
//! embedded pages that links in mails lead to and the web client, and [`metrics`] what monitoring reads.
//!
//! # Who imports whom
//! Each line names a folder or file and everything that it imports, which stands below it; `-` is nothing. There are no import
//! circles between files.
//! ```text
//! cli: api, archive, clock, config, connections, db, domain, error, files, id, mail, net, outgoing, pictures, push, regular_file,
//!   secret, site, state, time, wiring
//! wiring: archive, clock, config, connections, db, domain, error, event, files, issuer, jobs, limits, mail, metrics, net,
//!   outgoing, push, site, state
//! connections: api, config, error, files, id, limits, metrics, net, push, regular_file, state, time, web
//! api: config, db, domain, error, event, files, formats, id, issuer, limits, net, pictures, push, secret, site, state, time, web
//! jobs: archive, db, domain, error, event, id, mail, push, secret, state, time
//! state: archive, clock, db, domain, error, event, files, id, issuer, limits, mail, metrics, net, outgoing, push, secret,
//!   site, time
//! push: clock, config, db, domain, error, event, id, limits, metrics, net, secret, site, time
//! archive: db, domain, error, files, formats, id, outgoing, pictures, regular_file, secret, time
//! domain: config, db, error, event, formats, id, issuer, mail, outgoing, pictures, secret, site, time
//! db: clock, error, event, id, limits, secret, site, time
//! metrics: error, secret, time
//! outgoing: error, net
//! issuer: config, error, net, secret, time
//! mail: error, id, net, site
//! files: error, id, limits, pictures, secret, time
//! limits: clock, config, error, id, net, secret
//! web: net, secret
//! net: error, regular_file, site
//! site: config, id, secret
//! config: error, regular_file, secret
//! secret: error, id
//! event: id
//! regular_file: -
//! formats: -
//! pictures: error
//! error: -
//! clock: time
//! time: -
//! id: -
//!
//! domain/base_url: faces
//! domain/reading_costs: messages, organisations, public, text, webhooks
//! domain/channel_purging: files, messages, slice_byte_budget, webhooks
//! domain/event_schemas: accounts, channels, commands, log, messages, notifications, organisations, reminders, webhooks
//! domain/transfer: accounts, channels, faces, files, messages, notifications, organisations, rights, text, webhooks
//! domain/unfinished_accounts: access, account_erasure, accounts
//! domain/account_erasure: accounts, channels, deferred_work, faces, organisations
//! domain/consistency: messages
//! domain/notifications: access, channels, log, messages, text
//! domain/reminders: access, accounts, log, page, text
//! domain/commands: access, log, messages, page, program_urls, rights, text, webhooks
//! domain/webhooks: access, log, mail_queue, messages, page, program_urls, rights, scopes, slice_byte_budget, text
//! domain/streams: access, channels, log, messages, text
//! domain/public: access, accounts, mail_queue, page, text
//! domain/first_screen: access, accounts, channels, organisations, page
//! domain/channel_summaries: channels, messages
//! domain/organisations: access, accounts, channels, deferred_work, faces, log, mail_queue, messages, page, program_urls, rights, text
//! domain/messages: access, accounts, channels, deferred_work, files, log, page, slice_byte_budget, text
//! domain/files: access, page, rights, text
//! domain/channels: access, accounts, deferred_work, log, page, rights, text
//! domain/accounts: access, deferred_work, faces, log, mail_queue, page, rights, scopes, text
//! domain/program_urls: text
//! domain/text: -
//! domain/page: -
//! domain/mail_queue: -
//! domain/log: slice_byte_budget
//! domain/slice_byte_budget: -
//! domain/faces: -
//! domain/deferred_work: -
//! domain/access: rights, scopes
//! domain/scopes: -
//! domain/rights: -
//! ```
//!
//! # Invariants
//! `tests/api/architecture` enforces the first four, and checks the table above and its order against the imports.
//! 1. `domain/` never mentions poem, tokio, `crate::api` or `crate::state`, and reads no clock: the time of a job is
//!    [`db::View::now`].
//! 2. `api/` contains no SQL and no rusqlite.
//! 3. In `push/embedded/`, `hub.rs`, `connection.rs`, `outbox.rs`, `unsent.rs`, `protocol/`, `encoding.rs` and `codes.rs` know neither HTTP
//!    nor SQL, and of this crate only each other, `error`, `event`, `id`, `net::client_socket` and `time`.
//! 4. Only `db` opens the database; only `config/` reads the environment; only `api/http/envelope.rs` and
//!    `api/http/failure.rs` build the bodies of answers.
//! 5. Events are published after their transaction has committed, in commit order.
//! 6. The writes of a request that was answered 2xx are on disk (fsynced), whatever is killed afterwards.
//! 7. Slow work that a change causes is a row of a queue, written in the same transaction, and [`jobs`] does it later. An event
//!    to push is a row of the event log. The two are never mixed. A consumer that follows the log queues the deliveries of
//!    webhooks, in the transaction that moves its cursor.
//! 8. A token never replaces the check of rights in the database; [`domain::access`] has these checks.
//! 9. [`domain::files::readable`] alone says who may read a file, at each request. A row names bytes that are whole and on disk.
//! 10. No decoder of pictures runs in the server's process: [`pictures`] starts a child for each.

#![forbid(unsafe_code)]

mod api;
pub mod archive;
pub mod cli;
pub mod clock;
pub mod config;
mod connections;
pub mod db;
pub mod domain;
pub mod error;
pub mod event;
mod files;
pub mod formats;
pub mod id;
pub mod issuer;
pub mod jobs;
pub mod limits;
mod mail;
mod metrics;
pub mod net;
pub mod outgoing;
pub mod pictures;
pub mod push;
mod regular_file;
pub mod secret;
pub mod site;
pub mod state;
pub mod time;
mod web;
pub mod wiring;

use tokio::net::TcpListener;

pub use crate::api::document::document_with;
use crate::{
    clock::Clock,
    error::{Error, Result},
};

/// Serves on the listener until `shutdown` is ready; see [`wiring::run`].
pub async fn serve(
    settings: config::Settings,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<()> {
    let address = listener.local_addr().map_err(Error::internal)?;
    wiring::run(wiring::open(&settings, address, Clock::default())?, listener, shutdown).await
}
