//! Clients that only listen: one WebSocket, or one stream of server-sent events; and frames in Protobuf.

use futures_util::StreamExt;
use serde_json::{Value, json};

use crate::{
    harness::{Client, Server},
    socket::Socket,
};

/// What goes inside `connect`, with a token for each channel.
async fn request(client: &Client, channels: &[&str]) -> Value {
    let mut subs = json!({});
    for channel in channels {
        subs[channel] = json!({ "token": client.subscription_token(channel).await });
    }
    json!({ "token": client.connection_token().await, "subs": subs })
}

fn in_query(request: &Value) -> String {
    url::form_urlencoded::Serializer::new(String::new()).append_pair("cf_connect", &request.to_string()).finish()
}

#[tokio::test]
async fn a_unidirectional_websocket_sends_one_connect_and_receives_bare_pushes() {
    let server = Server::with(|settings| settings.push_ping_seconds = 1).await;
    let ada = server.user("ada").await;
    let general = ada.general(&ada.organisation("Engines").await).await;
    let request = request(&ada, &[&general]).await;
    let mut by_message = Socket::open_at(&ada, "/connection/uni_websocket", None).await.unwrap();
    by_message.send(&request.to_string()).await;
    let by_address = format!("/connection/uni_websocket?{}", in_query(&request));
    let mut by_address = Socket::open_at(&ada, &by_address, None).await.unwrap();
    for socket in [&mut by_message, &mut by_address] {
        let first = socket.line().await;
        assert!(first["connect"]["client"].is_string() && first["connect"]["subs"][&general].is_object(), "{first}");
        assert!(first["connect"].get("pong").is_none(), "{first}");
    }
    ada.say(&general, "hello").await;
    let hears = async |socket: &mut Socket| {
        let push = socket.line().await;
        assert_eq!((&push["channel"], &push["pub"]["data"]["content"]), (&json!(general), &json!("hello")), "{push}");
        socket.ping().await;
        socket.ping().await; // though nobody answered
    };
    tokio::join!(hears(&mut by_message), hears(&mut by_address));
    ada.call("POST", "/auth/logout", None).await.expect(200);
    let end = by_message.line().await;
    assert_eq!(end["disconnect"], json!({ "code": 3503, "reason": "force disconnect" }));
    assert_eq!([by_message.closed().await, by_address.closed().await], [3503, 3503]);
}

#[tokio::test]
async fn a_unidirectional_client_with_a_bad_token_is_told_why() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let expired = server.push_token(&json!({ "sub": ada.user_id, "sid": ada.session_id(), "exp": 1 }));
    for (request, code) in [(json!({ "token": "garbage" }), 3500), (json!({}), 3501), (json!({ "token": expired }), 3005)] {
        let mut socket = Socket::open_at(&ada, "/connection/uni_websocket", None).await.unwrap();
        socket.send(&request.to_string()).await;
        assert_eq!(socket.line().await["disconnect"]["code"], code);
        assert_eq!(socket.closed().await, code);
        let mut events = Events::open(&ada, &request).await;
        assert_eq!(events.next().await.unwrap()["disconnect"]["code"], code);
        assert!(events.next().await.is_none());
    }
    let mut socket = Socket::open_at(&ada, "/connection/uni_websocket", None).await.unwrap();
    socket.send("[]").await;
    assert_eq!(socket.closed().await, 3501);
    for path in ["/connection/uni_sse", "/connection/uni_sse?cf_connect=x"] {
        assert_eq!(ada.request("GET", path).send().await.unwrap().status(), 400, "{path}");
    }
}

/// A stream of server-sent events.
struct Events {
    body: std::pin::Pin<Box<dyn futures_util::Stream<Item = String>>>,
    text: String,
}

impl Events {
    async fn open(client: &Client, request: &Value) -> Events {
        let path = format!("/connection/uni_sse?{}", in_query(request));
        let reply = client.request("GET", &path).send().await.unwrap();
        assert_eq!((reply.status().as_u16(), reply.headers()["content-type"].to_str().unwrap()), (200, "text/event-stream"));
        let body = futures_util::stream::unfold(reply, |mut reply| async {
            let chunk = reply.chunk().await.ok()??;
            Some((String::from_utf8(chunk.to_vec()).unwrap(), reply))
        });
        Events { body: Box::pin(body), text: String::new() }
    }

    /// The next event that is not a ping; none at the end.
    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let event: Value = serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap();
                self.text = rest.to_owned();
                if event != json!({}) {
                    return Some(event);
                }
                continue;
            }
            let more = tokio::time::timeout(std::time::Duration::from_secs(30), self.body.next()).await.expect("in time")?;
            self.text.push_str(&more);
        }
    }
}

#[tokio::test]
async fn server_sent_events_carry_pushes_and_the_end() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let general = ada.general(&organisation).await;
    let mut events = Events::open(&grace, &request(&grace, &[&general]).await).await;
    let first = events.next().await.unwrap();
    let start = &first["connect"]["subs"][&general];
    assert!(start["offset"].is_u64(), "{first}");
    ada.say(&general, "hello").await;
    let push = events.next().await.unwrap();
    assert_eq!((&push["channel"], &push["pub"]["data"]["content"]), (&json!(general), &json!("hello")));

    // What follows comes back to whoever was away.
    let mut away = request(&grace, &[&general]).await;
    away["subs"][&general]["recover"] = true.into();
    away["subs"][&general]["epoch"] = start["epoch"].clone();
    away["subs"][&general]["offset"] = start["offset"].clone();
    let mut again = Events::open(&grace, &away).await;
    let first = again.next().await.unwrap();
    assert_eq!(first["connect"]["subs"][&general]["publications"][0]["data"]["content"], "hello", "{first}");

    ada.delete(&format!("/channels/{general}/users/{}", grace.user_id)).await;
    ada.patch(&format!("/organisations/{organisation}/users/{}", grace.user_id), json!({ "status": "deactivated" })).await;
    server.stop().await;
    let mut last = Value::Null;
    while let Some(event) = events.next().await {
        last = event;
    }
    assert_eq!(last["disconnect"], json!({ "code": 3001, "reason": "shutdown" }));
}

#[tokio::test]
async fn only_pages_of_allowed_origins_listen() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let path = format!("/connection/uni_sse?{}", in_query(&request(&ada, &[]).await));
    let from = async |origin: &str| ada.request("GET", &path).header("origin", origin).send().await.unwrap().status();
    assert_eq!(from("https://evil.example").await, 403);
    assert_eq!(from(&server.origin).await, 200);
    assert!(Socket::open_at(&ada, "/connection/uni_websocket", Some("https://evil.example")).await.is_err());
}

#[tokio::test]
async fn protobuf_is_spoken_to_clients_that_ask_for_it() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let token = ada.connection_token().await;
    // id 1 (field 1), connect (field 4) with the token (field 1).
    let mut connect = vec![0x0a, 0x80 | (token.len() as u8 & 0x7f), (token.len() >> 7) as u8];
    connect.extend_from_slice(token.as_bytes());
    let mut command = vec![0x08, 1, 0x22, 0x80 | (connect.len() as u8 & 0x7f), (connect.len() >> 7) as u8];
    command.extend_from_slice(&connect);
    let mut frame = vec![0x80 | (command.len() as u8 & 0x7f), (command.len() >> 7) as u8];
    frame.extend_from_slice(&command);
    for (path, protocol) in [
        ("/connection/websocket?format=protobuf", None),
        ("/connection/websocket?cf_protocol=protobuf", None),
        ("/connection/websocket", Some("centrifuge-protobuf")),
    ] {
        let mut socket = Socket::open_as(&ada, path, None, protocol).await.unwrap();
        assert_eq!(socket.protocol(), protocol);
        socket.send_bytes(&frame).await;
        let reply = socket.bytes().await;
        assert_eq!(reply[1..4], [0x08, 1, 0x2a], "id 1, connect: {reply:?}");
        socket.send_bytes(&[]).await;
        assert_eq!(socket.closed().await, 3501);
    }
    let mut socket = Socket::open_as(&ada, "/connection/websocket", None, Some("centrifuge-protobuf")).await.unwrap();
    socket.send("{}").await;
    assert_eq!(socket.closed().await, 3501, "a text is none of its frames");
    let both = Some("centrifuge-protobuf, centrifuge-json");
    let socket = Socket::open_as(&ada, "/connection/websocket", None, both).await.unwrap();
    assert_eq!(socket.protocol(), Some("centrifuge-json"));
}
