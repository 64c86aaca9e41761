//! The server API: what a team's other programs do with the key, and what nobody does without it.

use serde_json::{Value, json};
use tidings::config::Switch;

use crate::{
    harness::{Client, Reply, Server, text, unknown_id},
    socket::Socket,
};

const KEY: &str = "a-key-for-the-tests";
const METHODS: [&str; 13] = [
    "publish",
    "broadcast",
    "subscribe",
    "unsubscribe",
    "disconnect",
    "refresh",
    "presence",
    "presence_stats",
    "history",
    "channels",
    "info",
    "batch",
    "nothing",
];

async fn start() -> Server {
    Server::with(|settings| settings.push_api_key = Some(KEY.into())).await
}

/// A program that has the key.
struct Program(Client);

impl Program {
    fn of(server: &Server) -> Program {
        Program(server.anonymous())
    }

    async fn post(&self, path: &str, body: &str) -> Reply {
        let request = self.0.request("POST", path).header("x-api-key", KEY).body(body.to_owned());
        Reply::of(request, path, body).await
    }

    /// The whole answer, `result` or `error`.
    async fn call(&self, method: &str, params: Value) -> Value {
        self.post(&format!("/api/{method}"), &params.to_string()).await.expect(200)
    }

    async fn result(&self, method: &str, params: Value) -> Value {
        let mut answer = self.call(method, params).await;
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }

    async fn refused(&self, method: &str, params: Value) -> Value {
        let mut answer = self.call(method, params).await;
        assert!(answer.get("result").is_none(), "{method}: {answer}");
        answer["error"]["code"].take()
    }

    /// Publishes; gives the offset.
    async fn publish(&self, channel: &str, data: Value) -> Value {
        self.result("publish", json!({ "channel": channel, "data": data })).await["offset"].take()
    }
}

/// Connects; gives the socket, and the id of its client.
async fn connect(client: &Client) -> (Socket, String) {
    let mut socket = Socket::open(client).await;
    let reply = socket.command("connect", json!({ "token": client.connection_token().await })).await;
    (socket, text(&reply["connect"]["client"]))
}

#[tokio::test]
async fn without_the_setting_there_is_no_such_api() {
    let server = Server::start().await;
    for path in ["/api", "/api/publish", "/api/info"] {
        for method in ["GET", "POST"] {
            let request = server.anonymous().request(method, path).header("x-api-key", KEY);
            assert_eq!(request.send().await.unwrap().status(), 404, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn without_the_key_nothing_is_told() {
    let server = start().await;
    let mut answers = Vec::new();
    for method in METHODS {
        for (headers, body) in [
            (vec![], "{}".to_owned()),
            (vec![("x-api-key", "a-key-for-the-test")], "not JSON".into()),
            (vec![("x-api-key", "")], " ".repeat(2 << 20)),
            (vec![("authorization", "Bearer a-key-for-the-tests")], "{}".into()),
            (vec![("authorization", "apikey a-key-for-the-tests2")], "{}".into()),
        ] {
            let request = server.anonymous().request("POST", &format!("/api/{method}"));
            let request = headers.into_iter().fold(request, |request, (name, value)| request.header(name, value));
            let reply = Reply::of(request.body(body), method, "").await;
            answers.push((reply.status, reply.body));
        }
    }
    let got = Reply::of(server.anonymous().request("GET", "/api/info"), "GET", "").await;
    answers.push((got.status, got.body));
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!(answers[0].0, 401);
}

#[tokio::test]
async fn the_key_opens_and_closes_nothing_of_our_own_api() {
    let (plain, server) = (Server::start().await, start().await);
    server.user("ada").await.get("/users/me").await.expect(200);
    for path in ["/api/v1", "/api/v1/", "/api/v1/publish", "/api/v1/users/me", "/api/v1/openapi.json", "/api/v1x/y"] {
        let mut answers = Vec::new();
        for server in [&plain, &server] {
            let reply = Reply::of(server.anonymous().request("GET", path).header("x-api-key", KEY), path, "").await;
            answers.push((reply.status, reply.body));
        }
        assert_eq!(answers[0], answers[1], "{path}");
    }
}

#[tokio::test]
async fn guessing_the_key_has_a_rate_and_using_it_has_none() {
    let server = Server::with(|settings| {
        settings.push_api_key = Some(KEY.into());
        settings.rate_limit = Switch::On;
    });
    let server = server.await;
    let info = async |key: &str| {
        let request = server.anonymous().request("POST", "/api/info").header("x-api-key", key).body("{}");
        request.send().await.unwrap().status().as_u16()
    };
    for _ in 0..60 {
        assert_eq!(info(KEY).await, 200);
    }
    let guessed = futures_util::future::join_all((0..60).map(|_| info("another-key-for-the-tests"))).await;
    assert!(
        guessed.contains(&401) && guessed.contains(&429) && guessed.iter().all(|status| [401, 429].contains(status)),
        "{guessed:?}"
    );
    assert_eq!(info(KEY).await, 200);
}

#[tokio::test]
async fn the_key_goes_in_either_header_and_the_body_must_be_readable() {
    let server = start().await;
    let program = Program::of(&server);
    let request = program.0.request("POST", "/api/info").header("authorization", format!("ApiKey {KEY}")).body("{}");
    assert_eq!(Reply::of(request, "info", "").await.expect(200)["result"]["nodes"][0]["name"], "tidings");
    let request = program.0.request("GET", "/api/info").header("x-api-key", KEY);
    assert_eq!(request.send().await.unwrap().status(), 405);
    for (body, status) in [("", 400), ("{", 400), ("[1]", 400), (r#"{"channel":7}"#, 400), ("\u{1}", 400)] {
        assert_eq!(program.post("/api/publish", body).await.status, status, "{body:?}");
    }
    assert_eq!(program.post("/api/publish", &" ".repeat(2 << 20)).await.status, 413);
    assert_eq!(program.post("/api", "").await.status, 400);
    assert_eq!(program.refused("nothing", json!({})).await, 104);
    assert_eq!(program.refused("rpc", json!({})).await, 108);
}

#[tokio::test]
async fn what_is_published_is_heard_and_recovered_after_a_restart() {
    let server = start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let thread = ada.say(&channel, "post").await;
    let streams = [channel.clone(), thread, organisation.clone(), grace.personal(&organisation)];
    let program = Program::of(&server);
    let mut socket = Socket::connect(&grace).await;
    let mut places = Vec::new();
    for stream in &streams {
        socket.subscribe(stream).await;
        let answer = program.result("publish", json!({ "channel": stream, "data": { "build": "green" } })).await;
        assert_eq!(socket.next().await, (stream.clone(), json!({ "build": "green" })), "as it was sent, and nothing added");
        places.push(answer);
    }
    drop(socket);
    let tokens = [grace.connection_token().await, grace.subscription_token(&streams[0]).await];
    for stream in &streams {
        program.publish(stream, json!([1, stream])).await;
        program.publish(stream, json!("bye")).await;
    }

    let server = server.restart().await;

    let mut socket = Socket::open(&grace).await;
    socket.command("connect", json!({ "token": tokens[0] })).await;
    for (stream, place) in streams.iter().zip(places) {
        let token = grace.subscription_token(stream).await;
        let request =
            json!({ "channel": stream, "token": token, "recover": true, "offset": place["offset"], "epoch": place["epoch"] });
        let reply = socket.command("subscribe", request).await;
        assert_eq!(reply["subscribe"]["recovered"], true, "{reply}");
        let missed = reply["subscribe"]["publications"].as_array().unwrap();
        let data: Vec<_> = missed.iter().map(|publication| publication["data"].clone()).collect();
        assert_eq!(data, [json!([1, stream]), json!("bye")]);
    }
    Program::of(&server).publish(&streams[0], json!(7)).await;
    assert_eq!(socket.on(&streams[0]).await, 7);
}

#[tokio::test]
async fn a_publication_is_one_line_and_otherwise_as_it_was_sent() {
    let server = start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let program = Program::of(&server);
    let data = "{ \"b\" : 12345678901234567890.10,\r\n\"a\":\"x\\ny\",\n\"b\":null }";
    let body = format!("{{\"channel\":\"{organisation}\",\"data\":\n{data}\n}}");
    program.post("/api/publish", &body).await.expect(200);
    let request = program.0.request("POST", "/api/history").header("x-api-key", KEY);
    let shown = request.body(json!({ "channel": organisation, "limit": 1, "reverse": true }).to_string()).send().await.unwrap();
    let shown = shown.text().await.unwrap();
    assert!(shown.contains(r#""data":{ "b" : 12345678901234567890.10,"a":"x\ny","b":null },"#), "{shown}");

    let mut socket = Socket::listening(&ada, &[&organisation]).await;
    program.result("publish", json!({ "channel": organisation, "b64data": "eyJhIjoKMX0=" })).await;
    assert_eq!(socket.next().await.1, json!({ "a": 1 }));
}

#[tokio::test]
async fn what_names_no_stream_or_is_no_json_is_not_published() {
    let server = start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let deleted = ada.channel(&organisation, "old", &[]).await;
    let thread = ada.say(&deleted, "post").await;
    ada.delete(&format!("/channels/{deleted}")).await.expect(204);
    let program = Program::of(&server);
    let foreign = format!("{}/{}", unknown_id(), grace.user_id);
    for channel in
        ["news", &unknown_id(), &deleted, &thread, &foreign, &organisation.to_uppercase(), &format!("{organisation}/x")]
    {
        assert_eq!(program.refused("publish", json!({ "channel": channel, "data": 1 })).await, 102, "{channel}");
        assert_eq!(program.refused("history", json!({ "channel": channel })).await, 102, "{channel}");
        assert_eq!(program.refused("presence", json!({ "channel": channel })).await, 102, "{channel}");
    }
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let half = r#""\ud800""#;
    for rest in [
        "",
        r#","data":null"#,
        r#","b64data":"eyJh""#,
        r#","b64data":"bm8=""#,
        &format!(",\"data\":{deep}"),
        &format!(",\"data\":{half}"),
    ] {
        let answer = program.post("/api/publish", &format!("{{\"channel\":\"{organisation}\"{rest}}}")).await.expect(200);
        assert_eq!(answer, json!({ "error": { "code": 107, "message": "bad request" } }), "{rest}");
    }
    assert_eq!(program.refused("publish", json!({ "data": 1 })).await, 107);
    assert_eq!(server.count("events where type = 'published'"), 0);
}

#[tokio::test]
async fn a_broadcast_is_answered_channel_by_channel() {
    let server = start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.general(&organisation).await;
    let program = Program::of(&server);
    let mut socket = Socket::listening(&grace, &[&organisation, &channel]).await;
    let request = json!({ "channels": [channel, "nowhere", organisation], "data": { "all": true } });
    let answer = program.result("broadcast", request).await;
    let [first, refused, last] = &answer["responses"].as_array().unwrap()[..] else { panic!("{answer}") };
    assert_eq!(refused, &json!({ "error": { "code": 102, "message": "unknown channel" } }));
    assert!(first["result"]["offset"].as_u64() < last["result"]["offset"].as_u64(), "{answer}");
    assert_eq!(first["result"]["epoch"], last["result"]["epoch"]);
    assert_eq!([socket.next().await.0, socket.next().await.0], [channel.clone(), organisation.clone()]);
    for channels in [json!([]), json!([channel, ""])] {
        assert_eq!(program.refused("broadcast", json!({ "channels": channels, "data": 1 })).await, 107);
    }
    for (copies, size) in [(1001, 1), (100, 200_000)] {
        let request = json!({ "channels": vec![&channel; copies], "data": "x".repeat(size) });
        assert_eq!(program.refused("broadcast", request).await, 106);
    }
}

#[tokio::test]
async fn what_is_sent_twice_under_one_key_is_published_once() {
    let server = start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let channel = ada.general(&organisation).await;
    let program = Program::of(&server);
    let request = json!({ "channel": channel, "data": 1, "idempotency_key": "build-7" });
    let all = futures_util::future::join_all((0..8).map(|_| program.result("publish", request.clone()))).await;
    assert!(all.iter().all(|answer| *answer == all[0]), "{all:?}");
    assert_eq!(server.count("events where type = 'published'"), 1);

    let channels = [&organisation, &channel, &organisation, "x", "x"];
    let request = json!({ "channels": channels, "data": 1, "idempotency_key": "build-7" });
    let answer = program.result("broadcast", request).await;
    let [fresh, known, again, refused, too] = &answer["responses"].as_array().unwrap()[..] else { panic!("{answer}") };
    assert_eq!((&known["result"], &refused["error"]["code"]), (&all[0], &json!(102)));
    assert_eq!(refused, too);
    assert_eq!(fresh, again);
    assert_eq!(server.count("events where type = 'published'"), 2, "each channel has its own keys");

    program.publish(&channel, json!(1)).await;
    program.publish(&channel, json!(1)).await;
    assert_eq!(server.count("events where type = 'published'"), 4);
}

#[tokio::test]
async fn a_member_is_subscribed_from_a_place_on() {
    let server = start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let program = Program::of(&server);
    let place = program.result("publish", json!({ "channel": channel, "data": 1 })).await;
    program.publish(&channel, json!(2)).await;
    let ((mut one, client), (mut two, _)) = (connect(&grace).await, connect(&grace).await);
    let request = json!({ "user": grace.user_id, "channel": channel, "client": client, "recover_since": place });
    assert_eq!(program.result("subscribe", request).await, json!({}));
    let push = one.line().await["push"].take();
    assert_eq!(push["channel"], channel);
    let begun = json!({ "recoverable": true, "positioned": true, "epoch": place["epoch"], "offset": place["offset"] });
    assert_eq!(push["subscribe"], begun);
    assert_eq!(one.next().await.1, 2);

    let request = json!({ "user": grace.user_id, "channel": channel });
    program.result("subscribe", request.clone()).await;
    assert!(two.line().await["push"]["subscribe"].is_object());
    program.publish(&channel, json!(3)).await;
    assert_eq!([one.next().await.1, two.next().await.1], [3, 3], "once each, though the first was subscribed before");

    program.result("unsubscribe", json!({ "user": grace.user_id, "channel": channel, "client": client })).await;
    assert_eq!(one.unsubscribed(&channel).await, 2000);
    program.result("unsubscribe", request).await;
    assert_eq!(two.unsubscribed(&channel).await, 2000);
}

#[tokio::test]
async fn nobody_is_subscribed_to_what_they_may_not_hear() {
    let server = start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let secret = ada.private_channel(&organisation, "secret", &[]).await;
    let program = Program::of(&server);
    let (mut socket, _) = connect(&grace).await;
    let subscribe = |channel: &str| json!({ "user": grace.user_id, "channel": channel });
    assert_eq!(program.refused("subscribe", subscribe(&secret)).await, 103);
    assert_eq!(program.refused("subscribe", subscribe(&ada.personal(&organisation))).await, 103);
    assert_eq!(program.refused("subscribe", subscribe(&unknown_id())).await, 102);
    assert_eq!(program.refused("subscribe", subscribe("")).await, 107);
    assert_eq!(program.refused("subscribe", json!({ "channel": channel })).await, 107);
    assert_eq!(program.refused("subscribe", json!({ "user": "grace", "channel": channel })).await, 103);
    let expired = json!({ "user": grace.user_id, "channel": channel, "expire_at": 1 });
    assert_eq!(program.refused("subscribe", expired).await, 110);

    program.result("subscribe", subscribe(&channel)).await;
    assert!(socket.line().await["push"]["subscribe"].is_object());
    ada.delete(&format!("/channels/{channel}/users/{}", grace.user_id)).await.expect(204);
    assert_eq!(socket.unsubscribed(&channel).await, 2000);
    assert_eq!(program.refused("subscribe", subscribe(&channel)).await, 103, "a removed member");
    program.publish(&channel, json!("secret")).await;
    program.result("subscribe", subscribe(&organisation)).await;
    assert_eq!(socket.line().await["push"]["channel"], organisation, "the marker, and nothing before it");
}

#[tokio::test]
async fn connections_are_ended_with_the_programs_words() {
    let server = start().await;
    let ada = server.user("ada").await;
    let elsewhere = server.user("grace").await;
    let program = Program::of(&server);
    let ((one, named), (two, kept), (three, _)) = (connect(&ada).await, connect(&ada).await, connect(&ada).await);
    for custom in [
        json!({ "code": 2999, "reason": "x" }),
        json!({ "code": 5000, "reason": "x" }),
        json!({ "code": 4000, "reason": "" }),
        json!({ "code": 4000, "reason": "x".repeat(124) }),
        json!({ "code": 4000, "reason": "{\"reconnect\":true}" }),
        json!({}),
    ] {
        assert_eq!(program.refused("disconnect", json!({ "user": ada.user_id, "disconnect": custom })).await, 107);
    }
    assert_eq!(program.refused("disconnect", json!({})).await, 107);

    let custom = json!({ "code": 4500, "reason": "x".repeat(123) });
    program.result("disconnect", json!({ "user": ada.user_id, "client": named, "disconnect": custom })).await;
    assert_eq!(one.closed().await, 4500);
    program.result("disconnect", json!({ "user": ada.user_id, "whitelist": [kept] })).await;
    assert_eq!(three.closed().await, 3503);
    program.result("disconnect", json!({ "user": elsewhere.user_id })).await;
    program.result("disconnect", json!({ "user": "nobody" })).await;
    let presence = program.result("info", json!({})).await["nodes"][0]["num_clients"].take();
    assert_eq!(presence, 1);
    program.result("refresh", json!({ "user": ada.user_id, "expire_at": i64::MAX })).await;
    program.result("refresh", json!({ "user": ada.user_id, "expired": true })).await;
    assert_eq!(two.closed().await, 3005);
}

#[tokio::test]
async fn a_program_sees_who_is_there_and_what_was_said() {
    let server = start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let program = Program::of(&server);
    let ((mut one, first), (mut two, second)) = (connect(&grace).await, connect(&grace).await);
    let nobody = json!({ "num_clients": 0, "num_users": 0 });
    assert_eq!(program.result("presence_stats", json!({ "channel": channel })).await, nobody);
    assert_eq!(program.result("presence", json!({ "channel": channel })).await, json!({ "presence": {} }));
    one.subscribe(&channel).await;
    two.subscribe(&channel).await;
    one.subscribe(&organisation).await;
    let who = |client: &str| json!({ "user": grace.user_id, "client": client });
    let presence = program.result("presence", json!({ "channel": channel })).await;
    assert_eq!(presence, json!({ "presence": { &first: who(&first), &second: who(&second) } }));
    let stats = program.result("presence_stats", json!({ "channel": channel })).await;
    assert_eq!(stats, json!({ "num_clients": 2, "num_users": 1 }));

    let all = program.result("channels", json!({})).await;
    assert_eq!(all, json!({ "channels": { &channel: { "num_clients": 2 }, &organisation: { "num_clients": 1 } } }));
    let some = program.result("channels", json!({ "pattern": format!("{}*", &organisation[..30]) })).await;
    assert_eq!(some["channels"].as_object().unwrap().len(), 1 + usize::from(channel[..30] == organisation[..30]));
    let node = program.result("info", json!({})).await["nodes"][0].take();
    let counts = ["num_clients", "num_users", "num_channels", "num_subs"].map(|count| node[count].as_u64().unwrap());
    assert_eq!(counts, [2, 1, 2, 3], "{node}");
    assert!(node["uid"].is_string() && node["version"].is_string() && node["uptime"].is_u64(), "{node}");

    ada.say(&channel, "hello").await;
    let last = program.publish(&channel, json!(1)).await;
    let history = program.result("history", json!({ "channel": channel, "limit": 10 })).await;
    let said: Vec<_> = history["publications"].as_array().unwrap().iter().rev().take(2).collect();
    assert_eq!((&said[0]["data"], &said[0]["offset"], &said[1]["data"]["content"]), (&json!(1), &last, &json!("hello")));
    let none = program.result("history", json!({ "channel": channel })).await;
    assert_eq!((&none["publications"], &none["offset"]), (&json!([]), &last));
    let since = json!({ "offset": 0, "epoch": "another" });
    assert_eq!(program.refused("history", json!({ "channel": channel, "limit": 1, "since": since })).await, 112);
}

#[tokio::test]
async fn several_commands_go_in_one_request() {
    let server = start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let program = Program::of(&server);
    for parallel in [false, true] {
        let publish = |n: u32| json!({ "publish": { "channel": organisation, "data": n } });
        let commands =
            json!([publish(1), { "publish": { "channel": "x", "data": 1 } }, { "info": {} }, { "batch": {} }, {}, publish(2)]);
        let answer = program.call("batch", json!({ "commands": commands, "parallel": parallel })).await;
        let replies = answer["replies"].as_array().unwrap();
        assert!(replies[0]["publish"]["offset"].is_u64() && replies[5]["publish"]["offset"].is_u64(), "{answer}");
        let codes: Vec<_> = replies.iter().map(|reply| reply["error"]["code"].as_u64()).collect();
        assert_eq!(codes, [None, Some(102), None, Some(104), Some(107), None]);
        assert_eq!(replies[2]["info"]["nodes"].as_array().unwrap().len(), 1);
    }
    assert_eq!(program.refused("batch", json!({ "commands": vec![json!({ "info": {} }); 1001] })).await, 106);

    let publish = json!({ "method": "publish", "params": { "channel": organisation, "data": 3 } });
    let reply = program.post("/api", &publish.to_string()).await.expect(200);
    assert!(reply["result"]["offset"].is_u64(), "{reply}");
    let lines = program.post("/api", &format!("{publish}\n{}\n", json!({ "method": "nothing" }))).await.expect(200);
    let lines: Vec<Value> = lines.as_str().unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[1]["error"]["code"]), (2, &json!(104)));
    assert_eq!(program.post("/api", &format!("{publish}\nnot JSON")).await.status, 400);
}
