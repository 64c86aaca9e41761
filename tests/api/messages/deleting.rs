//! Deleting messages: the right to do it, what stays, and that no text does.

use serde_json::{Value, json};

use crate::{
    harness::{Client, Reply, Server, blob, text, unknown_id},
    shapes::{MESSAGE, MODIFICATION_IDS, PUSHED, assert_shape},
    socket::Socket,
};

async fn delete(client: &Client, channel: &str, message: &str) -> Reply {
    client.delete(&format!("/channels/{channel}/messages/{message}")).await
}

async fn list(client: &Client, channel: &str) -> Value {
    client.get(&format!("/channels/{channel}/messages")).await.expect(200)["messages"].take()
}

fn contents(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|item| text(&item["content"])).collect()
}

#[tokio::test]
async fn a_deleted_message_is_gone_from_lists() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let one = grace.say(&channel, "one").await;
    let two = grace.say(&channel, "two").await;
    delete(&grace, &channel, &two).await.expect(200);
    assert_eq!(contents(&list(&ada, &channel).await), ["one"]);
    let shown = ada.get(&format!("/channels/{channel}")).await.expect(200)["data"].take();
    assert_eq!([&shown["messages"][0]["id"], &shown["message_count"]], [&json!(one), &json!(1)]);
    delete(&grace, &channel, &two).await.expect(404);
    let edit = json!({ "content": "back", "message_id": two });
    grace.put(&format!("/channels/{channel}/messages"), edit).await.expect(404);
    grace.post(&format!("/channels/{channel}/messages"), json!({ "content": "re", "thread_id": two })).await.expect(404);
    delete(&grace, &channel, &one).await.expect(200);
    let shown = ada.get(&format!("/channels/{channel}")).await.expect(200)["data"].take();
    assert_eq!([&shown["messages"], &shown["message_count"]], [&json!([]), &json!(0)]);
}

#[tokio::test]
async fn a_deleted_post_stays_in_the_list_until_its_last_reply_is_deleted() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let post = ada.say(&channel, "secret for @grace").await;
    let (one, two) = (grace.reply(&channel, &post, "one").await, grace.reply(&channel, &post, "two").await);
    delete(&ada, &channel, &post).await.expect(200);
    let listed = list(&ada, &channel).await;
    assert_eq!(contents(&listed), [""]);
    assert_eq!([&listed[0]["message"], &listed[0]["mentions"]], [&json!(""), &json!([])]);
    assert_ne!(listed[0]["deleted_at"], "0001-01-01T00:00:00Z");
    let threads = ada.get(&format!("/threads/channels/{channel}")).await.expect(200)["data"].take();
    assert_eq!([&threads[0]["content"], &threads[0]["message_count"]], [&json!(""), &json!(2)]);
    grace.post(&format!("/channels/{channel}/messages"), json!({ "content": "three", "thread_id": post })).await.expect(404);

    delete(&grace, &channel, &two).await.expect(200);
    let threads = ada.get(&format!("/threads/channels/{channel}")).await.expect(200)["data"].take();
    assert_eq!(threads[0]["last_reply"], threads[0]["messages"][0]["created_at"]);
    delete(&grace, &channel, &one).await.expect(200);
    assert_eq!(list(&ada, &channel).await, json!([]));
    assert_eq!(ada.get(&format!("/threads/channels/{channel}")).await.expect(200)["data"], json!([]));
}

#[tokio::test]
async fn a_message_is_deleted_by_its_author_the_channels_owner_or_a_manager_in_the_channel() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let manager = server.member(&ada, &organisation, "manager", "manager").await;
    let bob = server.member(&ada, &organisation, "bob", "member").await;
    let outsider = server.user("outsider").await;
    let channel = ada.channel(&organisation, "news", &[&grace, &bob]).await;
    let other = ada.channel(&organisation, "other", &[&grace]).await;
    let private = ada.private_channel(&organisation, "private", &[]).await;
    let (one, two, three) =
        (grace.say(&channel, "one").await, grace.say(&channel, "two").await, grace.say(&channel, "three").await);
    let hidden = ada.say(&private, "hidden").await;

    delete(&bob, &channel, &one).await.expect(403);
    delete(&manager, &channel, &one).await.expect(403); // sees no messages from outside
    let unknown = delete(&ada, &unknown_id(), &one).await.expect(404);
    assert_eq!(unknown, delete(&outsider, &channel, &one).await.expect(404));
    assert_eq!(unknown, delete(&grace, &private, &hidden).await.expect(404));
    delete(&ada, &channel, &unknown_id()).await.expect(404);
    delete(&grace, &other, &one).await.expect(404);
    delete(&ada, &channel, &hidden).await.expect(404);
    delete(&ada, "no-uuid", &one).await.expect(400);
    delete(&ada, &channel, "no-uuid").await.expect(400);
    delete(&server.anonymous(), &channel, &one).await.expect(401);
    assert_eq!(contents(&list(&bob, &channel).await), ["three", "two", "one"]);

    delete(&ada, &channel, &one).await.expect(200);
    manager.call("POST", &format!("/channels/{channel}/join"), None).await.expect(200);
    delete(&manager, &channel, &two).await.expect(200);
    grace.call("POST", &format!("/channels/{channel}/leave"), None).await.expect(200);
    delete(&grace, &channel, &three).await.expect(403);
    assert_eq!(contents(&list(&bob, &channel).await), ["three"]);
}

#[tokio::test]
async fn a_deletion_is_pushed_without_the_text() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let post = ada.say(&channel, "post").await;
    let reply = grace.reply(&channel, &post, "slip").await;
    let personal = grace.personal(&organisation);
    let mut socket = Socket::listening(&grace, &[&channel, &post, &personal]).await;
    delete(&ada, &channel, &reply).await.expect(200);
    delete(&ada, &channel, &post).await.expect(200);
    let check = |publication: Value, section: &str, id: &str, author: &Client| {
        assert_shape(&publication, PUSHED);
        assert_eq!([&publication["notification_type"], &publication["section"]], ["deleted", section]);
        assert_shape(&publication["modification_ids"], MODIFICATION_IDS);
        let ids = json!({ "thread_id": post, "message_id": id, "channel_id": channel, "user_id": author.user_id, "org_id": organisation });
        assert_eq!(publication["modification_ids"], ids);
        assert_shape(&publication["data"], MESSAGE);
        assert_eq!([&publication["data"]["content"], &publication["data"]["message"]], ["", ""]);
        let mut change = json!({ "thread_count": 0, "message_count": 0, "last_reply": "0001-01-01T00:00:00Z" });
        change["participants"] = json!([]);
        change["participant_count"] = json!(0);
        if section == "reply_message" {
            change["preview_section"] = json!(true);
        }
        assert_eq!(publication["update_change"], change);
    };
    check(socket.on(&post).await, "reply_message", &reply, &grace);
    check(socket.on(&channel).await, "reply_message", &reply, &grace);
    check(socket.on(&channel).await, "thread_message", &post, &ada);
    let counts = loop {
        let publication = socket.on(&personal).await;
        if publication["notification_type"] != "thread_unread" {
            break publication;
        }
    };
    assert_eq!(counts["notification_type"], "unread_thread_change");
    assert_eq!([&counts["data"]["thread_count"], &counts["data"]["last_thread_id"]], [&json!(0), &json!("")]);
}

#[tokio::test]
async fn the_database_keeps_no_text_of_a_deleted_message() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let post = ada.say(&channel, "sesame for @grace and \"quoted\" \u{0} \u{2028}").await;
    let edit = json!({ "content": "sesame again @channel", "message_id": post });
    ada.put(&format!("/channels/{channel}/messages"), edit).await.expect(200);
    let reply = ada.reply(&channel, &post, "sesame @channel @grace").await;
    let kept = ada.say(&channel, "kept").await;
    ada.reply(&channel, &kept, "kept, too").await;
    delete(&ada, &channel, &reply).await.expect(200);
    delete(&ada, &channel, &post).await.expect(200);

    let database = rusqlite::Connection::open(server.folder().join("tidings.db")).unwrap();
    let count = |sql: &str| database.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("select count(*) from events where body like '%sesame%' or body like '%@grace%'"), 0);
    assert_eq!(count("select count(*) from events where type <> '' and not json_valid(body)"), 0);
    assert_eq!(count("select count(*) from events where type = '' and body <> ''"), 0, "new messages are made from their rows");
    assert!(count("select count(*) from events where body like '%kept%'") > 0, "others keep theirs");
    assert_eq!(count("select count(*) from messages where content like '%sesame%' or mentions <> '[]'"), 0);
    assert_eq!(count("select count(*) from mentions") + count("select count(*) from channel_mentions"), 0);
    let last = format!(
        "select last_thread = (select n from messages where id = {}) from channels where id = {}",
        blob(&kept),
        blob(&channel)
    );
    assert_eq!(count(&last), 1);
}

#[tokio::test]
async fn a_message_in_an_archived_channel_can_be_deleted() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "old", &[&grace]).await;
    let post = grace.say(&channel, "a password").await;
    ada.put(&format!("/channels/{channel}/archive"), json!({ "archived": true })).await.expect(200);
    delete(&grace, &channel, &post).await.expect(200);
    assert_eq!(list(&ada, &channel).await, json!([]));
}

#[tokio::test]
async fn a_repeated_request_does_not_bring_a_deleted_message_back() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let body = json!({ "content": "once", "id": unknown_id() });
    let path = format!("/channels/{channel}/messages");
    let post = text(&ada.post(&path, body.clone()).await.expect(201)["data"]["id"]);
    delete(&ada, &channel, &post).await.expect(200);
    assert_eq!(ada.post(&path, body.clone()).await.expect(201)["data"]["content"], "");
    grace.post(&path, body).await.expect(422);
    assert_eq!(list(&ada, &channel).await, json!([]));
}
