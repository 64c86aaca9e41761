//! Posts of a channel are delivered to its webhooks: signed, and repeated until they arrive.

mod failing;

use std::time::Instant;

use poem::Response;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::scene;
use crate::{
    harness::{blob, text},
    receiver::{Received, Receiver},
    shapes::{ATTEMPT, MESSAGE, assert_delivered, assert_shape},
    socket::Socket,
};

/// Fields of a record, in the order of the names.
fn fields<'a>(record: &'a Value, names: &[&str]) -> Vec<&'a Value> {
    names.iter().map(|name| &record[name]).collect()
}

#[tokio::test]
async fn a_post_and_a_reply_are_delivered() {
    let scene = scene().await;
    let (mut receiver, hook) = scene.receiver(&[200]).await;
    let mut socket = Socket::listening(&scene.ada, &[&scene.channel]).await;
    let post = scene.grace.say(&scene.channel, "The engine has arrived").await;
    let received = receiver.next().await;
    assert_eq!((received.path.as_str(), received.header("content-type")), ("/hook", "application/json"));
    assert!(received.is_signed_with(&hook.secret));
    let event = received.json();
    assert_eq!([&event["type"], &event["timestamp"]], [&json!("message.created"), &event["data"]["created_at"]]);
    assert_shape(&event["data"], MESSAGE);
    assert_delivered(&event);
    assert_eq!(event["data"], socket.on(&scene.channel).await, "the message as it is pushed");
    assert_eq!([&event["data"]["id"], &event["data"]["org_id"]], [&post, &scene.organisation]);

    let records = hook.history(1).await;
    assert_shape(&records[0], ATTEMPT);
    let shown = fields(&records[0], &["callback_id", "direction", "action_type", "status_code", "retries", "error", "response"]);
    assert_eq!(shown, [received.id(), "out", "delivery", "200", "0", "", "answer 1"]);
    assert!(records[0]["next_attempt"].is_null());

    let reply = scene.ada.reply(&scene.channel, &post, "At last").await;
    let received = receiver.next().await;
    let event = received.json();
    assert_eq!([&event["type"], &event["data"]["id"], &event["data"]["thread_id"]], ["message.created", &reply, &post]);
    assert_ne!(received.id(), text(&records[0]["callback_id"]));
}

#[tokio::test]
async fn a_change_of_a_single_byte_breaks_the_signature() {
    let scene = scene().await;
    let (mut receiver, hook) = scene.receiver(&[200]).await;
    scene.say("The engine has arrived").await;
    let received = receiver.next().await;
    assert!(received.is_signed_with(&hook.secret));
    assert!(!received.is_signed_with("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"));
    for at in 0..received.body.len() {
        let mut body = received.body.clone().into_bytes();
        body[at] ^= 1;
        let bent = Received { body: String::from_utf8(body).unwrap(), ..received.clone() };
        assert!(!bent.is_signed_with(&hook.secret), "byte {at} of the body");
    }
    for name in ["webhook-id", "webhook-timestamp"] {
        let value = received.header(name).to_owned();
        for at in 0..value.len() {
            let mut bytes = value.clone().into_bytes();
            bytes[at] ^= 1;
            let mut bent = received.clone();
            bent.headers.insert(name, String::from_utf8(bytes).unwrap().parse().unwrap());
            assert!(!bent.is_signed_with(&hook.secret), "byte {at} of {name}");
        }
    }
}

#[tokio::test]
async fn only_new_messages_of_members_in_the_webhooks_channel_are_delivered() {
    let scene = scene().await;
    let (mut receiver, _) = scene.receiver(&[200]).await;
    scene.ada.post(&scene.builder().await.feed, json!({ "message": "fed" })).await.expect(200);
    let queued = json!({ "channel_id": scene.channel, "message": "queued" });
    scene.ada.post("/webhooks/feed/backend-queue", queued).await.expect(200);
    scene.ada.say(&scene.ada.general(&scene.organisation).await, "elsewhere").await;
    let post = scene.say("heard").await;
    assert_eq!(receiver.next().await.content(), "heard");
    let edit = json!({ "content": "edited", "message_id": post });
    scene.ada.put(&format!("/channels/{}/messages", scene.channel), edit).await.expect(200);
    scene.ada.delete(&format!("/channels/{}/messages/{post}", scene.channel)).await.expect(200);
    scene.say("a marker").await;
    assert_eq!(receiver.next().await.content(), "a marker");
    assert!(receiver.is_empty());
}

#[tokio::test]
async fn each_webhook_has_an_event_of_its_own_for_each_message_since_it_was_made() {
    let scene = scene().await;
    let mut receiver = Receiver::start(&[200]).await;
    scene.say("before").await;
    let hooks = [scene.hook(&receiver).await, scene.hook(&receiver).await];
    let path = format!("/organisations/{}/dms", scene.organisation);
    let body = json!({ "user_ids": [scene.grace.user_id] });
    let dm = scene.ada.post(&path, body).await.expect(201)["data"]["channels_id"].take();
    let path = format!("/webhooks/{}", text(&dm));
    scene.ada.post(&path, json!({ "webhook_name": "out", "webhook_url": receiver.url })).await.expect(403);
    scene.ada.say(&text(&dm), "psst").await;
    scene.say("after").await;
    let received = [receiver.next().await, receiver.next().await];
    assert_eq!(received.each_ref().map(|received| received.content()), ["after", "after"]);
    let signed = hooks.each_ref().map(|hook| received.iter().find(|received| received.is_signed_with(&hook.secret)).unwrap());
    assert_ne!(signed[0].id(), signed[1].id());
    for (hook, received) in hooks.iter().zip(signed) {
        let records = hook.history(1).await;
        assert_eq!((records.len(), &records[0]["callback_id"]), (1, &json!(received.id())));
    }
    assert_eq!((scene.server.count("deliveries"), receiver.is_empty()), (2, true));
    assert_eq!(scene.server.count("webhook_events"), 1, "one text for both");
}

#[tokio::test]
async fn a_queued_delivery_goes_to_the_webhooks_present_address() {
    let scene = scene().await;
    let (former, hook) = scene.receiver(&[200]).await;
    let mut receiver = Receiver::start(&[200]).await;
    hook.set("paused").await;
    scene.say("The engine has arrived").await;
    scene.ada.put(&hook.path(""), json!({ "webhook_url": receiver.url })).await.expect(200);
    hook.set("active").await;
    assert_eq!(receiver.next().await.content(), "The engine has arrived");
    assert!(former.is_empty());
}

#[tokio::test]
async fn a_paused_webhook_holds_deliveries_and_an_inactive_one_misses_them() {
    let scene = scene().await;
    let ((mut receiver, hook), (mut other, beside)) = (scene.receiver(&[200]).await, scene.receiver(&[200]).await);
    hook.set("paused").await;
    scene.say("held").await;
    assert_eq!(other.next().await.content(), "held");
    beside.history(1).await;
    assert!(receiver.is_empty());
    hook.set("inactive").await;
    scene.say("never delivered").await;
    assert_eq!(other.next().await.content(), "never delivered");
    hook.set("active").await;
    assert_eq!(receiver.next().await.content(), "held");
    scene.say("after").await;
    assert_eq!(receiver.next().await.content(), "after");
}

#[tokio::test]
async fn a_failed_delivery_is_sent_again_under_its_id_until_it_arrives() {
    let scene = scene().await;
    let (mut receiver, hook) = scene.receiver(&[500, 302, 201]).await;
    scene.say("The engine has arrived").await;
    let first = receiver.next().await;
    for (attempt, error) in ["answered 500", "answered 302: redirects are not followed"].into_iter().enumerate() {
        let record = hook.history(attempt + 1).await.remove(0);
        let shown = fields(&record, &["error", "retries", "callback_id"]);
        assert_eq!(shown, [error, &attempt.to_string(), first.id()]);
        let (at, next) = (time(&record["attempted"]), time(&record["next_attempt"]));
        let wait = (next - at).total(jiff::Unit::Second).unwrap();
        let planned = [5.0, 300.0][attempt];
        assert!((planned..planned * 1.2 + 1.0).contains(&wait), "{wait}");
        // The library refuses what was signed long ago: each attempt is, anew.
        scene.server.sql("update deliveries set created_at = created_at - 3600000000, first_at = first_at - 3600000000");
        scene.server.hurry();
        let again = receiver.next().await;
        assert_eq!((again.id(), &again.body), (first.id(), &first.body));
        assert!(again.is_signed_with(&hook.secret));
    }
    let records = hook.history(3).await;
    assert_eq!(
        fields(&records[0], &["status_code", "retries", "error", "next_attempt"]),
        [&json!("201"), &json!("2"), &json!(""), &Value::Null]
    );
    assert_eq!(hook.status().await, "active");
}

fn time(value: &Value) -> jiff::Timestamp {
    text(value).parse().unwrap()
}

#[tokio::test]
async fn a_targets_retry_after_delays_the_next_attempt() {
    let scene = scene().await;
    let busy = |_| async { Response::builder().status(503.try_into().unwrap()).header("retry-after", "3600").finish() };
    let receiver = Receiver::answering(busy).await;
    let hook = scene.hook(&receiver).await;
    scene.say("The engine has arrived").await;
    let record = hook.history(1).await.remove(0);
    let wait = (time(&record["next_attempt"]) - time(&record["attempted"])).total(jiff::Unit::Second).unwrap();
    assert!((3599.0..3602.0).contains(&wait), "{wait}");
}

#[tokio::test]
async fn an_unreachable_target_is_recorded_as_such() {
    let scene = scene().await;
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let body = json!({ "webhook_name": "x", "webhook_url": "http://10.0.0.1/" });
    let private = scene.ada.post(&format!("/webhooks/{}", scene.channel), body).await.expect(422);
    assert!(text(&private["message"]).contains("not on the public internet"));
    let hook = scene.ada.hook(&scene.channel, &format!("http://{closed}/secret-path")).await;
    scene.say("The engine has arrived").await;
    let record = hook.history(1).await.remove(0);
    assert_eq!(fields(&record, &["status_code", "response"]), ["0", ""]);
    let error = text(&record["error"]);
    assert!(error.starts_with("no connection") && !error.contains("secret-path"), "{error}");
}

#[tokio::test]
async fn a_delivery_that_a_stopping_server_was_sending_is_sent_after_the_restart() {
    let scene = scene().await;
    let mut receiver =
        Receiver::answering(|n| async move { if n == 0 { std::future::pending().await } else { Response::default() } }).await;
    scene.hook(&receiver).await;
    scene.say("The engine has arrived").await;
    let first = receiver.next().await;
    let _server = scene.server.restart().await;
    assert_eq!(receiver.next().await.id(), first.id());
}

#[tokio::test]
async fn nothing_goes_to_a_webhook_that_is_deleted_or_has_lost_its_address() {
    let scene = scene().await;
    let mut receiver = Receiver::start(&[500]).await;
    let doomed = scene.ada.channel(&scene.organisation, "doomed", &[]).await;
    let hooks = [scene.hook(&receiver).await, scene.hook(&receiver).await, scene.ada.hook(&doomed, &receiver.url).await];
    for channel in [&scene.channel, &doomed] {
        scene.ada.say(channel, "The engine has arrived").await;
    }
    receiver.contents(3).await;
    for hook in &hooks {
        hook.history(1).await;
    }
    scene.ada.delete(&hooks[0].path("")).await.expect(204);
    scene.ada.put(&hooks[1].path(""), json!({ "webhook_url": "" })).await.expect(200);
    scene.ada.delete(&format!("/channels/{doomed}")).await.expect(204);
    scene.server.hurry();
    scene.hook(&receiver).await;
    scene.say("a marker").await;
    assert_eq!(receiver.next().await.content(), "a marker");
    assert!(receiver.is_empty());
    assert_eq!(scene.server.count("deliveries where attempts > 1"), 0);
}

#[tokio::test]
async fn a_deleted_message_leaves_no_text_in_the_queue() {
    let scene = scene().await;
    let (mut receiver, hook) = scene.receiver(&[200]).await;
    hook.set("paused").await;
    let post = scene.say("a slip of the pen").await;
    scene.server.followed().await;
    assert_eq!(scene.server.count("webhook_events where payload like '%slip%'"), 1);
    scene.ada.delete(&format!("/channels/{}/messages/{post}", scene.channel)).await.expect(200);
    scene.server.followed().await;
    assert_eq!(scene.server.count("webhook_events where payload like '%slip%'"), 0);
    hook.set("active").await;
    let received = receiver.next().await;
    assert_eq!((received.content(), &received.json()["data"]["id"]), (String::new(), &json!(post)));
    assert!(received.is_signed_with(&hook.secret));
}

#[tokio::test]
async fn queued_deliveries_are_dropped_after_thirty_days() {
    let mut scene = scene().await;
    let (_receiver, hook) = scene.receiver(&[200]).await;
    hook.set("paused").await;
    scene.say("old").await;
    scene.server.followed().await;
    scene.server.sql("update deliveries set created_at = created_at - 31 * 86400 * 1000000");
    scene.say("new").await;
    scene.server = scene.server.restart().await;
    scene.server.followed().await;
    assert_eq!(scene.server.count("deliveries"), 1);
    assert_eq!(scene.server.count(&format!("deliveries where webhook_id = {}", blob(&hook.id))), 1);
}

#[tokio::test]
async fn the_latency_of_an_attempt_lasts_until_its_answer() {
    let scene = scene().await;
    let (mut receiver, answer) = Receiver::holding(&[200], |_| true).await;
    let hook = scene.hook(&receiver).await;
    let began = Instant::now();
    scene.say("The engine has arrived").await;
    receiver.next().await;
    let asked = Instant::now();
    while asked.elapsed().as_millis() < 50 {
        assert_eq!(hook.history(0).await.len(), 0);
    }
    answer.notify_one();
    let latency = hook.history(1).await[0]["latency_ms"].as_u64().unwrap();
    assert!((50..=began.elapsed().as_millis()).contains(&latency.into()), "{latency}");
}
