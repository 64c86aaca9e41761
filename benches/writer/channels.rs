//! Channels and their members, direct messages.

use reqwest::Method;
use serde_json::{Value, json};

use super::{
    api::text,
    bench::{Bench, made},
    world::World,
};

pub async fn walk(bench: &mut Bench, world: &World) {
    let World { ada, grace, organisation, channel, .. } = world;
    let users: Vec<String> = (1..=100).map(|k| made(0, k)).collect();
    let others: Vec<String> = (101..=200).map(|k| made(0, k)).collect();
    let new = json!({ "name": "new", "organisation_id": organisation, "userIds": users });
    bench.call("channel with 100 users", ada, Method::POST, "/channels", new).await;
    let empty = json!({ "name": "empty", "organisation_id": organisation });
    let empty = text(&bench.call("channel", ada, Method::POST, "/channels", empty).await["data"]["id"]);
    let path = format!("/channels/{empty}/users");
    bench.call("100 users added", ada, Method::POST, &path, json!({ "user_ids": users })).await;
    let body = json!({ "channel_id": empty, "user_ids": others });
    bench.call("100 more users added", ada, Method::POST, "/channels/add-multiple", body).await;
    bench.call("join by who owns 20,000 webhooks", grace, Method::POST, &format!("/channels/{empty}/join"), Value::Null).await;
    bench.call("leave by who owns 20,000 webhooks", grace, Method::POST, &format!("/channels/{empty}/leave"), Value::Null).await;
    let path = format!("/channels/{}/users/{}", made(2, 1), world.grace_id);
    bench.call("member with 50 webhooks taken out of the channel", ada, Method::DELETE, &path, Value::Null).await;

    let path = format!("/channels/{channel}/username");
    bench.call("name in a channel", ada, Method::PATCH, &path, json!({ "username": "countess" })).await;
    let path = format!("/channels/{channel}/star");
    bench.call("star", ada, Method::POST, &path, Value::Null).await;
    bench.call("star taken off", ada, Method::DELETE, &path, Value::Null).await;
    let dm = json!({ "user_ids": users[..8] });
    bench.call("direct message of nine", ada, Method::POST, &format!("/organisations/{organisation}/dms"), dm).await;
    let private = json!({ "is_private": true, "topic": "x".repeat(250), "description": "x".repeat(1000) });
    bench.call("channel with 50 webhooks made private", ada, Method::PATCH, &format!("/channels/{channel}"), private).await;
    let path = format!("/channels/{channel}/archive");
    bench.call("archive", ada, Method::PUT, &path, json!({ "archived": true })).await;
    let path = format!("/organisations/{organisation}/archive-channel");
    let body = json!({ "channel_id": channel, "archived": false });
    bench.call("archive, opened again", ada, Method::PUT, &path, body).await;
    bench.call("channel with 2,000 members deleted", ada, Method::DELETE, &format!("/channels/{channel}"), Value::Null).await;
}
