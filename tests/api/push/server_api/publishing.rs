//! Publications of programs arrive as they were sent, once, and are not lost.

use serde_json::json;

use super::{KEY, Program, start};
use crate::{harness::unknown_id, socket::Socket};

#[tokio::test]
async fn a_programs_publication_is_pushed_and_recovered_after_a_restart() {
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
async fn a_programs_publication_is_made_one_line_and_otherwise_unchanged() {
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
async fn a_publication_to_no_stream_or_that_is_no_json_is_refused() {
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
    let many = program.result("broadcast", json!({ "channels": vec![&channel; 250], "data": 1 })).await;
    let offsets: Vec<u64> =
        many["responses"].as_array().unwrap().iter().map(|response| response["result"]["offset"].as_u64().unwrap()).collect();
    assert_eq!(offsets.len(), 250);
    assert!(offsets.is_sorted_by(|a, b| a < b), "{offsets:?}");
    for (copies, size) in [(1001, 1), (100, 200_000)] {
        let request = json!({ "channels": vec![&channel; copies], "data": "x".repeat(size) });
        assert_eq!(program.refused("broadcast", request).await, 106);
    }
}

#[tokio::test]
async fn a_publication_sent_twice_under_one_idempotency_key_is_published_once() {
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
