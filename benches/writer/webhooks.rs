//! Webhooks: what changes them, what feeds them, what they deliver.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tidings::time::Time;

use super::{
    bench::{Bench, blob, long, made, wide},
    world::World,
};

pub async fn walk(bench: &mut Bench, world: &World) {
    feeds(bench, world).await;
    deliveries(bench, world).await;
    let World { ada, channel, webhook, .. } = world;
    let path = format!("/webhooks/{channel}/{webhook}");
    bench.call("webhook's secret rotated", ada, Method::POST, &format!("{path}/rotate-secret"), Value::Null).await;
    bench.call("webhook's slug rotated", ada, Method::POST, &format!("{path}/rotate-slug"), Value::Null).await;
    bench.sql(&format!("update webhooks set owner_id = {} where id = {}", blob(&world.grace_id), blob(webhook)));
    let address = json!({ "webhook_url": format!("http://127.0.0.1:9/{}", "x".repeat(1900)), "event_name": "x".repeat(255) });
    bench.call("webhook's address, which was another's", ada, Method::PUT, &path, address).await;
    let status = json!({ "webhook_status": "inactive" });
    bench.call("webhook with 1,000 deliveries stopped", ada, Method::PUT, &format!("{path}/change-status"), status).await;
    bench.call("webhook deleted", ada, Method::DELETE, &path, Value::Null).await;
    let hook = json!({ "webhook_name": "x".repeat(80), "webhook_url": "http://127.0.0.1:9/", "event_name": "x".repeat(255) });
    bench.call("webhook, the fiftieth", ada, Method::POST, &format!("/webhooks/{channel}"), hook).await;
}

async fn feeds(bench: &mut Bench, world: &World) {
    let World { ada, channel, slug, webhook, .. } = world;
    bench.sql(&format!("update webhooks set status = 'active' where id = {}", blob(webhook)));
    let path = format!("/webhooks/feed/{slug}");
    let feed = json!({ "message": wide(), "username": "x".repeat(64), "event_name": "x".repeat(255) });
    bench.call("feed of 40,000 wide characters", ada, Method::POST, &path, feed).await;
    let query = format!("{path}?username=builder&event_name=built&message={}&status=success", "x".repeat(6000));
    bench.call("feed by a query", ada, Method::GET, &query, Value::Null).await;
    let feed = json!({ "channel_id": channel, "message": long(0x21000, 30_000), "action_type": "x".repeat(80) });
    bench.call("feed without a webhook", ada, Method::POST, "/webhooks/feed/backend-queue", feed).await;
    bench.sql(&format!("update webhooks set status = 'paused', next_due = null where id = {}", blob(webhook)));
}

async fn deliveries(bench: &mut Bench, world: &World) {
    let World { ada, channel, webhook, .. } = world;
    let path = format!("/webhooks/{channel}/{webhook}");
    let ago = |hours: u64| Time::now() - Duration::from_secs(hours * 3600);
    let span = json!({ "since": ago(3), "until": ago(1) });
    bench.call("1,000 deliveries again", ada, Method::POST, &format!("{path}/replay"), span).await;
    let again = format!("{path}/history/{}/replay", made(8, 1));
    bench.call("one delivery again", ada, Method::POST, &again, Value::Null).await;
    bench.call("webhook tested", ada, Method::POST, &format!("{path}/test"), Value::Null).await;

    // Nobody listens there: each attempt is claimed, fails, and is recorded.
    let hooks = format!("url <> '' and channel_id = {} and id <> {}", blob(channel), blob(webhook));
    bench.sql(&format!("update webhooks set status = 'active' where {hooks}"));
    let messages = format!("/channels/{channel}/messages");
    bench.call("post that 49 webhooks deliver", ada, Method::POST, &messages, json!({ "content": wide() })).await;
    bench.sql(&format!("update webhooks set status = 'paused', next_due = null where {hooks}"));
}
