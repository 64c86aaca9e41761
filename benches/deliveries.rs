//! How long a post takes to its receiver while nothing else happens; what webhooks deliver in a second to eight receivers in
//! the same process, and whether a long queue slows it down: `cargo bench --bench deliveries`.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use poem::{endpoint::make_sync, listener::TcpAcceptor};
use reqwest::Method;
use serde_json::json;
use tokio::net::TcpListener;

use self::api::Api;

#[allow(dead_code, reason = "other benches open sockets, too")]
mod api;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const RECEIVERS: u32 = 8;
const MEASURED: u64 = 20_000;
const POSTS: u64 = 200;

#[tokio::main]
async fn main() {
    println!("posted to delivered: {:.1} ms at the median", latency().await.as_secs_f64() * 1000.0);
    for queued in [MEASURED, 100_000, 400_000] {
        println!("{queued} queued: {:.0} deliveries/s", rate(queued).await);
    }
}

/// From the request of a post to its arrival at the one webhook of the channel.
async fn latency() -> Duration {
    let server = Server::start().await;
    let api = Api::new(server.url.clone()).person("ada").await;
    let (_, channel) = api.place().await;
    let received = Arc::new(AtomicU64::new(0));
    let body = json!({ "webhook_name": "out", "webhook_url": receiver(received.clone()).await });
    api.call(Method::POST, &format!("/webhooks/{channel}"), body).await;
    let mut taken = Vec::new();
    for n in 0..POSTS {
        let began = Instant::now();
        api.call(Method::POST, &format!("/channels/{channel}/messages"), json!({ "content": "x".repeat(200) })).await;
        while received.load(Relaxed) <= n {
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
        taken.push(began.elapsed());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    server.stop().await;
    taken.sort();
    taken[taken.len() / 2]
}

struct Server {
    folder: tempfile::TempDir,
    url: String,
    stop: tokio::sync::oneshot::Sender<()>,
    serving: tokio::task::JoinHandle<tidings::error::Result<()>>,
}

impl Server {
    async fn start() -> Server {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = tidings::config::Settings::for_folder(folder.path());
        settings.rate_limit = tidings::config::Switch::Off;
        settings.allow_private_webhooks = vec!["127.0.0.0/8".parse().unwrap()];
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let serving = tokio::spawn(tidings::serve(settings, listener, async { _ = stopped.await }));
        Server { folder, url, stop, serving }
    }

    async fn stop(self) {
        self.stop.send(()).unwrap();
        self.serving.await.unwrap().unwrap();
    }
}

/// Of the first that leave a queue of this length.
async fn rate(queued: u64) -> f64 {
    let server = Server::start().await;
    let api = Api::new(server.url.clone()).person("ada").await;
    let (_, channel) = api.place().await;
    let received = Arc::new(AtomicU64::new(0));
    let mut webhooks = Vec::new();
    for _ in 0..RECEIVERS {
        let body = json!({ "webhook_name": "out", "webhook_url": receiver(received.clone()).await });
        let made = api.call(Method::POST, &format!("/webhooks/{channel}"), body).await;
        let path = format!("/webhooks/{channel}/{}/change-status", api::text(&made["data"]["id"]));
        api.call(Method::PUT, &path, json!({ "webhook_status": "paused" })).await;
        webhooks.push(path);
    }
    api.call(Method::POST, &format!("/channels/{channel}/messages"), json!({ "content": "x".repeat(200) })).await;
    // The post is queued after its answer; paused webhooks hold it.
    while queued_in(server.folder.path()) < i64::from(RECEIVERS) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    multiply(server.folder.path(), queued / u64::from(RECEIVERS));
    for path in &webhooks {
        api.call(Method::PUT, path, json!({ "webhook_status": "active" })).await;
    }
    let (began, before) = (Instant::now(), received.load(Relaxed));
    while received.load(Relaxed) < before + MEASURED * 9 / 10 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let rate = (received.load(Relaxed) - before) as f64 / began.elapsed().as_secs_f64();
    server.stop().await;
    rate
}

fn queued_in(folder: &std::path::Path) -> i64 {
    let database = rusqlite::Connection::open(folder.join("tidings.db")).unwrap();
    database.query_row("select count(*) from deliveries", [], |row| row.get(0)).unwrap()
}

async fn receiver(received: Arc<AtomicU64>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let count = make_sync(move |_| _ = received.fetch_add(1, Relaxed));
    tokio::spawn(poem::Server::new_with_acceptor(TcpAcceptor::from_tokio(listener).unwrap()).run(count));
    url
}

/// Queues copies of each webhook's one event, with identifiers in the order of time, as real ones are. What the copying
/// leaves in the WAL is moved, so that it is not measured.
fn multiply(folder: &std::path::Path, copies: u64) {
    let database = rusqlite::Connection::open(folder.join("tidings.db")).unwrap();
    database.busy_timeout(Duration::from_secs(60)).unwrap();
    let copies = copies as i64 - 1;
    for sql in [
        "insert into webhook_events (message_n, payload)
           with recursive copies (k) as (select 1 union all select k + 1 from copies where k < ?1)
           select message_n + k, payload from copies, webhook_events",
        "insert into deliveries (id, webhook_id, message_n, due_at, created_at)
           with recursive copies (k) as (select 1 union all select k + 1 from copies where k < ?1)
           select unhex(printf('%012x%s', created_at / 1000 + k, hex(randomblob(10)))), webhook_id, message_n + k, due_at, created_at
           from copies, deliveries",
    ] {
        database.execute(sql, [copies]).unwrap();
    }
    database.query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(())).unwrap();
}
