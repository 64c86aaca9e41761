//! The history of a webhook: its pages, and how long it is kept.

use serde_json::json;

use super::{Scene, feed, history, one, scene};
use crate::{
    harness::text,
    shapes::{ATTEMPT, assert_shape},
};

#[tokio::test]
async fn the_history_is_newest_first_in_pages() {
    let Scene { server, ada, channel, .. } = scene().await;
    let (webhook, other) = (ada.webhook(&channel, "builds").await, ada.webhook(&channel, "other").await);
    for number in 0..12 {
        ada.post(&feed(&webhook), json!({ "message": number.to_string() })).await.expect(200);
    }
    ada.post(&feed(&other), json!({ "message": "other" })).await.expect(200);
    let list = async |query: &str| {
        let reply = ada.get(&format!("{}{query}", history(&channel, &webhook))).await;
        reply.data(200, "Webhook history fetched successfully")["webhooks_history"].take()
    };
    let records = list("").await;
    records.as_array().unwrap().iter().for_each(|record| assert_shape(record, ATTEMPT));
    assert_eq!(records.as_array().unwrap().len(), 10);
    let messages = ada.get(&format!("/channels/{channel}/messages")).await.expect(200)["messages"].take();
    let fed: Vec<_> = messages.as_array().unwrap().iter().skip(1).map(|message| &message["id"]).collect();
    let recorded: Vec<_> = records.as_array().unwrap().iter().map(|record| &record["callback_id"]).collect();
    assert_eq!(recorded, fed[..10], "the messages' ids");
    let newest = &records[0];
    assert_eq!([&newest["action_type"], &newest["direction"], &newest["status_code"]], ["feed", "in", "200"]);
    assert_eq!([&newest["retries"], &newest["webhook_id"], &newest["error"]], ["0", &text(&webhook["id"]), ""]);
    assert_eq!(list("?page=2").await.as_array().unwrap().len(), 2);
    assert_eq!(list("?limit=5&page=2").await, json!(records.as_array().unwrap()[5..]));
    assert_eq!(list("?limit=100000").await.as_array().unwrap().len(), 12);
    for query in ["?page=0", "?page=x", "?limit=0", "?page=4294967295"] {
        ada.get(&format!("{}{query}", history(&channel, &webhook))).await.expect(400);
    }
    server.sql("update webhook_history set status_code = 0");
    assert_eq!(list("").await[0]["status_code"], "0", "without an answer");
}

#[tokio::test]
async fn records_of_a_history_are_deleted_after_thirty_days() {
    let Scene { server, ada, channel, .. } = scene().await;
    let (webhook, gone) = (ada.webhook(&channel, "builds").await, ada.webhook(&channel, "gone").await);
    ada.post(&feed(&gone), json!({ "message": "old" })).await.expect(200);
    ada.delete(&one(&channel, &gone)).await.expect(204);
    // More than two slices of old records, as 30 days leave them.
    let day = "86400 * 1000000";
    server.sql(&format!("update webhooks set deleted_at = deleted_at - 31 * {day} where deleted_at is not null"));
    server.sql(&format!("update webhook_history set attempted_at = attempted_at - 31 * {day}"));
    server.sql(
        "insert into webhook_history (id, webhook_id, callback_id, direction, action_type, status_code, attempted_at)
         with recursive old (k) as (select 1 union all select k + 1 from old where k < 450)
         select unhex(printf('%032x', k)), webhook_id, callback_id, direction, action_type, status_code, attempted_at
         from old, webhook_history",
    );
    ada.post(&feed(&webhook), json!({ "message": "new" })).await.expect(200);
    // Housekeeping is also done at the end: one slice, so as not to hold it up.
    let (mut server, mut rounds) = (server, 0);
    while server.count("webhook_history") > 1 || server.count("webhooks") > 1 {
        server = server.restart().await;
        rounds += 1;
        assert!(rounds < 10, "{}", server.count("webhook_history"));
    }
    assert_eq!([server.count("webhook_history"), server.count("webhooks")], [1, 1]);
    let kept = ada.get(&history(&channel, &webhook)).await.expect(200);
    assert_eq!(kept["data"]["webhooks_history"].as_array().unwrap().len(), 1);
}
