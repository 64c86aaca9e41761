//! Clients that ask for much and read nothing: what the server holds for them is bounded, and nobody else is closed for it.

use std::time::{Duration, Instant};

use serde_json::json;

use super::metrics::{Page, TOKEN};
use crate::{harness::Server, socket::Socket};

const MEBIBYTE: i64 = 1 << 20;
/// MiB, of which a user has an eighth.
const BUDGET: u32 = 8;
const SOCKETS: usize = 12;
/// More than the kernel takes for a socket that nobody reads, and than the server then answers.
const ASKED: usize = 40;

#[tokio::test]
async fn whoever_does_not_read_gets_no_more_long_answers_and_others_do() {
    let server = Server::with(|settings| {
        settings.push_unsent_mib = BUDGET;
        settings.metrics_token = Some(TOKEN.to_owned());
    })
    .await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "talk", &[&grace]).await;
    for _ in 0..6 {
        ada.say(&channel, &"x".repeat(40_000)).await;
    }
    let history = json!({ "channel": channel, "limit": -1, "since": { "offset": 0 } });
    let mut reading = Socket::listening(&ada, &[&channel]).await;
    let mut readers_other = Socket::listening(&grace, &[&channel]).await;
    let mut slow = Vec::new();
    for _ in 0..SOCKETS {
        let mut socket = Socket::listening(&grace, &[&channel]).await;
        for _ in 0..ASKED {
            socket.order("history", history.clone()).await;
        }
        slow.push(socket);
    }
    let (mut most, until) = (0, Instant::now() + Duration::from_secs(30));
    loop {
        most = most.max(Page::of(&server).await.value("push_queue_bytes"));
        let read = reading.command("history", history.clone()).await;
        assert!(read["history"]["publications"].as_array().is_some_and(|publications| publications.len() > 4), "{read}");
        if readers_other.command("history", history.clone()).await["error"]["code"] == 111 {
            break;
        }
        assert!(Instant::now() < until, "answers go on");
    }
    // One answer is up to a mebibyte, and so is one that is being read.
    assert!(most < 3 * MEBIBYTE, "{most} bytes were held for one user");
    let short = readers_other.command("presence_stats", json!({ "channel": channel })).await;
    assert_eq!(short["presence_stats"]["num_users"], 2, "short answers are given: {short}");
    drop(slow);
    while readers_other.command("history", history.clone()).await["history"].is_null() {
        assert!(Instant::now() < until, "nothing is unread any longer");
    }
}
