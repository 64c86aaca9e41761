//! What members choose to be notified of, and what they are notified of.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    harness::{Client, Server, text},
    shapes::assert_shape,
    socket::Socket,
};

/// What the caller has chosen in a channel: in short, its own choice, that of the organisation, `at_channel`, `at_mentions`, `muted`.
async fn chosen(client: &Client, channel: &str) -> Value {
    let found = client.get(&of(channel)).await.expect(200)["data"].take();
    assert_eq!(found["device_type"], "web");
    ["notify_about", "in_organisation", "at_channel", "at_mentions", "muted"].iter().map(|field| found[*field].clone()).collect()
}

fn of(channel: &str) -> String {
    format!("/channels/{channel}/notification-preference")
}

#[tokio::test]
async fn the_nearer_choice_counts() {
    let server = Server::start().await;
    let (ada, grace, org) = server.ada_and_grace().await;
    let channel = ada.channel(&org, "dev", &[&grace]).await;
    let of_org = format!("/organisations/{org}/notification-preference");
    let of_channel = of(&channel);

    let found = grace.get(&of_org).await.data(200, "Notification preference retrieved successfully");
    assert_eq!(found, json!({ "device_type": "web", "notify_about": "mentions" }));
    assert_eq!(chosen(&grace, &channel).await, json!(["default", "mentions", true, true, false]));
    let answer = grace.post(&of_org, json!({ "notify_about": "nothing" })).await;
    let answer = answer.data(200, "Notification preference changed successfully");
    assert_eq!(answer, json!({ "device_type": "web", "notify_about": "nothing" }));
    assert_eq!(chosen(&grace, &channel).await, json!(["default", "nothing", true, false, false]));
    for (change, found) in [
        (
            json!({ "notify_about": "all_new_messages", "at_channel": false }),
            json!(["all_new_messages", "nothing", false, true, false]),
        ),
        (json!({ "at_mentions": false }), json!(["nothing", "nothing", false, false, false])),
        (json!({ "at_mentions": true, "muted": true }), json!(["mentions", "nothing", false, true, true])),
        (json!({ "notify_about": "default", "at_channel": true }), json!(["default", "nothing", true, false, true])),
        // As the forms of other clients send it: nothing contradicts.
        (
            json!({ "device_type": "web", "at_channel": true, "at_mentions": false, "muted": false }),
            json!(["default", "nothing", true, false, false]),
        ),
        (json!({}), json!(["default", "nothing", true, false, false])),
    ] {
        grace.post(&of_channel, change.clone()).await.data(200, "Notification preference changed successfully");
        assert_eq!(chosen(&grace, &channel).await, found, "after {change}");
    }
    // Direct messages notify whatever she wants of the organisation.
    let direct = ada.post(&format!("/organisations/{org}/dms"), json!({ "user_ids": [grace.user_id] })).await.expect(201);
    let direct = text(&direct["data"]["channels_id"]);
    assert_eq!(chosen(&grace, &direct).await, json!(["default", "all_new_messages", true, true, false]));
    grace.post(&of(&direct), json!({ "at_channel": true, "at_mentions": true, "muted": false })).await.expect(200);
    assert_eq!(chosen(&grace, &direct).await, json!(["default", "all_new_messages", true, true, false]));
    // It is hers alone, and ends with her membership.
    assert_eq!(chosen(&ada, &channel).await, json!(["default", "mentions", true, true, false]));
    grace.call("POST", &format!("/channels/{channel}/leave"), None).await.expect(200);
    ada.post(&format!("/channels/{channel}/users"), json!({ "user_ids": [grace.user_id] })).await.expect(200);
    assert_eq!(chosen(&grace, &channel).await, json!(["default", "nothing", true, false, false]));
    ada.delete(&format!("/organisations/{org}/users/{}", grace.user_id)).await.expect(200);
    assert_eq!(server.count("organisation_notifications") + server.count("channel_notifications"), 0);
}

/// Hears what calls one person.
struct Called<'a> {
    who: &'a Client,
    socket: Socket,
}

impl<'a> Called<'a> {
    async fn listen(who: &'a Client) -> Called<'a> {
        Called { who, socket: Socket::listening(who, &[&who.user_id]).await }
    }

    /// The next message that calls them, and why.
    async fn next(&mut self) -> (String, String) {
        let publication = self.socket.on(&self.who.user_id).await;
        assert_eq!([&publication["notification_type"], &publication["section"]], ["notification", "account_section"]);
        let data = &publication["data"];
        let shape = "channels_id:uuid organisation_id:uuid thread_id:uuid message_id:uuid reason:text created_at:time";
        assert_shape(data, shape);
        (text(&data["message_id"]), text(&data["reason"]))
    }
}

#[tokio::test]
async fn a_message_calls_whom_it_is_meant_for_and_says_why() {
    let server = Server::start().await;
    let (ada, grace, org) = server.ada_and_grace().await;
    let channel = ada.channel(&org, "dev", &[&grace]).await;
    let direct = ada.post(&format!("/organisations/{org}/dms"), json!({ "user_ids": [grace.user_id] })).await.expect(201);
    let direct = text(&direct["data"]["channels_id"]);
    let mut called = Called::listen(&grace).await;
    let says = async |channel: &str, content: &str| ada.say(channel, content).await;

    says(&channel, "nobody is meant").await;
    let named = says(&channel, "@grace, look").await;
    assert_eq!(called.next().await, (named.clone(), "mention".into()), "the post before has called nobody");
    let all = says(&channel, "@channel, look").await;
    assert_eq!(called.next().await, (all, "channel_mention".into()));
    let post = says(&direct, "Hello").await;
    assert_eq!(called.next().await, (post, "direct".into()));
    let reply = ada.reply(&channel, &named, "and here").await;
    assert_eq!(called.next().await, (reply, "reply".into()), "who was mentioned follows the thread");

    // What she wants otherwise, nearer choices and a thread that she leaves.
    grace.delete(&format!("/threads/{named}/follow")).await.expect(200);
    ada.reply(&channel, &named, "without her").await;
    let post = says(&direct, "Where are you?").await;
    assert_eq!(called.next().await, (post, "direct".into()), "before she chooses otherwise");
    grace.post(&of(&channel), json!({ "notify_about": "all_new_messages", "at_channel": false })).await.expect(200);
    let post = says(&channel, "@channel, look again").await;
    assert_eq!(called.next().await, (post, "post".into()));
    grace.post(&of(&channel), json!({ "muted": true })).await.expect(200);
    says(&channel, "into a muted channel").await;
    let named = says(&channel, "@grace, even so").await;
    assert_eq!(called.next().await, (named, "mention".into()));
    let named = says(&channel, "@channel, and @grace above all").await;
    assert_eq!(called.next().await, (named, "mention".into()), "who is named beside all is named");
    grace.post(&of(&channel), json!({ "notify_about": "nothing", "muted": false })).await.expect(200);
    says(&channel, "@grace, in vain").await;
    let post = says(&direct, "Are you there?").await;
    assert_eq!(called.next().await, (post, "direct".into()));
    grace.post(&of(&channel), json!({ "notify_about": "default" })).await.expect(200);
    grace.post(&format!("/organisations/{org}/notification-preference"), json!({ "notify_about": "all_new_messages" })).await;
    let post = says(&channel, "wanted everywhere").await;
    assert_eq!(called.next().await, (post, "post".into()));

    // Her own words call nobody, and neither do those of a channel that she has left.
    grace.say(&channel, "@grace @channel").await;
    grace.call("POST", &format!("/channels/{channel}/leave"), None).await.expect(200);
    says(&channel, "@channel, she is gone").await;
    let last = says(&direct, "Come back").await;
    assert_eq!(called.next().await, (last, "direct".into()));
}

#[tokio::test]
async fn an_edit_calls_whom_the_former_text_has_not() {
    let server = Server::start().await;
    let (ada, grace, org) = server.ada_and_grace().await;
    let bob = server.member(&ada, &org, "bob", "member").await;
    let channel = ada.channel(&org, "dev", &[&grace, &bob]).await;
    let (mut called, mut of_bob) = (Called::listen(&grace).await, Called::listen(&bob).await);
    let edit = async |id: &str, content: &str| {
        let body = json!({ "content": content, "message_id": id });
        ada.put(&format!("/channels/{channel}/messages"), body).await.expect(200);
    };
    let post = ada.say(&channel, "look").await;
    edit(&post, "look, @grace").await;
    assert_eq!(called.next().await, (post.clone(), "mention".into()));
    edit(&post, "look, @grace and @bob").await;
    assert_eq!(of_bob.next().await, (post.clone(), "mention".into()));
    // Who wants each post was told of this one.
    grace.post(&of(&channel), json!({ "notify_about": "all_new_messages" })).await.expect(200);
    let post = ada.say(&channel, "another").await;
    assert_eq!(called.next().await, (post.clone(), "post".into()));
    edit(&post, "another, @grace").await;
    let last = ada.say(&channel, "the last").await;
    assert_eq!(called.next().await, (last, "post".into()));
}

#[tokio::test]
async fn each_of_many_is_called_once() {
    const MANY: i64 = 450;
    let server = Server::start().await;
    let (ada, grace, org) = server.ada_and_grace().await;
    let channel = ada.channel(&org, "dev", &[&grace]).await;
    let id = |id: &str| format!("x'{}'", id.replace('-', ""));
    server.sql(&format!(
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < {MANY})
         insert into users (id, email, username, created_at, updated_at)
         select unhex(printf('%032x', i)), 'p' || i || '@example.org', 'p' || i, 1, 1 from n"
    ));
    server.sql(&format!(
        "insert into organisation_members (organisation_id, user_id, role_id, created_at, updated_at)
         select {}, id, 4, 1, 1 from users where username like 'p%'",
        id(&org)
    ));
    server.sql(&format!(
        "insert into channel_members (channel_id, user_id, username, created_at)
         select {}, id, username, 1 from users where username like 'p%'",
        id(&channel)
    ));
    let mut called = Called::listen(&grace).await;
    let first = ada.say(&channel, "@channel").await;
    let second = ada.say(&channel, "@channel, again").await;
    assert_eq!(called.next().await.0, first);
    assert_eq!(called.next().await.0, second, "the last of the second message's, since her identifier is the greatest");
    let calls = "from events where type = 'notification' and body like '%{}%'";
    for post in [first, second] {
        let calls = calls.replace("{}", &post);
        assert_eq!(server.number(&format!("select count(*) {calls}")), MANY + 1);
        assert_eq!(server.number(&format!("select count(distinct stream) {calls}")), MANY + 1);
    }
    assert_eq!(server.number("select count(*) from meta where key = 'notified_some'"), 0);
}

#[tokio::test]
async fn who_was_away_for_long_recovers_no_notifications() {
    let server = Server::start().await;
    let (ada, grace, org) = server.ada_and_grace().await;
    let channel = ada.channel(&org, "dev", &[&grace]).await;
    let mut socket = Socket::connect(&grace).await;
    let begun = socket.subscribe(&grace.user_id).await;
    let (epoch, offset) = (&begun["epoch"], &begun["offset"]);
    let post = ada.say(&channel, "@grace").await;
    assert_eq!(socket.on(&grace.user_id).await["data"]["message_id"], json!(post));
    let recovered = async || {
        let mut socket = Socket::connect(&grace).await;
        let found = socket.recover(&grace.user_id, epoch, offset).await;
        assert_eq!(found["recovered"], true);
        found["publications"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(recovered().await, 1);
    server.clock.advance(Duration::from_secs(601));
    assert_eq!(recovered().await, 0);
}

#[tokio::test]
async fn an_account_that_is_disabled_is_not_notified() {
    let server = Server::start().await;
    let (ada, grace, org) = server.ada_and_grace().await;
    let bob = server.member(&ada, &org, "bob", "member").await;
    let channel = ada.channel(&org, "dev", &[&grace, &bob]).await;
    let mut called = Called::listen(&grace).await;
    server.sql(&format!("update users set is_active = 0 where id = x'{}'", bob.user_id.replace('-', "")));
    let post = ada.say(&channel, "@grace and @bob").await;
    assert_eq!(called.next().await, (post, "mention".into()));
    assert_eq!(
        server.number(&format!("select count(*) from events where type = 'notification' and stream = '{}'", bob.user_id)),
        0
    );
}
