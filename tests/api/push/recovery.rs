//! A returning subscriber gets the missed publications, or is told that they can't be recovered.

use serde_json::{Value, json};

use crate::{
    harness::{Client, Server, blob, text},
    socket::Socket,
};

/// The texts of recovered messages, in their order.
fn texts(result: &Value) -> Vec<String> {
    let none = Vec::new();
    let publications = result["publications"].as_array().unwrap_or(&none);
    publications.iter().map(|publication| text(&publication["data"]["content"])).collect()
}

/// The types of recovered notifications; a bare message has none.
fn kinds(result: &Value) -> Vec<String> {
    let publications = result["publications"].as_array().cloned().unwrap_or_default();
    let kind = |publication: &Value| publication["data"]["notification_type"].as_str().unwrap_or("message").to_owned();
    publications.iter().map(kind).collect()
}

/// A subscriber that went away: its position at that time, and what it missed since.
struct Away<'a> {
    who: &'a Client,
    stream: String,
    start: Value,
}

impl<'a> Away<'a> {
    async fn from(who: &'a Client, stream: &str) -> Away<'a> {
        let start = Socket::connect(who).await.subscribe(stream).await;
        Away { who, stream: stream.to_owned(), start }
    }

    async fn missed(&self) -> Value {
        Socket::connect(self.who).await.recover(&self.stream, &self.start["epoch"], &self.start["offset"]).await
    }
}

#[tokio::test]
async fn every_subscription_answers_its_offset_and_epoch() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let general = ada.general(&organisation).await;
    let thread = ada.say(&general, "hello").await;
    let mut socket = Socket::connect(&ada).await;
    for stream in [&general, &thread, &organisation, &ada.personal(&organisation)] {
        let result = socket.subscribe(stream).await;
        assert_eq!([&result["recoverable"], &result["positioned"]], [&json!(true), &json!(true)], "{result}");
        assert!(result["offset"].as_u64() > Some(0) && !text(&result["epoch"]).is_empty(), "{result}");
        assert!(result.get("was_recovering").is_none() && result.get("publications").is_none(), "{result}");
    }
}

#[tokio::test]
async fn missed_publications_are_recovered_once_each_in_order() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let general = ada.general(&ada.organisation("Engines").await).await;
    let mut socket = Socket::connect(&ada).await;
    let start = socket.subscribe(&general).await;
    ada.say(&general, "seen").await;
    let seen = socket.push(|push| push["pub"].is_object()).await["pub"]["offset"].take();
    drop(socket);
    for text in ["one", "two", "three"] {
        ada.say(&general, text).await;
    }

    let mut socket = Socket::connect(&ada).await;
    let result = socket.recover(&general, &start["epoch"], &seen).await;
    assert_eq!(texts(&result), ["one", "two", "three"]);
    assert_eq!([&result["recovered"], &result["was_recovering"]], [&json!(true), &json!(true)]);
    assert_eq!([&result["offset"], &result["epoch"]], [&seen, &start["epoch"]], "the client counts on from where it was");
    let last = result["publications"][2]["offset"].clone();
    ada.say(&general, "live").await;
    assert_eq!(socket.next().await.1["content"], "live");

    let mut again = Socket::connect(&ada).await;
    let result = again.recover(&general, &start["epoch"], &last).await;
    assert_eq!(texts(&result), ["live"]);
    let mut nothing = Socket::connect(&ada).await;
    let result = nothing.recover(&general, &json!(""), &result["publications"][0]["offset"]).await;
    assert_eq!((&result["recovered"], texts(&result).len()), (&json!(true), 0), "no epoch is any epoch");
}

#[tokio::test]
async fn the_log_outlives_the_server() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let general = ada.general(&ada.organisation("Engines").await).await;
    let away = Away::from(&ada, &general).await;
    ada.say(&general, "before").await;
    let server = server.restart().await;
    ada.say(&general, "after").await;
    let result = away.missed().await;
    assert_eq!((&result["recovered"], texts(&result)), (&json!(true), vec!["before".into(), "after".into()]));
    drop(server);
}

#[tokio::test]
async fn an_offset_or_epoch_that_is_not_of_this_log_is_not_recovered() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let general = ada.general(&ada.organisation("Engines").await).await;
    let start = Socket::connect(&ada).await.subscribe(&general).await;
    ada.say(&general, "missed").await;
    let above = json!(start["offset"].as_u64().unwrap() + 1000);
    let places = [(&json!("0123456789abcdef"), &start["offset"]), (&start["epoch"], &above), (&start["epoch"], &json!(u64::MAX))];
    for (epoch, offset) in places {
        let mut socket = Socket::connect(&ada).await;
        let result = socket.recover(&general, epoch, offset).await;
        assert_eq!((&result["recovered"], &result["was_recovering"]), (&Value::Null, &json!(true)), "{epoch} {offset}");
        assert!(result.get("publications").is_none() && result["epoch"] == start["epoch"], "{result}");
        let fresh = Socket::connect(&ada).await.subscribe(&general).await;
        assert_eq!(result["offset"], fresh["offset"], "it goes on from the newest");
        ada.say(&general, "live").await;
        assert_eq!(socket.next().await.1["content"], "live");
    }
    // Who would rather be refused than miss something, is.
    let request = json!({ "recover": true, "epoch": "other", "offset": 1, "flag": 2 });
    let mut socket = Socket::connect(&ada).await;
    let reply = socket.subscribe_with(&general, request).await;
    assert_eq!(reply["error"], json!({ "code": 112, "message": "unrecoverable position" }));
    socket.subscribe(&general).await;
}

#[tokio::test]
async fn three_hundred_publications_are_recovered_and_one_more_is_not() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let general = ada.general(&ada.organisation("Engines").await).await;
    let away = Away::from(&ada, &general).await;
    for n in 0..300 {
        ada.say(&general, &n.to_string()).await;
    }
    let result = away.missed().await;
    assert_eq!((&result["recovered"], texts(&result)), (&json!(true), (0..300).map(|n| n.to_string()).collect()));
    ada.say(&general, "one more").await;
    let result = away.missed().await;
    assert_eq!((&result["recovered"], texts(&result).len()), (&Value::Null, 0));
}

#[tokio::test]
async fn past_retention_only_a_stream_that_did_not_move_is_recovered() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let (moved, still) = (ada.channel(&organisation, "moved", &[]).await, ada.channel(&organisation, "still", &[]).await);
    let thread = ada.say(&moved, "root").await;
    let mut socket = Socket::connect(&ada).await;
    let streams = [&moved, &still, &thread, &organisation, &ada.personal(&organisation)];
    let mut start = Value::Null;
    for stream in streams {
        start = socket.subscribe(stream).await;
    }
    ada.say(&moved, "missed").await;
    // As after 72 hours.
    server.sql("delete from events");
    server.sql("update meta set value = (select seq from sqlite_sequence where name = 'events') where key = 'events_floor'");

    let mut socket = Socket::connect(&ada).await;
    for (stream, recovered) in streams.into_iter().zip([false, true, true, true, false]) {
        let result = socket.recover(stream, &start["epoch"], &start["offset"]).await;
        assert_eq!(result["recovered"] == true, recovered, "{stream}: {result}");
    }
}

#[tokio::test]
async fn deleted_text_is_not_recovered() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let general = ada.general(&ada.organisation("Engines").await).await;
    let away = Away::from(&ada, &general).await;
    let message = ada.say(&general, "regrettable").await;
    ada.put(&format!("/channels/{general}/messages"), json!({ "message_id": message, "content": "regrettable too" }))
        .await
        .expect(200);
    ada.delete(&format!("/channels/{general}/messages/{message}")).await.expect(200);
    let result = away.missed().await;
    assert_eq!(kinds(&result), ["message", "updated", "deleted"]);
    assert!(!result.to_string().contains("regrettable"), "{result}");
}

#[tokio::test]
async fn unread_counts_come_once_for_each_channel_as_they_are_now() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (one, two) = (ada.channel(&organisation, "one", &[&grace]).await, ada.channel(&organisation, "two", &[&grace]).await);
    let quiet = ada.channel(&organisation, "quiet", &[&grace]).await;
    let hers = Away::from(&grace, &grace.personal(&organisation)).await;
    for text in ["a", "b @grace", "c @channel"] {
        ada.say(&one, text).await;
    }
    ada.say(&two, "read").await;
    grace.put(&format!("/channels/{two}/read"), json!({})).await.expect(200);
    let missed = hers.missed().await;
    assert_eq!(missed["recovered"], true);
    let mut kinds = kinds(&missed);
    kinds.sort();
    assert_eq!(kinds, ["channel_mention", "channel_mention", "unread_thread_change", "unread_thread_change"]);
    let counts = |channel: &str| {
        let states = missed["publications"].as_array().unwrap().iter().map(|publication| &publication["data"]);
        let of =
            states.filter(|data| data["notification_type"] == "unread_thread_change" && data["data"]["channels_id"] == channel);
        of.map(|data| [data["data"]["thread_count"].as_i64().unwrap(), data["data"]["mention_count"].as_i64().unwrap()])
            .collect::<Vec<_>>()
    };
    assert_eq!((counts(&one), counts(&two), counts(&quiet)), (vec![[3, 2]], vec![[0, 0]], vec![]));
    let offsets: Vec<_> = missed["publications"].as_array().unwrap().iter().map(|p| p["offset"].as_u64().unwrap()).collect();
    assert!(offsets.is_sorted() && offsets[0] > hers.start["offset"].as_u64().unwrap(), "{offsets:?}");
    // The same event has the same id whenever it is shown.
    assert_eq!(missed["publications"], hers.missed().await["publications"]);
}

#[tokio::test]
async fn a_recovered_mention_is_the_one_that_others_heard_live() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let general = ada.general(&organisation).await;
    let hers = Away::from(&grace, &grace.personal(&organisation)).await;
    let mut live = Socket::listening(&grace, &[&hers.stream]).await;
    ada.say(&general, "hello @grace").await;
    let mut heard = vec![live.next().await.1, live.next().await.1];
    let missed = hers.missed().await;
    let mut recovered: Vec<Value> = missed["publications"].as_array().unwrap().iter().map(|p| p["data"].clone()).collect();
    heard.sort_by_key(Value::to_string);
    recovered.sort_by_key(Value::to_string);
    assert_eq!(heard, recovered);
}

#[tokio::test]
async fn an_edited_or_deleted_channel_is_recovered_as_it_is_now() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (edited, deleted) =
        (ada.channel(&organisation, "one", &[&grace]).await, ada.channel(&organisation, "two", &[&grace]).await);
    let hers = Away::from(&grace, &grace.personal(&organisation)).await;
    for topic in ["first", "second"] {
        ada.patch(&format!("/channels/{edited}"), json!({ "topic": topic })).await.expect(200);
    }
    ada.say(&deleted, "last words").await;
    ada.delete(&format!("/channels/{deleted}")).await.expect(204);
    let missed = hers.missed().await;
    assert_eq!(kinds(&missed), ["channel_update", "channel_update"], "{missed}");
    let data = |at: usize| &missed["publications"][at]["data"]["data"];
    assert_eq!((&data(0)["channels_id"], &data(0)["topic"]), (&json!(edited), &json!("second")));
    assert_eq!((&data(1)["channels_id"], &data(1)["action"]), (&json!(deleted), &json!("deleted")));
}

#[tokio::test]
async fn a_member_who_left_recovers_that_and_nothing_else_of_the_channel() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.private_channel(&organisation, "secret", &[&grace]).await;
    let hers = Away::from(&grace, &grace.personal(&organisation)).await;
    ada.say(&channel, "while she was in @grace @channel").await;
    ada.delete(&format!("/channels/{channel}/users/{}", grace.user_id)).await.expect(200);
    ada.say(&channel, "while she was out @channel").await;
    let missed = hers.missed().await;
    assert_eq!(
        (&missed["recovered"], kinds(&missed)),
        (&json!(true), vec!["channel_update".into(), "trigger_notification".into()]),
        "{missed}"
    );
    assert!(!missed.to_string().contains("while she was"), "{missed}");
    let token = server.push_token(&json!({ "sub": grace.user_id, "channel": channel, "exp": 4_000_000_000_i64 }));
    let request = json!({ "channel": channel, "token": token, "recover": true, "epoch": hers.start["epoch"], "offset": hers.start["offset"] });
    assert_eq!(Socket::connect(&grace).await.command("subscribe", request).await["error"]["code"], 103);
}

#[tokio::test]
async fn events_of_a_left_channel_do_not_count_towards_the_limit_of_a_recovery() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (left, stayed) =
        (ada.private_channel(&organisation, "left", &[&grace]).await, ada.channel(&organisation, "stayed", &[&grace]).await);
    let hers = Away::from(&grace, &grace.personal(&organisation)).await;
    for _ in 0..301 {
        ada.say(&left, "hello @grace").await;
    }
    ada.say(&stayed, "and @grace here").await;
    ada.delete(&format!("/channels/{left}/users/{}", grace.user_id)).await.expect(200);
    let missed = hers.missed().await;
    assert_eq!(kinds(&missed), ["unread_thread_change", "channel_mention", "channel_update", "trigger_notification"], "{missed}");
}

#[tokio::test]
async fn a_member_who_joined_late_recovers_nothing_from_before() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[]).await;
    let hers = Away::from(&grace, &grace.personal(&organisation)).await;
    ada.say(&channel, "before @channel").await;
    ada.patch(&format!("/channels/{channel}"), json!({ "topic": "before" })).await.expect(200);
    grace.post(&format!("/channels/{channel}/join"), json!({})).await;
    let missed = hers.missed().await;
    assert!(!missed.to_string().contains("before @"), "{missed}");
    let told: Vec<String> = kinds(&missed);
    assert!(told.iter().all(|kind| ["channel_update", "trigger_notification"].contains(&&**kind)), "{missed}");
}

#[tokio::test]
async fn the_raw_client_recovers_too() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let general = ada.general(&ada.organisation("Engines").await).await;
    let start = Socket::connect(&ada).await.subscribe(&general).await;
    ada.say(&general, "missed").await;
    let sub = json!({ "token": ada.subscription_token(&general).await, "recover": true, "epoch": start["epoch"], "offset": start["offset"] });
    let connect = json!({ "connect": { "token": ada.connection_token().await, "subs": { &general: sub } } });
    let mut socket = Socket::open(&ada).await;
    socket.send(&connect.to_string()).await;
    let reply = socket.line().await;
    assert_eq!(texts(&reply["connect"]["subs"][&general]), ["missed"], "{reply}");
}

#[tokio::test]
async fn another_databases_log_has_another_epoch() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let general = ada.general(&ada.organisation("Engines").await).await;
    let start = Socket::connect(&ada).await.subscribe(&general).await;
    ada.say(&general, "missed").await;
    let folder = server.end_and_keep().await;
    // Without the file that tells how far its log had come.
    let copy = Server::on_copy_of(folder.path(), |_| {}).await;
    let ada = Client { origin: copy.origin.clone(), ..ada };
    let result = Socket::connect(&ada).await.recover(&general, &start["epoch"], &start["offset"]).await;
    assert!(result["recovered"] != true && result["epoch"] != start["epoch"], "{result}");
    drop(copy);
}

#[tokio::test]
async fn an_old_copy_put_back_has_another_epoch() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let general = ada.general(&ada.organisation("Engines").await).await;
    let folder = server.end_and_keep().await;
    let old = std::fs::read(folder.path().join("tidings.db")).unwrap();
    let server = Server::on_folder(folder, |_| {}).await;
    let ada = Client { origin: server.origin.clone(), ..ada };
    let start = Socket::connect(&ada).await.subscribe(&general).await;
    ada.say(&general, "lost").await;
    let folder = server.end_and_keep().await;
    std::fs::write(folder.path().join("tidings.db"), old).unwrap();
    let server = Server::on_folder(folder, |_| {}).await;
    let ada = Client { origin: server.origin.clone(), ..ada };
    ada.say(&general, "takes the lost one's seq").await;
    let result = Socket::connect(&ada).await.recover(&general, &start["epoch"], &start["offset"]).await;
    assert!(result["recovered"] != true && result["epoch"] != start["epoch"], "{result}");
}

#[tokio::test]
async fn a_member_who_was_removed_meanwhile_is_refused_recovery() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let hers = Away::from(&grace, &grace.personal(&organisation)).await;
    let token = grace.subscription_token(&hers.stream).await;
    server.sql(&format!("update organisation_members set status = 'deactivated' where user_id = {}", blob(&grace.user_id)));
    ada.say(&ada.general(&organisation).await, "for members").await;
    let request = json!({ "channel": hers.stream, "token": token, "recover": true, "epoch": hers.start["epoch"], "offset": hers.start["offset"] });
    assert_eq!(Socket::connect(&grace).await.command("subscribe", request).await["error"]["code"], 103);
}
