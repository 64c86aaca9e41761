//! Deliveries on demand: tests, events that are sent again, and secrets that change.

use std::collections::HashSet;

use serde_json::{Value, json};
use tidings::{error::Code, time::Time};

use super::{one, scene};
use crate::{
    harness::{PASSWORD, Server, text, unknown_id},
    receiver::Receiver,
    shapes::{ATTEMPT, assert_delivered, assert_shape},
};

#[tokio::test]
async fn a_new_secret_signs_beside_the_one_before_for_a_day() {
    let scene = scene().await;
    let (mut receiver, hook) = scene.receiver(&[200]).await;
    let rotate = async || {
        let data = hook.post("/rotate-secret", json!({})).await.data(200, "Webhook secret rotated successfully");
        let until: jiff::Timestamp = text(&data["old_secret_until"]).parse().unwrap();
        let left = (until - jiff::Timestamp::now()).total(jiff::Unit::Hour).unwrap();
        assert!((23.9..=24.0).contains(&left), "{left}");
        text(&data["webhook_secret"])
    };
    let second = rotate().await;
    assert!(second.starts_with("whsec_") && second != hook.secret);
    assert!(!scene.server.stores(&second));
    scene.say("signed twice").await;
    let received = receiver.next().await;
    assert_eq!(received.header("webhook-signature").split(' ').count(), 2);
    assert!(received.is_signed_with(&hook.secret) && received.is_signed_with(&second));

    let third = rotate().await;
    scene.say("and once more").await;
    let received = receiver.next().await;
    assert_eq!(received.header("webhook-signature").split(' ').count(), 2, "two at the most");
    assert!(received.is_signed_with(&second) && received.is_signed_with(&third));
    assert!(!received.is_signed_with(&hook.secret));

    for (seconds, content, is_good) in [(86_340, "almost a day later", true), (60, "a day later", false)] {
        scene.server.sql(&format!("update webhooks set old_secret_until = old_secret_until - {seconds} * 1000000"));
        scene.say(content).await;
        let received = receiver.next().await;
        assert_eq!((received.is_signed_with(&third), received.is_signed_with(&second)), (true, is_good), "{content}");
    }
}

/// The key file was lost, and another took its place.
#[tokio::test]
async fn a_webhook_whose_secret_does_not_open_waits_for_a_new_one() {
    let scene = scene().await;
    let (mut receiver, hook) = scene.receiver(&[200]).await;
    scene.server.mails(&scene.ada.email, 1).await;
    let folder = scene.server.end_and_keep().await;
    std::fs::write(folder.path().join("secret.key"), "YW5vdGhlciBrZXkgb2YgMzIgYnl0ZXMsIG5vdCAzMS4=").unwrap();
    let server = Server::on_folder(folder, |settings| {
        settings.allow_private_webhooks = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    let ada = server.log_in("ada", PASSWORD).await;
    let hook = hook.managed_by(&ada);
    ada.say(&scene.channel, "The engine has arrived").await;
    let mails = server.mails(&ada.email, 2).await;
    assert!(mails[1].text.contains("its secret can't be read; give it a new one"), "{}", mails[1].text);
    assert_eq!(hook.status().await, "inactive");
    let refused = hook.post("/test", json!({})).await.refused(422, Code::SecretUnreadable);
    assert!(text(&refused["message"]).contains("secret"), "{refused}");

    let rotated = hook.post("/rotate-secret", json!({})).await.expect(200)["data"].take();
    assert!(text(&rotated["old_secret_until"]) <= Time::now().to_string(), "the one before signs no more");
    hook.set("active").await;
    let received = receiver.next().await;
    assert_eq!(received.content(), "The engine has arrived");
    assert!(received.is_signed_with(&text(&rotated["webhook_secret"])));
    assert!(receiver.is_empty());
}

#[tokio::test]
async fn a_test_goes_out_at_once_whatever_the_status() {
    let scene = scene().await;
    let (mut receiver, hook) = scene.receiver(&[200, 500, 200]).await;
    let mut ids = HashSet::new();
    for (webhook, status) in [("active", "200"), ("paused", "500"), ("inactive", "200")] {
        hook.set(webhook).await;
        let record = hook.post("/test", json!({})).await.data(200, "Test event sent");
        assert_shape(&record, ATTEMPT);
        assert_eq!([&record["action_type"], &record["direction"], &record["status_code"]], ["test", "out", status]);
        let received = receiver.next().await;
        assert!(received.is_signed_with(&hook.secret));
        assert_delivered(&received.json());
        assert_eq!((received.id(), &received.json()["type"]), (text(&record["callback_id"]).as_str(), &json!("webhook.test")));
        assert_eq!(hook.history(1).await[0], record, "as it is in the history");
        assert!(ids.insert(received.id().to_owned()), "each is an event of its own");
    }
    assert!(receiver.is_empty(), "one that failed is not sent again");
    let bare = scene.ada.webhook(&scene.channel, "in only").await;
    let path = format!("{}/test", one(&scene.channel, &bare));
    scene.ada.post(&path, json!({})).await.refused(422, Code::WebhookWithoutUrl);
}

#[tokio::test]
async fn an_event_is_sent_again_under_its_id() {
    let scene = scene().await;
    let (mut receiver, hook) = scene.receiver(&[200]).await;
    let post = scene.say("The engine has arrived").await;
    let first = receiver.next().await;
    let record = hook.history(1).await.remove(0);
    let replay = format!("/history/{}/replay", text(&record["id"]));
    let queued = hook.post(&replay, json!({})).await.data(200, "Event queued successfully");
    assert_eq!(queued["callback_id"], first.id());
    let again = receiver.next().await;
    assert_eq!((again.id(), &again.body), (first.id(), &first.body));
    let records = hook.history(2).await;
    assert_eq!([&records[0]["callback_id"], &records[0]["retries"]], [&record["callback_id"], &json!("0")]);

    hook.set("paused").await;
    hook.post(&replay, json!({})).await.expect(200);
    scene.ada.delete(&format!("/channels/{}/messages/{post}", scene.channel)).await.expect(200);
    hook.set("active").await;
    let again = receiver.next().await;
    assert_eq!((again.id(), again.content().as_str()), (first.id(), ""), "the text is gone");
    hook.set("inactive").await;
    hook.post(&replay, json!({})).await.refused(422, Code::WebhookInactive);
}

#[tokio::test]
async fn only_events_of_deliveries_are_sent_again() {
    let scene = scene().await;
    let (_receiver, hook) = scene.receiver(&[200]).await;
    let replay = async |record: &str| hook.post(&format!("/history/{record}/replay"), json!({})).await;
    replay(&unknown_id()).await.expect(404);
    replay("no-uuid").await.expect(400);
    for (status, action) in [("active", "feed"), ("paused", "paused"), ("active", "test")] {
        hook.set(status).await;
        match action {
            "test" => hook.post("/test", json!({})).await.expect(200),
            _ => scene.ada.post(&hook.feed, json!({ "message": "main is green" })).await.expect(200),
        };
        let record = hook.history(1).await.remove(0);
        assert_eq!(record["action_type"], action);
        replay(&text(&record["id"])).await.refused(422, Code::TooOld);
    }
    assert_eq!(scene.server.count("deliveries"), 0);
}

#[tokio::test]
async fn an_event_of_another_webhook_is_not_found() {
    let scene = scene().await;
    let (mut receiver, hook) = scene.receiver(&[200]).await;
    scene.say("The engine has arrived").await;
    receiver.next().await;
    let record = text(&hook.history(1).await[0]["id"]);
    let beside = scene.hook(&receiver).await;
    let elsewhere = scene.ada.channel(&scene.ada.organisation("Elsewhere").await, "engines", &[]).await;
    let other = scene.ada.hook(&elsewhere, &receiver.url).await;
    for path in [
        beside.path(&format!("/history/{record}/replay")),
        other.path(&format!("/history/{record}/replay")),
        format!("/webhooks/{elsewhere}/{}/history/{record}/replay", hook.id),
    ] {
        scene.ada.post(&path, json!({})).await.expect(404);
    }
    for hook in [&beside, &other] {
        let replayed = hook.post("/replay", json!({ "since": "2020-01-01T00:00:00Z" })).await;
        assert_eq!(replayed.expect(200)["data"]["events"], 0);
    }
    let outsider = scene.server.user("outsider").await;
    outsider.organisation("Outside").await;
    outsider.post(&hook.path(&format!("/history/{record}/replay")), json!({})).await.expect(403);
    assert_eq!(scene.server.count("deliveries where due_at is not null"), 0);
    assert!(receiver.is_empty());
}

#[tokio::test]
async fn an_event_that_is_already_queued_again_is_not_queued_a_third_time() {
    let scene = scene().await;
    let (mut receiver, answer) = Receiver::holding(&[500, 500, 200], |n| n == 1).await;
    let hook = scene.hook(&receiver).await;
    scene.say("The engine has arrived").await;
    receiver.next().await;
    let record = hook.history(1).await.remove(0);
    scene.server.hurry();
    receiver.next().await;
    hook.post(&format!("/history/{}/replay", text(&record["id"])), json!({})).await.expect(200);
    receiver.next().await;
    assert_eq!(hook.history(2).await[0]["status_code"], "200");
    answer.notify_one();
    let late = hook.history(3).await.remove(0);
    let shown = [&late["status_code"], &late["retries"], &late["next_attempt"]];
    assert_eq!(shown, [&json!("500"), &json!("1"), &Value::Null], "as it was when it began");
    assert_eq!(scene.server.count("deliveries where due_at is not null"), 0, "it has arrived");
    assert!(receiver.is_empty(), "three times, and no more");
}

#[tokio::test]
async fn the_deliveries_of_an_archived_channel_are_delivered_and_sent_again() {
    let scene = scene().await;
    let (mut receiver, hook) = scene.receiver(&[200]).await;
    hook.set("paused").await;
    scene.say("The engine has arrived").await;
    scene.ada.put(&format!("/channels/{}/archive", scene.channel), json!({ "archived": true })).await.expect(200);
    hook.set("active").await;
    let first = receiver.next().await;
    let record = text(&hook.history(1).await[0]["id"]);
    let again =
        [(format!("/history/{record}/replay"), json!({})), ("/replay".into(), json!({ "since": "2020-01-01T00:00:00Z" }))];
    for (attempts, (path, body)) in again.into_iter().enumerate() {
        hook.post(&path, body).await.expect(200);
        assert_eq!(receiver.next().await.id(), first.id());
        hook.history(attempts + 2).await;
    }
    for path in ["/test", "/rotate-secret"] {
        hook.post(path, json!({})).await.expect(200);
    }
}

#[tokio::test]
async fn the_events_of_a_span_of_time_are_sent_again() {
    let scene = scene().await;
    let (mut receiver, hook) = scene.receiver(&[200]).await;
    let mut moments = Vec::new();
    for content in ["one", "two", "three", "four"] {
        moments.push(Time::now().to_string());
        scene.say(content).await;
        receiver.next().await;
    }
    hook.history(4).await;
    let replay = async |body: Value| hook.post("/replay", body).await;
    let data = replay(json!({ "since": moments[1], "until": moments[3] })).await.data(200, "Events queued successfully");
    assert_eq!(data["events"], 2);
    assert_eq!(receiver.contents(2).await, ["three", "two"]);
    hook.history(6).await;
    assert_eq!(replay(json!({ "since": moments[3] })).await.expect(200)["data"]["events"], 1);
    assert_eq!(receiver.contents(1).await, ["four"]);
    assert_eq!(replay(json!({ "since": "2020-01-01T00:00:00Z", "until": moments[0] })).await.expect(200)["data"]["events"], 0);
    let made = |offset: u8| {
        let query = format!("select created_at from deliveries order by created_at limit 1 offset {offset}");
        jiff::Timestamp::from_microsecond(scene.server.number(&query)).unwrap().to_string()
    };
    assert_eq!(replay(json!({ "since": made(1), "until": made(2) })).await.expect(200)["data"]["events"], 1);
    assert_eq!(receiver.contents(1).await, ["two"], "with the first moment, without the last");

    for body in [json!({}), json!({ "since": 7 }), json!({ "since": "yesterday" }), json!({ "since": moments[0], "until": "" })] {
        replay(body).await.expect(400);
    }
    for until in [&moments[0], &moments[1]] {
        replay(json!({ "since": moments[1], "until": until })).await.expect(422);
    }
    hook.history(8).await;
    let more = "with recursive more (k) as (select 1 union all select k + 1 from more where k < 997)";
    scene.server.sql(&format!("insert into webhook_events (n, payload) {more} select 1000 + k, '{{}}' from more"));
    scene.server.sql(&format!(
        "insert into deliveries (id, webhook_id, event_n, created_at) {more}
         select unhex(printf('%032x', k)), webhook_id, 1000 + k, created_at
         from more, (select * from deliveries order by id desc limit 1)"
    ));
    hook.set("paused").await;
    let since = json!({ "since": moments[0] });
    assert!(text(&replay(since.clone()).await.refused(422, Code::RangeTooLarge)["message"]).contains("1000"));
    scene.server.sql("delete from deliveries where id = (select min(id) from deliveries)");
    assert_eq!(replay(since.clone()).await.expect(200)["data"]["events"], 1000);
    assert_eq!(replay(since).await.expect(200)["data"]["events"], 0, "they are queued");
    assert!(receiver.is_empty());
}
