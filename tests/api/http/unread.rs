//! Clients that ask for much and read nothing: what the server holds for them is bounded, and nobody else is closed for it.

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
async fn past_the_budget_of_a_user_their_largest_socket_is_closed_as_slow_and_nobody_elses() {
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
    let mut slow = Vec::new();
    for _ in 0..SOCKETS {
        let mut socket = Socket::listening(&grace, &[&channel]).await;
        for _ in 0..ASKED {
            socket.order("history", history.clone()).await;
        }
        slow.push(socket);
    }
    let mut most = 0;
    loop {
        let page = Page::of(&server).await;
        most = most.max(page.value("push_queue_bytes"));
        if page.value("push_unsent_closes_total{budget=\"user\"}") > 0 {
            break;
        }
        let read = reading.command("history", history.clone()).await;
        assert!(read["history"]["publications"].as_array().is_some_and(|publications| publications.len() > 4), "{read}");
    }
    // One answer is up to a mebibyte, and so is one that is being read.
    assert!(most < 3 * MEBIBYTE, "{most} bytes were held for one user");
    while Page::of(&server).await.value("push_closes_total{code=\"3008\"}") == 0 {}
    assert!(reading.command("history", history).await["history"].is_object(), "others stay");
    drop(slow);
}
