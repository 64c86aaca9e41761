//! One account with 70 organisations, in each of which a webhook and a command lead to a host that never answers. Meanwhile another
//! organisation makes webhooks, and calls a command of its own.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::{sleep, timeout},
};

use crate::{
    api::Api,
    attackers::{Attackers, Target},
    http::Head,
    probe,
    server::{Server, Team},
};

const ORGANISATIONS: usize = 70;
/// Between two organisations, two posts in one, and two calls: the account has a rate of 60 requests a second.
const FOUNDED: Duration = Duration::from_millis(80);
const POSTED: Duration = Duration::from_secs(5);
const CALLED: Duration = Duration::from_millis(500);
const ATTACK: Duration = Duration::from_secs(45);
/// Between the begin of the attack and the first webhook of the others: all slots that the account can take are taken.
const FILLED_AFTER: Duration = Duration::from_secs(20);
/// New webhooks, and calls, of the others.
const ROUNDS: usize = 10;
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest time from a post to its delivery to a new host.
const MOST_DELIVERED: f64 = 1000.0;

pub async fn defend() {
    let server = Server::with(&["--allow-private-webhooks", "127.0.0.0/8"]);
    let team = Team::new(&server, 1).await;
    let mut others = None;
    probe::under(&server, &team, ATTACK, || {
        let attackers = Attackers::start("programs", &team);
        others = Some(tokio::spawn(work(team.ada.clone())));
        attackers
    })
    .await;
    others.expect("they were begun").await.unwrap();
}

pub async fn attack(target: &'static Target) {
    let account = target.members().next().expect("the team has a member");
    for _ in 0..ORGANISATIONS {
        let (organisation, channel) = account.place().await;
        let webhook = json!({ "webhook_name": "hangs", "webhook_url": hanging().await });
        account.call(Method::POST, &format!("/webhooks/{channel}"), webhook).await;
        let command = json!({ "name": "hang", "url": hanging().await });
        account.call(Method::POST, &format!("/organisations/{organisation}/commands"), command).await;
        sleep(FOUNDED).await;
        tokio::spawn(again(account.clone(), format!("/channels/{channel}/messages"), json!({ "content": "x" }), POSTED));
        tokio::spawn(again(account.clone(), format!("/channels/{channel}/commands"), json!({ "command": "hang" }), CALLED));
    }
}

/// Makes the same request again and again. Most calls are refused, or time out.
async fn again(account: Api, path: String, body: Value, pause: Duration) {
    loop {
        let request = account.http.post(format!("{}/api/v1{path}", account.url)).bearer_auth(&account.token);
        _ = request.json(&body).send().await;
        sleep(pause).await;
    }
}

/// The address of a host of its own that takes each request and never answers.
async fn hanging() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            held.push(stream);
        }
    });
    url
}

/// The address of a host of its own that answers each request at once, and what tells of them.
async fn answering() -> (String, UnboundedReceiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (tell, told) = unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let tell = tell.clone();
            tokio::spawn(async move {
                let mut buffer = Vec::with_capacity(4096);
                while stream.read_buf(&mut buffer).await.is_ok_and(|read| read > 0) {
                    let Some(end) = Head::of_request(&buffer).and_then(|head| head.total(&buffer)) else { continue };
                    buffer.drain(..end);
                    _ = tell.send(());
                    _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
                }
            });
        }
    });
    (url, told)
}

/// Another organisation, whose programs answer.
async fn work(ada: Api) {
    let (organisation, channel) = ada.place().await;
    let command = json!({ "name": "quick", "url": answering().await.0 });
    ada.call(Method::POST, &format!("/organisations/{organisation}/commands"), command).await;
    sleep(FILLED_AFTER).await;
    let (mut delivered, mut slowest, mut answered) = (0, 0.0_f64, 0);
    for _ in 0..ROUNDS {
        let (url, mut told) = answering().await;
        let webhook = json!({ "webhook_name": "new", "webhook_url": url });
        let made = ada.call(Method::POST, &format!("/webhooks/{channel}"), webhook).await;
        let began = Instant::now();
        ada.call(Method::POST, &format!("/channels/{channel}/messages"), json!({ "content": "hello" })).await;
        delivered += usize::from(timeout(PATIENCE, told.recv()).await.is_ok());
        slowest = slowest.max(began.elapsed().as_secs_f64() * 1000.0);
        let id = made["data"]["id"].as_str().unwrap();
        ada.call(Method::DELETE, &format!("/webhooks/{channel}/{id}"), Value::Null).await;
        let call = ada.http.post(format!("{}/api/v1/channels/{channel}/commands", ada.url)).bearer_auth(&ada.token);
        answered += usize::from(call.json(&json!({ "command": "quick" })).send().await.is_ok_and(|reply| reply.status() == 200));
    }
    println!(
        "{delivered} of {ROUNDS} new webhooks delivered, the slowest after {slowest:.0} ms; {answered} of {ROUNDS} calls answered"
    );
    let holds = delivered == ROUNDS && answered == ROUNDS && slowest < MOST_DELIVERED;
    println!("  {}", if holds { "within the bounds" } else { "OVER A BOUND" });
}
