//! Commands of programs on open connections.

use serde_json::json;

use super::{Program, connect, start};
use crate::harness::unknown_id;

#[tokio::test]
async fn a_program_subscribes_a_member_from_a_given_offset() {
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
async fn a_program_subscribes_nobody_to_a_stream_that_they_may_not_hear() {
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
    ada.delete(&format!("/channels/{channel}/users/{}", grace.user_id)).await.expect(200);
    assert_eq!(socket.unsubscribed(&channel).await, 2000);
    assert_eq!(program.refused("subscribe", subscribe(&channel)).await, 103, "a removed member");
    program.publish(&channel, json!("secret")).await;
    program.result("subscribe", subscribe(&organisation)).await;
    assert_eq!(socket.line().await["push"]["channel"], organisation, "the marker, and nothing before it");
}

#[tokio::test]
async fn connections_are_closed_with_the_programs_code_and_reason() {
    let server = start().await;
    let ada = server.user("ada").await;
    let elsewhere = server.user("grace").await;
    let program = Program::of(&server);
    let ((one, named), (mut two, kept), (three, _)) = (connect(&ada).await, connect(&ada).await, connect(&ada).await);
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
    let told = two.push(|push| push["refresh"].is_object()).await;
    assert_eq!(told, json!({ "refresh": { "expires": true, "ttl": u32::MAX } }));
    program.result("refresh", json!({ "user": ada.user_id, "expired": true })).await;
    assert_eq!(two.closed().await, 3005);
}
