//! Clients that send what no rate counts: pings without end, frames of thousands of commands, messages that never end.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{
    frames::{BINARY, CLOSE, PING, PONG, TEXT, frame},
    raw::Raw,
};
use crate::harness::{Client, Server, unknown_id};

/// The bounds of `abuse_bounds.rs`.
const BEFORE_CONNECT: usize = 3;
const BETWEEN_PINGS: usize = 100;
const IN_FRAME: usize = 200;
const AT_ONCE: usize = 32;
const REFUSALS: usize = 150;
const PER_ACCEPTED: usize = 16;

const WEBSOCKET: &str = "/connection/websocket";

/// A socket after an SDK's connect.
async fn connected(client: &Client) -> Raw {
    let mut raw = Raw::open(client, WEBSOCKET).await;
    raw.connect(json!({ "id": 1, "connect": { "token": client.connection_token().await } })).await;
    raw
}

fn presence(id: usize) -> String {
    json!({ "id": id, "presence": { "channel": unknown_id() } }).to_string()
}

fn unsubscribe(id: usize) -> String {
    json!({ "id": id, "unsubscribe": { "channel": "x" } }).to_string()
}

fn lines(ids: std::ops::Range<usize>, command: impl Fn(usize) -> String) -> Vec<u8> {
    frame(TEXT, ids.map(command).collect::<Vec<_>>().join("\n").as_bytes())
}

/// Whether the socket still answers.
async fn answers(raw: &mut Raw) -> bool {
    raw.write(&lines(900_000..900_001, unsubscribe)).await;
    raw.lines(1).await[0]["id"] == 900_000
}

#[tokio::test]
async fn a_client_may_send_three_control_frames_before_its_connect() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    for kind in [PING, PONG] {
        let mut raw = Raw::open(&ada, WEBSOCKET).await;
        raw.write(&frame(kind, b"").repeat(BEFORE_CONNECT)).await;
        let token = ada.connection_token().await;
        raw.connect(json!({ "id": 1, "connect": { "token": token } })).await;
        assert!(answers(&mut raw).await);

        for path in [WEBSOCKET, "/connection/uni_websocket"] {
            let mut raw = Raw::open(&ada, path).await;
            raw.write(&frame(kind, b"").repeat(BEFORE_CONNECT + 1)).await;
            assert_eq!(raw.closed().await, 1008, "{kind:#x} {path}");
        }
    }
}

#[tokio::test]
async fn a_connected_client_may_send_a_hundred_pings_between_two_of_the_server() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    for kind in [PING, PONG] {
        let mut raw = connected(&ada).await;
        raw.write(&frame(kind, b"hi").repeat(BETWEEN_PINGS)).await;
        assert!(answers(&mut raw).await);
        assert_eq!(raw.pongs, if kind == PING { BETWEEN_PINGS } else { 0 }, "each ping is answered");
        raw.write(&frame(kind, b"")).await;
        assert_eq!(raw.closed().await, 3501);
    }
}

#[tokio::test]
async fn a_ping_of_the_server_begins_the_count_of_the_clients_anew() {
    let server = Server::with(|settings| settings.push_ping_seconds = 1).await;
    let ada = server.user("ada").await;
    let mut raw = connected(&ada).await;
    for _ in 0..2 {
        raw.write(&frame(PING, b"").repeat(BETWEEN_PINGS)).await;
        assert_eq!(raw.lines(1).await, [json!({})], "the server's ping");
        raw.write(&frame(TEXT, b"{}")).await;
    }
    assert!(answers(&mut raw).await);
}

#[tokio::test]
async fn what_a_listener_says_without_being_asked_is_counted() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let token = ada.connection_token().await;
    // The raw client may answer pings with `{}`, and a listener's later messages are ignored.
    for (path, first, idle) in [
        (WEBSOCKET, json!({ "connect": { "token": token } }), "{}"),
        ("/connection/uni_websocket", json!({ "token": token }), "anything"),
    ] {
        let mut raw = Raw::open(&ada, path).await;
        raw.connect(first.clone()).await;
        raw.write(&frame(TEXT, idle.as_bytes()).repeat(BETWEEN_PINGS)).await;
        raw.write(&frame(PING, b"")).await;
        assert_eq!(raw.closed().await, 3501, "{path}: one more");

        let mut raw = Raw::open(&ada, path).await;
        raw.connect(first).await;
        raw.write(&frame(TEXT, idle.as_bytes()).repeat(BETWEEN_PINGS - 1)).await;
        raw.write(&frame(PING, b"last")).await;
        assert_eq!(raw.next().await, (PONG, b"last".to_vec()), "{path}: it is still connected");
    }
}

#[tokio::test]
async fn a_frame_holds_two_hundred_commands() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let mut raw = connected(&ada).await;
    raw.write(&lines(0..IN_FRAME, |n| unsubscribe(n + 2))).await;
    assert_eq!(raw.lines(IN_FRAME).await.len(), IN_FRAME);
    raw.write(&lines(0..IN_FRAME + 1, |n| unsubscribe(n + 2))).await;
    assert_eq!(raw.lines(IN_FRAME).await[IN_FRAME - 1]["id"], IN_FRAME + 1, "those before it are answered");
    assert_eq!(raw.closed().await, 3501);

    // In Protobuf, an empty `rpc` has five bytes.
    let mut raw = Raw::open(&ada, "/connection/websocket?format=protobuf").await;
    raw.connect_in_protobuf(&ada.connection_token().await).await;
    raw.write(&frame(BINARY, &[4, 0x08, 1, 0x6a, 0].repeat(13_000))).await;
    assert_eq!(raw.closed().await, 3509);
    assert!(raw.answered < 16 << 10, "{} bytes of answers", raw.answered);
}

#[tokio::test]
async fn a_client_that_lost_all_of_its_channels_is_not_closed() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let mut raw = Raw::open(&ada, WEBSOCKET).await;
    let connect = json!({ "id": 1, "connect": { "token": ada.connection_token().await } }).to_string();
    let subscribe =
        |n: usize| json!({ "id": n, "subscribe": { "channel": unknown_id(), "token": "old", "flag": 1 } }).to_string();
    let all: Vec<String> = std::iter::once(connect).chain((2..130).map(subscribe)).collect();
    raw.write(&frame(TEXT, all.join("\n").as_bytes())).await;
    assert_eq!(raw.lines(129).await[128]["error"]["code"], 103);
    assert!(answers(&mut raw).await);
}

/// The codes of the errors in these replies; 0 for a result.
fn codes(replies: &[Value]) -> Vec<u64> {
    replies.iter().map(|reply| reply["error"]["code"].as_u64().unwrap_or(0)).collect()
}

#[tokio::test]
async fn a_client_whose_commands_are_refused_again_and_again_is_closed() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let mut raw = connected(&ada).await;
    raw.write(&lines(0..REFUSALS, |n| presence(n + 2))).await;
    assert_eq!(codes(&raw.lines(REFUSALS).await), vec![103; REFUSALS]);
    assert!(answers(&mut raw).await, "which makes up for some of them");
    raw.write(&lines(0..PER_ACCEPTED, |n| presence(n + 500))).await;
    assert_eq!(codes(&raw.lines(PER_ACCEPTED).await), vec![103; PER_ACCEPTED]);
    raw.write(&lines(0..10, |n| presence(n + 600))).await;
    assert_eq!(codes(&raw.lines(1).await), [103]);
    assert_eq!(raw.closed().await, 3509, "after one more, without the nine that follow it");
}

#[tokio::test]
async fn a_client_far_past_its_rate_is_closed() {
    let server = Server::with(|settings| settings.rate_limit = tidings::config::Switch::On).await;
    let ada = server.user("ada").await;
    let mut raw = connected(&ada).await;
    // Without end, as the server's clock for the rate is the real one.
    let mut codes_seen = Vec::new();
    let closed = loop {
        raw.write(&lines(2..IN_FRAME + 2, unsubscribe)).await;
        match raw.lines_or_close(IN_FRAME).await {
            Ok(replies) => codes_seen.extend(codes(&replies)),
            Err((replies, code)) => {
                codes_seen.extend(codes(&replies));
                break code;
            }
        }
    };
    assert_eq!(closed, 3013, "it may come back");
    let refused = codes_seen.iter().filter(|code| **code == 111).count();
    assert!(refused > REFUSALS && codes_seen.iter().all(|code| [0, 111].contains(code)), "{codes_seen:?}");
}

/// The most answers that are sent at once, in a runtime of one thread: between two looks, the server's task ran once.
async fn most_at_once(raw: &mut Raw, mut left: usize) -> usize {
    let mut most = 0;
    while left > 0 {
        let sent = raw.come_meanwhile().await;
        most = most.max(sent);
        left -= sent;
    }
    most
}

#[tokio::test]
async fn other_tasks_run_between_the_commands_of_a_socket() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    for (frames, in_each) in [(1, IN_FRAME), (IN_FRAME / 20, 20)] {
        let mut raw = connected(&ada).await;
        let all: Vec<u8> = (0..frames).flat_map(|_| lines(2..in_each + 2, unsubscribe)).collect();
        raw.write(&all).await;
        let most = most_at_once(&mut raw, IN_FRAME).await;
        assert!(most <= 2 * AT_ONCE, "{most} commands were answered at once, of {frames} frames");
    }
    let mut raw = connected(&ada).await;
    raw.write(&lines(2..102, presence)).await;
    let most = most_at_once(&mut raw, 100).await;
    assert!(most <= 2, "{most} commands that may be long were answered at once");
}

#[tokio::test]
async fn a_message_of_endless_frames_is_too_big() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    // One that is cut into pieces of 16 bytes, as no client would.
    let mut raw = Raw::open(&ada, WEBSOCKET).await;
    let spaces = " ".repeat(60 << 10);
    let connect = json!({ "id": 1, "connect": { "token": ada.connection_token().await } }).to_string() + &spaces;
    let pieces: Vec<&[u8]> = connect.as_bytes().chunks(16).collect();
    let last = pieces.len() - 1;
    let kind = |n| match n {
        0 => TEXT & 0x7f,
        n if n == last => 0x80,
        _ => 0,
    };
    raw.write(&pieces.iter().enumerate().flat_map(|(n, piece)| frame(kind(n), piece)).collect::<Vec<_>>()).await;
    assert!(raw.lines(1).await[0]["connect"].is_object());

    let mut raw = connected(&ada).await;
    raw.write(&frame(TEXT & 0x7f, b"")).await;
    raw.write_until_closed(&frame(0, b"").repeat(1000)).await;
    assert_eq!(raw.closed().await, 1009);
}

#[tokio::test]
async fn a_flood_after_the_end_is_not_read_and_keeps_its_connection_for_seconds() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let expired = server.push_token(&json!({ "sub": ada.user_id, "sid": unknown_id(), "exp": 1 }));
    let refused = json!({ "id": 1, "connect": { "token": expired } }).to_string();
    let flood = async |first: &str, more: Vec<u8>| {
        let mut raw = Raw::open(&ada, WEBSOCKET).await;
        raw.write(&frame(TEXT, first.as_bytes())).await;
        let last = raw.next().await;
        assert!(matches!(last.0, TEXT | CLOSE), "{last:?}");
        let began = Instant::now();
        let taken = raw.write_until_closed(&more.repeat(1000)).await;
        assert!(taken < 16 << 20, "{taken} bytes were taken");
        assert!(began.elapsed() > Duration::from_secs(2), "{:?}", began.elapsed());
    };
    let (spaces, pings) = (frame(TEXT, &[b' '; 1000]), frame(PING, b""));
    tokio::join!(
        flood(&refused, spaces.clone()),
        flood(&refused, pings.clone()),
        flood("nonsense", spaces),
        flood("nonsense", pings)
    );
}
