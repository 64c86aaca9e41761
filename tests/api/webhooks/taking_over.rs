//! A member who changes a webhook's address or secrets becomes its owner, and it stops when they lose access.

use serde_json::{Value, json};

use super::scene::{Scene, plans};
use crate::{
    harness::{Client, text},
    receiver::{Hook, Receiver},
    socket::Socket,
};

/// Ada's webhook, which delivers to Mallory: they set its address to a receiver of theirs, and paused it. Ada makes this change,
/// which makes her the owner, and the webhook is active.
async fn delivers_to_mallory(scene: &Scene, mallory: &Client, change: (&str, &str, Option<Value>)) -> (Hook, Receiver) {
    let (_, hook) = scene.receiver(&[200]).await;
    let mut theirs = Receiver::start(&[200]).await;
    mallory.put(&hook.path(""), json!({ "webhook_url": theirs.url })).await.expect(200);
    mallory.put(&hook.path("/change-status"), json!({ "webhook_status": "paused" })).await.expect(200);
    let (method, rest, body) = change;
    scene.ada.call(method, &hook.path(rest), body).await.expect(200);
    hook.set("active").await;
    assert_eq!(scene.first_webhook().await["owner_id"], scene.ada.user_id);
    scene.say("while Mallory is here").await;
    assert_eq!(theirs.next().await.content(), "while Mallory is here");
    (hook, theirs)
}

/// Method, path, body, and what the former owner is told.
fn changes(url: &str) -> [(&'static str, &'static str, Option<Value>, &'static str); 4] {
    [
        ("PUT", "", Some(json!({ "webhook_url": url })), "given it another address"),
        ("POST", "/rotate-secret", None, "given it a new secret"),
        ("POST", "/rotate-slug", None, "given it another feed address"),
        ("PUT", "/change-status", Some(json!({ "webhook_status": "active" })), "made it active"),
    ]
}

#[tokio::test]
async fn a_removed_manager_receives_nothing_at_the_address_that_they_set() {
    let (scene, mallory) = plans().await;
    let (mut hers, hook) = scene.receiver(&[200]).await;
    let mut theirs = Receiver::start(&[200]).await;
    mallory.put(&hook.path(""), json!({ "webhook_url": theirs.url })).await.expect(200);
    scene.say("while Mallory is here").await;
    assert_eq!(theirs.next().await.content(), "while Mallory is here");

    let (mut witness, _) = scene.receiver(&[200]).await;
    scene.remove(&mallory).await;
    scene.say_unheard("without Mallory", &hook, &theirs, &mut witness).await;
    // Ada takes it over again, and what was held goes where she wants it once she makes it active.
    scene.ada.put(&hook.path(""), json!({ "webhook_url": hers.url })).await.expect(200);
    let webhook = scene.first_webhook().await;
    assert_eq!([&webhook["owner_id"], &webhook["status"]], [&scene.ada.user_id, "paused"]);
    hook.set("active").await;
    assert_eq!(hers.next().await.content(), "without Mallory");
    assert!(theirs.is_empty());
}

#[tokio::test]
async fn a_member_who_changes_a_webhooks_address_or_secrets_becomes_its_owner_and_the_former_owner_is_told() {
    for (method, rest, body, reason) in changes("http://127.0.0.1:9/") {
        let (scene, mallory) = plans().await;
        let (_hers, hook) = scene.receiver(&[200]).await;
        hook.set("paused").await;
        let personal = scene.ada.personal(&scene.organisation);
        let mut socket = Socket::listening(&scene.ada, &[&personal]).await;
        mallory.call(method, &hook.path(rest), body).await.expect(200);
        assert_eq!(scene.first_webhook().await["owner_id"], mallory.user_id, "{reason}");
        let told = socket.on(&personal).await;
        assert_eq!(told["notification_type"], "webhook_update");
        assert_eq!([&told["data"]["id"], &told["data"]["owner_id"]], [&hook.id, &mallory.user_id]);
        assert!(text(&told["data"]["reason"]).contains(reason), "{told}");
        let mail = &scene.server.mails(&scene.ada.email, 2).await[1];
        assert_eq!(mail.subject, "Your webhook out has another owner now");
        assert!(mail.text.contains(reason) && mail.text.contains("plans"), "{}", mail.text);
    }
}

#[tokio::test]
async fn an_owner_who_changes_their_own_webhook_is_not_told() {
    let (scene, _) = plans().await;
    let (_hers, hook) = scene.receiver(&[200]).await;
    for (method, rest, body, _) in changes("http://127.0.0.1:9/") {
        scene.ada.call(method, &hook.path(rest), body).await.expect(200);
    }
    assert_eq!(scene.server.count("events where type = 'webhook_update'"), 0);
}

#[tokio::test]
async fn changes_of_a_webhooks_name_or_status_leave_its_owner() {
    let (scene, mallory) = plans().await;
    let (hers, hook) = scene.receiver(&[200]).await;
    let hook = hook.managed_by(&mallory);
    let edit = async |body: Value| mallory.put(&hook.path(""), body).await.expect(200);
    edit(json!({ "webhook_name": "renamed", "event_name": "said", "webhook_url": hers.url })).await;
    for status in ["active", "paused", "inactive"] {
        hook.set(status).await;
    }
    mallory.call("POST", &hook.path("/test"), None).await.expect(200);
    edit(json!({ "webhook_url": "" })).await;
    assert_eq!(scene.first_webhook().await["owner_id"], scene.ada.user_id);
    assert_eq!(scene.server.count("events where type = 'webhook_update'"), 0);
}

/// A member who lost the right to post may still read the channel, but knows the feed's address.
#[tokio::test]
async fn a_webhook_whose_owner_may_not_post_pauses_when_it_is_taken_over_and_the_owner_is_told() {
    let (scene, mallory) = plans().await;
    let hook = mallory.hook(&scene.channel, "http://127.0.0.1:9/").await.managed_by(&scene.ada);
    scene.set_member(&mallory, json!({ "role_id": "guest" })).await;
    let personal = mallory.personal(&scene.organisation);
    let mut socket = Socket::listening(&mallory, &[&personal]).await;
    scene.ada.call("POST", &hook.path("/rotate-secret"), None).await.expect(200);
    assert_eq!(hook.status().await, "paused");
    let told = socket.on(&personal).await;
    assert_eq!([&told["notification_type"], &told["data"]["status"]], ["webhook_update", "paused"]);
}

/// A secret or slug is replaced after somebody was removed: the webhook must not deliver to them again.
#[tokio::test]
async fn a_webhook_whose_owner_has_no_access_pauses_when_it_is_taken_over() {
    for (method, rest, body, reason) in changes("http://127.0.0.1:9/").into_iter().take(3) {
        let (scene, mallory) = plans().await;
        let (mut witness, _) = scene.receiver(&[200]).await;
        let mut theirs = Receiver::start(&[200]).await;
        let hook = mallory.hook(&scene.channel, &theirs.url).await.managed_by(&scene.ada);
        scene.remove(&mallory).await;
        let mails = scene.server.count("mails");
        scene.say_unheard("held", &hook, &theirs, &mut witness).await;
        scene.ada.call(method, &hook.path(rest), body).await.expect(200);
        assert_eq!(hook.status().await, "paused", "{reason}");
        scene.say_unheard("held, too", &hook, &theirs, &mut witness).await;
        assert_eq!(scene.server.count("events where type = 'webhook_update'"), 0, "{reason}");
        assert_eq!(scene.server.count("mails"), mails, "who has no access is told nothing: {reason}");
        if rest == "/rotate-slug" {
            hook.set("active").await;
            assert_eq!(theirs.contents(2).await, ["held", "held, too"], "Ada wants it so");
        }
    }
}

/// The present owner need not know where the webhook delivers.
#[tokio::test]
async fn a_new_owners_webhook_does_not_deliver_to_the_address_that_a_removed_manager_set() {
    for (method, rest, body, reason) in changes("").into_iter().skip(1) {
        let (scene, mallory) = plans().await;
        let (hook, mut theirs) = delivers_to_mallory(&scene, &mallory, (method, rest, body)).await;
        let (mut witness, _) = scene.receiver(&[200]).await;
        scene.remove(&mallory).await;
        scene.say_unheard("without Mallory", &hook, &theirs, &mut witness).await;
        // A further secret does not say that the address is right; making it active does.
        scene.ada.call("POST", &hook.path("/rotate-secret"), None).await.expect(200);
        scene.say_unheard("another secret", &hook, &theirs, &mut witness).await;
        hook.set("paused").await;
        hook.set("active").await;
        assert_eq!(theirs.contents(2).await, ["another secret", "without Mallory"], "Ada wants it so: {reason}");
    }
}

#[tokio::test]
async fn a_webhook_whose_address_a_leaver_set_pauses_and_its_owner_is_told() {
    let (scene, mallory) = plans().await;
    let (hook, mut theirs) = delivers_to_mallory(&scene, &mallory, ("POST", "/rotate-secret", None)).await;
    let (mut witness, _) = scene.receiver(&[200]).await;
    let personal = scene.ada.personal(&scene.organisation);
    let mut socket = Socket::listening(&scene.ada, &[&personal]).await;
    scene.ada.delete(&scene.member_path(&mallory)).await.expect(200);
    let told = loop {
        let push = socket.on(&personal).await;
        if push["notification_type"] == "webhook_update" {
            break push;
        }
    };
    assert_eq!([&told["data"]["id"], &told["data"]["owner_id"]], [&hook.id, &scene.ada.user_id]);
    assert!(text(&told["data"]["reason"]).contains("whoever set its address has left"), "{told}");
    assert_eq!(hook.status().await, "paused");
    scene.say_unheard("without Mallory", &hook, &theirs, &mut witness).await;
    hook.set("active").await;
    assert_eq!(theirs.next().await.content(), "without Mallory", "Ada wants it so");
}

#[tokio::test]
async fn a_webhook_delivers_again_when_the_setter_of_its_address_regains_access() {
    let (scene, mallory) = plans().await;
    let (hook, mut theirs) = delivers_to_mallory(&scene, &mallory, ("POST", "/rotate-slug", None)).await;
    let (mut witness, _) = scene.receiver(&[200]).await;
    scene.remove(&mallory).await;
    scene.say_unheard("outside the channel", &hook, &theirs, &mut witness).await;
    scene.add(&mallory).await;
    assert_eq!(theirs.next().await.content(), "outside the channel");
    scene.set_member(&mallory, json!({ "status": "deactivated" })).await;
    scene.say_unheard("deactivated", &hook, &theirs, &mut witness).await;
    scene.set_member(&mallory, json!({ "status": "active" })).await;
    assert_eq!(theirs.next().await.content(), "deactivated");
}

#[tokio::test]
async fn a_removed_or_replaced_address_ties_a_webhook_to_nobody() {
    for url in ["", "http://127.0.0.1:9/"] {
        let (scene, mallory) = plans().await;
        let (hook, _) = delivers_to_mallory(&scene, &mallory, ("POST", "/rotate-slug", None)).await;
        scene.ada.put(&hook.path(""), json!({ "webhook_url": url })).await.expect(200);
        scene.ada.delete(&scene.member_path(&mallory)).await.expect(200);
        scene.server.followed().await;
        assert_eq!(hook.status().await, "active");
    }
}
