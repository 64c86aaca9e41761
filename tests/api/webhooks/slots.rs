//! Slots of deliveries and calls: they count by the account that answers for the address, and a restart forgets no proof.

use std::time::Duration;

use futures_util::{StreamExt, future::join_all, stream::FuturesUnordered};
use serde_json::json;
use tidings::error::Code;
use tokio::time::timeout;

use crate::{
    harness::{Client, Server, text},
    receiver::{self, Receiver},
    target::listen,
};

/// The address of a host of its own that takes each request and never answers.
async fn hanging() -> String {
    let port = listen("127.0.0.1:0", |stream| async move {
        std::future::pending::<()>().await;
        drop(stream);
    });
    format!("http://127.0.0.1:{}/", port.await)
}

/// A program of a bot of this user's that manages webhooks in the organisation.
async fn bot(owner: &Client, organisation: &str) -> Client {
    let body = json!({ "name": "Wirer", "username": format!("wirer-{}", &organisation[24..]), "role": "manager" });
    let made = owner.post(&format!("/organisations/{organisation}/bots"), body).await.expect(201);
    let token = json!({ "name": "wirer", "scopes": ["read", "post", "channels", "webhooks"] });
    let made = owner.post(&format!("/users/{}/tokens", text(&made["data"]["id"])), token).await.expect(201);
    owner.with_token(&text(&made["data"]["token"]))
}

/// Posts in a channel with 12 webhooks that hang.
async fn flood(manager: &Client, organisation: &str) {
    let channel = manager.channel(organisation, "flooded", &[]).await;
    for _ in 0..12 {
        manager.hook(&channel, &hanging().await).await;
    }
    manager.say(&channel, "to all of them").await;
}

/// Deliveries under way.
fn begun(server: &Server) -> i64 {
    server.count("deliveries where first_at is not null and is_leased = 1")
}

#[tokio::test(flavor = "multi_thread")]
async fn many_organisations_of_an_account_have_the_slots_of_one_and_a_bots_are_its_owners() {
    let server = receiver::server().await;
    let (ada, mallory) = (server.user("ada").await, server.user("mallory").await);
    for name in ["First", "Second", "Third"] {
        let organisation = mallory.organisation(name).await;
        let manager = if name == "Third" { bot(&mallory, &organisation).await } else { mallory.clone() };
        flood(&manager, &organisation).await;
    }
    server.followed().await;
    let mut receiver = Receiver::start(&[200]).await;
    let channel = ada.general(&ada.organisation("Engines").await).await;
    let hook = ada.hook(&channel, &receiver.url).await;
    for n in 0..3 {
        ada.say(&channel, &n.to_string()).await;
        assert_eq!(receiver.next().await.content(), n.to_string());
    }
    hook.history(3).await;
    assert_eq!(begun(&server), 16, "half of an account's slots, of 36 deliveries that are due");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_all_commands_of_an_account_have_its_slots() {
    let server = receiver::server().await;
    let mallory = server.user("mallory").await;
    let mut calls = Vec::new();
    for name in ["First", "Second", "Third"] {
        let organisation = mallory.organisation(name).await;
        let channel = mallory.general(&organisation).await;
        for n in 0..12 {
            let body = json!({ "name": format!("hang{n}"), "url": hanging().await });
            mallory.post(&format!("/organisations/{organisation}/commands"), body).await.expect(201);
            calls.push((format!("/channels/{channel}/commands"), json!({ "command": format!("hang{n}") })));
        }
    }
    let mut called: FuturesUnordered<_> = calls.iter().map(|(path, body)| mallory.post(path, body.clone())).collect();
    // Programs have three seconds; who gets no slot is told before.
    for _ in 32..calls.len() {
        called.next().await.unwrap().refused(429, Code::RateLimited);
    }
    let (ada, program) = (server.user("ada").await, Receiver::start(&[200]).await);
    let organisation = ada.organisation("Engines").await;
    let channel = ada.general(&organisation).await;
    let body = json!({ "name": "quick", "url": program.url });
    ada.post(&format!("/organisations/{organisation}/commands"), body).await.expect(201);
    ada.post(&format!("/channels/{channel}/commands"), json!({ "command": "quick" })).await.expect(200);
    called.next().await.unwrap().refused(422, Code::CommandFailed);
}

/// A new host gets two deliveries at once, a proven one more.
#[tokio::test(flavor = "multi_thread")]
async fn a_proven_host_is_one_after_a_restart_until_its_address_changes() {
    let mut server = receiver::server().await;
    let ada = server.user("ada").await;
    let channel = ada.general(&ada.organisation("Engines").await).await;
    let (mut receiver, _answer) = Receiver::holding(&[200], |n| n > 0).await;
    let hook = ada.hook(&channel, &receiver.url).await;
    ada.say(&channel, "first").await;
    receiver.next().await;
    hook.history(1).await;
    server = server.restart().await;
    join_all((0..6).map(|n| ada.say(&channel, if n > 0 { "more" } else { "second" }))).await;
    for _ in 0..6 {
        timeout(Duration::from_secs(10), receiver.next()).await.expect("a slot for each before any is answered");
    }
    assert_eq!(server.count("webhooks where is_proven = 1"), 1);
    ada.put(&hook.path(""), json!({ "webhook_url": hanging().await })).await.expect(200);
    assert_eq!(server.count("webhooks where is_proven = 1"), 0);
}
