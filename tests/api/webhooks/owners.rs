//! Webhooks deliver in the name of their owners: nobody goes on reading a channel through a webhook of a member without
//! access.

use std::{collections::BTreeSet, sync::Arc};

use poem::Response;
use serde_json::json;
use tidings::domain::accounts::administration;
use tokio::sync::Notify;

use crate::{
    harness::{Client, Server, text},
    receiver::{self, Hook, Receiver},
    socket::Socket,
};

/// Grace's channel with Ada, who owns the organisation, in it. Grace's webhook delivers to the first receiver, Ada's to
/// the second.
struct Scene {
    server: Server,
    ada: Client,
    grace: Client,
    organisation: String,
    channel: String,
    graces: Hook,
    receivers: [Receiver; 2],
}

async fn scene() -> Scene {
    let server = receiver::server().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = grace.channel(&organisation, "engines", &[&ada]).await;
    let receivers = [Receiver::start(&[200]).await, Receiver::start(&[200]).await];
    let graces = grace.hook(&channel, &receivers[0].url).await;
    ada.hook(&channel, &receivers[1].url).await;
    Scene { server, ada, grace, organisation, channel, graces, receivers }
}

impl Scene {
    /// Ada posts; it has arrived where Ada wanted it, and not where Grace did.
    async fn say_without_grace(&mut self, content: &str) {
        self.ada.say(&self.channel, content).await;
        assert_eq!(self.receivers[1].next().await.content(), content);
        // Both were due at once, and the same write has looked at both.
        assert!(!self.server.has_begun(&self.graces.id, content), "nothing is to leave");
        assert!(self.receivers[0].is_empty());
    }

    fn member(&self) -> String {
        format!("/organisations/{}/users/{}", self.organisation, self.grace.user_id)
    }
}

#[tokio::test]
async fn a_leavers_webhook_waits_for_its_new_owner() {
    let mut scene = scene().await;
    let fed = scene.grace.webhook(&scene.channel, "builds").await;
    let personal = scene.ada.personal(&scene.organisation);
    let mut socket = Socket::listening(&scene.ada, &[&personal]).await;
    scene.ada.delete(&scene.member()).await.expect(200);
    let mut told = BTreeSet::new();
    while told.len() < 2 {
        let push = socket.on(&personal).await;
        if push["notification_type"] == "webhook_update" {
            assert_eq!(push["data"]["status"], "paused");
            told.insert(text(&push["data"]["id"]));
        }
    }
    assert_eq!(told, BTreeSet::from([scene.graces.id.clone(), text(&fed["id"])]));
    let mails = scene.server.mails(&scene.ada.email, 3).await;
    for name in ["out", "builds"] {
        let mail = mails.iter().find(|mail| mail.subject == format!("Your webhook {name} is paused now")).unwrap();
        assert!(mail.text.contains("has left the organisation"), "{}", mail.text);
    }

    scene.server.followed().await;
    scene.say_without_grace("after Grace").await;
    let listed = scene.ada.get(&format!("/webhooks/{}/all", scene.channel)).await.expect(200);
    let listed = listed["data"]["webhooks"].as_array().unwrap();
    assert!(listed.iter().all(|webhook| webhook["owner_id"] == scene.ada.user_id));
    // Grace knows the feed's address.
    for id in [&json!(scene.graces.id), &fed["id"]] {
        assert_eq!(listed.iter().find(|webhook| webhook["id"] == *id).unwrap()["status"], "paused");
    }
    scene.ada.put(&scene.graces.path("/change-status"), json!({ "webhook_status": "active" })).await.expect(200);
    assert_eq!(scene.receivers[0].next().await.content(), "after Grace");
}

#[tokio::test]
async fn nobody_is_told_of_a_webhook_whose_channel_is_gone() {
    let scene = scene().await;
    scene.grace.delete(&format!("/channels/{}", scene.channel)).await.expect(204);
    let mails = scene.server.count("mails");
    scene.grace.delete(&scene.member()).await.expect(200);
    assert_eq!(scene.server.count("events where type = 'webhook_update'"), 0);
    assert_eq!(scene.server.count("mails"), mails);
}

#[tokio::test]
async fn a_deactivated_members_webhook_waits_for_its_owner() {
    let mut scene = scene().await;
    scene.ada.put(&scene.member(), json!({ "status": "deactivated" })).await.expect(200);
    scene.say_without_grace("meanwhile").await;
    scene.ada.put(&scene.member(), json!({ "status": "active" })).await.expect(200);
    assert_eq!(scene.receivers[0].next().await.content(), "meanwhile");
}

#[tokio::test]
async fn a_disabled_accounts_webhook_waits_for_its_owner() {
    let mut scene = scene().await;
    let email = scene.grace.email.clone();
    let set = |scene: &Scene, is_active| {
        let email = email.clone();
        scene.server.write(|tx| administration::set_active(tx, &email, is_active)).unwrap();
    };
    set(&scene, false);
    scene.say_without_grace("meanwhile").await;
    set(&scene, true);
    assert_eq!(scene.receivers[0].next().await.content(), "meanwhile");
}

/// The former address answers 410 after the webhook has left it.
#[tokio::test]
async fn an_answer_of_a_former_address_does_not_stop_the_webhook() {
    let answer = Arc::new(Notify::new());
    let mut former = Receiver::answering({
        let answer = answer.clone();
        move |_| {
            let answer = answer.clone();
            async move {
                answer.notified().await;
                Response::builder().status(410.try_into().unwrap()).finish()
            }
        }
    })
    .await;
    let mut scene = scene().await;
    let hook = scene.ada.hook(&scene.channel, &former.url).await;
    scene.ada.say(&scene.channel, "The engine has arrived").await;
    let first = former.next().await;
    scene.receivers[0].next().await;
    scene.ada.put(&hook.path(""), json!({ "webhook_url": scene.receivers[0].url })).await.expect(200);
    assert_eq!(scene.receivers[0].next().await.id(), first.id(), "the new one gets it at once");
    answer.notify_one();
    let statuses: Vec<_> = hook.history(2).await.iter().map(|record| record["status_code"].clone()).collect();
    assert_eq!(statuses, ["410", "200"]);
    assert_eq!(hook.status().await, "active");
}

/// A former member of a private channel receives nothing of it. Members of the organisation may read a public one, so
/// its deliveries go on.
#[tokio::test]
async fn an_owner_without_access_receives_nothing_of_the_channel() {
    let mut scene = scene().await;
    let path = format!("/channels/{}", scene.channel);
    let set = async |scene: &Scene, is_private| {
        scene.ada.patch(&path, json!({ "is_private": is_private })).await.expect(200);
    };
    scene.grace.call("POST", &format!("{path}/leave"), None).await.expect(200);
    scene.ada.say(&scene.channel, "in public").await;
    for receiver in &mut scene.receivers {
        assert_eq!(receiver.next().await.content(), "in public");
    }
    set(&scene, true).await;
    scene.say_without_grace("in private").await;
    set(&scene, false).await;
    assert_eq!(scene.receivers[0].next().await.content(), "in private");
    set(&scene, true).await;
    scene.say_without_grace("in private again").await;
    scene.ada.post(&format!("{path}/users"), json!({ "user_ids": [scene.grace.user_id] })).await.expect(200);
    assert_eq!(scene.receivers[0].next().await.content(), "in private again");
    scene.ada.delete(&format!("{path}/users/{}", scene.grace.user_id)).await.expect(200);
    scene.say_without_grace("without Grace").await;
}
