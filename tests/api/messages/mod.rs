//! Messages: posting, editing, listing them.

mod deleting;
mod followed_threads;
mod many_threads;
mod own_threads;
mod pages;
pub mod posting;
mod reactions;
pub mod search;
mod shown;
mod single;
mod threads;

use serde_json::{Value, json};
use tidings::error::Code;

use crate::{
    harness::{Client, Reply, Server, blob, text, unknown_id},
    shapes::{MESSAGE, assert_shape},
};

fn path(channel: &str) -> String {
    format!("/channels/{channel}/messages")
}

async fn post(client: &Client, channel: &str, body: Value) -> Reply {
    client.post(&path(channel), body).await
}

async fn edit(client: &Client, channel: &str, body: Value) -> Reply {
    client.put(&path(channel), body).await
}

async fn contents(client: &Client, channel: &str, query: &str) -> Vec<String> {
    let body = client.get(&format!("{}{query}", path(channel))).await.expect(200);
    body["messages"].as_array().unwrap().iter().map(|message| text(&message["content"])).collect()
}

#[tokio::test]
async fn a_post_is_a_thread_of_its_own() {
    let server = Server::start().await;
    let (_, grace, organisation) = server.ada_and_grace().await;
    let channel = grace.general(&organisation).await;
    let made =
        post(&grace, &channel, json!({ "content": "  Hello,\nworld 🌍 " })).await.data(201, "Message created successfully");
    assert_shape(&made, MESSAGE);
    assert_eq!([&made["content"], &made["message"]], ["  Hello,\nworld 🌍 "; 2]);
    assert_eq!([&made["channel_id"], &made["user_id"], &made["username"]], [&channel, &grace.user_id, "grace"]);
    assert_eq!(made["thread_id"], made["id"]);
    let read = grace.get(&path(&channel)).await.expect(200);
    assert_eq!(read.as_object().unwrap().len(), 1, "bare: {read}");
    assert_shape(&read["messages"][0], MESSAGE);
    assert_eq!([&read["messages"][0]["id"], &read["messages"][0]["content"]], [&made["id"], &made["content"]]);
}

#[tokio::test]
async fn a_reply_belongs_to_its_thread_and_is_not_listed_on_top() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.general(&organisation).await;
    let thread = ada.say(&channel, "post").await;
    let reply = post(&grace, &channel, json!({ "content": "reply", "thread_id": thread })).await.expect(201)["data"].take();
    assert_shape(&reply, MESSAGE);
    assert_eq!(reply["thread_id"], thread);
    assert_ne!(reply["id"], thread);
    assert_eq!(contents(&ada, &channel, "").await, ["post"]);

    let other = ada.channel(&organisation, "other", &[]).await;
    let foreign = ada.say(&other, "elsewhere").await;
    for thread in [unknown_id(), foreign] {
        post(&ada, &channel, json!({ "content": "reply", "thread_id": thread })).await.expect(404);
    }
    post(&ada, &channel, json!({ "content": "reply", "thread_id": "no-uuid" })).await.expect(400);
}

#[tokio::test]
async fn faulty_content_is_refused() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let channel = ada.general(&ada.organisation("Engines").await).await;
    let kept = ada.say(&channel, "kept").await;
    for content in ["", "   ", "\n\t\u{2003}", &"x".repeat(40_001), &"é".repeat(40_001)] {
        post(&ada, &channel, json!({ "content": content })).await.expect(422);
        edit(&ada, &channel, json!({ "content": content, "message_id": kept })).await.expect(422);
    }
    for body in [json!({}), json!({ "content": 7 }), json!({ "content": null }), json!({ "content": ["x"] })] {
        post(&ada, &channel, body.clone()).await.expect(400);
        edit(&ada, &channel, body).await.expect(400);
    }
    post(&ada, &channel, json!({ "content": "x", "id": "no-uuid" })).await.expect(400);
    edit(&ada, &channel, json!({ "content": "x", "message_id": "no-uuid" })).await.expect(400);
    ada.call_text("POST", &path(&channel), "{").await.expect(400);
    assert_eq!(contents(&ada, &channel, "").await, ["kept"]);
    for content in ["x".repeat(40_000), "é".repeat(40_000)] {
        assert_eq!(post(&ada, &channel, json!({ "content": content })).await.expect(201)["data"]["content"], content);
    }
}

#[tokio::test]
async fn only_members_of_the_channel_with_the_right_to_post_post() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (guest, outsider) = (server.member(&ada, &organisation, "guest", "guest").await, server.user("outsider").await);
    let general = ada.general(&organisation).await;
    let (public, private) =
        (ada.channel(&organisation, "public", &[]).await, grace.private_channel(&organisation, "private", &[]).await);
    let hello = json!({ "content": "hello" });
    let unknown = post(&ada, &unknown_id(), hello.clone()).await.expect(403);
    assert_eq!(unknown, post(&ada, &private, hello.clone()).await.expect(403), "no exception for the owner of all");
    assert_eq!(unknown, post(&outsider, &general, hello.clone()).await.expect(403));
    post(&grace, &public, hello.clone()).await.expect(403);
    post(&guest, &general, hello.clone()).await.expect(403);
    post(&ada, "no-uuid", hello.clone()).await.expect(400);
    post(&server.anonymous(), &general, hello.clone()).await.expect(401);
    server.sql(&format!("update channels set archived_at = created_at where id = {}", blob(&public)));
    post(&ada, &public, hello.clone()).await.expect(403);
    server.sql(&format!("update organisation_members set status = 'deactivated' where user_id = {}", blob(&grace.user_id)));
    assert_eq!(unknown, post(&grace, &general, hello).await.expect(403));
    assert_eq!(contents(&ada, &general, "").await.len(), 0);
}

#[tokio::test]
async fn only_members_of_the_channel_read() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let guest = server.member(&ada, &organisation, "guest", "guest").await;
    let public = grace.channel(&organisation, "public", &[]).await;
    grace.say(&public, "hello").await;
    ada.get(&path(&public)).await.expect(403);
    guest.get(&path(&public)).await.expect(404);
    let general = ada.general(&organisation).await;
    ada.say(&general, "for all").await;
    assert_eq!(contents(&guest, &general, "").await, ["for all"]);
    server.sql(&format!("update channels set archived_at = created_at where id = {}", blob(&public)));
    assert_eq!(contents(&grace, &public, "").await, ["hello"], "archived channels stay readable");
}

#[tokio::test]
async fn a_repeated_post_is_known_by_its_id() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (channel, other) = (ada.general(&organisation).await, ada.channel(&organisation, "other", &[]).await);
    let id = unknown_id();
    let body = json!({ "content": "once", "id": id });
    let first = post(&ada, &channel, body.clone()).await.data(201, "Message created successfully");
    assert_eq!(first["id"], id);
    assert_eq!(first, post(&ada, &channel, body.clone()).await.data(201, "Message created successfully"));
    let changed = json!({ "content": "twice", "id": id });
    assert_eq!(first, post(&ada, &channel, changed).await.data(201, "Message created successfully"));

    let taken = post(&grace, &channel, body.clone()).await.expect(422);
    assert!(!taken.to_string().contains("once"), "nothing is shown: {taken}");
    post(&ada, &other, body).await.expect(422);
    assert_eq!(contents(&ada, &channel, "").await, ["once"]);
    assert_eq!(contents(&ada, &other, "").await.len(), 0);
}

#[tokio::test]
async fn a_post_under_the_id_of_a_channel_an_organisation_or_a_user_is_refused() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (channel, private) = (ada.general(&organisation).await, ada.private_channel(&organisation, "secret", &[]).await);
    // A thread's id is the name of its stream: one that is a foreign channel's or a user's would open that to its author.
    for id in [&private, &organisation, &ada.user_id, &grace.user_id] {
        post(&grace, &channel, json!({ "content": "mine", "id": id })).await.refused(422, Code::IdTaken);
        grace
            .post(&format!("/threads/{channel}"), json!({ "content": "mine", "thread_id": id }))
            .await
            .refused(422, Code::IdTaken);
    }
    let own = grace.say(&channel, "mine").await;
    server.sql(&format!("update messages set id = {} where id = {}", blob(&ada.user_id), blob(&own)));
    grace.post("/token/subscription", json!({ "channel": ada.user_id })).await.expect(403);
}

#[tokio::test]
async fn an_author_edits_their_message() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.general(&organisation).await;
    let (first, _second) = (grace.say(&channel, "first").await, grace.say(&channel, "second").await);
    let thread = ada.say(&channel, "thread").await;
    let reply = grace.reply(&channel, &thread, "reply").await;

    let edited =
        edit(&grace, &channel, json!({ "content": "1st", "message_id": first })).await.data(200, "Message updated successfully");
    assert_shape(&edited, MESSAGE);
    assert_eq!([&edited["id"], &edited["content"], &edited["channel_id"]], [first.as_str(), "1st", &channel]);
    edit(&grace, &channel, json!({ "content": "2nd" })).await.expect(200);
    assert_eq!(contents(&ada, &channel, "").await, ["thread", "2nd", "1st"], "the latest post, not the reply");
    let last = edit(&grace, &channel, json!({ "content": "re-reply", "thread_id": thread })).await.expect(200);
    assert_eq!([&last["data"]["id"], &last["data"]["content"]], [reply.as_str(), "re-reply"]);
}

#[tokio::test]
async fn nobody_edits_the_message_of_somebody_else() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let outsider = server.user("outsider").await;
    let channel = grace.channel(&organisation, "news", &[&ada]).await;
    let message = grace.say(&channel, "mine").await;
    let body = json!({ "content": "hers", "message_id": message });
    edit(&ada, &channel, body.clone()).await.refused(403, Code::AuthorOnly);
    edit(&ada, &channel, json!({ "content": "x" })).await.expect(404);
    edit(&ada, &channel, json!({ "content": "x", "message_id": unknown_id() })).await.expect(404);
    let foreign = edit(&outsider, &channel, body.clone()).await.expect(403);
    assert_eq!(foreign, edit(&ada, &unknown_id(), body.clone()).await.expect(403));
    edit(&server.anonymous(), &channel, body.clone()).await.expect(401);
    grace.call("POST", &format!("/channels/{channel}/leave"), None).await.expect(200);
    edit(&grace, &channel, body.clone()).await.expect(403);
    grace.call("POST", &format!("/channels/{channel}/join"), None).await.expect(200);
    server.sql(&format!("update channels set archived_at = created_at where id = {}", blob(&channel)));
    edit(&grace, &channel, body).await.expect(403);
    assert_eq!(contents(&ada, &channel, "").await, ["mine"]);
}

#[tokio::test]
async fn messages_are_listed_newest_first_in_pages() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let channel = ada.general(&ada.organisation("Engines").await).await;
    let mut ids = Vec::new();
    for number in 0..60 {
        ids.push(ada.say(&channel, &number.to_string()).await);
    }
    let numbers = |range: std::ops::Range<usize>| -> Vec<String> { range.rev().map(|number| number.to_string()).collect() };
    assert_eq!(contents(&ada, &channel, "").await, numbers(10..60));
    assert_eq!(contents(&ada, &channel, "?limit=3").await, numbers(57..60));
    assert_eq!(contents(&ada, &channel, "?limit=100000").await, numbers(0..60));
    assert_eq!(contents(&ada, &channel, &format!("?limit=2&before={}", ids[10])).await, numbers(8..10));
    assert_eq!(contents(&ada, &channel, &format!("?before={}", ids[0])).await, numbers(0..0));
    assert_eq!(contents(&ada, &channel, &format!("?after={}", ids[57])).await, numbers(58..60));
    assert_eq!(contents(&ada, &channel, &format!("?after={}", ids[59])).await, numbers(0..0));
    assert_eq!(
        contents(&ada, &channel, &format!("?limit=2&after={}", ids[10])).await,
        numbers(11..13),
        "the ones that follow it"
    );
    for query in ["?limit=0", "?limit=x", "?limit=-1", "?before=x", "?after=x", "?before="] {
        ada.get(&format!("{}{query}", path(&channel))).await.expect(400);
    }
    ada.get(&format!("{}?before={}", path(&channel), unknown_id())).await.expect(404);
}
