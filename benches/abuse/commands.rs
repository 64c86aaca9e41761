//! 200 sockets of ten members, each of which sends frames of 13,000 empty commands without end.

use std::time::Duration;

use crate::{
    attackers::{Attackers, Target, address, again_and_again},
    frames::{BINARY, frame},
    probe,
    server::{Server, Team},
    sockets,
};

const SOCKETS: usize = 200;
const MEMBERS: usize = 10;
const ATTACK: Duration = Duration::from_secs(20);
/// The command `rpc` in Protobuf, without a method, after its length.
const COMMAND: [u8; 5] = [4, 0x08, 1, 0x6a, 0];

pub async fn defend() {
    let server = Server::start();
    let team = Team::new(&server, MEMBERS).await;
    probe::under(&server, &team, ATTACK, || Attackers::start("commands", &team)).await;
}

pub async fn attack(target: &'static Target) {
    let mut connects = Vec::new();
    for member in target.members() {
        connects.push(frame(BINARY, &sockets::connect_in_protobuf(&member).await));
    }
    for n in 0..SOCKETS {
        let first = connects[n % MEMBERS].clone();
        tokio::spawn(again_and_again(move || {
            let first = first.clone();
            async move {
                let stream = sockets::open(target, address(6, n, SOCKETS), "/connection/websocket?format=protobuf", None).await?;
                sockets::flood(stream, &first, &frame(BINARY, &COMMAND.repeat(13_000))).await
            }
        }));
    }
}
