//! HTTP/1.1 connections: accepted within bounds, served with deadlines, ended together.
//!
//! HTTP/2 is not spoken: its streams would multiply what one connection may hold, and a reverse proxy that speaks it to
//! browsers speaks HTTP/1.1 to us. WebSockets leave through the upgrade and keep their place until they are closed.

mod answer;
mod connection;
mod head;
mod pause;
mod stream;

use std::{collections::VecDeque, io::Write, sync::Arc, time::Duration};

use poem::EndpointExt;
use tokio::{
    net::{TcpListener, TcpStream},
    task::{AbortHandle, JoinSet},
    time::{sleep, timeout},
};

use self::{answer::Door, connection::Connection};
use crate::{
    api,
    limits::admission::{Admission, RESERVE},
    state::App,
};

/// For requests in flight to finish, once the server is to end.
const REQUESTS_WITHIN: Duration = Duration::from_secs(5);
/// After accepting failed: at once it would only fail again.
const PAUSE: Duration = Duration::from_millis(100);
/// All that is said to a connection for which there is no place.
const REFUSAL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// Accepts and serves until the application is stopping; then requests in flight have five seconds to finish.
pub async fn serve(app: &App, listener: TcpListener) {
    let door: Door = Arc::new(api::routes(app.clone()).map_to_response().boxed());
    let reserve: Door = Arc::new(api::reserve(app.clone()).map_to_response().boxed());
    let (mut stopping, mut connections, mut in_reserve) = (app.stopping(), JoinSet::new(), VecDeque::<AbortHandle>::new());
    loop {
        let accepted = tokio::select! {
            _ = stopping.wait_for(|stopping| *stopping) => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(err) => {
                app.places.failed(&err);
                sleep(PAUSE).await;
                continue;
            }
        };
        let (place, is_reserve) = match app.places.admit(peer.ip()) {
            Admission::Place(place) => (place, false),
            Admission::Reserve(place) => (place, true),
            Admission::Refused => {
                refuse(stream);
                continue;
            }
        };
        _ = stream.set_nodelay(true); // a frame or an answer is not held back for the next
        let door = if is_reserve { reserve.clone() } else { door.clone() };
        let connection = Connection { peer, place: Arc::new(place), door, is_reserve, stopping: app.stopping() };
        let serving = connections.spawn(connection.serve(stream));
        if is_reserve {
            in_reserve.retain(|earlier| !earlier.is_finished());
            if in_reserve.len() == RESERVE
                && let Some(oldest) = in_reserve.pop_front()
            {
                oldest.abort();
            }
            in_reserve.push_back(serving);
        }
    }
    drop(listener);
    _ = timeout(REQUESTS_WITHIN, async { while connections.join_next().await.is_some() {} }).await;
    connections.shutdown().await;
}

/// Says so, if the socket takes it at once, and hangs up.
fn refuse(stream: TcpStream) {
    if let Ok(mut stream) = stream.into_std() {
        _ = stream.write(REFUSAL);
    }
}
