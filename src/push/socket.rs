//! One WebSocket connection: one task that reads commands, sends what is queued, pings, and closes.

use std::{sync::Arc, time::Duration};

use futures_util::{SinkExt, StreamExt};
use poem::{
    IntoResponse, Request, Response, handler,
    http::{StatusCode, header},
    web::Data,
};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Error as WsError, Message,
        handshake::derive_accept_key,
        protocol::{CloseFrame, Role, WebSocketConfig},
    },
};

use super::{
    commands::{self, Connected},
    hub::Connection,
    protocol::{self, Disconnect},
};
use crate::{app::App, domain::sessions};

const PING_EVERY: Duration = Duration::from_secs(25);
const PONG_WITHIN: Duration = Duration::from_secs(8);
/// Until the first command.
const STALE_AFTER: Duration = Duration::from_secs(10);
/// For the peer to take what is sent, or to answer a close.
const WRITE_WITHIN: Duration = Duration::from_secs(10);
const CLOSE_WITHIN: Duration = Duration::from_secs(5);
const FRAME_MAX: usize = 64 << 10;

/// `GET /connection/websocket` (RFC 6455). Compression is not taken up; of the subprotocols only
/// `centrifuge-json`.
#[handler]
pub fn websocket(req: &Request, app: Data<&App>) -> Response {
    let refuse = |status: StatusCode, why: &'static str| why.with_status(status).into_response();
    let has =
        |name: header::HeaderName, value: &str| req.header(name).is_some_and(|header| header.to_lowercase().contains(value));
    let Some(key) = req.header(header::SEC_WEBSOCKET_KEY) else { return refuse(StatusCode::BAD_REQUEST, "this is a WebSocket") };
    if !has(header::UPGRADE, "websocket") || !has(header::CONNECTION, "upgrade") {
        return refuse(StatusCode::BAD_REQUEST, "this is a WebSocket");
    }
    if req.header(header::SEC_WEBSOCKET_VERSION) != Some("13") {
        let refusal = refuse(StatusCode::UPGRADE_REQUIRED, "WebSocket version 13 is spoken here");
        return refusal.with_header(header::SEC_WEBSOCKET_VERSION, "13").into_response();
    }
    if !app.origins.allow(req) {
        return refuse(StatusCode::FORBIDDEN, "this origin is not allowed");
    }
    let query = req.uri().query().unwrap_or_default();
    let protocols = req.header(header::SEC_WEBSOCKET_PROTOCOL).unwrap_or_default();
    let wants_json = protocols.split(',').any(|protocol| protocol.trim() == "centrifuge-json");
    let wants_protobuf = !wants_json && (protocols.contains("centrifuge-protobuf") || query.contains("protobuf"));
    let accept = derive_accept_key(key.as_bytes());
    let Ok(upgrade) = req.take_upgrade() else { return refuse(StatusCode::BAD_REQUEST, "this is a WebSocket") };
    let app = app.0.clone();
    tokio::spawn(async move {
        // Held until the socket is closed: the end of the server waits for it.
        let Some(_open) = app.open_socket() else { return };
        let Ok(io) = upgrade.await else { return };
        let config = WebSocketConfig::default()
            .read_buffer_size(4096)
            .write_buffer_size(4096)
            .max_write_buffer_size(4 << 20)
            .max_message_size(Some(FRAME_MAX))
            .max_frame_size(Some(FRAME_MAX));
        let stream = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
        let mut socket =
            Socket { app, stream, connection: None, raw: false, awaits_pong: false, timer: Instant::now() + STALE_AFTER };
        let end = if wants_protobuf { Err(End::Close(Disconnect::INAPPROPRIATE_PROTOCOL)) } else { socket.run().await };
        socket.finish(end).await;
    });
    let mut response = Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(header::CONNECTION, "upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_ACCEPT, accept);
    if wants_json {
        response = response.header(header::SEC_WEBSOCKET_PROTOCOL, "centrifuge-json");
    }
    response.finish()
}

/// How a connection ended.
enum End {
    /// We close it, and say why.
    Close(Disconnect),
    /// A frame was larger than 64 KiB (RFC 6455, section 7.4.1).
    TooBig,
    /// The peer closed, or the network broke.
    Gone,
}

impl From<Disconnect> for End {
    fn from(why: Disconnect) -> Self {
        End::Close(why)
    }
}

struct Socket {
    app: App,
    stream: WebSocketStream<poem::Upgraded>,
    connection: Option<Arc<Connection>>,
    raw: bool,
    awaits_pong: bool,
    /// The connection's one timer: for the first command, the next ping, or the pong.
    timer: Instant,
}

impl Socket {
    async fn run(&mut self) -> Result<(), End> {
        let mut closing = self.app.closing_sockets();
        loop {
            let queued = async {
                match &self.connection {
                    Some(connection) => connection.wake.notified().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                message = self.stream.next() => self.received(message).await?,
                () = queued => self.send_queued().await?,
                () = sleep_until(self.timer) => self.timed_out().await?,
                () = async { _ = closing.wait_for(|closing| *closing).await } => {
                    self.send_queued().await?;
                    return Err(Disconnect::SHUTDOWN.into());
                }
            }
        }
    }

    async fn received(&mut self, message: Option<Result<Message, WsError>>) -> Result<(), End> {
        match message {
            Some(Ok(Message::Text(text))) => self.commands(&text).await,
            Some(Ok(Message::Binary(_))) => Err(Disconnect::BAD_REQUEST.into()),
            Some(Ok(Message::Pong(_))) => {
                if self.raw {
                    self.pong();
                }
                Ok(())
            }
            Some(Ok(Message::Ping(_) | Message::Frame(_))) => Ok(()), // tungstenite answers pings
            Some(Err(WsError::Capacity(_))) => Err(End::TooBig),
            Some(Ok(Message::Close(_))) => {
                // Reading on sends the answer to the close, until the peer has it and hangs up.
                _ = timeout(CLOSE_WITHIN, self.drain()).await;
                Err(End::Gone)
            }
            Some(Err(_)) | None => Err(End::Gone),
        }
    }

    async fn commands(&mut self, text: &str) -> Result<(), End> {
        for command in protocol::parse(text).ok_or(Disconnect::BAD_REQUEST)? {
            match &self.connection {
                None => self.connect(command).await?,
                Some(_) if command.is_pong() => {
                    // One for each ping; the raw client owes none, and may send some.
                    if !self.awaits_pong && !self.raw {
                        return Err(Disconnect::BAD_REQUEST.into());
                    }
                    self.pong();
                }
                Some(connection) => commands::handle(&self.app, connection, command)?,
            }
        }
        self.send_queued().await
    }

    fn pong(&mut self) {
        if std::mem::take(&mut self.awaits_pong) {
            self.timer = Instant::now() + PING_EVERY;
        }
    }

    async fn connect(&mut self, command: protocol::Command) -> Result<(), End> {
        match commands::connect(&self.app, command, PING_EVERY.as_secs())? {
            Connected::Yes { connection, raw } => {
                // Spread over the half interval, so that a thousand that came at once are not pinged at once.
                let jitter = u64::from(connection.client.as_bytes()[0]) * PING_EVERY.as_millis() as u64 / 512;
                self.timer = Instant::now() + PING_EVERY / 2 + Duration::from_millis(jitter);
                self.raw = raw;
                self.connection = Some(connection);
                Ok(())
            }
            Connected::No(reply) => {
                self.send(Message::text(reply)).await?;
                // The client acts on the error and closes; what else it sends is not looked at.
                _ = timeout(CLOSE_WITHIN, self.drain()).await;
                Err(End::Gone)
            }
        }
    }

    /// Sends all that is ready with one flush, until nothing is; ends when the connection is to end.
    async fn send_queued(&mut self) -> Result<(), End> {
        let Some(connection) = self.connection.clone() else { return Ok(()) };
        loop {
            let (frames, disconnect) = connection.take();
            if frames.is_empty() {
                return disconnect.map_or(Ok(()), |why| Err(why.into()));
            }
            let stream = &mut self.stream;
            let sending = async {
                for frame in frames {
                    stream.feed(Message::Text(frame)).await?;
                }
                stream.flush().await
            };
            tokio::select! {
                sent = timeout(WRITE_WITHIN, sending) => match sent {
                    Ok(Ok(())) => {}
                    Ok(Err(_)) => return Err(End::Gone),
                    Err(_) => return Err(Disconnect::SLOW.into()),
                },
                // A reader that never reads: its queue grows over the bound while we wait for it here.
                () = overflowed(&connection) => return Err(Disconnect::SLOW.into()),
            }
        }
    }

    async fn send(&mut self, message: Message) -> Result<(), End> {
        match timeout(WRITE_WITHIN, self.stream.send(message)).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(End::Gone),
        }
    }

    /// Reads and drops what still comes, to the end.
    async fn drain(&mut self) {
        while let Some(Ok(_)) = self.stream.next().await {}
    }

    async fn timed_out(&mut self) -> Result<(), End> {
        let Some(connection) = &self.connection else { return Err(Disconnect::STALE.into()) };
        // A session that reaches its end sets nothing off: it is noticed here.
        if self.app.db.read(|conn| sessions::find(conn, connection.session)).is_ok_and(|session| session.is_none()) {
            return Err(Disconnect::FORCED.into());
        }
        if self.awaits_pong {
            return Err(Disconnect::NO_PONG.into());
        }
        self.awaits_pong = true;
        self.timer = Instant::now() + PONG_WITHIN;
        if self.raw {
            // It never answers `{}`; its WebSocket library answers a ping frame.
            self.send(Message::Ping(Default::default())).await?;
        }
        self.send(Message::text(protocol::PING)).await
    }

    fn forget(&self) {
        if let Some(connection) = &self.connection {
            self.app.seen(connection.user); // until now, not only when it connected
            self.app.hub.unregister(connection);
        }
    }

    async fn finish(mut self, end: Result<(), End>) {
        self.forget();
        let frame = match end {
            Err(End::Close(why)) => CloseFrame { code: why.code.into(), reason: why.reason.into() },
            Err(End::TooBig) => CloseFrame { code: 1009.into(), reason: "message too big".into() },
            Err(End::Gone) | Ok(()) => return,
        };
        let closing = async {
            _ = self.stream.close(Some(frame)).await;
            self.drain().await;
        };
        _ = timeout(CLOSE_WITHIN, closing).await;
    }
}

impl Drop for Socket {
    /// However the task ends.
    fn drop(&mut self) {
        self.forget();
    }
}

/// Waits until the connection's queue was over its bound.
async fn overflowed(connection: &Connection) {
    while !connection.is_slow() {
        connection.wake.notified().await;
    }
}
