//! Frames of WebSocket in any order, as no library would send them, from strangers and from a member.

use proptest::{
    prelude::*,
    sample::{Index, select},
    strategy::ValueTree,
    test_runner::{Config, TestRunner},
};
use serde_json::json;

use super::{
    frames::{BINARY, CLOSE, PING, PONG, TEXT, frame},
    raw::Raw,
};
use crate::{harness::Server, socket::Socket};

/// Bytes of answers beside those for what was sent: for all refusals that a socket may have, and the pongs.
const BESIDES: usize = 32 << 10;

/// Pieces of a conversation: whole messages, parts of some, control frames of all kinds, and what no frame is.
fn pieces() -> Vec<Vec<u8>> {
    let text = |text: &str| frame(TEXT, text.as_bytes());
    vec![
        frame(PING, b""),
        frame(PING, &[b'x'; 125]),
        frame(PING, &[b'x'; 126]),
        frame(PONG, b""),
        frame(PING & 0x7f, b""),
        frame(CLOSE, b""),
        frame(CLOSE, &[3]),
        frame(CLOSE, &[3, 232, 0xff]),
        frame(TEXT & 0x7f, b"{"),
        frame(BINARY & 0x7f, b""),
        frame(0, b""),
        frame(0, b"\n"),
        frame(0x80, b"}"),
        frame(0x83, b""),
        frame(0xc1, b"{}"),
        vec![TEXT, 0],
        vec![TEXT, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        text(""),
        text("{}"),
        text("{\"id\":1,\"rpc\":{}}"),
        text(&"{\"id\":7,\"presence\":{\"channel\":\"c\"}}\n".repeat(150)),
        text(&"{\"id\":7,\"unsubscribe\":{\"channel\":\"c\"}}\n".repeat(200)),
        text("\u{1d11e}"),
        frame(TEXT, &[0xff, 0xfe]),
        frame(BINARY, &[4, 0x08, 1, 0x6a, 0].repeat(500)),
        frame(BINARY, &[0; 60_000]),
    ]
}

/// Some of the pieces, each up to 300 times, and a few bytes changed.
fn conversation() -> impl Strategy<Value = Vec<u8>> {
    let times = prop_oneof![3 => 1_usize..3, 1 => 1_usize..300];
    let some = (select(pieces()), times).prop_map(|(piece, times)| piece.repeat(times.min(1 + (100 << 10) / piece.len())));
    let changes = prop::collection::vec((any::<Index>(), any::<u8>()), 0..2);
    (prop::collection::vec(some, 1..8), changes).prop_map(|(pieces, changes)| {
        let mut sent = pieces.concat();
        changes.into_iter().for_each(|(at, byte)| *at.get_mut(&mut sent) = byte);
        sent
    })
}

/// The same conversations in each run; more of them with `PROPTEST_CASES`.
#[tokio::test]
async fn random_frames_neither_stop_the_server_nor_draw_long_answers() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let mut bystander = Socket::connect(&ada).await;
    let token = ada.connection_token().await;
    let mut runner = TestRunner::deterministic();
    for case in 0..Config::default().cases {
        let sent = conversation().new_tree(&mut runner).unwrap().current();
        let mut raw = match case % 4 {
            0 => Raw::open(&ada, "/connection/websocket").await,
            1 => Raw::open(&ada, "/connection/uni_websocket").await,
            2 => {
                let mut raw = Raw::open(&ada, "/connection/websocket?format=protobuf").await;
                raw.connect_in_protobuf(&token).await;
                raw
            }
            _ => {
                let mut raw = Raw::open(&ada, "/connection/websocket").await;
                raw.connect(json!({ "id": 1, "connect": { "token": token } })).await;
                raw
            }
        };
        raw.send_and_hang_up(&sent).await;
        assert!(raw.answered <= sent.len() + BESIDES, "{} bytes of answers to {} bytes: {sent:x?}", raw.answered, sent.len());
        let reply = bystander.command("unsubscribe", json!({ "channel": "x" })).await;
        assert_eq!(reply["unsubscribe"], json!({}));
    }
}
