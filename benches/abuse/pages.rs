//! 40 answers of a megabyte that one address asks for and doesn't read; and meanwhile an office at another address, in which eight
//! people load pages.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;
use tokio::{io::AsyncWriteExt, time::sleep};

use crate::{
    api::Api,
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
    let mut office = None;
    probe::under(&server, &team, ATTACK, || {
        let attackers = Attackers::start("pages", &team);
        let pages = format!("{}/api/v1{}?limit=50", team.ada.url, team.messages);
        office = Some(tokio::spawn(load(team.ada.clone(), pages)));
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

async fn unread(target: &Target) -> std::io::Result<()> {
    let mut stream = dial(target, address(8, 0, UNREAD), Some(2048)).await?;
    let request = format!(
        "GET /api/v1{}?limit=200 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\r\n",
        target.messages, target.tokens[0]
    );
    stream.write_all(request.as_bytes()).await?;
    sleep(Duration::from_secs(32)).await;
    Ok(())
}

/// How many of the pages that an office has asked for were answered.
async fn load(member: Api, pages: String) -> (usize, usize) {
    sleep(Duration::from_secs(2)).await;
    let begun = Instant::now();
    let person = async || {
        let (mut loaded, mut asked) = (0, 0);
        while begun.elapsed() < ATTACK {
            asked += 1;
            let answer = member.http.get(&pages).bearer_auth(&member.token).send().await;
            loaded += usize::from(match answer {
                Ok(answer) => answer.status() == 200 && answer.bytes().await.is_ok(),
                Err(_) => false,
            });
            sleep(EVERY).await;
        }
        (loaded, asked)
    };
    let all = join_all((0..PEOPLE).map(|_| person())).await;
    all.into_iter().fold((0, 0), |(loaded, asked), (more, also)| (loaded + more, asked + also))
}
