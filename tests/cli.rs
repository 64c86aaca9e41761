//! Runs the real binary: start and end, exit codes, settings, kills, the installer.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, ExitStatus, Output, Stdio},
    time::{Duration, Instant},
};

use reqwest::{Client, Method};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_tidings");
const PASSWORD: &str = "correct horse battery";

/// A clean environment: settings of whoever runs the tests must not leak in.
fn tidings(args: &[&str]) -> Command {
    let mut command = Command::new(BINARY);
    command.args(args).env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(args: &[&str]) -> Output {
    tidings(args).output().unwrap()
}

#[track_caller]
fn refused(output: &Output, says: &str) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{output:?}");
    assert!(error.contains(says), "{error}");
}

#[track_caller]
fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// A serving process, killed when dropped.
struct Server {
    process: Child,
    url: String,
    http: Client,
}

impl Server {
    fn start(folder: &Path, settings: &[&str]) -> Server {
        let folder = folder.to_str().unwrap();
        let mut command =
            tidings(&["serve", "--listen", "127.0.0.1:0", "--rate-limit", "off", "--log", "error", "--data-dir", folder]);
        Server::spawn(command.args(settings))
    }

    fn spawn(command: &mut Command) -> Server {
        Server::logging(command, Stdio::inherit())
    }

    fn logging(command: &mut Command, log: Stdio) -> Server {
        let mut process = command.stderr(log).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
        let url = lines.into_iter().find_map(|line| line.split_once("http").map(|(_, rest)| format!("http{rest}")));
        let url = url.expect("it says where the API is").trim_end_matches("/api/v1").to_owned();
        _ = rustls::crypto::ring::default_provider().install_default(); // the client asks for one
        Server { process, url, http: Client::new() }
    }

    fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// Waits for the end; fails after ten seconds.
    fn end(&mut self) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status;
            }
            assert!(started.elapsed() < Duration::from_secs(10), "the server did not end within ten seconds");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    async fn call(&self, method: Method, path: &str, token: &str, body: Value) -> reqwest::Result<(u16, Value)> {
        let request = self.http.request(method, format!("{}/api/v1{path}", self.url)).bearer_auth(token).json(&body);
        let reply = request.send().await?;
        Ok((reply.status().as_u16(), serde_json::from_str(&reply.text().await?).unwrap_or_default()))
    }

    async fn post(&self, path: &str, token: &str, body: Value) -> Value {
        let (status, reply) = self.call(Method::POST, path, token, body).await.unwrap();
        assert!(status < 300, "POST {path}: {status} {reply}");
        reply["data"].clone()
    }

    /// Accepts an invitation, as somebody without an account.
    async fn accept(&self, body: &Value) -> (u16, Value) {
        let reply = self.http.post(format!("{}/api/v1/invite/verify", self.url)).json(body).send().await.unwrap();
        (reply.status().as_u16(), reply.json().await.unwrap())
    }

    async fn log_in(&self, email: &str) -> Option<String> {
        let body = json!({ "email": email, "password": PASSWORD });
        let (status, reply) = self.call(Method::POST, "/auth/login", "", body).await.unwrap();
        (status == 200).then(|| reply["data"]["access_token"].as_str().unwrap().to_owned())
    }

    /// A new account with a channel to post in: its token and the channel's path.
    async fn poster(&self) -> (String, String) {
        self.post("/auth/register", "", json!({ "email": "ada@x.example", "password": PASSWORD })).await;
        let token = self.log_in("ada@x.example").await.unwrap();
        let organisation = self.post("/organisations", &token, json!({ "name": "Engines" })).await;
        let channel = self.post("/channels", &token, json!({ "name": "dev", "organisation_id": organisation["id"] })).await;
        (token, format!("/channels/{}", channel["id"].as_str().unwrap()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

#[tokio::test]
async fn a_server_starts_with_no_setting_at_all_but_a_free_port_and_ends_cleanly() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    for signal in ["TERM", "INT"] {
        let mut command = tidings(&["serve", "--listen", "127.0.0.1:0"]);
        let mut server = Server::spawn(command.current_dir(&folder));
        assert_eq!(reqwest::get(format!("{}/health", server.url)).await.unwrap().status(), 200);
        let data = folder.path().join("tidings-data");
        assert_eq!(std::fs::metadata(&data).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(std::fs::metadata(data.join("secret.key")).unwrap().permissions().mode() & 0o777, 0o600);
        server.signal(signal);
        assert_eq!(server.end().code(), Some(0));
        assert!(!data.join("tidings.db-wal").exists(), "the WAL is folded into the database");
    }
}

#[tokio::test]
async fn sockets_are_closed_with_3001_at_the_end() {
    use futures_util::{SinkExt, StreamExt};
    use tokio_tungstenite::tungstenite::Message;
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &[]);
    let (token, _) = server.poster().await;
    let (_, reply) = server.call(Method::GET, "/token/connection", &token, json!({})).await.unwrap();
    let url = format!("{}/connection/websocket", server.url.replacen("http", "ws", 1));
    let (mut socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
    let connect = json!({ "id": 1, "connect": { "token": reply["data"]["token"] } });
    socket.send(Message::text(connect.to_string())).await.unwrap();
    assert!(socket.next().await.unwrap().unwrap().to_text().unwrap().contains("\"client\""));
    server.signal("TERM");
    let Message::Close(Some(close)) = socket.next().await.unwrap().unwrap() else { panic!("a close was expected") };
    assert_eq!((u16::from(close.code), close.reason.as_str()), (3001, "shutdown"));
    drop(socket);
    assert_eq!(server.end().code(), Some(0));
}

#[test]
fn what_cannot_work_is_said_and_nothing_is_half_made() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let at = data.to_str().unwrap();

    refused(&run(&["serve", "--nonsense"]), "--nonsense");
    refused(&run(&["serve", "--rate-limit", "maybe"]), "maybe");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    refused(&run(&["serve", "--data-dir", at, "--listen", &taken.local_addr().unwrap().to_string()]), "can't listen on");
    for (flag, value) in [("--base-url", "chat"), ("--mail-url", "gopher://x"), ("--mail-from", "nobody"), ("--log", "a=b=c")] {
        refused(&run(&["serve", "--data-dir", at, "--listen", "127.0.0.1:0", flag, value]), flag);
    }
    for origin in
        ["", "chat.example.org", "https://", "https://a.example/app", "https://u@a.example", "https://*.a.example", "null"]
    {
        let output = run(&["serve", "--data-dir", at, "--listen", "127.0.0.1:0", "--allowed-origin", origin]);
        refused(&output, &format!("--allowed-origin {origin}: * or an origin"));
        assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1, "{output:?}");
    }
    refused(&run(&["serve", "--data-dir", at, "--listen", "127.0.0.1:0", "--contact-to", "nobody"]), "not an e-mail address");
    refused(&run(&["serve", "--data-dir", at, "--trusted-proxy", "10.0.0.0/33"]), "10.0.0.0/33");
    refused(&run(&["contact", "list", "--data-dir", at]), "there is no database in");
    assert!(!data.exists());

    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    refused(&run(&["serve", "--listen", "127.0.0.1:0", "--data-dir", file.join("x").to_str().unwrap()]), "data folder");
    refused(&run(&["user", "create", "--data-dir", at, "--email", "ada", "--password", PASSWORD]), "email");
    refused(&run(&["user", "create", "--data-dir", at, "--email", "a@b.example", "--password", "short"]), "password");
    assert!(!data.exists());
}

#[test]
fn a_newer_database_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().to_str().unwrap();
    assert_eq!(printed(&run(&["migrate", "status", "--data-dir", at])), "database 0, binary 1\n");
    assert_eq!(printed(&run(&["migrate", "up", "--data-dir", at])), "database 0 -> 1\n");
    assert_eq!(printed(&run(&["migrate", "status", "--data-dir", at])), "database 1, binary 1\n");
    let file = folder.path().join("tidings.db");
    rusqlite::Connection::open(&file).unwrap().pragma_update(None, "user_version", 99).unwrap();
    for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["migrate", "up"]] {
        refused(&run(&[command, &["--data-dir", at]].concat()), "run a newer tidings");
    }
    assert_eq!(printed(&run(&["migrate", "status", "--data-dir", at])), "database 99, binary 1\n");
}

#[tokio::test]
async fn the_log_tells_no_secret_address_and_no_query() {
    let folder = tempfile::tempdir().unwrap();
    let (data, log) = (folder.path().join("data"), folder.path().join("log"));
    let mut command = tidings(&["serve", "--listen", "127.0.0.1:0", "--log", "trace", "--data-dir", data.to_str().unwrap()]);
    let mut server = Server::logging(&mut command, std::fs::File::create(&log).unwrap().into());
    let (token, channel) = server.poster().await;
    let webhook = server.post(&channel.replace("channels", "webhooks"), &token, json!({ "webhook_name": "ci" })).await;
    let (feed, slug) = (webhook["feed_url"].as_str().unwrap(), webhook["webhook_slug"].as_str().unwrap());
    for status in ["success", "green"] {
        let body = json!({ "message": "confidential", "status": status }).to_string();
        let request = server.http.post(feed).header("content-type", "application/json").body(body);
        assert_eq!(request.send().await.unwrap().status().is_success(), status == "success");
        let query = format!("{feed}?username=ci&event_name=build&message=confidential&status={status}");
        assert_eq!(server.http.get(query).send().await.unwrap().status().is_success(), status == "success");
    }
    server.signal("TERM");
    assert_eq!(server.end().code(), Some(0));
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("shutting down"), "it is the log: {log}");
    for secret in [slug, "confidential", "event_name=", &token] {
        assert!(!log.contains(secret), "{secret} in {log}");
    }
}

#[tokio::test]
async fn one_data_folder_has_one_server() {
    let folder = tempfile::tempdir().unwrap();
    let _server = Server::start(folder.path(), &[]);
    let second = run(&["serve", "--listen", "127.0.0.1:0", "--data-dir", folder.path().to_str().unwrap()]);
    refused(&second, "another server is running");
}

#[tokio::test]
async fn an_account_made_beside_a_running_server_works_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    assert_eq!(server.log_in("root@x.example").await, None);
    let mut command = tidings(&["user", "create", "--email", "root@x.example", "--role", "superadmin", "--password-stdin"]);
    let mut process = command.arg("--data-dir").arg(folder.path()).stdin(Stdio::piped()).spawn().unwrap();
    process.stdin.take().unwrap().write_all(format!("{PASSWORD}\n").as_bytes()).unwrap();
    let output = process.wait_with_output().unwrap();
    assert!(printed(&output).contains("root@x.example  superadmin"));
    let token = server.log_in("root@x.example").await.expect("the account is there");
    // A superadmin may add users: an unknown organisation is what is missing, not the right.
    let nowhere = "/organisations/01900000-0000-7000-8000-000000000000/users";
    let (status, _) =
        server.call(Method::POST, nowhere, &token, json!({ "user_id": "01900000-0000-7000-8000-000000000000" })).await.unwrap();
    assert_eq!(status, 404);
    let twice =
        ["user", "create", "--email", "root@x.example", "--password", PASSWORD, "--data-dir", folder.path().to_str().unwrap()];
    refused(&run(&twice), "email already exists");
}

#[tokio::test]
async fn an_invitation_made_beside_a_running_server_needs_no_mail() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().to_str().unwrap();
    let link = |organisation: &str, email: &str, more: &[&str]| {
        let command = ["invite", "link", "--data-dir", at, "--organisation", organisation, "--email", email];
        run(&[&command, more].concat())
    };
    let nowhere = "01900000-0000-7000-8000-000000000000";
    refused(&link(nowhere, "new@x.example", &[]), "there is no database");
    let server = Server::start(folder.path(), &["--web-url", "http://web.example"]);
    server.post("/auth/register", "", json!({ "email": "ada@x.example", "password": PASSWORD })).await;
    let token = server.log_in("ada@x.example").await.unwrap();
    let organisation = server.post("/organisations", &token, json!({ "name": "Engines" })).await;
    let organisation = organisation["id"].as_str().unwrap();

    let web = ["--web-url", "http://web.example/"];
    let made = printed(&link(organisation, "New@x.example", &[&web[..], &["--role", "guest"]].concat()));
    let start = format!("http://web.example/accept_org_invitation?org_id={organisation}&invitation_token=");
    let invitation = made.trim_end().strip_prefix(&start).unwrap_or_else(|| panic!("{made}")).to_owned();
    assert_eq!(printed(&link(organisation, "new@x.example", &["--role", "5", web[0], web[1]])), made, "an open one is shown");
    assert!(printed(&link(organisation, "other@x.example", &[])).starts_with("http://127.0.0.1:8080/accept_org_invitation?"));
    let body = json!({ "token": invitation });
    let (status, reply) =
        server.call(Method::GET, &format!("/organisations/{organisation}/invites"), &token, json!({})).await.unwrap();
    assert_eq!((status, &reply["data"]["invitations"][1]["token"]), (200, &body["token"]));

    refused(&link(organisation, "new@x.example", &["--role", "admin"]), "already invited as guest");
    refused(&link(organisation, "ada@x.example", &[]), "already a member");
    refused(&link(organisation, "no address", &[]), "email");
    refused(&link(organisation, "third@x.example", &["--role", "king"]), "no such role");
    refused(&link(nowhere, "third@x.example", &[]), "Organisation not found");
    refused(&link("no-uuid", "third@x.example", &[]), "--organisation");
    refused(&link(organisation, "third@x.example", &["--web-url", "chat"]), "--web-url");

    let (status, reply) = server.accept(&body).await;
    assert_eq!((status, &reply["data"]["user"]["email"]), (200, &json!("new@x.example")), "{reply}");
}

#[tokio::test]
async fn a_reset_link_needs_no_mail_server() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().to_str().unwrap();
    let link = |email: &str| run(&["user", "reset-link", "--data-dir", at, "--email", email, "--web-url", "http://web.example"]);
    refused(&link("ada@x.example"), "there is no database");
    let server = Server::start(folder.path(), &[]);
    server.poster().await;
    refused(&link("grace@x.example"), "Account not found");
    refused(&link("no address"), "not an e-mail address");
    let printed = printed(&link(" Ada@x.example"));
    let token = printed.trim_end().strip_prefix("http://web.example/auth/reset-password?token=").expect("the link");
    let body = json!({ "token": token, "new_password": "a louder harbour" });
    server.post("/auth/password-reset/verify", "", body).await;
    assert!(server.log_in("ada@x.example").await.is_none());
    server.post("/auth/login", "", json!({ "email": "ada@x.example", "password": "a louder harbour" })).await;
}

#[tokio::test]
async fn an_account_is_disabled_enabled_and_given_a_role_beside_a_running_server() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().to_str().unwrap();
    let user = |verb: &str, more: &[&str]| run(&[&["user", verb, "--data-dir", at, "--email", "ada@x.example"], more].concat());
    let server = Server::start(folder.path(), &[]);
    refused(&user("disable", &[]), "Account not found");
    let (token, _) = server.poster().await;
    let profile = async || server.call(Method::GET, "/profile", &token, json!({})).await.unwrap();
    let until = async |wanted: fn(&(u16, Value)) -> bool| {
        let noticed = async { while !wanted(&profile().await) {} };
        tokio::time::timeout(Duration::from_secs(5), noticed).await.expect("the server notices within a second");
    };
    printed(&user("role", &["--role", "admin"]));
    let category = json!({ "name": "News" });
    let made = async || server.call(Method::POST, "/blog_categories", &token, category.clone()).await.unwrap().0;
    let noticed = async { while made().await != 201 {} };
    tokio::time::timeout(Duration::from_secs(5), noticed).await.expect("the server notices within a second");
    printed(&user("disable", &[]));
    until(|(status, _)| *status == 401).await;
    assert!(server.log_in("ada@x.example").await.is_none());
    refused(&user("reset-link", &[]), "disabled");
    printed(&user("enable", &[]));
    assert!(server.log_in("ada@x.example").await.is_some());
    assert_eq!(profile().await.0, 401, "what had ended stays ended");
}

#[tokio::test]
async fn a_flag_beats_the_environment_and_the_environment_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.toml");
    std::fs::write(&file, "base_url = \"http://file.example\"\nweb_url = \"http://file.example/api/v1\"\nallowed_origin = [\"http://a\", \"http://b\"]\n")
        .unwrap();
    let url_of = |flag: Option<&str>, variable: Option<&str>| {
        let mut command = tidings(&["serve", "--listen", "127.0.0.1:0", "--log", "error"]);
        command.arg("--config").arg(&file).arg("--data-dir").arg(folder.path().join("data"));
        command.args(flag.iter().flat_map(|url| ["--base-url", *url])).envs(variable.map(|url| ("TIDINGS_BASE_URL", url)));
        let server = Server::spawn(&mut command);
        server.url.clone()
    };
    assert_eq!(url_of(None, None), "http://file.example");
    assert_eq!(url_of(None, Some("http://variable.example")), "http://variable.example");
    assert_eq!(url_of(Some("http://flag.example"), Some("http://variable.example")), "http://flag.example");

    std::fs::write(&file, "colour = 1\n").unwrap();
    refused(&run(&["serve", "--config", file.to_str().unwrap()]), "colour: no such setting");
    refused(&run(&["serve", "--config", "/nowhere/at.all"]), "/nowhere/at.all");
}

#[test]
fn a_broken_settings_file_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.toml");
    for (text, line) in [("log = \"info\"\nweb_url = \n", 2), ("\n\nlog = \"info", 3), ("log = 1\nlog = 2\n", 2)] {
        std::fs::write(&file, text).unwrap();
        let output = run(&["serve", "--config", file.to_str().unwrap()]);
        refused(&output, &format!("the settings file {}: line {line}: ", file.display()));
        assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1, "{output:?}");
    }
}

#[tokio::test]
async fn a_flag_undoes_the_files_switch() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.toml");
    std::fs::write(&file, "require_verified_email = true\ntrusted_proxy = [\"10.0.0.0/8\", \"::1\"]\n").unwrap();
    for (name, settings, logs_in) in [
        ("unset", &[][..], false),
        ("undone", &["--require-verified-email=false"], true),
        ("bare", &["--require-verified-email"], false),
    ] {
        let settings = [settings, &["--config", file.to_str().unwrap()]].concat();
        let server = Server::start(&folder.path().join(name), &settings);
        server.post("/auth/register", "", json!({ "email": "ada@x.example", "password": PASSWORD })).await;
        assert_eq!(server.log_in("ada@x.example").await.is_some(), logs_in, "{name}");
    }
}

#[tokio::test]
async fn what_the_contact_form_took_in_is_listed_without_what_steers_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let at = folder.path().to_str().unwrap();
    assert_eq!(printed(&run(&["contact", "list", "--data-dir", at])), "");
    let first = json!({ "name": "Grace", "email": "grace@x.example", "phone_number": "+1", "message": "Hello" });
    let forged = "\u{1b}[2J<b>Does</b> it\n\n2026-01-01  Grace&#27;[31m<script>x</script>\u{202e}";
    let second = json!({ "name": "Ada\r\n\u{7}<i>L</i>", "email": "ada@x.example", "message": forged });
    for body in [first, second] {
        let (status, reply) = server.call(Method::POST, "/contact", "", body).await.unwrap();
        assert_eq!(status, 201, "{reply}");
    }
    let listed = printed(&run(&["contact", "list", "--data-dir", at]));
    let lines: Vec<&str> = listed.lines().collect();
    let [ada, does, blank, forged, _, grace, hello, _] = lines[..] else { panic!("{listed:?}") };
    assert!(ada.ends_with("Z  Ada L  ada@x.example"), "{listed:?}");
    assert_eq!([does, blank, forged], ["    [2JDoes it", "    ", "    2026-01-01  Grace[31m"]);
    assert!(grace.ends_with("Z  Grace  grace@x.example  +1") && hello == "    Hello", "{listed:?}");
    assert_eq!(printed(&run(&["contact", "list", "--limit", "1", "--data-dir", at])).lines().count(), 5);
}

/// Every message that was answered 201 is there after a kill, once.
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_loses_no_message_that_was_answered() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &[]);
    let (token, channel) = server.poster().await;
    let messages = format!("{channel}/messages");
    let mut posters = tokio::task::JoinSet::new();
    let (answered, mut answers) = tokio::sync::mpsc::unbounded_channel();
    for poster in 0..32 {
        let (url, token, http, answered) =
            (format!("{}/api/v1{messages}", server.url), token.clone(), server.http.clone(), answered.clone());
        posters.spawn(async move {
            for n in 0.. {
                let content = format!("{poster} {n}");
                let request = http.post(&url).bearer_auth(&token).json(&json!({ "content": content }));
                match request.send().await {
                    Ok(reply) if reply.status() == 201 => _ = answered.send(content),
                    Ok(reply) => panic!("{}", reply.status()),
                    Err(_) => return, // killed
                }
            }
        });
    }
    drop(answered);
    let mut counts: HashMap<String, u32> = HashMap::new();
    while counts.len() < 500 {
        counts.insert(answers.recv().await.unwrap(), 0);
    }
    server.signal("KILL");
    server.end();
    while let Some(content) = answers.recv().await {
        counts.insert(content, 0);
    }
    posters.join_all().await;

    let server = Server::start(folder.path(), &[]);
    let mut before = String::new();
    loop {
        let (status, page) = server.call(Method::GET, &format!("{messages}?limit=200{before}"), &token, json!({})).await.unwrap();
        assert_eq!(status, 200, "{page}");
        let page = page["messages"].as_array().unwrap();
        let Some(last) = page.last() else { break };
        before = format!("&before={}", last["id"].as_str().unwrap());
        for message in page {
            *counts.entry(message["content"].as_str().unwrap().to_owned()).or_insert(0) += 1;
        }
    }
    let wrong: Vec<_> = counts.iter().filter(|(_, times)| **times != 1).collect();
    assert!(wrong.is_empty(), "of {} messages: {wrong:?}", counts.len());
}

/// A mail whose server is killed after the answer still leaves after the restart.
#[tokio::test]
async fn a_kill_loses_no_mail() {
    let folder = tempfile::tempdir().unwrap();
    let mails = folder.path().join("mails");
    let mut server = Server::start(&folder.path().join("data"), &["--mail-url", "smtp://127.0.0.1:1"]);
    server.post("/auth/register", "", json!({ "email": "ada@x.example", "password": PASSWORD })).await;
    server.signal("KILL");
    server.end();
    let _server = Server::start(&folder.path().join("data"), &["--mail-url", &format!("file://{}", mails.display())]);
    let started = Instant::now();
    let mail = loop {
        assert!(started.elapsed() < Duration::from_secs(150), "no mail");
        let found = std::fs::read_dir(&mails).unwrap().map(|entry| entry.unwrap().path());
        if let Some(path) = found.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "eml")) {
            break std::fs::read_to_string(path).unwrap();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert!(mail.contains("To: ada@x.example") && mail.contains("/auth/verify-email?token=3D"), "{mail}");
}

#[test]
fn the_binary_is_static() {
    let elf = std::fs::read(BINARY).unwrap();
    assert_eq!(&elf[..5], b"\x7fELF\x02", "a 64-bit ELF file");
    let number = |at: usize, bytes: usize| elf[at..at + bytes].iter().rev().fold(0_usize, |n, byte| n << 8 | usize::from(*byte));
    let (headers, size, count) = (number(32, 8), number(54, 2), number(56, 2));
    let kinds: Vec<usize> = (0..count).map(|n| number(headers + n * size, 4)).collect();
    const PT_INTERP: usize = 3;
    assert!(!kinds.contains(&PT_INTERP), "it asks for a dynamic loader");
}

#[test]
fn the_installer_puts_the_binary_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/install.sh");
    let prefix = folder.path().join("usr");
    let install = |more: &[&str]| {
        let mut command = Command::new("sh");
        command.arg(script).arg("--prefix").arg(&prefix).args(more);
        command.output().unwrap()
    };
    printed(&install(&["--binary", BINARY, "--service"]));
    let installed = prefix.join("bin/tidings");
    let version = Command::new(&installed).arg("version").output().unwrap();
    assert_eq!(printed(&version), concat!("tidings ", env!("CARGO_PKG_VERSION"), "\n"));
    let unit = std::fs::read_to_string(prefix.join("lib/systemd/system/tidings.service")).unwrap();
    assert!(unit.contains(&format!("ExecStart={} serve", installed.display())), "{unit}");
    refused(&install(&["--binary", "/nowhere/tidings"]), "/nowhere/tidings");
    refused(&install(&["--nonsense"]), "--nonsense");
}

#[test]
fn the_document_is_printed() {
    let document: Value = serde_json::from_str(&printed(&run(&["openapi"]))).unwrap();
    assert_eq!(document["openapi"], "3.0.0");
    assert!(document["paths"]["/channels/{channel_id}/messages"]["post"].is_object());
    assert_eq!(printed(&run(&["version"])), printed(&run(&["--version"])));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut process = tidings(&["openapi"]).spawn().unwrap();
    drop(process.stdout.take()); // before anything is printed, mostly; the document is larger than a pipe
    let output = process.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}
