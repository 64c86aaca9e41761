//! 200 uploads of 50 MB at once, by 25 members, each at an address of their own: as fast as this machine moves them, and over a
//! network of a gigabit, where all end together after 80 seconds.

use std::{
    io::{self, Error},
    net::IpAddr,
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::sleep,
};

use crate::{
    attackers::{Attackers, Target, address, again_and_again, dial},
    probe,
    server::{Server, Team, person_elsewhere},
};

/// The name of the scenario over a network.
pub const GIGABIT: &str = "uploads-gigabit";
pub const FILE: usize = 50_000_000;
const MEMBERS: usize = 25;
/// As many as a person may have at once.
const OF_EACH: usize = 8;
const ATTACK: Duration = Duration::from_secs(40);
const GIGABIT_ATTACK: Duration = Duration::from_secs(100);
/// Between two parts of an upload that has its part of a gigabit, 125,000,000 bytes, a second.
const GIGABIT_PAUSE: Duration = Duration::from_millis((PART * MEMBERS * OF_EACH / 125_000) as u64);
const PART: usize = 256 << 10;

pub async fn defend(scenario: &str) {
    let server = Server::with(&["--file-bytes-per-organisation", "900000000000"]);
    let mut team = Team::new(&server, 0).await;
    for n in 0..MEMBERS {
        let member = person_elsewhere(&server, n, &format!("member{n}")).await;
        member.place().await;
        team.others.push(member);
    }
    let attack = if scenario == GIGABIT { GIGABIT_ATTACK } else { ATTACK };
    probe::under(&server, &team, attack, || Attackers::start(scenario, &team)).await;
    let database = rusqlite::Connection::open(server.database()).unwrap();
    let arrived: i64 = database.query_row("select count(*) from files", [], |row| row.get(0)).unwrap();
    println!("{arrived} files have arrived");
}

pub fn attack(target: &'static Target, scenario: &str) {
    let pause = if scenario == GIGABIT { GIGABIT_PAUSE } else { Duration::ZERO };
    for n in 0..MEMBERS * OF_EACH {
        let from = address(8, n, OF_EACH);
        let token = &target.tokens[n / OF_EACH];
        tokio::spawn(again_and_again(move || async move { upload(target, from, token, pause).await.map(drop) }));
    }
}

/// Uploads a file of [`FILE`] bytes in one piece, and pauses between its parts; gives its identifier.
pub async fn upload(target: &Target, from: IpAddr, token: &str, pause: Duration) -> io::Result<String> {
    let length = FILE;
    let mut stream = dial(target, from, None).await?;
    let common = format!("HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ntus-resumable: 1.0.0\r\n");
    let begin = format!("POST /api/v1/files/uploads {common}upload-length: {length}\r\ncontent-length: 0\r\n\r\n");
    stream.write_all(begin.as_bytes()).await?;
    let begun = answer(&mut stream).await?;
    let path = begun.lines().find_map(|line| line.strip_prefix("location:")).ok_or_else(|| Error::other(begun.clone()))?.trim();
    let head = format!(
        "PATCH {path} {common}upload-offset: 0\r\ncontent-type: application/offset+octet-stream\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    let part = vec![b'x'; PART];
    let mut left = length;
    while left > 0 {
        let next = left.min(PART);
        stream.write_all(&part[..next]).await?;
        left -= next;
        if !pause.is_zero() {
            sleep(pause).await;
        }
    }
    let done = answer(&mut stream).await?;
    if !done.starts_with("http/1.1 204") {
        return Err(Error::other(done));
    }
    Ok(path.rsplit_once('/').expect("it has an identifier").1.to_owned())
}

/// The head of an answer, in small letters.
async fn answer(stream: &mut tokio::net::TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&head).to_lowercase())
}
