//! Bounds on connections: of all clients, and of the strangers of one address.
//!
//! A connection without a live session is a stranger's and counts for its address. With a session or a connected socket it
//! counts for the user, so that people behind one router don't share one bound. When an address is full, its oldest
//! idle stranger is closed for the newcomer, and told to come back later. Nobody counts before the server has begun to read what
//! they say, and nobody is closed while it answers.

use std::{
    mem,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use ipnet::IpNet;
use parking_lot::Mutex;
use poem::{Request, http::HeaderMap};
use rustix::process::{Resource, getrlimit};
use tokio::sync::Notify;

use super::{
    buffering::{Buffering, Client},
    connection_counts::{Class, ConnectionCounts, MOST_BY_USER, Open, Reason},
    networks,
};
use crate::{id::Share, net::client_address};

/// Open files that are reserved for everything but clients' connections: the database, deliveries and tests of webhooks,
/// mails.
const OTHER_FILES: usize = 512;
/// Connections past the bound that may still ask for `/health`. A new one closes the oldest of them.
pub const RESERVE: usize = 16;

/// The connections of all clients, and the bounds on them.
pub struct ConnectionSlots {
    /// Most connections of all clients.
    most: usize,
    /// Trusted proxies. Their connections have no bound by address: one address serves many clients there, and a proxy
    /// has bounds of its own. Nor do they count for users, because a proxy sends requests of many over one connection.
    proxies: Vec<IpNet>,
    counts: Mutex<ConnectionCounts>,
    buffering: Arc<Buffering>,
}

/// Whether a new connection is accepted.
pub enum Admission {
    Slot(Slot),
    /// Too many connections are open: this one may ask for `/health`, and nothing else.
    Reserve(Slot),
}

impl ConnectionSlots {
    /// As many slots as the limit of open files leaves; at most `most_by_address` of them for strangers of one address.
    pub fn new(most_by_address: usize, proxies: &[IpNet]) -> Arc<ConnectionSlots> {
        let files = getrlimit(Resource::Nofile).current.map_or(usize::MAX, |files| files as usize);
        ConnectionSlots::with_bounds(bound(files), most_by_address, proxies)
    }

    fn with_bounds(most: usize, most_by_address: usize, proxies: &[IpNet]) -> Arc<ConnectionSlots> {
        let counts = Mutex::new(ConnectionCounts::new(most_by_address));
        Arc::new(ConnectionSlots { most, proxies: proxies.to_vec(), counts, buffering: Arc::default() })
    }

    /// A slot for a connection that was accepted. It counts for its address once it [begins](Slot::begin).
    pub fn admit(self: &Arc<Self>, peer: IpAddr) -> Admission {
        let mut counts = self.counts.lock();
        let is_reserve = counts.all >= self.most;
        if is_reserve && counts.may_warn(Reason::Files) {
            let open = counts.all;
            tracing::warn!("{open} connections are open, as many as the limit of open files allows: raise it (ulimit -n)");
        }
        counts.all += 1;
        drop(counts);
        let slot = Slot {
            slots: self.clone(),
            address: self.counted(peer),
            closing: Arc::default(),
            expects_connect: AtomicBool::new(false),
            standing: Mutex::new(Standing::Uncounted),
        };
        if is_reserve { Admission::Reserve(slot) } else { Admission::Slot(slot) }
    }

    /// How many connections are open.
    pub fn open_counts(&self) -> Open {
        self.counts.lock().open_counts()
    }

    /// How many strangers were closed for newcomers, and how many newcomers were refused, since the start.
    pub fn turned_away(&self) -> [u64; 2] {
        let counts = self.counts.lock();
        [counts.closed, counts.refused]
    }

    #[cfg(test)]
    pub fn total_open(&self) -> usize {
        self.counts.lock().all
    }

    #[cfg(test)]
    pub fn buffered_bytes(&self) -> usize {
        self.buffering.total_bytes()
    }

    /// Logs that accepting a connection failed.
    pub fn log_accept_failure(&self, err: &std::io::Error) {
        if self.counts.lock().may_warn(Reason::Accept) {
            tracing::warn!(%err, "can't accept connections");
        }
    }

    /// The address by which a peer is counted; `None` for a trusted proxy.
    fn counted(&self, peer: IpAddr) -> Option<IpAddr> {
        (!client_address::is_proxy(&self.proxies, peer)).then(|| networks::network(peer))
    }
}

/// Most connections under a limit of open files.
fn bound(files: usize) -> usize {
    files - OTHER_FILES.min(files / 2) - RESERVE.min(files / 8)
}

/// A connection's slot. Dropping it frees the slot.
pub struct Slot {
    slots: Arc<ConnectionSlots>,
    /// `None` for a trusted proxy.
    address: Option<IpAddr>,
    /// Notified when the connection has to close for a newcomer.
    closing: Arc<Notify>,
    /// Whether it is becoming a socket, whose client says who it is after the handshake.
    expects_connect: AtomicBool,
    /// Locked before the counts of all connections.
    standing: Mutex<Standing>,
}

/// Counts a request's connection for a user, as [`Slot::attribute_to_user`] does.
pub fn assign_to_user(req: &Request, user: Share) -> bool {
    req.data::<Arc<Slot>>().is_none_or(|slot| slot.attribute_to_user(user))
}

/// Whom a connection counts for.
#[derive(Clone, Copy, Debug)]
enum Standing {
    /// A trusted proxy's connection, one that has not begun, or one that was closed for a newcomer.
    Uncounted,
    /// A stranger's, while the server waits for the client. The ticket orders the strangers of a class by their age.
    Idle(Class, u64),
    /// A stranger's, while the server answers.
    Busy(Class, u64),
    /// A user's.
    Held { user: Share, since: Instant, in_use: bool },
}

impl Slot {
    /// Whether the connection is a trusted proxy's.
    pub fn is_of_proxy(&self) -> bool {
        self.address.is_none()
    }

    /// The client of a request, for counting what the server buffers for it.
    pub fn buffering_client(&self, peer: IpAddr, headers: &HeaderMap) -> Client {
        self.slots.buffering.client(networks::network(client_address::of(&self.slots.proxies, peer, headers)))
    }

    /// Ready when the connection has to close for a newcomer. Only one task may wait for it.
    pub async fn asked_to_close(&self) {
        self.closing.notified().await;
    }

    /// Counts the connection as an idle stranger of its address, on its way in. Returns false if too many are, and none of them can be
    /// closed: then the connection is refused.
    pub fn begin(&self) -> bool {
        let Some(address) = self.address else { return true };
        let mut standing = self.standing.lock();
        let ticket = self.slots.counts.lock().add_idle_stranger(address, Class::Coming, &self.closing);
        *standing = ticket.map_or(Standing::Uncounted, |ticket| Standing::Idle(Class::Coming, ticket));
        ticket.is_some()
    }

    /// Notes that the connection becomes a socket: until it has connected, it is on its way in.
    pub fn expect_connect(&self) {
        self.expects_connect.store(true, Relaxed);
    }

    /// Notes that the server answers the connect of a socket, whose connection then is not closed for a newcomer. Returns false if
    /// it was closed just now.
    pub fn take_connect(&self) -> bool {
        self.expects_connect.store(false, Relaxed);
        self.set_busy(true);
        self.address.is_none() || !matches!(*self.standing.lock(), Standing::Uncounted)
    }

    /// Notes whether the server answers a request of a stranger, who then is not closed for a newcomer, or waits for the
    /// client.
    pub fn set_busy(&self, is_busy: bool) {
        let Some(address) = self.address else { return };
        let mut standing = self.standing.lock();
        let mut counts = self.slots.counts.lock();
        *standing = match (*standing, is_busy) {
            (Standing::Idle(class, ticket), true) if counts.mark_busy(address, class, ticket) => Standing::Busy(class, ticket),
            (Standing::Idle(..), true) => Standing::Uncounted, // it was closed just now
            (Standing::Busy(Class::Coming, _), false) if !self.expects_connect.load(Relaxed) => {
                counts.remove_stranger(address, Class::Coming, None);
                self.settle(&mut counts, address)
            }
            (Standing::Busy(class, ticket), false) => {
                counts.mark_idle(address, class, ticket, &self.closing);
                Standing::Idle(class, ticket)
            }
            (other, _) => other,
        };
    }

    /// Counts the connection among the answered ones of its address. If they are full, the oldest idle one is closed, or this
    /// connection if all others are busy.
    fn settle(&self, counts: &mut ConnectionCounts, address: IpAddr) -> Standing {
        match counts.add_idle_stranger(address, Class::Answered, &self.closing) {
            Some(ticket) => Standing::Idle(Class::Answered, ticket),
            None => {
                self.closing.notify_one();
                Standing::Uncounted
            }
        }
    }

    /// Counts the connection for a user from now on, because a request has a live session of theirs. If as many count for the user
    /// as may, it still counts for its address. Returns false then.
    pub fn attribute_to_user(&self, user: Share) -> bool {
        self.attribute(user, MOST_BY_USER)
    }

    /// Counts the connection for the user whose socket has connected. The hub bounds the sockets of a user.
    pub fn attribute_socket(&self, user: Share) {
        self.attribute(user, usize::MAX);
    }

    fn attribute(&self, user: Share, most: usize) -> bool {
        let Some(address) = self.address else { return true };
        let mut standing = self.standing.lock();
        let held = Standing::Held { user, since: Instant::now(), in_use: true };
        match *standing {
            Standing::Held { user: holder, .. } if holder == user => *standing = held,
            Standing::Held { user: holder, .. } => {
                let mut counts = self.slots.counts.lock();
                if !counts.add_for_user(user, most) {
                    return false;
                }
                counts.remove_for_user(holder);
                *standing = held;
            }
            Standing::Idle(class, ticket) | Standing::Busy(class, ticket) => {
                let is_idle = matches!(*standing, Standing::Idle(..));
                let mut counts = self.slots.counts.lock();
                if !counts.add_for_user(user, most) {
                    return false;
                }
                if counts.remove_stranger(address, class, is_idle.then_some(ticket)) {
                    *standing = held;
                } else {
                    counts.remove_for_user(user); // it was closed just now
                    *standing = Standing::Uncounted;
                }
            }
            Standing::Uncounted => {}
        }
        true
    }

    /// Notes that a request has ended. A user's connection stays theirs for a while after a request with a session, and is
    /// given back if there was none for that long.
    pub fn note_request_end(&self, now: Instant, after: Duration) {
        if let Standing::Held { since, in_use, .. } = &mut *self.standing.lock()
            && mem::take(in_use)
        {
            *since = now;
        }
        self.recount_as_stranger(now, after);
    }

    /// Gives a user's connection back to its address if it had no request with a session for this long.
    pub fn recount_as_stranger(&self, now: Instant, after: Duration) {
        let Some(address) = self.address else { return };
        let mut standing = self.standing.lock();
        let Standing::Held { user, since, in_use: false } = *standing else { return };
        if now.saturating_duration_since(since) < after {
            return;
        }
        let mut counts = self.slots.counts.lock();
        counts.remove_for_user(user);
        *standing = self.settle(&mut counts, address);
    }

    /// Whether the connection is a stranger's at an address that is more than half full.
    pub fn is_crowding_stranger(&self) -> bool {
        let is_stranger = matches!(*self.standing.lock(), Standing::Idle(..) | Standing::Busy(..));
        is_stranger && self.address.is_some_and(|address| self.slots.counts.lock().is_crowded(address))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let standing = *self.standing.lock();
        let mut counts = self.slots.counts.lock();
        counts.all -= 1;
        match (standing, self.address) {
            (Standing::Idle(class, ticket), Some(address)) => _ = counts.remove_stranger(address, class, Some(ticket)),
            (Standing::Busy(class, _), Some(address)) => _ = counts.remove_stranger(address, class, None),
            (Standing::Held { user, .. }, _) => counts.remove_for_user(user),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
