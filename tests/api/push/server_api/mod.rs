//! The server API: what a team's other programs do with the key, and what nobody does without it.

mod clients;
mod publishing;

use serde_json::{Value, json};
use tidings::config::Switch;

use crate::{
    harness::{Client, Reply, Server, text},
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
async fn without_its_setting_the_server_api_is_off() {
    let server = Server::start().await;
    for path in ["/api", "/api/publish", "/api/info"] {
        for method in ["GET", "POST"] {
            let request = server.anonymous().request(method, path).header("x-api-key", KEY);
            assert_eq!(request.send().await.unwrap().status(), 404, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn without_the_key_the_server_api_tells_nothing() {
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
async fn the_server_apis_key_changes_no_answer_under_api_v1() {
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
async fn a_program_reads_presence_and_history() {
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
