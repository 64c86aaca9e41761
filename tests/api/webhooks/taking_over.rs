//! A member who changes a webhook's address or secrets becomes its owner, and it stops when they lose access.

use serde_json::{Value, json};

use crate::{
    harness::{Client, Server, text},
    receiver::{self, Hook, Plans, Receiver},
    socket::Socket,
};

/// Ada's private channel with Mallory, who manages webhooks, and Ada's webhook, which delivers to `hers`. Another of Ada's
/// delivers to `witness` whatever happens.
struct Scene {
    server: Server,
    ada: Client,
    mallory: Client,
    organisation: String,
    channel: String,
    hook: Hook,
    hers: Receiver,
    witness: Receiver,
}

async fn scene() -> Scene {
    let server = receiver::server().await;
    let Plans { ada, mallory, organisation, channel } = server.plans().await;
    let hers = Receiver::start(&[200]).await;
    let hook = ada.hook(&channel, &hers.url).await;
    let witness = Receiver::start(&[200]).await;
    ada.hook(&channel, &witness.url).await;
    Scene { server, ada, mallory, organisation, channel, hook, hers, witness }
}

impl Scene {
    /// The webhook as Ada reads it.
    async fn webhook(&self) -> Value {
        self.ada.get(&format!("/webhooks/{}", self.channel)).await.expect(200)["data"].take()
    }

    /// Ada posts; the webhook does not deliver it, though another one has.
    async fn say_unheard(&mut self, webhook: &str, content: &str) {
        self.ada.say(&self.channel, content).await;
        while self.witness.next().await.content() != content {}
        // Both were due at once, and the same write has looked at both.
        assert!(!self.server.has_begun(webhook, content), "nothing is to leave");
    }

    /// Mallory sets the address to a receiver of theirs, which is returned, and pauses; Ada does something that makes her
    /// the owner, and the webhook is active.
    async fn delivers_to_mallory(&self, method: &str, rest: &str, body: Option<Value>) -> Receiver {
        let mut theirs = Receiver::start(&[200]).await;
        self.mallory.put(&self.hook.path(""), json!({ "webhook_url": theirs.url })).await.expect(200);
        self.mallory.put(&self.hook.path("/change-status"), json!({ "webhook_status": "paused" })).await.expect(200);
        self.ada.call(method, &self.hook.path(rest), body).await.expect(200);
        self.hook.set("active").await;
        assert_eq!(self.webhook().await["owner_id"], self.ada.user_id);
        self.ada.say(&self.channel, "while Mallory is here").await;
        assert_eq!(theirs.next().await.content(), "while Mallory is here");
        theirs
    }

    fn member(&self) -> String {
        format!("/organisations/{}/users/{}", self.organisation, self.mallory.user_id)
    }

    async fn remove(&self, member: &Client) {
        let path = format!("/channels/{}/users/{}", self.channel, member.user_id);
        self.ada.delete(&path).await.expect(200);
    }
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
    let mut scene = scene().await;
    let mut theirs = Receiver::start(&[200]).await;
    scene.mallory.put(&scene.hook.path(""), json!({ "webhook_url": theirs.url })).await.expect(200);
    scene.ada.say(&scene.channel, "while Mallory is here").await;
    assert_eq!(theirs.next().await.content(), "while Mallory is here");

    scene.remove(&scene.mallory).await;
    let hook = scene.hook.id.clone();
    scene.say_unheard(&hook, "without Mallory").await;
    // Ada takes it over again, and what was held goes where she wants it once she makes it active.
    scene.ada.put(&scene.hook.path(""), json!({ "webhook_url": scene.hers.url })).await.expect(200);
    let webhook = scene.webhook().await;
    assert_eq!([&webhook["owner_id"], &webhook["status"]], [&scene.ada.user_id, "paused"]);
    scene.hook.set("active").await;
    assert_eq!(scene.hers.next().await.content(), "without Mallory");
    assert!(theirs.is_empty());
}

#[tokio::test]
async fn a_member_who_changes_a_webhooks_address_or_secrets_becomes_its_owner_and_the_former_owner_is_told() {
    for (method, rest, body, reason) in changes("http://127.0.0.1:9/") {
        let scene = scene().await;
        scene.hook.set("paused").await;
        let personal = scene.ada.personal(&scene.organisation);
        let mut socket = Socket::listening(&scene.ada, &[&personal]).await;
        scene.mallory.call(method, &scene.hook.path(rest), body).await.expect(200);
        let webhook = scene.webhook().await;
        assert_eq!(webhook["owner_id"], scene.mallory.user_id, "{reason}");
        let told = socket.on(&personal).await;
        assert_eq!(told["notification_type"], "webhook_update");
        assert_eq!([&told["data"]["id"], &told["data"]["owner_id"]], [&scene.hook.id, &scene.mallory.user_id]);
        assert!(text(&told["data"]["reason"]).contains(reason), "{told}");
        let mail = &scene.server.mails(&scene.ada.email, 2).await[1];
        assert_eq!(mail.subject, "Your webhook out has another owner now");
        assert!(mail.text.contains(reason) && mail.text.contains("plans"), "{}", mail.text);
    }
}

#[tokio::test]
async fn an_owner_who_changes_their_own_webhook_is_not_told() {
    let scene = scene().await;
    for (method, rest, body, _) in changes("http://127.0.0.1:9/") {
        scene.ada.call(method, &scene.hook.path(rest), body).await.expect(200);
    }
    assert_eq!(scene.server.count("events where type = 'webhook_update'"), 0);
}

#[tokio::test]
async fn changes_of_a_webhooks_name_or_status_leave_its_owner() {
    let scene = scene().await;
    let edit = async |body: Value| scene.mallory.put(&scene.hook.path(""), body).await.expect(200);
    edit(json!({ "webhook_name": "renamed", "event_name": "said", "webhook_url": scene.hers.url })).await;
    for status in ["active", "paused", "inactive"] {
        scene.mallory.put(&scene.hook.path("/change-status"), json!({ "webhook_status": status })).await.expect(200);
    }
    scene.mallory.call("POST", &scene.hook.path("/test"), None).await.expect(200);
    edit(json!({ "webhook_url": "" })).await;
    assert_eq!(scene.webhook().await["owner_id"], scene.ada.user_id);
    assert_eq!(scene.server.count("events where type = 'webhook_update'"), 0);
}

/// A member who lost the right to post may still read the channel, but knows the feed's address.
#[tokio::test]
async fn a_webhook_whose_owner_may_not_post_pauses_when_it_is_taken_over_and_the_owner_is_told() {
    let scene = scene().await;
    let hook = scene.mallory.hook(&scene.channel, "http://127.0.0.1:9/").await.managed_by(&scene.ada);
    scene.ada.put(&scene.member(), json!({ "role_id": "guest" })).await.expect(200);
    let personal = scene.mallory.personal(&scene.organisation);
    let mut socket = Socket::listening(&scene.mallory, &[&personal]).await;
    scene.ada.call("POST", &hook.path("/rotate-secret"), None).await.expect(200);
    assert_eq!(hook.status().await, "paused");
    let told = socket.on(&personal).await;
    assert_eq!([&told["notification_type"], &told["data"]["status"]], ["webhook_update", "paused"]);
}

/// A secret or slug is replaced after somebody was removed: the webhook must not deliver to them again.
#[tokio::test]
async fn a_webhook_whose_owner_has_no_access_pauses_when_it_is_taken_over() {
    for (method, rest, body, reason) in changes("http://127.0.0.1:9/").into_iter().take(3) {
        let mut scene = scene().await;
        let mut theirs = Receiver::start(&[200]).await;
        let hook = scene.mallory.hook(&scene.channel, &theirs.url).await.managed_by(&scene.ada);
        scene.remove(&scene.mallory).await;
        let mails = scene.server.count("mails");
        scene.say_unheard(&hook.id, "held").await;
        scene.ada.call(method, &hook.path(rest), body).await.expect(200);
        assert_eq!(hook.status().await, "paused", "{reason}");
        scene.say_unheard(&hook.id, "held, too").await;
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
        let mut scene = scene().await;
        let mut theirs = scene.delivers_to_mallory(method, rest, body).await;
        scene.remove(&scene.mallory).await;
        let hook = scene.hook.id.clone();
        scene.say_unheard(&hook, "without Mallory").await;
        // A further secret does not say that the address is right; making it active does.
        scene.ada.call("POST", &scene.hook.path("/rotate-secret"), None).await.expect(200);
        scene.say_unheard(&hook, "another secret").await;
        assert!(theirs.is_empty(), "{reason}");
        scene.hook.set("paused").await;
        scene.hook.set("active").await;
        assert_eq!(theirs.contents(2).await, ["another secret", "without Mallory"], "Ada wants it so");
    }
}

#[tokio::test]
async fn a_webhook_whose_address_a_leaver_set_pauses_and_its_owner_is_told() {
    let mut scene = scene().await;
    let mut theirs = scene.delivers_to_mallory("POST", "/rotate-secret", None).await;
    let personal = scene.ada.personal(&scene.organisation);
    let mut socket = Socket::listening(&scene.ada, &[&personal]).await;
    scene.ada.delete(&scene.member()).await.expect(200);
    let told = loop {
        let push = socket.on(&personal).await;
        if push["notification_type"] == "webhook_update" {
            break push;
        }
    };
    assert_eq!([&told["data"]["id"], &told["data"]["owner_id"]], [&scene.hook.id, &scene.ada.user_id]);
    assert!(text(&told["data"]["reason"]).contains("whoever set its address has left"), "{told}");
    assert_eq!(scene.hook.status().await, "paused");
    let hook = scene.hook.id.clone();
    scene.say_unheard(&hook, "without Mallory").await;
    assert!(theirs.is_empty());
    scene.hook.set("active").await;
    assert_eq!(theirs.next().await.content(), "without Mallory", "Ada wants it so");
}

#[tokio::test]
async fn a_webhook_delivers_again_when_the_setter_of_its_address_regains_access() {
    let mut scene = scene().await;
    let mut theirs = scene.delivers_to_mallory("POST", "/rotate-slug", None).await;
    scene.remove(&scene.mallory).await;
    let hook = scene.hook.id.clone();
    scene.say_unheard(&hook, "outside the channel").await;
    let users = format!("/channels/{}/users", scene.channel);
    scene.ada.post(&users, json!({ "user_ids": [scene.mallory.user_id] })).await;
    assert_eq!(theirs.next().await.content(), "outside the channel");
    scene.ada.put(&scene.member(), json!({ "status": "deactivated" })).await.expect(200);
    scene.say_unheard(&hook, "deactivated").await;
    scene.ada.put(&scene.member(), json!({ "status": "active" })).await.expect(200);
    assert_eq!(theirs.next().await.content(), "deactivated");
}

#[tokio::test]
async fn a_removed_or_replaced_address_ties_a_webhook_to_nobody() {
    for url in ["", "http://127.0.0.1:9/"] {
        let scene = scene().await;
        scene.delivers_to_mallory("POST", "/rotate-slug", None).await;
        scene.ada.put(&scene.hook.path(""), json!({ "webhook_url": url })).await.expect(200);
        scene.ada.delete(&scene.member()).await.expect(200);
        scene.server.followed().await;
        assert_eq!(scene.hook.status().await, "active");
    }
}
