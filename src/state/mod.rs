//! The state of the server, which every handler holds. [`crate::wiring`] opens and closes its parts.

pub mod delivery;
pub mod hashing;
pub mod low_priority;
pub mod newest_pages;
mod passwords;
pub mod session_cache;
pub mod setup_link;
pub mod wakeups;

use std::{path::PathBuf, sync::Arc, thread::JoinHandle, time::Duration};

use ipnet::IpNet;
use parking_lot::Mutex;
use tokio::sync::watch;

use self::{delivery::DeliveryState, hashing::Hashing, newest_pages::NewestPages, session_cache::SessionCache, wakeups::Wakeups};
use crate::{
    archive::backup,
    clock::Clock,
    db::{self, Class, Db, Tx, View},
    domain::{
        access::{self, Caller},
        accounts::sessions,
    },
    error::{Error, Result},
    files::Store,
    id::{OrganisationId, SessionId, Share, UserId},
    issuer::Issuer,
    limits::{Author, Limits, admission::ConnectionSlots, byte_quotas::ByteQuotas},
    mail::transport::Mailer,
    metrics::Metrics,
    net::origins::Origins,
    outgoing::Outgoing,
    push::{context::Push, external::Centrifugo},
    site::Site,
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
    /// The bytes of files.
    pub files: Store,
    /// The clock of the database's jobs and the background jobs.
    pub clock: Clock,
    /// The context of live push.
    pub push: Arc<Push>,
    /// The backups that the server makes by itself, if it does.
    pub backups: Option<backup::Schedule>,
    pub mailer: Mailer,
    /// The issuer of federated log-in; `None` if it is not configured.
    pub issuer: Option<Issuer>,
    /// An external Centrifugo, if one serves live push instead of this server.
    pub centrifugo: Option<Centrifugo>,
    /// The HTTP client for addresses that users gave.
    pub outgoing: Outgoing,
    /// The state of webhook deliveries.
    pub delivery: Arc<DeliveryState>,
    pub limits: Arc<Limits>,
    pub quotas: Arc<ByteQuotas>,
    pub origins: Arc<Origins>,
    /// The proxies that may name the client's address in a header.
    pub trusted_proxies: Vec<IpNet>,
    /// The slots for clients' connections.
    pub connection_slots: Arc<ConnectionSlots>,
    pub metrics: Arc<Metrics>,
    /// Wakes the background jobs.
    pub wakeups: Arc<Wakeups>,
    pub(crate) sessions: Arc<SessionCache>,
    pub newest: Arc<NewestPages>,
    /// The link of the first administrator; `None` if there was an administrator at the start.
    pub setup: Option<setup_link::SetupLink>,
    pub(crate) hashing: Hashing,
    pub(crate) stopping: watch::Sender<bool>,
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
    /// The caller of a live session, from the session cache or the database. 429 past the user's rate.
    pub fn caller(&self, session: SessionId) -> Result<Option<Caller>> {
        self.counted(session, Limits::user)
    }

    /// Works like [`Inner::caller`] for who opens a file, which has a rate of its own.
    pub fn file_reader(&self, session: SessionId) -> Result<Option<Caller>> {
        self.counted(session, Limits::file)
    }

    fn counted(&self, session: SessionId, count: fn(&Limits, Share) -> Result<()>) -> Result<Option<Caller>> {
        let caller = self.find_caller(session)?;
        if let Some(caller) = caller {
            count(&self.limits, caller.share())?;
            self.push.activity.note(caller.user, caller.session);
        }
        Ok(caller)
    }

    /// Works like [`Inner::caller`], and counts towards no rate.
    pub fn find_caller(&self, session: SessionId) -> Result<Option<Caller>> {
        self.sessions.find_or_read(session, || self.db.read_without_position(|conn| sessions::find(conn, session, conn.now())))
    }

    /// [`Db::write_sized`] of what is pushed to many; the closure owns `bytes` of text. It waits while too many changes of the
    /// author's are not pushed yet.
    pub async fn write_throttled<T: Send + 'static>(
        &self,
        author: impl Into<Author>,
        bytes: usize,
        f: impl FnOnce(&mut Tx) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let permit = self.limits.change(author.into()).await;
        let write = move |tx: &mut Tx| {
            let written = f(tx)?;
            permit.into_iter().for_each(|permit| tx.hold(permit));
            Ok(written)
        };
        self.db.write_sized(bytes + size_of_val(&write), write).await
    }

    /// [`Db::read_slow`] within an organisation, which has one such read at a time. `f` refuses a caller who is no member, so
    /// such a caller doesn't take the organisation's permit.
    pub async fn read_slow_in_organisation<T: Send + 'static>(
        &self,
        caller: Caller,
        organisation: OrganisationId,
        f: impl FnOnce(&View) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let class = match self.db.read_without_position(|conn| access::membership(conn, organisation, caller.user))? {
            Some(_) => Class::Member(caller.share(), organisation),
            None => Class::List(Some(caller.share())),
        };
        self.db.read_slow(class, f).await
    }

    /// [`Db::write`] for idempotent background work: while the writer's queue is full, it tries again until the server stops.
    pub async fn write_with_retry<T: Send + 'static>(
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

    /// Whether the user was active in the last minute, or has an open socket.
    pub fn is_here(&self, user: UserId) -> bool {
        self.push.activity.noted(user).is_some() || !self.push.hub.connections_of_user(user).is_empty()
    }

    /// Becomes true when the server begins to stop.
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }

    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }
}
