//! A webhook's feed address: it works while the webhook's owner may post in the channel, and until it is replaced.

use serde_json::{Value, json};
use tidings::{domain::accounts::administration, error::Code};

use crate::{
    harness::{Client, Server, text},
    receiver::Plans,
    shapes::{WEBHOOK, assert_shape},
};

/// Ada's private channel with Mallory, who manages webhooks and has made one.
struct Scene {
    server: Server,
    ada: Client,
    mallory: Client,
    organisation: String,
    channel: String,
    webhook: Value,
}

async fn scene() -> Scene {
    let server = Server::start().await;
    let Plans { ada, mallory, organisation, channel } = server.plans().await;
    let webhook = mallory.webhook(&channel, "builds").await;
    Scene { server, ada, mallory, organisation, channel, webhook }
}

impl Scene {
    /// Feeds by POST and by GET, without a bearer; both must answer so. Returns the answer's body.
    async fn feed(&self, webhook: &Value, status: u16) -> Value {
        let path = format!("/webhooks/feed/{}", text(&webhook["webhook_slug"]));
        let query = "username=ci&event_name=build&message=done&status=success";
        let anybody = self.server.anonymous();
        anybody.get(&format!("{path}?{query}")).await.expect(status);
        anybody.post(&path, json!({ "message": "done" })).await.expect(status)
    }

    async fn set_member(&self, body: Value) {
        let path = format!("/organisations/{}/users/{}", self.organisation, self.mallory.user_id);
        self.ada.put(&path, body).await.expect(200);
    }

    fn one(&self, rest: &str) -> String {
        format!("/webhooks/{}/{}{rest}", self.channel, text(&self.webhook["id"]))
    }
}

#[tokio::test]
async fn a_feed_is_refused_while_the_webhooks_owner_has_no_access() {
    let scene = scene().await;
    let users = format!("/channels/{}/users", scene.channel);
    scene.feed(&scene.webhook, 200).await;

    scene.ada.delete(&format!("{users}/{}", scene.mallory.user_id)).await.expect(200);
    let refused = scene.feed(&scene.webhook, 403).await;
    assert_eq!(refused["code"], Code::WebhookOwnerBarred.name());
    assert_eq!(refused["message"], "The webhook's owner may not post in the channel any more");
    scene.ada.post(&users, json!({ "user_ids": [scene.mallory.user_id] })).await.expect(200);
    scene.feed(&scene.webhook, 200).await;

    for (without, with) in [
        (json!({ "status": "deactivated" }), json!({ "status": "active" })),
        (json!({ "role_id": "guest" }), json!({ "role_id": "admin" })),
    ] {
        scene.set_member(without).await;
        assert_eq!(scene.feed(&scene.webhook, 403).await, refused);
        scene.set_member(with).await;
        scene.feed(&scene.webhook, 200).await;
    }
    let set = |is_active| {
        let email = scene.mallory.email.clone();
        scene.server.write(|tx| administration::set_active(tx, &email, is_active)).unwrap();
    };
    set(false);
    assert_eq!(scene.feed(&scene.webhook, 403).await, refused);
    set(true);
    scene.feed(&scene.webhook, 200).await;
    let history = scene.ada.get(&format!("/webhooks/{}/history/{}?limit=100", scene.channel, text(&scene.webhook["id"]))).await;
    let history = history.expect(200)["data"]["webhooks_history"].take();
    assert_eq!(history.as_array().unwrap().len(), 10, "what was refused left no record");
}

#[tokio::test]
async fn a_new_slug_replaces_the_former_one_at_once() {
    let scene = scene().await;
    let rotate = async |client: &Client| {
        let rotated = client.call("POST", &scene.one("/rotate-slug"), None).await;
        rotated.data(200, "Webhook slug rotated successfully")
    };
    let first = rotate(&scene.mallory).await;
    assert_shape(&first, WEBHOOK);
    assert!(first.get("webhook_secret").is_none());
    assert_ne!(first["webhook_slug"], scene.webhook["webhook_slug"]);
    assert!(text(&first["feed_url"]).ends_with(&text(&first["webhook_slug"])));
    scene.feed(&scene.webhook, 404).await;
    scene.feed(&first, 200).await;

    let second = rotate(&scene.ada).await;
    assert_eq!([&second["owner_id"], &second["status"]], [&scene.ada.user_id, "active"]);
    scene.feed(&scene.webhook, 404).await;
    scene.feed(&first, 404).await;
    scene.feed(&second, 200).await;
    let read = scene.ada.get(&format!("/webhooks/{}", scene.channel)).await.expect(200);
    assert_eq!(read["data"], second);
    let listed = scene.ada.get("/channels").await.expect(200)["channels"].take();
    let listed = listed.as_array().unwrap().iter().find(|listed| listed["channels_id"] == scene.channel).unwrap().clone();
    assert_eq!(listed["webhook_url"], second["feed_url"]);
    assert!(!scene.server.stores(&text(&second["webhook_slug"])));
}
