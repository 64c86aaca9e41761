//! What webhooks deliver survives `kill -9`.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use poem::{Endpoint, Request, endpoint::make, listener::TcpAcceptor};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::mpsc::unbounded_channel, task::JoinSet, time::timeout};

use crate::harness::Server;

const KILLS: u32 = 50;
const POSTERS: u32 = 4;
const SETTINGS: [&str; 2] = ["--allow-private-webhooks", "127.0.0.0/8"];

/// Numbers by chance, the same in each run.
#[derive(Clone)]
struct Chance(Arc<Mutex<u64>>);

impl Chance {
    fn below(&self, bound: u64) -> u64 {
        let mut state = self.0.lock().unwrap();
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state % bound
    }

    async fn wait(&self, below: u64) {
        tokio::time::sleep(Duration::from_millis(self.below(below))).await;
    }
}

/// Answers after a moment by chance, and tells of each request's id and text.
fn receiver(chance: Chance, tell: impl Fn(String, String) + Clone + Send + Sync + 'static) -> impl Endpoint<Output = ()> {
    make(move |mut request: Request| {
        let (chance, tell) = (chance.clone(), tell.clone());
        async move {
            let id = request.header("webhook-id").unwrap().to_owned();
            let body: Value = serde_json::from_str(&request.take_body().into_string().await?).unwrap();
            tell(id, body["data"]["content"].as_str().unwrap().to_owned());
            chance.wait(10).await;
            Ok::<_, poem::Error>(())
        }
    })
}

/// Between commit and delivery, during an attempt, between the answer and its record: whenever the server is
/// killed, what was answered 201 arrives, each message under one id.
#[tokio::test(flavor = "multi_thread")]
async fn fifty_kills_lose_no_delivery() {
    let chance = Chance(Arc::new(Mutex::new(0x5eed)));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (arrived, mut arrivals) = unbounded_channel();
    let endpoint = receiver(chance.clone(), move |id, content| _ = arrived.send((id, content)));
    let acceptor = TcpAcceptor::from_tokio(listener).unwrap();
    tokio::spawn(poem::Server::new_with_acceptor(acceptor).run(endpoint));

    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &SETTINGS);
    let (token, channel) = server.poster().await;
    let id = channel.trim_start_matches("/channels/");
    server.post(&format!("/webhooks/{id}"), &token, json!({ "webhook_name": "out", "webhook_url": url })).await;
    let mut answered = HashSet::new();
    for kill in 0..KILLS {
        let mut posters = JoinSet::new();
        let (posted, mut posts) = unbounded_channel();
        for poster in 0..POSTERS {
            let (http, token, posted) = (server.http.clone(), token.clone(), posted.clone());
            let url = format!("{}/api/v1{channel}/messages", server.url);
            posters.spawn(async move {
                for n in 0.. {
                    let content = format!("{kill} {poster} {n}");
                    let request = http.post(&url).bearer_auth(&token).json(&json!({ "content": content }));
                    match request.send().await {
                        Ok(reply) if reply.status() == 201 => _ = posted.send(content),
                        Ok(reply) => panic!("{}", reply.status()),
                        Err(_) => return, // killed
                    }
                }
            });
        }
        drop(posted);
        for _ in 0..=chance.below(30) {
            answered.insert(posts.recv().await.unwrap());
        }
        chance.wait(20).await;
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
