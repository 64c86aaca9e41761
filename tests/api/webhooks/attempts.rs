//! The history of what a webhook gave out: its pages, how long it is kept, and how much of an answer it shows.

use std::future::ready;

use serde_json::{Value, json};
use tidings::error::Code;

use super::scene;
use crate::{harness::text, receiver::Receiver};

#[tokio::test]
async fn a_page_has_at_most_a_hundred_records_and_the_last_begins_before_ten_thousand() {
    let scene = scene().await;
    let (_receiver, hook) = scene.receiver(&[200]).await;
    scene.say("The engine has arrived").await;
    hook.history(1).await;
    scene.server.sql(
        "insert into webhook_history (id, webhook_id, callback_id, direction, action_type, status_code, attempted_at)
         with recursive more (k) as (select 1 union all select k + 1 from more where k < 100)
         select unhex(printf('%032x', k)), webhook_id, callback_id, direction, action_type, 500, attempted_at - k
         from more, webhook_history",
    );
    let path = format!("/webhooks/{}/history/{}", scene.channel, hook.id);
    let page = async |query: &str| {
        let reply = scene.ada.get(&format!("{path}?{query}")).await;
        reply.expect(200)["data"]["webhooks_history"].as_array().unwrap().clone()
    };
    assert_eq!(page("").await.len(), 10);
    let hundred = page("limit=100").await;
    assert_eq!((hundred.len(), &hundred[0]["status_code"]), (100, &json!("200")));
    assert_eq!(page("limit=101").await, hundred, "more is cut");
    let last = page("limit=100&page=2").await;
    assert_eq!(last.len(), 1);
    assert!(!hundred.contains(&last[0]));
    assert_eq!(page("limit=100&page=100").await, [Value::Null; 0]);
    scene.ada.get(&format!("{path}?limit=100&page=101")).await.refused(400, Code::PageTooDeep);
}

#[tokio::test]
async fn an_attempt_and_its_event_are_kept_for_thirty_days_each() {
    let mut scene = scene().await;
    let (_receiver, hook) = scene.receiver(&[200]).await;
    for attempts in 1..=3 {
        scene.say(&attempts.to_string()).await;
        hook.history(attempts).await;
    }
    // The first has passed its thirty days by a minute, the second is a minute short of them.
    for (table, time) in [("webhook_history", "attempted_at"), ("deliveries", "created_at")] {
        for (before, seconds) in [(0, 60), (1, -60)] {
            let id = format!("(select id from {table} order by id limit 1 offset {before})");
            scene.server.sql(&format!("update {table} set {time} = {time} - (30 * 86400 + {seconds}) * 1000000 where id = {id}"));
        }
    }
    scene.server = scene.server.restart().await;
    assert_eq!((scene.server.count("deliveries"), scene.server.count("webhook_events")), (2, 2));
    let records = hook.history(2).await;
    assert_eq!(records.len(), 2);
    let replay = async |record: &Value| hook.post(&format!("/history/{}/replay", text(&record["id"])), json!({})).await;
    replay(&records[1]).await.expect(200);
    hook.history(3).await;
    scene.server.sql("delete from deliveries"); // older than its last attempt
    let refused = replay(&records[1]).await.expect(422);
    assert!(text(&refused["message"]).contains("30 days"), "{refused}");
}

#[tokio::test]
async fn an_answer_is_shown_up_to_its_first_kibibyte() {
    let receiver = Receiver::answering(|n| ready("x".repeat(1024 + n).into())).await;
    let scene = scene().await;
    let hook = scene.hook(&receiver).await;
    for attempts in 1..=2 {
        scene.say("The engine has arrived").await;
        assert_eq!(text(&hook.history(attempts).await[0]["response"]).len(), 1024);
    }
}
