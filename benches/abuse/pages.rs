//! 40 answers of a megabyte that one address asks for and doesn't read; and meanwhile an office at another address, in which eight
//! people load pages.

use std::{
    io,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::sleep,
};

use crate::{
    attackers::{Attackers, Target, address, again_and_again, dial},
    probe::{self, PAUSE},
    server::{Server, Team},
};

const UNREAD: usize = 40;
const PEOPLE: usize = 8;
const ATTACK: Duration = Duration::from_secs(20);
/// Between two pages of a person; a user may make 60 requests a second.
const EVERY: Duration = Duration::from_millis(200);

pub async fn defend() {
    let server = Server::start();
    let team = Team::new(&server, 1).await;
    for _ in 0..200 {
        team.ada.call(Method::POST, &team.messages, json!({ "content": "x".repeat(4900) })).await;
        sleep(PAUSE).await;
    }
    // Short posts among the long ones would make the pages short.
    let (_, elsewhere) = team.ada.place().await;
    let posts = Team {
        ada: team.ada.clone(),
        others: Vec::new(),
        messages: format!("/channels/{elsewhere}/messages"),
        file: String::new(),
    };
    let mut office = None;
    probe::under(&server, &posts, ATTACK, || {
        let attackers = Attackers::start("pages", &team);
        let target = Target { messages: team.messages.clone(), ..Target::of(team.ada.url.clone()) };
        office = Some(tokio::spawn(load(target, team.ada.token.clone())));
        attackers
    })
    .await;
    let (loaded, asked) = office.expect("it was begun").await.unwrap();
    println!("{loaded} of {asked} pages of another address were answered");
    println!("  {}", if loaded == asked { "within the bounds" } else { "OVER A BOUND" });
}

pub fn attack(target: &'static Target) {
    for _ in 0..UNREAD {
        tokio::spawn(again_and_again(move || unread(target)));
    }
}

async fn unread(target: &Target) -> io::Result<()> {
    let mut stream = dial(target, address(8, 0, UNREAD), Some(2048)).await?;
    stream.write_all(request(target, &target.tokens[0], 200, "keep-alive").as_bytes()).await?;
    sleep(Duration::from_secs(32)).await;
    Ok(())
}

/// How many of the pages that an office has asked for were answered.
async fn load(target: Target, token: String) -> (usize, usize) {
    sleep(Duration::from_secs(2)).await;
    let begun = Instant::now();
    let person = async || {
        let (mut loaded, mut asked) = (0, 0);
        while begun.elapsed() < ATTACK {
            asked += 1;
            loaded += usize::from(page(&target, &token).await.is_ok_and(|answer| answer.starts_with(b"HTTP/1.1 200")));
            sleep(EVERY).await;
        }
        (loaded, asked)
    };
    let all = join_all((0..PEOPLE).map(|_| person())).await;
    all.into_iter().fold((0, 0), |(loaded, asked), (more, also)| (loaded + more, asked + also))
}

/// Over a line that takes a while for a page, so that several are under way at a time: eight of 300 KB, which is less than half of what the
/// server holds for all.
async fn page(target: &Target, token: &str) -> io::Result<Vec<u8>> {
    let mut stream = dial(target, address(9, 0, 1), Some(16 << 10)).await?;
    stream.write_all(request(target, token, 30, "close").as_bytes()).await?;
    let mut answer = Vec::new();
    while stream.read_buf(&mut answer).await? > 0 {
        sleep(Duration::from_millis(10)).await;
    }
    Ok(answer)
}

fn request(target: &Target, token: &str, limit: usize, connection: &str) -> String {
    format!(
        "GET /api/v1{}?limit={limit} HTTP/1.1\r\nhost: x\r\nconnection: {connection}\r\nauthorization: Bearer {token}\r\n\r\n",
        target.messages
    )
}
