//! The server under attack.

use std::{
    io::{BufRead, BufReader},
    net::{IpAddr, Ipv4Addr},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use reqwest::{Client, Method};
use serde_json::json;
use tokio::time::sleep;

use crate::api::Api;

pub struct Server {
    process: Child,
    pub api: Api,
    folder: tempfile::TempDir,
}

impl Server {
    pub fn start() -> Server {
        Server::with(&[])
    }

    /// A server with these flags besides the usual ones.
    pub fn with(flags: &[&str]) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let (process, url) = serve(folder.path(), "127.0.0.1:0", flags);
        Server { process, api: Api::new(url), folder }
    }

    /// Kills the server, and starts it again at the same address, with the usual flags.
    pub fn restart(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        (self.process, _) = serve(self.folder.path(), self.api.url.trim_start_matches("http://"), &[]);
    }

    /// Resident memory, in MiB.
    pub fn resident(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
    }

    pub fn database(&self) -> std::path::PathBuf {
        self.folder.path().join("data/tidings.db")
    }

    pub fn files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.process.id())).unwrap().count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// Starts the server, or the build to compare with, and gives its address.
fn serve(folder: &Path, listen: &str, flags: &[&str]) -> (Child, String) {
    let other = std::env::args().find_map(|word| word.strip_prefix("--server=").map(str::to_owned));
    let mut process = Command::new(other.as_deref().unwrap_or(env!("CARGO_BIN_EXE_tidings")))
        .args(["serve", "--listen", listen, "--log", "warn", "--data-dir"])
        .arg(folder.join("data"))
        .args(flags)
        .env("MIMALLOC_PURGE_DELAY", "0") // as the installed service has it
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
    let url = lines
        .map(|line| line.trim().to_owned())
        .find_map(|line| line.strip_prefix("API").map(|rest| rest.trim().trim_end_matches("/api/v1").to_owned()));
    (process, url.unwrap())
}

/// Members of one organisation and one channel.
pub struct Team {
    /// The first one, whose posts are measured.
    pub ada: Api,
    pub others: Vec<Api>,
    /// The path of the channel's messages.
    pub messages: String,
    /// A file of one of its messages, if a scenario has one.
    pub file: String,
}

impl Team {
    pub async fn new(server: &Server, others: usize) -> Team {
        let ada = server.api.person("ada").await;
        let (organisation, channel) = ada.place().await;
        let mut members = Vec::new();
        for n in 0..others {
            let name = format!("member{n}");
            let member = person_elsewhere(server, n, &name).await;
            let invitation = json!({ "org_id": organisation, "emails": [format!("{name}@x.example")] });
            let made = ada.call(Method::POST, "/invite", invitation).await["data"]["invitations"][0]["invite_token"].take();
            member.call(Method::POST, "/invite/verify", json!({ "token": made })).await;
            member.call(Method::POST, &format!("/channels/{channel}/join"), json!({})).await;
            members.push(member);
            sleep(Duration::from_millis(300)).await; // one address without a session has a rate
        }
        Team { ada, others: members, messages: format!("/channels/{channel}/messages"), file: String::new() }
    }
}

/// A network has 20 links mailed, and a registration mails one: accounts are made at other addresses.
const ACCOUNTS_BY_ADDRESS: usize = 15;

/// The account of this number.
pub async fn person_elsewhere(server: &Server, n: usize, name: &str) -> Api {
    let from = IpAddr::V4(Ipv4Addr::new(127, 6, 0, (n / ACCOUNTS_BY_ADDRESS + 1) as u8));
    let http = Client::builder().local_address(from).build().unwrap();
    let person = Api { http, ..server.api.clone() }.person(name).await;
    Api { http: server.api.http.clone(), ..person }
}
