//! Tokens for the push server, and what no token is good for.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use tidings::error::Code;

use crate::harness::{Client, Reply, Server, text, unknown_id};

/// The claims of a JSON Web Token, and the algorithm that it names.
fn claims(token: &str) -> (Value, Value) {
    let part = |n: usize| -> Value {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(token.split('.').nth(n).unwrap()).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    };
    (part(1), part(0)["alg"].clone())
}

fn seconds_left(claims: &Value) -> i64 {
    claims["exp"].as_i64().unwrap() - jiff::Timestamp::now().as_second()
}

async fn subscribe(client: &Client, body: Value) -> Reply {
    client.post("/token/subscription", body).await
}

/// Calls a real-time endpoint with a notification token.
async fn realtime(client: &Client, method: &str, path: &str, token: &str, body: Value) -> Reply {
    let mut request = client.request(method, &format!("/api/v1{path}")).header("x-notification-token", token);
    if method == "POST" {
        request = request.json(&body);
    }
    Reply::of(request, &format!("{method} {path}"), &body.to_string()).await
}

#[tokio::test]
async fn an_access_token_names_its_session() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let (claims, algorithm) = claims(ada.token.as_deref().unwrap());
    assert_eq!([&claims["sub"], &claims["aud"], &algorithm], [&ada.user_id, "api", "HS256"]);
    assert!(claims["sid"].is_string() && claims["iat"].is_i64(), "{claims}");
    let month = 30 * 24 * 3600;
    assert!((month - 60..=month).contains(&seconds_left(&claims)), "{claims}");
    assert_eq!(BASE64_URL_SAFE_NO_PAD.decode(&ada.notification_token).unwrap().len(), 32);
}

#[tokio::test]
async fn a_connection_token_is_good_for_an_hour() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let (claims, algorithm) = claims(&ada.connection_token().await);
    assert_eq!([&claims["sub"], &algorithm], [&ada.user_id, "HS256"]);
    assert!(claims["sid"].is_string() && claims.get("channel").is_none(), "{claims}");
    assert!((3540..=3600).contains(&seconds_left(&claims)), "{claims}");
    server.anonymous().get("/token/connection").await.expect(401);
}

#[tokio::test]
async fn a_subscription_token_names_its_channel() {
    let server = Server::start().await;
    let (_, grace, organisation) = server.ada_and_grace().await;
    let channel = grace.general(&organisation).await;
    let thread = grace.say(&channel, "hello").await;
    let names = [channel.clone(), thread, organisation.clone(), grace.personal(&organisation)];
    for name in &names {
        let (claims, algorithm) = claims(&grace.subscription_token(name).await);
        assert_eq!([&claims["sub"], &claims["channel"], &algorithm], [&grace.user_id, name, "HS256"]);
        assert!((3540..=3600).contains(&seconds_left(&claims)), "{claims}");
    }
    let by_id = subscribe(&grace, json!({ "channel_id": channel })).await.data(200, "Subscription token generated successfully");
    assert_eq!(claims(&text(&by_id["token"])).0["channel"], channel);
    let both = subscribe(&grace, json!({ "channel_id": channel, "channel": organisation })).await.expect(200);
    assert_eq!(claims(&text(&both["data"]["token"])).0["channel"], organisation, "`channel` wins");
}

#[tokio::test]
async fn a_list_of_streams_gives_a_token_for_each_that_the_caller_may_hear() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let private = ada.channel(&organisation, "private", &[]).await;
    let heard = [grace.general(&organisation).await, organisation.clone(), grace.personal(&organisation), grace.user_id.clone()];
    let hidden = [private, ada.personal(&organisation), ada.user_id.clone(), unknown_id()];
    let all = [&hidden[..2], &heard[..], &hidden[2..]].concat();
    let body = json!({ "channels": all });
    for reply in [
        subscribe(&grace, body.clone()).await,
        realtime(&grace, "POST", "/realtime/subscription", &grace.notification_token, body).await,
    ] {
        let data = reply.data(200, "Subscription token generated successfully");
        let tokens = data["tokens"].as_array().unwrap();
        let named: Vec<_> = tokens.iter().map(|one| text(&one["channel"])).collect();
        assert_eq!((named, &data["refused"], &data["token"]), (heard.to_vec(), &json!(hidden), &json!("")));
        for one in tokens {
            let claims = claims(&text(&one["token"])).0;
            assert_eq!([&claims["channel"], &claims["sub"]], [&one["channel"], &json!(grace.user_id)]);
        }
    }
    let single = subscribe(&grace, json!({ "channel": organisation })).await.expect(200);
    let tokens = json!([{ "channel": organisation, "token": single["data"]["token"] }]);
    assert_eq!((&single["data"]["tokens"], &single["data"]["refused"]), (&tokens, &json!([])));
    let nothing = subscribe(&grace, json!({ "channels": [] })).await.expect(200);
    assert_eq!(nothing["data"], json!({ "token": "", "tokens": [], "refused": [] }));
}

#[tokio::test]
async fn two_hundred_streams_are_taken_at_once_and_one_more_is_refused_as_is_one_without_the_form() {
    let server = Server::start().await;
    let (_, grace, organisation) = server.ada_and_grace().await;
    let list = |number| json!({ "channels": vec![organisation.clone(); number] });
    let most = subscribe(&grace, list(200)).await.expect(200);
    assert_eq!(most["data"]["tokens"].as_array().unwrap().len(), 200);
    let refused = subscribe(&grace, list(201)).await.refused(400, Code::TooManyItems);
    assert_eq!(refused["message"], "channels has at most 200 streams");
    subscribe(&grace, json!({ "channels": [organisation, "nowhere"] })).await.expect(400);
    subscribe(&grace, json!({ "channels": organisation })).await.expect(400);
}

#[tokio::test]
async fn a_stream_that_the_caller_may_not_hear_gives_no_token() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (guest, outsider) = (server.member(&ada, &organisation, "guest", "guest").await, server.user("outsider").await);
    let (public, private) =
        (ada.channel(&organisation, "public", &[]).await, ada.private_channel(&organisation, "private", &[]).await);
    let (open, closed) = (ada.say(&public, "hello").await, ada.say(&private, "hello").await);
    let unknown = subscribe(&grace, json!({ "channel": unknown_id() })).await.expect(403);
    for name in [&public, &private, &open, &closed, &ada.personal(&organisation), &format!("{}/{}", unknown_id(), grace.user_id)]
    {
        assert_eq!(unknown, subscribe(&grace, json!({ "channel": name })).await.expect(403));
    }
    for name in [&organisation, &outsider.personal(&organisation), &grace.personal(&organisation), &public] {
        assert_eq!(unknown, subscribe(&outsider, json!({ "channel": name })).await.expect(403));
    }
    assert_eq!(unknown, subscribe(&guest, json!({ "channel": public })).await.expect(403));
    subscribe(&guest, json!({ "channel": organisation })).await.expect(200);
    subscribe(&grace, json!({ "channel_id": private })).await.expect(403);
    subscribe(&server.anonymous(), json!({ "channel": organisation })).await.expect(401);
}

#[tokio::test]
async fn a_subscription_token_for_a_malformed_name_is_refused() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let own = ada.personal(&organisation);
    for body in [
        json!({}),
        json!({ "channel_id": "no-uuid" }),
        json!({ "channel_id": 7 }),
        json!({ "channel": "" }),
        json!({ "channel": "news" }),
        json!({ "channel": 7 }),
        json!({ "channel": format!("{own}/x") }),
        json!({ "channel": format!("{organisation}/") }),
        json!({ "channel": format!("{organisation}/no-uuid") }),
        json!({ "channel": format!("${organisation}") }),
    ] {
        subscribe(&ada, body).await.expect(400);
    }
    ada.call_text("POST", "/token/subscription", "{").await.expect(400);
}

#[tokio::test]
async fn the_notification_token_opens_the_real_time_endpoints() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (anonymous, own) = (server.anonymous(), grace.personal(&organisation));
    for base in ["/realtime", "/centrifugo"] {
        let (connection, subscription) = (format!("{base}/connection"), format!("{base}/subscription"));
        let token = realtime(&anonymous, "GET", &connection, &grace.notification_token, Value::Null).await.expect(200);
        assert_eq!(claims(&text(&token["data"]["token"])).0["sub"], grace.user_id);
        let body = json!({ "channel": own });
        let token = realtime(&anonymous, "POST", &subscription, &grace.notification_token, body.clone()).await.expect(200);
        assert_eq!([&claims(&text(&token["data"]["token"])).0["channel"]], [&own]);

        realtime(&anonymous, "POST", &subscription, &ada.notification_token, body.clone()).await.expect(403);
        for bad in [json!({}), json!({ "channel": "news" }), json!({ "channel": 7 })] {
            realtime(&anonymous, "POST", &subscription, &grace.notification_token, bad).await.expect(400);
        }
        for wrong in ["", "unknown", grace.token.as_deref().unwrap()] {
            realtime(&anonymous, "POST", &subscription, wrong, body.clone()).await.expect(401);
            realtime(&anonymous, "GET", &connection, wrong, Value::Null).await.expect(401);
        }
        grace.post(&subscription, body).await.refused(401, Code::NotificationTokenMissing);
        grace.get(&connection).await.expect(401);
    }
}

#[tokio::test]
async fn the_notification_token_ends_with_its_session() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let there = server.log_in("ada", crate::harness::PASSWORD).await;
    assert_ne!(ada.notification_token, there.notification_token);
    let connect =
        async |client: &Client| realtime(client, "GET", "/realtime/connection", &client.notification_token, Value::Null).await;
    connect(&ada).await.expect(200);
    ada.call("POST", "/auth/logout", None).await.expect(200);
    connect(&ada).await.expect(401);
    connect(&there).await.expect(200);
}

#[tokio::test]
async fn only_an_access_token_is_a_bearer() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let access = ada.token.clone().unwrap();
    let [head, body, signature] = access.split('.').collect::<Vec<_>>().try_into().unwrap();
    let unsigned = BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"none","typ":"JWT"}"#);
    let other = BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"HS512","typ":"JWT"}"#);
    let tokens = [
        ada.connection_token().await,
        ada.subscription_token(&organisation).await,
        ada.notification_token.clone(),
        format!("{unsigned}.{body}."),
        format!("{other}.{body}.{signature}"),
        format!("{head}.{body}."),
        format!("{head}.{body}.{}", signature.chars().rev().collect::<String>()),
        format!("{access}x"),
        String::new(),
        "x".repeat(10_000),
    ];
    for token in tokens {
        ada.with_token(&token).get("/users/organisations").await.expect(401);
    }
    for header in ["Basic YWRhOng=", access.as_str(), "Bearer", "bearer", ""] {
        let request = server.anonymous().request("GET", "/api/v1/users/organisations").header("authorization", header);
        Reply::of(request, "GET /users/organisations", header).await.expect(401);
    }
    ada.get("/users/organisations").await.expect(200);
}
