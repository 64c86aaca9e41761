//! What a search waits while the members of another organisation search for what costs most: `cargo bench --bench searches`.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use reqwest::Method;
use serde_json::{Value, json};
use tidings::{db::Db, domain::messages::indexing};
use tokio::net::TcpListener;

use self::api::Api;

#[allow(dead_code, reason = "other benches open sockets, too")]
mod api;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// In the busy organisation.
const MESSAGES: u32 = 300_000;
/// Members of the busy organisation who search all the time.
const ATTACKERS: usize = 15;

#[tokio::main]
async fn main() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = tidings::config::Settings::for_folder(folder.path());
    settings.rate_limit = tidings::config::Switch::Off;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = tokio::spawn(tidings::serve(settings, listener, async { _ = stopped.await }));

    let (ada, grace) = (Api::new(url.clone()).person("ada").await, Api::new(url).person("grace").await);
    let (busy, channel) = ada.place().await;
    let (empty, _) = grace.place().await;
    ada.call(Method::POST, &format!("/channels/{channel}/messages"), json!({ "content": "of the same sort" })).await;
    multiply(folder.path(), MESSAGES);
    // The index takes what is new after a post.
    ada.call(Method::POST, &format!("/channels/{channel}/messages"), json!({ "content": "the last one" })).await;
    let database = Db::open_reader(folder.path()).unwrap();
    while indexing::behind(&database).unwrap() > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    dear(&ada, &busy, &channel, &grace, &empty).await;
    stop.send(()).unwrap();
    server.await.unwrap().unwrap();
}

/// What searches cost that find little in much, and what they make another organisation wait.
async fn dear(ada: &Api, busy: &str, channel: &str, grace: &Api, empty: &str) {
    let long = json!({ "content": "a".repeat(40_000) });
    for _ in 0..200 {
        ada.call(Method::POST, &format!("/channels/{channel}/messages"), long.clone()).await;
    }
    tokio::time::sleep(Duration::from_secs(10)).await; // until they are in the index
    let digits = ["0AB", "1CD", "2EF", "3A0", "4B1", "5C2", "6D3", "7E4", "8F5", "9A6", "AB7", "BC8", "CD9", "DEA", "EFB", "F0C"];
    let phrases = [
        ("of one letter", "a".repeat(256)),
        ("of one letter, and another", format!("{}b", "a".repeat(255))),
        ("of words that are everywhere, and one that is nowhere", "the invoices of zeppelin".into()),
        ("of sixteen that are never together", digits.join(" ")),
        ("of four letters that are rare", "invoices AB7F".into()),
    ];
    let path = |phrase: &str| format!("/organisations/{busy}/search?q={}", phrase.replace(' ', "%20"));
    for (what, phrase) in &phrases {
        let began = Instant::now();
        let answer = ada.http.get(format!("{}/api/v1{}", ada.url, path(phrase))).bearer_auth(&ada.token).send().await.unwrap();
        println!("  a search {what}: {} after {:.1?}", answer.status(), began.elapsed());
    }
    let waited = async || {
        let mut times = Vec::new();
        for _ in 0..100 {
            let began = Instant::now();
            grace.call(Method::GET, &format!("/organisations/{empty}/search?q=zeppelin"), Value::Null).await;
            times.push(began.elapsed());
        }
        times.sort();
        (times[50], times[99])
    };
    println!("  another organisation's search: {:.1?}", waited().await);
    let mut attackers = tokio::task::JoinSet::new();
    for n in 0..ATTACKERS {
        let name = format!("attacker{n}");
        let attacker = ada.person(&name).await;
        let invitation = json!({ "org_id": busy, "emails": [format!("{name}@x.example")] });
        let made = ada.call(Method::POST, "/invite", invitation).await["data"]["invitations"][0]["invite_token"].take();
        attacker.call(Method::POST, "/invite/verify", json!({ "token": made })).await;
        attacker.call(Method::POST, &format!("/channels/{channel}/join"), json!({})).await;
        let dearest = format!("{}/api/v1{}", ada.url, path(&phrases[0].1));
        attackers.spawn(async move {
            loop {
                _ = attacker.http.get(&dearest).bearer_auth(&attacker.token).send().await;
            }
        });
    }
    println!("  beside {ATTACKERS} members who search all the time (median, longest): {:.1?}", waited().await);
    attackers.shutdown().await;
}

/// Copies the one message so often, each with the common word and some letters of its own.
fn multiply(folder: &Path, copies: u32) {
    let database = rusqlite::Connection::open(folder.join("tidings.db")).unwrap();
    database.busy_timeout(Duration::from_secs(60)).unwrap();
    let sql = "insert into messages (id, channel_id, user_id, username, content, created_at, updated_at)
                 with recursive copies (k) as (select 1 union all select k + 1 from copies where k < ?1)
                 select randomblob(16), channel_id, user_id, username, 'the invoices of ' || hex(randomblob(25)), created_at, updated_at
                 from copies, (select * from messages limit 1)";
    database.execute(sql, [copies]).unwrap();
    database.query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(())).unwrap();
}
