//! Unread posts and mentions: what is counted, and what marks it read.

use std::{collections::HashMap, sync::LazyLock};

use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::{Value, json};

use crate::harness::{Client, Reply, Server, unknown_id};

/// `thread_count` and `mention_count` of a channel in the caller's list.
async fn unread(client: &Client, organisation: &str, channel: &str) -> (u64, u64) {
    let data = client.get(&format!("/organisations/{organisation}/user-channels")).await.expect(200)["data"].take();
    let listed = data.as_array().unwrap().iter().find(|listed| listed["id"] == channel).expect("the caller is in the channel");
    (listed["thread_count"].as_u64().unwrap(), listed["mention_count"].as_u64().unwrap())
}

async fn read(client: &Client, channel: &str, body: Value) -> Reply {
    client.put(&format!("/channels/{channel}/read"), body).await
}

#[tokio::test]
async fn posts_of_others_are_unread_until_the_channel_is_read() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    assert_eq!(unread(&grace, &organisation, &channel).await, (0, 0));
    let thread = ada.say(&channel, "one").await;
    ada.say(&channel, "two").await;
    ada.reply(&channel, &thread, "a reply is no thread").await;
    assert_eq!(unread(&grace, &organisation, &channel).await, (2, 0));
    assert_eq!(unread(&ada, &organisation, &channel).await, (0, 0), "one's own are read");
    read(&grace, &channel, json!({})).await.expect(200);
    assert_eq!(unread(&grace, &organisation, &channel).await, (0, 0));
    ada.say(&channel, "three").await;
    assert_eq!(unread(&grace, &organisation, &channel).await, (1, 0));
    assert_eq!(unread(&grace, &organisation, &ada.general(&organisation).await).await, (0, 0), "each channel for itself");
}

#[tokio::test]
async fn mentions_are_counted_in_posts_and_replies() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let bob = server.member(&ada, &organisation, "bob", "member").await;
    let channel = ada.channel(&organisation, "news", &[&grace, &bob]).await;
    let thread = ada.say(&channel, "hello @grace").await;
    ada.reply(&channel, &thread, "and @Grace, again (@grace)").await;
    ada.reply(&channel, &thread, "@channel: all of you").await;
    ada.say(&channel, "mail me at x@grace.example, @gracexyz").await;
    assert_eq!(unread(&grace, &organisation, &channel).await, (2, 3));
    assert_eq!(unread(&bob, &organisation, &channel).await, (2, 1));
    assert_eq!(unread(&ada, &organisation, &channel).await, (0, 0));
    read(&grace, &channel, json!({})).await.expect(200);
    assert_eq!(unread(&grace, &organisation, &channel).await, (0, 1), "the one in a reply is the thread's");
    grace.put(&format!("/threads/{thread}/read"), json!({})).await.expect(200);
    assert_eq!(unread(&grace, &organisation, &channel).await, (0, 0));
    assert_eq!(unread(&bob, &organisation, &channel).await, (2, 1));
}

#[tokio::test]
async fn a_mark_up_to_a_message_leaves_later_posts_unread() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    ada.say(&channel, "one @grace").await;
    let two = ada.say(&channel, "two @channel").await;
    let three = ada.say(&channel, "three @grace").await;
    read(&grace, &channel, json!({ "last_message_id": two })).await.expect(200);
    assert_eq!(unread(&grace, &organisation, &channel).await, (1, 1));
    read(&grace, &channel, json!({ "last_message_id": three })).await.expect(200);
    assert_eq!(unread(&grace, &organisation, &channel).await, (0, 0));
}

#[tokio::test]
async fn reading_up_to_a_reply_reads_the_posts_before_it_and_none_after() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let one = ada.say(&channel, "one").await;
    let two = ada.say(&channel, "two").await;
    let reply = ada.reply(&channel, &one, "to one, after two").await;
    let three = ada.say(&channel, "three").await;
    let late = ada.reply(&channel, &one, "to one, after three").await;
    for (last, left) in [(&one, 2), (&reply, 1), (&two, 1), (&one, 1), (&three, 0), (&late, 0)] {
        read(&grace, &channel, json!({ "last_message_id": last })).await.expect(200);
        assert_eq!(unread(&grace, &organisation, &channel).await, (left, 0));
    }
}

#[tokio::test]
async fn a_member_who_joins_late_begins_with_nothing_unread() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[]).await;
    ada.say(&channel, "@channel before").await;
    grace.call("POST", &format!("/channels/{channel}/join"), None).await.expect(200);
    assert_eq!(unread(&grace, &organisation, &channel).await, (0, 0));
    ada.say(&channel, "@grace after").await;
    assert_eq!(unread(&grace, &organisation, &channel).await, (1, 1));
}

#[tokio::test]
async fn marking_a_channel_as_read_fails_as_documented() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let outsider = server.user("outsider").await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let (public, private) =
        (ada.channel(&organisation, "public", &[]).await, ada.private_channel(&organisation, "private", &[]).await);
    let elsewhere = ada.say(&public, "elsewhere").await;
    ada.say(&channel, "unread").await;
    for id in [unknown_id(), elsewhere] {
        read(&grace, &channel, json!({ "last_message_id": id })).await.expect(404);
    }
    for body in [json!({ "last_message_id": "no-uuid" }), json!({ "last_message_id": 7 })] {
        read(&grace, &channel, body).await.expect(400);
    }
    read(&grace, "no-uuid", json!({})).await.expect(400);
    read(&grace, &public, json!({})).await.expect(403);
    let unknown = read(&ada, &unknown_id(), json!({})).await.expect(404);
    assert_eq!(unknown, read(&grace, &private, json!({})).await.expect(404));
    assert_eq!(unknown, read(&outsider, &channel, json!({})).await.expect(404));
    read(&server.anonymous(), &channel, json!({})).await.expect(401);
    assert_eq!(unread(&grace, &organisation, &channel).await, (1, 0), "nothing was marked");
    grace.call("PUT", &format!("/channels/{channel}/read"), None).await.expect(200);
    assert_eq!(unread(&grace, &organisation, &channel).await, (0, 0), "the body is optional");
}

/// An event in a channel of Ada and Grace.
#[derive(Clone, Copy, Debug)]
enum Step {
    Post { by_grace: bool, mention: Mention },
    Reply { by_grace: bool, mention: Mention },
    Read,
    ReadUpTo(usize),
    UnreadFrom(usize),
    ReadThread(usize),
    Delete(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mention {
    None,
    Grace,
    All,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let mention = prop_oneof![Just(Mention::None), Just(Mention::Grace), Just(Mention::All)];
    let step = prop_oneof![
        4 => (prop::bool::weighted(0.2), mention.clone()).prop_map(|(by_grace, mention)| Step::Post { by_grace, mention }),
        3 => (prop::bool::weighted(0.2), mention).prop_map(|(by_grace, mention)| Step::Reply { by_grace, mention }),
        1 => Just(Step::Read),
        2 => (0..12usize).prop_map(Step::ReadUpTo),
        1 => (0..12usize).prop_map(Step::UnreadFrom),
        1 => (0..12usize).prop_map(Step::ReadThread),
        3 => (0..12usize).prop_map(Step::Delete),
    ];
    prop::collection::vec(step, 1..20)
}

/// A message as the model remembers it: whether it is top-level, and whether it mentions Grace.
struct Posted {
    id: String,
    root: Option<String>,
    mention: Mention,
    by_grace: bool,
    is_deleted: bool,
}

/// How far Grace has read: messages of the channel, and of each thread.
#[derive(Default)]
struct Marks {
    channel: usize,
    threads: HashMap<String, usize>,
}

/// Grace's counts, message by message: slow and plainly right.
fn model(posted: &[Posted], marks: &Marks) -> (u64, u64) {
    let (mut threads, mut mentions) = (0, 0);
    for (n, message) in posted.iter().enumerate().filter(|(_, message)| !message.is_deleted) {
        let is_later = n >= marks.channel;
        let is_unread_mention = match (&message.root, message.mention) {
            (_, Mention::None) => false,
            (None, _) => is_later,
            (Some(_), Mention::All) => is_later && !message.by_grace,
            (Some(root), Mention::Grace) => n >= marks.threads.get(root).copied().unwrap_or(0),
        };
        threads += u64::from(message.root.is_none() && is_later);
        mentions += u64::from(is_unread_mention);
    }
    (threads, mentions)
}

/// The live messages, and each listed thread with its live replies, the newest post first.
fn listed(posted: &[Posted]) -> (usize, Vec<(String, usize)>) {
    let live = || posted.iter().filter(|message| !message.is_deleted);
    let mut threads = Vec::new();
    for root in posted.iter().rev().filter(|message| message.root.is_none()) {
        let replies = live().filter(|reply| reply.root.as_ref() == Some(&root.id)).count();
        if !root.is_deleted || replies > 0 {
            threads.push((root.id.clone(), replies));
        }
    }
    (live().count(), threads)
}

/// The same counts and threads, as the server lists them.
async fn lists(client: &Client, channel: &str) -> (usize, Vec<(String, usize)>) {
    let number = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
    let total = number(&client.get(&format!("/channels/{channel}")).await.expect(200)["data"]["message_count"]);
    let threads = client.get(&format!("/threads/channels/{channel}?messages=200")).await.expect(200)["data"].take();
    let thread = |thread: &Value| {
        let replies = thread["messages"].as_array().unwrap();
        assert_eq!(number(&thread["message_count"]), replies.len());
        let last = replies.last().map_or(json!("0001-01-01T00:00:00Z"), |reply| reply["created_at"].clone());
        assert_eq!(thread["last_reply"], last);
        (thread["thread_id"].as_str().unwrap().to_owned(), replies.len())
    };
    (total, threads.as_array().unwrap().iter().map(thread).collect())
}

#[test]
fn the_unread_counters_agree_with_a_model() {
    static RUNTIME: LazyLock<tokio::runtime::Runtime> = LazyLock::new(|| tokio::runtime::Runtime::new().unwrap());
    let scene = RUNTIME.block_on(async {
        let server = Server::start().await;
        let (ada, grace, organisation) = server.ada_and_grace().await;
        (server, ada, grace, organisation)
    });
    let config = ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() };
    let result = TestRunner::new(config).run(&steps(), |steps| {
        let (_, ada, grace, organisation) = &scene;
        RUNTIME.block_on(play(ada, grace, organisation, &steps))
    });
    result.unwrap();
}

async fn play(ada: &Client, grace: &Client, organisation: &str, steps: &[Step]) -> Result<(), TestCaseError> {
    let channel = ada.channel(organisation, &format!("news-{}", unknown_id()), &[grace]).await;
    let (mut posted, mut marks): (Vec<Posted>, Marks) = Default::default();
    for step in steps {
        match *step {
            Step::Post { by_grace, mention } | Step::Reply { by_grace, mention } => {
                let author = if by_grace { grace } else { ada };
                let content = match mention {
                    Mention::None => "hello",
                    Mention::Grace => "hello @grace",
                    Mention::All => "hello @channel",
                };
                let is_reply = matches!(step, Step::Reply { .. });
                let first = posted.iter().find(|message| message.root.is_none() && !message.is_deleted);
                let root = first.filter(|_| is_reply).map(|root| root.id.clone());
                let id = match &root {
                    Some(root) => author.reply(&channel, root, content).await,
                    None => author.say(&channel, content).await,
                };
                posted.push(Posted { id, root: root.clone(), mention, by_grace, is_deleted: false });
                // A post marks its channel as read, a reply its thread.
                match root {
                    Some(root) if by_grace => _ = marks.threads.insert(root, posted.len()),
                    None if by_grace => marks.channel = posted.len(),
                    _ => {}
                }
            }
            Step::Read => {
                read(grace, &channel, json!({})).await.expect(200);
                marks.channel = posted.len();
            }
            Step::ReadUpTo(n) => {
                if let Some(message) = posted.get(n) {
                    read(grace, &channel, json!({ "last_message_id": message.id })).await.expect(200);
                    marks.channel = marks.channel.max(n + 1); // a late device takes nothing back
                }
            }
            Step::UnreadFrom(n) => {
                if let Some(message) = posted.get(n) {
                    read(grace, &channel, json!({ "unread_from": message.id })).await.expect(200);
                    marks.channel = marks.channel.min(n);
                }
            }
            Step::ReadThread(n) => {
                if let Some(root) = posted.get(n).filter(|message| message.root.is_none() && !message.is_deleted) {
                    grace.put(&format!("/threads/{}/read", root.id), json!({})).await.expect(200);
                    marks.threads.insert(root.id.clone(), posted.len());
                }
            }
            Step::Delete(n) => {
                if let Some(message) = posted.get_mut(n) {
                    let status = if message.is_deleted { 404 } else { 200 };
                    ada.delete(&format!("/channels/{channel}/messages/{}", message.id)).await.expect(status);
                    message.is_deleted = true;
                }
            }
        }
        prop_assert_eq!(unread(grace, organisation, &channel).await, model(&posted, &marks), "after {:?}", step);
        prop_assert_eq!(lists(grace, &channel).await, listed(&posted), "after {:?}", step);
    }
    Ok(())
}

#[tokio::test]
async fn a_read_mark_passes_thousands_of_posts_in_steps() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "busy", &[&grace]).await;
    let database = rusqlite::Connection::open(server.folder().join("tidings.db")).unwrap();
    let id = crate::harness::blob(&channel);
    database
        .execute_batch(&format!(
            "insert into messages (id, channel_id, username, content, created_at, updated_at)
               with recursive k (k) as (select 1 union all select k + 1 from k where k < 4500)
               select unhex(printf('%032x', k)), {id}, 'feed', 'x', 0, 0 from k;
             update messages set deleted_at = 1 where n % 10 = 0;
             update channels set thread_count = 4050, message_count = 4050, last_n = (select max(n) from messages) where id = {id};"
        ))
        .unwrap();
    assert_eq!(unread(&grace, &organisation, &channel).await, (4050, 0));
    let post = |k: u128| uuid::Uuid::from_u128(k).to_string();
    for (last, left) in [(4100, 360), (10, 360), (4500, 0)] {
        read(&grace, &channel, json!({ "last_message_id": post(last) })).await.expect(200);
        assert_eq!(unread(&grace, &organisation, &channel).await, (left, 0), "up to {last}");
    }
}
