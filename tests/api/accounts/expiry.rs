//! Tokens that end, what keeps a connection, and pings.

use serde_json::{Value, json};

use crate::{
    harness::{Client, Server, unknown_id},
    socket::Socket,
};

/// A server that pings every second, so that what is noticed with the pings is noticed soon.
async fn quick() -> Server {
    Server::with(|settings| settings.push_ping_seconds = 1).await
}

fn in_seconds(seconds: i64) -> i64 {
    jiff::Timestamp::now().as_second() + seconds
}

fn connection_claims(client: &Client, seconds: i64) -> Value {
    let session = client.session_id();
    json!({ "sub": client.user_id, "sid": session, "exp": in_seconds(seconds) })
}

fn subscription_claims(client: &Client, channel: &str, seconds: i64) -> Value {
    json!({ "sub": client.user_id, "channel": channel, "exp": in_seconds(seconds) })
}

#[tokio::test]
async fn results_say_for_how_long_their_tokens_are_good() {
    let server = Server::with(|settings| settings.push_token_seconds = 300).await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let mut socket = Socket::open(&ada).await;
    let reply = socket.command("connect", json!({ "token": ada.connection_token().await })).await;
    let subscribed = socket.subscribe(&organisation).await;
    for result in [&reply["connect"], &subscribed] {
        assert_eq!(result["expires"], true);
        assert!((298..=300).contains(&result["ttl"].as_i64().unwrap()), "{result}");
    }
}

#[tokio::test]
async fn a_connection_that_is_not_refreshed_ends() {
    let server = quick().await;
    let ada = server.user("ada").await;
    let mut socket = Socket::open(&ada).await;
    let token = server.push_token(&connection_claims(&ada, 1));
    assert!(socket.command("connect", json!({ "token": token })).await["connect"].is_object());
    assert_eq!(socket.closed_while_answering().await, 3005);
}

#[tokio::test]
async fn a_refreshed_connection_goes_on() {
    let server = quick().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let mut socket = Socket::open(&ada).await;
    let token = server.push_token(&connection_claims(&ada, 1));
    let connected = socket.command("connect", json!({ "token": token })).await;
    let short = server.push_token(&subscription_claims(&ada, &organisation, 1));
    socket.command("subscribe", json!({ "channel": organisation, "token": short })).await;

    let refreshed = socket.command("refresh", json!({ "token": ada.connection_token().await })).await;
    assert_eq!(refreshed["refresh"]["client"], connected["connect"]["client"]);
    assert_eq!(refreshed["refresh"]["expires"], true);
    let request = json!({ "channel": organisation, "token": ada.subscription_token(&organisation).await });
    let refreshed = socket.command("sub_refresh", request).await;
    assert!(refreshed["sub_refresh"]["ttl"].as_u64() > Some(3000), "{refreshed}");

    for _ in 0..4 {
        socket.ping().await;
        socket.send("{}").await;
    }
    let (told, _) = tokio::join!(socket.on(&organisation), server.member(&ada, &organisation, "grace", "member"));
    assert_eq!(told["notification_type"], "member_update");
}

#[tokio::test]
async fn a_subscription_that_is_not_refreshed_ends_alone() {
    let server = quick().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let mut socket = Socket::connect(&ada).await;
    let short = server.push_token(&subscription_claims(&ada, &organisation, 1));
    let request = json!({ "channel": organisation, "token": short });
    assert!(socket.command("subscribe", request).await["subscribe"].is_object());
    assert_eq!(socket.unsubscribed(&organisation).await, 2501);
    socket.subscribe(&organisation).await;
}

#[tokio::test]
async fn a_subscription_of_the_first_command_ends_with_the_connection() {
    let server = quick().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let short = server.push_token(&subscription_claims(&ada, &organisation, 1));
    let mut socket = Socket::open(&ada).await;
    let subs = json!({ &organisation: { "token": short } });
    socket.command("connect", json!({ "token": ada.connection_token().await, "subs": subs })).await;
    assert_eq!(socket.closed_while_answering().await, 3006);
}

#[tokio::test]
async fn a_bad_token_does_not_refresh_a_connection() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let end = async |name: &str, request: Value| {
        let mut socket = Socket::listening(&ada, &[&organisation]).await;
        socket.order(name, request).await;
        socket.closed().await
    };
    let expired = server.push_token(&connection_claims(&ada, -1));
    let other_session = server.push_token(&json!({ "sub": ada.user_id, "sid": unknown_id(), "exp": in_seconds(60) }));
    assert_eq!(end("refresh", json!({})).await, 3501, "no token");
    assert_eq!(end("refresh", json!({ "token": expired })).await, 3005);
    assert_eq!(end("refresh", json!({ "token": other_session })).await, 3011, "to come back as that session");
    for token in ["garbage", &grace.connection_token().await, &ada.subscription_token(&organisation).await] {
        assert_eq!(end("refresh", json!({ "token": token })).await, 3500, "{token}");
    }
    let expired = server.push_token(&subscription_claims(&ada, &organisation, -1));
    let (hers, personal) =
        (grace.subscription_token(&organisation).await, ada.subscription_token(&ada.personal(&organisation)).await);
    assert_eq!(end("sub_refresh", json!({ "token": expired })).await, 3501, "no channel");
    assert_eq!(end("sub_refresh", json!({ "channel": organisation, "token": expired })).await, 3006);
    for token in ["garbage", &hers, &personal, &ada.connection_token().await] {
        assert_eq!(end("sub_refresh", json!({ "channel": organisation, "token": token })).await, 3500, "{token}");
    }
    let mut socket = Socket::listening(&ada, &[&organisation]).await;
    let reply = socket.command("sub_refresh", json!({ "channel": organisation })).await;
    assert_eq!(reply["error"], json!({ "code": 107, "message": "bad request" }), "no token");
    let reply = socket.command("sub_refresh", json!({ "channel": ada.personal(&organisation), "token": personal })).await;
    assert_eq!(reply["error"]["code"], 103, "not subscribed");
}

#[tokio::test]
async fn a_ping_without_a_pong_ends_the_connection() {
    let server = quick().await;
    let ada = server.user("ada").await;
    let mut socket = Socket::connect(&ada).await;
    socket.ping().await;
    socket.send("{}").await;
    socket.ping().await; // and this one is left without an answer
    assert_eq!(socket.closed().await, 3012);
}

#[tokio::test]
async fn a_client_may_choose_pings_of_the_websocket_protocol() {
    let server = quick().await;
    let ada = server.user("ada").await;
    let path = "/connection/websocket?cf_ws_frame_ping_pong=true&cf_protocol_version=v2";
    let mut socket = Socket::open_at(&ada, path, None).await.unwrap();
    let reply = socket.command("connect", json!({ "token": ada.connection_token().await })).await;
    assert!(reply["connect"].get("ping").is_none() && reply["connect"].get("pong").is_none(), "{reply}");
    // The library answers them while it waits for the publication; none is an object.
    let organisation = ada.organisation("Engines").await;
    socket.subscribe(&organisation).await;
    for _ in 0..3 {
        socket.ws_ping().await;
    }
    let (told, _) = tokio::join!(socket.on(&organisation), server.member(&ada, &organisation, "grace", "member"));
    assert_eq!(told["notification_type"], "member_update");
}

#[tokio::test]
async fn the_raw_client_need_not_answer() {
    let server = quick().await;
    let ada = server.user("ada").await;
    let mut socket = Socket::open(&ada).await;
    socket.send(&json!({ "connect": { "token": ada.connection_token().await } }).to_string()).await;
    assert_eq!(socket.line().await["connect"]["ping"], 1);
    for _ in 0..4 {
        socket.ping().await;
    }
}
