//! How many bytes people and organisations may write, whatever way they write them.

use poem::Response;
use serde_json::json;
use tidings::{
    config::{Bytes, Settings, Switch},
    error::Code,
};

use crate::{
    harness::{Client, Reply, Server, blob, text},
    receiver::Receiver,
};

/// So many of [`large`] are written at once: one more is more than a fifth of [`LEAST`].
const AT_ONCE: usize = 12;
/// The least that the settings take.
const LEAST: u32 = 10_000_000;

/// The largest text of a message: 160,000 bytes.
fn large() -> String {
    "\u{1d11e}".repeat(40_000)
}

async fn server(bytes: Bytes) -> Server {
    let change = |settings: &mut Settings| {
        settings.rate_limit = Switch::On;
        settings.allow_private_webhooks = vec!["127.0.0.0/8".parse().unwrap()];
        settings.bytes = bytes;
    };
    Server::with(change).await
}

async fn post(client: &Client, channel: &str) -> Reply {
    client.post(&format!("/channels/{channel}/messages"), json!({ "content": large() })).await
}

#[track_caller]
fn refused(reply: Reply, whose: &str) {
    let wait: u64 = reply.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "160,000 bytes come back in 58 seconds, not in {wait}");
    let body = reply.refused(429, Code::BytesUsedUp);
    assert_eq!(body["message"], format!("{whose} written as much as may be for now, try again in {wait} seconds"));
}

#[tokio::test]
async fn what_a_person_their_bots_and_their_webhooks_write_counts_together() {
    const WHOSE: &str = "This account has";
    let server = server(Bytes { per_user_hour: LEAST, per_organisation_hour: 1_000_000_000 }).await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let made = ada.post(&format!("/organisations/{organisation}/bots"), json!({ "name": "Builds" })).await.expect(201);
    let bot = text(&made["data"]["id"]);
    ada.post(&format!("/channels/{channel}/users"), json!({ "user_ids": [bot] })).await.expect(200);
    let token = ada.post(&format!("/users/{bot}/tokens"), json!({ "name": "ci", "scopes": ["read", "post"] })).await;
    let program = ada.with_token(&text(&token.expect(201)["data"]["token"]));
    let webhook = ada.webhook(&channel, "ci").await;
    let feed_url = text(&webhook["feed_url"]);
    let feed = &feed_url[feed_url.find("/webhooks/").unwrap()..];
    let fed = |by: Client| async move { by.post(feed, json!({ "message": large() })).await };

    let first = ada.say(&channel, "short").await;
    for _ in 0..AT_ONCE / 5 {
        post(&ada, &channel).await.expect(201);
        post(&program, &channel).await.expect(201);
        fed(server.anonymous()).await.expect(200);
        // The log's object has the new text twice, so that an edit counts three times.
        ada.put(&format!("/channels/{channel}/messages"), json!({ "content": large(), "message_id": first })).await.expect(200);
    }
    refused(post(&ada, &channel).await, WHOSE);
    refused(post(&program, &channel).await, WHOSE);
    refused(fed(server.anonymous()).await, WHOSE);
    refused(ada.put(&format!("/channels/{channel}/messages"), json!({ "content": large(), "message_id": first })).await, WHOSE);
    refused(ada.patch("/profile", json!({ "first_name": "Ada", "ignored": large() })).await, WHOSE);
    let queued = json!({ "channel_id": channel, "message": large() });
    refused(ada.post("/webhooks/feed/backend-queue", queued).await, WHOSE);

    // What is short still fits, reading and deleting are free, and others have a quota of their own.
    ada.say(&channel, "short").await;
    ada.get(&format!("/channels/{channel}/messages?limit=1")).await.expect(200);
    ada.delete(&format!("/channels/{channel}/messages/{first}")).await.expect(200);
    for _ in 0..AT_ONCE {
        fed(grace.clone()).await.expect(200); // with a session, it is the author who pays
    }
    refused(fed(grace.clone()).await, WHOSE);
}

/// A request without a body has the log carry the whole message.
#[tokio::test]
async fn what_the_log_carries_counts_and_deletions_pass() {
    const WHOSE: &str = "This account has";
    let server = server(Bytes { per_user_hour: LEAST, per_organisation_hour: 1_000_000_000 }).await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let message = text(&post(&grace, &channel).await.expect(201)["data"]["thread_id"]);
    let pin = format!("/channels/{channel}/messages/{message}/pin");
    let mut pinned = 0;
    let reply = loop {
        let reply = ada.call("PUT", &pin, None).await;
        if reply.status != 200 {
            break reply;
        }
        pinned += 1;
        server.sql(&format!("update messages set pinned_at = null, pinned_by = null where id = {}", blob(&message)));
    };
    assert_eq!(pinned, AT_ONCE / 2, "the log's object has the text twice, as `content` and as `message`");
    let wait: u64 = reply.headers["retry-after"].to_str().unwrap().parse().unwrap();
    let body = reply.refused(429, Code::BytesUsedUp);
    assert_eq!(body["message"], format!("{WHOSE} written as much as may be for now, try again in {wait} seconds"));
    grace.delete(&format!("/channels/{channel}/messages/{message}")).await.expect(200);
}

#[tokio::test]
async fn what_all_write_in_an_organisation_counts_together() {
    const WHOSE: &str = "The members of this organisation have";
    let server = server(Bytes { per_user_hour: 100_000_000, per_organisation_hour: LEAST }).await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let (own, reply) = (ada.say(&channel, "short").await, format!("/channels/{channel}/messages"));
    for _ in 0..AT_ONCE / 3 {
        post(&ada, &channel).await.expect(201);
        post(&grace, &channel).await.expect(201);
        grace.post(&reply, json!({ "content": large(), "thread_id": own })).await.expect(201);
    }
    refused(post(&grace, &channel).await, WHOSE);
    refused(ada.put(&reply, json!({ "content": large(), "message_id": own })).await, WHOSE);
    refused(grace.post("/webhooks/feed/backend-queue", json!({ "channel_id": channel, "message": large() })).await, WHOSE);
    let elsewhere = ada.organisation("Looms").await;
    post(&ada, &ada.general(&elsewhere).await).await.expect(201);
}

#[tokio::test]
async fn what_a_program_answers_counts_for_whoever_has_called_it() {
    let server = server(Bytes { per_user_hour: LEAST, per_organisation_hour: 1_000_000_000 }).await;
    let answer = json!({ "response_type": "in_channel", "text": "x".repeat(19_000) }).to_string();
    let program = Receiver::answering(move |_| {
        let response = Response::builder().content_type("application/json").body(answer.clone());
        async move { response }
    });
    let program = program.await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let command = json!({ "name": "deploy", "url": program.url });
    ada.post(&format!("/organisations/{organisation}/commands"), command).await.expect(201);
    let call = || async { grace.post(&format!("/channels/{channel}/commands"), json!({ "command": "deploy" })).await };
    for _ in 0..AT_ONCE {
        post(&grace, &channel).await.expect(201);
    }
    let mut answered = 0;
    let reply = loop {
        let reply = call().await;
        if reply.status != 200 {
            break reply;
        }
        answered += 1;
    };
    refused(reply, "This account has");
    assert!((4..=5).contains(&answered), "{answered}: 80,000 bytes were left");
    ada.post(&format!("/channels/{channel}/commands"), json!({ "command": "deploy" })).await.expect(200);
}
