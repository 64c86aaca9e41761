//! An attack on the real binary from many addresses of this machine, and what a member notices of it:
//! `cargo bench --bench abuse`.
//!
//! 5,000 idle connections, 1,000 heads that never end, 500 answers that nobody reads (half of them the docs, half a page of
//! long messages), 64 log-ins a second; whoever is hung up on comes back at once. The attackers are a process of their own.

use std::{
    io::{BufRead, BufReader, Write},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use reqwest::{Client, Method};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    time::{interval, sleep, timeout},
};

use self::api::Api;

#[allow(dead_code, reason = "other benches open sockets, too")]
mod api;

const IDLE: usize = 5000;
const HALF_HEADS: usize = 1000;
const UNREAD: usize = 500;
const LOG_INS_A_SECOND: u32 = 64;
const MEMBERS: usize = 10;
/// One address may have 256 connections; those that read nothing come from more addresses, each of which has a share of what
/// is buffered.
const BY_ADDRESS: usize = 200;
const UNREAD_BY_ADDRESS: usize = 25;
/// What must hold meanwhile.
const MOST_RESIDENT: f64 = 150.0;
const MOST_P99: f64 = 100.0;
const QUIET: Duration = Duration::from_secs(5);
const RAMP: Duration = Duration::from_secs(5);
const ATTACK: Duration = Duration::from_secs(45);
/// Between the posts of a member, and between looks at `/health`.
const PAUSE: Duration = Duration::from_millis(50);

#[tokio::main]
async fn main() {
    raise_file_limit();
    match std::env::args().nth(1).as_deref() {
        Some("attack") => attack().await,
        _ => defend().await,
    }
}

/// As many files as the machine lets a process have.
fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
}

struct Server {
    process: Child,
    api: Api,
    _folder: tempfile::TempDir,
}

impl Server {
    fn start() -> Server {
        let folder = tempfile::tempdir().unwrap();
        let mut process = Command::new(env!("CARGO_BIN_EXE_tidings"))
            .args(["serve", "--listen", "127.0.0.1:0", "--log", "warn", "--data-dir"])
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

    /// Resident memory, in MiB.
    fn resident(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
    }

    fn files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.process.id())).unwrap().count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

async fn defend() {
    let server = Server::start();
    let ada = server.api.person("ada").await;
    let (organisation, channel) = ada.place().await;
    let mut tokens = Vec::new();
    for n in 0..MEMBERS {
        let name = format!("member{n}");
        let member = server.api.person(&name).await;
        let invitation = json!({ "org_id": organisation, "emails": [format!("{name}@x.example")] });
        let made = ada.call(Method::POST, "/invite", invitation).await["data"]["invitations"][0]["invite_token"].take();
        member.call(Method::POST, "/invite/verify", json!({ "token": made })).await;
        member.call(Method::POST, &format!("/channels/{channel}/join"), json!({})).await;
        tokens.push(member.token);
        sleep(Duration::from_millis(300)).await; // one address without a session has a rate
    }
    let messages = format!("/channels/{channel}/messages");
    for _ in 0..200 {
        ada.call(Method::POST, &messages, json!({ "content": "x".repeat(4900) })).await;
        sleep(PAUSE).await;
    }

    println!("resident after the start: {:.0} MiB", server.resident());
    probe(&server, &ada, &messages, QUIET, "before the attack").await;
    let mut attackers = Command::new(std::env::current_exe().unwrap())
        .arg("attack")
        .stdin(Stdio::piped())
        .stdout(Stdio::inherit())
        .spawn()
        .unwrap();
    let target = json!({ "url": server.api.url, "path": format!("/api/v1{messages}?limit=200"), "tokens": tokens });
    writeln!(attackers.stdin.as_mut().unwrap(), "{target}").unwrap();
    sleep(RAMP).await;
    probe(&server, &ada, &messages, ATTACK, "under attack").await;
    _ = attackers.kill();
    _ = attackers.wait();
    sleep(RAMP).await;
    probe(&server, &ada, &messages, QUIET, "after the attack").await;
}

/// What a member who posts and a monitor notice, and what the server needs meanwhile.
async fn probe(server: &Server, ada: &Api, messages: &str, span: Duration, when: &str) {
    let (begun, mut posts, mut looks, mut most, mut files) = (Instant::now(), Vec::new(), Vec::new(), 0.0_f64, 0);
    let mut failed = 0;
    let monitor = Client::builder().pool_max_idle_per_host(0).build().unwrap();
    let mut pause = interval(PAUSE);
    while begun.elapsed() < span {
        pause.tick().await;
        let post = async {
            let began = Instant::now();
            let request = ada.http.post(format!("{}/api/v1{messages}", ada.url)).bearer_auth(&ada.token);
            let reply = request.json(&json!({ "content": "still here" })).send().await;
            (began.elapsed(), reply.is_ok_and(|reply| reply.status() == 201))
        };
        let look = async {
            let began = Instant::now();
            let reply = monitor.get(format!("{}/health", ada.url)).send().await;
            (began.elapsed(), reply.is_ok_and(|reply| reply.status() == 200))
        };
        let ((posted, post_is_good), (looked, look_is_good)) = tokio::join!(post, look);
        posts.push(posted);
        looks.push(looked);
        failed += usize::from(!post_is_good) + usize::from(!look_is_good);
        most = most.max(server.resident());
        files = files.max(server.files());
    }
    let at = |all: &mut Vec<Duration>, share: usize| {
        all.sort_unstable();
        all[(all.len() * share / 100).min(all.len() - 1)].as_secs_f64() * 1000.0
    };
    let [post, post_p99, look, look_p99] = [at(&mut posts, 50), at(&mut posts, 99), at(&mut looks, 50), at(&mut looks, 99)];
    println!(
        "{when}: {} posts, p50 {post:.1} ms, p99 {post_p99:.1} ms; /health p50 {look:.1} ms, p99 {look_p99:.1} ms; {failed} failed; \
         at the most {most:.0} MiB resident and {files} files open",
        posts.len(),
    );
    let holds = failed == 0 && most < MOST_RESIDENT && post_p99 < MOST_P99 && look_p99 < MOST_P99;
    println!("  {}", if holds { "within the bounds" } else { "OVER A BOUND" });
}

struct Target {
    server: SocketAddr,
    url: String,
    path: String,
    tokens: Vec<String>,
}

async fn attack() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let given: Value = serde_json::from_str(&line).unwrap();
    let url = api::text(&given["url"]);
    _ = Api::new(url.clone()); // clients of HTTP need what it installs
    let target = &*Box::leak(Box::new(Target {
        server: url.trim_start_matches("http://").parse().unwrap(),
        url,
        path: api::text(&given["path"]),
        tokens: given["tokens"].as_array().unwrap().iter().map(api::text).collect(),
    }));
    for n in 0..IDLE {
        tokio::spawn(again_and_again(move || idle(target, n)));
    }
    for n in 0..HALF_HEADS {
        tokio::spawn(again_and_again(move || half_head(target, n)));
    }
    for n in 0..UNREAD {
        tokio::spawn(again_and_again(move || unread(target, n)));
    }
    for n in 0..LOG_INS_A_SECOND {
        tokio::spawn(log_ins(target, n));
    }
    std::future::pending::<()>().await;
}

async fn again_and_again<F: Future<Output = std::io::Result<()>>>(attack: impl Fn() -> F) {
    loop {
        _ = attack().await;
        sleep(Duration::from_millis(100)).await; // or this process would take both cores
    }
}

/// Each kind of attack has addresses of its own.
fn address(kind: u8, n: usize, by_address: usize) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(127, kind, (n / by_address / 250) as u8, (n / by_address % 250 + 1) as u8))
}

async fn dial(target: &Target, from: IpAddr, buffer: Option<u32>) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::new(from, 0))?;
    if let Some(buffer) = buffer {
        socket.set_recv_buffer_size(buffer)?;
        // As over a network: on this machine the kernel would take a whole answer, which is not the server's memory.
        nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::TcpMaxSeg, &536)?;
    }
    socket.connect(target.server).await
}

/// Half of them say nothing at all, half make one request.
async fn idle(target: &Target, n: usize) -> std::io::Result<()> {
    let mut stream = dial(target, address(1, n, BY_ADDRESS), None).await?;
    if n.is_multiple_of(2) {
        stream.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n").await?;
    }
    let mut piece = [0; 512];
    while stream.read(&mut piece).await? > 0 {}
    Ok(())
}

async fn half_head(target: &Target, n: usize) -> std::io::Result<()> {
    let mut stream = dial(target, address(2, n, BY_ADDRESS), None).await?;
    stream.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\nx-long: ").await?;
    loop {
        stream.write_all(b"x").await?;
        sleep(Duration::from_secs(1)).await;
    }
}

async fn unread(target: &Target, n: usize) -> std::io::Result<()> {
    let mut stream = dial(target, address(3, n, UNREAD_BY_ADDRESS), Some(2048)).await?;
    let request = if n.is_multiple_of(2) {
        "GET /docs HTTP/1.1\r\nhost: x\r\n\r\n".to_owned()
    } else {
        let token = &target.tokens[n % target.tokens.len()];
        format!("GET {} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n", target.path)
    };
    stream.write_all(request.as_bytes()).await?;
    sleep(Duration::from_secs(32)).await;
    Ok(())
}

async fn log_ins(target: &Target, n: u32) {
    let from = IpAddr::V4(Ipv4Addr::new(127, 4, 0, n as u8 + 1));
    let client = Client::builder().local_address(from).timeout(Duration::from_secs(10)).build().unwrap();
    let mut second = interval(Duration::from_secs(1));
    sleep(Duration::from_secs(1) / LOG_INS_A_SECOND * n).await;
    for round in 0.. {
        second.tick().await;
        let name = if (n + round).is_multiple_of(2) { "ada".to_owned() } else { format!("nobody{n}-{round}") };
        let body = json!({ "email": format!("{name}@x.example"), "password": "wrong horse battery" });
        _ = timeout(Duration::from_secs(10), client.post(format!("{}/api/v1/auth/login", target.url)).json(&body).send()).await;
    }
}
