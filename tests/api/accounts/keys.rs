//! Tokens of a former secret key are accepted for a day.

use std::time::Duration;

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use tidings::{db, secret::Keys};

use crate::{
    harness::{DAY, PASSWORD, Server},
    socket::Socket,
};

#[tokio::test]
async fn tokens_of_a_former_key_are_accepted_for_a_day() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let channel = ada.channel(&organisation, "news", &[]).await;
    let connection = ada.connection_token().await;
    let hook = ada.post(&format!("/webhooks/{channel}"), json!({ "webhook_name": "ci" })).await.expect(201)["data"].take();
    let second = Duration::from_secs(1);
    db::rotate_key(server.folder(), server.clock.now(), Some(DAY)).unwrap();
    server.clock.advance(second); // has the key file read
    let file = std::fs::read_to_string(server.folder().join("secret.key")).unwrap();
    let newest = Keys::derive(&BASE64_STANDARD.decode(file.lines().next().unwrap()).unwrap().try_into().unwrap());
    let renewed = loop {
        let client = server.log_in("ada", PASSWORD).await;
        if newest.access.verify::<Value>(client.token.as_ref().unwrap()).is_ok() {
            break client;
        }
    };
    let connect = async |token: &str| {
        let mut socket = Socket::open(&ada).await;
        socket.order("connect", json!({ "token": token })).await;
        socket
    };
    ada.get("/profile").await.expect(200);
    assert!(connect(&connection).await.reply(1).await["connect"].is_object());

    server.clock.advance(DAY - 60 * second);
    ada.get("/profile").await.expect(200);
    server.clock.advance(60 * second);
    let ended = async { while ada.get("/profile").await.status != 401 {} };
    tokio::time::timeout(Duration::from_secs(10), ended).await.expect("the former token ends");
    renewed.get("/profile").await.expect(200);
    assert_eq!(connect(&connection).await.closed().await, 3500);
    assert!(connect(&renewed.connection_token().await).await.reply(1).await["connect"].is_object());

    let shown = renewed.get(&format!("/webhooks/{channel}")).await.expect(200)["data"].take();
    assert_eq!(shown["feed_url"], hook["feed_url"]);
    let feed = format!("/webhooks/feed/{}", hook["webhook_slug"].as_str().unwrap());
    server.anonymous().post(&feed, json!({ "message": "built" })).await.expect(200);
}
