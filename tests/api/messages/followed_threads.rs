//! Leaving threads, and following them again.

use serde_json::json;

use super::own_threads::{channel, own, read, told};
use crate::{
    harness::{Client, Server},
    socket::Socket,
};

/// Whether the caller follows a thread, as it says of itself.
async fn follows(client: &Client, thread: &str) -> bool {
    client.get(&format!("/threads/{thread}")).await.expect(200)["data"]["is_followed"].as_bool().unwrap()
}

async fn follow(client: &Client, thread: &str) {
    let answer = client.put(&format!("/threads/{thread}/follow"), json!({})).await.expect(200)["data"].take();
    assert_eq!(answer, json!({ "thread_id": thread, "is_followed": true }));
}

async fn leave(client: &Client, thread: &str) {
    let answer = client.delete(&format!("/threads/{thread}/follow")).await.expect(200)["data"].take();
    assert_eq!(answer, json!({ "thread_id": thread, "is_followed": false }));
}

#[tokio::test]
async fn a_thread_that_was_left_calls_nobody_until_it_is_followed_again() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let news = ada.channel(&organisation, "news", &[&grace]).await;
    let thread = ada.say(&news, "hello").await;
    grace.reply(&news, &thread, "one").await;
    ada.reply(&news, &thread, "two, @grace").await;
    assert_eq!(own(&grace, &organisation).await, [(thread.clone(), 1, 1)]);
    let personal = grace.personal(&organisation);
    let mut socket = Socket::listening(&grace, &[&personal]).await;
    leave(&grace, &thread).await;
    let change = told(&mut socket, &personal, "thread_unread").await;
    assert_eq!(
        [&change["is_followed"], &change["unread_count"], &change["mention_count"]],
        [&json!(false), &json!(0), &json!(0)]
    );
    assert_eq!(told(&mut socket, &personal, "unread_thread_change").await["mention_count"], 0, "it calls her no more");
    leave(&grace, &thread).await;
    let last = ada.reply(&news, &thread, "three").await;
    assert_eq!(own(&grace, &organisation).await, []);
    assert!(!follows(&grace, &thread).await && follows(&ada, &thread).await);
    // Reading is no wish to follow.
    assert_eq!(read(&grace, &thread, json!({})).await["unread_count"], 0);
    assert_eq!(own(&grace, &organisation).await, []);

    follow(&grace, &thread).await;
    let change = told(&mut socket, &personal, "thread_unread").await;
    assert_eq!([&change["is_followed"], &change["last_read_id"]], [&json!(true), &json!(last)], "the second leave told nothing");
    assert_eq!(own(&grace, &organisation).await, [(thread.clone(), 0, 0)], "what came meanwhile is read");
    ada.reply(&news, &thread, "four").await;
    assert_eq!(own(&grace, &organisation).await, [(thread, 1, 0)]);
}

#[tokio::test]
async fn who_is_meant_or_writes_follows_a_thread_again_and_whoever_leaves_first_is_not_called_at_all() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let news = ada.channel(&organisation, "news", &[&grace]).await;
    let thread = ada.say(&news, "hello @grace").await;
    // Before the first reply, too, by whom it would belong to; and it can be followed by whom it would not.
    leave(&ada, &thread).await;
    let bob = server.member(&ada, &organisation, "bob", "member").await;
    bob.post(&format!("/channels/{news}/join"), json!({})).await.expect(200);
    follow(&bob, &thread).await;
    grace.reply(&news, &thread, "one").await;
    assert_eq!(own(&ada, &organisation).await, []);
    assert_eq!(own(&bob, &organisation).await, [(thread.clone(), 1, 0)]);

    let reply = grace.reply(&news, &thread, "two, @ada").await;
    assert_eq!(own(&ada, &organisation).await, [(thread.clone(), 1, 1)], "from the mention on");
    leave(&ada, &thread).await;
    let edit = async |content: &str| {
        grace.put(&format!("/channels/{news}/messages"), json!({ "message_id": reply, "content": content })).await.expect(200)
    };
    edit("two, as I said, @ada").await;
    assert_eq!(own(&ada, &organisation).await, [], "she was meant before she left");
    edit("two").await;
    edit("two, @ada after all").await;
    assert_eq!(own(&ada, &organisation).await, [(thread.clone(), 0, 0)], "what came before she left is read");
    leave(&ada, &thread).await;
    edit("two, @channel").await;
    assert_eq!(own(&ada, &organisation).await, [], "everybody is nobody by name");
    edit("two, @ada again").await;
    assert_eq!(own(&ada, &organisation).await, [(thread.clone(), 0, 0)]);
    leave(&ada, &thread).await;
    let later = grace.reply(&news, &thread, "for @channel").await;
    let names_her = json!({ "message_id": later, "content": "for @ada" });
    grace.put(&format!("/channels/{news}/messages"), names_her).await.expect(200);
    assert_eq!(own(&ada, &organisation).await, [(thread.clone(), 1, 1)], "she has not seen this one");
    leave(&ada, &thread).await;
    assert_eq!(channel(&ada, &news).await.1, 0, "nothing is left that she could not clear");
    ada.reply(&news, &thread, "three").await;
    assert_eq!(own(&ada, &organisation).await, [(thread.clone(), 0, 0)]);
    leave(&ada, &thread).await;
    assert_eq!(read(&ada, &thread, json!({ "unread_from": reply })).await["unread_count"], 3);
    assert_eq!(own(&ada, &organisation).await, [(thread, 3, 2)]);
}

#[tokio::test]
async fn history_in_pages_tells_of_a_thread_that_was_left_though_it_went_on() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let news = ada.channel(&organisation, "news", &[&grace]).await;
    let thread = ada.say(&news, "hello").await;
    grace.reply(&news, &thread, "one").await;
    let personal = grace.personal(&organisation);
    let mut socket = Socket::listening(&grace, &[&personal]).await;
    let mut since = socket.command("history", json!({ "channel": personal })).await["history"].take();
    leave(&grace, &thread).await;
    // Other events follow, and the thread goes on behind them.
    for _ in 0..3 {
        let other = ada.say(&news, "another").await;
        grace.reply(&news, &other, "one").await;
    }
    ada.reply(&news, &thread, "two").await;
    let mut told = Vec::new();
    loop {
        let place = json!({ "offset": since["offset"], "epoch": since["epoch"] });
        let request = json!({ "channel": personal, "limit": 2, "since": place });
        let page = socket.command("history", request).await["history"]["publications"].take();
        let Some(last) = page.as_array().and_then(|page| page.last()) else { break };
        since["offset"] = last["offset"].clone();
        told.extend(page.as_array().unwrap().iter().filter(|told| told["data"]["data"]["thread_id"] == thread.as_str()).cloned());
    }
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!(told[0]["data"]["data"]["is_followed"], false);
}
