//! Feeding posts through webhooks, and what is pushed of it.

mod bearers;
mod rates;

use super::scene::{Scene, fed};
use crate::{
    harness::{Client, Reply, Server, blob, text},
    shapes::{MESSAGE, UNREAD, assert_shape},
    socket::Socket,
};
use serde_json::{Value, json};
use tidings::error::Code;

const SENT: &str = "Data sent successfully";
const QUEUE: &str = "/webhooks/feed/backend-queue";

fn body() -> Value {
    json!({ "event_name": "build finished", "message": "main is green", "status": "success", "username": "ci" })
}

/// The body with another value in one field.
fn with(field: &str, value: impl Into<Value>) -> Value {
    let mut changed = body();
    changed[field] = value.into();
    changed
}

fn without(field: &str) -> Value {
    let mut changed = body();
    changed.as_object_mut().unwrap().remove(field);
    changed
}

/// The same feed by GET.
async fn by_query(client: &Client, path: &str, query: &Value) -> Reply {
    let mut pairs = url::form_urlencoded::Serializer::new(String::new());
    query.as_object().unwrap().iter().for_each(|(key, value)| _ = pairs.append_pair(key, &text(value)));
    client.get(&format!("{path}?{}", pairs.finish())).await
}

#[tokio::test]
async fn a_feed_becomes_a_thread_without_an_author() {
    let (scene, hook) = fed().await;
    let avatar = "https://x.example/ci.png";
    let fed = json!({
        "event_name": "build finished", "message": "main is green", "status": "error", "username": "ci",
        "action_type": "build", "avatar_url": avatar
    });
    let reply = scene.anybody.post(&hook.feed, fed).await;
    let posted = text(&reply.body["message_id"]);
    assert!(reply.data(200, SENT).is_null());
    let thread = &scene.threads(&scene.grace).await[0];
    assert_eq!(thread["thread_id"], posted, "a feed answers the id of its post");
    assert_shape(thread, "thread_id:uuid channels_id:uuid created_at:time messages:array message_count:int last_reply:time");
    assert_eq!([&thread["type"], &thread["event_name"], &thread["action_type"]], ["thread", "build finished", "build"]);
    assert_eq!([&thread["content"], &thread["message"], &thread["status"]], ["main is green", "main is green", "error"]);
    assert_eq!([&thread["username"], &thread["avatar_url"], &thread["current_status"]], ["ci", avatar, "pending"]);
    assert_eq!([&thread["user_id"], &thread["email"], &thread["full_name"]], ["", "", ""], "never a member's");

    let message = &scene.grace.get(&format!("/channels/{}/messages", scene.channel)).await.expect(200)["messages"][0];
    assert_eq!([&message["id"], &message["user_id"]], [&thread["thread_id"], &json!("")]);
    let record = &hook.history(0).await[0];
    assert_eq!([&record["action_type"], &record["callback_id"]], [&json!("feed"), &thread["thread_id"]]);
    let reply = scene.grace.reply(&scene.channel, &text(&thread["thread_id"]), "at last").await;
    assert_eq!(scene.threads(&scene.grace).await[0]["messages"][0]["id"], reply);
}

#[tokio::test]
async fn an_alert_that_fires_is_an_error_and_one_that_is_resolved_a_success() {
    let (scene, hook) = fed().await;
    for (status, shown) in [("firing", "error"), ("resolved", "success"), ("error", "error"), ("success", "success")] {
        scene.anybody.post(&hook.feed, with("status", status)).await.expect(200);
        by_query(&scene.anybody, &hook.feed, &with("status", status)).await.expect(200);
        for thread in &scene.threads(&scene.grace).await[..2] {
            assert_eq!([&thread["status"], &thread["current_status"]], [shown, "pending"], "{status}");
        }
    }
    for status in ["Firing", "ok", ""] {
        scene.anybody.post(&hook.feed, with("status", status)).await.expect(422);
    }
}

#[tokio::test]
async fn a_feed_without_fields_or_with_those_of_another_program_is_told_the_fields_that_it_takes() {
    let (scene, hook) = fed().await;
    let fields = "message, username, event_name, status, action_type, avatar_url, actions";
    for body in [json!({ "title": "main is green" }), json!({})] {
        let reply = scene.anybody.post(&hook.feed, body).await.expect(400);
        assert_eq!(reply["message"], format!("message is required; the fields are {fields}"));
    }
    let queued = json!({ "channel_id": scene.channel, "text": "main is green" });
    let reply = scene.ada.post(QUEUE, queued).await.expect(400);
    assert_eq!(reply["message"], format!("message is required; the fields are channel_id, {fields}"));
}

#[tokio::test]
async fn a_thread_id_in_a_feed_is_ignored_and_the_documentation_says_so() {
    let (scene, hook) = fed().await;
    let root = scene.say("root").await;
    scene.anybody.post(&hook.feed, with("thread_id", root.clone())).await.expect(200);
    let mut queued = with("thread_id", root.clone());
    queued["channel_id"] = json!(scene.channel);
    scene.ada.post(QUEUE, queued).await.expect(200);
    let threads = scene.threads(&scene.grace).await;
    assert_eq!((threads.len(), &threads[2]["message_count"]), (3, &json!(0)));
    let document = crate::operations::document(&scene.server).await;
    for path in ["/webhooks/feed/{webhook_slug}", "/webhooks/feed/backend-queue"] {
        let said = text(&document["paths"][path]["post"]["description"]);
        assert!(said.contains("a `thread_id` in the body") && said.contains("is ignored"), "{path}: {said}");
    }
}

#[tokio::test]
async fn a_feed_by_get_is_taken_from_the_query() {
    let (scene, hook) = fed().await;
    assert!(by_query(&scene.anybody, &hook.feed, &with("message", "a & b = \u{1f30d}?")).await.data(200, SENT).is_null());
    let thread = &scene.threads(&scene.grace).await[0];
    assert_eq!([&thread["content"], &thread["username"]], ["a & b = \u{1f30d}?", "ci"]);
    assert_eq!([&thread["event_name"], &thread["type"]], ["build finished", "thread"]);
    for field in ["event_name", "message", "status", "username"] {
        by_query(&scene.anybody, &hook.feed, &without(field)).await.expect(400);
    }
    by_query(&scene.anybody, &hook.feed, &with("status", "green")).await.expect(422);
    by_query(&scene.anybody, &hook.feed, &with("message", " ")).await.expect(422);
    by_query(&scene.anybody, "/webhooks/feed/unknown", &body()).await.expect(404);
    assert_eq!(scene.threads(&scene.grace).await.len(), 1);
}

#[tokio::test]
async fn fields_that_a_feed_leaves_out_are_the_webhooks() {
    let (scene, hook) = fed().await;
    for fed in [json!({ "message": "bare" }), json!({ "message": "bare", "username": " ", "event_name": "" })] {
        scene.anybody.post(&hook.feed, fed).await.expect(200);
        let thread = &scene.threads(&scene.grace).await[0];
        assert_eq!([&thread["username"], &thread["event_name"], &thread["status"]], ["builder", "build", "success"]);
        assert_eq!([&thread["action_type"], &thread["avatar_url"]], ["", ""]);
    }
}

#[tokio::test]
async fn a_faulty_feed_is_refused_and_leaves_nothing() {
    let (scene, hook) = fed().await;
    let post = async |body: Value| scene.anybody.post(&hook.feed, body).await;
    post(without("message")).await.expect(400);
    for field in ["event_name", "message", "status", "username", "action_type", "avatar_url"] {
        post(with(field, 7)).await.expect(400);
    }
    scene.anybody.call_text("POST", &hook.feed, "{").await.expect(400);
    for status in ["", "Success", "green"] {
        post(with("status", status)).await.expect(422);
    }
    for message in ["", " \n"] {
        post(with("message", message)).await.expect(422);
    }
    for (field, most) in [("message", 40_000), ("username", 64), ("event_name", 255), ("action_type", 80)] {
        post(with(field, "é".repeat(most + 1))).await.refused(422, Code::TooLong);
        post(with(field, "é".repeat(most))).await.expect(200);
    }
    let avatar = |length: usize| format!("https://x.example/{}", "x".repeat(length - 18));
    for url in [&avatar(2001), "javascript:alert(1)", "nonsense", "https://ada:secret@x.example/"] {
        post(with("avatar_url", url)).await.expect(422);
    }
    post(with("avatar_url", avatar(2000))).await.expect(200);
    for field in ["username", "event_name", "action_type"] {
        post(with(field, "two\nlines")).await.expect(422);
    }
    let taken = hook.history(0).await.into_iter().filter(|record| record["status_code"] == "200").count();
    assert_eq!((scene.threads(&scene.grace).await.len(), taken), (5, 5));
}

#[tokio::test]
async fn only_a_live_slug_feeds() {
    let (scene, hook) = fed().await;
    let slug = hook.feed.rsplit('/').next().unwrap();
    let unknown = scene.anybody.post("/webhooks/feed/unknown", body()).await.expect(404);
    let swapped: String =
        slug.chars().map(|c| if c.is_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }).collect();
    for wrong in [&slug[..slug.len() - 1], &swapped, &hook.id, "%27%20or%201=1", &"x".repeat(5000)] {
        assert_eq!(scene.anybody.post(&format!("/webhooks/feed/{wrong}"), body()).await.expect(404), unknown);
    }
    scene.anybody.post(&format!("{}/", hook.feed), body()).await.expect(200);
    scene.ada.delete(&format!("/channels/{}", scene.channel)).await.expect(204);
    assert_eq!(scene.anybody.post(&hook.feed, body()).await.expect(404), unknown);
}

#[tokio::test]
async fn a_deleted_organisation_takes_nothing_in() {
    let (scene, hook) = fed().await;
    scene.ada.delete(&format!("/organisations/{}", scene.organisation)).await.expect(204);
    scene.anybody.post(&hook.feed, body()).await.expect(404);
    scene.ada.post(QUEUE, with("channel_id", &*scene.channel)).await.expect(403);
}

#[tokio::test]
async fn a_paused_webhook_answers_and_posts_nothing() {
    let (scene, hook) = fed().await;
    hook.set("paused").await;
    let taken = scene.anybody.post(&hook.feed, body()).await;
    assert_eq!(taken.body["message_id"], Value::Null, "there is no post");
    taken.data(200, SENT);
    by_query(&scene.anybody, &hook.feed, &body()).await.data(200, SENT);
    scene.anybody.post(&hook.feed, with("status", "green")).await.expect(422);
    let mut history = hook.history(0).await;
    history.retain(|record| record["status_code"] == "200");
    assert_eq!((scene.threads(&scene.grace).await.len(), history.len()), (0, 2));
    assert_eq!([&history[0]["action_type"], &history[0]["status_code"]], ["paused", "200"]);
    assert_ne!(history[0]["callback_id"], history[1]["callback_id"]);
    hook.set("active").await;
    scene.anybody.post(&hook.feed, body()).await.expect(200);
    assert_eq!(scene.threads(&scene.grace).await.len(), 1);
}

#[tokio::test]
async fn an_inactive_webhook_and_an_archived_channel_refuse() {
    let (scene, hook) = fed().await;
    hook.set("inactive").await;
    scene.anybody.post(&hook.feed, body()).await.refused(403, Code::WebhookInactive);
    scene.anybody.post(&hook.feed, with("status", "green")).await.expect(403);
    for status in ["active", "paused"] {
        hook.set(status).await;
        scene.server.sql(&format!("update channels set archived_at = created_at where id = {}", blob(&scene.channel)));
        scene.anybody.post(&hook.feed, body()).await.expect(403);
        scene.server.sql(&format!("update channels set archived_at = null where id = {}", blob(&scene.channel)));
    }
    assert_eq!((scene.threads(&scene.grace).await.len(), hook.history(0).await.len()), (0, 0));
}

#[tokio::test]
async fn a_feed_is_pushed_to_the_channel_and_as_a_count_to_every_member() {
    let (scene, hook) = fed().await;
    let own = [scene.ada.personal(&scene.organisation), scene.grace.personal(&scene.organisation)];
    let mut sockets = [
        Socket::listening(&scene.ada, &[&scene.channel, &own[0]]).await,
        Socket::listening(&scene.grace, &[&scene.channel, &own[1]]).await,
    ];
    let feed = |number: u64| scene.anybody.post(&hook.feed, with("message", number.to_string()));
    for number in 1..=2 {
        feed(number).await.expect(200);
        let id = text(&scene.threads(&scene.grace).await[0]["thread_id"]);
        for (socket, own) in sockets.iter_mut().zip(&own) {
            let message = socket.on(&scene.channel).await;
            assert!(message.get("notification_type").is_none(), "bare: {message}");
            assert_shape(&message, &MESSAGE.replace("user_id:uuid", "user_id:text"));
            assert_eq!([&message["type"], &message["id"], &message["thread_id"]], ["thread", &id, &id]);
            assert_eq!([&message["user_id"], &message["email"], &message["username"]], ["", "", "ci"]);
            assert_eq!([&message["event_name"], &message["status"]], ["build finished", "success"]);
            let mut change = socket.on(own).await;
            assert_eq!(change["notification_type"], "unread_thread_change");
            let data = change["data"].take();
            assert_shape(&data, UNREAD);
            assert_eq!((&data["last_thread_id"], &data["thread_count"]), (&json!(id), &json!(number)), "unread by all");
        }
    }
    let counts = scene.ada.get("/channels").await.expect(200)["channels"].as_array().unwrap().clone();
    let listed = counts.iter().find(|listed| listed["channels_id"] == scene.channel).unwrap();
    assert_eq!(listed["message_count"], 2);
}

#[tokio::test]
async fn a_feed_mentions_members_and_the_channel() {
    let (scene, hook) = fed().await;
    let own = scene.grace.personal(&scene.organisation);
    let mut socket = Socket::listening(&scene.grace, &[&own]).await;
    for message in ["@grace look", "@channel look"] {
        scene.anybody.post(&hook.feed, with("message", message)).await.expect(200);
        let pushed = [socket.on(&own).await, socket.on(&own).await];
        let mention = pushed.iter().find(|push| push["notification_type"] == "channel_mention").expect("a mention");
        assert_eq!([&mention["data"]["content"], &mention["data"]["type"]], [message, "thread"]);
        assert_eq!(scene.threads(&scene.grace).await[0]["mentions"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn nobody_edits_a_feed() {
    let (scene, hook) = fed().await;
    scene.anybody.post(&hook.feed, with("username", "ada")).await.expect(200);
    let id = text(&scene.threads(&scene.grace).await[0]["thread_id"]);
    let path = format!("/channels/{}/messages", scene.channel);
    scene.ada.put(&path, json!({ "content": "mine", "message_id": id })).await.expect(403);
    scene.ada.put(&path, json!({ "content": "mine" })).await.expect(404);
}

/// Link checkers send HEAD requests.
#[tokio::test]
async fn a_head_request_to_a_feed_posts_nothing() {
    let (scene, hook) = fed().await;
    let query = "username=ci&event_name=build&message=done&status=success";
    let reply = scene.anybody.call("HEAD", &format!("{}?{query}", hook.feed), None).await;
    assert_eq!((reply.status, reply.headers["allow"].to_str().unwrap()), (405, "GET, POST"));
    assert_eq!(scene.threads(&scene.grace).await.len(), 0);
    scene.anybody.get(&format!("{}?{query}", hook.feed)).await.expect(200);
    assert_eq!(scene.threads(&scene.grace).await.len(), 1);
}
