//! 1,000 downloads of a file of 50 MB that nobody reads, by twelve members at the address of the office.

use std::{io, time::Duration};

use reqwest::Method;
use serde_json::json;
use tokio::{io::AsyncWriteExt, time::sleep};

use crate::{
    attackers::{Attackers, Target, again_and_again, dial},
    office::HERE,
    probe,
    server::{Server, Team},
    uploads::upload,
};

const MEMBERS: usize = 12;
const DOWNLOADS: usize = 1000;
const ATTACK: Duration = Duration::from_secs(40);

pub async fn defend() {
    let server = Server::start();
    let mut team = Team::new(&server, MEMBERS).await;
    let target = Target::of(server.api.url.clone());
    let id = upload(&target, HERE, &team.ada.token, Duration::ZERO).await.unwrap();
    team.ada.call(Method::POST, &team.messages, json!({ "content": "", "files": [id] })).await;
    team.file = id;
    probe::under(&server, &team, ATTACK, || Attackers::start("downloads", &team)).await;
}

pub fn attack(target: &'static Target) {
    for n in 0..DOWNLOADS {
        let token = &target.tokens[n % target.tokens.len()];
        tokio::spawn(again_and_again(move || asks(target, token)));
    }
}

/// Asks, and reads nothing until the server has hung up.
async fn asks(target: &Target, token: &str) -> io::Result<()> {
    let mut stream = dial(target, HERE, Some(2048)).await?;
    let head = format!("GET /api/v1/files/{}/film HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n", target.file);
    stream.write_all(head.as_bytes()).await?;
    loop {
        sleep(Duration::from_secs(1)).await;
        stream.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n").await?;
    }
}
