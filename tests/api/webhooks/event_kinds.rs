//! The kinds of events that a webhook chooses.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tidings::error::Code;

use super::{
    scene,
    scene::{Scene, fed},
};
use crate::{
    harness::{Client, text},
    receiver::{Hook, Receiver},
    shapes::assert_delivered,
    socket::Socket,
};

const ALL: [&str; 12] = [
    "message.created",
    "message.updated",
    "message.deleted",
    "reaction.added",
    "reaction.removed",
    "member.joined",
    "member.left",
    "channel.updated",
    "channel.archived",
    "channel.unarchived",
    "action.clicked",
    "channel.created",
];
/// Those of messages.
const MESSAGES: &[&str] = ALL.split_at(5).0;

/// A webhook of Ada's that delivers these kinds, and its receiver.
async fn choosing(scene: &Scene, events: &[&str]) -> (Receiver, Hook) {
    let receiver = Receiver::start(&[200]).await;
    let body = json!({ "webhook_name": "mirror", "webhook_url": receiver.url, "events": events });
    let hook = scene.ada.hook_with(&scene.channel, body).await;
    (receiver, hook)
}

/// The next deliveries by their kind, since two may be on their way at once.
async fn by_kind(receiver: &mut Receiver, count: usize) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for _ in 0..count {
        let event = receiver.next().await.json();
        found.insert(text(&event["type"]), event);
    }
    assert_eq!(found.len(), count, "{found:?}");
    found
}

/// What is done to a message, each with the kind of its event: an edit, a reaction that is taken back, and the deletion.
const STEPS: [(&str, &str); 4] =
    [("PUT", "message.updated"), ("PUT", "reaction.added"), ("DELETE", "reaction.removed"), ("DELETE", "message.deleted")];

async fn step(scene: &Scene, message: &str, (method, kind): (&str, &str)) {
    let path = format!("/channels/{}/messages", scene.channel);
    let reaction = format!("{path}/{message}/reactions/tada");
    let (path, body) = match kind {
        "message.updated" => (path, json!({ "message_id": message, "content": "At last!" })),
        "message.deleted" => (format!("{path}/{message}"), Value::Null),
        _ => (reaction, Value::Null),
    };
    scene.ada.call(method, &path, Some(body)).await.expect(200);
}

async fn everything(scene: &Scene, message: &str) {
    for each in STEPS {
        step(scene, message, each).await;
    }
}

#[tokio::test]
async fn what_happens_to_a_message_is_delivered_to_a_webhook_that_has_chosen_it() {
    let scene = scene().await;
    let (mut receiver, _hook) = choosing(&scene, MESSAGES).await;
    let mut socket = Socket::listening(&scene.ada, &[&scene.channel]).await;
    let post = scene.say("The engine has arrived").await;
    let reply = scene.ada.reply(&scene.channel, &post, "At last").await;
    for kind in [ALL[0]; 2] {
        let event = receiver.next().await.json();
        assert_eq!(event["type"], kind);
    }
    _ = (socket.on(&scene.channel).await, socket.on(&scene.channel).await);
    for message in [&reply, &post] {
        for each in STEPS {
            step(&scene, message, each).await;
            let event = receiver.next().await.json();
            assert_delivered(&event);
            assert_eq!(event["type"], each.1);
            assert_eq!(event["data"], socket.on(&scene.channel).await["data"], "as it is pushed");
            let id = if event["data"]["id"].is_null() { &event["data"]["message_id"] } else { &event["data"]["id"] };
            assert_eq!(id, message);
        }
    }
    scene.server.followed().await;
    assert!(receiver.is_empty(), "a reply's events are delivered once");
}

#[tokio::test]
async fn nothing_else_is_delivered_than_what_is_chosen() {
    let scene = scene().await;
    let (mut by_default, _hook) = scene.receiver(&[200]).await;
    let (mut reactions, hook) = choosing(&scene, &["reaction.removed"]).await;
    let post = scene.say("The engine has arrived").await;
    everything(&scene, &post).await;
    assert_eq!(by_default.next().await.json()["type"], "message.created");
    let event = reactions.next().await.json();
    assert_eq!(
        [&event["type"], &event["data"]["action"], &event["data"]["count"]],
        [&json!("reaction.removed"), &json!("removed"), &json!(0)]
    );
    scene.server.followed().await;
    assert!(by_default.is_empty() && reactions.is_empty());
    // What was chosen before the change is delivered, what was not chosen then isn't.
    let posted = scene.say("The second one").await;
    scene.ada.put(&hook.path(""), json!({ "events": ["message.created", "message.deleted"] })).await.expect(200);
    scene.say("The third one").await;
    scene.ada.delete(&format!("/channels/{}/messages/{posted}", scene.channel)).await.expect(200);
    let delivered = by_kind(&mut reactions, 2).await;
    assert_eq!(delivered["message.created"]["data"]["content"], "The third one");
    let deleted = &delivered["message.deleted"]["data"];
    assert_eq!([&deleted["id"], &deleted["content"]], [&*posted, ""]);
}

#[tokio::test]
async fn of_what_programs_have_fed_only_reactions_are_delivered() {
    let (scene, feeding) = fed().await;
    let (mut receiver, _hook) = choosing(&scene, MESSAGES).await;
    let sent = scene.ada.post(&feeding.feed, json!({ "message": "main is green" })).await.expect(200);
    everything(&scene, &text(&sent["message_id"])).await;
    let delivered = by_kind(&mut receiver, 2).await;
    assert!(delivered.contains_key("reaction.added") && delivered.contains_key("reaction.removed"), "{delivered:?}");
    scene.server.followed().await;
    assert!(receiver.is_empty());
}

#[tokio::test]
async fn a_deleted_message_leaves_no_text_in_any_of_its_events() {
    let scene = scene().await;
    let (mut receiver, hook) = choosing(&scene, MESSAGES).await;
    hook.set("paused").await;
    let post = scene.say("a slip of the pen").await;
    everything(&scene, &post).await;
    scene.server.followed().await;
    assert_eq!(scene.server.count("webhook_events where payload like '%slip%' or payload like '%At last%'"), 0);
    hook.set("active").await;
    for (kind, event) in by_kind(&mut receiver, MESSAGES.len()).await {
        assert!(kind.starts_with("reaction") || event["data"]["content"] == "", "{event}");
    }
}

#[tokio::test]
async fn kinds_are_listed_and_unknown_ones_refused() {
    let scene = scene().await;
    let path = format!("/webhooks/{}", scene.channel);
    let new = |events: Value| json!({ "webhook_name": "mirror", "events": events });
    let made = scene.ada.post(&path, json!({ "webhook_name": "mirror" })).await.expect(201);
    assert_eq!(made["data"]["events"], json!(["message.created"]));
    let made = scene.ada.post(&path, new(json!(["reaction.added", "message.created", "reaction.added"]))).await.expect(201);
    assert_eq!(made["data"]["events"], json!(["message.created", "reaction.added"]), "in the order of the list");
    let changed = format!("{path}/{}", text(&made["data"]["id"]));
    for (events, status, code) in [
        (json!([]), 422, Code::Empty),
        (json!(["webhook.test"]), 422, Code::InvalidValue),
        (json!(["message"]), 422, Code::InvalidValue),
        (json!([""]), 422, Code::InvalidValue),
        (json!([&ALL[..], &ALL[..1]].concat()), 422, Code::TooManyItems),
        (json!("message.created"), 400, Code::InvalidValue),
    ] {
        scene.ada.post(&path, new(events.clone())).await.refused(status, code);
        scene.ada.put(&changed, json!({ "events": events })).await.refused(status, code);
    }
    let kept = scene.ada.put(&changed, json!({ "webhook_name": "other" })).await.expect(200);
    assert_eq!(kept["data"]["events"], json!(["message.created", "reaction.added"]));
    let all = scene.ada.put(&changed, json!({ "events": ALL })).await.expect(200);
    assert_eq!(all["data"]["events"], json!(ALL));
}

#[tokio::test]
async fn only_messages_that_begin_with_a_trigger_word_are_delivered() {
    let scene = scene().await;
    let (mut receiver, hook) = choosing(&scene, MESSAGES).await;
    scene.ada.put(&hook.path(""), json!({ "trigger_words": ["Deploy", "at last"] })).await.expect(200);
    let post = scene.say("The engine: deploy it").await;
    scene.ada.reply(&scene.channel, &post, "deployed").await;
    scene.ada.reply(&scene.channel, &post, "DEPLOY: the engine").await;
    assert_eq!(receiver.next().await.json()["data"]["content"], "DEPLOY: the engine");
    // Its new text begins with a word, what else happens to it shows no text.
    for each in STEPS {
        step(&scene, &post, each).await;
        assert_eq!(receiver.next().await.json()["type"], each.1);
    }
    scene.ada.put(&hook.path(""), json!({ "trigger_words": [] })).await.expect(200);
    scene.say("anything").await;
    assert_eq!(receiver.next().await.json()["data"]["content"], "anything");
    scene.server.followed().await;
    assert!(receiver.is_empty());
}

#[tokio::test]
async fn trigger_words_are_bounded() {
    let scene = scene().await;
    let path = format!("/webhooks/{}", scene.channel);
    let new = |words: &Value| json!({ "webhook_name": "mirror", "trigger_words": words });
    let made = scene.ada.post(&path, json!({ "webhook_name": "mirror" })).await.expect(201);
    assert_eq!(made["data"]["trigger_words"], json!([]));
    let changed = format!("{path}/{}", text(&made["data"]["id"]));
    for words in [json!(["ä".repeat(50)]), json!(vec!["!go"; 20]), json!([" two words "])] {
        let found = scene.ada.post(&path, new(&words)).await.expect(201);
        let kept = scene.ada.put(&changed, json!({ "trigger_words": words })).await.expect(200);
        assert_eq!(found["data"]["trigger_words"], kept["data"]["trigger_words"]);
        assert_eq!(text(&kept["data"]["trigger_words"][0]), text(&words[0]).trim());
    }
    for (words, status, code) in [
        (json!(["ä".repeat(51)]), 422, Code::TooLong),
        (json!(vec!["!go"; 21]), 422, Code::TooManyItems),
        (json!([""]), 422, Code::Empty),
        (json!(["two\nlines"]), 422, Code::InvalidCharacters),
        (json!("deploy"), 400, Code::InvalidValue),
    ] {
        scene.ada.post(&path, new(&words)).await.refused(status, code);
        scene.ada.put(&changed, json!({ "trigger_words": words })).await.refused(status, code);
    }
    let kept = scene.ada.put(&changed, json!({ "webhook_name": "other" })).await.expect(200);
    assert_eq!(kept["data"]["trigger_words"], json!(["two words"]));
}

#[tokio::test]
async fn what_happens_to_a_channel_and_its_members_is_delivered_to_a_webhook_that_has_chosen_it() {
    let scene = scene().await;
    let (mut receiver, hook) = choosing(&scene, &ALL[5..]).await;
    let (mut messages, _hook) = choosing(&scene, MESSAGES).await;
    let mut socket = Socket::listening(&scene.ada, &[&scene.channel]).await;
    let channel = format!("/channels/{}", scene.channel);
    let grace = scene.server.member(&scene.ada, &scene.organisation, "newcomer", "member").await;
    let call = async |who: &Client, method: &str, path: &str, body: Value| {
        who.call(method, &format!("{channel}{path}"), Some(body)).await.expect(200);
    };
    let steps = [
        (&scene.ada, "POST", "/users", json!({ "user_ids": [grace.user_id] }), "member.joined"),
        (&scene.ada, "PATCH", "", json!({ "topic": "Six bells" }), "channel.updated"),
        (&grace, "POST", "/leave", json!({}), "member.left"),
        (&scene.ada, "PUT", "/archive", json!({ "archived": true }), "channel.archived"),
        (&scene.ada, "PUT", "/archive", json!({ "archived": false }), "channel.unarchived"),
    ];
    for (who, method, path, body, kind) in steps {
        call(who, method, path, body).await;
        let event = receiver.next().await.json();
        assert_delivered(&event);
        assert_eq!(event["type"], kind);
        assert_eq!(event["data"], socket.on(&scene.channel).await["data"], "as it is pushed");
        let about = if kind.starts_with("member") { &grace.user_id } else { &scene.ada.user_id };
        assert_eq!([&event["data"]["user_id"], &event["data"]["channels_id"]], [about, &scene.channel]);
    }
    // Another name in the channel is told to clients alone.
    call(&scene.ada, "PATCH", "/username", json!({ "username": "countess" })).await;
    scene.ada.put(&hook.path(""), json!({ "events": ["member.left"] })).await.expect(200);
    call(&scene.ada, "PATCH", "", json!({ "topic": "Eight bells" })).await;
    scene.server.followed().await;
    assert!(receiver.is_empty() && messages.is_empty());
    scene.say("The engine has arrived").await;
    assert_eq!(messages.next().await.json()["type"], "message.created");
}

#[tokio::test]
async fn a_file_that_is_taken_out_of_a_message_is_delivered_as_its_update() {
    let scene = scene().await;
    let (mut receiver, _hook) = choosing(&scene, &["message.updated"]).await;
    let file = scene.ada.upload_one("plan.txt", b"A plan").await;
    let path = format!("/channels/{}/messages", scene.channel);
    let posted = scene.ada.post(&path, json!({ "content": "The plan", "files": [file] })).await.expect(201);
    scene.ada.delete(&format!("/files/file/{file}")).await.expect(200);
    let event = receiver.next().await.json();
    assert_delivered(&event);
    assert_eq!([&event["type"], &event["data"]["id"]], [&json!("message.updated"), &posted["data"]["id"]]);
    assert_eq!([&event["data"]["content"], &event["data"]["media"]], [&json!("The plan"), &json!([])]);
}
