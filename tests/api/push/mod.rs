//! The push endpoint's protocol: connecting, subscribing, and how it refuses.

mod centrifugo;
mod centrifugo_own;
mod flooding;
mod frames;
mod fuzzing;
mod half_open;
mod large_recoveries;
mod listening;
mod own_streams;
mod positions;
mod presence;
mod publications;
mod raw;
mod recovery;
mod rejoining;
mod restart;
mod revoking;
mod rights;
mod server_api;
mod tokens;
mod unrecovered;

use serde_json::json;

use crate::{
    harness::{Client, Server, unknown_id},
    socket::Socket,
};

const SOON: i64 = 60;

fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

/// The code with which a socket is closed after the given first frame.
async fn closed_after(client: &Client, words: &[&str]) -> u16 {
    let mut socket = Socket::open(client).await;
    for words in words {
        socket.send(words).await;
    }
    socket.closed().await
}

/// The code with which a socket is closed after a good connect and the given frame.
async fn closed_when_connected(client: &Client, words: &str) -> u16 {
    let mut socket = Socket::connect(client).await;
    socket.send(words).await;
    socket.closed().await
}

#[tokio::test]
async fn a_connection_is_told_who_it_is_and_when_it_is_pinged() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let mut socket = Socket::open(&ada).await;
    let request = json!({ "token": ada.connection_token().await, "name": "js", "unknown": [1] });
    let reply = socket.command("connect", request).await;
    let result = &reply["connect"];
    assert!(uuid::Uuid::parse_str(result["client"].as_str().unwrap()).is_ok(), "{reply}");
    assert_eq!([&result["ping"], &result["pong"]], [&json!(25), &json!(true)]);
    assert!(result.get("subs").is_none(), "fields at their zero value are left out: {reply}");

    let second = Socket::connect(&ada).await; // several connections of one user
    drop(second);
    assert_eq!(socket.command("unsubscribe", json!({ "channel": unknown_id() })).await["unsubscribe"], json!({}));
}

#[tokio::test]
async fn a_subscriber_receives_publications_until_it_unsubscribes() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (one, two) = (ada.channel(&organisation, "one", &[&grace]).await, ada.channel(&organisation, "two", &[&grace]).await);
    let mut socket = Socket::listening(&grace, &[&one, &two]).await;
    ada.say(&one, "heard").await;
    assert_eq!(socket.next().await.1["content"], "heard");

    let reply = socket.command("unsubscribe", json!({ "channel": one })).await;
    assert_eq!(reply["unsubscribe"], json!({}));
    ada.say(&one, "not heard").await;
    ada.say(&two, "marker").await;
    let (channel, data) = socket.next().await;
    assert_eq!((channel, &data["content"]), (two, &json!("marker")));

    socket.subscribe(&one).await;
    ada.say(&one, "again").await;
    assert_eq!(socket.next().await.1["content"], "again");
}

#[tokio::test]
async fn commands_may_come_together_in_one_frame() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let channel = ada.general(&ada.organisation("Engines").await).await;
    let connect = json!({ "id": 1, "connect": { "token": ada.connection_token().await, "name": "js" } });
    let token = ada.subscription_token(&channel).await;
    let subscribe = json!({ "id": 2, "subscribe": { "channel": channel, "token": token, "flag": 1 } });
    let mut socket = Socket::open(&ada).await;
    socket.send(&format!("{connect}\n{subscribe}\n")).await;
    assert!(socket.line().await["connect"].is_object());
    assert!(socket.line().await["subscribe"].is_object());
    ada.say(&channel, "hello").await;
    assert_eq!(socket.on(&channel).await["content"], "hello");
}

#[tokio::test]
async fn a_frame_that_is_no_command_is_a_bad_request() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    for words in ["{", "", "[]", "7", "null", "{}\n\n{}", "{\"id\":\"one\",\"connect\":{}}", "{\"id\":1}", "{}"] {
        assert_eq!(closed_after(&ada, &[words]).await, 3501, "{words:?}");
    }
    for words in
        ["{", "", "x", "{\"id\":9}", "{\"subscribe\":{\"channel\":\"x\"}}", "{\"id\":9,\"subscribe\":{\"channel\":\"\"}}"]
    {
        assert_eq!(closed_when_connected(&ada, words).await, 3501, "{words:?}");
    }
    assert_eq!(closed_when_connected(&ada, "{}").await, 3501, "a pong that nobody asked for");
}

#[tokio::test]
async fn connect_is_the_first_command_and_comes_once() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let subscribe =
        json!({ "id": 1, "subscribe": { "channel": organisation, "token": ada.subscription_token(&organisation).await } });
    assert_eq!(closed_after(&ada, &[&subscribe.to_string()]).await, 3501);
    let connect = json!({ "id": 2, "connect": { "token": ada.connection_token().await } });
    assert_eq!(closed_when_connected(&ada, &connect.to_string()).await, 3501);
}

#[tokio::test]
async fn a_bad_connection_token_is_terminal() {
    let server = Server::start().await;
    let (ada, elsewhere) = (server.user("ada").await, Server::start().await);
    let organisation = ada.organisation("Engines").await;
    let (stranger, access) = (elsewhere.user("ada").await, ada.token.clone().unwrap());
    let unknown_session = json!({ "sub": ada.user_id, "sid": unknown_id(), "exp": now() + SOON });
    let no_expiry = json!({ "sub": ada.user_id, "sid": unknown_id() });
    let tokens = [
        "garbage".to_owned(),
        access,
        ada.subscription_token(&organisation).await,
        stranger.connection_token().await,
        server.push_token(&unknown_session),
        server.push_token(&no_expiry),
    ];
    for token in tokens {
        let connect = json!({ "id": 1, "connect": { "token": token } });
        assert_eq!(closed_after(&ada, &[&connect.to_string()]).await, 3500, "{token}");
    }
    assert_eq!(closed_after(&ada, &[r#"{"id":1,"connect":{}}"#]).await, 3501, "no token at all");
}

#[tokio::test]
async fn an_expired_push_token_is_answered_109_and_can_be_renewed() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let expired = server.push_token(&json!({ "sub": ada.user_id, "sid": unknown_id(), "exp": now() - 1 }));
    let reply = Socket::open(&ada).await.command("connect", json!({ "token": expired })).await;
    assert_eq!(reply["error"], json!({ "code": 109, "message": "token expired" }));

    let expired = server.push_token(&json!({ "sub": ada.user_id, "channel": organisation, "exp": now() - 1 }));
    let mut socket = Socket::connect(&ada).await;
    let reply = socket.command("subscribe", json!({ "channel": organisation, "token": expired })).await;
    assert_eq!(reply["error"], json!({ "code": 109, "message": "token expired" }));
    socket.subscribe(&organisation).await;
}

#[tokio::test]
async fn a_session_that_has_ended_does_not_connect() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let connect = json!({ "id": 1, "connect": { "token": ada.connection_token().await } });
    ada.call("POST", "/auth/logout", None).await.expect(200);
    assert_eq!(closed_after(&ada, &[&connect.to_string()]).await, 3500);
}

#[tokio::test]
async fn a_subscription_without_a_good_token_is_denied() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let mut socket = Socket::connect(&ada).await;
    let good = ada.subscription_token(&organisation).await;
    for request in [
        json!({ "channel": organisation }),
        json!({ "channel": organisation, "token": "garbage" }),
        json!({ "channel": organisation, "token": format!("{good}x") }),
        json!({ "channel": organisation, "token": ada.token }),
    ] {
        let reply = socket.command("subscribe", request).await;
        assert_eq!(reply["error"], json!({ "code": 103, "message": "permission denied" }));
    }
    let reply = socket.command("subscribe", json!({ "channel": "x".repeat(256), "token": good })).await;
    assert_eq!(reply["error"]["code"], 107);
    let request = json!({ "channel": organisation, "token": good });
    assert!(socket.command("subscribe", request.clone()).await["subscribe"].is_object(), "it is still connected");
    assert_eq!(socket.command("subscribe", request).await["error"], json!({ "code": 105, "message": "already subscribed" }));
}

#[tokio::test]
async fn a_subscription_token_of_another_user_is_terminal() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (hers, mine) = (ada.subscription_token(&organisation).await, grace.subscription_token(&organisation).await);
    let subscribe =
        |channel: &str, token: &str| json!({ "id": 9, "subscribe": { "channel": channel, "token": token } }).to_string();
    assert_eq!(closed_when_connected(&grace, &subscribe(&organisation, &hers)).await, 3500, "another user's");
    assert_eq!(closed_when_connected(&grace, &subscribe(&grace.personal(&organisation), &mine)).await, 3500, "another channel's");
}

#[tokio::test]
async fn the_raw_client_connects_without_an_id() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (general, personal, foreign) =
        (ada.general(&organisation).await, grace.personal(&organisation), ada.personal(&organisation));
    let hers = ada.subscription_token(&foreign).await;
    let own = grace.subscription_token(&personal).await;
    let connect = json!({ "connect": {
        "token": grace.connection_token().await,
        "subs": { &personal: { "token": own }, &foreign: { "token": hers }, &general: { "token": "garbage" }, &organisation: {} }
    } });
    let mut socket = Socket::open_at(&grace, "/centrifugo/connection/websocket", None).await.unwrap();
    socket.send(&connect.to_string()).await;
    let reply = socket.line().await;
    assert!(reply.get("id").is_none() && reply["connect"]["client"].is_string(), "{reply}");
    let subs: Vec<_> = reply["connect"]["subs"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(subs, std::slice::from_ref(&personal), "the others are left out");
    assert_ne!(reply["connect"]["pong"], true, "it sends no pongs");

    ada.say(&general, "hello").await;
    let (channel, data) = socket.next().await;
    assert_eq!((channel, &data["notification_type"]), (personal, &json!("unread_thread_change")));
    assert_eq!([&data["data"]["name"], &data["data"]["description"]], ["general", "Engines's general channel"]);
}

#[tokio::test]
async fn tokens_inside_connect_subscribe_any_client() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let channel = ada.general(&ada.organisation("Engines").await).await;
    let subs = json!({ &channel: { "token": ada.subscription_token(&channel).await } });
    let mut socket = Socket::open(&ada).await;
    let reply = socket.command("connect", json!({ "token": ada.connection_token().await, "subs": subs })).await;
    assert!(reply["connect"]["subs"][&channel].is_object(), "{reply}");
    ada.say(&channel, "hello").await;
    assert_eq!(socket.on(&channel).await["content"], "hello");
}

#[tokio::test]
async fn only_pages_of_allowed_origins_open_sockets() {
    let server = Server::with(|settings| settings.allowed_origin = vec!["https://chat.example".into()]).await;
    let open = async |server: &Server, origin: &str| {
        Socket::open_at(&server.anonymous(), "/connection/websocket", Some(origin)).await.is_ok()
    };
    assert!(open(&server, "https://chat.example").await);
    assert!(!open(&server, "https://evil.example").await);
    assert!(!open(&server, "null").await);
    let plain = Server::start().await;
    assert!(open(&plain, &plain.origin).await);
    assert!(!open(&plain, "https://evil.example").await);
    let anybody = Server::with(|settings| settings.allowed_origin = vec!["*".into()]).await;
    assert!(open(&anybody, "https://evil.example").await);
}

/// With DNS rebinding, a page of a name that leads to this server sends that name as its origin and as the host.
#[tokio::test]
async fn the_host_that_a_page_names_opens_no_socket() {
    let plain = Server::start().await;
    let port = plain.origin.rsplit(':').next().unwrap();
    let named = Server::with(|settings| {
        settings.links.base_url = Some("https://chat.example".into());
        settings.links.web_url = Some("https://web.example".into());
    });
    let named = named.await;
    let status = async |server: &Server, path: &str, origin: &str| {
        let request = server.anonymous().request("GET", path).header("origin", origin);
        let request = request.header("host", origin.split_once("://").unwrap().1);
        let request = request.header("connection", "upgrade").header("upgrade", "websocket");
        let request = request.header("sec-websocket-version", "13").header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        request.send().await.unwrap().status().as_u16()
    };
    for (path, taken) in [("/connection/websocket", 101), ("/connection/uni_websocket", 101), ("/connection/uni_sse", 400)] {
        for (server, origin, expected) in [
            (&plain, format!("http://rebound.example:{port}"), 403),
            (&plain, format!("http://127.0.0.1:{port}"), taken),
            (&plain, format!("http://localhost:{port}"), taken),
            (&plain, format!("http://[::1]:{port}"), taken),
            (&plain, "http://localhost:1".into(), 403),
            (&named, "https://chat.example".into(), taken),
            (&named, "https://web.example".into(), taken),
            (&named, "http://chat.example".into(), 403),
            (&named, "https://rebound.example".into(), 403),
            (&named, named.origin.clone(), 403),
        ] {
            assert_eq!(status(server, path, &origin).await, expected, "{path} {origin}");
        }
    }
}

#[tokio::test]
async fn sockets_are_told_that_the_server_shuts_down() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let (connected, silent) = (Socket::connect(&ada).await, Socket::open(&ada).await);
    let (one, two, ()) = tokio::join!(connected.closed(), silent.closed(), server.stop());
    assert_eq!([one, two], [3001, 3001]);
}

#[tokio::test]
async fn a_plain_request_is_no_socket() {
    let server = Server::start().await;
    let reply = server.anonymous().request("GET", "/connection/websocket").send().await.unwrap();
    assert!(reply.status().is_client_error(), "{}", reply.status());
    assert_eq!(server.anonymous().request("GET", "/health").send().await.unwrap().status(), 200);
}
