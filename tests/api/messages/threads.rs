//! Threads of a channel and of an organisation.

use serde_json::{Value, json};

use crate::{
    harness::{Client, Server, text, unknown_id},
    shapes::{MESSAGE, MODIFICATION_IDS, ORGANISATION_THREAD, PAGINATION, PUSHED, THREAD, assert_shape},
    socket::Socket,
};

async fn of_channel(client: &Client, channel: &str, query: &str) -> Value {
    client.get(&format!("/threads/channels/{channel}{query}")).await.data(200, "Data retrieved successfully")
}

async fn of_organisation(client: &Client, organisation: &str, query: &str) -> Value {
    client.get(&format!("/threads/organisations/{organisation}{query}")).await.data(200, "Data retrieved successfully")
}

async fn of_one(client: &Client, thread: &str, query: &str) -> Value {
    client.get(&format!("/threads/{thread}{query}")).await.data(200, "Data retrieved successfully")
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

    let listed = &of_channel(&grace, &channel, "").await[0];
    assert_shape(listed, THREAD);
    assert_eq!(*listed, of_one(&grace, &thread, "").await);
    let mut everywhere = of_organisation(&grace, &organisation, "").await[0].take();
    assert_shape(&everywhere, ORGANISATION_THREAD);
    let more = everywhere.as_object_mut().unwrap();
    assert_eq!(more.remove("channel_type").unwrap(), "public");
    let messages = more.remove("thread_messages").unwrap();
    let participants = more.remove("thread_participants").unwrap();
    assert_eq!(more.insert("participants".into(), participants), Some(json!([])));
    assert_eq!(everywhere, *listed);
    assert_shape(&messages[0], MESSAGE);
    assert_eq!([&messages[0]["id"], &messages[0]["thread_id"], &messages[0]["message"]], [&thread, &thread, "post for @grace"]);
    assert_eq!([&messages[1], &messages[2]], [&listed["messages"][0], &json!(null)]);
    assert_eq!([&listed["thread_id"], &listed["channels_id"], &listed["channel_name"]], [&thread, &channel, "general"]);
    assert_eq!([&listed["content"], &listed["message"]], ["post for @grace"; 2]);
    assert_eq!([&listed["username"], &listed["full_name"], &listed["user_id"]], ["ada", "Ada Lovelace", &ada.user_id]);
    assert_eq!([&listed["email"], &listed["event_name"], &listed["action_type"]], [&ada.email, "", ""]);
    assert_eq!([&listed["type"], &listed["status"], &listed["current_status"]], ["message", "success", "pending"]);
    assert_eq!(listed["mentions"], json!([{ "id": grace.user_id, "type": "user", "username": "grace" }]));
    assert_eq!([&listed["edited"], &listed["message_count"]], [&json!(false), &json!(1)]);

    let message = &listed["messages"][0];
    assert_shape(message, MESSAGE);
    assert_eq!([&message["id"], &message["thread_id"], &message["user_id"]], [&reply, &thread, &grace.user_id]);
    assert_eq!([&message["content"], &message["message"], &message["username"]], ["reply", "reply", "grace"]);
    assert_eq!([&message["user_type"], &message["media"], &message["is_pinned"]], [&json!("user"), &json!([]), &json!(false)]);
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
async fn a_thread_shows_the_edited_text_of_its_post() {
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
async fn an_organisations_threads_come_by_latest_activity_and_a_channels_by_their_post() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (general, news) = (ada.general(&organisation).await, ada.channel(&organisation, "news", &[]).await);
    let one = ada.say(&general, "one").await;
    ada.say(&general, "two").await;
    ada.say(&news, "three").await;
    assert_eq!(contents(&of_organisation(&ada, &organisation, "").await), ["three", "two", "one"]);
    grace.reply(&general, &one, "up").await;
    assert_eq!(contents(&of_organisation(&ada, &organisation, "").await), ["one", "three", "two"]);
    assert_eq!(contents(&of_channel(&ada, &general, "").await), ["two", "one"]);
    assert_eq!(contents(&of_organisation(&grace, &organisation, "").await), ["one", "two"], "her channels only");
    for (limit, pages) in [(1, vec!["one", "three", "two"]), (2, vec!["one", "two"])] {
        for (at, first) in pages.iter().enumerate() {
            let page = of_organisation(&ada, &organisation, &format!("?limit={limit}&page={}", at + 1)).await;
            assert_eq!(contents(&page)[0], *first);
        }
    }
}

#[tokio::test]
async fn an_organisations_threads_name_the_type_of_their_channel() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let dm = ada.post(&format!("/organisations/{organisation}/dms"), json!({ "user_ids": [grace.user_id] })).await.expect(201);
    let private = ada.private_channel(&organisation, "private", &[]).await;
    for channel in [ada.general(&organisation).await, text(&dm["data"]["channels_id"]), private] {
        ada.say(&channel, "post").await;
    }
    let types: Vec<_> =
        of_organisation(&ada, &organisation, "").await.as_array().unwrap().iter().map(|one| text(&one["channel_type"])).collect();
    assert_eq!(types, ["private", "dm", "public"]);
}

/// A channel's page is read from its index, however many threads there are.
#[tokio::test]
async fn a_page_of_a_channels_threads_is_read_by_key() {
    let server = Server::start().await;
    let database = rusqlite::Connection::open(server.folder().join("tidings.db")).unwrap();
    let mut explain = database.prepare(&format!("explain query plan {}", tidings::domain::messages::threads::NEWEST)).unwrap();
    let plan: Vec<String> = explain.query_map((1, 1, 1), |row| row.get("detail")).unwrap().map(Result::unwrap).collect();
    assert_eq!(plan, ["SEARCH messages USING INDEX messages_top (channel_id=?)"]);
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
    assert_eq!(replies("?messages=0").await, [""; 0]);
    assert_eq!(replies("?messages=1").await, ["reply 6"]);
    assert_eq!(replies("?messages=200").await.len(), 7);
}

#[tokio::test]
async fn a_page_of_threads_out_of_range_is_refused() {
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

fn path(thread: &str, channel: &str) -> String {
    format!("/threads/{thread}/channels/{channel}")
}

#[tokio::test]
async fn a_threads_replies_come_in_pages_newest_first() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.general(&organisation).await;
    let thread = ada.say(&channel, "post").await;
    let mut replies = Vec::new();
    for content in ["one", "two", "three"] {
        replies.push(grace.reply(&channel, &thread, content).await);
    }
    let read = async |query: &str| {
        let mut page = grace.get(&format!("{}{query}", path(&thread, &channel))).await.expect(200);
        assert_shape(&page["pagination"], PAGINATION);
        (contents(&page["data"]), page["pagination"].take())
    };
    let pagination = |page: u32, size: u32, pages: u32| json!({ "current_page": page, "page_size": size, "total_items": 3, "total_pages": pages });
    let newest = grace.get(&path(&thread, &channel)).await.data(200, "Data retrieved successfully")[0].take();
    assert_shape(&newest, MESSAGE);
    assert_eq!([&newest["content"], &newest["message"], &newest["thread_id"]], ["three", "three", &thread]);
    assert_eq!(read("").await, (vec!["three".into(), "two".into(), "one".into()], pagination(1, 50, 1)));
    assert_eq!(read("?limit=2").await, (vec!["three".into(), "two".into()], pagination(1, 2, 2)));
    assert_eq!(read("?limit=2&page=2").await, (vec!["one".into()], pagination(2, 2, 2)));
    assert_eq!(read("?limit=2&page=3").await, (vec![], pagination(3, 2, 2)));
    for query in ["?limit=0", "?page=0", "?page=x"] {
        grace.get(&format!("{}{query}", path(&thread, &channel))).await.expect(400);
    }
    grace.get(&path(&replies[0], &channel)).await.expect(404);

    assert_eq!(ada.delete(&path(&thread, &channel)).await.data(200, "Thread deleted successfully"), json!(null));
    assert_eq!(read("").await.0.len(), 3, "they stay");
    for reply in replies {
        let path = format!("/channels/{channel}/messages/{reply}");
        assert_eq!(grace.delete(&path).await.data(200, "Message deleted successfully"), json!(null));
    }
    grace.get(&path(&thread, &channel)).await.expect(404);
}

#[tokio::test]
async fn a_thread_is_read_with_its_latest_replies() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.general(&organisation).await;
    let thread = ada.say(&channel, "post").await;
    let mut reply = String::new();
    for number in 0..7 {
        reply = grace.reply(&channel, &thread, &number.to_string()).await;
    }
    let read = of_one(&grace, &thread, "").await;
    assert_shape(&read, THREAD);
    assert_eq!([&read["content"], &read["message_count"], &read["channel_name"]], [&json!("post"), &json!(7), &json!("general")]);
    assert_eq!(contents(&read["messages"]), ["2", "3", "4", "5", "6"]);
    assert_eq!(contents(&of_one(&grace, &thread, "?messages=2").await["messages"]), ["5", "6"]);
    assert_eq!(of_one(&grace, &thread, "?messages=200").await["messages"].as_array().unwrap().len(), 7);
    for query in ["?messages=0", "?messages=x"] {
        grace.get(&format!("/threads/{thread}{query}")).await.expect(400);
    }
    ada.delete(&path(&thread, &channel)).await.expect(200);
    assert_eq!(of_one(&grace, &thread, "").await["content"], "");
    let reply = ada.get(&format!("/threads/{reply}")).await.expect(404);
    assert_eq!(reply, ada.get(&format!("/threads/{}", unknown_id())).await.expect(404), "a reply is no thread");
    server.sql("update messages set deleted_at = 1, reply_count = 0 where root is null");
    grace.get(&format!("/threads/{thread}")).await.expect(404);
}

#[tokio::test]
async fn a_thread_is_started_under_the_clients_own_id() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let channel = ada.general(&organisation).await;
    let start = async |body: Value| ada.post(&format!("/threads/{channel}"), body).await;
    let id = unknown_id();
    for _ in 0..2 {
        let made = start(json!({ "content": "post", "thread_id": id })).await.data(201, "Thread created successfully");
        assert_shape(&made, THREAD);
        assert_eq!([&made["thread_id"], &made["content"], &made["messages"]], [&json!(id), &json!("post"), &json!([])]);
    }
    let other = start(json!({ "content": "post" })).await.expect(201);
    assert_ne!(other["data"]["thread_id"], id);
    assert_eq!(of_channel(&ada, &channel, "").await.as_array().unwrap().len(), 2);
    start(json!({ "content": " " })).await.expect(422);
    start(json!({ "content": "x", "thread_id": channel })).await.expect(422);
    for body in [json!({}), json!({ "content": 7 }), json!({ "content": "x", "thread_id": "no-uuid" })] {
        start(body).await.expect(400);
    }
}

#[tokio::test]
async fn a_threads_status_is_set_by_members_and_pushed() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.general(&organisation).await;
    let thread = ada.say(&channel, "post").await;
    let reply = ada.reply(&channel, &thread, "reply").await;
    let mut socket = Socket::listening(&ada, &[&channel]).await;
    let set = async |status: Value| grace.put(&path(&thread, &channel), json!({ "status": status })).await;
    for status in ["completed", "completed", "pending"] {
        let data = set(json!(status)).await.data(200, "Thread updated successfully");
        assert_shape(&data, THREAD);
        assert_eq!([&data["current_status"], &data["messages"][0]["content"]], [status, "reply"]);
    }
    for status in ["", "done", "PENDING"] {
        set(json!(status)).await.expect(422);
    }
    set(json!(7)).await.expect(400);
    grace.put(&path(&reply, &channel), json!({ "status": "completed" })).await.expect(404);
    let same = grace.put(&path(&thread, &channel), json!({})).await.data(200, "Thread updated successfully");
    assert_eq!(same["current_status"], "pending");
    for status in ["completed", "pending"] {
        let update = socket.on(&channel).await;
        assert_shape(&update, PUSHED);
        assert_shape(&update["modification_ids"], MODIFICATION_IDS);
        assert_eq!([&update["notification_type"], &update["section"]], ["status_update", "thread_message"]);
        assert_eq!([&update["data"]["thread_id"], &update["data"]["current_status"]], [&thread, status]);
    }
}

#[tokio::test]
async fn a_threads_text_is_edited_by_its_author_alone() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.general(&organisation).await;
    let thread = ada.say(&channel, "tpyo").await;
    let body = json!({ "content": "typo", "status": "completed" });
    grace.put(&path(&thread, &channel), body.clone()).await.expect(403);
    let data = ada.put(&path(&thread, &channel), body).await.data(200, "Thread updated successfully");
    assert_eq!([&data["content"], &data["edited"], &data["current_status"]], [&json!("typo"), &json!(true), &json!("completed")]);
    ada.put(&path(&thread, &channel), json!({ "content": "" })).await.expect(422);
    ada.delete(&path(&thread, &channel)).await.expect(200);
    for change in [json!({ "content": "x" }), json!({ "status": "pending" }), json!({})] {
        ada.put(&path(&thread, &channel), change).await.expect(404);
    }
    ada.delete(&path(&thread, &channel)).await.expect(404);
}

#[tokio::test]
async fn only_members_of_the_channel_work_with_its_threads() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (guest, outsider) = (server.member(&ada, &organisation, "guest", "guest").await, server.user("outsider").await);
    let public = ada.channel(&organisation, "public", &[&guest]).await;
    let other = ada.channel(&organisation, "other", &[]).await;
    let private = ada.private_channel(&organisation, "private", &[]).await;
    let (open, hidden) = (ada.say(&public, "open").await, ada.say(&private, "hidden").await);
    let calls = async |client: &Client, thread: &str, channel: &str, status: u16| -> Vec<Value> {
        let path = path(thread, channel);
        vec![
            client.get(&path).await.expect(status),
            client.put(&path, json!({ "status": "completed" })).await.expect(status),
            client.delete(&path).await.expect(status),
            client.post(&format!("/threads/{channel}"), json!({ "content": "x" })).await.expect(status),
        ]
    };
    let unknown = calls(&ada, &unknown_id(), &unknown_id(), 404).await;
    assert_eq!(unknown, calls(&grace, &hidden, &private, 404).await);
    assert_eq!(unknown, calls(&outsider, &open, &public, 404).await);
    calls(&grace, &open, &public, 403).await;
    calls(&server.anonymous(), &open, &public, 401).await;
    calls(&ada, "no-uuid", "no-uuid", 400).await;
    let one = async |client: &Client, thread: &str, status: u16| client.get(&format!("/threads/{thread}")).await.expect(status);
    let unknown = one(&ada, &unknown_id(), 404).await;
    assert_eq!(unknown, one(&grace, &hidden, 404).await);
    assert_eq!(unknown, one(&outsider, &open, 404).await);
    one(&grace, &open, 403).await;
    one(&server.anonymous(), &open, 401).await;
    one(&ada, "no-uuid", 400).await;
    one(&guest, &open, 200).await;
    ada.get(&path(&open, &other)).await.expect(404);
    ada.put(&path(&open, &other), json!({ "status": "completed" })).await.expect(404);
    ada.delete(&path(&open, &other)).await.expect(404);
    guest.get(&path(&open, &public)).await.expect(200);
    guest.put(&path(&open, &public), json!({ "status": "completed" })).await.expect(403);
    guest.post(&format!("/threads/{public}"), json!({ "content": "x" })).await.expect(403);
    ada.put(&format!("/channels/{public}/archive"), json!({ "archived": true })).await.expect(200);
    ada.put(&path(&open, &public), json!({ "status": "completed" })).await.expect(403);
    ada.post(&format!("/threads/{public}"), json!({ "content": "x" })).await.expect(403);
    assert_eq!(of_one(&ada, &open, "").await["current_status"], "pending");
}
