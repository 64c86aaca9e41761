//! 5,000 idle connections, 1,000 heads that never end, 500 answers that nobody reads (half of them the docs, half a page of
//! long messages), 64 log-ins a second.

use std::{
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

use reqwest::{Client, Method};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::{interval, sleep, timeout},
};

use crate::{
    attackers::{Attackers, Target, address, again_and_again, dial},
    probe::{self, PAUSE},
    server::{Server, Team},
};

const IDLE: usize = 5000;
const HALF_HEADS: usize = 1000;
const UNREAD: usize = 500;
const LOG_INS_A_SECOND: u32 = 64;
const MEMBERS: usize = 10;
/// One address may have 256 connections; those that read nothing come from more addresses, each of which has a share of what
/// is buffered.
const BY_ADDRESS: usize = 200;
const UNREAD_BY_ADDRESS: usize = 25;
const ATTACK: Duration = Duration::from_secs(45);

pub async fn defend() {
    let server = Server::start();
    let team = Team::new(&server, MEMBERS).await;
    for _ in 0..200 {
        team.ada.call(Method::POST, &team.messages, json!({ "content": "x".repeat(4900) })).await;
        sleep(PAUSE).await;
    }
    probe::under(&server, &team, ATTACK, || Attackers::start("strangers", &team)).await;
}

pub fn attack(target: &'static Target) {
    for n in 0..IDLE {
        tokio::spawn(again_and_again(move || idle(target, n)));
    }
    for n in 0..HALF_HEADS {
        tokio::spawn(again_and_again(move || half_head(target, n)));
    }
    for n in 0..UNREAD {
        tokio::spawn(again_and_again(move || unread(target, n)));
    }
    for n in 0..LOG_INS_A_SECOND {
        tokio::spawn(log_ins(target, n));
    }
}

/// Half of them say nothing at all, half make one request.
async fn idle(target: &Target, n: usize) -> std::io::Result<()> {
    let mut stream = dial(target, address(1, n, BY_ADDRESS), None).await?;
    if n.is_multiple_of(2) {
        stream.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n").await?;
    }
    let mut piece = [0; 512];
    while stream.read(&mut piece).await? > 0 {}
    Ok(())
}

async fn half_head(target: &Target, n: usize) -> std::io::Result<()> {
    let mut stream = dial(target, address(2, n, BY_ADDRESS), None).await?;
    stream.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\nx-long: ").await?;
    loop {
        stream.write_all(b"x").await?;
        sleep(Duration::from_secs(1)).await;
    }
}

async fn unread(target: &Target, n: usize) -> std::io::Result<()> {
    let mut stream = dial(target, address(3, n, UNREAD_BY_ADDRESS), Some(2048)).await?;
    let request = if n.is_multiple_of(2) {
        "GET /docs HTTP/1.1\r\nhost: x\r\n\r\n".to_owned()
    } else {
        let token = &target.tokens[n % target.tokens.len()];
        format!("GET /api/v1{}?limit=200 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n", target.messages)
    };
    stream.write_all(request.as_bytes()).await?;
    sleep(Duration::from_secs(32)).await;
    Ok(())
}

async fn log_ins(target: &Target, n: u32) {
    let from = IpAddr::V4(Ipv4Addr::new(127, 4, 0, n as u8 + 1));
    let client = Client::builder().local_address(from).timeout(Duration::from_secs(10)).build().unwrap();
    let mut second = interval(Duration::from_secs(1));
    sleep(Duration::from_secs(1) / LOG_INS_A_SECOND * n).await;
    for round in 0.. {
        second.tick().await;
        let name = if (n + round).is_multiple_of(2) { "ada".to_owned() } else { format!("nobody{n}-{round}") };
        let body = json!({ "email": format!("{name}@x.example"), "password": "wrong horse battery" });
        _ = timeout(Duration::from_secs(10), client.post(format!("{}/api/v1/auth/login", target.url)).json(&body).send()).await;
    }
}
