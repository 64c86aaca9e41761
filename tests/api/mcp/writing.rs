//! The tools that post.

use serde_json::json;

use super::{done, each, refusal};
use crate::harness::{Server, text, unknown_id};

#[tokio::test]
async fn a_model_posts_replies_and_reacts_as_its_user() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let general = ada.general(&organisation).await;
    let posted = done(&grace, "post_message", json!({ "channel": "general", "text": "Good *morning*, @ada" })).await;
    let id = text(&posted["id"]);
    assert_eq!([&posted["channel_id"], &posted["thread_id"]], [&general, &id]);
    let replied = done(&ada, "reply", json!({ "thread": id, "text": "Good evening" })).await;
    assert_eq!(replied["thread_id"], id);
    let again = done(&grace, "reply", json!({ "thread": replied["id"], "text": "to a reply" })).await;
    assert_eq!(again["thread_id"], id, "which stands in its thread");
    for _ in 0..2 {
        assert_eq!(done(&ada, "react", json!({ "message": id, "emoji": "👍" })).await, json!({ "id": id, "reactions": "👍 1" }));
    }
    let message = ada.get(&format!("/messages/{id}")).await.expect(200)["data"].take();
    assert_eq!([&message["content"], &message["user_id"]], ["Good *morning*, @ada", &grace.user_id]);
    assert_eq!((&message["message_count"], &message["reactions"][0]["count"]), (&json!(2), &json!(1)));
    assert_eq!(each(&done(&ada, "read_thread", json!({ "thread": id })).await, "text"), ["Good evening", "to a reply"]);
}

#[tokio::test]
async fn a_name_is_looked_up_in_one_organisation() {
    let server = Server::start().await;
    let (_, grace, _) = server.ada_and_grace().await;
    let looms = grace.organisation("Looms").await;
    let general = grace.general(&looms).await;
    let posted = done(&grace, "post_message", json!({ "channel": "general", "organisation": "looms", "text": "warp" })).await;
    assert_eq!(posted["channel_id"], general);
    let elsewhere = json!({ "channel": "general", "organisation": "none", "text": "weft" });
    let refusal = refusal(&grace, "post_message", elsewhere).await;
    assert_eq!(refusal, "Organisation not found. list_channels without an organisation names those of the user");
}

#[tokio::test]
async fn what_the_rules_refuse_is_refused_in_their_words() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let general = ada.general(&organisation).await;
    let post = ada.say(&general, "post").await;
    for (tool, arguments, says) in [
        ("post_message", json!({ "channel": "general", "text": " " }), "content "),
        ("post_message", json!({ "channel": "none", "text": "x" }), "Channel not found. list_channels names"),
        ("post_message", json!({ "channel": unknown_id(), "text": "x" }), "Channel not found. list_channels names"),
        ("reply", json!({ "thread": unknown_id(), "text": "x" }), "Message not found. Take the id from"),
        ("react", json!({ "message": unknown_id(), "emoji": "👍" }), "Message not found. Take the id from"),
        ("react", json!({ "message": post, "emoji": "a b" }), "emoji "),
    ] {
        let refusal = refusal(&grace, tool, arguments.clone()).await;
        assert!(refusal.starts_with(says), "{tool} {arguments}: {refusal}");
    }
    ada.channel(&organisation, "elsewhere", &[]).await;
    let outside = refusal(&grace, "post_message", json!({ "channel": "elsewhere", "text": "x" })).await;
    assert_eq!(outside, "You are not a member of this channel. The user has to join it first");
    assert_eq!(server.count("messages"), 1);
}
