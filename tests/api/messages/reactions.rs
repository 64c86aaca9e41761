//! Reactions and pins.

use serde_json::{Value, json};
use tidings::error::Code;

use crate::{
    harness::{Client, Reply, Server, blob, encoded, text, unknown_id},
    shapes::{MESSAGE, MODIFICATION_IDS, PINNED_DETAILS, PUSHED, REACTION, assert_shape},
    socket::Socket,
};

fn reaction(channel: &str, message: &str, emoji: &str) -> String {
    format!("/channels/{channel}/messages/{message}/reactions/{}", encoded(emoji))
}

async fn react(client: &Client, channel: &str, message: &str, emoji: &str) -> Reply {
    client.call("PUT", &reaction(channel, message, emoji), None).await
}

async fn unreact(client: &Client, channel: &str, message: &str, emoji: &str) -> Reply {
    client.delete(&reaction(channel, message, emoji)).await
}

async fn pin(client: &Client, channel: &str, message: &str, method: &str) -> Reply {
    client.call(method, &format!("/channels/{channel}/messages/{message}/pin"), None).await
}

async fn pins(client: &Client, channel: &str) -> Value {
    client.get(&format!("/channels/{channel}/pins")).await.data(200, "Pinned messages fetched successfully")
}

/// A reaction of these users, as it is shown.
fn shown(emoji: &str, users: &[&Client]) -> Value {
    let (count, users): (_, Vec<_>) = (users.len(), users.iter().map(|user| &user.user_id).collect());
    let id = emoji
        .bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") });
    json!({
        "emoji": emoji, "count": count, "users": users,
        "reaction": emoji, "reaction_count": count, "reaction_id": id.collect::<String>(),
    })
}

#[tokio::test]
async fn reactions_are_shown_wherever_the_message_is() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let post = ada.say(&channel, "post").await;
    let reply = ada.reply(&channel, &post, "reply").await;
    ada.say(&channel, "plain").await;
    let done = react(&grace, &channel, &post, "👍").await.data(200, "Reaction added successfully");
    assert_shape(&done["reactions"][0], REACTION);
    assert_eq!([&done["message_id"], &done["channel_id"]], [&post, &channel]);
    react(&ada, &channel, &post, "🎉").await.expect(200);
    let done = react(&ada, &channel, &post, "👍").await.expect(200);
    let expected = json!([shown("👍", &[&grace, &ada]), shown("🎉", &[&ada])]);
    assert_eq!(done["data"]["reactions"], expected);
    react(&grace, &channel, &reply, ":+1:").await.expect(200);
    let of_reply = json!([shown(":+1:", &[&grace])]);
    assert_eq!(of_reply[0]["reaction_id"], "%3A%2B1%3A");

    let listed = grace.get(&format!("/channels/{channel}/messages")).await.expect(200);
    assert_eq!([&listed["messages"][0]["reactions"], &listed["messages"][1]["reactions"]], [&json!([]), &expected]);
    for path in [format!("/threads/channels/{channel}"), format!("/threads/organisations/{organisation}")] {
        let threads = grace.get(&path).await.expect(200);
        let thread = threads["data"].as_array().unwrap().iter().find(|thread| thread["thread_id"] == *post).unwrap();
        assert_eq!([&thread["reactions"], &thread["messages"][0]["reactions"]], [&expected, &of_reply]);
    }
    let thread = grace.get(&format!("/threads/{post}")).await.expect(200)["data"].take();
    assert_eq!([&thread["reactions"], &thread["messages"][0]["reactions"]], [&expected, &of_reply]);
    let replies = grace.get(&format!("/threads/{post}/channels/{channel}")).await.expect(200);
    assert_eq!(replies["data"][0]["reactions"], of_reply);
    let edit = json!({ "content": "edited", "message_id": post });
    let edited = ada.put(&format!("/channels/{channel}/messages"), edit).await.expect(200);
    assert_eq!(edited["data"]["reactions"], expected);

    assert_eq!(unreact(&grace, &channel, &post, "👍").await.data(200, "Reaction removed successfully"), json!(null));
    unreact(&ada, &channel, &post, "🎉").await.expect(200);
    let listed = grace.get(&format!("/channels/{channel}/messages")).await.expect(200);
    assert_eq!(listed["messages"][1]["reactions"], json!([shown("👍", &[&ada])]));
}

#[tokio::test]
async fn a_reaction_is_pushed_once_and_of_a_reply_to_the_thread_too() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let post = ada.say(&channel, "post").await;
    let reply = ada.reply(&channel, &post, "reply").await;
    let mut socket = Socket::listening(&ada, &[&channel, &post]).await;
    for _ in 0..2 {
        react(&grace, &channel, &post, "👍").await.expect(200);
    }
    unreact(&grace, &channel, &post, "👍").await.expect(200);
    react(&grace, &channel, &reply, "🎉").await.expect(200);
    let mut check = async |stream: &str, id: &str, emoji: &str, action: &str, count: u64| {
        let event = socket.on(stream).await;
        assert_shape(&event, PUSHED);
        assert_shape(&event["modification_ids"], MODIFICATION_IDS);
        assert_eq!(event["notification_type"], "reaction_event");
        let reactions = if count == 0 { json!([]) } else { json!([shown(emoji, &[&grace])]) };
        assert_eq!([&event["data"]["reactions"], &event["reactions"]], [&reactions; 2], "in the data and beside it");
        let data = &event["data"];
        assert_eq!([&data["message_id"], &data["emoji"], &data["action"], &data["user_id"]], [id, emoji, action, &grace.user_id]);
        assert_eq!([&data["count"], &data["thread_id"]], [&json!(count), &json!(post)]);
    };
    check(&channel, &post, "👍", "added", 1).await;
    check(&channel, &post, "👍", "removed", 0).await;
    check(&channel, &reply, "🎉", "added", 1).await;
    check(&post, &reply, "🎉", "added", 1).await;
}

#[tokio::test]
async fn reactions_have_limits() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let post = ada.say(&channel, "post").await;
    react(&ada, &channel, &post, &"x".repeat(64)).await.expect(200);
    // Servers and clients take `.` and `..` for steps in a path.
    for faulty in [&"x".repeat(65), "a b", "\u{a0}", "a\nb", "\u{0}", "a/..", "...", "👍\u{200b}"] {
        react(&ada, &channel, &post, faulty).await.expect(422);
    }
    for number in 1..50 {
        react(&ada, &channel, &post, &format!("e{number}")).await.expect(200);
    }
    react(&ada, &channel, &post, "one-more").await.expect(422);
    react(&grace, &channel, &post, "e7").await.expect(200);
    unreact(&ada, &channel, &post, "e1").await.expect(200);
    react(&grace, &channel, &post, "one-more").await.expect(200);
    unreact(&ada, &channel, &post, "e1").await.expect(404);
    unreact(&ada, &channel, &post, "one-more").await.expect(404); // it is Grace's
}

/// However many have given one, a list reads the users that it shows, and the count as it stands.
#[tokio::test]
async fn a_reaction_shows_the_first_hundred_users_who_gave_it() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let post = ada.say(&channel, "post").await;
    react(&grace, &channel, &post, "👍").await.expect(200);
    react(&ada, &channel, &post, "👍").await.expect(200);
    let numbers = "with recursive k (k) as (select 1 union all select k + 1 from k where k < 150)";
    server.sql(&format!(
        "insert into users (id, email, username, created_at, updated_at) {numbers}
         select unhex(printf('f5%030x', k)), k || '@x.example', 'u' || k, 0, 0 from k"
    ));
    server.sql(
        "insert into reactions (n, emoji, user_id, created_at)
         select n, emoji, u.id, 9e15 - row_number() over (order by u.id) from reaction_counts, users u where u.username glob 'u[0-9]*'",
    );
    server.sql("update reaction_counts set count = 1000000");
    let listed = async || {
        let listed = ada.get(&format!("/channels/{channel}/messages")).await.expect(200);
        listed["messages"][0]["reactions"][0].clone()
    };
    let shown = listed().await;
    assert_eq!(
        [&shown["count"], &shown["users"][0], &shown["users"][1]],
        [&json!(1_000_000), &json!(grace.user_id), &json!(ada.user_id)]
    );
    assert_eq!(shown["users"].as_array().unwrap().len(), 100);
    assert!(text(&shown["users"][2]).ends_with("96"), "the latest of those that were made first: {shown}");
    unreact(&ada, &channel, &post, "👍").await.expect(200);
    assert_eq!(listed().await["count"], 999_999);

    let database = rusqlite::Connection::open(server.folder().join("tidings.db")).unwrap();
    let mut explain = database.prepare(&format!("explain query plan {}", tidings::domain::messages::reactions::FIRST)).unwrap();
    let plan: Vec<String> = explain.query_map((1, "x", 1), |row| row.get("detail")).unwrap().map(Result::unwrap).collect();
    assert_eq!(plan, ["SEARCH reactions USING COVERING INDEX reactions_first (n=? AND emoji=?)"]);
}

#[tokio::test]
async fn a_pinned_message_is_listed_and_pushed() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let post = ada.say(&channel, "post").await;
    let reply = ada.reply(&channel, &post, "reply").await;
    let mut socket = Socket::listening(&ada, &[&channel, &post]).await;
    assert_eq!(pins(&grace, &channel).await, json!([]));
    for _ in 0..2 {
        let pinned = pin(&grace, &channel, &post, "PUT").await.data(200, "Message pinned successfully");
        assert_eq!([&pinned["id"], &pinned["pinned"], &pinned["is_pinned"]], [&json!(post), &json!(true), &json!(true)]);
    }
    pin(&grace, &channel, &reply, "PUT").await.expect(200);
    let listed = pins(&ada, &channel).await;
    assert_shape(&listed[0], MESSAGE);
    assert_shape(&listed[0]["pinned_details"], PINNED_DETAILS);
    assert_eq!([&listed[0]["id"], &listed[1]["id"], &listed[1]["content"]], [&reply, &post, "post"]);
    assert_eq!(pin(&ada, &channel, &post, "DELETE").await.data(200, "Message unpinned successfully"), json!(null));
    pin(&ada, &channel, &post, "DELETE").await.refused(404, Code::PinNotFound);
    assert_eq!(pins(&ada, &channel).await.as_array().unwrap().len(), 1);
    let mut check = async |stream: &str, id: &str, kind: &str| {
        let event = socket.on(stream).await;
        assert_shape(&event, PUSHED);
        assert_shape(&event["data"], MESSAGE);
        assert_shape(&event["modification_ids"], MODIFICATION_IDS);
        assert_eq!([&event["notification_type"], &event["data"]["id"]], [kind, id]);
        let (data, is_pinned) = (&event["data"], kind == "pinned_message_event");
        assert_eq!((&data["is_pinned"], data["pinned_details"].is_object()), (&json!(is_pinned), is_pinned));
        assert_eq!(event["pinned_details"], data["pinned_details"], "in the data and beside it");
        if is_pinned {
            let details = &data["pinned_details"];
            assert_shape(details, PINNED_DETAILS);
            assert_eq!([&details["user_id"], &details["pinned_by"]], [&grace.user_id; 2]);
            assert_eq!([&details["username"], &details["email"]], ["grace", &grace.email]);
        }
    };
    check(&channel, &post, "pinned_message_event").await;
    check(&channel, &reply, "pinned_message_event").await;
    check(&post, &reply, "pinned_message_event").await;
    check(&channel, &post, "unpinned_message_event").await;
}

#[tokio::test]
async fn a_pinned_message_names_who_pinned_it_in_threads_replies_and_lists() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let post = ada.say(&channel, "post").await;
    let reply = ada.reply(&channel, &post, "reply").await;
    grace.patch(&format!("/channels/{channel}/username"), json!({ "username": "amazing" })).await.expect(200);
    let shown = async || {
        let message = ada.get(&format!("/channels/{channel}/messages")).await.expect(200)["messages"][0].take();
        let thread = ada.get(&format!("/threads/{post}")).await.expect(200)["data"].take();
        let replies = ada.get(&format!("/threads/{post}/channels/{channel}")).await.expect(200)["data"].take();
        let ours = ada.get(&format!("/threads/organisations/{organisation}")).await.expect(200)["data"][0].take();
        let of_channel = ada.get(&format!("/threads/channels/{channel}")).await.expect(200)["data"][0].take();
        [
            [message, thread.clone(), ours.clone(), of_channel.clone()].map(|post| post["pinned_details"].clone()),
            [&replies[0], &thread["messages"][0], &ours["thread_messages"][1], &of_channel["messages"][0]]
                .map(|reply| reply["pinned_details"].clone()),
        ]
    };
    assert!(shown().await.iter().flatten().all(Value::is_null));
    pin(&grace, &channel, &post, "PUT").await.expect(200);
    pin(&ada, &channel, &post, "PUT").await.expect(200); // is pinned already
    pin(&ada, &channel, &reply, "PUT").await.expect(200);
    let [posts, replies] = shown().await;
    let details = |details: &Value| {
        assert_shape(details, PINNED_DETAILS);
        ["user_id", "pinned_by", "username", "email"].map(|field| text(&details[field]))
    };
    for shown in &posts {
        let [id, name, email] = [grace.user_id.as_str(), "amazing", "grace@example.org"];
        assert_eq!(details(shown), [id, id, name, email]);
    }
    for shown in &replies {
        let [id, name, email] = [ada.user_id.as_str(), "ada", "ada@example.org"];
        assert_eq!(details(shown), [id, id, name, email]);
    }
    // Who has left the channel is named by the account.
    grace.post(&format!("/channels/{channel}/leave"), json!({})).await.expect(200);
    assert_eq!(details(&shown().await[0][0])[2], "grace");
    pin(&ada, &channel, &post, "DELETE").await.expect(200);
    ada.delete(&format!("/channels/{channel}/messages/{reply}")).await.expect(200);
    assert_eq!(shown().await[0][0], Value::Null);
    assert_eq!(server.number("select count(*) from messages where pinned_by is not null"), 0);
}

#[tokio::test]
async fn a_channel_takes_a_hundred_pins() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let channel = ada.general(&ada.organisation("Engines").await).await;
    for number in 0..100 {
        ada.say(&channel, &number.to_string()).await;
    }
    server.sql(&format!("update messages set pinned_at = 1 where content <> '0' and channel_id = {}", blob(&channel)));
    let list = ada.get(&format!("/channels/{channel}/messages?limit=100")).await.expect(200);
    let first = text(&list["messages"][99]["id"]);
    pin(&ada, &channel, &first, "PUT").await.expect(200);
    let extra = ada.say(&channel, "one more").await;
    pin(&ada, &channel, &extra, "PUT").await.refused(422, Code::LimitReached);
    pin(&ada, &channel, &first, "PUT").await.expect(200);
    assert_eq!(pins(&ada, &channel).await.as_array().unwrap().len(), 100);
}

#[tokio::test]
async fn a_deleted_message_has_no_reactions_and_no_pin() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let post = ada.say(&channel, "post").await;
    ada.reply(&channel, &post, "reply").await;
    react(&grace, &channel, &post, "👍").await.expect(200);
    pin(&grace, &channel, &post, "PUT").await.expect(200);
    ada.delete(&format!("/channels/{channel}/messages/{post}")).await.expect(200);
    assert_eq!(pins(&ada, &channel).await, json!([]));
    let listed = ada.get(&format!("/channels/{channel}/messages")).await.expect(200);
    assert_eq!([&listed["messages"][0]["reactions"], &listed["messages"][0]["pinned"]], [&json!([]), &json!(false)]);
    react(&grace, &channel, &post, "👍").await.expect(404);
    pin(&grace, &channel, &post, "PUT").await.expect(404);
}

#[tokio::test]
async fn only_members_with_the_right_to_post_react_and_pin() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (guest, outsider) = (server.member(&ada, &organisation, "guest", "guest").await, server.user("outsider").await);
    let public = ada.channel(&organisation, "public", &[&guest]).await;
    let other = ada.channel(&organisation, "other", &[]).await;
    let private = ada.private_channel(&organisation, "private", &[]).await;
    let (open, hidden) = (ada.say(&public, "open").await, ada.say(&private, "hidden").await);
    let calls = async |client: &Client, channel: &str, message: &str, status: u16| -> Vec<Value> {
        vec![
            react(client, channel, message, "👍").await.expect(status),
            unreact(client, channel, message, "👍").await.expect(status),
            pin(client, channel, message, "PUT").await.expect(status),
            pin(client, channel, message, "DELETE").await.expect(status),
        ]
    };
    let unknown = calls(&ada, &unknown_id(), &unknown_id(), 404).await;
    assert_eq!(unknown, calls(&grace, &private, &hidden, 404).await);
    assert_eq!(unknown, calls(&outsider, &public, &open, 404).await);
    calls(&grace, &public, &open, 403).await;
    calls(&guest, &public, &open, 403).await;
    calls(&ada, &other, &open, 404).await;
    calls(&ada, &public, &unknown_id(), 404).await;
    calls(&ada, "no-uuid", &open, 400).await;
    calls(&ada, &public, "no-uuid", 400).await;
    calls(&server.anonymous(), &public, &open, 401).await;
    let list = |channel: &str| format!("/channels/{channel}/pins");
    let unknown = ada.get(&list(&unknown_id())).await.expect(404);
    assert_eq!(unknown, grace.get(&list(&private)).await.expect(404));
    assert_eq!(unknown, outsider.get(&list(&public)).await.expect(404));
    grace.get(&list(&public)).await.expect(403);
    ada.get(&list("no-uuid")).await.expect(400);
    server.anonymous().get(&list(&public)).await.expect(401);
    pin(&ada, &public, &open, "PUT").await.expect(200);
    assert_eq!(pins(&guest, &public).await[0]["id"], open, "a guest reads");
    ada.put(&format!("/channels/{public}/archive"), json!({ "archived": true })).await.expect(200);
    calls(&ada, &public, &open, 403).await;
    assert_eq!(pins(&guest, &public).await[0]["id"], open);
}
