//! The threads that somebody takes part in: which they are, what is unread in them, and how a reply reaches their members.

use serde_json::{Value, json};

use crate::{
    harness::{Client, Server, blob, text, unknown_id},
    socket::Socket,
};

/// The caller's own threads, each with its unread replies and mentions.
pub async fn own(client: &Client, organisation: &str) -> Vec<(String, i64, i64)> {
    let listed = client.get(&format!("/threads/organisations/{organisation}?mine=true&messages=0")).await.expect(200);
    let number = |thread: &Value, field: &str| thread[field].as_i64().unwrap();
    let threads = listed["data"].as_array().unwrap().iter();
    threads
        .map(|thread| {
            assert_eq!(thread["messages"], json!([]), "without replies on request");
            (text(&thread["thread_id"]), number(thread, "unread_count"), number(thread, "mention_count"))
        })
        .collect()
}

pub async fn channel(client: &Client, channel: &str) -> (i64, i64, String) {
    let data = client.get(&format!("/channels/{channel}")).await.expect(200)["data"].take();
    (data["thread_count"].as_i64().unwrap(), data["mention_count"].as_i64().unwrap(), text(&data["last_read_id"]))
}

pub async fn read(client: &Client, thread: &str, body: Value) -> Value {
    client.put(&format!("/threads/{thread}/read"), body).await.expect(200)["data"].take()
}

/// The next publication of the kind on a personal stream.
pub async fn told(socket: &mut Socket, personal: &str, kind: &str) -> Value {
    loop {
        let mut publication = socket.on(personal).await;
        if publication["notification_type"] == kind {
            return publication["data"].take();
        }
    }
}

#[tokio::test]
async fn a_thread_belongs_to_its_author_to_those_who_reply_and_to_those_who_are_mentioned() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let mut others = Vec::new();
    for name in ["bob", "cleo", "dora"] {
        others.push(server.member(&ada, &organisation, name, "member").await);
    }
    let [bob, cleo, dora] = &others[..] else { unreachable!() };
    let news = ada.channel(&organisation, "news", &[&grace, bob, cleo, dora]).await;
    let thread = ada.say(&news, "hello @bob").await;
    assert_eq!(own(&ada, &organisation).await, [], "a post is listed from its first reply on");
    grace.reply(&news, &thread, "one").await;
    grace.reply(&news, &thread, "two for @cleo").await;
    for (client, expected) in
        [(&ada, Some((2, 0))), (&grace, Some((0, 0))), (bob, Some((2, 0))), (cleo, Some((1, 1))), (dora, None)]
    {
        let expected: Vec<_> = expected.into_iter().map(|(unread, mentions)| (thread.clone(), unread, mentions)).collect();
        assert_eq!(own(client, &organisation).await, expected);
    }
    assert_eq!(channel(cleo, &news).await.1, 1, "the mention counts in the channel, too");
    // Whoever reads a thread without taking part in it has no mark; whoever marks it unread takes part.
    assert_eq!(read(dora, &thread, json!({})).await["unread_count"], 0);
    assert_eq!(own(dora, &organisation).await, []);
    assert_eq!(read(dora, &thread, json!({ "unread_from": thread })).await["unread_count"], 2);
    assert_eq!(own(dora, &organisation).await, [(thread.clone(), 2, 0)]);
    // Guests and former members of the channel see nothing of it.
    ada.delete(&format!("/channels/{news}/users/{}", bob.user_id)).await.expect(200);
    assert_eq!(own(bob, &organisation).await, []);
    bob.put(&format!("/threads/{thread}/read"), json!({})).await.expect(403);
    ada.delete(&format!("/organisations/{organisation}/users/{}", cleo.user_id)).await.expect(200);
    cleo.get(&format!("/threads/organisations/{organisation}?mine=true")).await.expect(404);
}

#[tokio::test]
async fn whoever_takes_part_by_marking_is_told_though_nothing_is_left_unread() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let dora = server.member(&ada, &organisation, "dora", "member").await;
    let news = ada.channel(&organisation, "news", &[&grace, &dora]).await;
    let thread = ada.say(&news, "hello").await;
    grace.reply(&news, &thread, "one").await;
    let last = grace.reply(&news, &thread, "two").await;
    grace.delete(&format!("/channels/{news}/messages/{last}")).await.expect(200);
    let personal = dora.personal(&organisation);
    let mut socket = Socket::listening(&dora, &[&personal]).await;
    assert_eq!(read(&dora, &thread, json!({ "unread_from": last })).await["unread_count"], 0);
    let change = told(&mut socket, &personal, "thread_unread").await;
    assert_eq!([&change["thread_id"], &change["message_count"], &change["unread_count"]], [&json!(thread), &json!(1), &json!(0)]);
    assert_eq!(own(&dora, &organisation).await, [(thread, 0, 0)]);
}

#[tokio::test]
async fn the_thread_shows_its_first_three_participants_in_the_order_of_their_first_reply() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let bob = server.member(&ada, &organisation, "bob", "member").await;
    let cleo = server.member(&ada, &organisation, "cleo", "member").await;
    let news = ada.channel(&organisation, "news", &[&grace, &bob, &cleo]).await;
    let thread = ada.say(&news, "hello").await;
    let mut socket = Socket::listening(&ada, &[&news]).await;
    let mut firsts = Vec::new();
    for author in [&grace, &bob, &grace, &ada, &cleo] {
        firsts.push(author.reply(&news, &thread, "a reply").await);
        let change = socket.on(&news).await["update_change"].take();
        let listed = ada.get(&format!("/channels/{news}/messages")).await.expect(200)["messages"][0].take();
        assert_eq!(
            [&change["participants"], &change["participant_count"]],
            [&listed["participants"], &listed["participant_count"]]
        );
    }
    let shown = async || {
        let one = ada.get(&format!("/threads/{thread}")).await.expect(200)["data"].take();
        let names = one["participants"].as_array().unwrap().iter().map(|person| text(&person["username"])).collect::<Vec<_>>();
        (names.join(" "), one["participant_count"].as_i64().unwrap())
    };
    assert_eq!(shown().await, ("grace bob ada".into(), 4));
    ada.delete(&format!("/channels/{news}/messages/{}", firsts[0])).await.expect(200);
    assert_eq!(shown().await, ("bob grace ada".into(), 4), "grace's first reply is her second now");
    ada.delete(&format!("/channels/{news}/messages/{}", firsts[1])).await.expect(200);
    assert_eq!(shown().await, ("grace ada cleo".into(), 3));
}

#[tokio::test]
async fn reading_a_channel_clears_no_mention_in_a_thread_and_a_reply_reads_no_channel() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let news = ada.channel(&organisation, "news", &[&grace]).await;
    let thread = ada.say(&news, "hello @grace").await;
    let later = ada.say(&news, "later").await;
    ada.reply(&news, &thread, "you, @grace").await;
    assert_eq!(channel(&grace, &news).await.0, 2);
    grace.put(&format!("/channels/{news}/read"), json!({})).await.expect(200);
    assert_eq!(channel(&grace, &news).await, (0, 1, later), "the reply waits");
    let post = ada.say(&news, "one more").await;
    assert_eq!(read(&grace, &thread, json!({})).await["mention_count"], 0);
    assert_eq!(channel(&grace, &news).await.1, 0);
    grace.reply(&news, &thread, "here, @channel").await;
    assert_eq!(channel(&grace, &news).await.0, 1, "a reply marks its thread alone");
    assert_eq!(channel(&grace, &news).await.1, 0, "her own words mention nobody to her");
    assert_eq!(channel(&ada, &news).await, (0, 1, post));
}

#[tokio::test]
async fn the_line_of_what_is_new_stands_at_the_same_place_on_two_devices() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let news = ada.channel(&organisation, "news", &[&grace]).await;
    let posts = [ada.say(&news, "one").await, ada.say(&news, "two").await, ada.say(&news, "three").await];
    let personal = grace.personal(&organisation);
    let mut devices = Vec::new();
    for _ in 0..2 {
        devices.push(Socket::listening(&grace, &[&personal]).await);
    }
    let path = format!("/channels/{news}/read");
    for (body, left, last) in [
        (json!({ "last_message_id": posts[1] }), 1, &posts[1]),
        (json!({ "unread_from": posts[0] }), 3, &String::new()),
        (json!({}), 0, &posts[2]),
        (json!({ "unread_from": posts[2] }), 1, &posts[1]),
    ] {
        let marked = grace.put(&path, body).await.expect(200)["data"].take();
        for socket in &mut devices {
            let told = told(socket, &personal, "unread_thread_change").await;
            for counts in [&told, &marked] {
                assert_eq!((&counts["thread_count"], &counts["last_read_id"]), (&json!(left), &json!(last)));
            }
        }
    }
    // Their own post marks the channel as read, which the other device learns.
    let own = grace.say(&news, "four").await;
    for socket in &mut devices {
        assert_eq!(told(socket, &personal, "unread_thread_change").await["last_read_id"], own.as_str());
    }
    // And so in threads.
    let first = ada.reply(&news, &own, "a reply").await;
    ada.reply(&news, &own, "another").await;
    for (body, left, last) in [(json!({ "last_message_id": first }), 1, first.as_str()), (json!({ "unread_from": first }), 2, "")]
    {
        read(&grace, &own, body).await;
        for socket in &mut devices {
            let told = loop {
                let told = told(socket, &personal, "thread_unread").await;
                if told["message_count"] == 2 && told["last_read_id"] == last && told["unread_count"] == left {
                    break told;
                }
            };
            assert_eq!(told["thread_id"], own.as_str());
        }
    }
    assert_eq!(channel(&grace, &news).await.2, own);
}

#[tokio::test]
async fn a_reply_to_somebody_who_is_away_is_in_their_threads_when_they_come_back() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let bob = server.member(&ada, &organisation, "bob", "member").await;
    let news = ada.channel(&organisation, "news", &[&grace, &bob]).await;
    let thread = grace.say(&news, "hello").await;
    let personal = grace.personal(&organisation);
    let mut socket = Socket::connect(&grace).await;
    let place = socket.subscribe(&personal).await;
    drop(socket);
    let first = ada.reply(&news, &thread, "one").await;
    ada.reply(&news, &thread, "two, @grace").await;
    let server = server.restart().await;
    ada.delete(&format!("/channels/{news}/messages/{first}")).await.expect(200);
    let mut socket = Socket::connect(&grace).await;
    let recovered = socket.recover(&personal, &place["epoch"], &place["offset"]).await;
    assert_eq!(recovered["recovered"], true);
    let publications = recovered["publications"].as_array().unwrap().iter().map(|publication| &publication["data"]);
    let threads: Vec<_> = publications.filter(|data| data["notification_type"] == "thread_unread").collect();
    let [one] = threads[..] else { panic!("one for the thread: {threads:#?}") };
    let expected = json!([thread, 1, 1, 1, ""]);
    let data = &one["data"];
    assert_eq!(
        json!([data["thread_id"], data["unread_count"], data["mention_count"], data["message_count"], data["last_read_id"]]),
        expected
    );
    assert_eq!(own(&grace, &organisation).await, [(thread.clone(), 1, 1)]);
    // Somebody else in the channel is told nothing of the thread.
    let mut other = Socket::connect(&bob).await;
    let theirs = bob.personal(&organisation);
    let missed = other.recover(&theirs, &place["epoch"], &place["offset"]).await["publications"].take();
    assert!(!missed.to_string().contains("thread_unread"), "{missed:#}");
    server.stop().await;
}

#[tokio::test]
async fn a_reply_that_mentions_somebody_who_has_left_can_be_edited_and_they_are_not_told() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (general, news) = (ada.general(&organisation).await, ada.private_channel(&organisation, "news", &[&grace]).await);
    let thread = ada.say(&news, "hello").await;
    let reply = ada.reply(&news, &thread, "you, @grace").await;
    let mut socket = Socket::listening(&grace, &[&grace.personal(&organisation)]).await;
    grace.call("POST", &format!("/channels/{news}/leave"), None).await.expect(200);
    for content in ["nobody", "you, @grace", "@channel", "nobody"] {
        let edit = json!({ "message_id": reply, "content": content });
        ada.put(&format!("/channels/{news}/messages"), edit).await.expect(200);
    }
    ada.say(&general, "marker").await;
    loop {
        let heard = socket.on(&grace.personal(&organisation)).await;
        if heard["data"]["channels_id"] == general {
            break;
        }
        let leaving = [&heard["data"]["action"], &heard["data"]["trigger_action"]];
        assert!([[&json!("left"), &Value::Null], [&Value::Null, &json!("leave")]].contains(&leaving), "{heard}");
    }
    // Back again, she has what is there.
    ada.post(&format!("/channels/{news}/users"), json!({ "user_ids": [grace.user_id] })).await.expect(200);
    assert_eq!(channel(&grace, &news).await.1, 0);
}

#[tokio::test]
async fn marking_a_thread_fails_as_documented() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let news = ada.channel(&organisation, "news", &[&grace]).await;
    let thread = ada.say(&news, "hello").await;
    let reply = grace.reply(&news, &thread, "a reply").await;
    let other = ada.say(&news, "another").await;
    let mark = async |thread: &str, body: Value| ada.put(&format!("/threads/{thread}/read"), body).await;
    mark(&unknown_id(), json!({})).await.expect(404);
    mark(&reply, json!({})).await.expect(404);
    mark(&thread, json!({ "last_message_id": other })).await.expect(404);
    mark(&thread, json!({ "unread_from": unknown_id() })).await.expect(404);
    mark(&thread, json!({ "unread_from": reply, "last_message_id": reply })).await.expect(422);
    let both = json!({ "unread_from": thread, "last_message_id": thread });
    ada.put(&format!("/channels/{news}/read"), both).await.expect(422);
    assert_eq!(own(&ada, &organisation).await, [(thread, 1, 0)], "nothing was marked");
}

#[tokio::test]
async fn own_threads_come_in_pages_by_their_last_activity() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let news = ada.channel(&organisation, "news", &[&grace]).await;
    let mut threads = Vec::new();
    for n in 0..5 {
        let thread = ada.say(&news, &format!("thread {n}")).await;
        grace.reply(&news, &thread, "a reply").await;
        threads.insert(0, thread);
    }
    ada.say(&news, "without replies").await;
    let base = format!("/threads/organisations/{organisation}?mine=true&limit=2");
    let (mut path, mut seen) = (base.clone(), Vec::new());
    loop {
        let page = ada.get(&path).await;
        seen.extend(page.body["data"].as_array().unwrap().iter().map(|thread| text(&thread["thread_id"])));
        if seen.len() == 2 {
            // A thread that becomes active between two pages shifts none of them.
            grace.reply(&news, &threads[0], "again").await;
        }
        let link = page.headers.get("link").map(|link| link.to_str().unwrap().to_owned());
        let Some(link) = link else { break };
        let before = link.split("before=").nth(1).unwrap().split(['&', '>']).next().unwrap().to_owned();
        path = format!("{base}&before={before}");
    }
    assert_eq!(seen, threads);
    ada.get(&format!("{base}&before=0")).await.expect(400);
    ada.get(&format!("{base}&before=x")).await.expect(400);
}

#[tokio::test]
async fn a_mark_of_a_thread_passes_thousands_of_replies_in_steps() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let news = ada.channel(&organisation, "news", &[&grace]).await;
    let thread = grace.say(&news, "hello").await;
    ada.reply(&news, &thread, "first").await;
    let (channel, root) = (blob(&news), blob(&thread));
    server.sql(&format!(
        "insert into messages (id, channel_id, root, username, content, created_at, updated_at)
           with recursive k (k) as (select 1 union all select k + 1 from k where k < 4500)
           select unhex(printf('%032x', k)), {channel}, (select n from messages where id = {root}), 'x', 'x', 0, 0 from k"
    ));
    server.sql("update messages set deleted_at = 1 where root is not null and n % 10 = 0");
    server.sql(&format!(
        "update messages set reply_count = (select count(*) from messages r where r.root = messages.n and r.deleted_at is null),
           active_n = (select max(n) from messages) where id = {root}"
    ));
    let all = own(&grace, &organisation).await[0].1;
    assert!((4050..=4051).contains(&all), "{all}");
    let reply = |k: u128| uuid::Uuid::from_u128(k).to_string();
    for (body, left) in [
        (json!({ "last_message_id": reply(4100) }), 360),
        (json!({ "last_message_id": reply(10) }), 360),
        (json!({ "unread_from": reply(101) }), 3960),
        (json!({}), 0),
        (json!({ "unread_from": thread }), all),
    ] {
        assert_eq!(read(&grace, &thread, body.clone()).await["unread_count"], left, "{body}");
        assert_eq!(own(&grace, &organisation).await[0].1, left);
    }
}
