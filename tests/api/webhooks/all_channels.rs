//! Webhooks that deliver from all public channels of an organisation.

use serde_json::{Value, json};
use tidings::{domain::channel_purging::purge, error::Code, time::Time};

use super::scene::{Scene, scene};
use crate::{
    harness::{Client, text},
    receiver::{Hook, Receiver},
};

const KINDS: [&str; 4] = ["message.created", "message.deleted", "member.joined", "channel.created"];

fn body(receiver: &Receiver) -> Value {
    json!({ "webhook_name": "mirror", "webhook_url": receiver.url, "events": KINDS, "all_channels": true })
}

/// A webhook of all channels, which is managed in the scene's channel, and its receiver.
async fn mirror(scene: &Scene, owner: &Client) -> (Receiver, Hook) {
    let receiver = Receiver::start(&[200]).await;
    let hook = owner.hook_with(&scene.channel, body(&receiver)).await;
    (receiver, hook)
}

#[tokio::test]
async fn it_delivers_what_happens_in_public_channels_and_in_its_own() {
    let scene = scene().await;
    let Scene { server, ada, grace, organisation, .. } = &scene;
    let (mut receiver, hook) = mirror(&scene, ada).await;
    let shown = ada.get(&format!("/webhooks/{}", scene.channel)).await.expect(200)["data"].take();
    assert_eq!([&shown["id"], &shown["all_channels"]], [&json!(hook.id), &json!(true)]);

    let news = grace.channel(organisation, "news", &[]).await;
    let created = receiver.next().await.json();
    assert_eq!([&created["type"], &created["data"]["channels_id"]], ["channel.created", &*news]);
    let secret = grace.private_channel(organisation, "plans", &[ada]).await;
    let direct = json!({ "user_ids": [grace.user_id] });
    let direct = text(&ada.post(&format!("/organisations/{organisation}/dms"), direct).await.expect(201)["data"]["id"]);
    for channel in [&secret, &direct] {
        grace.say(channel, "between us").await;
    }
    let general = ada.general(organisation).await;
    for (channel, said) in [(&news, "in the news"), (&general, "to all"), (&scene.channel, "in its own")] {
        grace.say(channel, said).await;
    }
    assert_eq!(receiver.contents(3).await, ["in its own", "in the news", "to all"]);
    ada.call("POST", &format!("/channels/{news}/join"), Some(json!({}))).await.expect(200);
    assert_eq!(receiver.next().await.json()["type"], "member.joined");
    // A channel that becomes private is delivered no more.
    grace.patch(&format!("/channels/{news}"), json!({ "is_private": true })).await.expect(200);
    grace.say(&news, "behind the door").await;
    server.followed().await;
    assert!(receiver.is_empty());
}

#[tokio::test]
async fn it_is_for_those_who_manage_all_webhooks_and_works_while_they_do() {
    let scene = scene().await;
    let Scene { server, ada, grace, organisation, .. } = &scene;
    let own = grace.channel(organisation, "news", &[]).await;
    let receiver = Receiver::start(&[200]).await;
    let path = format!("/webhooks/{own}");
    grace.post(&path, body(&receiver)).await.refused(403, Code::PermissionDenied);
    let hook = grace.hook_with(&own, json!({ "webhook_name": "mirror", "webhook_url": receiver.url })).await;
    grace.put(&hook.path(""), json!({ "all_channels": true })).await.refused(403, Code::PermissionDenied);
    let limited = ada.program(json!({ "name": "program", "scopes": ["webhooks"], "channels": [scene.channel] })).await;
    limited.post(&format!("/webhooks/{}", scene.channel), body(&receiver)).await.refused(403, Code::TokenLimited);
    // Nor does it lead the deliveries of all channels to another address, or make them go on.
    let (_mirrored, wide) = mirror(&scene, ada).await;
    let wide = wide.managed_by(&limited);
    limited.put(&wide.path(""), json!({ "webhook_url": receiver.url })).await.refused(403, Code::TokenLimited);
    for (method, path, body) in [
        ("PUT", "/change-status", json!({ "webhook_status": "active" })),
        ("POST", "/rotate-secret", Value::Null),
        ("POST", "/rotate-slug", Value::Null),
        ("DELETE", "", Value::Null),
    ] {
        limited.call(method, &wide.path(path), Some(body)).await.refused(403, Code::TokenLimited);
    }
    wide.managed_by(ada).set("inactive").await;

    let mallory = scene.member("mallory", "admin").await;
    ada.post(&format!("/channels/{}/users", scene.channel), json!({ "user_ids": [mallory.user_id] })).await.expect(200);
    let (mut receiver, _hook) = mirror(&scene, &mallory).await;
    grace.say(&own, "first").await;
    assert_eq!(receiver.contents(1).await, ["first"]);
    let role = async |role: &str| _ = ada.put(&scene.member_path(&mallory), json!({ "role_id": role })).await.expect(200);
    role("member").await;
    grace.say(&own, "second").await;
    server.followed().await;
    assert!(receiver.is_empty(), "it waits for somebody who may know");
    role("admin").await;
    assert_eq!(receiver.contents(1).await, ["second"]);
}

#[tokio::test]
async fn it_is_turned_on_and_off() {
    let scene = scene().await;
    let Scene { ada, organisation, .. } = &scene;
    let (mut receiver, hook) = mirror(&scene, ada).await;
    let general = ada.general(organisation).await;
    let set = async |is_on: bool| {
        let changed = ada.put(&hook.path(""), json!({ "all_channels": is_on })).await.expect(200);
        assert_eq!(changed["data"]["all_channels"], is_on);
    };
    ada.say(&general, "heard").await;
    set(false).await;
    ada.say(&general, "not heard").await;
    set(true).await;
    ada.say(&general, "heard again").await;
    assert_eq!(receiver.contents(2).await, ["heard", "heard again"]);
    ada.put(&hook.path(""), json!({ "webhook_name": "mirror of all" })).await.expect(200);
    ada.say(&general, "still heard").await;
    assert_eq!(receiver.contents(1).await, ["still heard"]);
}

#[tokio::test]
async fn an_organisation_has_at_most_ten() {
    let scene = scene().await;
    let receiver = Receiver::start(&[200]).await;
    let path = format!("/webhooks/{}", scene.channel);
    for _ in 0..10 {
        scene.ada.post(&path, body(&receiver)).await.expect(201);
    }
    let refused = scene.ada.post(&path, body(&receiver)).await.refused(422, Code::LimitReached);
    assert_eq!(refused["limit"], 10);
}

/// What a channel said goes with it, wherever its deliveries are kept.
#[tokio::test]
async fn a_purged_channel_leaves_no_text_in_its_deliveries() {
    let scene = scene().await;
    let Scene { server, ada, organisation, .. } = &scene;
    let (_receiver, hook) = mirror(&scene, ada).await;
    hook.set("paused").await;
    let doomed = ada.channel(organisation, "doomed", &[]).await;
    ada.say(&doomed, "a slip of the pen").await;
    server.followed().await;
    assert_eq!(server.count("webhook_events where payload like '%slip%'"), 1);
    ada.delete(&format!("/channels/{doomed}")).await.expect(204);
    let tomorrow = Time::now() + std::time::Duration::from_secs(24 * 3600);
    while server.write(|tx| purge(tx, tomorrow, 200)).unwrap() > 0 {}
    assert_eq!(server.count("webhook_events where payload like '%slip%'"), 0);
}
