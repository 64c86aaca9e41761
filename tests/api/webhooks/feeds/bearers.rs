//! Feeds with the token of a member, and the queue that needs one.

use tidings::config::FeedAuth;

use super::*;
use crate::harness::unknown_id;

#[tokio::test]
async fn a_bearer_that_is_sent_with_a_feed_must_hold_the_right_to_post() {
    let (scene, hook) = fed().await;
    let outsider = scene.server.user("outsider").await;
    let visitor = scene.member("visitor", "member").await;
    let guest = scene.member("guest", "guest").await;
    scene.server.sql(&format!(
        "insert into channel_members (channel_id, user_id, username, created_at) values ({}, {}, 'guest', 0)",
        blob(&scene.channel),
        blob(&guest.user_id)
    ));
    for bad in [&scene.anybody.with_token("nonsense"), &scene.anybody.with_token(&scene.ada.notification_token)] {
        bad.post(&hook.feed, body()).await.expect(401);
        by_query(bad, &hook.feed, &body()).await.expect(401);
    }
    for client in [&outsider, &visitor, &guest] {
        client.post(&hook.feed, body()).await.expect(403);
        by_query(client, &hook.feed, &body()).await.expect(403);
    }
    assert_eq!(scene.threads(&scene.grace).await.len(), 0);
    scene.grace.post(&hook.feed, without("username")).await.data(200, SENT);
    let thread = &scene.threads(&scene.grace).await[0];
    assert_eq!([&thread["user_id"], &thread["username"]], [&*scene.grace.user_id, "builder"]);
}

#[tokio::test]
async fn a_server_can_demand_a_bearer_for_feeds() {
    let scene = Scene::on(Server::with(|settings| settings.feed_auth = FeedAuth::Bearer).await).await;
    let hook = scene.builder().await;
    scene.anybody.post(&hook.feed, body()).await.expect(401);
    scene.anybody.post(&hook.feed, json!({})).await.expect(401);
    by_query(&scene.anybody, &hook.feed, &body()).await.expect(401);
    scene.grace.post(&hook.feed, body()).await.data(200, SENT);
    by_query(&scene.grace, &hook.feed, &body()).await.data(200, SENT);
}

#[tokio::test]
async fn the_backend_queue_is_for_members_with_the_right_to_post() {
    let (scene, hook) = fed().await;
    let queued = with("channel_id", &*scene.channel);
    let reply = scene.grace.post(QUEUE, queued.clone()).await;
    let posted = text(&reply.body["message_id"]);
    assert!(reply.data(200, SENT).is_null());
    let thread = &scene.threads(&scene.grace).await[0];
    assert_eq!(thread["thread_id"], posted);
    assert_eq!([&thread["type"], &thread["username"], &thread["event_name"]], ["thread", "ci", "build finished"]);
    assert_eq!([&thread["user_id"], &thread["content"]], [&*scene.grace.user_id, "main is green"]);
    scene.grace.post(QUEUE, json!({ "channel_id": scene.channel, "message": "bare" })).await.expect(200);
    assert_eq!(scene.threads(&scene.grace).await[0]["username"], "grace");
    assert_eq!(hook.history(0).await.len(), 0);

    scene.anybody.post(QUEUE, queued.clone()).await.expect(401);
    let outsider = scene.server.user("outsider").await;
    let visitor = scene.member("visitor", "member").await;
    let private = scene.ada.private_channel(&scene.organisation, "private", &[]).await;
    let unknown = scene.grace.post(QUEUE, with("channel_id", unknown_id())).await.expect(403);
    assert_eq!(outsider.post(QUEUE, queued.clone()).await.expect(403), unknown);
    assert_eq!(scene.grace.post(QUEUE, with("channel_id", private)).await.expect(403), unknown);
    visitor.post(QUEUE, queued.clone()).await.expect(403);

    for faulty in [body(), with("channel_id", "no-uuid"), with("channel_id", 7), json!({ "channel_id": scene.channel })] {
        scene.grace.post(QUEUE, faulty).await.expect(400);
    }
    for (field, value) in [("status", "green"), ("message", " ")] {
        let mut faulty = queued.clone();
        faulty[field] = value.into();
        scene.grace.post(QUEUE, faulty).await.expect(422);
    }
    for state in ["archived_at = created_at", "archived_at = null, is_dm = 1"] {
        scene.server.sql(&format!("update channels set {state} where id = {}", blob(&scene.channel)));
        scene.grace.post(QUEUE, queued.clone()).await.expect(403);
    }
    assert_eq!(scene.threads(&scene.grace).await.len(), 2);
}
