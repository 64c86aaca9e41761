//! 1,200 sockets of twelve members that ask for the history of a channel, half a megabyte each, and read nothing; and beside them a
//! member who asks for the same and reads it.

use std::{io, time::Duration};

use futures_util::{SinkExt, StreamExt};
use reqwest::Method;
use serde_json::json;
use tokio::{
    io::AsyncWriteExt,
    time::{sleep, timeout},
};
use tokio_tungstenite::tungstenite::Message;

use crate::{
    api::Api,
    attackers::{Attackers, Target, address, again_and_again},
    frames::{TEXT, frame},
    probe::{self, PAUSE},
    server::{Server, Team},
    sockets,
};

const MEMBERS: usize = 12;
const SOCKETS_OF_EACH: usize = 100;
const BY_ADDRESS: usize = 100;
const ATTACK: Duration = Duration::from_secs(30);
/// How long the member who reads waits for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

pub async fn defend() {
    let server = Server::start();
    let team = Team::new(&server, MEMBERS).await;
    for _ in 0..200 {
        team.ada.call(Method::POST, &team.messages, json!({ "content": "x".repeat(4900) })).await;
        sleep(PAUSE).await;
    }
    let mut reading = None;
    probe::under(&server, &team, ATTACK, || {
        reading = Some(tokio::spawn(read_again_and_again(team.ada.clone(), channel(&team.messages))));
        Attackers::start("unread", &team)
    })
    .await;
    let (read, asked) = reading.expect("it was begun").await.unwrap();
    println!("{read} of {asked} histories were read by a member meanwhile");
    println!("  {}", if read == asked { "within the bounds" } else { "OVER A BOUND" });
}

fn channel(messages: &str) -> String {
    messages.split('/').nth(2).unwrap().to_owned()
}

fn history(channel: &str) -> String {
    json!({ "id": 2, "history": { "channel": channel, "limit": -1, "since": { "offset": 0 } } }).to_string()
}

/// How many of the histories that a member has asked for arrived.
async fn read_again_and_again(member: Api, channel: String) -> (usize, usize) {
    let first = member.connect(&[&channel]).await;
    let (mut read, mut asked) = (0, 0);
    let begun = std::time::Instant::now();
    while begun.elapsed() < ATTACK {
        asked += 1;
        read += usize::from(matches!(timeout(PATIENCE, reads(&member, &channel, &first)).await, Ok(Some(()))));
        sleep(Duration::from_millis(500)).await;
    }
    (read, asked)
}

async fn reads(member: &Api, channel: &str, first: &str) -> Option<()> {
    let url = format!("{}/connection/websocket", member.url.replacen("http", "ws", 1));
    let (mut socket, _) = tokio_tungstenite::connect_async(url).await.ok()?;
    socket.send(Message::text(first)).await.ok()?;
    socket.send(Message::text(history(channel))).await.ok()?;
    while let Some(Ok(message)) = socket.next().await {
        if message.to_text().is_ok_and(|text| text.contains("\"history\"")) {
            return Some(());
        }
    }
    None
}

pub async fn attack(target: &'static Target) {
    let channel = channel(&target.messages);
    for (n, member) in target.members().enumerate() {
        let first = frame(TEXT, member.connect(&[&channel]).await.as_bytes());
        let all = [first, frame(TEXT, history(&channel).as_bytes()).repeat(3)].concat();
        for socket in 0..SOCKETS_OF_EACH {
            let all = all.clone();
            tokio::spawn(again_and_again(move || {
                let all = all.clone();
                async move { asks(target, n * SOCKETS_OF_EACH + socket, &all).await }
            }));
        }
    }
}

/// Asks, and reads nothing until the server has hung up.
async fn asks(target: &Target, n: usize, all: &[u8]) -> io::Result<()> {
    let mut stream = sockets::open(target, address(7, n, BY_ADDRESS), "/connection/websocket", Some(2048)).await?;
    stream.write_all(all).await?;
    loop {
        sleep(Duration::from_secs(1)).await;
        stream.write_all(&frame(TEXT, b"{\"id\":9,\"unsubscribe\":{\"channel\":\"x\"}}")).await?;
    }
}
