//! The history of what a webhook gave out: its pages, how long it is kept, and how much of an answer it shows.

use std::future::ready;

use serde_json::{Value, json};
use tidings::error::Code;

use crate::{
    harness::{Client, Server, text},
    receiver::{self, Hook, Receiver},
};

/// Ada's channel with a webhook to this receiver.
async fn scene(receiver: &Receiver) -> (Server, Client, String, Hook) {
    let server = receiver::server().await;
    let ada = server.user("ada").await;
    let channel = ada.channel(&ada.organisation("Engines").await, "engines", &[]).await;
    let hook = ada.hook(&channel, &receiver.url).await;
    (server, ada, channel, hook)
}

/// A page of the history.
async fn page(client: &Client, channel: &str, hook: &Hook, query: &str) -> Vec<Value> {
    let reply = client.get(&format!("/webhooks/{channel}/history/{}?{query}", hook.id)).await;
    reply.expect(200)["data"]["webhooks_history"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_page_has_at_most_a_hundred_records_and_the_last_begins_before_ten_thousand() {
    let receiver = Receiver::start(&[200]).await;
    let (server, ada, channel, hook) = scene(&receiver).await;
    ada.say(&channel, "The engine has arrived").await;
    hook.history(1).await;
    server.sql(
        "insert into webhook_history (id, webhook_id, callback_id, direction, action_type, status_code, attempted_at)
         with recursive more (k) as (select 1 union all select k + 1 from more where k < 100)
         select unhex(printf('%032x', k)), webhook_id, callback_id, direction, action_type, 500, attempted_at - k
         from more, webhook_history",
    );
    let page = async |query: &str| page(&ada, &channel, &hook, query).await;
    assert_eq!(page("").await.len(), 10);
    let hundred = page("limit=100").await;
    assert_eq!((hundred.len(), &hundred[0]["status_code"]), (100, &json!("200")));
    assert_eq!(page("limit=101").await, hundred, "more is cut");
    let last = page("limit=100&page=2").await;
    assert_eq!(last.len(), 1);
    assert!(!hundred.contains(&last[0]));
    assert_eq!(page("limit=100&page=100").await, [Value::Null; 0]);
    ada.get(&format!("/webhooks/{channel}/history/{}?limit=100&page=101", hook.id)).await.refused(400, Code::PageTooDeep);
}

#[tokio::test]
async fn an_attempt_and_its_event_are_kept_for_thirty_days_each() {
    let receiver = Receiver::start(&[200]).await;
    let (server, ada, channel, hook) = scene(&receiver).await;
    for attempts in 1..=3 {
        ada.say(&channel, &attempts.to_string()).await;
        hook.history(attempts).await;
    }
    // The first has passed its thirty days by a minute, the second is a minute short of them.
    for (table, time) in [("webhook_history", "attempted_at"), ("deliveries", "created_at")] {
        for (before, seconds) in [(0, 60), (1, -60)] {
            let id = format!("(select id from {table} order by id limit 1 offset {before})");
            server.sql(&format!("update {table} set {time} = {time} - (30 * 86400 + {seconds}) * 1000000 where id = {id}"));
        }
    }
    let server = server.restart().await;
    assert_eq!((server.count("deliveries"), server.count("webhook_events")), (2, 2));
    let records = hook.history(2).await;
    assert_eq!(records.len(), 2);
    let replay = async |record: &Value| {
        let path = hook.path(&format!("/history/{}/replay", text(&record["id"])));
        ada.post(&path, json!({})).await
    };
    replay(&records[1]).await.expect(200);
    hook.history(3).await;
    server.sql("delete from deliveries"); // older than its last attempt
    let refused = replay(&records[1]).await.expect(422);
    assert!(text(&refused["message"]).contains("30 days"), "{refused}");
}

#[tokio::test]
async fn an_answer_is_shown_up_to_its_first_kibibyte() {
    let receiver = Receiver::answering(|n| ready("x".repeat(1024 + n).into())).await;
    let (_server, ada, channel, hook) = scene(&receiver).await;
    for attempts in 1..=2 {
        ada.say(&channel, "The engine has arrived").await;
        assert_eq!(text(&hook.history(attempts).await[0]["response"]).len(), 1024);
    }
}
