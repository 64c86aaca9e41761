//! A WebSocket connection: one task reads commands, sends what others left in the outbox, pings, and closes.

use std::{
    convert::Infallible,
    future::{pending, poll_fn},
    io::ErrorKind,
    pin::pin,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use futures_util::{FutureExt, SinkExt, StreamExt};
use tokio::{
    task::{coop::consume_budget, yield_now},
    time::{Instant, sleep_until, timeout},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Error as WsError, Message, Utf8Bytes,
        protocol::{CloseFrame, Role, WebSocketConfig},
    },
};

use super::{
    abuse_bounds::{AT_ONCE, AbuseBounds, IN_FRAME},
    codes::{CommandError, Disconnect, Failure},
    commands,
    connecting::{self, Welcome},
    connection::Connection,
    encoding::{self, Encoding},
    heartbeat::Heartbeat,
    outbox::{MOST_BYTES, Outbox},
    protocol::{
        replies::{Answer, PushBody, Reply},
        requests::{Command, ConnectRequest, Request},
    },
    unsent::Holder,
    websocket_io::Wire,
};
use crate::{limits::admission::Slot, push::context::Push, push::embedded::upgrade::Upgraded};

/// How long a client may take to send its first command; or two intervals of pings where that is less, because they set how
/// soon the server notices a client that is gone.
const STALE_AFTER: Duration = Duration::from_secs(10);
/// How long a write may wait for the peer.
pub const WRITE_WITHIN: Duration = Duration::from_secs(10);
/// How long the peer may take to answer a close, or to close after an error.
const CLOSE_WITHIN: Duration = Duration::from_secs(5);
const FRAME_MAX: usize = 64 << 10;
/// Most bytes that are read for one message: its own, and those of the headers of its frames. Without this bound, a message of
/// empty frames would never end.
const MESSAGE_MAX: usize = 128 << 10;
/// Messages, of together at most [`MESSAGE_MAX`], that are read after the end: a client may have sent them before it learns of it.
const LAST_MESSAGES: usize = 100;
/// Most queued bytes at which the next command of a frame is handled; with more, the queue is sent first.
const AHEAD: usize = MOST_BYTES / 4;

/// The options of a socket, from its address and subprotocol.
pub struct SocketOptions {
    pub encoding: Encoding,
    pub pings: Pings,
    /// The connect request, if the address contains it.
    pub first: Option<Box<ConnectRequest>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Pings {
    /// Pings of the protocol: `{}`, answered with `{}`.
    Messages,
    /// Pings of WebSocket.
    Frames,
    /// Both, for clients that may expect `{}` but never answer it; their WebSocket library answers its ping.
    Both,
}

/// Serves a socket from the handshake to the close.
pub async fn run(push: Arc<Push>, io: Upgraded, manner: SocketOptions) {
    let slot = io.slot.clone();
    let Some((wire, outbox)) = Wire::new(io) else { return };
    let config = WebSocketConfig::default()
        .read_buffer_size(1024) // small, since an idle socket keeps it and receives only pongs
        .write_buffer_size(0) // the outbox keeps what can't be sent
        .max_message_size(Some(FRAME_MAX))
        .max_frame_size(Some(FRAME_MAX));
    let stream = WebSocketStream::from_raw_socket(wire, Role::Server, Some(config)).await;
    let SocketOptions { encoding, pings, .. } = manner;
    let abuse_bounds = AbuseBounds::default();
    let mut socket = Socket { push, slot, stream, outbox, encoding, pings, abuse_bounds, work: 0, connected: None };
    let slot = socket.slot.clone();
    let end = tokio::select! {
        Err(end) = socket.run(manner.first) => end,
        () = slot.asked_to_close() => End::TurnedAway,
    };
    tokio::select! {
        () = Box::pin(socket.finish(end)) => {}
        () = slot.asked_to_close() => {} // its client takes its time to close
    }
}

/// How a connection ended.
enum End {
    /// The server closes it with a code and reason.
    Close(Disconnect),
    /// A message was larger than 64 KiB (RFC 6455, section 7.4.1), or had too many frames.
    TooBig,
    /// Before it has connected, the socket goes for a newcomer of its address.
    TurnedAway,
    /// The peer closed, or the network broke.
    Gone,
}

impl From<Disconnect> for End {
    fn from(why: Disconnect) -> Self {
        End::Close(why)
    }
}

struct Socket {
    push: Arc<Push>,
    slot: Arc<Slot>,
    /// Reads, and writes only frames of the WebSocket itself. Messages go into the outbox.
    stream: WebSocketStream<Wire>,
    outbox: Arc<Outbox>,
    encoding: Encoding,
    pings: Pings,
    abuse_bounds: AbuseBounds,
    /// Commands since other tasks could run, those of former frames included: another frame may be in the buffer already.
    work: usize,
    /// Set once the connect is accepted.
    connected: Option<(Arc<Connection>, Heartbeat)>,
}

impl Socket {
    async fn run(&mut self, first: Option<Box<ConnectRequest>>) -> Result<Infallible, End> {
        self.stream.get_mut().set_read_quota(MESSAGE_MAX);
        if let Some(request) = first {
            Box::pin(self.connect(0, *request)).await?;
        }
        let mut closing = self.push.sockets.closing();
        // Both are made once: setting a timer and joining the waiters for each message cost more than the message.
        let mut closing = pin!(async { _ = closing.wait_for(|closing| *closing).await });
        let stale = Instant::now() + STALE_AFTER.min(self.push.ping_every * 2);
        let mut timer = pin!(sleep_until(stale));
        loop {
            let next = self.connected.as_ref().map_or(stale, |(_, heartbeat)| heartbeat.next);
            if timer.deadline() != next {
                timer.as_mut().reset(next);
            }
            tokio::select! {
                // What is not awaited most of the time is boxed: this future is as large as the largest part of it, and each idle socket
                // has one.
                message = self.stream.next() => Box::pin(self.received(message)).await?,
                () = self.outbox.wake.notified() => Box::pin(self.send_queued()).await?,
                () = &mut timer => Box::pin(self.timed_out()).await?,
                () = &mut closing => {
                    Box::pin(self.send_queued()).await?;
                    return Err(Disconnect::SHUTDOWN.into());
                }
            }
        }
    }

    async fn received(&mut self, message: Option<Result<Message, WsError>>) -> Result<(), End> {
        // Thousands of messages may be buffered, and reading them from the buffer alone never lets other tasks run.
        consume_budget().await;
        self.stream.get_mut().set_read_quota(MESSAGE_MAX);
        match message {
            Some(Ok(Message::Text(text))) if self.encoding == Encoding::Json => {
                self.commands(encoding::json_commands(&text)).await
            }
            Some(Ok(Message::Binary(bytes))) if self.encoding == Encoding::Protobuf => {
                self.commands(encoding::protobuf_commands(bytes)).await
            }
            Some(Ok(Message::Text(text))) if self.encoding == Encoding::Listener => self.listener_message(&text).await,
            Some(Ok(Message::Text(_) | Message::Binary(_))) => Err(Disconnect::BAD_REQUEST.into()),
            Some(Ok(Message::Pong(_))) => {
                if let Some((_, heartbeat)) = self.connected.as_mut().filter(|_| self.pings != Pings::Messages) {
                    heartbeat.pong();
                }
                self.idle()
            }
            Some(Ok(Message::Ping(_) | Message::Frame(_))) => self.idle(), // tungstenite answers pings
            Some(Err(WsError::Capacity(_))) => Err(End::TooBig),
            Some(Err(err)) if is_quota(&err) => Err(End::TooBig),
            Some(Ok(Message::Close(_))) => {
                // Reading further sends the answer to the close, until the peer closes the connection.
                _ = timeout(CLOSE_WITHIN, self.drain()).await;
                Err(End::Gone)
            }
            Some(Err(_)) | None => Err(End::Gone),
        }
    }

    async fn commands(&mut self, commands: impl Iterator<Item = Result<Command, encoding::Unreadable>>) -> Result<(), End> {
        for (n, command) in commands.enumerate() {
            if n == IN_FRAME {
                return Err(Disconnect::BAD_REQUEST.into());
            }
            if self.work >= AT_ONCE {
                self.work = 0;
                self.send_queued().await?;
                yield_now().await;
            }
            let command = command.map_err(|_| Disconnect::BAD_REQUEST)?;
            let id = command.id;
            let request = command.request().ok_or(Disconnect::BAD_REQUEST)?;
            self.work += if request.is_long() { AT_ONCE } else { 1 };
            match (request, &mut self.connected) {
                (Request::Connect(request), None) => self.connect(id, request).await?,
                (Request::Pong, Some((_, heartbeat))) => {
                    // One pong is due for each ping. With both kinds of pings, a pong of the protocol is optional.
                    match (heartbeat.pong(), self.pings) {
                        (true, _) => {}
                        (false, Pings::Both) => self.idle()?,
                        (false, _) => return Err(Disconnect::BAD_REQUEST.into()),
                    }
                }
                (request, Some((connection, _))) => {
                    let turn = if request.is_long() { Some(self.push.turns.wait().await) } else { None };
                    let refusal = commands::handle(&self.push, connection, id, request)?;
                    drop(turn);
                    match refusal {
                        None => self.abuse_bounds.command_accepted(),
                        Some(failure) => self.abuse_bounds.command_refused(failure)?,
                    }
                    // A client that requests much at once is not slow: its answers are sent before more are queued.
                    if self.outbox.bytes() > AHEAD {
                        self.send_queued().await?;
                    }
                }
                (_, None) => return Err(Disconnect::BAD_REQUEST.into()),
            }
        }
        self.send_queued().await
    }

    /// Handles a listener's message. Only the first one is read; others are ignored.
    async fn listener_message(&mut self, text: &Utf8Bytes) -> Result<(), End> {
        if self.connected.is_some() {
            return self.idle();
        }
        let request = encoding::decode_connect_request(text).map_err(|_| Disconnect::BAD_REQUEST)?;
        self.connect(0, request).await?;
        self.send_queued().await
    }

    /// Counts a frame without a command.
    fn idle(&mut self) -> Result<(), End> {
        Ok(self.abuse_bounds.count_idle_frame(self.connected.is_some())?)
    }

    async fn connect(&mut self, id: u32, request: ConnectRequest) -> Result<(), End> {
        if id == 0 {
            // A client as in the specification's section "Events", which sends no ids.
            self.pings = Pings::Both;
        }
        let is_listener = self.encoding == Encoding::Listener;
        self.push.metrics.connect(match id {
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
        if !self.slot.take_connect() {
            return Err(End::TurnedAway);
        }
        let turn = self.push.turns.wait().await;
        let connected = connecting::connect(&self.push, request, welcome, &self.outbox);
        drop(turn);
        if connected.is_err() {
            self.slot.set_busy(false);
        }
        match connected {
            Ok(connection) => {
                self.slot.attribute_socket(connection.share);
                let heartbeat = Heartbeat::new(&connection, self.push.ping_every);
                self.connected = Some((connection, heartbeat));
                Ok(())
            }
            Err(CommandError::Reply(failure)) if is_listener => Err(listener_close_reason(failure).into()),
            Err(CommandError::Reply(failure)) => {
                self.push.metrics.command_error(failure.code);
                self.outbox.push(self.encoding.frame(Reply::new(id, Answer::Error(failure.into()))));
                self.send_queued().await?;
                // The client acts on the error and closes the connection; anything else that it sends is ignored.
                _ = timeout(CLOSE_WITHIN, self.drain()).await;
                Err(End::Gone)
            }
            Err(CommandError::Close(why)) => Err(why.into()),
        }
    }

    /// Sends queued frames until none is left. Fails if the connection has to end.
    async fn send_queued(&mut self) -> Result<(), End> {
        while let Some(end) = self.outbox.final_byte_count() {
            tokio::select! {
                sent = timeout(WRITE_WITHIN, poll_fn(|cx| self.outbox.poll_sent(cx, end))) => match sent {
                    Ok(Ok(())) => {}
                    Ok(Err(_)) => return Err(End::Gone),
                    Err(_) => return Err(Disconnect::SLOW.into()),
                },
                // The client doesn't read at all: its outbox exceeds the bound meanwhile.
                () = self.outbox.wait_for_overflow() => return Err(Disconnect::SLOW.into()),
            }
        }
        self.outbox.why().map_or(Ok(()), |why| Err(why.into()))
    }

    /// Reads and drops what the client had sent before it learned of the end, up to a bound: a close with unread bytes would
    /// reset the connection, and the client might lose the reason. After more than that it never returns, so that until the
    /// caller's time is up a flooding client keeps its place among the connections of its address, and can't take another.
    async fn drain(&mut self) {
        self.stream.get_mut().set_read_quota(MESSAGE_MAX);
        for _ in 0..LAST_MESSAGES {
            consume_budget().await;
            match self.stream.next().await {
                // Until a close is sent, pings are answered.
                Some(Ok(message)) if !message.is_ping() || self.connected.is_some() || self.idle().is_ok() => {}
                Some(Ok(_)) => break,
                Some(Err(err)) if is_quota(&err) => break,
                Some(Err(_)) | None => return,
            }
        }
        pending().await
    }

    async fn timed_out(&mut self) -> Result<(), End> {
        let Some((connection, heartbeat)) = &mut self.connected else { return Err(Disconnect::STALE.into()) };
        heartbeat.beat(&self.push, connection)?;
        self.abuse_bounds.begin_interval();
        if self.pings != Pings::Messages {
            match timeout(WRITE_WITHIN, self.stream.send(Message::Ping(Bytes::new()))).await {
                Ok(Ok(())) => {}
                _ => return Err(End::Gone),
            }
        }
        if self.pings != Pings::Frames {
            self.outbox.push(self.encoding.frame(Reply::PING));
        }
        self.send_queued().await
    }

    fn forget(&self) {
        if let Some((connection, _)) = &self.connected {
            self.push.activity.note(connection.user, connection.session); // it was active until now
            self.push.hub.unregister(connection);
        }
    }

    async fn finish(mut self, end: End) {
        self.forget();
        let (frame, last) = match end {
            End::Close(why) => {
                let last =
                    (self.encoding == Encoding::Listener).then(|| listen_only_end_message(Encoding::Listener, why.clone()));
                (close_frame(&why), last)
            }
            End::TooBig => (CloseFrame { code: 1009.into(), reason: "message too big".into() }, None),
            // Whoever is told to come back later is not waited for, or each newcomer would be a connection more.
            End::TurnedAway => {
                self.push.metrics.count_close(Disconnect::TOO_MANY_REQUESTS.code);
                _ = self.stream.close(Some(close_frame(&Disconnect::TOO_MANY_REQUESTS))).now_or_never();
                return;
            }
            End::Gone => return,
        };
        self.push.metrics.count_close(frame.code.into());
        let closing = async {
            if frame.code == Disconnect::SLOW.code.into() {
                self.outbox.cut();
            } else {
                _ = self.send_queued().await; // answers that were queued before the end
            }
            if let Some(last) = last.filter(|_| !self.outbox.is_cut_short()) {
                self.outbox.push_control(last);
            }
            _ = self.stream.close(Some(frame)).await;
            self.drain().await;
        };
        _ = timeout(CLOSE_WITHIN, closing).await;
    }
}

fn close_frame(why: &Disconnect) -> CloseFrame {
    CloseFrame { code: why.code.into(), reason: why.reason.as_ref().into() }
}

/// Whether a client has sent more than [`Wire::set_read_quota`] allows.
fn is_quota(err: &WsError) -> bool {
    matches!(err, WsError::Io(err) if err.kind() == ErrorKind::QuotaExceeded)
}

impl Drop for Socket {
    /// Unregisters the connection even if the task is cancelled.
    fn drop(&mut self) {
        self.forget();
    }
}

/// The close reason for a listener, which gets no replies, instead of an error in a reply.
pub fn listener_close_reason(failure: Failure) -> Disconnect {
    if failure == Failure::TOKEN_EXPIRED { Disconnect::EXPIRED } else { Disconnect::INTERNAL }
}

/// The last message to a listener: why the connection ends.
pub fn listen_only_end_message(encoding: Encoding, why: Disconnect) -> Bytes {
    encoding.frame(Reply::push("", PushBody::Disconnect(why.into())))
}
