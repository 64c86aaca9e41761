//! Starts, queries, ends and kills the real binary.

use std::{
    fs,
    io::{BufRead, BufReader, Lines},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio},
    time::{Duration, Instant},
};

use reqwest::{Client, Method};
use serde_json::{Value, json};
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    task::JoinSet,
};

pub const BINARY: &str = env!("CARGO_BIN_EXE_tidings");
pub const PASSWORD: &str = "correct horse battery";
/// Longer than the lease of a mail, which is tried again after a kill.
const PATIENCE: Duration = Duration::from_secs(150);

/// A clean environment: settings of whoever runs the tests must not leak in.
pub fn tidings(args: &[&str]) -> Command {
    let mut command = Command::new(BINARY);
    command.args(args).env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Looks until something is there: other processes tell nobody when they change files and databases.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The first file of a folder whose name ends so.
pub async fn file_in(folder: &Path, ending: &str) -> PathBuf {
    let find = async || {
        let files = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
        files.into_iter().find(|path| path.to_string_lossy().ends_with(ending))
    };
    until(&format!("a file {ending} in {}", folder.display()), find).await
}

pub fn run(args: &[&str]) -> Output {
    tidings(args).output().unwrap()
}

#[track_caller]
pub fn refused(output: &Output, says: &str) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{output:?}");
    assert!(error.contains(says), "{error}");
}

#[track_caller]
pub fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Runs commands on one data folder.
pub struct Admin<'a>(pub &'a Path);

impl Admin<'_> {
    pub fn run(&self, args: &[&str]) -> Output {
        run(&[args, &["--data-dir", self.0.to_str().unwrap()]].concat())
    }

    pub fn print(&self, args: &[&str]) -> String {
        printed(&self.run(args))
    }

    pub fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.print(&[args, &["--json"]].concat())).unwrap()
    }
}

/// A serving process, killed when dropped.
pub struct Server {
    pub process: Child,
    pub url: String,
    pub http: Client,
    /// The rest of what it prints.
    pub printed: Lines<BufReader<ChildStdout>>,
}

impl Server {
    pub fn start(folder: &Path, settings: &[&str]) -> Server {
        let folder = folder.to_str().unwrap();
        let mut command =
            tidings(&["serve", "--listen", "127.0.0.1:0", "--rate-limit", "off", "--log", "error", "--data-dir", folder]);
        Server::spawn(command.args(settings))
    }

    pub fn spawn(command: &mut Command) -> Server {
        Server::logging(command, Stdio::inherit())
    }

    pub fn logging(command: &mut Command, log: Stdio) -> Server {
        let mut process = command.stderr(log).spawn().unwrap();
        let mut printed = BufReader::new(process.stdout.take().unwrap()).lines();
        let lines = printed.by_ref().map_while(Result::ok);
        let url = lines.into_iter().find_map(|line| line.split_once("http").map(|(_, rest)| format!("http{rest}")));
        let url = url.expect("it says where the API is").trim_end_matches("/api/v1").to_owned();
        _ = rustls::crypto::ring::default_provider().install_default(); // the client asks for one
        Server { process, url, http: Client::new(), printed }
    }

    /// The addresses that it listens on, as it prints them.
    pub fn listening(&mut self) -> Vec<String> {
        let lines = self.printed.by_ref().map_while(Result::ok);
        let listen = lines.into_iter().find_map(|line| line.trim_start().strip_prefix("Listen ").map(str::to_owned));
        listen.expect("it says where it listens").split(", ").map(str::to_owned).collect()
    }

    pub fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// Waits for the end; fails after ten seconds.
    pub fn end(&mut self) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status;
            }
            assert!(started.elapsed() < Duration::from_secs(10), "the server did not end within ten seconds");
            std::thread::sleep(Duration::from_millis(5)); // std waits for a process without a bound only
        }
    }

    pub async fn call(&self, method: Method, path: &str, token: &str, body: Value) -> reqwest::Result<(u16, Value)> {
        let request = self.http.request(method, format!("{}/api/v1{path}", self.url)).bearer_auth(token).json(&body);
        let reply = request.send().await?;
        Ok((reply.status().as_u16(), serde_json::from_str(&reply.text().await?).unwrap_or_default()))
    }

    pub async fn post(&self, path: &str, token: &str, body: Value) -> Value {
        let (status, reply) = self.call(Method::POST, path, token, body).await.unwrap();
        assert!(status < 300, "POST {path}: {status} {reply}");
        reply["data"].clone()
    }

    /// Uploads a file; gives its id.
    pub async fn upload(&self, token: &str, name: &str, content: &str) -> String {
        let kept = self.upload_bytes(token, name, content.as_bytes()).await.unwrap();
        kept["id"].as_str().unwrap_or_else(|| panic!("{kept}")).to_owned()
    }

    /// Uploads one file; gives what is said of it.
    pub async fn upload_bytes(&self, token: &str, name: &str, content: &[u8]) -> reqwest::Result<Value> {
        let head = format!("--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"{name}\"\r\n\r\n");
        let body = [head.as_bytes(), content, b"\r\n--b--\r\n"].concat();
        let request = self.http.post(format!("{}/api/v1/files/upload-files", self.url)).bearer_auth(token);
        let reply = request.header("content-type", "multipart/form-data; boundary=b").body(body).send().await?;
        Ok(reply.json::<Value>().await?["data"][0].clone())
    }

    /// Accepts an invitation, as somebody without an account.
    pub async fn accept(&self, body: &Value) -> (u16, Value) {
        let reply = self.http.post(format!("{}/api/v1/invite/verify", self.url)).json(body).send().await.unwrap();
        (reply.status().as_u16(), reply.json().await.unwrap())
    }

    pub async fn log_in(&self, email: &str) -> Option<String> {
        let body = json!({ "email": email, "password": PASSWORD });
        let (status, reply) = self.call(Method::POST, "/auth/login", "", body).await.unwrap();
        (status == 200).then(|| reply["data"]["access_token"].as_str().unwrap().to_owned())
    }

    /// A new account with a channel to post in: its token and the channel's path.
    pub async fn poster(&self) -> (String, String) {
        self.post("/auth/register", "", json!({ "email": "ada@x.example", "password": PASSWORD })).await;
        let token = self.log_in("ada@x.example").await.unwrap();
        let organisation = self.post("/organisations", &token, json!({ "name": "Engines" })).await;
        let channel = self.post("/channels", &token, json!({ "name": "dev", "organisation_id": organisation["id"] })).await;
        (token, format!("/channels/{}", channel["id"].as_str().unwrap()))
    }

    /// So many lanes that post in the channel until the server is killed, each text after its name and the lane's; and the
    /// texts that were answered 201.
    pub fn posters(&self, lanes: u32, token: &str, channel: &str, name: &str) -> (JoinSet<()>, UnboundedReceiver<String>) {
        let mut posters = JoinSet::new();
        let (answered, answers) = unbounded_channel();
        for lane in 0..lanes {
            let url = format!("{}/api/v1{channel}/messages", self.url);
            let (http, token, name, answered) = (self.http.clone(), token.to_owned(), name.to_owned(), answered.clone());
            posters.spawn(async move {
                for n in 0.. {
                    let content = format!("{name} {lane} {n}");
                    let request = http.post(&url).bearer_auth(&token).json(&json!({ "content": content }));
                    match request.send().await {
                        Ok(reply) if reply.status() == 201 => _ = answered.send(content),
                        Ok(reply) => panic!("{}", reply.status()),
                        Err(_) => return, // killed
                    }
                }
            });
        }
        (posters, answers)
    }
}

/// Numbers that follow from a seed (splitmix64).
pub struct Dice(pub u64);

impl Dice {
    /// The same in each run. `TIDINGS_DICE_SEED` makes others.
    #[expect(clippy::disallowed_methods, reason = "the seed is no setting")]
    pub fn of_run() -> Dice {
        Dice(std::env::var("TIDINGS_DICE_SEED").map_or(7, |seed| seed.parse().unwrap()))
    }

    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % sides as u64) as usize
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}
