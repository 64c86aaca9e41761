//! A server for each test: a temporary folder, a real database, the real application on a free port. Nothing of ours is mocked.

// Named by its path, because other test binaries name this file by its own.
#[path = "client.rs"]
mod client;

use std::{
    path::Path,
    sync::{Arc, LazyLock},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tidings::{
    clock::Clock,
    config::{Settings, Switch},
    db::{self, KeyFile, Tx},
    domain::accounts::{
        self, New, registration,
        sessions::{self, Device},
    },
    error::Result,
    event::Effect,
    limits::byte_quotas::ByteQuotas,
    secret::{self, Keys},
    site::Site,
    state::App,
    time::Time,
    wiring,
};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};
use uuid::Uuid;

pub use self::client::*;

pub const DAY: Duration = Duration::from_secs(24 * 3600);
pub const PASSWORD: &str = "correct horse battery";

pub struct Server {
    /// `http://127.0.0.1:PORT`
    pub origin: String,
    /// The time as the server tells it: a test advances it instead of waiting.
    pub clock: Clock,
    folder: TempDir,
    settings: Settings,
    app: App,
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

    pub fn app(&self) -> &App {
        &self.app
    }

    fn usual(folder: &Path) -> Settings {
        let mut settings = Settings::for_folder(folder);
        settings.mail.mail_url = format!("file://{}", folder.join("mail").display());
        settings.rate_limit = Switch::Off;
        settings
    }

    async fn serve(folder: TempDir, settings: Settings, address: &str, clock: Clock) -> Server {
        _ = rustls::crypto::ring::default_provider().install_default(); // the tests' own client asks for one
        tidings::pictures::run_by(Path::new(env!("CARGO_BIN_EXE_tidings")));
        let listener = TcpListener::bind(address).await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel();
        let app = wiring::open(&settings, listener.local_addr().unwrap(), clock.clone()).unwrap();
        let serving = tokio::spawn(wiring::run(app.clone(), listener, async {
            stopped.await.ok();
        }));
        Server { origin, clock, folder, settings, app, stop, serving }
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
        drop(self.app); // it holds the folder
        self.stop.send(()).unwrap();
        self.serving.await.unwrap().unwrap();
        // A request's last task may hold the folder a moment longer, and so may a process that another test starts.
        let lock = std::fs::File::open(self.folder.path().join("tidings.lock")).unwrap();
        tokio::task::spawn_blocking(move || lock.lock().and_then(|()| lock.unlock())).await.unwrap().unwrap();
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
        copy_files(&original.join("files"), &folder.path().join("files"));
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
            headers: Vec::new(),
        }
    }

    /// Registers `name` (`name@example.org`) and begins a session.
    pub async fn user(&self, name: &str) -> Client {
        self.register(name).await;
        self.session(name).await
    }

    /// Registers `name` by the rules, with a password that is hashed once: hashing took two fifths of the tests' time.
    pub async fn register(&self, name: &str) {
        static HASH: LazyLock<String> = LazyLock::new(|| secret::hash_password(PASSWORD).unwrap());
        let new = New::check(&email(name), Some(name), "", "").unwrap();
        let register = move |tx: &mut Tx| {
            let user = registration::register(tx, &new, &HASH)?;
            // Somebody goes on with it, whatever the clock does.
            tx.execute("delete from unfinished_accounts where user_id = ?1", [user])?;
            Ok(())
        };
        self.app.db.write(register).await.unwrap();
    }

    /// Begins a session as a log-in does.
    async fn session(&self, name: &str) -> Client {
        let (email, device) = (email(name), Device { user_agent: String::new(), address: "127.0.0.1".into() });
        let start = move |tx: &mut Tx| sessions::start(tx, accounts::find_by_email(tx, &email)?.unwrap(), &device);
        let started = self.app.db.write(start).await.unwrap();
        Client {
            token: Some(started.access_token),
            notification_token: started.notification_token,
            user_id: started.user.id.to_string(),
            email: started.user.email,
            ..self.anonymous()
        }
    }

    pub async fn log_in(&self, name: &str, password: &str) -> Client {
        let body = json!({ "email": email(name), "password": password });
        let reply = self.anonymous().post("/auth/login", body).await;
        self.anonymous().with_session(&reply.data(200, "Login successful"))
    }

    /// The answer to a log-in that asks for a cookie, from a page of this server.
    pub async fn log_in_by_cookie(&self, name: &str) -> Reply {
        let body = json!({ "email": email(name), "password": PASSWORD, "cookie": true });
        self.anonymous().own_page().post("/auth/login", body).await
    }

    /// Registers `name` and logs in with a browser, at a page of this server.
    pub async fn browser(&self, name: &str) -> Client {
        self.register(name).await;
        let reply = self.log_in_by_cookie(name).await;
        let browser = self.anonymous().with_cookies(&reply);
        let user = reply.data(200, "Login successful")["user"].take();
        Client { user_id: text(&user["id"]), email: text(&user["email"]), ..browser }
    }

    /// An account with a role on the whole server, as `tidings user create --role` makes it.
    pub async fn superadmin(&self, name: &str) -> Client {
        self.register(name).await;
        self.sql(&format!("update users set role = 'superadmin' where username = '{name}'"));
        self.session(name).await
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
        db::write_beside_server(self.folder(), &site(self.folder()), self.clock.now(), f)
    }

    /// The rows of a table.
    pub fn count(&self, table: &str) -> i64 {
        self.number(&format!("select count(*) from {table}"))
    }

    /// A number from the database.
    #[track_caller]
    pub fn number(&self, query: &str) -> i64 {
        number(self.folder(), query)
    }

    /// Waits until what changes have left for later is done, and told.
    pub async fn deferred_work_done(&self) {
        deferred_work_done(self.folder(), &self.anonymous()).await;
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

#[track_caller]
fn number(folder: &Path, query: &str) -> i64 {
    let database = rusqlite::Connection::open(folder.join("tidings.db")).unwrap();
    database.query_row(query, [], |row| row.get(0)).unwrap()
}

/// Waits until what changes have left for later is done, and told, by the server of this folder and client.
pub async fn deferred_work_done(folder: &Path, client: &Client) {
    let until = Instant::now() + Duration::from_secs(30);
    while number(folder, "select count(*) from deferred_work") > 0 {
        assert!(Instant::now() < until, "the deferred work is not done");
        client.get("/blogs").await.expect(200);
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
pub fn database(folder: &Path, mut after_commit: impl FnMut(Vec<Effect>) + Send + 'static) -> db::Db {
    let after_commit = Box::new(move |committed: db::Committed| {
        after_commit(committed.effects);
        Box::new(|| {}) as db::AfterAnswers
    });
    let quotas = Arc::new(ByteQuotas::unlimited());
    db::Db::open(folder, (Arc::new(site(folder)), quotas), Clock::default(), after_commit).unwrap()
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

/// Links all files of a folder, which nobody writes to, into another.
fn copy_files(from: &Path, to: &Path) {
    let Ok(entries) = std::fs::read_dir(from) else { return };
    std::fs::create_dir_all(to).unwrap();
    for entry in entries.map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().unwrap().is_dir() { copy_files(&from, &to) } else { std::fs::hard_link(from, to).unwrap() }
    }
}
