//! Posts of a channel are delivered to its webhooks: signed, and repeated until they arrive.

mod failing;

use std::{sync::Arc, time::Instant};

use poem::Response;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Notify};

use crate::{
    harness::{Client, Server, blob, text},
    receiver::{self, Receiver},
    shapes::{ATTEMPT, MESSAGE, assert_delivered, assert_shape},
    socket::Socket,
};

struct Scene {
    server: Server,
    ada: Client,
    grace: Client,
    organisation: String,
    channel: String,
}

async fn scene() -> Scene {
    let server = receiver::server().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "engines", &[&grace]).await;
    Scene { server, ada, grace, organisation, channel }
}

/// Fields of a record, in the order of the names.
fn fields<'a>(record: &'a Value, names: &[&str]) -> Vec<&'a Value> {
    names.iter().map(|name| &record[name]).collect()
}

#[tokio::test]
async fn a_post_and_a_reply_are_delivered() {
    let Scene { server: _server, ada, grace, organisation, channel } = scene().await;
    let mut receiver = Receiver::start(&[200]).await;
    let hook = ada.hook(&channel, &receiver.url).await;
    let mut socket = Socket::listening(&ada, &[&channel]).await;
    let post = grace.say(&channel, "The engine has arrived").await;
    let received = receiver.next().await;
    assert_eq!((received.path.as_str(), received.header("content-type")), ("/hook", "application/json"));
    assert!(received.is_signed_with(&hook.secret));
    let event = received.json();
    assert_eq!([&event["type"], &event["timestamp"]], [&json!("message.created"), &event["data"]["created_at"]]);
    assert_shape(&event["data"], MESSAGE);
    assert_delivered(&event);
    assert_eq!(event["data"], socket.on(&channel).await, "the message as it is pushed");
    assert_eq!([&event["data"]["id"], &event["data"]["org_id"]], [&post, &organisation]);

    let records = hook.history(1).await;
    assert_shape(&records[0], ATTEMPT);
    let shown = fields(&records[0], &["callback_id", "direction", "action_type", "status_code", "retries", "error", "response"]);
    assert_eq!(shown, [received.id(), "out", "delivery", "200", "0", "", "answer 1"]);
    assert!(records[0]["next_attempt"].is_null());

    let reply = ada.reply(&channel, &post, "At last").await;
    let received = receiver.next().await;
    let event = received.json();
    assert_eq!([&event["type"], &event["data"]["id"], &event["data"]["thread_id"]], ["message.created", &reply, &post]);
    assert_ne!(received.id(), text(&records[0]["callback_id"]));
}

#[tokio::test]
async fn a_change_of_a_single_byte_breaks_the_signature() {
    let Scene { server: _server, ada, channel, .. } = scene().await;
    let mut receiver = Receiver::start(&[200]).await;
    let hook = ada.hook(&channel, &receiver.url).await;
    ada.say(&channel, "The engine has arrived").await;
    let received = receiver.next().await;
    assert!(received.is_signed_with(&hook.secret));
    assert!(!received.is_signed_with("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"));
    for at in 0..received.body.len() {
        let mut body = received.body.clone().into_bytes();
        body[at] ^= 1;
        let bent = receiver::Received { body: String::from_utf8(body).unwrap(), ..received.clone() };
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
    let Scene { server: _server, ada, organisation, channel, .. } = scene().await;
    let mut receiver = Receiver::start(&[200]).await;
    ada.hook(&channel, &receiver.url).await;
    let fed = ada.webhook(&channel, "in").await;
    let feed = json!({ "message": "fed" });
    ada.post(&format!("/webhooks/feed/{}", text(&fed["webhook_slug"])), feed).await.expect(200);
    let queued = json!({ "channel_id": channel, "message": "queued" });
    ada.post("/webhooks/feed/backend-queue", queued).await.expect(200);
    ada.say(&ada.general(&organisation).await, "elsewhere").await;
    let post = ada.say(&channel, "heard").await;
    assert_eq!(receiver.next().await.content(), "heard");
    let edit = json!({ "content": "edited", "message_id": post });
    ada.put(&format!("/channels/{channel}/messages"), edit).await.expect(200);
    ada.delete(&format!("/channels/{channel}/messages/{post}")).await.expect(200);
    ada.say(&channel, "a marker").await;
    assert_eq!(receiver.next().await.content(), "a marker");
    assert!(receiver.is_empty());
}

#[tokio::test]
async fn each_webhook_has_an_event_of_its_own_for_each_message_since_it_was_made() {
    let Scene { server, ada, grace, organisation, channel } = scene().await;
    let mut receiver = Receiver::start(&[200]).await;
    ada.say(&channel, "before").await;
    let hooks = [ada.hook(&channel, &receiver.url).await, ada.hook(&channel, &receiver.url).await];
    let path = format!("/organisations/{organisation}/dms");
    let dm = ada.post(&path, json!({ "user_ids": [grace.user_id] })).await.expect(201)["data"]["channels_id"].take();
    let path = format!("/webhooks/{}", text(&dm));
    ada.post(&path, json!({ "webhook_name": "out", "webhook_url": receiver.url })).await.expect(403);
    ada.say(&text(&dm), "psst").await;
    ada.say(&channel, "after").await;
    let received = [receiver.next().await, receiver.next().await];
    assert_eq!(received.each_ref().map(|received| received.content()), ["after", "after"]);
    let signed = hooks.each_ref().map(|hook| received.iter().find(|received| received.is_signed_with(&hook.secret)).unwrap());
    assert_ne!(signed[0].id(), signed[1].id());
    for (hook, received) in hooks.iter().zip(signed) {
        let records = hook.history(1).await;
        assert_eq!((records.len(), &records[0]["callback_id"]), (1, &json!(received.id())));
    }
    assert_eq!((server.count("deliveries"), receiver.is_empty()), (2, true));
    assert_eq!(server.count("webhook_events"), 1, "one text for both");
}

#[tokio::test]
async fn a_queued_delivery_goes_to_the_webhooks_present_address() {
    let Scene { server: _server, ada, channel, .. } = scene().await;
    let (former, mut receiver) = (Receiver::start(&[200]).await, Receiver::start(&[200]).await);
    let hook = ada.hook(&channel, &former.url).await;
    hook.set("paused").await;
    ada.say(&channel, "The engine has arrived").await;
    ada.put(&hook.path(""), json!({ "webhook_url": receiver.url })).await.expect(200);
    hook.set("active").await;
    assert_eq!(receiver.next().await.content(), "The engine has arrived");
    assert!(former.is_empty());
}

#[tokio::test]
async fn a_paused_webhook_holds_deliveries_and_an_inactive_one_misses_them() {
    let Scene { server: _server, ada, channel, .. } = scene().await;
    let (mut receiver, mut other) = (Receiver::start(&[200]).await, Receiver::start(&[200]).await);
    let (hook, beside) = (ada.hook(&channel, &receiver.url).await, ada.hook(&channel, &other.url).await);
    hook.set("paused").await;
    ada.say(&channel, "held").await;
    assert_eq!(other.next().await.content(), "held");
    beside.history(1).await;
    assert!(receiver.is_empty());
    hook.set("inactive").await;
    ada.say(&channel, "never delivered").await;
    assert_eq!(other.next().await.content(), "never delivered");
    hook.set("active").await;
    assert_eq!(receiver.next().await.content(), "held");
    ada.say(&channel, "after").await;
    assert_eq!(receiver.next().await.content(), "after");
}

#[tokio::test]
async fn a_failed_delivery_is_sent_again_under_its_id_until_it_arrives() {
    let Scene { server, ada, channel, .. } = scene().await;
    let mut receiver = Receiver::start(&[500, 302, 201]).await;
    let hook = ada.hook(&channel, &receiver.url).await;
    ada.say(&channel, "The engine has arrived").await;
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
        server.sql("update deliveries set created_at = created_at - 3600000000, first_at = first_at - 3600000000");
        server.hurry();
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
    let Scene { server: _server, ada, channel, .. } = scene().await;
    let busy = |_| async { Response::builder().status(503.try_into().unwrap()).header("retry-after", "3600").finish() };
    let receiver = Receiver::answering(busy).await;
    let hook = ada.hook(&channel, &receiver.url).await;
    ada.say(&channel, "The engine has arrived").await;
    let record = hook.history(1).await.remove(0);
    let wait = (time(&record["next_attempt"]) - time(&record["attempted"])).total(jiff::Unit::Second).unwrap();
    assert!((3599.0..3602.0).contains(&wait), "{wait}");
}

#[tokio::test]
async fn an_unreachable_target_is_recorded_as_such() {
    let Scene { server: _server, ada, channel, .. } = scene().await;
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let private =
        ada.post(&format!("/webhooks/{channel}"), json!({ "webhook_name": "x", "webhook_url": "http://10.0.0.1/" })).await;
    assert!(text(&private.expect(422)["message"]).contains("not on the public internet"));
    let hook = ada.hook(&channel, &format!("http://{closed}/secret-path")).await;
    ada.say(&channel, "The engine has arrived").await;
    let record = hook.history(1).await.remove(0);
    assert_eq!(fields(&record, &["status_code", "response"]), ["0", ""]);
    let error = text(&record["error"]);
    assert!(error.starts_with("no connection") && !error.contains("secret-path"), "{error}");
}

#[tokio::test]
async fn a_delivery_that_a_stopping_server_was_sending_is_sent_after_the_restart() {
    let Scene { server, ada, channel, .. } = scene().await;
    let mut receiver =
        Receiver::answering(|n| async move { if n == 0 { std::future::pending().await } else { Response::default() } }).await;
    ada.hook(&channel, &receiver.url).await;
    ada.say(&channel, "The engine has arrived").await;
    let first = receiver.next().await;
    let _server = server.restart().await;
    assert_eq!(receiver.next().await.id(), first.id());
}

#[tokio::test]
async fn nothing_goes_to_a_webhook_that_is_deleted_or_has_lost_its_address() {
    let Scene { server, ada, organisation, channel, .. } = scene().await;
    let mut receiver = Receiver::start(&[500]).await;
    let doomed = ada.channel(&organisation, "doomed", &[]).await;
    let hooks = [
        ada.hook(&channel, &receiver.url).await,
        ada.hook(&channel, &receiver.url).await,
        ada.hook(&doomed, &receiver.url).await,
    ];
    for channel in [&channel, &doomed] {
        ada.say(channel, "The engine has arrived").await;
    }
    receiver.contents(3).await;
    for hook in &hooks {
        hook.history(1).await;
    }
    ada.delete(&hooks[0].path("")).await.expect(204);
    ada.put(&hooks[1].path(""), json!({ "webhook_url": "" })).await.expect(200);
    ada.delete(&format!("/channels/{doomed}")).await.expect(204);
    server.hurry();
    ada.hook(&channel, &receiver.url).await;
    ada.say(&channel, "a marker").await;
    assert_eq!(receiver.next().await.content(), "a marker");
    assert!(receiver.is_empty());
    assert_eq!(server.count("deliveries where attempts > 1"), 0);
}

#[tokio::test]
async fn a_deleted_message_leaves_no_text_in_the_queue() {
    let Scene { server, ada, channel, .. } = scene().await;
    let mut receiver = Receiver::start(&[200]).await;
    let hook = ada.hook(&channel, &receiver.url).await;
    hook.set("paused").await;
    let post = ada.say(&channel, "a slip of the pen").await;
    server.followed().await;
    assert_eq!(server.count("webhook_events where payload like '%slip%'"), 1);
    ada.delete(&format!("/channels/{channel}/messages/{post}")).await.expect(200);
    server.followed().await;
    assert_eq!(server.count("webhook_events where payload like '%slip%'"), 0);
    hook.set("active").await;
    let received = receiver.next().await;
    assert_eq!((received.content(), &received.json()["data"]["id"]), (String::new(), &json!(post)));
    assert!(received.is_signed_with(&hook.secret));
}

#[tokio::test]
async fn queued_deliveries_are_dropped_after_thirty_days() {
    let Scene { server, ada, channel, .. } = scene().await;
    let receiver = Receiver::start(&[200]).await;
    let hook = ada.hook(&channel, &receiver.url).await;
    hook.set("paused").await;
    ada.say(&channel, "old").await;
    server.followed().await;
    server.sql("update deliveries set created_at = created_at - 31 * 86400 * 1000000");
    ada.say(&channel, "new").await;
    let server = server.restart().await;
    server.followed().await;
    assert_eq!(server.count("deliveries"), 1);
    assert_eq!(server.count(&format!("deliveries where webhook_id = {}", blob(&hook.id))), 1);
}

#[tokio::test]
async fn the_latency_of_an_attempt_lasts_until_its_answer() {
    let Scene { server: _server, ada, channel, .. } = scene().await;
    let answer = Arc::new(Notify::new());
    let held = answer.clone();
    let hold = move |_| {
        let held = held.clone();
        async move {
            held.notified().await;
            Response::default()
        }
    };
    let mut receiver = Receiver::answering(hold).await;
    let hook = ada.hook(&channel, &receiver.url).await;
    let began = Instant::now();
    ada.say(&channel, "The engine has arrived").await;
    receiver.next().await;
    let asked = Instant::now();
    while asked.elapsed().as_millis() < 50 {
        assert_eq!(hook.history(0).await.len(), 0);
    }
    answer.notify_one();
    let latency = hook.history(1).await[0]["latency_ms"].as_u64().unwrap();
    assert!((50..=began.elapsed().as_millis()).contains(&latency.into()), "{latency}");
}
