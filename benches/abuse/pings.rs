//! 200 sockets of one address that send pings without end: half of them have only shaken hands, half are members'.

use std::time::Duration;

use crate::{
    attackers::{Attackers, Target, address, again_and_again},
    frames::{PING, TEXT, frame},
    probe,
    server::{Server, Team},
    sockets,
};

const SOCKETS: usize = 200;
const MEMBERS: usize = 2;
const ATTACK: Duration = Duration::from_secs(20);

pub async fn defend() {
    let server = Server::start();
    let team = Team::new(&server, MEMBERS).await;
    probe::under(&server, &team, ATTACK, || Attackers::start("pings", &team)).await;
}

pub async fn attack(target: &'static Target) {
    let mut connects = vec![Vec::new()];
    for member in target.members() {
        connects.push(frame(TEXT, member.connect(&[]).await.as_bytes()));
    }
    for n in 0..SOCKETS {
        let first = if n < SOCKETS / 2 { &connects[0] } else { &connects[1 + n % MEMBERS] }.clone();
        tokio::spawn(again_and_again(move || {
            let first = first.clone();
            async move {
                let stream = sockets::open(target, address(5, n, SOCKETS), "/connection/websocket", None).await?;
                sockets::flood(stream, &first, &frame(PING, b"").repeat(10_000)).await
            }
        }));
    }
}
