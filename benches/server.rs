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
use reqwest::{Client, Method};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const CONNECTIONS: usize = 32;
const FOR: Duration = Duration::from_secs(4);
const SOCKETS: usize = 100; // one user's limit
const MESSAGES: usize = 200;
/// Of each kind.
const REFUSALS: usize = 300;

#[derive(Clone)]
struct Api {
    url: String,
    http: Client,
    token: String,
}

impl Api {
    async fn call(&self, method: Method, path: &str, body: Value) -> Value {
        let request = self.http.request(method, format!("{}/api/v1{path}", self.url)).bearer_auth(&self.token);
        let reply = if body.is_null() { request } else { request.json(&body) }.send().await.unwrap();
        assert!(reply.status().is_success(), "{path}: {}", reply.status());
        reply.json().await.unwrap()
    }
}

#[tokio::main]
async fn main() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = tidings::config::Settings::for_folder(folder.path());
    settings.rate_limit = tidings::config::Switch::Off;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = tokio::spawn(tidings::serve(settings, listener, async { _ = stopped.await }));

    _ = rustls::crypto::ring::default_provider().install_default(); // the client asks for one
    let mut api = Api { url, http: Client::new(), token: String::new() };
    let account = json!({ "email": "ada@x.example", "password": "correct horse battery" });
    api.call(Method::POST, "/auth/register", account.clone()).await;
    api.token = api.call(Method::POST, "/auth/login", account).await["data"]["access_token"].as_str().unwrap().into();
    let organisation = api.call(Method::POST, "/organisations", json!({ "name": "Engines" })).await;
    let channel = json!({ "name": "dev", "organisation_id": organisation["data"]["id"] });
    let channel = api.call(Method::POST, "/channels", channel).await["data"]["id"].as_str().unwrap().to_owned();
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
    let connection = api.call(Method::GET, "/token/connection", Value::Null).await["data"]["token"].clone();
    let subscription =
        api.call(Method::POST, "/token/subscription", json!({ "channel": channel })).await["data"]["token"].clone();
    let received = Arc::new(AtomicU64::new(0));
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..SOCKETS {
        let (mut socket, _) =
            tokio_tungstenite::connect_async(format!("{}/connection/websocket", api.url.replacen("http", "ws", 1)))
                .await
                .unwrap();
        let connect = json!({ "connect": { "token": connection, "subs": { channel: { "token": subscription } } } });
        socket.send(Message::text(connect.to_string())).await.unwrap();
        socket.next().await.unwrap().unwrap();
        let received = received.clone();
        readers.spawn(async move {
            for _ in 0..MESSAGES {
                socket.next().await.unwrap().unwrap();
                received.fetch_add(1, Relaxed);
            }
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
