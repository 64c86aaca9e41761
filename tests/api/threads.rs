//! Threads of a channel and of an organisation.

use serde_json::{Value, json};

use crate::{
    harness::{Client, Server, text, unknown_id},
    shapes::{THREAD, THREAD_MESSAGE, assert_shape},
};

async fn of_channel(client: &Client, channel: &str, query: &str) -> Value {
    client.get(&format!("/threads/channels/{channel}{query}")).await.data(200, "Data retrieved successfully")
}

async fn of_organisation(client: &Client, organisation: &str, query: &str) -> Value {
    client.get(&format!("/threads/organisations/{organisation}{query}")).await.data(200, "Data retrieved successfully")
}

fn contents(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|item| text(&item["content"])).collect()
}

#[tokio::test]
async fn a_thread_is_a_post_with_its_replies() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    server.sql("update users set first_name = 'Ada', last_name = 'Lovelace' where username = 'ada'");
    let channel = ada.general(&organisation).await;
    let thread = ada.say(&channel, "post for @grace").await;
    let reply = grace.reply(&channel, &thread, "reply").await;

    let listed = of_channel(&grace, &channel, "").await;
    assert_eq!(listed, of_organisation(&grace, &organisation, "").await);
    let listed = &listed[0];
    assert_shape(listed, THREAD);
    assert_eq!([&listed["thread_id"], &listed["channels_id"], &listed["channel_name"]], [&thread, &channel, "general"]);
    assert_eq!([&listed["content"], &listed["message"]], ["post for @grace"; 2]);
    assert_eq!([&listed["username"], &listed["full_name"], &listed["user_id"]], ["ada", "Ada Lovelace", &ada.user_id]);
    assert_eq!([&listed["email"], &listed["event_name"], &listed["action_type"]], [&ada.email, "", ""]);
    assert_eq!([&listed["type"], &listed["status"], &listed["current_status"]], ["message", "success", "pending"]);
    assert_eq!(listed["mentions"], json!([{ "id": grace.user_id, "type": "user", "username": "grace" }]));
    assert_eq!([&listed["edited"], &listed["message_count"]], [&json!(false), &json!(1)]);

    let message = &listed["messages"][0];
    assert_shape(message, THREAD_MESSAGE);
    assert_eq!([&message["id"], &message["thread_id"], &message["user_id"]], [&reply, &thread, &grace.user_id]);
    assert_eq!([&message["content"], &message["username"]], ["reply", "grace"]);
    assert_eq!(listed["last_reply"], message["created_at"]);
}

#[tokio::test]
async fn a_thread_without_replies_says_so() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let channel = ada.general(&organisation).await;
    assert_eq!(of_channel(&ada, &channel, "").await, json!([]));
    ada.say(&channel, "alone").await;
    let listed = &of_channel(&ada, &channel, "").await[0];
    assert_eq!([&listed["messages"], &listed["message_count"]], [&json!([]), &json!(0)]);
    assert_eq!(listed["last_reply"], "0001-01-01T00:00:00Z");
    assert_eq!(listed["mentions"], json!([]));
}

#[tokio::test]
async fn an_edit_shows() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let channel = ada.general(&organisation).await;
    ada.say(&channel, "typo").await;
    ada.put(&format!("/channels/{channel}/messages"), json!({ "content": "@channel no typo" })).await.expect(200);
    let listed = &of_channel(&ada, &channel, "").await[0];
    assert_eq!([&listed["content"], &listed["edited"]], [&json!("@channel no typo"), &json!(true)]);
    assert_eq!([&listed["mentions"][0]["type"], &listed["mentions"][0]["username"]], ["channel", "channel"]);
}

#[tokio::test]
async fn the_latest_activity_comes_first() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (general, news) = (ada.general(&organisation).await, ada.channel(&organisation, "news", &[]).await);
    let one = ada.say(&general, "one").await;
    ada.say(&general, "two").await;
    ada.say(&news, "three").await;
    assert_eq!(contents(&of_organisation(&ada, &organisation, "").await), ["three", "two", "one"]);
    grace.reply(&general, &one, "up").await;
    assert_eq!(contents(&of_organisation(&ada, &organisation, "").await), ["one", "three", "two"]);
    assert_eq!(contents(&of_channel(&ada, &general, "").await), ["one", "two"]);
    assert_eq!(contents(&of_organisation(&grace, &organisation, "").await), ["one", "two"], "her channels only");
}

#[tokio::test]
async fn threads_and_replies_come_in_pages() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let channel = ada.general(&organisation).await;
    for number in 0..5 {
        ada.say(&channel, &number.to_string()).await;
    }
    let thread = ada.say(&channel, "long").await;
    for number in 0..7 {
        ada.reply(&channel, &thread, &format!("reply {number}")).await;
    }
    for query in ["?page=2&limit=2", "?limit=2&page=2&messages=1"] {
        assert_eq!(contents(&of_channel(&ada, &channel, query).await), ["3", "2"]);
        assert_eq!(contents(&of_organisation(&ada, &organisation, query).await), ["3", "2"]);
    }
    assert_eq!(contents(&of_channel(&ada, &channel, "?page=4&limit=2").await).len(), 0);
    assert_eq!(contents(&of_channel(&ada, &channel, "?limit=100000").await).len(), 6);

    let replies = async |query: &str| {
        let listed = of_channel(&ada, &channel, query).await;
        assert_eq!(listed[0]["message_count"], 7, "all of them are counted");
        contents(&listed[0]["messages"])
    };
    assert_eq!(replies("").await, ["reply 2", "reply 3", "reply 4", "reply 5", "reply 6"]);
    assert_eq!(replies("?messages=1").await, ["reply 6"]);
    assert_eq!(replies("?messages=200").await.len(), 7);
}

#[tokio::test]
async fn faulty_pages_are_refused() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let channel = ada.general(&organisation).await;
    for query in ["?page=0", "?page=x", "?limit=0", "?limit=-1", "?messages=x"] {
        ada.get(&format!("/threads/channels/{channel}{query}")).await.expect(400);
        ada.get(&format!("/threads/organisations/{organisation}{query}")).await.expect(400);
    }
    ada.get("/threads/channels/no-uuid").await.expect(400);
    ada.get("/threads/organisations/no-uuid").await.expect(400);
}

#[tokio::test]
async fn an_outsider_reads_no_threads() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let outsider = server.user("outsider").await;
    let public = ada.channel(&organisation, "public", &[]).await;
    let private = ada.private_channel(&organisation, "private", &[]).await;
    ada.say(&public, "public").await;
    ada.say(&private, "private").await;
    let channel = |id: &str| format!("/threads/channels/{id}");
    let unknown = ada.get(&channel(&unknown_id())).await.expect(404);
    assert_eq!(unknown, grace.get(&channel(&private)).await.expect(404));
    assert_eq!(unknown, outsider.get(&channel(&public)).await.expect(404));
    grace.get(&channel(&public)).await.expect(403);
    server.anonymous().get(&channel(&public)).await.expect(401);

    let all = |id: &str| format!("/threads/organisations/{id}");
    let unknown = ada.get(&all(&unknown_id())).await.expect(404);
    assert_eq!(unknown, outsider.get(&all(&organisation)).await.expect(404));
    server.anonymous().get(&all(&organisation)).await.expect(401);
    assert_eq!(of_organisation(&grace, &organisation, "").await, json!([]));
}
