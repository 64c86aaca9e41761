//! Proving a mailbox stops the webhooks and invitations that somebody else set up with its address before. The owner of
//! the mailbox sees them and decides.

use serde_json::{Value, json};

use crate::{
    harness::{Client, PASSWORD, Reply, Server, text},
    receiver::{self, Hook, Receiver},
};

/// Ada's private channel with Mallory, who manages webhooks, and has proved no mailbox. One webhook is Mallory's, another
/// is Ada's, with an address that Mallory set; both deliver to Mallory.
struct Scene {
    server: Server,
    ada: Client,
    mallory: Client,
    organisation: String,
    channel: String,
    hooks: [Hook; 2],
    feed: String,
    theirs: Receiver,
}

async fn scene() -> Scene {
    let server = receiver::server().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let mallory = server.member(&ada, &organisation, "mallory", "admin").await;
    let channel = ada.private_channel(&organisation, "plans", &[&mallory]).await;
    let mut theirs = Receiver::start(&[200]).await;
    let hooks = [mallory.hook(&channel, &theirs.url).await, mallory.hook(&channel, &theirs.url).await];
    let feed = text(&mallory.get(&format!("/webhooks/{channel}")).await.expect(200)["data"]["feed_url"]);
    ada.call("POST", &hooks[1].path("/rotate-secret"), None).await.expect(200);
    ada.say(&channel, "to Mallory").await;
    assert_eq!(theirs.contents(2).await, ["to Mallory", "to Mallory"]);
    let hooks = hooks.map(|hook| hook.managed_by(&ada));
    Scene { server, ada, mallory, organisation, channel, hooks, feed, theirs }
}

impl Scene {
    async fn statuses(&self) -> [String; 2] {
        [self.hooks[0].status().await, self.hooks[1].status().await]
    }

    /// The token of the last of so many mails to Mallory's address.
    async fn token(&self, count: usize) -> String {
        self.server.mails(&self.mallory.email, count).await[count - 1].parameter("token")
    }

    /// The owner of the mailbox at Mallory's address, logged in by a mailed link.
    async fn owner(&self, by: &str) -> Client {
        let mails = self.server.count(&format!("mails where recipient = '{}'", self.mallory.email)) as usize;
        let address = json!({ "email": self.mallory.email });
        self.server.anonymous().post(&format!("/auth/{by}"), address).await.expect(200);
        let body = json!({ "token": self.token(mails + 1).await, "new_password": "a quite different one" });
        let body = if by == "magic-link" { json!({ "token": body["token"] }) } else { body };
        let entered = self.server.anonymous().post(&format!("/auth/{by}/verify"), body).await.expect(200);
        match by {
            "magic-link" => self.server.anonymous().with_session(&entered["data"]),
            _ => self.server.log_in("mallory", "a quite different one").await,
        }
    }

    /// Somebody who knows the address feeds Mallory's webhook.
    async fn fed(&self, message: &str) -> Reply {
        let path = self.feed.split_once("/api/v1").expect("it is an address of the API").1;
        self.server.anonymous().post(path, json!({ "message": message })).await
    }
}

#[tokio::test]
async fn webhooks_set_up_before_the_mailbox_was_proved_pause() {
    for by in ["magic-link", "password-reset"] {
        let mut scene = scene().await;
        let owner = scene.owner(by).await;
        scene.mallory.get("/profile").await.expect(401);
        scene.server.followed().await;
        assert_eq!(scene.statuses().await, ["paused", "paused"], "{by}");
        scene.ada.say(&scene.channel, "not to Mallory").await;
        scene.server.followed().await;
        let posts = scene.server.count("messages");
        scene.fed("from Mallory").await.expect(200);
        assert_eq!(scene.server.count("messages"), posts, "a paused webhook takes feeds without posting them");
        for hook in &scene.hooks {
            assert!(!scene.server.has_begun(&hook.id, "not to Mallory"), "nothing is to leave");
        }
        assert!(scene.theirs.is_empty());

        let [hers, theirs] = [&scene.ada.email, &scene.mallory.email]
            .map(|email| format!("mails where kind = 'webhook' and recipient = '{email}'"));
        assert_eq!([scene.server.count(&hers), scene.server.count(&theirs)], [1, 2], "Mallory's was told of the secret, too");
        let mails = scene.server.mails(&scene.ada.email, 2).await;
        assert!(mails[1].text.contains("proved their mailbox for the first time"), "{}", mails[1].text);

        // The owner of the mailbox sees it, and may want it to go on.
        let listed = owner.get(&format!("/webhooks/{}", scene.channel)).await.expect(200)["data"].take();
        assert_eq!([&listed["id"], &listed["status"]], [&scene.hooks[0].id, "paused"]);
        let hook = scene.hooks.into_iter().next().unwrap().managed_by(&owner);
        hook.set("active").await;
        assert_eq!(scene.theirs.next().await.content(), "not to Mallory");
    }
}

#[tokio::test]
async fn invitations_sent_before_the_mailbox_was_proved_let_nobody_in() {
    let scene = scene().await;
    let eve = scene.server.user("eve").await;
    let shown = scene.mallory.invite(&scene.organisation, &eve.email, "admin").await;
    let mailed = scene.server.mails(&eve.email, 2).await[1].parameter("invitation_token");
    let other = scene.ada.invite(&scene.organisation, "grace@example.org", "member").await;
    scene.owner("magic-link").await;
    for token in [shown, mailed] {
        eve.post("/invite/verify", json!({ "token": token })).await.expect(400);
    }
    scene.server.anonymous().post("/invite/verify", json!({ "token": other })).await.expect(200);
}

#[tokio::test]
async fn proving_the_mailbox_with_the_password_keeps_webhooks_and_invitations() {
    let mut scene = scene().await;
    let eve = scene.server.user("eve").await;
    let token = scene.mallory.invite(&scene.organisation, &eve.email, "member").await;
    let proof: Value = json!({ "token": scene.token(1).await, "password": PASSWORD });
    scene.server.anonymous().post("/auth/email-request/verify", proof).await.expect(200);
    scene.owner("magic-link").await;
    scene.server.followed().await;
    assert_eq!(scene.statuses().await, ["active", "active"]);
    eve.post("/invite/verify", json!({ "token": token })).await.expect(200);
    scene.ada.say(&scene.channel, "to Mallory again").await;
    assert_eq!(scene.theirs.contents(2).await, ["to Mallory again", "to Mallory again"]);
}
