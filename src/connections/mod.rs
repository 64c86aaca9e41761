//! HTTP/1.1 connections, in TLS or without, with a certificate from files or from an authority ([`acme`]): accepts them within
//! bounds, serves them with deadlines, and closes them when the server stops.
//!
//! HTTP/2 is not supported: its streams would multiply what one connection may hold, and a reverse proxy that speaks HTTP/2
//! to browsers speaks HTTP/1.1 to this server. An upgraded WebSocket keeps its connection's slot until it is closed.

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

use std::{collections::VecDeque, future::poll_fn, sync::Arc, time::Duration};

use poem::EndpointExt;
use tokio::{
    task::{AbortHandle, JoinSet, yield_now},
    time::{sleep, timeout},
};

use self::{
    answer::{Handler, Service},
    connection::Connection,
    listening::{Accepted, Listeners},
    request_log::RequestLog,
};
use crate::{
    api,
    limits::admission::{Admission, RESERVE},
    net::client_socket::Socket,
    state::App,
};

/// How long requests in flight may take to finish once the server stops.
const REQUESTS_WITHIN: Duration = Duration::from_secs(5);
/// Pause after accepting has failed: at once it would only fail again.
const PAUSE: Duration = Duration::from_millis(100);
/// The answer to a connection for which there is no slot.
const REFUSAL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

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
    let log = Arc::new(RequestLog::new(app.metrics.requests.clone()));
    let (mut stopping, mut connections, mut in_reserve) = (app.stopping(), JoinSet::new(), VecDeque::<AbortHandle>::new());
    loop {
        let accepted = tokio::select! {
            _ = stopping.wait_for(|stopping| *stopping) => break,
            Some(_) = connections.join_next() => continue,
            accepted = poll_fn(|cx| listeners.poll_accept(cx)) => accepted,
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
            Admission::Refused => {
                if tls.is_none() {
                    _ = plain.end_with(REFUSAL);
                }
                continue;
            }
        };
        let is_secure = tls.is_some();
        let Ok(socket) = Socket::new(plain, tls) else { continue };
        let handler = handlers.of(is_redirected, is_reserve);
        let is_crowded = slot.is_crowding_stranger();
        let service = Service { peer, handler, log: log.clone(), is_secure };
        let connection = Connection { service, slot: Arc::new(slot), is_reserve, stopping: app.stopping() };
        let serving = connections.spawn(connection.serve(socket));
        if is_reserve {
            in_reserve.retain(|earlier| !earlier.is_finished());
            if in_reserve.len() == RESERVE
                && let Some(oldest) = in_reserve.pop_front()
            {
                oldest.abort();
            }
            in_reserve.push_back(serving);
        }
        if is_crowded {
            // Its request is read before newcomers close it, however fast they come: usually it has arrived already.
            yield_now().await;
        }
    }
    drop(listeners);
    _ = timeout(REQUESTS_WITHIN, async { while connections.join_next().await.is_some() {} }).await;
    connections.shutdown().await;
}
