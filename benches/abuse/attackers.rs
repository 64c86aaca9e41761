//! The attackers' process, and what all attacks need.

use std::{
    io::Write,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    net::{TcpSocket, TcpStream},
    time::sleep,
};

use crate::{
    api::{self, Api},
    server::Team,
};

/// What is attacked.
pub struct Target {
    pub server: SocketAddr,
    pub url: String,
    /// The path of a channel's messages.
    pub messages: String,
    /// A file of one of them.
    pub file: String,
    /// The bearer tokens of members who attack.
    pub tokens: Vec<String>,
}

impl Target {
    /// A server without attackers.
    pub fn of(url: String) -> Target {
        let server = url.trim_start_matches("http://").parse().unwrap();
        Target { server, url, messages: String::new(), file: String::new(), tokens: Vec::new() }
    }

    pub fn members(&self) -> impl Iterator<Item = Api> {
        self.tokens.iter().map(|token| Api { token: token.clone(), ..Api::new(self.url.clone()) })
    }
}

/// The process, from the outside. Dropping it ends the attack.
pub struct Attackers(Child);

impl Attackers {
    pub fn start(scenario: &str, team: &Team) -> Attackers {
        let mut process =
            Command::new(std::env::current_exe().unwrap()).args(["attack", scenario]).stdin(Stdio::piped()).spawn().unwrap();
        let tokens: Vec<&str> = team.others.iter().map(|member| member.token.as_str()).collect();
        let target = json!({ "url": team.ada.url, "messages": team.messages, "file": team.file, "tokens": tokens });
        writeln!(process.stdin.as_mut().unwrap(), "{target}").unwrap();
        Attackers(process)
    }
}

impl Drop for Attackers {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// What [`Attackers::start`] tells its process.
pub fn target() -> &'static Target {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let given: Value = serde_json::from_str(&line).unwrap();
    let url = api::text(&given["url"]);
    _ = Api::new(url.clone()); // clients of HTTP need what it installs
    Box::leak(Box::new(Target {
        messages: api::text(&given["messages"]),
        file: api::text(&given["file"]),
        tokens: given["tokens"].as_array().unwrap().iter().map(api::text).collect(),
        ..Target::of(url)
    }))
}

pub async fn again_and_again<F: Future<Output = std::io::Result<()>>>(attack: impl Fn() -> F) {
    loop {
        _ = attack().await;
        sleep(Duration::from_millis(100)).await; // or this process would take both cores
    }
}

/// Each kind of attack has addresses of its own.
pub fn address(kind: u8, n: usize, by_address: usize) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(127, kind, (n / by_address / 250) as u8, (n / by_address % 250 + 1) as u8))
}

pub async fn dial(target: &Target, from: IpAddr, buffer: Option<u32>) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::new(from, 0))?;
    if let Some(buffer) = buffer {
        socket.set_recv_buffer_size(buffer)?;
        // As over a network: on this machine the kernel would take a whole answer, which is not the server's memory.
        nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::TcpMaxSeg, &536)?;
    }
    socket.connect(target.server).await
}
