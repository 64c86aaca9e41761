//! What webhooks deliver in a second to eight receivers in the same process, and whether a long queue slows it down:
//! `cargo bench --bench deliveries`.

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

#[tokio::main]
async fn main() {
    for queued in [MEASURED, 100_000, 400_000] {
        println!("{queued} queued: {:.0} deliveries/s", rate(queued).await);
    }
}

/// Of the first that leave a queue of this length.
async fn rate(queued: u64) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = tidings::config::Settings::for_folder(folder.path());
    settings.rate_limit = tidings::config::Switch::Off;
    settings.allow_private_webhooks = vec!["127.0.0.0/8".parse().unwrap()];
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = tokio::spawn(tidings::serve(settings, listener, async { _ = stopped.await }));

    let api = Api::new(url).person("ada").await;
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
    multiply(folder.path(), queued / u64::from(RECEIVERS));
    for path in &webhooks {
        api.call(Method::PUT, path, json!({ "webhook_status": "active" })).await;
    }
    let (began, before) = (Instant::now(), received.load(Relaxed));
    while received.load(Relaxed) < before + MEASURED * 9 / 10 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let rate = (received.load(Relaxed) - before) as f64 / began.elapsed().as_secs_f64();
    stop.send(()).unwrap();
    server.await.unwrap().unwrap();
    rate
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
