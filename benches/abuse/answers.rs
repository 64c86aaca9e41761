//! 64 connections of 16 addresses that answer calls of commands without end, at secret addresses that they guess.

use std::time::Duration;

use crate::{
    attackers::{Attackers, Target, address, again_and_again, dial},
    http, probe,
    server::{Server, Team},
    sockets,
};

const CONNECTIONS: usize = 64;
const BY_ADDRESS: usize = 4;
/// Requests that one write sends.
const AT_ONCE: usize = 20;
const ATTACK: Duration = Duration::from_secs(20);

pub async fn defend() {
    let server = Server::start();
    let team = Team::new(&server, 0).await;
    probe::under(&server, &team, ATTACK, || Attackers::start("answers", &team)).await;
}

pub fn attack(target: &'static Target) {
    for n in 0..CONNECTIONS {
        let guess = |k| http::request("POST", &format!("/api/v1/commands/answers/guess{n}-{k}"), "", r#"{"text":"x"}"#);
        let guesses: String = (0..AT_ONCE).map(guess).collect();
        tokio::spawn(again_and_again(move || {
            let guesses = guesses.clone();
            async move {
                let stream = dial(target, address(7, n, BY_ADDRESS), None).await?;
                sockets::flood(stream, b"", guesses.as_bytes()).await
            }
        }));
    }
}
