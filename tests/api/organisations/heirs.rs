//! Which member inherits a channel when its owner goes, and which rights owning it gives.

use serde_json::{Value, json};

use crate::harness::{Client, Server};

async fn leave(client: &Client, channel: &str) {
    client.call("POST", &format!("/channels/{channel}/leave"), None).await.expect(200);
}

async fn owner(client: &Client, channel: &str) -> Value {
    client.get(&format!("/channels/{channel}")).await.expect(200)["data"]["owner_id"].take()
}

fn member(organisation: &str, user: &Client) -> String {
    format!("/organisations/{organisation}/users/{}", user.user_id)
}

#[tokio::test]
async fn guests_inherit_no_channel() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let guest = server.member(&ada, &organisation, "guest", "guest").await;
    let bob = server.member(&ada, &organisation, "bob", "member").await;
    let with_bob = grace.channel(&organisation, "with-bob", &[&guest]).await;
    grace.post(&format!("/channels/{with_bob}/users"), json!({ "user_ids": [bob.user_id] })).await.expect(200);
    let alone = grace.channel(&organisation, "alone", &[&guest]).await;
    let hidden = grace.private_channel(&organisation, "hidden", &[&guest]).await;
    grace.delete(&member(&organisation, &grace)).await.expect(200);
    assert_eq!(owner(&guest, &with_bob).await, bob.user_id, "the guest has been in it for longer");
    assert_eq!(owner(&guest, &alone).await, ada.user_id);
    assert_eq!(owner(&guest, &hidden).await, ada.user_id);
    ada.get(&format!("/channels/{hidden}")).await.expect(404);
    ada.get(&format!("/channels/{hidden}/messages")).await.expect(404);
    assert_eq!(server.count("channel_members where username = 'ada'"), 1, "of the default channel alone");
}

#[tokio::test]
async fn roles_without_the_right_to_post_and_disabled_accounts_inherit_none() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let role = json!({ "name": "manager-of-channels", "permission_list": { "manage:channels": true } });
    ada.post(&format!("/organisations/{organisation}/roles"), role).await.expect(201);
    let mute = server.member(&ada, &organisation, "mute", "manager-of-channels").await;
    let disabled = server.member(&ada, &organisation, "disabled", "member").await;
    let shared = grace.channel(&organisation, "shared", &[&mute, &disabled]).await;
    server.sql("update users set is_active = 0 where username = 'disabled'");
    leave(&grace, &shared).await;
    assert_eq!(owner(&ada, &shared).await, ada.user_id);
}

#[tokio::test]
async fn a_channel_passes_on_when_its_owner_leaves_it_or_is_removed_from_it() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let guest = server.member(&ada, &organisation, "guest", "guest").await;
    let bob = server.member(&ada, &organisation, "bob", "member").await;
    let left = grace.private_channel(&organisation, "left", &[&guest, &bob]).await;
    let taken = grace.channel(&organisation, "taken", &[&bob]).await;
    let others = bob.channel(&organisation, "others", &[&grace]).await;
    leave(&grace, &left).await;
    assert_eq!(owner(&bob, &left).await, bob.user_id);
    ada.delete(&format!("/channels/{taken}/users/{}", grace.user_id)).await.expect(200);
    assert_eq!(owner(&bob, &taken).await, bob.user_id);
    leave(&grace, &others).await;
    assert_eq!(owner(&bob, &others).await, bob.user_id, "it was not hers");
    grace.patch(&format!("/channels/{taken}"), json!({ "topic": "mine" })).await.expect(403);
    bob.patch(&format!("/channels/{taken}"), json!({ "topic": "mine" })).await.expect(200);
}

#[tokio::test]
async fn owning_a_channel_gives_nothing_without_the_right_to_post() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let bob = server.member(&ada, &organisation, "bob", "member").await;
    let roles = format!("/organisations/{organisation}/roles");
    for (name, rights) in [("mute", json!({ "create:channels": true })), ("poster", json!({ "post:messages": true }))] {
        ada.post(&roles, json!({ "name": name, "permission_list": rights })).await.expect(201);
    }
    for (role, is_allowed) in [("guest", false), ("mute", false), ("poster", true)] {
        ada.put(&member(&organisation, &grace), json!({ "role_id": "member" })).await.expect(200);
        let channel = grace.channel(&organisation, role, &[&bob]).await;
        let message = bob.say(&channel, "hello").await;
        let webhook = grace.webhook(&channel, "hook").await["id"].as_str().unwrap().to_owned();
        ada.put(&member(&organisation, &grace), json!({ "role_id": role })).await.expect(200);

        let (path, hooks) = (format!("/channels/{channel}"), format!("/webhooks/{channel}"));
        let in_organisation = format!("/organisations/{organisation}/archive-channel");
        let shown = grace.get(&path).await.expect(200)["data"]["webhook_url"].take();
        assert_eq!(shown != "", is_allowed, "{role}: the address of a webhook");
        let calls = [
            ("PATCH", path.clone(), json!({ "topic": "t" }), 200),
            ("PUT", format!("{path}/archive"), json!({ "archived": true }), 200),
            ("PUT", in_organisation, json!({ "channel_id": channel, "archived": false }), 200),
            ("GET", hooks.clone(), Value::Null, 200),
            ("GET", format!("{hooks}/all"), Value::Null, 200),
            ("POST", hooks.clone(), json!({ "webhook_name": "another" }), 201),
            ("PUT", format!("{hooks}/{webhook}"), json!({ "webhook_name": "other" }), 200),
            ("PUT", format!("{hooks}/{webhook}/change-status"), json!({ "webhook_status": "paused" }), 200),
            ("POST", format!("{hooks}/{webhook}/rotate-secret"), json!({}), 200),
            ("GET", format!("{hooks}/history/{webhook}"), Value::Null, 200),
            ("DELETE", format!("{hooks}/{webhook}"), Value::Null, 204),
            ("DELETE", format!("{path}/messages/{message}"), Value::Null, 200),
            ("DELETE", format!("{path}/users/{}", bob.user_id), Value::Null, 200),
            ("DELETE", path.clone(), Value::Null, 204),
        ];
        for (method, path, body, allowed) in calls {
            let reply = grace.call(method, &path, (!body.is_null()).then_some(body)).await;
            assert_eq!(reply.status, if is_allowed { allowed } else { 403 }, "{role}: {method} {path}");
        }
    }
}
