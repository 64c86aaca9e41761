//! What is pushed, to whom, and in which order.

use serde_json::{Value, json};

use crate::{
    harness::{Client, Server, text},
    shapes::{MESSAGE, MODIFICATION_IDS, PUSHED, UNREAD, UPDATE_CHANGE, assert_shape},
    socket::Socket,
};

/// A publication of this type in the documented envelope; gives it back.
#[track_caller]
fn pushed(publication: Value, kind: &str, section: &str) -> Value {
    assert_shape(&publication, PUSHED);
    assert_eq!([&publication["notification_type"], &publication["section"]], [kind, section], "{publication:#}");
    publication
}

#[track_caller]
fn unread(publication: Value, channel: &str, counts: (u64, u64)) -> Value {
    let data = pushed(publication, "unread_thread_change", "channels_section")["data"].take();
    assert_shape(&data, UNREAD);
    assert_eq!(data["channels_id"], channel);
    assert_eq!((&data["thread_count"], &data["mention_count"]), (&json!(counts.0), &json!(counts.1)), "{data:#}");
    data
}

struct Scene {
    server: Server,
    ada: Client,
    grace: Client,
    organisation: String,
    channel: String,
    hers: Socket,
    mine: Socket,
}

/// Ada and Grace in a channel `news`; each listens to it, to the organisation and to their own stream.
async fn scene() -> Scene {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let hers = Socket::listening(&ada, &[&channel, &organisation, &ada.personal(&organisation)]).await;
    let mine = Socket::listening(&grace, &[&channel, &organisation, &grace.personal(&organisation)]).await;
    Scene { server, ada, grace, organisation, channel, hers, mine }
}

#[tokio::test]
async fn a_post_goes_to_the_channel_and_as_a_count_to_every_other_member() {
    let Scene { ada, grace, organisation, channel, hers, mine, server } = &mut scene().await;
    server.sql("update users set first_name = 'Ada', last_name = 'Lovelace' where username = 'ada'");
    let id = ada.say(channel, "hello").await;
    for socket in [&mut *hers, &mut *mine] {
        let message = socket.on(channel).await;
        assert_shape(&message, MESSAGE);
        assert!(message.get("notification_type").is_none(), "bare: {message}");
        assert_eq!([&message["id"], &message["thread_id"]], [&id, &id]);
        assert_eq!([&message["channel_id"], &message["channels_id"], &message["org_id"]], [&*channel, channel, organisation]);
        assert_eq!([&message["user_id"], &message["username"], &message["email"]], [&ada.user_id, "ada", &ada.email]);
        assert_eq!([&message["message"], &message["content"], &message["full_name"]], ["hello", "hello", "Ada Lovelace"]);
        assert_eq!([&message["type"], &message["status"], &message["event_name"]], ["message", "success", ""]);
    }
    let data = unread(mine.on(&grace.personal(organisation)).await, channel, (1, 0));
    assert_eq!([&data["name"], &data["description"], &data["access"]], [&json!("news"), &json!(""), &json!(true)]);
    assert_eq!([&data["last_thread_id"], &data["owner_id"], &data["organisation_id"]], [&id, &ada.user_id, organisation]);

    ada.say(channel, "two").await;
    for _ in 0..2 {
        unread(hers.on(&ada.personal(organisation)).await, channel, (0, 0)); // her other devices learn that she has read her own
    }
    unread(mine.on(&grace.personal(organisation)).await, channel, (2, 0));
    grace.say(channel, "three").await;
    unread(hers.on(&ada.personal(organisation)).await, channel, (1, 0));
    unread(mine.on(&grace.personal(organisation)).await, channel, (0, 0)); // posting marks read
    ada.say(channel, "four").await;
    unread(mine.on(&grace.personal(organisation)).await, channel, (1, 0));
}

#[tokio::test]
async fn a_repeated_post_is_pushed_once() {
    let Scene { ada, channel, mine, .. } = &mut scene().await;
    let body = json!({ "content": "once", "id": crate::harness::unknown_id() });
    for _ in 0..2 {
        ada.post(&format!("/channels/{channel}/messages"), body.clone()).await.expect(201);
    }
    ada.say(channel, "marker").await;
    assert_eq!(mine.on(channel).await["content"], "once");
    assert_eq!(mine.on(channel).await["content"], "marker");
}

#[tokio::test]
async fn any_text_arrives_as_it_was_sent() {
    let Scene { ada, channel, mine, .. } = &mut scene().await;
    for content in ["two\nlines\r\n", "\u{2028}\u{0}\u{1f}\u{7f}", r#""quoted" \ {"push":{}}"#, "🌍 مرحبا", "</script><b>&amp;"]
    {
        ada.say(channel, content).await;
        assert_eq!(mine.on(channel).await["content"], content);
    }
}

#[tokio::test]
async fn a_refused_post_is_not_pushed() {
    let Scene { ada, channel, mine, .. } = &mut scene().await;
    ada.post(&format!("/channels/{channel}/messages"), json!({ "content": " " })).await.expect(422);
    ada.say(channel, "marker").await;
    assert_eq!(mine.on(channel).await["content"], "marker");
}

#[tokio::test]
async fn a_reply_goes_to_the_thread_and_its_count_to_the_channel() {
    let Scene { ada, grace, organisation, channel, mine, hers, .. } = &mut scene().await;
    let thread = ada.say(channel, "post").await;
    unread(mine.on(&grace.personal(organisation)).await, channel, (1, 0));
    mine.subscribe(&thread).await;
    let id = grace.reply(channel, &thread, "reply").await;
    let message = mine.on(&thread).await;
    assert_shape(&message, MESSAGE);
    assert_eq!([&message["id"], &message["thread_id"], &message["content"]], [&id, &thread, "reply"]);

    assert_eq!(mine.on(channel).await["content"], "post");
    let change = mine.on(channel).await;
    assert_eq!(change["notification_type"], "reply_count_change", "{change:#}");
    assert_shape(&change, PUSHED);
    assert_eq!([&change["section"], &change["data"]], [&json!("channels_section"), &message], "the reply itself");
    assert_shape(&change["update_change"], UPDATE_CHANGE);
    let participants =
        json!([{ "user_id": grace.user_id, "username": "grace", "full_name": "", "avatar_url": "", "user_type": "user" }]);
    let counts = json!({ "thread_count": 1, "message_count": 1, "participant_count": 1, "participants": participants,
        "last_reply": message["created_at"] });
    assert_eq!(change["update_change"], counts);

    unread(hers.on(&ada.personal(organisation)).await, channel, (0, 0)); // of her own post
    let mut kinds = Vec::new();
    for _ in 0..2 {
        kinds.push(text(&hers.on(&ada.personal(organisation)).await["notification_type"]));
    }
    kinds.sort();
    assert_eq!(kinds, ["thread_unread", "unread_thread_change"]);
}

#[tokio::test]
async fn a_mention_is_pushed_to_the_mentioned_member() {
    let Scene { server, ada, grace, organisation, channel, mine, .. } = &mut scene().await;
    let personal = grace.personal(organisation);
    let bob = server.member(ada, organisation, "bob", "member").await;
    bob.call("POST", &format!("/channels/{channel}/join"), None).await.expect(200);
    let mut his = Socket::listening(&bob, &[&bob.personal(organisation)]).await;

    let id = ada.say(channel, "hello @grace").await;
    let (mut mention, mut count) = (mine.on(&personal).await, mine.on(&personal).await);
    if mention["notification_type"] == "unread_thread_change" {
        (mention, count) = (count, mention);
    }
    unread(count, channel, (1, 1));
    let mention = pushed(mention, "channel_mention", "thread_message");
    assert_shape(&mention["data"], MESSAGE);
    assert_eq!([&mention["data"]["id"], &mention["data"]["content"]], [&id, "hello @grace"]);
    assert_eq!(mention["data"]["mentions"], json!([{ "id": grace.user_id, "type": "user", "username": "grace" }]));
    unread(his.on(&bob.personal(organisation)).await, channel, (1, 0));

    ada.reply(channel, &id, "@channel!").await;
    let mut kinds = [text(&his.next().await.1["notification_type"]), text(&his.next().await.1["notification_type"])];
    kinds.sort();
    assert_eq!(kinds, ["channel_mention", "unread_thread_change"]);
}

#[tokio::test]
async fn a_mention_of_oneself_is_not_pushed() {
    let Scene { ada, grace, organisation, channel, hers, .. } = &mut scene().await;
    ada.say(channel, "note to @ada").await;
    ada.say(channel, "@ada and @channel").await;
    for _ in 0..2 {
        unread(hers.on(&ada.personal(organisation)).await, channel, (0, 0)); // that of her own posts, and no mention
    }
    grace.say(channel, "marker").await;
    unread(hers.on(&ada.personal(organisation)).await, channel, (1, 0));
}

#[tokio::test]
async fn an_edit_goes_to_the_channel_and_of_a_reply_to_the_thread_too() {
    let Scene { ada, grace, organisation, channel, mine, .. } = &mut scene().await;
    let post = ada.say(channel, "tpyo").await;
    mine.subscribe(&post).await;
    mine.on(channel).await;
    let edit = |id: &str, content: &str| json!({ "message_id": id, "content": content });
    ada.put(&format!("/channels/{channel}/messages"), edit(&post, "typo")).await.expect(200);
    let check = |publication: Value, section: &str, id: &str, author: &Client, content: &str| {
        let updated = pushed(publication, "updated", section);
        assert_shape(&updated["modification_ids"], MODIFICATION_IDS);
        let expected = json!({ "thread_id": post, "message_id": id, "channel_id": channel, "user_id": author.user_id, "org_id": organisation });
        assert_eq!(updated["modification_ids"], expected);
        assert_shape(&updated["data"], MESSAGE);
        assert_eq!([&updated["data"]["id"], &updated["data"]["content"]], [id, content]);
    };
    check(mine.on(channel).await, "thread_message", &post, ada, "typo");

    let reply = grace.reply(channel, &post, "relpy").await;
    assert_eq!(mine.on(&post).await["content"], "relpy");
    assert_eq!(mine.on(channel).await["notification_type"], "reply_count_change");
    grace.put(&format!("/channels/{channel}/messages"), edit(&reply, "reply")).await.expect(200);
    check(mine.on(&post).await, "reply_message", &reply, grace, "reply");
    check(mine.on(channel).await, "reply_message", &reply, grace, "reply");
}

#[tokio::test]
async fn a_read_mark_is_pushed_to_its_reader_only() {
    let Scene { ada, grace, organisation, channel, mine, hers, .. } = &mut scene().await;
    let personal = grace.personal(organisation);
    ada.say(channel, "@grace").await;
    grace.put(&format!("/channels/{channel}/read"), json!({})).await.expect(200);
    let read = loop {
        let publication = mine.on(&personal).await;
        if publication["data"]["thread_count"] == 0 {
            break publication;
        }
    };
    unread(read, channel, (0, 0));
    unread(hers.on(&ada.personal(organisation)).await, channel, (0, 0)); // of her own post
    grace.say(channel, "marker").await;
    unread(hers.on(&ada.personal(organisation)).await, channel, (1, 0));
}

#[tokio::test]
async fn a_made_changed_or_deleted_channel_is_pushed_to_its_members() {
    let Scene { ada, grace, organisation, mine, .. } = &mut scene().await;
    let personal = grace.personal(organisation);
    let update = async |mine: &mut Socket, on: &str| pushed(mine.on(on).await, "channel_update", "channels_section");
    let channel = ada.channel(organisation, "plans", &[grace]).await;
    assert_eq!(update(mine, &personal).await["data"]["name"], "plans");
    pushed(mine.on(&personal).await, "trigger_notification", "channels_section");
    mine.subscribe(&channel).await;
    ada.patch(&format!("/channels/{channel}"), json!({ "name": "deeds" })).await.expect(200);
    assert_eq!(update(mine, &channel).await["data"]["name"], "deeds");
    assert_eq!(update(mine, &personal).await["data"]["name"], "deeds");
    ada.delete(&format!("/channels/{channel}")).await.expect(204);
    assert_eq!(update(mine, &channel).await["data"]["name"], "deeds");
    assert_eq!(update(mine, &personal).await["data"]["channels_id"], channel);
}

#[tokio::test]
async fn joining_and_leaving_are_pushed_to_the_channel_and_to_the_user() {
    let Scene { server, ada, organisation, channel, mine, .. } = &mut scene().await;
    let bob = server.member(ada, organisation, "bob", "member").await;
    let personal = bob.personal(organisation);
    let mut his = Socket::listening(&bob, &[&personal]).await;
    for step in ["join", "leave"] {
        bob.call("POST", &format!("/channels/{channel}/{step}"), None).await.expect(200);
        for publication in [mine.on(channel).await, his.on(&personal).await] {
            let publication = pushed(publication, "channel_update", "channels_section");
            assert_eq!(publication["data"]["name"], "news");
            assert_eq!(publication["modification_ids"]["user_id"], bob.user_id);
            assert_eq!(publication["modification_ids"]["channel_id"], *channel);
        }
        pushed(his.on(&personal).await, "trigger_notification", "channels_section");
    }
}

#[tokio::test]
async fn a_new_member_is_pushed_to_the_organisation() {
    let Scene { server, ada, organisation, mine, .. } = &mut scene().await;
    let bob = server.member(ada, organisation, "bob", "member").await;
    let update = pushed(mine.on(organisation).await, "member_update", "channels_section");
    assert!(update.to_string().contains(&bob.user_id), "{update:#}");
}

#[tokio::test]
async fn a_subscriber_receives_nothing_of_other_channels() {
    let Scene { ada, grace, organisation, channel, mine, .. } = &mut scene().await;
    let private = ada.private_channel(organisation, "secret", &[]).await;
    let thread = ada.say(&private, "@grace @channel secret").await;
    ada.reply(&private, &thread, "more").await;
    ada.say(channel, "marker").await;
    let (first, second) = (mine.next().await, mine.next().await);
    assert!([&first.0, &second.0].contains(&&*channel) && [&first.0, &second.0].contains(&&grace.personal(organisation)));
    assert_eq!([&first.1, &second.1].iter().filter(|data| data["content"] == "marker").count(), 1);
}

#[tokio::test]
async fn messages_are_pushed_once_each_in_the_order_of_the_list() {
    let Scene { ada, grace, channel, mine, .. } = &mut scene().await;
    let posts = (0..40).map(|number| {
        let author = if number % 2 == 0 { &ada } else { &grace };
        author.say(channel, "hello")
    });
    futures_util::future::join_all(posts).await;
    ada.say(channel, "marker").await;
    let mut heard = Vec::new();
    loop {
        let message = mine.on(channel).await;
        heard.push(text(&message["id"]));
        if message["content"] == "marker" {
            break;
        }
    }
    let body = grace.get(&format!("/channels/{channel}/messages")).await.expect(200);
    let listed: Vec<_> = body["messages"].as_array().unwrap().iter().rev().map(|message| text(&message["id"])).collect();
    assert_eq!(heard, listed);
    assert_eq!(heard.len(), 41);
}

#[tokio::test]
async fn an_edit_is_pushed_to_members_whom_only_the_new_text_mentions() {
    let Scene { ada, grace, organisation, channel, mine, hers, .. } = &mut scene().await;
    let personal = grace.personal(organisation);
    let post = ada.say(channel, "hello").await;
    unread(mine.on(&personal).await, channel, (1, 0));
    let edit = async |content: &str| {
        let body = json!({ "message_id": post, "content": content });
        ada.put(&format!("/channels/{channel}/messages"), body).await.expect(200);
    };
    let mention = async |mine: &mut Socket, content: &str| {
        let mention = pushed(mine.on(&personal).await, "channel_mention", "thread_message");
        assert_eq!([&mention["data"]["id"], &mention["data"]["content"]], [&post, content]);
    };
    edit("hello @grace and @ada").await;
    unread(mine.on(&personal).await, channel, (1, 1));
    mention(mine, "hello @grace and @ada").await;
    edit("good morning, @grace").await; // she has been told
    edit("hello @channel").await;
    unread(mine.on(&personal).await, channel, (1, 1));
    mention(mine, "hello @channel").await;
    edit("hello").await;
    unread(mine.on(&personal).await, channel, (1, 0));

    grace.say(channel, "marker").await;
    let mut counts = hers.on(&ada.personal(organisation)).await;
    while counts["data"]["thread_count"] == 0 {
        unread(counts, channel, (0, 0)); // the author has no mention, and nothing unread
        counts = hers.on(&ada.personal(organisation)).await;
    }
    unread(counts, channel, (1, 0));
}

#[tokio::test]
async fn an_edit_of_a_read_message_does_not_count_as_unread() {
    let Scene { ada, grace, organisation, channel, mine, .. } = &mut scene().await;
    let personal = grace.personal(organisation);
    let post = ada.say(channel, "hello").await;
    unread(mine.on(&personal).await, channel, (1, 0));
    grace.put(&format!("/channels/{channel}/read"), json!({})).await.expect(200);
    unread(mine.on(&personal).await, channel, (0, 0));
    for content in ["hello @grace", "hello @channel", "hello"] {
        let body = json!({ "message_id": post, "content": content });
        ada.put(&format!("/channels/{channel}/messages"), body).await.expect(200);
    }
    for content in ["hello @grace", "hello @channel"] {
        let told = loop {
            let told = mine.on(&personal).await;
            if told["notification_type"] == "channel_mention" {
                break told;
            }
            unread(told, channel, (0, 0));
        };
        assert_eq!(told["data"]["content"], content);
    }
    unread(mine.on(&personal).await, channel, (0, 0));
    ada.say(channel, "marker").await;
    unread(mine.on(&personal).await, channel, (1, 0));
}
