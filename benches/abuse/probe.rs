//! What others notice of an attack.

use std::time::{Duration, Instant};

use reqwest::Client;
use serde_json::json;
use tokio::time::{interval, sleep};

use crate::{
    attackers::Attackers,
    server::{Server, Team},
};

/// What must hold meanwhile.
const MOST_RESIDENT: f64 = 200.0;
const MOST_P99: f64 = 100.0;
const QUIET: Duration = Duration::from_secs(5);
const RAMP: Duration = Duration::from_secs(5);
/// Between the posts of a member, and between looks at `/health`.
pub const PAUSE: Duration = Duration::from_millis(50);

/// Measures before, under and after an attack of this length.
pub async fn under(server: &Server, team: &Team, attack: Duration, attackers: impl FnOnce() -> Attackers) {
    println!("resident after the start: {:.0} MiB", server.resident());
    probe(server, team, QUIET, "before the attack").await;
    let attackers = attackers();
    sleep(RAMP).await;
    probe(server, team, attack, "under attack").await;
    drop(attackers);
    sleep(RAMP).await;
    probe(server, team, QUIET, "after the attack").await;
}

/// What a member who posts and a monitor notice, and what the server needs meanwhile.
async fn probe(server: &Server, Team { ada, messages, .. }: &Team, span: Duration, when: &str) {
    let (begun, mut posts, mut looks, mut most, mut files) = (Instant::now(), Vec::new(), Vec::new(), 0.0_f64, 0);
    let mut failed = 0;
    let monitor = Client::builder().pool_max_idle_per_host(0).build().unwrap();
    let mut pause = interval(PAUSE);
    while begun.elapsed() < span {
        pause.tick().await;
        let post = async {
            let began = Instant::now();
            let request = ada.http.post(format!("{}/api/v1{messages}", ada.url)).bearer_auth(&ada.token);
            let reply = request.json(&json!({ "content": "still here" })).send().await;
            (began.elapsed(), reply.is_ok_and(|reply| reply.status() == 201))
        };
        let look = async {
            let began = Instant::now();
            let reply = monitor.get(format!("{}/health", ada.url)).send().await;
            (began.elapsed(), reply.is_ok_and(|reply| reply.status() == 200))
        };
        let ((posted, post_is_good), (looked, look_is_good)) = tokio::join!(post, look);
        posts.push(posted);
        looks.push(looked);
        failed += usize::from(!post_is_good) + usize::from(!look_is_good);
        most = most.max(server.resident());
        files = files.max(server.files());
    }
    let at = |all: &mut Vec<Duration>, share: usize| {
        all.sort_unstable();
        all[(all.len() * share / 100).min(all.len() - 1)].as_secs_f64() * 1000.0
    };
    let [post, post_p99, look, look_p99] = [at(&mut posts, 50), at(&mut posts, 99), at(&mut looks, 50), at(&mut looks, 99)];
    println!(
        "{when}: {} posts, p50 {post:.1} ms, p99 {post_p99:.1} ms; /health p50 {look:.1} ms, p99 {look_p99:.1} ms; {failed} failed; \
         at the most {most:.0} MiB resident and {files} files open",
        posts.len(),
    );
    let holds = failed == 0 && most < MOST_RESIDENT && post_p99 < MOST_P99 && look_p99 < MOST_P99;
    println!("  {}", if holds { "within the bounds" } else { "OVER A BOUND" });
}
