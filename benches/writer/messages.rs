//! Messages, threads, reactions, pins.

use reqwest::Method;
use serde_json::{Value, json};

use super::{
    api::text,
    bench::{Bench, long, made, wide},
    world::{UNREAD, World},
};

pub async fn walk(bench: &mut Bench, world: &World) {
    let World { ada, channel, post, .. } = world;
    let messages = format!("/channels/{channel}/messages");
    let path = format!("/channels/{channel}/read");
    bench.call("100,000 posts marked read", ada, Method::PUT, &path, json!({ "last_message_id": made(6, UNREAD) })).await;
    let body = json!({ "content": long(0x61, 26) });
    bench.call("post of 40,000 characters, 20 mentions, 50 webhooks", ada, Method::POST, &messages, body).await;
    let posted = bench.call("the same in wide characters", ada, Method::POST, &messages, json!({ "content": wide() })).await;
    let posted = text(&posted["data"]["id"]);
    bench.call("post, short", ada, Method::POST, &messages, json!({ "content": "x" })).await;
    let edited = json!({ "message_id": posted, "content": long(0x21000, 30_000).replacen("@u1 ", "@all ", 1) });
    bench.call("edit that mentions @channel", ada, Method::PUT, &messages, edited).await;
    bench.call("reply", ada, Method::POST, &messages, json!({ "content": wide(), "thread_id": post })).await;

    let marks = format!("/threads/{post}/read");
    bench.call("thread marked unread", ada, Method::PUT, &marks, json!({ "unread_from": post })).await;
    bench.call("thread marked read", ada, Method::PUT, &marks, json!({})).await;
    let first = json!({ "unread_from": made(6, 1) });
    bench.call("100,000 posts marked unread", ada, Method::PUT, &path, first).await;

    let thread = uuid::Uuid::now_v7();
    let body = json!({ "content": wide(), "thread_id": thread });
    bench.call("thread of 40,000 wide characters", ada, Method::POST, &format!("/threads/{channel}"), body).await;
    let thread = format!("/threads/{thread}/channels/{channel}");
    let body = json!({ "content": long(0x21000, 30_000), "status": "completed" });
    bench.call("thread edited and completed", ada, Method::PUT, &thread, body).await;
    bench.call("thread deleted", ada, Method::DELETE, &thread, Value::Null).await;

    let reaction = format!("{messages}/{post}/reactions/e1");
    bench.call("reaction beside 2,000 of 50 kinds", ada, Method::PUT, &reaction, Value::Null).await;
    bench.call("reaction taken back", ada, Method::DELETE, &reaction, Value::Null).await;
    bench.call("pin, the hundredth", ada, Method::PUT, &format!("{messages}/{post}/pin"), Value::Null).await;
    bench.call("pin taken off", ada, Method::DELETE, &format!("{messages}/{post}/pin"), Value::Null).await;
    bench.call("delete of a post with mentions", ada, Method::DELETE, &format!("{messages}/{posted}"), Value::Null).await;
    let path = format!("{messages}/{post}");
    bench.call("delete of a post with 2,000 edits and reactions", ada, Method::DELETE, &path, Value::Null).await;
}
