//! Nine members of one organisation, each of whom posts and edits the longest texts as fast as the rates let them.

use std::{path::PathBuf, time::Duration};

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    api::{self, Api},
    attackers::{Attackers, Target},
    probe,
    server::{Server, Team},
};

/// As many as an organisation's quota of bytes serves: with one more, Ada's posts could be refused.
const MEMBERS: usize = 9;
/// Requests of a member at once.
const LANES: usize = 4;
const ATTACK: Duration = Duration::from_secs(60);
/// When all have used up what they may write at once.
const STEADY_AFTER: Duration = Duration::from_secs(40);
const STEADY: Duration = Duration::from_secs(25);
/// Bytes of a text: as many characters as a message may have, of four bytes each.
const TEXT: usize = 160_000;
/// What they may bring to the disk in an hour: their quotas of 100 MB, five times, as the log of events and the search index have copies.
const MOST_AN_HOUR: f64 = MEMBERS as f64 * 5.0 * 100e6;

pub async fn defend() {
    let server = Server::start();
    let team = Team::new(&server, MEMBERS).await;
    let (database, mut growth) = (server.database(), None);
    probe::under(&server, &team, ATTACK, || {
        growth = Some(tokio::spawn(measure(database)));
        Attackers::start("writes", &team)
    })
    .await;
    let (at_once, hour) = growth.expect("it was begun").await.unwrap();
    println!("the database grew by {:.0} MB at once, then by {:.1} GB an hour", at_once / 1e6, hour / 1e9);
    println!("  {}", if hour < MOST_AN_HOUR { "within the bounds" } else { "OVER A BOUND" });
}

/// The bytes by which a file grows at first, and then in an hour.
async fn measure(file: PathBuf) -> (f64, f64) {
    let size = || std::fs::metadata(&file).unwrap().len() as f64;
    let before = size();
    sleep(STEADY_AFTER).await;
    let steady = size();
    sleep(STEADY).await;
    (steady - before, (size() - steady) / STEADY.as_secs_f64() * 3600.0)
}

pub async fn attack(target: &'static Target) {
    for member in target.members() {
        for _ in 0..LANES {
            tokio::spawn(flood(member.clone(), &target.messages));
        }
    }
}

/// Posts, and edits what it has posted, without end; it waits a moment after a refusal, or this process would take both cores.
async fn flood(member: Api, messages: &str) {
    let content = "\u{1d11e}".repeat(TEXT / 4);
    let url = format!("{}/api/v1{messages}", member.url);
    let mut last = None;
    for n in 0_u64.. {
        let (method, body) = match last.as_ref().filter(|_| n % 2 == 1) {
            Some(id) => (Method::PUT, json!({ "content": content, "message_id": id })),
            None => (Method::POST, json!({ "content": content })),
        };
        let sent = member.http.request(method, &url).bearer_auth(&member.token).json(&body).send().await;
        match sent {
            Ok(reply) if reply.status() == StatusCode::CREATED => {
                let posted: Value = reply.json().await.unwrap_or_default();
                last = posted["data"]["id"].is_string().then(|| api::text(&posted["data"]["id"]));
            }
            Ok(reply) if reply.status().is_success() => _ = reply.bytes().await,
            _ => sleep(Duration::from_millis(50)).await,
        }
    }
}
