//! A webhook's feed address: it works while the webhook's owner may post in the channel, and until it is replaced.

use serde_json::{Value, json};
use tidings::error::Code;

use super::{feed, history, one, scene::plans};
use crate::{
    harness::{Client, text},
    shapes::{WEBHOOK, assert_shape},
};

/// Feeds by GET and by POST; both must be answered so. Gives the answer's body.
async fn try_feed(anybody: &Client, webhook: &Value, status: u16) -> Value {
    let query = "username=ci&event_name=build&message=done&status=success";
    anybody.get(&format!("{}?{query}", feed(webhook))).await.expect(status);
    anybody.post(&feed(webhook), json!({ "message": "done" })).await.expect(status)
}

#[tokio::test]
async fn a_feed_is_refused_while_the_webhooks_owner_has_no_access() {
    let (scene, mallory) = plans().await;
    let webhook = mallory.webhook(&scene.channel, "builds").await;
    let fed = async |status| try_feed(&scene.anybody, &webhook, status).await;
    fed(200).await;

    scene.remove(&mallory).await;
    let refused = fed(403).await;
    assert_eq!(refused["code"], Code::WebhookOwnerBarred.name());
    assert_eq!(refused["message"], "The webhook's owner may not post in the channel any more");
    scene.add(&mallory).await;
    fed(200).await;

    for (without, with) in [
        (json!({ "status": "deactivated" }), json!({ "status": "active" })),
        (json!({ "role_id": "guest" }), json!({ "role_id": "admin" })),
    ] {
        scene.set_member(&mallory, without).await;
        assert_eq!(fed(403).await, refused);
        scene.set_member(&mallory, with).await;
        fed(200).await;
    }
    scene.set_active(&mallory, false);
    assert_eq!(fed(403).await, refused);
    scene.set_active(&mallory, true);
    fed(200).await;
    let path = format!("{}?limit=100", history(&scene.channel, &webhook));
    let history = scene.ada.get(&path).await.expect(200)["data"]["webhooks_history"].take();
    assert_eq!(history.as_array().unwrap().len(), 10, "what was refused left no record");
}

#[tokio::test]
async fn a_new_slug_replaces_the_former_one_at_once() {
    let (scene, mallory) = plans().await;
    let webhook = mallory.webhook(&scene.channel, "builds").await;
    let fed = async |webhook: &Value, status| try_feed(&scene.anybody, webhook, status).await;
    let rotate = async |client: &Client| {
        let rotated = client.call("POST", &format!("{}/rotate-slug", one(&scene.channel, &webhook)), None).await;
        rotated.data(200, "Webhook slug rotated successfully")
    };
    let first = rotate(&mallory).await;
    assert_shape(&first, WEBHOOK);
    assert!(first.get("webhook_secret").is_none());
    assert_ne!(first["webhook_slug"], webhook["webhook_slug"]);
    assert!(text(&first["feed_url"]).ends_with(&text(&first["webhook_slug"])));
    fed(&webhook, 404).await;
    fed(&first, 200).await;

    let second = rotate(&scene.ada).await;
    assert_eq!([&second["owner_id"], &second["status"]], [&scene.ada.user_id, "active"]);
    fed(&webhook, 404).await;
    fed(&first, 404).await;
    fed(&second, 200).await;
    assert_eq!(scene.first_webhook().await, second);
    let listed = scene.ada.get("/channels").await.expect(200)["channels"].take();
    let listed = listed.as_array().unwrap().iter().find(|listed| listed["channels_id"] == scene.channel).unwrap().clone();
    assert_eq!(listed["webhook_url"], second["feed_url"]);
    assert!(!scene.server.stores(&text(&second["webhook_slug"])));
}
