//! Deliveries of webhooks survive `kill -9`.

use std::{
    collections::{HashMap, HashSet},
    io::{BufRead, BufReader},
    process::Stdio,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use poem::{Endpoint, Request, endpoint::make, listener::TcpAcceptor};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::mpsc::unbounded_channel, time::timeout};

use crate::harness::{Dice, Server, tidings};

const KILLS: u32 = 50;
const POSTERS: u32 = 4;
const SEED: u64 = 0x5eed;
const SETTINGS: [&str; 2] = ["--allow-private-webhooks", "127.0.0.0/8"];

async fn wait(milliseconds: usize) {
    tokio::time::sleep(Duration::from_millis(milliseconds as u64)).await;
}

/// Answers after a moment by chance, and tells of each request's id and text.
fn receiver(tell: impl Fn(String, String) + Clone + Send + Sync + 'static) -> impl Endpoint<Output = ()> {
    let dice = Arc::new(Mutex::new(Dice(SEED)));
    make(move |mut request: Request| {
        let (moment, tell) = (dice.lock().unwrap().roll(10), tell.clone());
        async move {
            let id = request.header("webhook-id").unwrap().to_owned();
            let body: Value = serde_json::from_str(&request.take_body().into_string().await?).unwrap();
            tell(id, body["data"]["content"].as_str().unwrap().to_owned());
            wait(moment).await;
            Ok::<_, poem::Error>(())
        }
    })
}

/// Between commit and delivery, during an attempt, between the answer and its record: whenever the server is
/// killed, what was answered 201 arrives, each message under one id.
#[tokio::test(flavor = "multi_thread")]
async fn fifty_kills_lose_no_delivery() {
    let mut dice = Dice(SEED);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (arrived, mut arrivals) = unbounded_channel();
    let endpoint = receiver(move |id, content| _ = arrived.send((id, content)));
    let acceptor = TcpAcceptor::from_tokio(listener).unwrap();
    tokio::spawn(poem::Server::new_with_acceptor(acceptor).run(endpoint));

    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &SETTINGS);
    let (token, channel) = server.poster().await;
    let id = channel.trim_start_matches("/channels/");
    server.post(&format!("/webhooks/{id}"), &token, json!({ "webhook_name": "out", "webhook_url": url })).await;
    let mut answered = HashSet::new();
    for kill in 0..KILLS {
        let (posters, mut posts) = server.posters(POSTERS, &token, &channel, &format!("kill {kill}"));
        for _ in 0..=dice.roll(30) {
            answered.insert(posts.recv().await.unwrap());
        }
        wait(dice.roll(20)).await;
        server.signal("KILL");
        server.end();
        posters.join_all().await;
        while let Some(content) = posts.recv().await {
            answered.insert(content);
        }
        server = Server::start(folder.path(), &SETTINGS);
    }

    let mut ids: HashMap<String, String> = HashMap::new();
    let (mut missing, mut twice) = (answered.clone(), 0);
    while !missing.is_empty() {
        let Ok(Some((id, content))) = timeout(Duration::from_secs(30), arrivals.recv()).await else {
            panic!("of {} messages {} were lost: {missing:?}", answered.len(), missing.len());
        };
        missing.remove(&content);
        match ids.insert(content.clone(), id.clone()) {
            Some(known) if known != id => panic!("{content} came as {known} and as {id}"),
            Some(_) => twice += 1,
            None => {}
        }
    }
    assert_eq!(ids.values().collect::<HashSet<_>>().len(), ids.len(), "an id of its own for each");
    println!("{} messages answered, {twice} deliveries repeated, none lost", answered.len());
}

/// The server must not fill a full disk with log lines about it, nor keep the writer busy.
#[tokio::test]
async fn a_queue_that_fails_to_be_claimed_is_retried_after_a_pause() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let mut command = tidings(&["serve", "--listen", "127.0.0.1:0", "--log", "error", "--data-dir", data]);
    let mut server = Server::logging(command.args(SETTINGS), Stdio::piped());
    let mut complaints = BufReader::new(server.process.stderr.take().unwrap()).lines();
    let (token, channel) = server.poster().await;
    let body = json!({ "webhook_name": "out", "webhook_url": "http://127.0.0.1:9/" });
    server.post(&channel.replace("channels", "webhooks"), &token, body).await;
    let database = rusqlite::Connection::open(folder.path().join("tidings.db")).unwrap();
    let full = "create trigger full before update of is_leased on deliveries begin select raise(abort, 'full'); end";
    database.execute_batch(full).unwrap();
    server.post(&format!("{channel}/messages"), &token, json!({ "content": "The engine has arrived" })).await;
    let mut complaint = || {
        let line = complaints.next().unwrap().unwrap();
        assert!(line.contains("full"), "{line}");
        Instant::now()
    };
    let first = complaint();
    assert!((complaint() - first).as_secs() >= 4);
}
