//! The handshake of a WebSocket (RFC 6455, section 4), and the parameters in its address.

use std::sync::Arc;

use poem::{
    IntoResponse, Request, Response, handler,
    http::{StatusCode, header},
    web::Data,
};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::{
    encoding::{self, Encoding},
    socket::{self, Pings, SocketOptions},
};
use crate::{limits::admission::Slot, push::context::Push, push::embedded::upgrade::Upgrade};

/// `GET /connection/websocket` (RFC 6455): JSON, or Protobuf by the subprotocol `centrifuge-protobuf` or
/// `?format=protobuf`. Compression is not negotiated. With `?cf_ws_frame_ping_pong=true`, pings are WebSocket's.
#[handler]
pub fn websocket(req: &Request, push: Data<&Arc<Push>>) -> Response {
    let protocols = req.header(header::SEC_WEBSOCKET_PROTOCOL).unwrap_or_default();
    let offered = |name: &str| protocols.split(',').any(|protocol| protocol.trim() == name);
    let (json, protobuf) = (offered("centrifuge-json"), offered("centrifuge-protobuf"));
    let asked = |name: &str, value: &str| query_parameter(req, name).is_some_and(|found| found == value);
    let by_query = asked("format", "protobuf") || asked("cf_protocol", "protobuf");
    let encoding = if !json && (protobuf || by_query) { Encoding::Protobuf } else { Encoding::Json };
    let chosen = if json { Some("centrifuge-json") } else { protobuf.then_some("centrifuge-protobuf") };
    let pings = if asked("cf_ws_frame_ping_pong", "true") { Pings::Frames } else { Pings::Messages };
    upgrade(req, push.0, chosen, SocketOptions { encoding, pings, first: None })
}

/// `GET /connection/uni_websocket`: for clients that only listen. They send one message, the content of `connect`, or put
/// it into the parameter `cf_connect`.
#[handler]
pub fn uni_websocket(req: &Request, push: Data<&Arc<Push>>) -> Response {
    let first = match query_parameter(req, "cf_connect").map(|text| encoding::decode_connect_request(&text)).transpose() {
        Ok(first) => first.map(Box::new),
        Err(_) => return "cf_connect is no connect request".with_status(StatusCode::BAD_REQUEST).into_response(),
    };
    upgrade(req, push.0, None, SocketOptions { encoding: Encoding::Listener, pings: Pings::Both, first })
}

/// The value of a parameter in the request's address.
pub fn query_parameter(req: &Request, name: &str) -> Option<String> {
    let pairs = url::form_urlencoded::parse(req.uri().query().unwrap_or_default().as_bytes());
    pairs.into_owned().find_map(|(key, value)| (key == name).then_some(value))
}

fn upgrade(req: &Request, push: &Arc<Push>, protocol: Option<&'static str>, manner: SocketOptions) -> Response {
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
    if !push.origins.may_open_socket(req) {
        return refuse(StatusCode::FORBIDDEN, "this origin is not allowed");
    }
    let accept = derive_accept_key(key.as_bytes());
    let (upgrade, upgraded) = Upgrade::new();
    let push = push.clone();
    tokio::spawn(async move {
        // Held until the socket is closed: the server waits for it before it ends.
        let Some(_open) = push.open_socket_guard() else { return };
        if let Ok(io) = upgraded.await {
            socket::run(push, io, manner).await;
        }
    });
    if let Some(slot) = req.data::<Arc<Slot>>() {
        slot.expect_connect();
    }
    let mut response = Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .extension(upgrade)
        .header(header::CONNECTION, "upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_ACCEPT, accept);
    if let Some(protocol) = protocol {
        response = response.header(header::SEC_WEBSOCKET_PROTOCOL, protocol);
    }
    response.finish()
}
