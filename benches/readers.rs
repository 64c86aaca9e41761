//! Whether a client that never reads slows the others, on the real binary in a process of its own:
//! `cargo bench --bench readers`.

use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use futures_util::{SinkExt, StreamExt};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::{WebSocketStream, tungstenite::Message};

use self::api::Api;

mod api;

const ROUNDS: usize = 24;
const READERS: usize = 20;
const MESSAGES: usize = 300;
/// Between posts: the readers are to keep up.
const PAUSE: Duration = Duration::from_millis(3);
/// Of each round, not counted: the end of the round before it is over by then.
const WARM_UP: usize = 50;

#[tokio::main]
async fn main() {
    slow_reader().await;
}

/// The server, ended when it is dropped.
struct Server {
    process: Child,
    api: Api,
    _folder: tempfile::TempDir,
}

impl Server {
    /// With its data in memory: the disk's own pauses are longer than anything that is compared here.
    fn without_a_disk() -> Server {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let mut process = Command::new(env!("CARGO_BIN_EXE_tidings"))
            .args(["serve", "--listen", "127.0.0.1:0", "--rate-limit", "off", "--connections-per-address", "10000"])
            .args(["--log", "error", "--data-dir"])
            .arg(folder.path().join("data"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
        let url = lines
            .map(|line| line.trim().to_owned())
            .find_map(|line| line.strip_prefix("API").map(|rest| rest.trim().trim_end_matches("/api/v1").to_owned()));
        Server { process, api: Api::new(url.unwrap()), _folder: folder }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

async fn open(server: SocketAddr, from: std::net::IpAddr, greeting: &str, buffer: Option<u32>) -> WebSocketStream<TcpStream> {
    let tcp = TcpSocket::new_v4().unwrap();
    tcp.bind(SocketAddr::new(from, 0)).unwrap();
    if let Some(buffer) = buffer {
        tcp.set_recv_buffer_size(buffer).unwrap();
    }
    let stream = tcp.connect(server).await.unwrap();
    let (mut socket, _) = tokio_tungstenite::client_async(format!("ws://{server}/connection/websocket"), stream).await.unwrap();
    socket.send(Message::text(greeting)).await.unwrap();
    socket.next().await.unwrap().unwrap();
    socket
}

/// The time from a post's request to its arrival at each reader, by turns without and with one that never reads.
async fn slow_reader() {
    let server = Server::without_a_disk();
    let person = server.api.person("ada").await;
    let (_, channel) = person.place().await;
    let greeting = person.connect(&[&channel]).await;
    let mut took = [Vec::new(), Vec::new()];
    for round in 0..ROUNDS * 2 {
        let with = [0, 1, 1, 0][round % 4]; // neither is always the first, nor always after the other
        took[with].extend(latencies(&person, &channel, &greeting, with == 1).await);
    }
    let [without, with] = took.map(|mut all| {
        all.sort_unstable();
        all[all.len() * 99 / 100].as_secs_f64() * 1000.0
    });
    println!(
        "{READERS} readers, {MESSAGES} posts a round, {ROUNDS} rounds of each: p99 {without:.2} ms, beside one that never \
         reads {with:.2} ms ({:+.1} %)",
        (with / without - 1.0) * 100.0
    );
}

async fn latencies(person: &Api, channel: &str, greeting: &str, beside_a_slow_one: bool) -> Vec<Duration> {
    let address: SocketAddr = person.url.trim_start_matches("http://").parse().unwrap();
    let home = "127.0.0.1".parse().unwrap();
    let slow = if beside_a_slow_one { Some(open(address, home, greeting, Some(4096)).await) } else { None };
    let begin = Instant::now();
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..READERS {
        let mut socket = open(address, home, greeting, None).await;
        readers.spawn(async move {
            let mut took = Vec::with_capacity(MESSAGES);
            let mut heard = 0;
            while heard < MESSAGES {
                let frame = socket.next().await.unwrap().unwrap();
                for line in frame.to_text().unwrap().lines().filter(|line| *line != "{}") {
                    let push: Value = serde_json::from_str(line).unwrap();
                    let content = push["push"]["pub"]["data"]["content"].as_str().unwrap();
                    let sent = Duration::from_micros(content.trim_start().parse().unwrap());
                    heard += 1;
                    if heard > WARM_UP {
                        took.push(begin.elapsed() - sent);
                    }
                }
            }
            took
        });
    }
    for _ in 0..MESSAGES {
        // Large, so that the slow one's queue is over its bound after a part of them.
        let content = format!("{:>8000}", begin.elapsed().as_micros());
        person.call(Method::POST, &format!("/channels/{channel}/messages"), json!({ "content": content })).await;
        tokio::time::sleep(PAUSE).await;
    }
    let took = readers.join_all().await.concat();
    drop(slow);
    took
}
