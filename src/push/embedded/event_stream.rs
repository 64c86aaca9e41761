//! A stream of server-sent events (HTML standard, section 9.2), for clients that only listen, such as `curl -N`.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use poem::{
    Body, IntoResponse, Request, Response, handler,
    http::{StatusCode, header},
    web::Data,
};
use tokio::{
    sync::mpsc,
    time::{sleep_until, timeout},
};

use super::{
    codes::{CommandError, Disconnect},
    connecting::{self, Welcome},
    connection::Connection,
    encoding::{self, Encoding, PIECE},
    handshake::query_parameter,
    heartbeat::Heartbeat,
    outbox::Outbox,
    protocol::replies::Reply,
    socket::{WRITE_WITHIN, listen_only_end_message, listener_close_reason},
};
use crate::{limits::admission, push::context::Push};

/// `GET /connection/uni_sse?cf_connect=…`: the parameter is the content of `connect`.
#[handler]
pub fn uni_sse(req: &Request, push: Data<&Arc<Push>>) -> Response {
    let refuse = |status: StatusCode, why: &'static str| why.with_status(status).into_response();
    if !push.origins.may_open_socket(req) {
        return refuse(StatusCode::FORBIDDEN, "this origin is not allowed");
    }
    let Some(Ok(request)) = query_parameter(req, "cf_connect").map(|text| encoding::decode_connect_request(&text)) else {
        return refuse(StatusCode::BAD_REQUEST, "cf_connect must be a connect request");
    };
    let Some(open) = push.open_socket_guard() else { return refuse(StatusCode::SERVICE_UNAVAILABLE, "the server is ending") };
    push.metrics.connect("listener");
    let welcome = Welcome { transport: "uni_sse", encoding: Encoding::Events, id: 0, pings: true, pongs: false };
    let (events, body) = mpsc::channel(1);
    let connected = connecting::connect(push.0, request, welcome, &Outbox::new(None));
    // A stream is a request that never ends, which nobody could close for a newcomer of the address.
    if let Ok(connection) = &connected
        && !admission::assign_to_user(req, connection.share)
    {
        push.hub.unregister(connection);
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "the user has too many connections");
    }
    let push = push.0.clone();
    tokio::spawn(async move {
        let _open = open; // the server waits for it before it ends
        let why = match connected {
            Ok(connection) => {
                let why = run(&push, &connection, &events).await;
                push.activity.note(connection.user, connection.session);
                push.hub.unregister(&connection);
                why
            }
            Err(CommandError::Reply(failure)) => Some(listener_close_reason(failure)),
            Err(CommandError::Close(why)) => Some(why),
        };
        if let Some(why) = why {
            push.metrics.count_close(why.code);
            _ = timeout(WRITE_WITHIN, events.send(listen_only_end_message(Encoding::Events, why))).await;
        }
    });
    let events = stream::unfold(body, |mut body| async { body.recv().await.map(|event| (Ok::<_, std::io::Error>(event), body)) });
    Response::builder()
        .content_type("text/event-stream")
        .header(header::CACHE_CONTROL, "no-store")
        .header("x-accel-buffering", "no") // without it, nginx buffers events
        .body(Body::from_bytes_stream(events))
}

/// Sends events until the stream has to end. Returns why, or `None` if the client can't be told: it has disconnected, or has read an
/// event in part.
async fn run(push: &Push, connection: &Arc<Connection>, events: &mpsc::Sender<Bytes>) -> Option<Disconnect> {
    // A stream ends earlier than sockets: it is a request, and the server waits for those first.
    let mut stopping = push.stopping.clone();
    let mut heartbeat = Heartbeat::new(connection, push.ping_every);
    loop {
        tokio::select! {
            () = connection.outbox.wake.notified() => {}
            () = sleep_until(heartbeat.next) => {
                if let Err(why) = heartbeat.beat(push, connection) {
                    return Some(why);
                }
                heartbeat.pong(); // the client can't send a pong on this stream
                connection.send(Reply::PING);
            }
            () = events.closed() => return None,
            _ = stopping.wait_for(|stopping| *stopping) => return Some(Disconnect::SHUTDOWN),
        }
        while let Some(event) = connection.outbox.first() {
            // In copies, because a part of it would keep all of it in memory, as long as the client has not read that part.
            for (n, piece) in event.chunks(PIECE).enumerate() {
                let is_sent = tokio::select! {
                    sent = timeout(WRITE_WITHIN, events.send(Bytes::copy_from_slice(piece))) => match sent {
                        Ok(Err(_)) => return None,
                        sent => sent.is_ok(),
                    },
                    () = connection.outbox.wait_for_overflow() => false,
                };
                if !is_sent {
                    push.metrics.count_close(Disconnect::SLOW.code);
                    return (n == 0).then_some(Disconnect::SLOW);
                }
            }
            connection.outbox.remove_first();
        }
        if let Some(why) = connection.outbox.why() {
            return Some(why);
        }
    }
}
