//! An office: 250 people at one address, each with one socket and six connections, and at the same address an attacker who
//! fills it with 400 idle connections and 400 heads that never end.

use std::{
    net::{IpAddr, Ipv4Addr},
    time::{Duration, Instant},
};

use futures_util::{
    SinkExt, StreamExt,
    future::join_all,
    stream::{self},
};
use reqwest::Method;
use rustix::process::{Resource, getrlimit};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{sleep, timeout},
};
use tokio_tungstenite::tungstenite::Message;

use crate::{
    api::Api,
    attackers::{Attackers, Target, again_and_again, dial},
    probe,
    server::{Server, Team, person_elsewhere},
};

const PEOPLE: usize = 250;
const CONNECTIONS: usize = 6;
const IDLE: usize = 400;
const HALF_HEADS: usize = 400;
pub const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const ATTACK: Duration = Duration::from_secs(45);
/// Between the begin of the attack and the first arrival.
const FILLED_AFTER: Duration = Duration::from_secs(3);
/// Between two requests on a connection: less than the 30 seconds after which it is a stranger's.
const EVERY: Duration = Duration::from_secs(20);
/// How long one request may take before its client gives up.
const PATIENCE: Duration = Duration::from_secs(5);

pub async fn defend() {
    let server = Server::start();
    let team = Team::new(&server, 0).await;
    let people = people(&server, PEOPLE).await;
    let mut office = None;
    probe::under(&server, &team, ATTACK, || {
        let attackers = Attackers::start("office", &team);
        office = Some(tokio::spawn(work(people)));
        attackers
    })
    .await;
    office.expect("it was begun").await.unwrap();
}

pub fn attack(target: &'static Target) {
    for n in 0..IDLE {
        tokio::spawn(again_and_again(move || idle(target, n)));
    }
    for _ in 0..HALF_HEADS {
        tokio::spawn(again_and_again(move || half_head(target)));
    }
}

/// Half of them say nothing at all, half make one request.
async fn idle(target: &Target, n: usize) -> std::io::Result<()> {
    let mut stream = dial(target, HERE, None).await?;
    if n.is_multiple_of(2) {
        stream.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n").await?;
    }
    while stream.read(&mut [0; 512]).await? > 0 {}
    Ok(())
}

async fn half_head(target: &Target) -> std::io::Result<()> {
    let mut stream = dial(target, HERE, None).await?;
    stream.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\nx-long: ").await?;
    loop {
        stream.write_all(b"x").await?;
        sleep(Duration::from_secs(1)).await;
    }
}

/// The accounts, as many as the limit of open files serves.
pub async fn people(server: &Server, most: usize) -> Vec<Api> {
    let files = getrlimit(Resource::Nofile).current.map_or(usize::MAX, |files| files as usize);
    let count = most.min(files.saturating_sub(1200) / (CONNECTIONS + 2));
    let person = |n: usize| async move { person_elsewhere(server, n, &format!("person{n}")).await };
    stream::iter(0..count).map(person).buffered(2).collect().await
}

/// Everybody arrives, and works on for as long as the attack lasts.
async fn work(people: Vec<Api>) {
    let begun = Instant::now();
    sleep(FILLED_AFTER).await;
    let days = people.iter().enumerate().map(|(n, person)| async move {
        sleep(Duration::from_millis(20) * n as u32).await;
        day(person, begun + ATTACK).await
    });
    let (mut in_sockets, mut in_connections, mut cut) = (0, 0, 0);
    for (socket, connections, lost) in join_all(days).await {
        (in_sockets, in_connections, cut) = (in_sockets + socket, in_connections + connections, cut + lost);
    }
    let count = people.len();
    println!(
        "{in_sockets} of {count} sockets and {in_connections} of {} connections got in at the first attempt; {cut} were lost later",
        count * CONNECTIONS
    );
    let all = (count, count * CONNECTIONS, 0);
    println!("  {}", if (in_sockets, in_connections, cut) == all { "within the bounds" } else { "OVER A BOUND" });
}

/// How many sockets and connections of one person got in, and how many of these were lost before the end.
async fn day(person: &Api, end: Instant) -> (usize, usize, usize) {
    let mut streams = Vec::new();
    for _ in 0..CONNECTIONS {
        let address = person.url.trim_start_matches("http://");
        let Ok(mut stream) = TcpStream::connect(address).await else { continue };
        if asks(&mut stream, person).await {
            streams.push(stream);
        }
    }
    let (got_in, socket) = (streams.len(), socket(person).await);
    let has_socket = socket.is_some();
    let mut lost = 0;
    // A socket that is read answers pings.
    let listen = async {
        let Some(mut socket) = socket else { return 0 };
        let left = end.saturating_duration_since(Instant::now());
        usize::from(timeout(left, async { while let Some(Ok(_)) = socket.next().await {} }).await.is_ok())
    };
    let ask = async {
        while Instant::now() + EVERY < end {
            sleep(EVERY).await;
            for stream in &mut streams {
                lost += usize::from(!asks(stream, person).await);
            }
        }
    };
    let (socket_lost, ()) = tokio::join!(listen, ask);
    (usize::from(has_socket), got_in, lost + socket_lost)
}

/// Whether a request with a session is answered.
async fn asks(stream: &mut TcpStream, person: &Api) -> bool {
    let request =
        format!("GET /api/v1/users/organisations HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\r\n", person.token);
    let answered = async {
        stream.write_all(request.as_bytes()).await?;
        let mut answer = vec![0; 4096];
        let read = stream.read(&mut answer).await?;
        Ok::<_, std::io::Error>(answer[..read].starts_with(b"HTTP/1.1 200"))
    };
    matches!(timeout(PATIENCE, answered).await, Ok(Ok(true)))
}

async fn socket(person: &Api) -> Option<impl StreamExt<Item = Result<Message, tokio_tungstenite::tungstenite::Error>> + Unpin> {
    let request = person.http.request(Method::GET, format!("{}/api/v1/token/connection", person.url));
    let token: Value = request.bearer_auth(&person.token).send().await.ok()?.json().await.ok()?;
    let url = format!("{}/connection/websocket", person.url.replacen("http", "ws", 1));
    let (mut socket, _) = timeout(PATIENCE, tokio_tungstenite::connect_async(url)).await.ok()?.ok()?;
    let connect = serde_json::json!({ "connect": { "token": token["data"]["token"], "subs": {} } });
    socket.send(Message::text(connect.to_string())).await.ok()?;
    let welcome = timeout(PATIENCE, socket.next()).await.ok()??.ok()?;
    welcome.to_text().is_ok_and(|text| text.contains("\"connect\"")).then_some(socket)
}
