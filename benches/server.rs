//! The whole server over loopback, clients in the same process: `cargo bench`.
//!
//! Posts (each answered after its fsync) and reads at 32 connections, one message to many sockets, and whether the
//! time of a refusal tells a known e-mail address from an unknown one.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use futures_util::{SinkExt, StreamExt};
use reqwest::Method;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use self::api::Api;

mod api;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const CONNECTIONS: usize = 32;
const FOR: Duration = Duration::from_secs(4);
const SOCKETS: usize = 100; // one user's limit
const MESSAGES: usize = 200;
/// Of each kind.
const REFUSALS: usize = 300;

#[tokio::main]
async fn main() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = tidings::config::Settings::for_folder(folder.path());
    settings.rate_limit = tidings::config::Switch::Off;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = tokio::spawn(tidings::serve(settings, listener, async { _ = stopped.await }));

    let api = Api::new(url).person("ada").await;
    let (_, channel) = api.place().await;
    let messages = format!("/channels/{channel}/messages");

    rate("posts, durable", &api, Method::POST, &messages, json!({ "content": "x".repeat(200) })).await;
    rate("reads of the newest 50", &api, Method::GET, &messages, Value::Null).await;
    fan_out(&api, &channel, &messages).await;
    same_time(&api, "log-in", "/auth/login", |email| json!({ "email": email, "password": "a wrong one" })).await;
    same_time(&api, "magic link", "/auth/magic-link", |email| json!({ "email": email })).await;
    same_time(&api, "password reset", "/auth/password-reset", |email| json!({ "email": email })).await;
    stop.send(()).unwrap();
    server.await.unwrap().unwrap();
}

async fn rate(what: &str, api: &Api, method: Method, path: &str, body: Value) {
    let until = Instant::now() + FOR;
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (api, method, path, body) = (api.clone(), method.clone(), path.to_owned(), body.clone());
        callers.spawn(async move {
            let mut took = Vec::new();
            while Instant::now() < until {
                let started = Instant::now();
                api.call(method.clone(), &path, body.clone()).await;
                took.push(started.elapsed());
            }
            took
        });
    }
    let mut took: Vec<Duration> = callers.join_all().await.concat();
    took.sort_unstable();
    let at = |share: f64| took[(took.len() as f64 * share) as usize].as_secs_f64() * 1000.0;
    println!("{what}: {:.0}/s, median {:.2} ms, p99 {:.2} ms", took.len() as f64 / FOR.as_secs_f64(), at(0.5), at(0.99));
}

async fn fan_out(api: &Api, channel: &str, messages: &str) {
    let connect = api.connect(&[channel]).await;
    let received = Arc::new(AtomicU64::new(0));
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..SOCKETS {
        let url = format!("{}/connection/websocket", api.url.replacen("http", "ws", 1));
        let (mut socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
        socket.send(Message::text(connect.clone())).await.unwrap();
        socket.next().await.unwrap().unwrap();
        let received = received.clone();
        readers.spawn(async move {
            let mut mine = 0;
            while mine < MESSAGES {
                // Those that were ready together come in one frame.
                let frame = socket.next().await.unwrap().unwrap();
                mine += frame.to_text().unwrap().lines().filter(|line| *line != "{}").count();
            }
            received.fetch_add(mine as u64, Relaxed);
        });
    }
    let started = Instant::now();
    for _ in 0..MESSAGES {
        api.call(Method::POST, messages, json!({ "content": "x".repeat(200) })).await;
    }
    readers.join_all().await;
    let seconds = started.elapsed().as_secs_f64();
    println!("{MESSAGES} posts one by one to {SOCKETS} sockets: {:.0} deliveries/s", received.load(Relaxed) as f64 / seconds);
}

/// By turns, so that both meet the same weather.
async fn same_time(api: &Api, what: &str, path: &str, body: fn(&str) -> Value) {
    let mut took = [Vec::new(), Vec::new()];
    for turn in 0..REFUSALS {
        let unknown = format!("nobody{turn}@x.example");
        for (email, took) in ["ada@x.example", &unknown].into_iter().zip(&mut took) {
            let request = api.http.post(format!("{}/api/v1{path}", api.url)).json(&body(email));
            let started = Instant::now();
            request.send().await.unwrap().bytes().await.unwrap();
            took.push(started.elapsed());
        }
    }
    let [known, unknown] = took.map(|mut took| {
        took.sort_unstable();
        took[REFUSALS / 2].as_secs_f64() * 1000.0
    });
    let apart = (known - unknown).abs() / known * 100.0;
    println!("{what}: known address median {known:.2} ms, unknown {unknown:.2} ms, {apart:.1} % apart");
}
