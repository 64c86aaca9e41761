//! The server and those that it is compared with, each a process of its own that ends with its owner.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use reqwest::Method;
use serde_json::json;

use crate::{api::Api, certificate::Certificate, line::Trust};

const PEOPLE: usize = 7;

/// A certificate for this machine, with its files.
pub struct Secured {
    pub trust: Trust,
    pub files: Option<[std::path::PathBuf; 2]>,
}

impl Secured {
    pub fn new(tls: bool, folder: &Path) -> Secured {
        if !tls {
            return Secured { trust: Trust::none(), files: None };
        }
        let certificate = Certificate::of("127.0.0.1");
        let [chain, key] = ["chain.pem", "key.pem"].map(|name| folder.join(name));
        fs::write(&chain, certificate.pem()).unwrap();
        fs::write(&key, certificate.key_pem()).unwrap();
        Secured { trust: Trust::of(&certificate), files: Some([chain, key]) }
    }
}

pub struct Process(Child);

impl Process {
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Its own number, and those of its children.
    pub fn all(&self) -> Vec<u32> {
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.id())).unwrap();
        std::iter::once(self.id()).chain(children.split_whitespace().map(|child| child.parse().unwrap())).collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        _ = Command::new("kill").arg(self.id().to_string()).status(); // and nginx ends its children
        _ = self.0.wait();
    }
}

/// Members of one organisation and one channel, as many as make fifty transfers at once.
pub struct People {
    pub tokens: Vec<String>,
    /// The path of the channel's messages.
    pub messages: String,
}

async fn people(url: String) -> People {
    let mut api = Api::new(url);
    api.http = reqwest::Client::builder().tls_danger_accept_invalid_certs(true).build().unwrap();
    let ada = api.person("ada").await;
    let (organisation, channel) = ada.place().await;
    let mut tokens = vec![ada.token.clone()];
    for n in 1..PEOPLE {
        let name = format!("member{n}");
        let member = api.person(&name).await;
        let invitation = json!({ "org_id": organisation, "emails": [format!("{name}@x.example")] });
        let made = ada.call(Method::POST, "/invite", invitation).await["data"]["invitations"][0]["invite_token"].take();
        member.call(Method::POST, "/invite/verify", json!({ "token": made })).await;
        member.call(Method::POST, &format!("/channels/{channel}/join"), json!({})).await;
        tokens.push(member.token);
    }
    People { tokens, messages: format!("/channels/{channel}/messages") }
}

/// The server on a data folder, and people in it.
pub fn tidings(folder: &Path, secured: &Secured) -> (Process, SocketAddr, People) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--rate-limit", "off", "--log", "error"]);
    command.args(["--file-bytes-per-organisation", "900000000000"]);
    command.arg("--data-dir").arg(folder.join("data")).env("MIMALLOC_PURGE_DELAY", "0"); // as the installed service has it
    if let Some([chain, key]) = &secured.files {
        command.arg("--tls-cert").arg(chain).arg("--tls-key").arg(key);
    }
    let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
    let url = lines.map(|line| line.trim().to_owned()).find_map(|line| line.strip_prefix("API").map(|url| url.trim().to_owned()));
    let url = url.expect("the server starts").trim_end_matches("/api/v1").to_owned();
    let address = url.rsplit('/').next().unwrap().parse().unwrap();
    let people = tokio::runtime::Runtime::new().unwrap().block_on(people(url));
    (Process(process), address, people)
}

/// nginx with a worker for each core, which serves a folder.
pub fn nginx(folder: &Path, secured: &Secured) -> (Process, SocketAddr) {
    let address = free_address();
    let (ssl, certificate) = match &secured.files {
        None => ("", String::new()),
        Some([chain, key]) => (
            " ssl",
            format!("ssl_certificate {}; ssl_certificate_key {}; ssl_protocols TLSv1.3;", chain.display(), key.display()),
        ),
    };
    let shown = folder.display();
    let config = format!(
        "worker_processes auto; daemon off; pid {shown}/nginx.pid; error_log {shown}/nginx.log; user root;
         events {{ worker_connections 1024; }}
         http {{ access_log off; sendfile on; keepalive_requests 100000; client_body_temp_path {shown}/nginx-body;
           proxy_temp_path {shown}/nginx-proxy; fastcgi_temp_path {shown}/nginx-fastcgi; uwsgi_temp_path {shown}/nginx-uwsgi;
           scgi_temp_path {shown}/nginx-scgi;
           server {{ listen {address}{ssl}; {certificate} root {shown}/served; }} }}"
    );
    let path = folder.join("nginx.conf");
    fs::write(&path, config).unwrap();
    let process = Command::new("nginx").arg("-c").arg(&path).spawn().expect("nginx is installed");
    (Process(process), answering(address))
}

/// The bare program.
pub fn bare(folder: &Path) -> (Process, SocketAddr) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let mut process = command.arg("bare").arg(folder).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
    let address = lines.next().unwrap().parse().unwrap();
    (Process(process), address)
}

fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn answering(address: SocketAddr) -> SocketAddr {
    while TcpStream::connect(address).is_err() {
        std::thread::sleep(Duration::from_millis(20));
    }
    address
}
