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
        Error as WsError, Message, Utf8Bytes,
        handshake::derive_accept_key,
        protocol::{CloseFrame, Role, WebSocketConfig},
    },
};

use super::{
    codes::{Disconnect, Failure, Fault},
    commands,
    connecting::{self, Welcome},
    connection::{Connection, QUEUE_BYTES},
    encoding::{self, Encoding},
    heartbeat::Heartbeat,
    protocol::{Answer, Command, ConnectRequest, PushBody, Reply, Request as Asked},
};
use crate::app::App;

/// Until the first command.
const STALE_AFTER: Duration = Duration::from_secs(10);
/// For the peer to take what is sent, or to answer a close.
pub const WRITE_WITHIN: Duration = Duration::from_secs(10);
const CLOSE_WITHIN: Duration = Duration::from_secs(5);
const FRAME_MAX: usize = 64 << 10;
/// Bytes of answers that may wait when the next command of a frame is looked at.
const AHEAD: usize = QUEUE_BYTES / 4;

/// `GET /connection/websocket` (RFC 6455): JSON, or Protobuf by the subprotocol `centrifuge-protobuf` or
/// `?format=protobuf`. Compression is not taken up. With `?cf_ws_frame_ping_pong=true` pings are those of WebSocket.
#[handler]
pub fn websocket(req: &Request, app: Data<&App>) -> Response {
    let protocols = req.header(header::SEC_WEBSOCKET_PROTOCOL).unwrap_or_default();
    let offered = |name: &str| protocols.split(',').any(|protocol| protocol.trim() == name);
    let (json, protobuf) = (offered("centrifuge-json"), offered("centrifuge-protobuf"));
    let asked = |name: &str, value: &str| query(req, name).is_some_and(|found| found == value);
    let by_query = asked("format", "protobuf") || asked("cf_protocol", "protobuf");
    let encoding = if !json && (protobuf || by_query) { Encoding::Protobuf } else { Encoding::Json };
    let chosen = if json { Some("centrifuge-json") } else { protobuf.then_some("centrifuge-protobuf") };
    let pings = if asked("cf_ws_frame_ping_pong", "true") { Pings::Frames } else { Pings::Messages };
    upgrade(req, app.0, chosen, Manner { encoding, pings, first: None })
}

/// `GET /connection/uni_websocket`: for clients that only listen. Their one message is what goes inside `connect`;
/// it may also stand in `?cf_connect=`.
#[handler]
pub fn uni_websocket(req: &Request, app: Data<&App>) -> Response {
    let first = match query(req, "cf_connect").map(|text| encoding::connect_request(&text)).transpose() {
        Ok(first) => first,
        Err(_) => return "cf_connect is no connect request".with_status(StatusCode::BAD_REQUEST).into_response(),
    };
    upgrade(req, app.0, None, Manner { encoding: Encoding::Listener, pings: Pings::Both, first })
}

/// The value of a parameter in the request's address.
pub fn query(req: &Request, name: &str) -> Option<String> {
    let pairs = url::form_urlencoded::parse(req.uri().query().unwrap_or_default().as_bytes());
    pairs.into_owned().find_map(|(key, value)| (key == name).then_some(value))
}

/// How a client is spoken with.
struct Manner {
    encoding: Encoding,
    pings: Pings,
    /// What it asked for in the address already.
    first: Option<ConnectRequest>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pings {
    /// Of the protocol: `{}`, answered alike.
    Messages,
    /// Of WebSocket.
    Frames,
    /// For clients that never answer `{}`, though they may wait for one: their WebSocket library answers.
    Both,
}

fn upgrade(req: &Request, app: &App, protocol: Option<&'static str>, manner: Manner) -> Response {
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
    let accept = derive_accept_key(key.as_bytes());
    let Ok(upgrade) = req.take_upgrade() else { return refuse(StatusCode::BAD_REQUEST, "this is a WebSocket") };
    let app = app.clone();
    tokio::spawn(async move {
        // Held until the socket is closed: the end of the server waits for it.
        let Some(_open) = app.open_socket() else { return };
        let Ok(io) = upgrade.await else { return };
        let config = WebSocketConfig::default()
            .read_buffer_size(1024) // kept all the time; an idle client sends two bytes now and then
            .write_buffer_size(4096)
            .max_write_buffer_size(4 << 20)
            .max_message_size(Some(FRAME_MAX))
            .max_frame_size(Some(FRAME_MAX));
        let stream = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
        Socket { app, stream, encoding: manner.encoding, pings: manner.pings, connected: None }.live(manner.first).await;
    });
    let mut response = Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(header::CONNECTION, "upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_ACCEPT, accept);
    if let Some(protocol) = protocol {
        response = response.header(header::SEC_WEBSOCKET_PROTOCOL, protocol);
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
    encoding: Encoding,
    pings: Pings,
    /// From the accepted connect on.
    connected: Option<(Arc<Connection>, Heartbeat)>,
}

impl Socket {
    async fn live(mut self, first: Option<ConnectRequest>) {
        let end = match first {
            Some(request) => self.connect(0, request).await,
            None => Ok(()),
        };
        let end = match end {
            Ok(()) => self.run().await,
            end => end,
        };
        self.finish(end).await;
    }

    async fn run(&mut self) -> Result<(), End> {
        let mut closing = self.app.closing_sockets();
        let stale = Instant::now() + STALE_AFTER;
        loop {
            let queued = async {
                match &self.connected {
                    Some((connection, _)) => connection.wake.notified().await,
                    None => std::future::pending().await,
                }
            };
            let next = self.connected.as_ref().map_or(stale, |(_, heartbeat)| heartbeat.next);
            tokio::select! {
                message = self.stream.next() => self.received(message).await?,
                () = queued => self.send_queued().await?,
                () = sleep_until(next) => self.timed_out().await?,
                () = async { _ = closing.wait_for(|closing| *closing).await } => {
                    self.send_queued().await?;
                    return Err(Disconnect::SHUTDOWN.into());
                }
            }
        }
    }

    async fn received(&mut self, message: Option<Result<Message, WsError>>) -> Result<(), End> {
        match message {
            Some(Ok(Message::Text(text))) if self.encoding == Encoding::Json => {
                self.commands(encoding::json_commands(&text)).await
            }
            Some(Ok(Message::Binary(bytes))) if self.encoding == Encoding::Protobuf => {
                self.commands(encoding::protobuf_commands(bytes)).await
            }
            Some(Ok(Message::Text(text))) if self.encoding == Encoding::Listener => self.heard(&text).await,
            Some(Ok(Message::Text(_) | Message::Binary(_))) => Err(Disconnect::BAD_REQUEST.into()),
            Some(Ok(Message::Pong(_))) => {
                if let Some((_, heartbeat)) = self.connected.as_mut().filter(|_| self.pings != Pings::Messages) {
                    heartbeat.pong();
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

    async fn commands(&mut self, commands: impl Iterator<Item = Result<Command, encoding::Unreadable>>) -> Result<(), End> {
        for command in commands {
            let command = command.map_err(|_| Disconnect::BAD_REQUEST)?;
            let id = command.id;
            match (command.request().ok_or(Disconnect::BAD_REQUEST)?, &mut self.connected) {
                (Asked::Connect(request), None) => self.connect(id, request).await?,
                (Asked::Pong, Some((_, heartbeat))) => {
                    // One for each ping; who answers WebSocket's owes none, and may send some.
                    if self.pings != Pings::Both && !heartbeat.pong() {
                        return Err(Disconnect::BAD_REQUEST.into());
                    }
                }
                (request, Some((connection, _))) => {
                    commands::handle(&self.app, connection, id, request)?;
                    // Who asks for much at once is no slow reader.
                    if connection.queued_bytes() > AHEAD {
                        self.send_queued().await?;
                    }
                }
                (_, None) => return Err(Disconnect::BAD_REQUEST.into()),
            }
        }
        self.send_queued().await
    }

    /// A listener says one thing; the rest is not looked at.
    async fn heard(&mut self, text: &Utf8Bytes) -> Result<(), End> {
        if self.connected.is_none() {
            let request = encoding::connect_request(text).map_err(|_| Disconnect::BAD_REQUEST)?;
            self.connect(0, request).await?;
        }
        self.send_queued().await
    }

    async fn connect(&mut self, id: u32, request: ConnectRequest) -> Result<(), End> {
        if id == 0 {
            // The client of the specification's "Events" section, which numbers nothing.
            self.pings = Pings::Both;
        }
        let is_listener = self.encoding == Encoding::Listener;
        self.app.metrics.connect(match id {
            _ if is_listener => "listener",
            0 => "raw",
            _ => "sdk",
        });
        let welcome = Welcome {
            transport: if is_listener { "uni_websocket" } else { "websocket" },
            encoding: self.encoding,
            id,
            pings: self.pings != Pings::Frames,
            pongs: self.pings == Pings::Messages,
        };
        match connecting::connect(&self.app, request, welcome) {
            Ok(connection) => {
                let heartbeat = Heartbeat::new(&connection, self.app.ping_every);
                self.connected = Some((connection, heartbeat));
                Ok(())
            }
            Err(Fault::Reply(failure)) if is_listener => Err(for_listener(failure).into()),
            Err(Fault::Reply(failure)) => {
                self.app.metrics.error(failure.code);
                self.send(self.encoding.frame(Reply::new(id, Answer::Error(failure.into())))).await?;
                // The client acts on the error and closes; what else it sends is not looked at.
                _ = timeout(CLOSE_WITHIN, self.drain()).await;
                Err(End::Gone)
            }
            Err(Fault::Close(why)) => Err(why.into()),
        }
    }

    /// Sends all that is ready with one flush, until nothing is; ends when the connection is to end.
    async fn send_queued(&mut self) -> Result<(), End> {
        let Some((connection, _)) = &self.connected else { return Ok(()) };
        loop {
            let (frames, disconnect) = connection.take();
            if frames.is_empty() {
                return disconnect.map_or(Ok(()), |why| Err(why.into()));
            }
            let (stream, encoding) = (&mut self.stream, self.encoding);
            let sending = async {
                let mut frames = frames.into_iter();
                while let Some(frame) = encoding.join(&mut frames) {
                    stream.feed(frame).await?;
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
                () = connection.overflowed() => return Err(Disconnect::SLOW.into()),
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
        let Some((connection, heartbeat)) = &mut self.connected else { return Err(Disconnect::STALE.into()) };
        heartbeat.beat(&self.app, connection)?;
        if self.pings != Pings::Messages {
            self.send(Message::Ping(Default::default())).await?;
        }
        if self.pings != Pings::Frames {
            self.send(self.encoding.frame(Reply::PING)).await?;
        }
        Ok(())
    }

    fn forget(&self) {
        if let Some((connection, _)) = &self.connected {
            self.app.seen(connection.user); // until now, not only when it connected
            self.app.hub.unregister(connection);
        }
    }

    async fn finish(mut self, end: Result<(), End>) {
        self.forget();
        let (frame, last) = match end {
            Err(End::Close(why)) => {
                let last = (self.encoding == Encoding::Listener).then(|| farewell(why.clone()));
                (CloseFrame { code: why.code.into(), reason: why.reason.as_ref().into() }, last)
            }
            Err(End::TooBig) => (CloseFrame { code: 1009.into(), reason: "message too big".into() }, None),
            Err(End::Gone) | Ok(()) => return,
        };
        self.app.metrics.close(frame.code.into());
        let closing = async {
            if let Some(last) = last {
                _ = self.stream.feed(last).await;
            }
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

/// What a listener is told in place of an error in a reply.
pub fn for_listener(failure: Failure) -> Disconnect {
    if failure == Failure::TOKEN_EXPIRED { Disconnect::EXPIRED } else { Disconnect::INTERNAL }
}

/// The last thing that a listener is told.
pub fn farewell(why: Disconnect) -> Message {
    Encoding::Listener.frame(Reply::push("", PushBody::Disconnect(why.into())))
}
