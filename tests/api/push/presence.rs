//! Presence, joins and leaves, and history.

use serde_json::{Value, json};

use crate::{
    harness::{Server, text},
    socket::Socket,
};

#[tokio::test]
async fn subscribers_see_who_else_listens() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let general = ada.general(&organisation).await;
    let mut hers = Socket::listening(&ada, &[&general]).await;
    let other_device = Socket::listening(&ada, &[&general]).await;
    let mut graces = Socket::listening(&grace, &[&general]).await;

    let presence = graces.command("presence", json!({ "channel": general })).await["presence"]["presence"].take();
    let clients = presence.as_object().unwrap();
    assert_eq!(clients.len(), 3);
    assert!(clients.iter().all(|(client, info)| info["client"] == *client), "{presence}");
    assert_eq!(clients.values().filter(|info| info["user"] == ada.user_id).count(), 2);
    let stats = graces.command("presence_stats", json!({ "channel": general })).await;
    assert_eq!(stats["presence_stats"], json!({ "num_clients": 3, "num_users": 2 }));

    graces.command("unsubscribe", json!({ "channel": general })).await;
    drop(other_device);
    for command in ["presence", "presence_stats", "history"] {
        let reply = graces.command(command, json!({ "channel": general })).await;
        assert_eq!(reply["error"], json!({ "code": 103, "message": "permission denied" }), "{command}: one must listen oneself");
    }
    let mut count = 0;
    while count != 1 {
        count = hers.command("presence_stats", json!({ "channel": general })).await["presence_stats"]["num_clients"]
            .as_u64()
            .unwrap();
    }
}

#[tokio::test]
async fn a_question_about_no_channel_is_a_bad_request() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    for command in ["presence", "presence_stats", "history", "publish"] {
        let mut socket = Socket::connect(&ada).await;
        socket.order(command, json!({})).await;
        assert_eq!(socket.closed().await, 3501, "{command}");
    }
}

#[tokio::test]
async fn a_subscriber_that_asks_for_joins_and_leaves_receives_them() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let general = ada.general(&organisation).await;
    let mut watching = Socket::connect(&ada).await;
    assert!(watching.subscribe_with(&general, json!({ "join_leave": true })).await["subscribe"].is_object());
    let join = |push: &Value| push["join"].is_object();
    let own = watching.push(join).await;
    assert_eq!(own["join"]["info"]["user"], ada.user_id, "one's own comes after the reply");

    let mut graces = Socket::listening(&grace, &[&general]).await;
    let joined = watching.push(join).await;
    assert_eq!((&joined["channel"], &joined["join"]["info"]["user"]), (&json!(general), &json!(grace.user_id)));
    graces.command("unsubscribe", json!({ "channel": general })).await;
    let leave = |push: &Value| push["leave"].is_object();
    assert_eq!(watching.push(leave).await["leave"]["info"], joined["join"]["info"]);

    graces.subscribe(&general).await;
    watching.push(join).await;
    drop(graces); // without a word
    assert_eq!(watching.push(leave).await["leave"]["info"], joined["join"]["info"]);

    // Whoever did not ask hears of messages only.
    let mut plain = Socket::listening(&grace, &[&general]).await;
    drop(Socket::listening(&ada, &[&general]).await);
    ada.say(&general, "hello").await;
    assert_eq!(plain.on(&general).await["content"], "hello");
    plain.no_push_but_publications();
}

#[tokio::test]
async fn history_gives_the_publications_of_its_stream_only() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let general = ada.general(&ada.organisation("Engines").await).await;
    let mut socket = Socket::connect(&ada).await;
    let begin = socket.subscribe(&general).await;
    for text in ["one", "two", "three", "four"] {
        ada.say(&general, text).await;
    }
    let top = Socket::connect(&ada).await.subscribe(&general).await["offset"].take();
    let mut ask = async |mut request: Value| {
        request["channel"] = json!(general);
        socket.command("history", request).await
    };
    let texts = |reply: &Value| -> Vec<String> {
        let publications = reply["history"]["publications"].as_array().unwrap();
        publications.iter().map(|publication| text(&publication["data"]["content"])).collect()
    };
    let since = |offset: &Value| json!({ "offset": offset, "epoch": begin["epoch"] });
    let none = ask(json!({})).await;
    assert_eq!(none["history"], json!({ "publications": [], "epoch": begin["epoch"], "offset": top }));
    let all = ask(json!({ "limit": -1, "since": since(&begin["offset"]) })).await;
    assert_eq!(texts(&all), ["one", "two", "three", "four"]);
    let at = |at: usize| since(&all["history"]["publications"][at]["offset"]);
    assert_eq!(texts(&ask(json!({ "limit": 2, "reverse": true })).await), ["four", "three"]);
    assert_eq!(texts(&ask(json!({ "limit": 2, "since": at(0) })).await), ["two", "three"]);
    assert_eq!(texts(&ask(json!({ "limit": 2, "since": at(2), "reverse": true })).await), ["two", "one"]);
    let from_the_start = ask(json!({ "limit": 1, "since": { "offset": 0, "epoch": "" } })).await;
    assert_eq!(from_the_start["history"]["publications"][0]["data"]["notification_type"], "channel_update");
    let foreign = ask(json!({ "limit": 9, "since": { "offset": 1, "epoch": "other" } })).await;
    assert_eq!(foreign["error"], json!({ "code": 112, "message": "unrecoverable position" }));
    let before_all = ask(json!({ "limit": 9, "reverse": true, "since": { "offset": 0, "epoch": "" } })).await;
    assert_eq!(before_all["error"]["code"], 107);
}

#[tokio::test]
async fn commands_that_no_client_may_send_are_refused_as_by_a_real_centrifugo() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let general = ada.general(&ada.organisation("Engines").await).await;
    let mut socket = Socket::listening(&ada, &[&general]).await;
    let mut error = async |command: &str, request: Value| socket.command(command, request).await["error"]["code"].clone();
    assert_eq!(error("publish", json!({ "channel": general, "data": {} })).await, 103);
    assert_eq!(error("rpc", json!({ "method": "x" })).await, 108);
    assert_eq!(error("subscribe", json!({ "channel": "x", "type": 1 })).await, 108);
    assert_eq!(error("subscribe", json!({ "channel": "chat:x" })).await, 102);
    assert_eq!(error("subscribe", json!({ "channel": "ü" })).await, 107);
    assert_eq!(error("subscribe", json!({ "channel": "x".repeat(256) })).await, 107);
    assert_eq!(error("subscribe", json!({ "channel": "x".repeat(255) })).await, 103);
    assert_eq!(error("subscribe", json!({ "channel": general })).await, 105);
    socket.send(&json!({ "send": { "data": {} } }).to_string()).await;
    assert_eq!(socket.closed().await, 3508);
}

#[tokio::test]
async fn replies_that_were_sent_before_a_close_arrive() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    for (last, code) in [(r#"{"send":{}}"#, 3508), ("garbage", 3501)] {
        let mut socket = Socket::connect(&ada).await;
        socket.send(&format!("{{\"id\":100,\"unsubscribe\":{{\"channel\":\"x\"}}}}\n{last}")).await;
        assert!(socket.reply(100).await["unsubscribe"].is_object());
        assert_eq!(socket.closed().await, code);
    }
}

#[tokio::test]
async fn more_commands_than_a_client_needs_are_refused_for_a_while() {
    let server = Server::with(|settings| settings.rate_limit = tidings::config::Switch::On).await;
    let ada = server.user("ada").await;
    let mut socket = Socket::connect(&ada).await;
    let command = |id: u32| json!({ "id": id, "unsubscribe": { "channel": "x" } }).to_string();
    let commands: Vec<String> = (1000..1749).map(command).collect();
    for frame in commands.chunks(200) {
        socket.send(&frame.join("\n")).await;
    }
    // One was the connect.
    for id in 1000..1599 {
        assert!(socket.reply(id).await["unsubscribe"].is_object(), "{id}");
    }
    // Some more may have become free while these were answered.
    let mut last = json!(null);
    for id in 1599..1749 {
        last = socket.reply(id).await;
    }
    assert_eq!(last["error"], json!({ "code": 111, "message": "too many requests", "temporary": true }));
}

#[tokio::test]
async fn a_connect_counts_as_many_commands_as_it_subscribes_to_channels() {
    let server = Server::with(|settings| settings.rate_limit = tidings::config::Switch::On).await;
    let ada = server.user("ada").await;
    let token = ada.connection_token().await;
    let subs: serde_json::Map<String, Value> = (0..128).map(|n| (n.to_string(), json!({ "token": "x" }))).collect();
    let mut refused = json!(null);
    for _ in 0..50 {
        let mut socket = Socket::open(&ada).await;
        refused = socket.command("connect", json!({ "token": token, "subs": subs })).await["error"].take();
        if !refused.is_null() {
            break;
        }
    }
    assert_eq!(refused, json!({ "code": 111, "message": "too many requests", "temporary": true }));
}
