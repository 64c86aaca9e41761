//! What the push endpoint promises to a client, kept to the unmodified Rust SDK, in JSON and in Protobuf.

mod harbour;
mod line;
mod listening;

use std::{
    collections::HashSet,
    future::Future,
    time::{Duration, UNIX_EPOCH},
};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use centrifuge::{Error, HistoryOptions, HistoryResult, Protocol, State, StreamPosition, SubscriptionEvent};
use serde_json::{Value, json};
use tokio::sync::mpsc::unbounded_channel;

use self::{
    harbour::Harbour,
    line::Line,
    listening::{Connection, Listener, content},
};

/// Every scenario in both encodings; under a limit, since an SDK reconnects for ever.
macro_rules! scenarios {
    ($module:ident, $protocol:ident: $($name:ident)*) => {
        mod $module {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $name() {
                    super::limited(super::$name(super::Protocol::$protocol)).await;
                }
            )*
        }
    };
    ($($name:ident)*) => {
        scenarios!(in_json, Json: $($name)*);
        scenarios!(in_protobuf, Protobuf: $($name)*);
    };
}

scenarios! {
    it_hears_what_is_posted_until_it_unsubscribes
    it_sees_who_is_there_who_comes_and_who_goes
    it_reads_what_was_said_before_it_came
    it_renews_its_tokens_as_they_expire_and_loses_nothing_by_it
    it_recovers_what_it_missed_while_it_was_cut_off
    it_recovers_over_a_restart
    it_recovers_over_a_kill
    it_is_kept_out_of_a_foreign_channel
    it_is_disconnected_for_good_when_its_user_logs_out
}

async fn limited(scenario: impl Future<Output = ()>) {
    tokio::time::timeout(Duration::from_secs(60), scenario).await.expect("it does not end");
}

#[track_caller]
fn refused<T: std::fmt::Debug>(code: u32, answer: Result<T, Error>) {
    assert!(matches!(&answer, Err(Error::Server(error)) if error.code == code), "{code} was expected: {answer:?}");
}

async fn it_hears_what_is_posted_until_it_unsubscribes(protocol: Protocol) {
    let harbour = Harbour::open(protocol, &[]).await;
    let ada = harbour.connect().await;
    let (mut quay, _) = Listener::open(harbour.subscription(&ada, &harbour.quay)).await;
    let (mut pier, _) = Listener::open(harbour.subscription(&ada, &harbour.pier)).await;
    harbour.say(&harbour.quay, &["The Fram arrives at six.", "Fog after eight."]).await;
    quay.hears(&["The Fram arrives at six.", "Fog after eight."]).await;

    quay.subscription.unsubscribe();
    assert_eq!(quay.unsubscribed().await, 0);
    refused(103, ada.client.presence(&harbour.quay).await);
    harbour.say(&harbour.quay, &["Not heard."]).await;
    harbour.say(&harbour.pier, &["A marker."]).await;
    pier.hears(&["A marker."]).await;
    assert!(quay.events.is_empty());
}

async fn it_sees_who_is_there_who_comes_and_who_goes(protocol: Protocol) {
    let harbour = Harbour::open(protocol, &[]).await;
    let (one, two) = (harbour.connect().await, harbour.connect().await);
    let (mut seeing, _) = Listener::open(harbour.subscription(&one, &harbour.quay).join_leave(true)).await;
    seeing.sees_join_of(&one.id).await;
    Listener::open(harbour.subscription(&two, &harbour.quay)).await;
    seeing.sees_join_of(&two.id).await;
    let there = seeing.subscription.presence().await.unwrap().clients;
    assert_eq!(there.keys().collect::<HashSet<_>>(), HashSet::from([&one.id, &two.id]));
    assert!(there.values().all(|info| info.user == harbour.ada.id), "{there:?}");
    let stats = seeing.subscription.presence_stats().await.unwrap();
    assert_eq!((stats.num_clients, stats.num_users), (2, 1));

    two.client.disconnect();
    let event = seeing.next().await;
    assert!(matches!(&event, SubscriptionEvent::Leave(event) if event.client == two.id), "{event:?}");
    let stats = seeing.subscription.presence_stats().await.unwrap();
    assert_eq!((stats.num_clients, stats.num_users), (1, 1));
}

async fn it_reads_what_was_said_before_it_came(protocol: Protocol) {
    let harbour = Harbour::open(protocol, &[]).await;
    let ada = harbour.connect().await;
    let (Listener { subscription, .. }, start) = Listener::open(harbour.subscription(&ada, &harbour.quay)).await;
    harbour.say(&harbour.quay, &["one", "two", "three"]).await;
    let all = subscription.history(HistoryOptions::new().since(start.clone()).limit(10)).await.unwrap();
    assert_eq!(contents(&all), ["one", "two", "three"]);
    let offsets: Vec<_> = all.publications.iter().map(|publication| publication.offset).collect();
    assert!(start.offset < offsets[0] && offsets.is_sorted() && offsets[2] <= all.offset, "{offsets:?}");
    assert_eq!(all.epoch, start.epoch);

    let first = StreamPosition::new(offsets[0], &all.epoch);
    assert_eq!(contents(&subscription.history(HistoryOptions::new().since(first).limit(1)).await.unwrap()), ["two"]);
    let newest = subscription.history(HistoryOptions::new().limit(2).reverse(true)).await.unwrap();
    assert_eq!(contents(&newest), ["three", "two"]);
    assert!(contents(&subscription.history(HistoryOptions::new().position_only()).await.unwrap()).is_empty());
    let elsewhere = HistoryOptions::new().since(StreamPosition::new(1, "another")).limit(1);
    refused(112, subscription.history(elsewhere).await);
}

fn contents(history: &HistoryResult) -> Vec<String> {
    history.publications.iter().map(content).collect()
}

async fn it_renews_its_tokens_as_they_expire_and_loses_nothing_by_it(protocol: Protocol) {
    let harbour = Harbour::open(protocol, &["--push-token-seconds", "2", "--push-ping-seconds", "1"]).await;
    let old = harbour.ada.connection_token().await;
    let older = harbour.ada.subscription_token(&harbour.quay).await.unwrap();
    expired(&older).await;

    // Both are refused with 109, and the SDK asks for better ones.
    let (ask, mut asked) = unbounded_channel();
    let ada = harbour.ada.clone();
    let client = harbour.client(harbour.port, &harbour.ada).token(old).get_token(move |_| {
        let (ada, ask) = (ada.clone(), ask.clone());
        async move {
            _ = ask.send(());
            Ok(Some(ada.connection_token().await))
        }
    });
    let mut connection = Connection::open(client).await;
    let (ask, mut asked_too) = unbounded_channel();
    let ada = harbour.ada.clone();
    let builder = connection.client.new_subscription(&harbour.quay).token(older).get_token(move |context| {
        let (ada, ask) = (ada.clone(), ask.clone());
        async move {
            _ = ask.send(());
            Ok(ada.subscription_token(&context.channel).await.unwrap())
        }
    });
    let (mut listener, _) = Listener::open(builder).await;
    // The answer to one renewal says when the next is due.
    for _ in 0..3 {
        asked.recv().await.unwrap();
        asked_too.recv().await.unwrap();
    }
    harbour.say(&harbour.quay, &["still here"]).await;
    listener.hears(&["still here"]).await;
    assert!(connection.events.try_recv().is_err(), "it was connected all the time");
}

/// Waits until the token is expired: in the second of its `exp` it is still valid.
async fn expired(token: &str) {
    let claims = BASE64_URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap()).unwrap();
    let claims: Value = serde_json::from_slice(&claims).unwrap();
    let end = Duration::from_secs(claims["exp"].as_u64().unwrap() + 1);
    tokio::time::sleep(end.saturating_sub(UNIX_EPOCH.elapsed().unwrap())).await;
}

/// A listener over a line that `away` takes from it; what was said meanwhile arrives, once.
async fn recovers(protocol: Protocol, code: u32, missed: &[&str], away: impl AsyncFnOnce(&mut Harbour, &Line)) {
    let mut harbour = Harbour::open(protocol, &[]).await;
    let line = Line::to(harbour.port).await;
    let mut ada = Connection::open(harbour.client(line.port, &harbour.ada)).await;
    let (mut listener, _) = Listener::open(harbour.subscription(&ada, &harbour.quay)).await;
    harbour.say(&harbour.quay, &["before"]).await;
    listener.hears(&["before"]).await;

    away(&mut harbour, &line).await;
    assert_eq!(ada.lost().await, code);
    line.mend();
    let event = listener.subscribed().await;
    assert!(event.was_recovering && event.recovered, "{event:?}");
    harbour.say(&harbour.quay, &["after"]).await;
    listener.hears(missed).await;
    listener.hears(&["after"]).await;
}

async fn it_recovers_what_it_missed_while_it_was_cut_off(protocol: Protocol) {
    let missed: Vec<_> = (0..20).map(|n| n.to_string()).collect();
    let missed: Vec<_> = missed.iter().map(String::as_str).collect();
    recovers(protocol, 1, &missed, async |harbour, line| {
        line.cut();
        harbour.say(&harbour.quay, &missed).await;
    })
    .await;
}

async fn it_recovers_over_a_restart(protocol: Protocol) {
    restarted(protocol, 3001, "TERM").await;
}

async fn it_recovers_over_a_kill(protocol: Protocol) {
    restarted(protocol, 1, "KILL").await;
}

/// What was said before the server ended and what was said after it came back is recovered.
async fn restarted(protocol: Protocol, code: u32, signal: &str) {
    recovers(protocol, code, &["1", "2", "3", "4", "5", "6"], async |harbour, line| {
        line.close();
        harbour.say(&harbour.quay, &["1", "2", "3"]).await;
        harbour.relaunch(signal);
        harbour.say(&harbour.quay, &["4", "5", "6"]).await;
    })
    .await;
}

async fn it_is_kept_out_of_a_foreign_channel(protocol: Protocol) {
    let harbour = Harbour::open(protocol, &[]).await;
    let eve = harbour.person("eve").await;
    assert_eq!(eve.subscription_token(&harbour.quay).await, Err(403));

    let mut connection = Connection::open(harbour.client(harbour.port, &eve)).await;
    for token in ["", "x.y.z", &eve.bearer] {
        let mut refused = Listener::begin(connection.client.new_subscription(&harbour.quay).token(token));
        assert_eq!(refused.unsubscribed().await, 103);
        connection.client.remove_subscription(&refused.subscription).unwrap();
    }
    let own = harbour.server.post("/organisations", &eve.bearer, json!({ "name": "Reef" })).await;
    let token = eve.subscription_token(own["id"].as_str().unwrap()).await.unwrap();
    Listener::begin(connection.client.new_subscription(&harbour.quay).token(token));
    assert_eq!(connection.lost().await, 3500);
    assert_eq!(connection.client.state(), State::Disconnected);
}

async fn it_is_disconnected_for_good_when_its_user_logs_out(protocol: Protocol) {
    let harbour = Harbour::open(protocol, &[]).await;
    let mut ada = harbour.connect().await;
    Listener::open(harbour.subscription(&ada, &harbour.quay)).await;
    harbour.server.post("/auth/logout", &harbour.ada.bearer, json!({})).await;
    assert_eq!(ada.lost().await, 3503);
    assert_eq!(ada.client.state(), State::Disconnected);
}
