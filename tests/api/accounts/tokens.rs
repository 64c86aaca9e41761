//! Tokens of programs: what they open, how they are shown, and how they end.

use std::time::Duration;

use serde_json::{Value, json};
use tidings::error::Code;

use crate::{
    harness::{Client, DAY, PASSWORD, Server, text, unknown_id},
    shapes::assert_shape,
    socket::Socket,
};

async fn list(client: &Client) -> Vec<Value> {
    let listed = client.get(&format!("/users/{}/tokens", client.user_id)).await.data(200, "Tokens retrieved successfully");
    listed.as_array().unwrap().clone()
}

async fn make(client: &Client, token: Value) -> crate::harness::Reply {
    client.post(&format!("/users/{}/tokens", client.user_id), token).await
}

/// Ends the newest token of the client.
async fn end_newest(client: &Client) {
    let id = text(&list(client).await[0]["id"]);
    client.delete(&format!("/users/{}/tokens/{id}", client.user_id)).await.done(200, "Token revoked successfully");
}

#[tokio::test]
async fn a_program_acts_as_its_user_until_its_token_is_ended() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let news = ada.channel(&organisation, "news", &[&grace]).await;
    let made = make(&ada, json!({ "name": "Build server", "scopes": ["post", "read", "post"] })).await;
    let made = made.data(201, "Token created successfully");
    assert_shape(&made, "token:text id:uuid name:text scopes:array created_at:time");
    assert_eq!((&made["name"], &made["scopes"]), (&json!("Build server"), &json!(["read", "post"])));
    let token = text(&made["token"]);
    assert!(token.starts_with("tdg_") && token.len() == 46 && !server.stores(&token), "{token}");

    let program = ada.with_token(&token);
    let posted = program.post(&format!("/channels/{news}/messages"), json!({ "content": "Build 7 passed" })).await.expect(201);
    assert_eq!(posted["data"]["user_id"], ada.user_id);
    let refused = program.post("/channels", json!({ "name": "new", "organisation_id": organisation })).await;
    assert_eq!(refused.refused(403, Code::ScopeMissing)["message"], "The token lacks the scope channels");
    for (method, path) in [("GET", "tokens"), ("POST", "tokens"), ("GET", "sessions")] {
        let path = format!("/users/{}/{path}", ada.user_id);
        let refused = program.call(method, &path, (method == "POST").then(|| json!({ "name": "x", "scopes": ["read"] }))).await;
        refused.refused(403, Code::SessionRequired);
    }
    assert_eq!(ada.get(&format!("/users/{}/sessions", ada.user_id)).await.expect(200)["data"].as_array().unwrap().len(), 1);

    let socket = Socket::listening(&program, &[&news]).await;
    end_newest(&ada).await;
    let within = Duration::from_secs(1);
    assert_eq!(tokio::time::timeout(within, socket.closed()).await.expect("it is closed within a second"), 3503);
    ada.delete(&format!("/users/{}/tokens/{}", ada.user_id, text(&made["id"]))).await.refused(404, Code::TokenNotFound);
    program.get("/profile").await.expect(401);
    assert_eq!(list(&ada).await, [] as [Value; 0]);
    ada.get("/profile").await.expect(200);
}

#[tokio::test]
async fn a_token_for_some_channels_finds_and_hears_no_other() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (here, there) =
        (ada.channel(&organisation, "here", &[&grace]).await, ada.channel(&organisation, "there", &[&grace]).await);
    let (thread, hidden) = (ada.say(&here, "hello").await, ada.say(&there, "hello").await);
    let program = grace.program(json!({ "name": "bot", "scopes": ["read", "post"], "channels": [here, here] })).await;
    assert_eq!(list(&grace).await[0]["channels"], json!([here]));
    program.get(&format!("/channels/{here}/messages")).await.expect(200);
    program.reply(&here, &thread, "hello").await;
    for path in [
        format!("/channels/{there}/messages"),
        format!("/channels/{there}"),
        format!("/messages/{hidden}"),
        format!("/threads/{hidden}"),
    ] {
        let unknown = program.get(&path.replace(&there, &unknown_id()).replace(&hidden, &unknown_id())).await;
        let found = program.get(&path).await;
        assert_eq!((found.status, found.body), (unknown.status, unknown.body), "{path}");
    }
    for path in
        ["/start".to_owned(), "/token/connection?streams=own".into(), format!("/organisations/{organisation}/search?q=hello")]
    {
        program.get(&path).await.refused(403, Code::TokenLimited);
    }
    let streams =
        [here.clone(), thread.clone(), there, hidden, organisation.clone(), grace.personal(&organisation), grace.user_id.clone()];
    let granted = program.post("/token/subscription", json!({ "channels": streams })).await.expect(200);
    let granted: Vec<_> = granted["data"]["tokens"].as_array().unwrap().iter().map(|one| text(&one["channel"])).collect();
    assert_eq!(granted, [here.clone(), thread]);
    let mut socket = Socket::listening(&program, &[&here]).await;
    ada.say(&here, "heard").await;
    assert_eq!(socket.on(&here).await["content"], "heard");
}

#[tokio::test]
async fn a_token_ends_at_its_end_and_shows_when_it_was_used() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let end = server.clock.now() + DAY * 2;
    let program = ada.program(json!({ "name": "x", "scopes": ["read"], "expires_at": end.strftime("%Y-%m-%dT%H:%M:%SZ") })).await;
    server.clock.advance(DAY);
    program.get("/profile").await.expect(200);
    assert_eq!(list(&ada).await[0]["last_used_at"], Value::Null, "what is gathered is written at the end");
    let server = server.restart().await;
    let (used, made) = {
        let one = &list(&ada).await[0];
        (text(&one["last_used_at"]), text(&one["created_at"]))
    };
    assert!(used > made, "{used} {made}");
    server.clock.advance(DAY);
    program.get("/profile").await.expect(401);
    assert_eq!(
        server.log_in("ada", PASSWORD).await.get(&format!("/users/{}/tokens", ada.user_id)).await.expect(200)["data"],
        json!([])
    );
}

#[tokio::test]
async fn a_mail_tells_of_a_token_and_a_new_password_by_mail_ends_it() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let program = ada.program(json!({ "name": "x", "scopes": ["read"] })).await;
    let told = server.mails(&ada.email, 2).await;
    assert!(told.iter().any(|mail| mail.text.contains("A token was made")), "beside the link of the registration");
    let change = json!({ "old_password": PASSWORD, "new_password": "quiet harbour at dawn" });
    ada.put("/auth/change-password", change).await.expect(200);
    program.get("/profile").await.expect(200);
    ada.post("/auth/password-reset", json!({ "email": ada.email })).await.expect(200);
    let link = server
        .mails(&ada.email, 4)
        .await
        .iter()
        .find_map(|mail| mail.subject.starts_with("Set").then(|| mail.parameter("token")))
        .unwrap();
    let reset = json!({ "token": link, "new_password": "another harbour at dawn" });
    ada.post("/auth/password-reset/verify", reset).await.expect(200);
    program.get("/profile").await.expect(401);
}

#[tokio::test]
async fn tokens_are_made_within_their_bounds() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let refused = async |token: Value, says: &str| {
        let reply = make(&ada, token).await;
        assert_eq!((reply.status, text(&reply.body["message"])), (422, says.to_owned()));
    };
    refused(json!({ "name": "x".repeat(81), "scopes": ["read"] }), "name has 81 characters, at most 80 are allowed").await;
    make(&ada, json!({ "name": "x".repeat(80), "scopes": ["read"] })).await.expect(201);
    refused(json!({ "name": "x", "scopes": [] }), "scopes: name at least one").await;
    refused(json!({ "name": "x", "scopes": ["read"], "channels": [] }), "channels: name at least one, or omit the field for all")
        .await;
    refused(json!({ "name": "x", "scopes": ["read"], "channels": vec![unknown_id(); 101] }), "channels has at most 100 channels")
        .await;
    let past = server.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ");
    refused(
        json!({ "name": "x", "scopes": ["read"], "expires_at": past }),
        "expires_at must be a time to come, before the year 10000",
    )
    .await;
    let hidden = grace.private_channel(&organisation, "hidden", &[]).await;
    for channel in [hidden, unknown_id()] {
        make(&ada, json!({ "name": "x", "scopes": ["read"], "channels": [channel] })).await.expect(404);
    }
    let public = grace.channel(&organisation, "public", &[]).await;
    assert_eq!(
        make(&ada, json!({ "name": "x", "scopes": ["read"], "channels": [public] })).await.expect(403)["code"],
        "not_in_channel"
    );
    let mut channels = Vec::new();
    for n in 0..100 {
        channels.push(ada.channel(&organisation, &format!("channel-{n}"), &[]).await);
    }
    make(&ada, json!({ "name": "x", "scopes": ["read"], "channels": channels })).await.expect(201);
    for _ in 2..50 {
        make(&ada, json!({ "name": "x", "scopes": ["read"] })).await.expect(201);
    }
    end_newest(&ada).await;
    refused(
        json!({ "name": "x", "scopes": ["read"] }),
        "an account has at most 50 tokens, those of the last day included: end one first, or wait",
    )
    .await;
    server.clock.advance(DAY + Duration::from_secs(1));
    make(&ada, json!({ "name": "x", "scopes": ["read"] })).await.expect(201);
    assert_eq!(make(&ada, json!({ "name": "x", "scopes": ["read"] })).await.expect(422)["code"], "limit_reached");
}

/// Whoever knows the address of a feed posts without a token.
#[tokio::test]
async fn a_token_without_the_scope_of_webhooks_sees_no_secret_address() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let news = ada.channel(&organisation, "news", &[]).await;
    ada.hook(&news, "").await;
    let shown = async |scopes: &[&str]| {
        let program = ada.program(json!({ "name": "x", "scopes": scopes })).await;
        text(&program.get(&format!("/channels/{news}")).await.expect(200)["data"]["webhook_url"])
    };
    assert_eq!(shown(&["read"]).await, "");
    assert!(shown(&["read", "webhooks"]).await.contains("/webhooks/feed/"));
}

/// A token of the user's own session opens no channel to a socket of a limited token.
#[tokio::test]
async fn a_socket_of_a_limited_token_hears_no_other_channel_whoever_asked_for_the_subscription() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let (here, there) = (ada.channel(&organisation, "here", &[]).await, ada.channel(&organisation, "there", &[]).await);
    let program = ada.program(json!({ "name": "x", "scopes": ["read"], "channels": [here] })).await;
    let mut socket = Socket::listening(&program, &[&here]).await;
    let token = ada.post("/token/subscription", json!({ "channel": there })).await.expect(200)["data"]["token"].take();
    let refused = socket.command("subscribe", json!({ "channel": there, "token": token })).await;
    assert_eq!(refused["error"]["code"], 103, "{refused}");
}
