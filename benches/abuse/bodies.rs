//! Strangers with the addresses of four feeds, who send each 20 bodies a second: the rate of one address, and of one feed. The bodies
//! are long, and made of signs that begin a mark and never end it.

use std::{
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

use reqwest::{Client, Method};
use serde_json::json;
use tokio::time::interval;

use crate::{
    api,
    attackers::{Attackers, Target},
    probe,
    server::{Server, Team},
};

/// The path before the feed's secret, the content type, and a body.
type Body = (&'static str, &'static str, String);

const MEMBERS: usize = 1;
const BODIES_A_SECOND: u32 = 20;
/// More wait only where the server answers later than they come.
const AT_ONCE: usize = 8;
const ATTACK: Duration = Duration::from_secs(20);

pub async fn defend() {
    let server = Server::start();
    let team = Team::new(&server, MEMBERS).await;
    probe::under(&server, &team, ATTACK, || Attackers::start("bodies", &team)).await;
}

fn bodies() -> [Body; 4] {
    let slack = |text: &str| json!({ "text": text }).to_string();
    let blocks = json!({ "blocks": vec![json!({ "type": "markdown", "text": "](<#C|)".repeat(340) }); 100] }).to_string();
    [
        ("/api/v1/webhooks/feed/", "text/plain", "](".repeat(120_000)),
        ("/api/v1/webhooks/feed/", "text/plain", format!("`[{}", "a](b)".repeat(48_000))),
        ("/hooks/", "application/json", slack(&"](<#C|)".repeat(34_000))),
        ("/api/v1/webhooks/feed/", "application/json", blocks),
    ]
}

/// The member has an organisation of their own, whose feeds they give away.
pub async fn attack(target: &'static Target) {
    let member = target.members().next().unwrap();
    let (_, channel) = member.place().await;
    for (n, (path, kind, body)) in bodies().into_iter().enumerate() {
        let made =
            member.call(Method::POST, &format!("/webhooks/{channel}"), json!({ "webhook_name": format!("feed{n}") })).await;
        let url = format!("{}{path}{}", target.url, api::text(&made["data"]["webhook_slug"]));
        tokio::spawn(send(url, kind, body.into(), n as u8));
    }
}

async fn send(url: String, kind: &'static str, body: bytes::Bytes, n: u8) {
    let client = Client::builder().local_address(IpAddr::V4(Ipv4Addr::new(127, 7, 0, n + 1))).build().unwrap();
    let mut next = interval(Duration::from_secs(1) / BODIES_A_SECOND);
    let slots = std::sync::Arc::new(tokio::sync::Semaphore::new(AT_ONCE));
    loop {
        next.tick().await;
        let slot = slots.clone().acquire_owned().await.unwrap();
        let request = client.post(&url).header("content-type", kind).body(body.clone());
        tokio::spawn(async move {
            _ = request.send().await;
            drop(slot);
        });
    }
}
