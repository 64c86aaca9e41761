//! The log: what it tells of each request, what it never tells, its two forms, and SIGHUP.

use std::{
    fs::{self, File},
    path::Path,
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use futures_util::{SinkExt, StreamExt};
use reqwest::Method;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::{
    harness::{PASSWORD, Server, printed, refused, run, tidings},
    mail_server::MailServer,
};

/// A server in a folder, and the path of its log.
fn start(folder: &Path, settings: &[&str]) -> Server {
    let data = folder.join("data");
    let mut command = tidings(&["serve", "--listen", "127.0.0.1:0", "--data-dir", data.to_str().unwrap()]);
    command.args(settings);
    Server::logging(&mut command, File::create(folder.join("log")).unwrap().into())
}

/// Waits for a line of the log. A file tells nobody that a line was added, so this looks again every few milliseconds.
async fn logged(folder: &Path, line: &str) -> String {
    let mut look = tokio::time::interval(Duration::from_millis(5));
    let found = async {
        loop {
            look.tick().await;
            let log = fs::read_to_string(folder.join("log")).unwrap();
            if log.contains(line) {
                return log;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), found).await.unwrap_or_else(|_| panic!("no {line:?} in the log"))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Registers, verifies, logs in by a link and resets the password. Returns the access token, and all that is secret.
async fn account(server: &Server, mails: &mut MailServer) -> (String, Vec<String>) {
    let (email, fresh) = ("ada@x.example", "a louder harbour at noon");
    server.post("/auth/register", "", json!({ "email": email, "password": PASSWORD })).await;
    let verification = mails.token().await;
    let (first, body) = (server.log_in(email).await.unwrap(), json!({ "token": verification }));
    server.call(Method::POST, "/auth/email-request/verify", &first, body).await.unwrap();
    server.call(Method::POST, "/auth/magic-link", "", json!({ "email": email })).await.unwrap();
    let magic = mails.token().await;
    let entered = server.post("/auth/magic-link/verify", "", json!({ "token": magic })).await;
    server.call(Method::POST, "/auth/password-reset", "", json!({ "email": email })).await.unwrap();
    let reset = mails.token().await;
    let body = json!({ "token": reset, "new_password": fresh });
    server.call(Method::POST, "/auth/password-reset/verify", "", body).await.unwrap();
    for page in ["auth/login/magic-link", "auth/reset-password", "auth/verify-email"] {
        let url = format!("{}/{page}?token={magic}", server.url);
        assert!(server.http.get(url).send().await.unwrap().status().is_success());
    }
    let body = json!({ "email": email, "password": fresh });
    let token = text(&server.post("/auth/login", "", body).await["access_token"]);
    let secrets = vec![verification, first, magic, text(&entered["access_token"]), reset, fresh.into(), token.clone()];
    (token, secrets)
}

/// Feeds a webhook by its secret address, well and badly. Returns what is secret.
async fn feed(server: &Server, token: &str, channel: &str) -> Vec<String> {
    let webhook = server.post(&channel.replace("channels", "webhooks"), token, json!({ "webhook_name": "ci" })).await;
    let (feed, slug) = (text(&webhook["feed_url"]), text(&webhook["webhook_slug"]));
    for status in ["success", "no-such-status"] {
        let query = format!("{feed}?username=ci&event_name=hidden-event&message=hidden-query&status={status}");
        server.http.get(query).send().await.unwrap();
        server.http.post(&feed).json(&json!({ "message": "hidden-feed", "status": status })).send().await.unwrap();
    }
    server.http.put(&feed).send().await.unwrap(); // 405
    server.http.get(format!("{feed}/x")).send().await.unwrap(); // 404
    vec![slug, "hidden".into(), "event_name".into()]
}

/// Connects to live push in each of its ways, and calls its server API. Returns what is secret.
async fn listen(server: &Server, token: &str, channel: &str) -> Vec<String> {
    let push = text(&server.call(Method::GET, "/token/connection", token, json!({})).await.unwrap().1["data"]["token"]);
    let socket = format!("{}/connection/websocket", server.url.replacen("http", "ws", 1));
    let (mut socket, _) = tokio_tungstenite::connect_async(socket).await.unwrap();
    for command in [
        json!({ "id": 1, "connect": { "token": push } }),
        json!({ "id": 2, "subscribe": { "channel": channel.trim_start_matches("/channels/"), "token": "hidden-token" } }),
    ] {
        socket.send(Message::text(command.to_string())).await.unwrap();
        socket.next().await.unwrap().unwrap();
    }
    let connect = json!({ "token": push }).to_string();
    let listener = url::Url::parse_with_params(&format!("{}/connection/uni_sse", server.url), [("cf_connect", &connect)]);
    assert!(server.http.get(listener.unwrap()).send().await.unwrap().status().is_success());
    let publish = server.http.post(format!("{}/api/publish", server.url)).header("x-api-key", KEY);
    let publish = publish.json(&json!({ "channel": "x", "data": { "text": "hidden-publication" } }));
    assert!(publish.send().await.unwrap().status().is_success());
    let metrics = server.http.get(format!("{}/metrics", server.url)).bearer_auth(METRICS);
    assert!(metrics.send().await.unwrap().status().is_success());
    vec![push, "cf_connect".into()]
}

const KEY: &str = "key-of-the-server-api";
const METRICS: &str = "token-of-the-metrics";
const MAIL_PASSWORD: &str = "password-of-the-mails";

#[tokio::test]
async fn a_whole_run_at_trace_tells_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let mut mails = MailServer::start().await;
    let url = format!("smtp://tidings:{MAIL_PASSWORD}@{}?tls=none", mails.address);
    let settings = ["--log", "trace", "--mail-url", &url, "--push-api-key", KEY, "--metrics-token", METRICS];
    let mut server = start(folder.path(), &settings);
    let (token, mut secrets) = account(&server, &mut mails).await;
    let organisation = server.post("/organisations", &token, json!({ "name": "Engines" })).await;
    let channel = json!({ "name": "dev", "organisation_id": organisation["id"] });
    let channel = format!("/channels/{}", text(&server.post("/channels", &token, channel).await["id"]));
    server.post(&format!("{channel}/messages"), &token, json!({ "content": "hidden-post" })).await;
    let path = format!("/organisations/{}/users?search=hidden-search", text(&organisation["id"]));
    server.call(Method::GET, &path, &token, json!({})).await.unwrap();
    secrets.extend(feed(&server, &token, &channel).await);
    secrets.extend(listen(&server, &token, &channel).await);
    let body = json!({ "org_id": organisation["id"], "emails": ["grace@x.example"] });
    server.call(Method::POST, "/invite", &token, body).await.unwrap();
    secrets.push(mails.token().await);
    server.signal("TERM");
    assert_eq!(server.end().code(), Some(0));

    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(
        log.contains("path=\"createMessage\"") && log.contains("path=\"feedWebhookByQuery\""),
        "it tells of the requests: {log}"
    );
    secrets.extend([PASSWORD, KEY, METRICS, MAIL_PASSWORD].map(String::from));
    secrets.push(BASE64_STANDARD.encode(format!("\0tidings\0{MAIL_PASSWORD}")));
    secrets.push(fs::read_to_string(folder.path().join("data/secret.key")).unwrap());
    for secret in secrets {
        assert!(secret.len() > 5 && !log.contains(&secret), "{secret} in {log}");
        let bytes = secret.bytes().map(|byte| byte.to_string()).collect::<Vec<_>>().join(", ");
        assert!(!log.contains(&bytes), "the bytes of {secret} in {log}");
    }
}

#[tokio::test]
async fn a_request_is_one_line_at_debug_and_none_at_info() {
    for (level, lines) in [("info", 0), ("debug", 1)] {
        let folder = tempfile::tempdir().unwrap();
        let mut server = start(folder.path(), &["--log", level, "--log-format", "json"]);
        let url = format!("{}/api/v1/blogs/01a2e6d1-0000-7000-8000-000000000001?page=hidden", server.url);
        let reply = server.http.get(url).send().await.unwrap();
        let id = reply.headers()["x-request-id"].to_str().unwrap().to_owned();
        server.signal("TERM");
        assert_eq!(server.end().code(), Some(0));
        let log = fs::read_to_string(folder.path().join("log")).unwrap();
        let told: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(told.iter().any(|line| line["message"] == "shutting down" && line["level"] == "INFO"), "{log}");
        let requests: Vec<_> = told.iter().filter(|line| line["request"] == id.as_str()).collect();
        assert_eq!(requests.len(), lines, "{log}");
        for line in requests {
            assert_eq!((&line["method"], &line["path"], &line["status"]), (&json!("GET"), &json!("getBlog"), &json!(404)));
            assert!(line["ms"].as_f64().unwrap() > 0.0 && line["timestamp"].is_string(), "{line}");
        }
    }
}

#[tokio::test]
async fn a_failure_is_logged_with_the_identifier_of_its_request() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &["--log", "error"]);
    let database = rusqlite::Connection::open(folder.path().join("data/tidings.db")).unwrap();
    database.execute_batch("alter table blogs rename to blogs_elsewhere").unwrap();
    let reply = server.http.get(format!("{}/api/v1/blogs", server.url)).send().await.unwrap();
    let id = reply.headers()["x-request-id"].to_str().unwrap().to_owned();
    assert_eq!((reply.status().as_u16(), reply.text().await.unwrap().contains("elsewhere")), (500, false));
    let log = logged(folder.path(), &id).await;
    assert!(log.contains("no such table: blogs") && log.lines().count() == 1, "{log}");
}

#[tokio::test]
async fn a_hangup_applies_the_filter_and_names_what_needs_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.toml");
    let (config, common) = (file.to_str().unwrap(), "rate_limit = \"off\"\n");
    fs::write(&file, format!("{common}log = \"info\"\n")).unwrap();
    let mut server = start(folder.path(), &["--config", config]);
    let get = async || drop(server.http.get(format!("{}/api/v1/blogs", server.url)).send().await.unwrap());
    get().await;
    fs::write(&file, format!("{common}log = \"info,tidings=debug\"\npurge_days = 7\nmetrics_token = \"hidden-metrics-token\"\n"))
        .unwrap();
    server.signal("HUP");
    let log = logged(folder.path(), "need a restart").await;
    assert!(!log.contains("listBlogs"), "{log}");
    let line = log.lines().find(|line| line.contains("need a restart")).unwrap();
    assert!(line.contains("settings=\"purge_days, metrics_token\"") && !log.contains("hidden"), "{log}");
    get().await;
    logged(folder.path(), "listBlogs").await;

    // What can't be read changes nothing.
    for broken in ["log = \"a=b=c\"\n", "log = \"warning\"\n", "colour = 1\n", "log = \n", "purge_days = \"never\"\n"] {
        fs::write(&file, broken).unwrap();
        fs::write(folder.path().join("log"), "").unwrap();
        server.signal("HUP");
        logged(folder.path(), "stay as they are").await;
        get().await;
        logged(folder.path(), "listBlogs").await;
    }
    server.signal("TERM");
    assert_eq!(server.end().code(), Some(0));
}

#[test]
fn a_misspelled_level_is_refused_with_the_levels_wherever_it_stands() {
    const LEVELS: &str = "expected error, warn, info, debug, trace or off, or a filter such as info,tidings=debug";
    let folder = tempfile::tempdir().unwrap();
    let (file, data) = (folder.path().join("settings.toml"), folder.path().join("data"));
    let serve = ["serve", "--listen", "127.0.0.1:0", "--data-dir", data.to_str().unwrap()];
    for wrong in ["warning", "informational", "", "info,verbose", "tidings", "tidings=warning", "a=b=c"] {
        let says = format!("--log {wrong}: {LEVELS}");
        refused(&run(&["config", "check", "--log", wrong]), &says);
        refused(&run(&[&serve[..], &["--log", wrong]].concat()), &says);
    }
    let says = format!("--log warning: {LEVELS}");
    fs::write(&file, "log = \"warning\"\n").unwrap();
    for command in [&["config", "check"][..], &serve] {
        refused(&tidings(command).env("TIDINGS_LOG", "warning").output().unwrap(), &says);
        refused(&run(&[command, &["--config", file.to_str().unwrap()]].concat()), &says);
    }
    assert!(!data.exists());
    for right in ["error", "warn", "info", "debug", "trace", "off", "WARN", "tidings=debug,hyper=warn", "info,tidings=debug"] {
        printed(&run(&["config", "check", "--log", right]));
    }
}

#[tokio::test]
async fn the_log_of_an_unreachable_mail_server_names_no_line_of_the_source() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &["--mail-url", "smtp://127.0.0.1:1?tls=none"]);
    server.post("/auth/register", "", json!({ "email": "ada@x.example", "password": PASSWORD })).await;
    let (status, _) = server.call(Method::POST, "/auth/magic-link", "", json!({ "email": "ada@x.example" })).await.unwrap();
    assert_eq!(status, 500);
    logged(folder.path(), "a mail could not be sent").await;
    let log = logged(folder.path(), "the mail server can't be reached").await;
    assert!(log.contains("Connection refused") && !log.contains("src/"), "{log}");
}
