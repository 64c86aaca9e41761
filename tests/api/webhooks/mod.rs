//! Webhooks of a channel: making, reading, changing and deleting them.

mod all_channels;
mod attempts;
mod bad_targets;
mod bot_owners;
mod deliveries;
mod event_kinds;
mod feed_authors;
mod feed_owners;
mod feeds;
mod history;
mod incoming;
mod ordered;
mod outgoing;
mod outgoing_addresses;
mod owners;
mod queues;
mod replaying;
mod scene;
mod slots;
mod taking_over;
mod waiting;

use serde_json::{Value, json};
use tidings::error::Code;

use self::scene::{Scene, scene};
use crate::{
    harness::{Client, Server, blob, text, unknown_id},
    shapes::{WEBHOOK, assert_shape},
};

/// The path of a feed address, below `/api/v1`.
fn feed(webhook: &Value) -> String {
    format!("/webhooks/feed/{}", text(&webhook["webhook_slug"]))
}

fn one(channel: &str, webhook: &Value) -> String {
    format!("/webhooks/{channel}/{}", text(&webhook["id"]))
}

fn history(channel: &str, webhook: &Value) -> String {
    format!("/webhooks/{channel}/history/{}", text(&webhook["id"]))
}

fn names(webhooks: &Value) -> Vec<String> {
    webhooks.as_array().unwrap().iter().map(|webhook| text(&webhook["webhook_name"])).collect()
}

#[tokio::test]
async fn a_new_webhook_shows_its_feed_address_and_once_its_secret() {
    let Scene { server, ada, channel, .. } = scene().await;
    let body = json!({ "webhook_name": " builds ", "event_name": "build" });
    let made = ada.post(&format!("/webhooks/{channel}"), body).await.data(201, "Webhook created successfully");
    assert_shape(&made, WEBHOOK);
    assert_eq!([&made["webhook_name"], &made["event_name"], &made["status"]], ["builds", "build", "active"]);
    assert_eq!([&made["owner_id"], &made["channel_id"]], [&ada.user_id, &channel]);
    assert!(made["deleted_at"].is_null());
    let slug = text(&made["webhook_slug"]);
    assert!(slug.len() >= 22 && slug.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)), "{slug}");
    assert_eq!(made["feed_url"], format!("{}/api/v1/webhooks/feed/{slug}", server.origin));
    assert_eq!(made["webhook_url"], made["feed_url"], "nothing is delivered out");
    let secret = text(&made["webhook_secret"]);
    assert!(secret.starts_with("whsec_") && secret.len() == 6 + 44, "32 bytes in base64: {secret}");

    let read = ada.get(&format!("/webhooks/{channel}")).await.data(200, "Webhook fetched successfully");
    assert!(read.get("webhook_secret").is_none());
    let mut same = made.clone();
    same.as_object_mut().unwrap().remove("webhook_secret");
    assert_eq!(read, same);
    let database = std::fs::read(server.folder().join("tidings.db-wal")).unwrap();
    assert!(!database.windows(secret.len()).any(|bytes| bytes == secret.as_bytes()), "it is stored encrypted");
    assert_ne!(ada.webhook(&channel, "other").await["webhook_slug"], slug);
}

#[tokio::test]
async fn a_faulty_webhook_is_refused() {
    let Scene { server, ada, channel, .. } = scene().await;
    let path = format!("/webhooks/{channel}");
    for body in [json!({}), json!({ "event_name": "build" }), json!({ "webhook_name": 7 }), json!({ "webhook_name": null })] {
        ada.post(&path, body).await.expect(400);
    }
    for field in ["event_name", "webhook_url"] {
        ada.post(&path, json!({ "webhook_name": "x", field: 7 })).await.expect(400);
    }
    ada.call_text("POST", &path, "{").await.expect(400);
    ada.post("/webhooks/no-uuid", json!({ "webhook_name": "x" })).await.expect(400);
    for name in ["", "  ", "two\nlines", &"x".repeat(81)] {
        ada.post(&path, json!({ "webhook_name": name })).await.expect(422);
    }
    ada.post(&path, json!({ "webhook_name": "x", "event_name": "x".repeat(256) })).await.expect(422);
    ada.post(&path, json!({ "webhook_name": "é".repeat(80), "event_name": "é".repeat(255) })).await.expect(201);
    server.anonymous().post(&path, json!({ "webhook_name": "x" })).await.expect(401);
}

#[tokio::test]
async fn a_webhook_delivers_to_the_web_and_not_to_its_own_server() {
    let Scene { server, ada, channel, .. } = Scene::on(Server::start().await).await;
    let path = format!("/webhooks/{channel}");
    let port = server.origin.rsplit(':').next().unwrap().to_owned();
    let long = |length: usize| format!("https://x.example/{}", "x".repeat(length - 18));
    let refused = [
        "nonsense".into(),
        "/relative".into(),
        "https://".into(),
        "ftp://x.example".into(),
        "javascript:alert(1)".into(),
        "file:///etc/passwd".into(),
        "https://ada@x.example".into(),
        "https://:secret@x.example".into(),
        "https://x.example/\nhost".into(),
        long(2001),
        server.origin.clone(),
        format!("{}/api/v1/webhooks/feed/x", server.origin),
        format!("https://127.0.0.1:{port}/"),
        format!("http://2130706433:{port}/"),
        format!("http://0x7f.1:{port}/"),
        format!("http://127.0.0.1.:{port}/"),
    ];
    for url in &refused {
        let reply = ada.post(&path, json!({ "webhook_name": "out", "webhook_url": url })).await;
        assert_eq!(reply.status, 422, "{url}");
    }
    for url in ["https://x.example".into(), "http://x.example:8080/hook?a=b#c".into(), long(2000)] {
        let made = ada.post(&path, json!({ "webhook_name": "out", "webhook_url": url })).await.expect(201)["data"].take();
        assert_eq!(made["webhook_url"], url);
        assert!(text(&made["feed_url"]).starts_with(&server.origin), "{made}");
    }
}

#[tokio::test]
async fn the_servers_own_host_is_refused_under_its_public_names() {
    let server = Server::with(|settings| {
        settings.links.base_url = Some("https://chat.example.org/api/v1".into());
        settings.listen.domains = vec!["chat.example.org".into(), "talk.example.org".into()];
    })
    .await;
    let Scene { server: _server, ada, channel, .. } = Scene::on(server).await;
    let path = format!("/webhooks/{channel}");
    for url in [
        "https://chat.example.org/x",
        "https://CHAT.example.org:443/",
        "http://chat.example.org:443",
        "https://chat.example.org.",
        "https://talk.example.org/x",
    ] {
        ada.post(&path, json!({ "webhook_name": "out", "webhook_url": url })).await.refused(422, Code::InvalidUrl);
    }
    let made =
        ada.post(&path, json!({ "webhook_name": "out", "webhook_url": "https://chat.example.org:8443/" })).await.expect(201);
    assert!(text(&made["data"]["feed_url"]).starts_with("https://chat.example.org/api/v1/webhooks/feed/"), "{made}");
}

#[tokio::test]
async fn a_channel_has_at_most_fifty_webhooks() {
    let Scene { server: _server, ada, channel, organisation, .. } = scene().await;
    let mut last = Value::Null;
    for _ in 0..50 {
        last = ada.webhook(&channel, "builds").await;
    }
    ada.post(&format!("/webhooks/{channel}"), json!({ "webhook_name": "one more" })).await.expect(422);
    ada.webhook(&ada.general(&organisation).await, "elsewhere").await;
    ada.delete(&one(&channel, &last)).await.expect(204);
    ada.webhook(&channel, "again").await;
}

#[tokio::test]
async fn webhooks_are_listed_oldest_first_in_pages() {
    let Scene { server: _server, ada, channel, .. } = scene().await;
    ada.get(&format!("/webhooks/{channel}")).await.expect(404);
    for number in 0..12 {
        ada.webhook(&channel, &number.to_string()).await;
    }
    assert_eq!(ada.get(&format!("/webhooks/{channel}")).await.expect(200)["data"]["webhook_name"], "0");
    let list = async |query: &str| {
        let data = ada.get(&format!("/webhooks/{channel}/all{query}")).await.data(200, "Webhooks fetched successfully");
        data["webhooks"].as_array().unwrap().iter().for_each(|webhook| assert_shape(webhook, WEBHOOK));
        names(&data["webhooks"])
    };
    assert_eq!(list("").await, ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    assert_eq!(list("?page=2").await, ["10", "11"]);
    assert_eq!(list("?page=3&limit=5").await, ["10", "11"]);
    assert_eq!(list("?limit=100000").await.len(), 12);
    assert_eq!(list("?page=9").await.len(), 0);
    for query in ["?page=0", "?page=x", "?limit=0", "?limit=-1"] {
        ada.get(&format!("/webhooks/{channel}/all{query}")).await.expect(400);
    }
}

#[tokio::test]
async fn a_webhook_can_be_changed() {
    let Scene { server, ada, channel, .. } = Scene::on(Server::start().await).await;
    let body = json!({ "webhook_name": "builds", "event_name": "build", "webhook_url": "https://x.example/" });
    let made = ada.post(&format!("/webhooks/{channel}"), body).await.expect(201)["data"].take();
    let path = one(&channel, &made);
    let edit = async |body: Value| ada.put(&path, body).await.data(200, "Webhook updated successfully");

    let unchanged = edit(json!({})).await;
    assert_eq!([&unchanged["updated_at"], &unchanged["webhook_name"]], [&made["updated_at"], &made["webhook_name"]]);
    let edited = edit(json!({ "webhook_name": "deploys" })).await;
    assert_shape(&edited, WEBHOOK);
    assert!(edited.get("webhook_secret").is_none());
    assert_eq!(
        [&edited["webhook_name"], &edited["event_name"], &edited["webhook_url"]],
        ["deploys", "build", "https://x.example/"]
    );
    assert_eq!(edited["webhook_slug"], made["webhook_slug"]);
    let cleared = edit(json!({ "event_name": "", "webhook_url": "" })).await;
    assert_eq!([&cleared["event_name"], &cleared["webhook_url"]], [&json!(""), &cleared["feed_url"]]);
    let returned = edit(json!({ "webhook_url": cleared["feed_url"] })).await;
    assert_eq!(returned, cleared, "what is shown for no address stands for none");

    for body in
        [json!({ "webhook_name": "" }), json!({ "webhook_name": "x".repeat(81) }), json!({ "event_name": "x".repeat(256) })]
    {
        ada.put(&path, body).await.expect(422);
    }
    ada.put(&path, json!({ "webhook_url": server.origin })).await.expect(422);
    ada.put(&path, json!({ "webhook_name": 7 })).await.expect(400);
    ada.put(&format!("/webhooks/{channel}/no-uuid"), json!({})).await.expect(400);
    assert_eq!(ada.get(&format!("/webhooks/{channel}")).await.expect(200)["data"], cleared);
}

#[tokio::test]
async fn a_webhooks_status_is_active_inactive_or_paused() {
    let Scene { server: _server, ada, channel, .. } = scene().await;
    let made = ada.webhook(&channel, "builds").await;
    let path = format!("{}/change-status", one(&channel, &made));
    for status in ["paused", "inactive", "inactive", "active"] {
        let changed = ada.put(&path, json!({ "webhook_status": status })).await.data(200, "Webhook updated successfully");
        assert_shape(&changed, WEBHOOK);
        assert_eq!([&changed["id"], &changed["webhook_status"]], [&made["id"], &json!(status)]);
        let mut read = ada.get(&format!("/webhooks/{channel}")).await.expect(200)["data"].take();
        assert_eq!(read["status"], status);
        read["webhook_status"] = json!(status);
        assert_eq!(changed, read, "the whole webhook, without its secret");
    }
    for status in ["", "Active", "deleted"] {
        ada.put(&path, json!({ "webhook_status": status })).await.expect(422);
    }
    for body in [json!({}), json!({ "webhook_status": true }), json!({ "status": "paused" })] {
        ada.put(&path, body).await.expect(400);
    }
}

#[tokio::test]
async fn a_deleted_webhook_is_gone_with_its_address_and_its_history() {
    let Scene { server: _server, ada, channel, .. } = scene().await;
    let (first, second) = (ada.webhook(&channel, "first").await, ada.webhook(&channel, "second").await);
    let fed = json!({ "message": "hello" });
    ada.post(&feed(&first), fed.clone()).await.expect(200);
    assert_eq!(ada.delete(&one(&channel, &first)).await.expect(204), "");
    ada.post(&feed(&first), fed.clone()).await.expect(404);
    ada.get(&history(&channel, &first)).await.expect(404);
    ada.put(&one(&channel, &first), json!({})).await.expect(404);
    ada.delete(&one(&channel, &first)).await.expect(404);
    ada.put(&format!("{}/change-status", one(&channel, &first)), json!({ "webhook_status": "active" })).await.expect(404);
    assert_eq!(ada.get(&format!("/webhooks/{channel}")).await.expect(200)["data"]["id"], second["id"]);
    assert_eq!(names(&ada.get(&format!("/webhooks/{channel}/all")).await.expect(200)["data"]["webhooks"]), ["second"]);
    ada.post(&feed(&second), fed).await.expect(200);
}

/// Every operation on a channel's webhooks.
async fn everything(client: &Client, channel: &str, webhook: &str) -> Vec<(u16, Value)> {
    let (all, one) = (format!("/webhooks/{channel}/all"), format!("/webhooks/{channel}/{webhook}"));
    let replies = [
        client.get(&format!("/webhooks/{channel}")).await,
        client.get(&all).await,
        client.post(&format!("/webhooks/{channel}"), json!({ "webhook_name": "mine" })).await,
        client.get(&format!("/webhooks/{channel}/history/{webhook}")).await,
        client.put(&one, json!({ "webhook_name": "mine" })).await,
        client.put(&format!("{one}/change-status"), json!({ "webhook_status": "paused" })).await,
        client.delete(&one).await,
    ];
    replies.into_iter().map(|reply| (reply.status, reply.body)).collect()
}

fn statuses(replies: &[(u16, Value)]) -> Vec<u16> {
    replies.iter().map(|(status, _)| *status).collect()
}

#[tokio::test]
async fn webhooks_are_for_the_channels_owner_and_for_managers() {
    let Scene { server, ada, grace, organisation, channel, .. } = scene().await;
    let webhook = text(&ada.webhook(&channel, "builds").await["id"]);
    assert_eq!(statuses(&everything(&grace, &channel, &webhook).await), [403; 7]);
    assert_eq!(statuses(&everything(&grace, &channel, &unknown_id()).await), [403; 7]);
    let lead = server.member(&ada, &organisation, "lead", "project-lead").await;
    assert_eq!(statuses(&everything(&lead, &channel, &webhook).await), [403; 7]);
    assert_eq!(statuses(&everything(&server.anonymous(), &channel, &webhook).await), [401; 7]);
    let left = ada.get(&format!("/webhooks/{channel}")).await.expect(200);
    assert_eq!([&left["data"]["id"], &left["data"]["status"]], [&webhook, "active"]);

    let manager = server.member(&ada, &organisation, "manager", "manager").await;
    assert_eq!(statuses(&everything(&manager, &channel, &webhook).await), [200, 200, 201, 200, 200, 200, 204]);
    let hers = grace.channel(&organisation, "hers", &[]).await;
    let webhook = text(&grace.webhook(&hers, "builds").await["id"]);
    assert_eq!(statuses(&everything(&grace, &hers, &webhook).await), [200, 200, 201, 200, 200, 200, 204]);
}

#[tokio::test]
async fn the_webhooks_of_a_hidden_channel_look_unknown() {
    let Scene { server, ada, organisation, .. } = scene().await;
    let manager = server.member(&ada, &organisation, "manager", "manager").await;
    let outsider = server.user("outsider").await;
    let public = ada.channel(&organisation, "public", &[]).await;
    let private = ada.private_channel(&organisation, "private", &[]).await;
    let deleted = ada.channel(&organisation, "deleted", &[]).await;
    let unknown = everything(&ada, &unknown_id(), &unknown_id()).await;
    assert_eq!(statuses(&unknown), [404, 404, 403, 403, 403, 403, 403]);
    for (client, channel) in [(&manager, &private), (&outsider, &public), (&ada, &deleted)] {
        let webhook = text(&ada.webhook(channel, "builds").await["id"]);
        if *channel == deleted {
            ada.delete(&format!("/channels/{deleted}")).await.expect(204);
        }
        assert_eq!(everything(client, channel, &webhook).await, unknown);
    }
}

#[tokio::test]
async fn a_webhook_of_another_channel_is_not_found() {
    let Scene { server, ada, grace, organisation, channel, .. } = scene().await;
    let hers = text(&ada.webhook(&channel, "builds").await["id"]);
    let mine = grace.channel(&organisation, "mine", &[]).await;
    for webhook in [hers, unknown_id()] {
        assert_eq!(statuses(&everything(&grace, &mine, &webhook).await)[3..], [404; 4]);
    }
    server.sql(&format!("update channels set is_dm = 1, is_private = 1 where id = {}", blob(&channel)));
    assert_eq!(statuses(&everything(&ada, &channel, &unknown_id()).await), [403; 7]);
}

#[tokio::test]
async fn an_archived_channel_keeps_its_webhooks_and_takes_no_new_ones() {
    let Scene { server, ada, channel, .. } = scene().await;
    let webhook = ada.webhook(&channel, "builds").await;
    server.sql(&format!("update channels set archived_at = created_at where id = {}", blob(&channel)));
    let replies = everything(&ada, &channel, &text(&webhook["id"])).await;
    assert_eq!(statuses(&replies), [200, 200, 403, 200, 200, 200, 204]);
}

#[tokio::test]
async fn managers_see_the_first_feed_address_in_the_list_of_channels() {
    let Scene { server: _server, ada, grace, channel, organisation, .. } = scene().await;
    let (first, second) = (ada.webhook(&channel, "first").await, ada.webhook(&channel, "second").await);
    let shown = async |client: &Client| {
        let of = async |path: &str| {
            let listed = client.get(path).await.expect(200)["channels"].take();
            let found = listed.as_array().unwrap().iter().find(|listed| listed["channels_id"] == channel).cloned();
            text(&found.expect("the channel")["webhook_url"])
        };
        let shown = of("/channels").await;
        assert_eq!(of(&format!("/organisations/{organisation}/channels")).await, shown);
        shown
    };
    assert_eq!(shown(&ada).await, text(&first["feed_url"]));
    assert_eq!(shown(&grace).await, "");
    ada.delete(&one(&channel, &first)).await.expect(204);
    assert_eq!(shown(&ada).await, text(&second["feed_url"]));
    let body = json!({ "webhook_url": "https://x.example" });
    ada.put(&one(&channel, &second), body).await.expect(200);
    assert_eq!(shown(&ada).await, text(&second["feed_url"]), "the feed address, not where messages are delivered");
}

#[tokio::test]
async fn a_webhooks_secrets_are_not_stored_readably() {
    let Scene { server, ada, channel, .. } = scene().await;
    let webhook = ada.webhook(&channel, "builds").await;
    ada.post(&feed(&webhook), json!({ "message": "a marker" })).await.expect(200);
    assert!(server.stores("a marker"));
    for secret in ["webhook_slug", "webhook_secret"] {
        assert!(!server.stores(&text(&webhook[secret])), "{secret}");
    }
}
