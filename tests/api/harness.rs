//! A server for each test: a temporary folder, a real database, the real application on a free port;
//! and clients with an identity. Nothing of ours is mocked.

// Named by its path, because other test binaries name this file by its own.
#[path = "reply.rs"]
mod reply;

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tidings::{
    clock::Clock,
    config::{Settings, Switch},
    db::{self, KeyFile, Tx},
    error::Result,
    secret::Keys,
    site::Site,
    time::Time,
    wiring,
};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};
use uuid::Uuid;

pub use self::reply::Reply;

pub const DAY: Duration = Duration::from_secs(24 * 3600);
pub const PASSWORD: &str = "correct horse battery";

pub struct Server {
    /// `http://127.0.0.1:PORT`
    pub origin: String,
    /// The time as the server tells it: a test advances it instead of waiting.
    pub clock: Clock,
    folder: TempDir,
    settings: Settings,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<Result<()>>,
}

impl Server {
    pub async fn start() -> Server {
        Server::with(|_| {}).await
    }

    /// A server with other settings than the tests' usual ones.
    pub async fn with(change: impl FnOnce(&mut Settings)) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = Server::usual(folder.path());
        change(&mut settings);
        Server::serve(folder, settings, "127.0.0.1:0", Clock::default()).await
    }

    fn usual(folder: &Path) -> Settings {
        let mut settings = Settings::for_folder(folder);
        settings.mail.mail_url = format!("file://{}", folder.join("mail").display());
        settings.rate_limit = Switch::Off;
        settings
    }

    async fn serve(folder: TempDir, settings: Settings, address: &str, clock: Clock) -> Server {
        _ = rustls::crypto::ring::default_provider().install_default(); // the tests' own client asks for one
        let listener = TcpListener::bind(address).await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel();
        let app = wiring::open(&settings, listener.local_addr().unwrap(), clock.clone()).unwrap();
        let serving = tokio::spawn(wiring::run(app, listener, async {
            stopped.await.ok();
        }));
        Server { origin, clock, folder, settings, stop, serving }
    }

    /// Asks the server to end and waits until it has.
    pub async fn stop(self) {
        self.end().await;
    }

    /// Ends the server and starts another on the same folder and address; its clock goes on.
    pub async fn restart(self) -> Server {
        let address = self.origin.trim_start_matches("http://").to_owned();
        let clock = self.clock.clone();
        let (folder, settings) = self.end().await;
        Server::serve(folder, settings, &address, clock).await
    }

    async fn end(self) -> (TempDir, Settings) {
        self.stop.send(()).unwrap();
        self.serving.await.unwrap().unwrap();
        (self.folder, self.settings)
    }

    /// Ends the server and keeps its folder, for copies.
    pub async fn end_and_keep(self) -> TempDir {
        self.end().await.0
    }

    /// A server on an ended server's folder.
    pub async fn on_folder(folder: TempDir, change: impl FnOnce(&mut Settings)) -> Server {
        let mut settings = Server::usual(folder.path());
        change(&mut settings);
        Server::serve(folder, settings, "127.0.0.1:0", Clock::default()).await
    }

    /// A server on a copy of an ended server's folder; the original's records and tokens are valid here.
    pub async fn on_copy_of(original: &Path, change: impl FnOnce(&mut Settings)) -> Server {
        let folder = tempfile::tempdir().unwrap();
        for file in ["tidings.db", "secret.key"] {
            std::fs::copy(original.join(file), folder.path().join(file)).unwrap();
        }
        let mut settings = Server::usual(folder.path());
        change(&mut settings);
        Server::serve(folder, settings, "127.0.0.1:0", Clock::default()).await
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn anonymous(&self) -> Client {
        Client {
            origin: self.origin.clone(),
            http: plain_http(),
            token: None,
            notification_token: String::new(),
            user_id: String::new(),
            email: String::new(),
        }
    }

    /// Registers `name` (`name@example.org`) and logs in.
    pub async fn user(&self, name: &str) -> Client {
        self.register(name).await;
        self.log_in(name, PASSWORD).await
    }

    pub async fn register(&self, name: &str) {
        let body = json!({ "email": email(name), "password": PASSWORD, "username": name });
        self.anonymous().post("/auth/register", body).await.expect(201);
    }

    pub async fn log_in(&self, name: &str, password: &str) -> Client {
        let body = json!({ "email": email(name), "password": password });
        let reply = self.anonymous().post("/auth/login", body).await;
        self.anonymous().with_session(&reply.data(200, "Login successful"))
    }

    /// An account with a role on the whole server, as `tidings user create --role` makes it.
    pub async fn superadmin(&self, name: &str) -> Client {
        self.register(name).await;
        self.sql(&format!("update users set role = 'superadmin' where username = '{name}'"));
        self.log_in(name, PASSWORD).await
    }

    /// `owner` invites `name`, who accepts.
    pub async fn member(&self, owner: &Client, organisation: &str, name: &str, role: &str) -> Client {
        let member = self.user(name).await;
        let token = owner.invite(organisation, &member.email, role).await;
        member.post("/invite/verify", json!({ "token": token })).await.expect(200);
        member
    }

    /// The usual scene: Ada owns an organisation, Grace is a member of it.
    pub async fn ada_and_grace(&self) -> (Client, Client, String) {
        let ada = self.user("ada").await;
        let organisation = ada.organisation("Engines").await;
        let grace = self.member(&ada, &organisation, "grace", "member").await;
        (ada, grace, organisation)
    }

    /// Changes the database as another process would, for states that no endpoint makes (yet).
    #[track_caller]
    pub fn sql(&self, statement: &str) {
        let database = rusqlite::Connection::open(self.folder().join("tidings.db")).unwrap();
        database.busy_timeout(Duration::from_secs(5)).unwrap();
        assert!(database.execute(statement, []).unwrap() > 0, "it changed nothing: {statement}");
    }

    /// One write transaction as another process has it, by the rules: states that a command makes beside the server.
    pub fn write<T>(&self, f: impl FnOnce(&mut Tx) -> Result<T>) -> Result<T> {
        db::write_once(self.folder(), &site(self.folder()), self.clock.now(), f)
    }

    /// The rows of a table.
    pub fn count(&self, table: &str) -> i64 {
        self.number(&format!("select count(*) from {table}"))
    }

    /// A number from the database.
    #[track_caller]
    pub fn number(&self, query: &str) -> i64 {
        let database = rusqlite::Connection::open(self.folder().join("tidings.db")).unwrap();
        database.query_row(query, [], |row| row.get(0)).unwrap()
    }

    /// Waits until what changes have left for later is done, and told.
    pub async fn chores_done(&self) {
        let until = Instant::now() + Duration::from_secs(30);
        while self.count("chores") > 0 {
            assert!(Instant::now() < until, "the chores are not done");
            self.anonymous().get("/blogs").await.expect(200);
        }
    }

    /// Whether the text stands in the database or its log.
    pub fn stores(&self, text: &str) -> bool {
        let files = ["tidings.db", "tidings.db-wal"].map(|file| std::fs::read(self.folder().join(file)).unwrap());
        files.iter().any(|file| file.windows(text.len()).any(|window| window == text.as_bytes()))
    }

    /// Signs a token for the push endpoint with this server's own key.
    pub fn push_token(&self, claims: &Value) -> String {
        keys(self.folder()).push.sign(claims).unwrap()
    }
}

/// What the rules know of a server on this folder that has the default settings.
pub fn site(folder: &Path) -> Site {
    Site::new(&Settings::for_folder(folder), keys(folder), ("http://127.0.0.1".into(), "http://127.0.0.1".into()))
}

fn keys(folder: &Path) -> Keys {
    KeyFile::open(folder, Time::now()).unwrap().keys()
}

/// The database of a folder, without a server.
pub fn database(folder: &Path, after_commit: db::AfterCommit) -> db::Db {
    db::Db::open(folder, Arc::new(site(folder)), Clock::default(), after_commit).unwrap()
}

/// A client of HTTP without TLS: it reads no certificates, which takes longer than most requests.
pub fn plain_http() -> reqwest::Client {
    reqwest::Client::builder().tls_certs_only([]).build().unwrap()
}

pub fn email(name: &str) -> String {
    format!("{name}@example.org")
}

/// An identifier that names nothing.
pub fn unknown_id() -> String {
    Uuid::now_v7().to_string()
}

/// Any text as a part of a path or a query.
pub fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// A UUID as a literal of SQLite.
pub fn blob(id: &str) -> String {
    format!("x'{}'", id.replace('-', ""))
}

#[derive(Clone)]
pub struct Client {
    pub origin: String,
    pub http: reqwest::Client,
    pub token: Option<String>,
    pub notification_token: String,
    pub user_id: String,
    pub email: String,
}

impl Client {
    /// The same client with the session that a log-in answered.
    pub fn with_session(self, data: &Value) -> Client {
        Client {
            token: Some(text(&data["access_token"])),
            notification_token: text(&data["notification_token"]),
            user_id: text(&data["user"]["id"]),
            email: text(&data["user"]["email"]),
            ..self
        }
    }

    pub fn with_token(&self, token: &str) -> Client {
        Client { token: Some(token.into()), ..self.clone() }
    }

    /// The session's id, from the access token.
    pub fn session_id(&self) -> String {
        use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
        let claims = self.token.as_ref().unwrap().split('.').nth(1).unwrap();
        let claims: Value = serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap();
        text(&claims["sid"])
    }

    /// The name of the client's own stream in an organisation.
    pub fn personal(&self, organisation: &str) -> String {
        format!("{organisation}/{}", self.user_id)
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.call("GET", path, None).await
    }
    pub async fn post(&self, path: &str, body: Value) -> Reply {
        self.call("POST", path, Some(body)).await
    }
    pub async fn put(&self, path: &str, body: Value) -> Reply {
        self.call("PUT", path, Some(body)).await
    }
    pub async fn patch(&self, path: &str, body: Value) -> Reply {
        self.call("PATCH", path, Some(body)).await
    }
    pub async fn delete(&self, path: &str) -> Reply {
        self.call("DELETE", path, None).await
    }

    /// Calls an operation, with a JSON body or without a body.
    pub async fn call(&self, method: &str, path: &str, body: Option<Value>) -> Reply {
        let mut request = self.request(method, &format!("/api/v1{path}"));
        if let Some(body) = &body {
            request = request.json(body);
        }
        let sent = body.map_or_else(String::new, |body| body.to_string());
        Reply::of(request, &format!("{method} {path}"), &sent).await
    }

    /// Calls an operation with this text as the body, declared to be JSON.
    pub async fn call_text(&self, method: &str, path: &str, body: &str) -> Reply {
        let request = self.request(method, &format!("/api/v1{path}")).header("content-type", "application/json");
        Reply::of(request.body(body.to_owned()), &format!("{method} {path}"), body).await
    }

    /// A request for the caller to finish; `path` is the whole path.
    pub fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let request = self.http.request(Method::from_bytes(method.as_bytes()).unwrap(), format!("{}{path}", self.origin));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }
}

/// Steps that many tests take, each through the API.
impl Client {
    pub async fn organisation(&self, name: &str) -> String {
        text(&self.post("/organisations", json!({ "name": name })).await.expect(201)["data"]["id"])
    }

    /// Invites an address; gives the token that the inviter is shown.
    pub async fn invite(&self, organisation: &str, email: &str, role: &str) -> String {
        let body = json!({ "org_id": organisation, "emails": [email], "role": role });
        let data = self.post("/invite", body).await.data(201, "Invitations created successfully");
        assert_eq!(data["errors"], json!([]));
        text(&data["invitations"][0]["invite_token"])
    }

    /// A public channel with these other members.
    pub async fn channel(&self, organisation: &str, name: &str, others: &[&Client]) -> String {
        self.channel_with(json!({ "organisation_id": organisation, "name": name, "userIds": ids(others) })).await
    }

    pub async fn private_channel(&self, organisation: &str, name: &str, others: &[&Client]) -> String {
        let body = json!({ "organisation_id": organisation, "name": name, "userIds": ids(others), "is_private": true });
        self.channel_with(body).await
    }

    async fn channel_with(&self, body: Value) -> String {
        text(&self.post("/channels", body).await.expect(201)["data"]["id"])
    }

    /// The channel that the organisation began with.
    pub async fn general(&self, organisation: &str) -> String {
        let body = self.get(&format!("/organisations/{organisation}/channels")).await.expect(200);
        let channels = body["channels"].as_array().unwrap();
        text(&channels.iter().find(|channel| channel["name"] == "general").expect("a channel `general`")["channels_id"])
    }

    /// Posts a top-level message; gives its id.
    pub async fn say(&self, channel: &str, content: &str) -> String {
        let reply = self.post(&format!("/channels/{channel}/messages"), json!({ "content": content })).await;
        text(&reply.expect(201)["data"]["id"])
    }

    /// Replies in a thread; gives the reply's id.
    pub async fn reply(&self, channel: &str, thread: &str, content: &str) -> String {
        let body = json!({ "content": content, "thread_id": thread });
        text(&self.post(&format!("/channels/{channel}/messages"), body).await.expect(201)["data"]["id"])
    }

    /// Makes a webhook; gives it as it was answered.
    pub async fn webhook(&self, channel: &str, name: &str) -> Value {
        let reply = self.post(&format!("/webhooks/{channel}"), json!({ "webhook_name": name })).await;
        reply.data(201, "Webhook created successfully")
    }

    pub async fn subscription_token(&self, channel: &str) -> String {
        let reply = self.post("/token/subscription", json!({ "channel": channel })).await;
        text(&reply.data(200, "Subscription token generated successfully")["token"])
    }

    pub async fn connection_token(&self) -> String {
        text(&self.get("/token/connection").await.data(200, "Connection token retrieved successfully")["token"])
    }
}

fn ids(clients: &[&Client]) -> Vec<String> {
    clients.iter().map(|client| client.user_id.clone()).collect()
}

#[track_caller]
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("not a string: {value}")).to_owned()
}
