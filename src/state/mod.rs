//! What a handler holds: the parts of the server. [`crate::wiring`] opens and closes them.

pub mod delivering;
pub mod hashing;
mod passwords;
pub mod session_cache;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    thread::JoinHandle,
    time::Duration,
};

use ipnet::IpNet;
use tokio::sync::{mpsc, watch};

use self::{delivering::Delivering, hashing::Hashing, session_cache::SessionCache};
use crate::{
    clock::Clock,
    db::{self, Class, Db, Tx, View},
    domain::{
        access::{self, Caller},
        accounts::sessions,
    },
    error::{Error, Result},
    id::{OrganisationId, SessionId, UserId},
    issuer::Issuer,
    limits::{Limits, admission::Places},
    mail::Mailer,
    metrics::Metrics,
    origins::Origins,
    outgoing::Outgoing,
    push::{embedded::hub::Hub, external::client::Centrifugo, server_api::memory::ServerApi},
    site::Site,
    time::Time,
    wakeups::Wakeups,
};

/// Between two tries of a background write that found the queue full.
const AGAIN: Duration = Duration::from_millis(200);

/// Cheap to clone.
#[derive(Clone)]
pub struct App(pub(crate) Arc<Inner>);

pub struct Inner {
    pub db: Db,
    pub site: Arc<Site>,
    /// What the database's jobs and the background jobs take the time from.
    pub clock: Clock,
    pub hub: Arc<Hub>,
    pub mailer: Mailer,
    /// Of federated log-in; none where it is not configured.
    pub issuer: Option<Issuer>,
    /// Who serves live push instead of us, where that is so: the hub is empty then.
    pub centrifugo: Option<Centrifugo>,
    /// For addresses that users gave.
    pub outgoing: Outgoing,
    /// What is being delivered there.
    pub delivering: Arc<Delivering>,
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
    /// Wake the background jobs.
    pub wakeups: Arc<Wakeups>,
    pub(crate) sessions: Arc<SessionCache>,
    pub(crate) hashing: Hashing,
    pub(crate) seen: Mutex<HashMap<UserId, Time>>,
    pub(crate) stopping: watch::Sender<bool>,
    /// Later than `stopping`: once all that was answered has been pushed.
    pub(crate) closing_sockets: watch::Sender<bool>,
    /// Each open socket holds a clone; taken when the server ends.
    pub(crate) sockets: Mutex<Option<mpsc::Sender<()>>>,
    pub(crate) publisher: Mutex<Option<JoinHandle<()>>>,
    pub(crate) _lock: db::FolderLock,
}

impl std::ops::Deref for App {
    type Target = Inner;
    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl Inner {
    /// The caller of a live session; remembered until something about it changes.
    pub fn caller(&self, session: SessionId) -> Result<Option<Caller>> {
        let caller = self.sessions.find(session, || self.db.read(|conn| sessions::find(conn, session, conn.now())))?;
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
        f: impl FnOnce(&View) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let class = match self.db.read(|conn| access::membership(conn, organisation, caller.user))? {
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
        self.seen.lock().expect("nothing panics while it holds this").insert(user, self.clock.now());
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
}
