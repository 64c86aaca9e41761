//! HTTP/1.1 connections, in TLS or without, with a certificate from files or from an authority ([`acme`]): accepts them within
//! bounds, serves them with deadlines, and closes them when the server stops.
//!
//! HTTP/2 is not supported: its streams would multiply what one connection may hold, and it would not show the client's first
//! screen sooner (docs/performance.md). A reverse proxy that speaks HTTP/2 to browsers speaks HTTP/1.1 to this server. An upgraded
//! WebSocket keeps its connection's slot until it is closed.

pub mod acme;
mod answer;
pub mod certificate;
mod certificate_validity;
mod connection;
mod exchange_stream;
mod host;
pub mod listening;
pub mod redirect;
mod request_log;
mod wait_state;

use std::{collections::VecDeque, future::poll_fn, io, sync::Arc, time::Duration};

use poem::EndpointExt;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::{AbortHandle, JoinSet},
    time::{sleep, timeout},
};

use self::{
    answer::{Handler, Service},
    connection::{Connection, REFUSAL},
    listening::{Accepted, Listeners},
    request_log::RequestLog,
};
use crate::{
    api,
    limits::{
        admission::{Admission, RESERVE},
        turns::Turns,
    },
    net::client_socket::Socket,
    state::App,
};

/// How long requests in flight may take to finish once the server stops.
const REQUESTS_WITHIN: Duration = Duration::from_secs(5);
/// Pause after accepting has failed: at once it would only fail again.
const PAUSE: Duration = Duration::from_millis(100);
/// Most accepted connections in the runtime's queue that it has not begun to serve: whose first bytes are there, and not read. Further
/// ones wait outside of it, so that the requests of others don't stand behind them.
const STARTING: usize = 8;
/// Most accepted connections that the server has not begun to serve. More wait in the kernel's backlog.
const WAITING: usize = 1024;

/// What answers the requests of a connection.
struct Handlers {
    /// The whole API and the pages.
    whole: Handler,
    /// What a connection of the reserve may ask for.
    reserve: Handler,
    /// For plain HTTP beside HTTPS.
    redirect: Handler,
}

impl Handlers {
    fn of(&self, is_redirected: bool, is_reserve: bool) -> Handler {
        let handler = if is_reserve { &self.reserve } else { &self.whole };
        if is_redirected { self.redirect.clone() } else { handler.clone() }
    }
}

/// Accepts and serves connections until the server stops. Then requests in flight have five seconds to finish.
pub async fn serve(app: &App, mut listeners: Listeners) {
    let handlers = Handlers {
        whole: Arc::new(api::routes(app.clone()).map_to_response().boxed()),
        reserve: Arc::new(api::overload_routes(app.clone()).map_to_response().boxed()),
        redirect: Arc::new(redirect::to_https(&app.site.base_url, std::mem::take(&mut listeners.plain_http)).boxed()),
    };
    if let Some(end) = listeners.certificate_end() {
        app.metrics.certificate(end);
    }
    let turns = Arc::new(Turns::default());
    let log = Arc::new(RequestLog::new(app.metrics.requests.clone()));
    let (mut stopping, mut served) = (app.stopping(), Served::default());
    loop {
        let next = tokio::select! {
            _ = stopping.wait_for(|stopping| *stopping) => break,
            Some(_) = served.tasks.join_next() => continue,
            Ok(start) = served.starting.clone().acquire_owned(), if !served.waiting.is_empty() => Next::Begins(start),
            accepted = poll_fn(|cx| listeners.poll_accept(cx)), if served.waiting.len() < WAITING => Next::Accepted(accepted),
        };
        let accepted = match next {
            Next::Accepted(accepted) => accepted,
            Next::Begins(start) => {
                served.begin_next(start);
                continue;
            }
        };
        let Accepted { plain, peer, tls, is_redirected } = match accepted {
            Ok(accepted) => accepted,
            Err(err) => {
                app.connection_slots.log_accept_failure(&err);
                sleep(PAUSE).await;
                continue;
            }
        };
        let (slot, is_reserve) = match app.connection_slots.admit(peer.ip()) {
            Admission::Slot(slot) => (slot, false),
            Admission::Reserve(slot) => (slot, true),
        };
        let is_secure = tls.is_some();
        let Ok(socket) = Socket::new(plain, tls) else { continue };
        let service = Service { peer, handler: handlers.of(is_redirected, is_reserve), log: log.clone(), is_secure };
        let connection = Connection { service, slot: Arc::new(slot), is_reserve, stopping: app.stopping(), turns: turns.clone() };
        if is_reserve {
            served.begin_in_reserve(connection, socket);
        } else {
            served.waiting.push_back((connection, socket));
        }
    }
    drop((listeners, served.waiting));
    _ = timeout(REQUESTS_WITHIN, async { while served.tasks.join_next().await.is_some() {} }).await;
    served.tasks.shutdown().await;
}

/// What [`serve`] does next.
enum Next {
    Accepted(io::Result<Accepted>),
    Begins(OwnedSemaphorePermit),
}

/// The tasks of connections, and the accepted connections that have none yet.
struct Served {
    tasks: JoinSet<()>,
    in_reserve: VecDeque<AbortHandle>,
    waiting: VecDeque<(Connection, Socket)>,
    starting: Arc<Semaphore>,
}

impl Default for Served {
    fn default() -> Served {
        let starting = Arc::new(Semaphore::new(STARTING));
        Served { tasks: JoinSet::new(), in_reserve: VecDeque::new(), waiting: VecDeque::new(), starting }
    }
}

impl Served {
    /// Begins to serve the connection that has waited longest.
    fn begin_next(&mut self, start: OwnedSemaphorePermit) {
        if let Some((connection, socket)) = self.waiting.pop_front() {
            self.begin(connection, socket, Some(start));
        }
    }

    /// Begins to serve a connection, unless its address is full.
    fn begin(&mut self, connection: Connection, socket: Socket, start: Option<OwnedSemaphorePermit>) -> Option<AbortHandle> {
        if connection.slot.begin() {
            return Some(self.tasks.spawn(connection.serve(socket, start)));
        }
        _ = socket.end_with(REFUSAL);
        None
    }

    /// Serves a connection past the bound at once, since no file is left for one that waits. It closes the oldest of the reserve.
    fn begin_in_reserve(&mut self, connection: Connection, socket: Socket) {
        self.in_reserve.retain(|earlier| !earlier.is_finished());
        if self.in_reserve.len() == RESERVE
            && let Some(oldest) = self.in_reserve.pop_front()
        {
            oldest.abort();
        }
        let begun = self.begin(connection, socket, None);
        self.in_reserve.extend(begun);
    }
}
