//! A message is the same object wherever it is shown: what a page shows equals what was pushed.

use serde_json::{Map, Value, json};

use crate::{
    harness::{Client, Server, text},
    receiver::{self, Receiver},
    shapes::{MESSAGE, PINNED_DETAILS, assert_shape},
    socket::Socket,
};

/// Ada's channel with Grace, who listens to it.
struct Scene {
    server: Server,
    ada: Client,
    grace: Client,
    organisation: String,
    channel: String,
    socket: Socket,
}

async fn scene() -> Scene {
    let server = receiver::server().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    ada.patch("/profile", json!({ "first_name": "Ada", "last_name": "Lovelace" })).await.expect(200);
    let channel = ada.channel(&organisation, "engines", &[&grace]).await;
    let socket = Socket::listening(&grace, &[&channel, &grace.personal(&organisation)]).await;
    Scene { server, ada, grace, organisation, channel, socket }
}

impl Scene {
    async fn pushed(&mut self) -> Value {
        self.socket.on(&self.channel).await
    }

    /// The newest post on the channel's page.
    async fn listed(&self) -> Value {
        self.grace.get(&format!("/channels/{}/messages", self.channel)).await.expect(200)["messages"][0].take()
    }

    /// The newest reply on the thread's page.
    async fn replied(&self, thread: &str) -> Value {
        self.grace.get(&format!("/threads/{thread}/channels/{}", self.channel)).await.expect(200)["data"][0].take()
    }

    async fn call(&self, method: &str, message: &str, rest: &str) {
        self.ada.call(method, &format!("/channels/{}/messages/{message}{rest}", self.channel), None).await.expect(200);
    }
}

/// The message object in a thread, which has more fields.
fn message_of(thread: &Value, like: &Value) -> Value {
    let fields = like.as_object().unwrap().keys();
    fields.map(|field| (field.clone(), thread[field].clone())).collect::<Map<_, _>>().into()
}

#[tokio::test]
async fn a_page_shows_a_post_and_a_reply_as_they_were_pushed() {
    let mut scene = scene().await;
    let answered = scene.ada.post(&format!("/channels/{}/messages", scene.channel), json!({ "content": "hello @grace" })).await;
    let answered = answered.data(201, "Message created successfully");
    let post = scene.pushed().await;
    assert_shape(&post, MESSAGE);
    assert_eq!((&answered, &scene.listed().await), (&post, &post));
    let personal = scene.grace.personal(&scene.organisation);
    let mention = loop {
        let event = scene.socket.on(&personal).await;
        if event["notification_type"] == "channel_mention" {
            break event;
        }
    };
    assert_eq!(mention["data"], post);

    let thread = text(&post["id"]);
    scene.socket.subscribe(&thread).await;
    scene.ada.reply(&scene.channel, &thread, "a reply").await;
    let (reply, change) = (scene.socket.on(&thread).await, scene.pushed().await);
    assert_shape(&reply, MESSAGE);
    assert_eq!((&change["data"], &scene.replied(&thread).await), (&reply, &reply));
    assert!(reply["position"].as_i64() > post["position"].as_i64());
    // A client applies the counts to the post that it has.
    let mut counted = post.clone();
    for field in ["message_count", "last_reply", "participants", "participant_count"] {
        counted[field] = change["update_change"][field].clone();
    }
    assert_eq!((counted["message_count"].as_i64(), scene.listed().await), (Some(1), counted));
}

#[tokio::test]
async fn a_red_build_stays_red_after_a_reload() {
    let mut scene = scene().await;
    let webhook = scene.ada.webhook(&scene.channel, "builder").await;
    let feed = json!({
        "channel_id": scene.channel, "message": "main is broken", "username": "builder", "status": "error",
        "event_name": "build", "action_type": "failed", "avatar_url": "https://x.example/builder.png"
    });
    let path = format!("/webhooks/feed/{}", text(&webhook["webhook_slug"]));
    scene.server.anonymous().post(&path, feed).await.expect(200);
    let pushed = scene.pushed().await;
    let shown = ["status", "event_name", "action_type", "type", "current_status", "user_type"].map(|field| text(&pushed[field]));
    assert_eq!(shown, ["error", "build", "failed", "thread", "pending", "webhook"]);
    assert_eq!(scene.listed().await, pushed);
    let thread = format!("/threads/{}/channels/{}", text(&pushed["id"]), scene.channel);
    scene.ada.put(&thread, json!({ "status": "completed" })).await.expect(200);
    let change = scene.pushed().await;
    let mut done = pushed;
    done["current_status"] = change["data"]["current_status"].clone();
    assert_eq!((text(&done["current_status"]), scene.listed().await), ("completed".into(), done));
}

#[tokio::test]
async fn a_page_shows_what_was_pushed_of_each_change() {
    let mut scene = scene().await;
    let post = scene.ada.say(&scene.channel, "first").await;
    scene.pushed().await;
    scene.ada.reply(&scene.channel, &post, "a reply").await;
    scene.pushed().await;
    scene.call("PUT", &post, "/reactions/tada").await;
    scene.pushed().await;

    let edit = json!({ "content": "second", "message_id": post });
    let edited =
        scene.ada.put(&format!("/channels/{}/messages", scene.channel), edit).await.data(200, "Message updated successfully");
    let pushed = scene.pushed().await["data"].take();
    assert_eq!(
        (&pushed["edited"], &pushed["message_count"], &pushed["reactions"][0]["emoji"]),
        (&json!(true), &json!(1), &json!("tada"))
    );
    assert_eq!((&edited, &scene.listed().await), (&pushed, &pushed));

    scene.call("PUT", &post, "/pin").await;
    let event = scene.pushed().await;
    assert_shape(&event["data"]["pinned_details"], PINNED_DETAILS);
    assert_eq!((&event["pinned_details"], &scene.listed().await), (&event["data"]["pinned_details"], &event["data"]));
    let pins =
        scene.grace.get(&format!("/channels/{}/pins", scene.channel)).await.data(200, "Pinned messages fetched successfully");
    assert_eq!(pins[0], event["data"]);

    scene.call("DELETE", &post, "/pin").await;
    assert_eq!(scene.pushed().await["data"], scene.listed().await);

    scene.call("DELETE", &post, "").await;
    let pushed = scene.pushed().await["data"].take();
    assert_eq!((&pushed["content"], &pushed["reactions"]), (&json!(""), &json!([])));
    assert_eq!(scene.listed().await, pushed, "it stays for its reply");
}

#[tokio::test]
async fn reactions_stand_in_the_order_of_their_first_time_live_and_after_a_reload() {
    let mut scene = scene().await;
    let post = scene.ada.say(&scene.channel, "post").await;
    scene.pushed().await;
    let path = |emoji: &str| format!("/channels/{}/messages/{post}/reactions/{emoji}", scene.channel);
    let steps = [
        (&scene.ada, "PUT", "tada", "tada"),
        (&scene.ada, "PUT", "eyes", "tada eyes"),
        (&scene.ada, "PUT", "apple", "tada eyes apple"),
        (&scene.grace, "PUT", "tada", "tada eyes apple"),
        (&scene.ada, "DELETE", "tada", "eyes apple tada"), // the first one left is Grace's
        (&scene.ada, "DELETE", "eyes", "apple tada"),
        (&scene.ada, "PUT", "eyes", "apple tada eyes"),
    ];
    for (who, method, emoji, order) in steps {
        scene.server.clock.advance(std::time::Duration::from_secs(1));
        who.call(method, &path(emoji), None).await.expect(200);
        let event = scene.socket.on(&scene.channel).await;
        let listed = scene.listed().await["reactions"].take();
        let emojis: Vec<_> = listed.as_array().unwrap().iter().map(|reaction| text(&reaction["emoji"])).collect();
        assert_eq!(emojis.join(" "), order);
        assert_eq!([&event["reactions"], &event["data"]["reactions"]], [&listed; 2]);
    }
}

#[tokio::test]
async fn every_place_shows_the_same_object() {
    let mut scene = scene().await;
    let mut receiver = Receiver::start(&[200]).await;
    scene.ada.hook(&scene.channel, &receiver.url).await;
    let post = scene.ada.say(&scene.channel, "findable").await;
    assert_eq!(receiver.next().await.json()["data"], scene.pushed().await, "a delivery");
    let reply = scene.grace.reply(&scene.channel, &post, "findable, too").await;
    scene.pushed().await;
    for message in [&post, &reply] {
        scene.call("PUT", message, "/reactions/tada").await;
        scene.call("PUT", message, "/pin").await;
    }
    let (root, answer) = (scene.listed().await, scene.replied(&post).await);
    let (organisation, channel) = (&scene.organisation, &scene.channel);
    let data = async |path: String| scene.grace.get(&path).await.expect(200)["data"].take();
    let pins = data(format!("/channels/{channel}/pins")).await;
    assert_eq!(pins, json!([answer, root]));
    let thread = data(format!("/threads/{post}")).await;
    let of_channel = data(format!("/threads/channels/{channel}")).await[0].take();
    let mut ours = data(format!("/threads/organisations/{organisation}")).await[0].take();
    let mut messages = ours["thread_messages"].take();
    messages[0]["participants"] = ours["thread_participants"].clone();
    ours["participants"] = ours["thread_participants"].take();
    assert_eq!(messages, json!([root, answer]));
    for thread in [thread, of_channel, ours] {
        assert_eq!((message_of(&thread, &root), &thread["messages"][0]), (root.clone(), &answer));
    }
    let own = data(format!("/organisations/{organisation}/user-channels?preview=1")).await;
    assert!(own.as_array().unwrap().iter().any(|channel| channel["preview_thread"] == json!([root])), "{own:#}");
    let listed = data(format!("/organisations/{organisation}/channels")).await;
    assert!(listed.as_array().unwrap().iter().any(|channel| channel["messages"] == json!([root])), "{listed:#}");
    super::search::indexed(&scene.ada, organisation).await;
    assert_eq!(data(format!("/organisations/{organisation}/search?q=findable")).await, json!([answer, root]));
}

#[tokio::test]
async fn a_recovered_post_is_what_a_page_shows() {
    let mut scene = scene().await;
    let channel = scene.channel.clone();
    let mut late = Socket::connect(&scene.ada).await;
    let place = late.subscribe(&channel).await;
    late.command("unsubscribe", json!({ "channel": channel })).await;
    let post = scene.ada.say(&channel, "while away").await;
    scene.pushed().await;
    scene.call("PUT", &post, "/reactions/tada").await;
    scene.pushed().await;
    let recovered = late.recover(&channel, &place["epoch"], &place["offset"]).await;
    let publications = recovered["publications"].as_array().unwrap().iter();
    let mut found = publications.map(|publication| &publication["data"]).filter(|data| data["id"] == json!(post));
    assert_eq!(found.next(), Some(&scene.listed().await), "{recovered:#}");
}
