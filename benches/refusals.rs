//! Whether the time of a refusal tells a known e-mail address from an unknown one: `cargo bench --bench refusals`.

use std::time::Instant;

use serde_json::{Value, json};

use self::api::Api;

#[allow(dead_code, reason = "other benches make places and sockets, too")]
mod api;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

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
    same_time(&api, "log-in", "/auth/login", |email| json!({ "email": email, "password": "a wrong one" })).await;
    same_time(&api, "magic link", "/auth/magic-link", |email| json!({ "email": email })).await;
    same_time(&api, "password reset", "/auth/password-reset", |email| json!({ "email": email })).await;
    same_time(&api, "verification", "/auth/email-request", |email| json!({ "email": email })).await;
    stop.send(()).unwrap();
    server.await.unwrap().unwrap();
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
