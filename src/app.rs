//! What a handler holds: the parts of the server, how they are opened and how they end.

mod passwords;

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex, RwLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread::JoinHandle,
    time::Duration,
};

use ipnet::IpNet;
use rusqlite::Connection;
use tokio::sync::{Notify, mpsc, watch};

use self::passwords::Hashing;
use crate::{
    config::Settings,
    connections::places::Places,
    db::{self, Class, Db, Tx},
    domain::{Caller, accounts::sessions, organisations::members},
    error::{Error, Result},
    event::{Effect, Kind},
    id::{OrganisationId, SessionId, UserId},
    issuer::Issuer,
    jobs::deliveries,
    limits::Limits,
    mail::Mailer,
    metrics::Metrics,
    origins::Origins,
    outgoing::Outgoing,
    push::{
        embedded::{hub::Hub, publisher::Publisher},
        external::client::Centrifugo,
        server_api::ServerApi,
    },
    secret::Keys,
    site::Site,
    time::Time,
    tls::Authorities,
};

/// Between two tries of a background write that found the queue full.
const AGAIN: Duration = Duration::from_millis(200);

/// Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Inner>);

pub struct Inner {
    pub db: Db,
    pub site: Arc<Site>,
    pub hub: Arc<Hub>,
    pub mailer: Mailer,
    /// Of federated log-in; none where it is not configured.
    pub issuer: Option<Issuer>,
    /// Who serves live push instead of us, where that is so: the hub is empty then.
    pub centrifugo: Option<Centrifugo>,
    /// For addresses that users gave.
    pub outgoing: Outgoing,
    /// What is being delivered there.
    pub deliveries: Arc<deliveries::Shared>,
    pub limits: Limits,
    pub origins: Origins,
    /// Who may tell the client's address.
    pub trusted_proxies: Vec<IpNet>,
    /// For connections of clients.
    pub places: Arc<Places>,
    /// For other programs.
    pub server_api: ServerApi,
    pub metrics: Metrics,
    /// Between pings of a socket.
    pub ping_every: Duration,
    /// Woken when a mail was queued.
    pub mail_due: Arc<Notify>,
    /// Woken when work was left to the jobs.
    pub chore_left: Arc<Notify>,
    /// Woken when something was posted, or edited.
    pub posted: Arc<Notify>,
    /// Woken by every commit that set something off.
    pub logged: Arc<Notify>,
    sessions: Arc<SessionCache>,
    hashing: Hashing,
    seen: Mutex<HashMap<UserId, Time>>,
    stopping: watch::Sender<bool>,
    /// Later than `stopping`: once all that was answered has been pushed.
    closing_sockets: watch::Sender<bool>,
    /// Each open socket holds a clone; taken when the server ends.
    sockets: Mutex<Option<mpsc::Sender<()>>>,
    publisher: Mutex<Option<JoinHandle<()>>>,
    _lock: db::FolderLock,
}

impl std::ops::Deref for App {
    type Target = Inner;
    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl App {
    /// Opens the data folder, made when there is none, and starts the writer and the publisher.
    pub fn open(settings: &Settings, listening: SocketAddr) -> Result<App> {
        let links = settings.links.resolve(listening)?;
        let authorities = Authorities::read(settings.ca_file.as_deref())?;
        let mailer = Mailer::new(&settings.mail_url, &settings.mail_from, &authorities)?;
        let issuer = match settings.google_client_id.as_slice() {
            [] => None,
            ids => Some(Issuer::new(&settings.oidc_issuer, ids, &authorities)?),
        };
        let external = settings.push.external()?;
        let centrifugo = external.as_ref().map(|external| Centrifugo::new(external, &authorities)).transpose()?;
        let outgoing = Outgoing::new(&settings.allow_private_webhooks, &authorities)?;
        let origins = Origins::new(&settings.allowed_origin, &links.0, &links.1)?;
        let server_api = ServerApi::new(settings.push_api_key.as_deref())?;
        let metrics = Metrics::new(settings.metrics_token.as_deref())?;
        db::make_folder(&settings.data_dir)?;
        let lock = db::lock(&settings.data_dir)?;
        let keys = Keys::derive(&db::secret_key(&settings.data_dir)?);
        let keys = match external {
            Some(external) => keys.with_push_key(&external.token_key),
            None => keys,
        };
        let site = settings.site(keys, links);
        let (hub, sessions) = (Arc::new(Hub::default()), Arc::new(SessionCache::default()));
        let [mail_due, chore_left, posted, logged] = std::array::from_fn(|_| Arc::new(Notify::new()));
        let (publisher, waiting) = Publisher::new(metrics.publisher_lag.clone());
        let (cache, mails, deliveries) = (sessions.clone(), mail_due.clone(), Arc::<deliveries::Shared>::default());
        let delivering = deliveries.clone();
        let (chores, posts, log) = (chore_left.clone(), posted.clone(), logged.clone());
        let after_commit = Box::new(move |effects: Vec<Effect>| {
            cache.forget(&effects);
            if effects.iter().any(|effect| matches!(effect, Effect::MailQueued | Effect::Foreign)) {
                mails.notify_one();
            }
            delivering.after_commit(&effects);
            if effects.iter().any(|effect| matches!(effect, Effect::ChoreLeft | Effect::Foreign)) {
                chores.notify_one();
            }
            let is_text = |effect: &Effect| match effect {
                Effect::Publish(event) => event.kind == Kind::Message,
                effect => matches!(effect, Effect::TextEdited),
            };
            if effects.iter().any(is_text) {
                posts.notify_one();
            }
            log.notify_one();
            publisher.send(effects);
        });
        let db = Db::open(&settings.data_dir, after_commit)?;
        let publisher = match &centrifugo {
            Some(_) => Mutex::default(), // nobody listens to the hub
            None => waiting.start(&settings.data_dir, hub.clone())?,
        };
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Ok(App(Arc::new(Inner {
            db,
            limits: Limits::new(site.rate_limit),
            site: Arc::new(site),
            hub,
            mailer,
            issuer,
            centrifugo,
            outgoing,
            origins,
            server_api,
            metrics,
            trusted_proxies: settings.trusted_proxy.clone(),
            places: Places::new(settings.connections_per_address as usize, &settings.trusted_proxy),
            ping_every: Duration::from_secs(settings.push_ping_seconds.into()),
            deliveries,
            mail_due,
            chore_left,
            posted,
            logged,
            sessions,
            hashing: Hashing::new(cores),
            seen: Mutex::default(),
            stopping: watch::Sender::new(false),
            closing_sockets: watch::Sender::new(false),
            sockets: Mutex::default(),
            publisher,
            _lock: lock,
        })))
    }
}

impl Inner {
    /// The caller of a live session; remembered until something about it changes.
    pub fn caller(&self, session: SessionId) -> Result<Option<Caller>> {
        let caller = self.sessions.find(session, || self.db.read(|conn| sessions::find(conn, session)))?;
        if let Some(caller) = caller {
            self.limits.user(caller.user)?;
            self.seen(caller.user);
        }
        Ok(caller)
    }

    /// [`Db::read_slow`] within an organisation, which has one at once. Outsiders, whom `f` refuses at once, do not take
    /// the members' slot.
    pub async fn read_within<T: Send + 'static>(
        &self,
        caller: Caller,
        organisation: OrganisationId,
        f: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let class = match self.db.read(|conn| members::find(conn, organisation, caller.user))? {
            Some(_) => Class::Member(caller.user, organisation),
            None => Class::List(Some(caller.user)),
        };
        self.db.read_slow(class, f).await
    }

    /// [`Db::write`] for work that can wait until the queue has room, and may be done twice.
    pub async fn write_in_background<T: Send + 'static>(
        &self,
        f: impl Fn(&mut Tx) -> Result<T> + Clone + Send + 'static,
    ) -> Result<T> {
        loop {
            match self.db.write(f.clone()).await {
                Err(Error::Unavailable(_)) if !*self.stopping.borrow() => tokio::time::sleep(AGAIN).await,
                other => return other,
            }
        }
    }

    /// Notes that a user was here; written once a minute.
    pub fn seen(&self, user: UserId) {
        self.seen.lock().expect("nothing panics while it holds this").insert(user, Time::now());
    }

    /// Whether the user was here since that was last written, or has a socket open.
    pub fn is_here(&self, user: UserId) -> bool {
        let seen = self.seen.lock().expect("nothing panics while it holds this").contains_key(&user);
        seen || !self.hub.connections(user).is_empty()
    }

    pub fn take_seen(&self) -> Vec<(UserId, Time)> {
        self.seen.lock().expect("nothing panics while it holds this").drain().collect()
    }

    /// Becomes true when the server is to end.
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }

    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// A token of an open socket; none when the server is ending.
    pub fn open_socket(&self) -> Option<mpsc::Sender<()>> {
        if *self.stopping.borrow() {
            return None;
        }
        self.sockets.lock().expect("nothing panics while it holds this").clone()
    }

    /// From here on sockets are counted: the receiver ends once the last one is closed.
    pub fn count_sockets(&self) -> mpsc::Receiver<()> {
        let (open, closed) = mpsc::channel(1);
        *self.sockets.lock().expect("nothing panics while it holds this") = Some(open);
        closed
    }

    /// Becomes true when open sockets are to close.
    pub fn closing_sockets(&self) -> watch::Receiver<bool> {
        self.closing_sockets.subscribe()
    }

    /// Has all sockets closed.
    pub fn close_sockets(&self) {
        self.closing_sockets.send_replace(true);
        drop(self.sockets.lock().expect("nothing panics while it holds this").take());
    }

    /// Puts all queued writes on disk, pushes their events, and takes no more. Blocks.
    pub fn finish_writes(&self) {
        self.db.close(); // ends the writer, and with it the publisher's last sender
        if let Some(publisher) = self.publisher.lock().expect("nothing panics while it holds this").take() {
            _ = publisher.join();
        }
    }
}

/// Session to caller, bounded. A fill is dropped when anything was forgotten since its read began: a
/// reader from before a logout must not put the session back.
#[derive(Default)]
struct SessionCache {
    callers: RwLock<HashMap<SessionId, Caller>>,
    generation: AtomicU64,
}

impl SessionCache {
    const MOST: usize = 100_000;

    fn find(&self, session: SessionId, read: impl FnOnce() -> Result<Option<Caller>>) -> Result<Option<Caller>> {
        if let Some(caller) = self.callers.read().expect("nothing panics while it holds this").get(&session) {
            return Ok(Some(*caller));
        }
        let generation = self.generation.load(Relaxed);
        let caller = read()?;
        if let Some(caller) = caller {
            let mut callers = self.callers.write().expect("nothing panics while it holds this");
            if callers.len() >= Self::MOST {
                callers.clear();
            }
            if self.generation.load(Relaxed) == generation {
                callers.insert(session, caller);
            }
        }
        Ok(caller)
    }

    fn forget(&self, effects: &[Effect]) {
        let stale = |effect: &Effect| matches!(effect, Effect::SessionEnded { .. } | Effect::AccountChanged(_) | Effect::Foreign);
        if !effects.iter().any(stale) {
            return;
        }
        let mut callers = self.callers.write().expect("nothing panics while it holds this");
        self.generation.fetch_add(1, Relaxed);
        for effect in effects {
            match effect {
                Effect::SessionEnded { session, .. } => _ = callers.remove(session),
                Effect::AccountChanged(user) => callers.retain(|_, caller| caller.user != *user),
                Effect::Foreign => callers.clear(),
                _ => {}
            }
        }
    }
}
