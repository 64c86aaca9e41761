//! Webhooks deliver in the name of their owners: nobody goes on reading a channel through a webhook of a member without
//! access.

use std::collections::BTreeSet;

use serde_json::json;

use super::{Scene, scene};
use crate::{
    harness::text,
    receiver::{Hook, Receiver},
    socket::Socket,
};

/// The scene in a channel of Grace's with Ada, and Grace's webhook, which delivers to the first receiver. One of Ada's delivers to
/// the second.
async fn graces() -> (Scene, Hook, [Receiver; 2]) {
    let mut scene = scene().await;
    scene.channel = scene.grace.channel(&scene.organisation, "looms", &[&scene.ada]).await;
    let hers = Receiver::start(&[200]).await;
    let hook = scene.grace.hook(&scene.channel, &hers.url).await;
    let (witness, _) = scene.receiver(&[200]).await;
    (scene, hook, [hers, witness])
}

#[tokio::test]
async fn a_leavers_webhook_waits_for_its_new_owner() {
    let (scene, hook, [mut hers, mut witness]) = graces().await;
    let fed = scene.grace.webhook(&scene.channel, "builds").await;
    let personal = scene.ada.personal(&scene.organisation);
    let mut socket = Socket::listening(&scene.ada, &[&personal]).await;
    scene.ada.delete(&scene.member_path(&scene.grace)).await.expect(200);
    let mut told = BTreeSet::new();
    while told.len() < 2 {
        let push = socket.on(&personal).await;
        if push["notification_type"] == "webhook_update" {
            assert_eq!(push["data"]["status"], "paused");
            told.insert(text(&push["data"]["id"]));
        }
    }
    assert_eq!(told, BTreeSet::from([hook.id.clone(), text(&fed["id"])]));
    let mails = scene.server.mails(&scene.ada.email, 3).await;
    for name in ["out", "builds"] {
        let mail = mails.iter().find(|mail| mail.subject == format!("Your webhook {name} is paused now")).unwrap();
        assert!(mail.text.contains("has left the organisation"), "{}", mail.text);
    }

    scene.server.followed().await;
    scene.say_unheard("after Grace", &hook, &hers, &mut witness).await;
    let listed = scene.ada.get(&format!("/webhooks/{}/all", scene.channel)).await.expect(200);
    let listed = listed["data"]["webhooks"].as_array().unwrap();
    assert!(listed.iter().all(|webhook| webhook["owner_id"] == scene.ada.user_id));
    // Grace knows the feed's address.
    for id in [&json!(hook.id), &fed["id"]] {
        assert_eq!(listed.iter().find(|webhook| webhook["id"] == *id).unwrap()["status"], "paused");
    }
    hook.managed_by(&scene.ada).set("active").await;
    assert_eq!(hers.next().await.content(), "after Grace");
}

#[tokio::test]
async fn nobody_is_told_of_a_webhook_whose_channel_is_gone() {
    let (scene, _hook, _receivers) = graces().await;
    scene.grace.delete(&format!("/channels/{}", scene.channel)).await.expect(204);
    let mails = scene.server.count("mails");
    scene.grace.delete(&scene.member_path(&scene.grace)).await.expect(200);
    assert_eq!(scene.server.count("events where type = 'webhook_update'"), 0);
    assert_eq!(scene.server.count("mails"), mails);
}

#[tokio::test]
async fn a_deactivated_members_webhook_waits_for_its_owner() {
    let (scene, hook, [mut hers, mut witness]) = graces().await;
    scene.set_member(&scene.grace, json!({ "status": "deactivated" })).await;
    scene.say_unheard("meanwhile", &hook, &hers, &mut witness).await;
    scene.set_member(&scene.grace, json!({ "status": "active" })).await;
    assert_eq!(hers.next().await.content(), "meanwhile");
}

#[tokio::test]
async fn a_disabled_accounts_webhook_waits_for_its_owner() {
    let (scene, hook, [mut hers, mut witness]) = graces().await;
    scene.set_active(&scene.grace, false);
    scene.say_unheard("meanwhile", &hook, &hers, &mut witness).await;
    scene.set_active(&scene.grace, true);
    assert_eq!(hers.next().await.content(), "meanwhile");
}

/// The former address answers 410 after the webhook has left it.
#[tokio::test]
async fn an_answer_of_a_former_address_does_not_stop_the_webhook() {
    let (scene, _, [mut hers, _witness]) = graces().await;
    let (mut former, answer) = Receiver::holding(&[410], |_| true).await;
    let hook = scene.hook(&former).await;
    scene.say("The engine has arrived").await;
    let first = former.next().await;
    hers.next().await;
    scene.ada.put(&hook.path(""), json!({ "webhook_url": hers.url })).await.expect(200);
    assert_eq!(hers.next().await.id(), first.id(), "the new one gets it at once");
    answer.notify_one();
    let statuses: Vec<_> = hook.history(2).await.iter().map(|record| record["status_code"].clone()).collect();
    assert_eq!(statuses, ["410", "200"]);
    assert_eq!(hook.status().await, "active");
}

/// A former member of a private channel receives nothing of it. Members of the organisation may read a public one, so
/// its deliveries go on.
#[tokio::test]
async fn an_owner_without_access_receives_nothing_of_the_channel() {
    let (scene, hook, [mut hers, mut witness]) = graces().await;
    let path = format!("/channels/{}", scene.channel);
    let set = async |is_private| scene.ada.patch(&path, json!({ "is_private": is_private })).await.expect(200);
    scene.grace.call("POST", &format!("{path}/leave"), None).await.expect(200);
    scene.say("in public").await;
    for receiver in [&mut hers, &mut witness] {
        assert_eq!(receiver.next().await.content(), "in public");
    }
    set(true).await;
    scene.say_unheard("in private", &hook, &hers, &mut witness).await;
    set(false).await;
    assert_eq!(hers.next().await.content(), "in private");
    set(true).await;
    scene.say_unheard("in private again", &hook, &hers, &mut witness).await;
    scene.add(&scene.grace).await;
    assert_eq!(hers.next().await.content(), "in private again");
    scene.remove(&scene.grace).await;
    scene.say_unheard("without Grace", &hook, &hers, &mut witness).await;
}
