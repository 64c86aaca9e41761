//! The state of the server, which every handler holds. [`crate::wiring`] opens and closes its parts.

pub mod delivering;
pub mod hashing;
pub mod newest;
mod passwords;
pub mod session_cache;
pub mod setup;
pub mod verified;

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex},
    thread::JoinHandle,
    time::Duration,
};

use ipnet::IpNet;
use tokio::sync::{mpsc, watch};

use self::{
    delivering::Delivering, hashing::Hashing, newest::NewestPages, session_cache::SessionCache, verified::VerifiedTokens,
};
use crate::{
    backup,
    clock::Clock,
    db::{self, Class, Db, Tx, View},
    domain::{
        access::{self, Caller},
        accounts::sessions,
        streams::publications::Recent,
    },
    error::{Error, Result},
    id::{OrganisationId, SessionId, UserId},
    issuer::Issuer,
    limits::{Limits, admission::Slots},
    mail::transport::Mailer,
    metrics::Metrics,
    origins::Origins,
    outgoing::Outgoing,
    push::{embedded::hub::Hub, external::client::Centrifugo, server_api::memory::ServerApi},
    site::Site,
    time::Time,
    wakeups::Wakeups,
};

/// Time between two attempts at a background write while the writer's queue is full.
const AGAIN: Duration = Duration::from_millis(200);

/// A handle to the server's state, cheap to clone.
#[derive(Clone)]
pub struct App(pub(crate) Arc<Inner>);

pub struct Inner {
    pub db: Db,
    pub site: Arc<Site>,
    /// The data folder.
    pub data_dir: PathBuf,
    /// What the database's jobs and the background jobs take the time from.
    pub clock: Clock,
    pub hub: Arc<Hub>,
    /// The backups that the server makes by itself, if it does.
    pub backups: Option<backup::Schedule>,
    pub mailer: Mailer,
    /// The issuer of federated log-in; `None` if it is not configured.
    pub issuer: Option<Issuer>,
    /// An external Centrifugo, if one serves live push instead of this server. The hub is empty then.
    pub centrifugo: Option<Centrifugo>,
    /// The HTTP client for addresses that users gave.
    pub outgoing: Outgoing,
    /// The state of webhook deliveries.
    pub delivering: Arc<Delivering>,
    pub limits: Limits,
    pub origins: Origins,
    /// The proxies that may name the client's address in a header.
    pub trusted_proxies: Vec<IpNet>,
    /// The slots for clients' connections.
    pub connection_slots: Arc<Slots>,
    /// The state of the server API, which other programs call.
    pub server_api: ServerApi,
    pub metrics: Metrics,
    /// The interval between pings of a socket.
    pub ping_every: Duration,
    /// Wakes the background jobs.
    pub wakeups: Arc<Wakeups>,
    pub(crate) sessions: Arc<SessionCache>,
    pub newest: Arc<NewestPages>,
    /// The link of the first administrator; `None` if there was an administrator at the start.
    pub setup: Option<setup::Setup>,
    pub tokens: VerifiedTokens,
    /// What clients have recovered of live push.
    pub recent: Recent,
    pub(crate) hashing: Hashing,
    pub(crate) seen: Mutex<Seen>,
    pub(crate) stopping: watch::Sender<bool>,
    /// Set later than `stopping`: once every event of an answered request is pushed.
    pub(crate) closing_sockets: watch::Sender<bool>,
    /// Each open socket holds a clone; taken when the server stops.
    pub(crate) sockets: Mutex<Option<mpsc::Sender<()>>>,
    pub(crate) publisher: Mutex<Option<JoinHandle<()>>>,
    pub(crate) _lock: db::FolderLock,
}

/// When users were last active, and in which sessions, since these times were last written.
#[derive(Default)]
pub struct Seen {
    pub users: HashMap<UserId, Time>,
    pub sessions: HashMap<SessionId, Time>,
}

impl std::ops::Deref for App {
    type Target = Inner;
    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl Inner {
    /// The caller of a live session, from the session cache or the database. 429 past the user's rate.
    pub fn caller(&self, session: SessionId) -> Result<Option<Caller>> {
        let caller = self.sessions.find(session, || self.db.check(|conn| sessions::find(conn, session, conn.now())))?;
        if let Some(caller) = caller {
            self.limits.user(caller.user)?;
            self.seen(caller.user, caller.session);
        }
        Ok(caller)
    }

    /// [`Db::read_slow`] within an organisation, which has one such read at a time. `f` refuses a caller who is no member, so
    /// such a caller doesn't take the organisation's permit.
    pub async fn read_within<T: Send + 'static>(
        &self,
        caller: Caller,
        organisation: OrganisationId,
        f: impl FnOnce(&View) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let class = match self.db.check(|conn| access::membership(conn, organisation, caller.user))? {
            Some(_) => Class::Member(caller.user, organisation),
            None => Class::List(Some(caller.user)),
        };
        self.db.read_slow(class, f).await
    }

    /// [`Db::write`] for idempotent background work: while the writer's queue is full, it tries again until the server stops.
    pub async fn write_in_background<T: Send + 'static>(
        &self,
        f: impl Fn(&mut Tx) -> Result<T> + Clone + Send + 'static,
    ) -> Result<T> {
        loop {
            match self.db.write(f.clone()).await {
                Err(Error::Unavailable(..)) if !*self.stopping.borrow() => tokio::time::sleep(AGAIN).await,
                other => return other,
            }
        }
    }

    /// Notes that a user is active now, in a session. A job writes these times once per minute.
    pub fn seen(&self, user: UserId, session: SessionId) {
        let (now, mut seen) = (self.clock.now(), self.seen.lock().expect("nothing panics while it holds this"));
        seen.users.insert(user, now);
        seen.sessions.insert(session, now);
    }

    /// Whether the user was active since these times were last written, or has an open socket.
    pub fn is_here(&self, user: UserId) -> bool {
        let seen = self.seen.lock().expect("nothing panics while it holds this").users.contains_key(&user);
        seen || !self.hub.connections(user).is_empty()
    }

    /// Takes the noted times of activity, to write them.
    pub fn take_seen(&self) -> Seen {
        std::mem::take(&mut *self.seen.lock().expect("nothing panics while it holds this"))
    }

    /// Becomes true when the server begins to stop.
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }

    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// A token that an open socket holds; `None` if the server is stopping.
    pub fn open_socket(&self) -> Option<mpsc::Sender<()>> {
        if *self.stopping.borrow() {
            return None;
        }
        self.sockets.lock().expect("nothing panics while it holds this").clone()
    }

    /// Counts open sockets from now on. The receiver ends once the last one is closed.
    pub fn count_sockets(&self) -> mpsc::Receiver<()> {
        let (open, closed) = mpsc::channel(1);
        *self.sockets.lock().expect("nothing panics while it holds this") = Some(open);
        closed
    }

    /// Becomes true when open sockets have to close.
    pub fn closing_sockets(&self) -> watch::Receiver<bool> {
        self.closing_sockets.subscribe()
    }

    /// Tells all open sockets to close, and lets no new one open.
    pub fn close_sockets(&self) {
        self.closing_sockets.send_replace(true);
        drop(self.sockets.lock().expect("nothing panics while it holds this").take());
    }
}
