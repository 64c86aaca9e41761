//! Deleted channels are kept for a while, and then gone with everything in them.

use serde_json::json;
use tidings::{domain::channel_purging::purge, time::Time};

use crate::harness::{DAY, Server, blob, encoded, text};

#[tokio::test]
async fn purging_erases_the_deleted_channel_and_no_other() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let mut channels = Vec::new();
    for name in ["doomed", "kept"] {
        let channel = ada.channel(&organisation, name, &[&grace]).await;
        ada.hook(&channel, "https://hook.example/").await.set("paused").await;
        for _ in 0..4 {
            let post = ada.say(&channel, "post for @grace").await;
            for _ in 0..3 {
                grace.reply(&channel, &post, "@channel reply").await;
            }
            let path = format!("/channels/{channel}/messages/{post}");
            grace.call("PUT", &format!("{path}/reactions/{}", encoded("👍")), None).await.expect(200);
            grace.call("PUT", &format!("{path}/pin"), None).await.expect(200);
        }
        channels.push(channel);
    }
    let (doomed, kept) = (&channels[0], &channels[1]);
    let webhook = ada.post(&format!("/webhooks/{doomed}"), json!({ "webhook_name": "hook" })).await.expect(201);
    let feed = format!("/webhooks/feed/{}", text(&webhook["data"]["webhook_slug"]));
    ada.post(&feed, json!({ "message": "fed" })).await.expect(200);
    server.followed().await;
    ada.delete(&format!("/channels/{doomed}")).await.expect(204);

    let purge = |before: Time| server.write(|tx| purge(tx, before, 5)).unwrap();
    assert_eq!(purge(Time::now() - DAY), 0, "not before its time");
    let mut slices = 0;
    while purge(Time::now() + DAY) > 0 {
        slices += 1;
        assert!(slices < 100, "it comes to an end");
    }

    let database = rusqlite::Connection::open(server.folder().join("tidings.db")).unwrap();
    let count = |sql: &str| database.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    let of = |channel: &str, table: &str| count(&format!("select count(*) from {table} where channel_id = {}", blob(channel)));
    for table in ["messages", "mentions", "channel_mentions", "channel_members", "webhooks"] {
        assert_eq!(of(doomed, table), 0, "{table}");
    }
    for (table, rows) in [("messages", 16), ("mentions", 4), ("channel_mentions", 12), ("channel_members", 2), ("webhooks", 1)] {
        assert_eq!(of(kept, table), rows, "{table}");
    }
    for table in ["deliveries", "webhook_events"] {
        assert_eq!(count(&format!("select count(*) from {table}")), 16, "{table}");
    }
    assert_eq!(count("select count(*) from reactions"), 4);
    assert_eq!(count("select count(*) from reaction_counts"), 4);
    assert_eq!(count("select count(*) from webhook_history"), 0);
    assert_eq!(count(&format!("select count(*) from events where stream = '{doomed}'")), 0);
    assert_eq!(count("select count(*) from channels where deleted_at is not null"), 0);
    assert_eq!(count("select count(*) from pragma_foreign_key_check"), 0);
    let listed = grace.get(&format!("/channels/{kept}/messages")).await.expect(200);
    assert_eq!(listed["messages"].as_array().unwrap().len(), 4);
    grace.get(&format!("/channels/{doomed}")).await.expect(404);
    grace.put(&format!("/channels/{kept}/read"), json!({})).await.expect(200);
    grace.say(kept, "goes on").await;
}

#[tokio::test]
async fn a_slice_of_long_messages_is_bounded_in_bytes() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let channel = ada.channel(&organisation, "doomed", &[]).await;
    ada.hook(&channel, "https://hook.example/").await.set("paused").await;
    let long = "𠀀".repeat(40_000);
    let post = ada.say(&channel, &long).await;
    for _ in 0..2 {
        ada.reply(&channel, &post, &long).await;
        ada.say(&channel, &long).await;
    }
    server.followed().await;
    ada.delete(&format!("/channels/{channel}")).await.expect(204);
    let bytes = || {
        server.number(
            "select (select coalesce(sum(octet_length(content)), 0) from messages) + (select coalesce(sum(octet_length(body)), 0) from events)
             + (select coalesce(sum(octet_length(payload)), 0) from webhook_events)",
        )
    };
    let (mut left, all) = (bytes(), bytes());
    while server.write(|tx| purge(tx, Time::now() + DAY, 200)).unwrap() > 0 {
        let gone = left - bytes();
        assert!(gone < 800_000, "{gone} bytes of {all} in one slice");
        left -= gone;
    }
    assert_eq!(server.count("messages"), 0);
    assert!(left < 10_000 && all > 3_000_000, "{left} bytes are left of {all}");
}
