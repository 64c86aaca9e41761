//! The webhooks of a bot work as its owner's would.

use serde_json::{Value, json};
use tidings::{
    db::Tx,
    domain::accounts::{
        self,
        mailbox_proof::{self, Proof},
    },
};

use super::scene::{Scene, scene};
use crate::{
    harness::{Client, text},
    receiver::{Hook, Receiver},
};

/// The scene with Mallory, an administrator, and a bot of theirs in that role, which has a webhook of all channels. Mallory knows
/// the address of its feed, and receives what it delivers.
struct Bots {
    scene: Scene,
    mallory: Client,
    bot: String,
    /// The bot, by its token.
    program: Client,
    hook: Hook,
    theirs: Receiver,
    news: String,
}

async fn bots() -> Bots {
    let scene = scene().await;
    let mallory = scene.member("mallory", "admin").await;
    let new = json!({ "name": "Helper", "role": "admin" });
    let bots = format!("/organisations/{}/bots", scene.organisation);
    let bot = text(&mallory.post(&bots, new).await.expect(201)["data"]["id"]);
    scene.ada.post(&format!("/channels/{}/users", scene.channel), json!({ "user_ids": [bot] })).await.expect(200);
    let token = json!({ "name": "ci", "scopes": ["webhooks", "read"] });
    let token = mallory.post(&format!("/users/{bot}/tokens"), token).await.expect(201);
    let program = mallory.with_token(&text(&token["data"]["token"]));
    let mut theirs = Receiver::start(&[200]).await;
    let body = json!({ "webhook_name": "mirror", "webhook_url": theirs.url, "all_channels": true });
    let hook = program.hook_with(&scene.channel, body).await;
    let news = scene.grace.channel(&scene.organisation, "news", &[]).await;
    scene.grace.say(&news, "to Mallory").await;
    assert_eq!(theirs.contents(1).await, ["to Mallory"]);
    Bots { scene, mallory, bot, program, hook, theirs, news }
}

impl Bots {
    /// Asserts that what is posted does not leave, and that what is fed is not posted.
    async fn assert_silent(&self, case: &str) {
        let server = &self.scene.server;
        self.scene.grace.say(&self.news, case).await;
        server.followed().await;
        let (mut witness, _hook) = self.scene.receiver(&[200]).await;
        self.scene.say("to Ada").await;
        assert_eq!(witness.next().await.content(), "to Ada");
        assert!(!server.has_begun(&self.hook.id, case), "{case}: nothing is to leave");
        assert!(self.theirs.is_empty(), "{case}");
        let posts = server.count("messages");
        self.scene.anybody.post(&self.hook.feed, json!({ "message": "from Mallory" })).await;
        assert_eq!(server.count("messages"), posts, "{case}: nothing is posted");
    }

    async fn listed(&self) -> Value {
        let listed = self.scene.ada.get(&format!("/webhooks/{}/all", self.scene.channel)).await.expect(200);
        let webhooks = listed["data"]["webhooks"].as_array().unwrap().clone();
        webhooks.into_iter().find(|webhook| webhook["id"] == self.hook.id).unwrap()
    }
}

#[tokio::test]
async fn a_bots_webhook_of_all_channels_waits_while_its_owner_may_not_have_it() {
    let mut bots = bots().await;
    bots.scene.set_member(&bots.mallory, json!({ "role_id": "member" })).await;
    bots.scene.grace.say(&bots.news, "between members").await;
    bots.scene.server.followed().await;
    let (mut witness, _hook) = bots.scene.receiver(&[200]).await;
    bots.scene.say("to Ada").await;
    assert_eq!(witness.next().await.content(), "to Ada");
    assert!(bots.theirs.is_empty(), "it waits for somebody who may know");
    bots.scene.set_member(&bots.mallory, json!({ "role_id": "admin" })).await;
    assert_eq!(bots.theirs.contents(2).await, ["between members", "to Ada"]);
}

#[tokio::test]
async fn a_bots_webhook_is_silent_while_its_owners_account_is_disabled() {
    let mut bots = bots().await;
    bots.scene.set_active(&bots.mallory, false);
    bots.assert_silent("disabled").await;
    bots.scene.set_active(&bots.mallory, true);
    assert_eq!(bots.theirs.contents(2).await, ["disabled", "to Ada"]);
}

/// Such a webhook needs no right of its owner, but that somebody answers for them.
#[tokio::test]
async fn a_bots_webhook_of_one_channel_is_silent_while_its_owners_account_is_disabled() {
    let Bots { scene, mallory, program, .. } = bots().await;
    let mut theirs = Receiver::start(&[200]).await;
    let hook = program.hook_with(&scene.channel, json!({ "webhook_name": "one", "webhook_url": theirs.url })).await;
    let (mut witness, _hook) = scene.receiver(&[200]).await;
    scene.say("first").await;
    assert_eq!(theirs.contents(1).await, ["first"]);
    assert_eq!(witness.contents(1).await, ["first"]);
    scene.set_active(&mallory, false);
    scene.say_unheard("disabled", &hook, &theirs, &mut witness).await;
    scene.set_active(&mallory, true);
    assert_eq!(theirs.contents(1).await, ["disabled"]);
}

#[tokio::test]
async fn a_bots_webhook_is_its_channels_owners_when_the_bots_owner_has_gone() {
    for end in ["removed", "deactivated", "guest"] {
        let mut bots = bots().await;
        let member = bots.scene.member_path(&bots.mallory);
        match end {
            "removed" => drop(bots.scene.ada.delete(&member).await.expect(200)),
            "guest" => bots.scene.set_member(&bots.mallory, json!({ "role_id": "guest" })).await,
            _ => bots.scene.set_member(&bots.mallory, json!({ "status": "deactivated" })).await,
        }
        bots.assert_silent(end).await;
        let shown = bots.listed().await;
        if end == "guest" {
            assert_eq!([&shown["owner_id"], &shown["status"]], [&*bots.bot, "active"], "its rights alone have gone");
            continue;
        }
        assert_eq!([&shown["owner_id"], &shown["status"]], [&*bots.scene.ada.user_id, "paused"], "{end}");
        let told = bots.scene.server.mails(&bots.scene.ada.email, 3).await;
        assert!(told.iter().any(|mail| mail.subject == "Your webhook mirror is paused now"), "{end}");
        // Whoever reviews it may let it go on.
        bots.hook = bots.hook.managed_by(&bots.scene.ada);
        bots.hook.set("active").await;
        assert!(bots.theirs.contents(2).await.contains(&end.to_owned()));
    }
}

#[tokio::test]
async fn a_bots_webhook_pauses_when_its_owners_account_is_reclaimed() {
    let bots = bots().await;
    let email = &bots.mallory.email;
    let prove = |tx: &mut Tx| {
        let user = accounts::find_by_email(tx, email)?.expect("Mallory");
        mailbox_proof::prove(tx, user, Proof::Mailbox)
    };
    bots.scene.server.write(prove).map(drop).unwrap();
    bots.assert_silent("reclaimed").await;
    let shown = bots.listed().await;
    assert_eq!([&shown["owner_id"], &shown["status"]], [&*bots.bot, "paused"]);
    let told = bots.scene.server.count(&format!("mails where kind = 'webhook' and recipient = '{email}'"));
    assert_eq!(told, 1, "the mail for a bot is its owner's");
}
