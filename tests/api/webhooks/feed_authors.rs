//! A post that a member's program feeds is the member's, whatever name and picture it gives.

use serde_json::{Value, json};

use super::scene::{Scene, fed};
use crate::{
    harness::text,
    receiver::Hook,
    shapes::{MESSAGE, assert_shape},
    socket::Socket,
};

const PICTURE: &str = "https://x.example/grace.png";

/// The scene with Ada's webhook that is fed, and Grace, who has a name and a picture.
async fn named() -> (Scene, Hook) {
    let (scene, hook) = fed().await;
    let profile = json!({ "first_name": "Grace", "last_name": "Hopper", "avatar_url": PICTURE });
    scene.grace.patch("/profile", profile).await.expect(200);
    (scene, hook)
}

impl Scene {
    /// A feed under Ada's name, with a picture of hers.
    fn invoice(&self) -> Value {
        json!({
            "channel_id": self.channel, "message": "Pay this invoice, @grace", "username": "ada", "status": "success",
            "event_name": "order", "avatar_url": "https://x.example/ada.png"
        })
    }

    /// Grace feeds without a webhook; gives the post's id.
    async fn queue(&self) -> String {
        self.grace.post("/webhooks/feed/backend-queue", self.invoice()).await.expect(200);
        text(&self.threads(&self.ada).await[0]["thread_id"])
    }

    /// The message shows Grace as the author, and Ada's name as a label.
    #[track_caller]
    fn assert_hers(&self, message: &Value) {
        let shown = [&message["user_id"], &message["avatar_url"], &message["username"]];
        assert_eq!(shown, [&self.grace.user_id, PICTURE, "ada"], "{message:#}");
        for (field, value) in [("email", self.grace.email.as_str()), ("full_name", "Grace Hopper")] {
            assert!(message.get(field).is_none_or(|shown| shown == value), "{field}: {message:#}");
        }
    }
}

#[tokio::test]
async fn a_members_feed_shows_them_as_its_author_everywhere() {
    let (scene, _) = named().await;
    let mut socket = Socket::listening(&scene.ada, &[&scene.channel]).await;
    let id = scene.queue().await;
    let pushed = socket.on(&scene.channel).await;
    assert_shape(&pushed, MESSAGE);
    let thread = scene.threads(&scene.ada).await.remove(0);
    for message in [&pushed, &thread] {
        scene.assert_hers(message);
        assert_eq!([&message["type"], &message["email"], &message["full_name"]], ["thread", &*scene.grace.email, "Grace Hopper"]);
    }
    let path = format!("/channels/{}/messages", scene.channel);
    scene.assert_hers(&scene.ada.get(&path).await.expect(200)["messages"][0]);
    let searched = format!("/organisations/{}/search?q=invoice", scene.organisation);
    let mut look = tokio::time::interval(std::time::Duration::from_millis(5));
    let found = loop {
        look.tick().await; // the index follows
        let found = scene.ada.get(&searched).await.expect(200);
        if found.to_string().contains(&id) {
            break found;
        }
    };
    scene.assert_hers(&found["data"][0]);
}

#[tokio::test]
async fn a_feed_through_a_webhook_with_a_members_bearer_has_the_member_as_its_author() {
    let (scene, hook) = named().await;
    scene.grace.post(&hook.feed, scene.invoice()).await.expect(200);
    let query = "username=ada&event_name=order&message=Pay&status=success&avatar_url=https://x.example/ada.png";
    scene.grace.get(&format!("{}?{query}", hook.feed)).await.expect(200);
    scene.threads(&scene.ada).await.iter().for_each(|thread| scene.assert_hers(thread));

    scene.anybody.post(&hook.feed, scene.invoice()).await.expect(200);
    let thread = &scene.threads(&scene.ada).await[0];
    let shown = [&thread["user_id"], &thread["email"], &thread["full_name"], &thread["avatar_url"]];
    assert_eq!(shown, ["", "", "", "https://x.example/ada.png"], "without a bearer it is nobody's");
}

#[tokio::test]
async fn a_fed_post_is_edited_by_its_author_alone_who_may_delete_it() {
    let (scene, _) = named().await;
    let id = scene.queue().await;
    let path = format!("/channels/{}/messages", scene.channel);
    scene.ada.put(&path, json!({ "content": "mine", "message_id": id })).await.expect(403);
    // Without an id an edit means what its author wrote themself.
    scene.grace.put(&path, json!({ "content": "corrected" })).await.expect(404);
    scene.grace.put(&path, json!({ "content": "corrected", "message_id": id })).await.expect(200);
    let thread = scene.threads(&scene.ada).await.remove(0);
    scene.assert_hers(&thread);
    assert_eq!([&thread["content"], &thread["type"]], ["corrected", "thread"]);
    scene.grace.delete(&format!("{path}/{id}")).await.expect(200);
    assert_eq!(scene.threads(&scene.ada).await.len(), 0);
}

/// The program has written it, and the member may not have seen it.
#[tokio::test]
async fn a_fed_post_is_unread_for_its_author_and_may_mention_them() {
    let (scene, _) = named().await;
    let own = scene.grace.personal(&scene.organisation);
    let mut socket = Socket::listening(&scene.grace, &[&own]).await;
    scene.queue().await;
    let pushed = [socket.on(&own).await, socket.on(&own).await];
    let of = |kind: &str| pushed.iter().find(|push| push["notification_type"] == kind).expect("a push").clone();
    scene.assert_hers(&of("channel_mention")["data"]);
    let unread = of("unread_thread_change")["data"].take();
    assert_eq!([&unread["thread_count"], &unread["mention_count"]], [1, 1]);
}
