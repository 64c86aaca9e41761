//! How many connections there may be, of all clients and of one address, and how much may wait for them to read it.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use ipnet::IpNet;
use poem::http::HeaderMap;
use rustix::process::{Resource, getrlimit};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{client_address, limits::networks};

/// Files for everything that is no connection of a client: the database, deliveries and tests of webhooks, mails.
const OTHER_FILES: usize = 512;
/// Connections past the bound that may still ask for `/health`; the oldest makes way for the newest.
pub const RESERVE: usize = 16;
/// Bytes of long requests that arrive, and of long answers that were not read: with more, an address has one of them at once.
const BUFFERED: usize = 8 << 20;
/// Connections that keep their buffers, some 15 KiB each, between two requests; others give them up at once. The allocator
/// does not give all of what it once took for them back to the system.
const KEPT: usize = 512;
const WARN_EVERY: Duration = Duration::from_secs(60);

pub struct Places {
    /// Connections of all clients.
    most: usize,
    /// Connections of one address, an IPv6 one by its /64.
    most_by_address: usize,
    /// Proxies have one address for many clients, and bounds of their own.
    proxies: Vec<IpNet>,
    taken: Mutex<Taken>,
    kept: Arc<Semaphore>,
}

#[derive(Default)]
struct Taken {
    all: Share,
    addresses: HashMap<IpAddr, Share>,
    /// By [`Reason`].
    warned: [Option<Instant>; 3],
}

#[derive(Clone, Copy, Default)]
struct Share {
    connections: usize,
    buffered: usize,
}

/// What becomes of a connection.
pub enum Admission {
    Place(Place),
    /// Too many are open: this one may ask for `/health`, and nothing else.
    Reserve(Place),
    /// Too many of its address are.
    Refused,
}

impl Places {
    /// As many connections as the limit of open files leaves; `most_by_address` of them for one address.
    pub fn new(most_by_address: usize, proxies: &[IpNet]) -> Arc<Places> {
        let files = getrlimit(Resource::Nofile).current.map_or(usize::MAX, |files| files as usize);
        Places::of(bound(files), most_by_address, proxies)
    }

    fn of(most: usize, most_by_address: usize, proxies: &[IpNet]) -> Arc<Places> {
        let kept = Arc::new(Semaphore::new(KEPT));
        Arc::new(Places { most, most_by_address, proxies: proxies.to_vec(), taken: Mutex::default(), kept })
    }

    pub fn admit(self: &Arc<Self>, peer: IpAddr) -> Admission {
        let address = self.counted(peer);
        let mut taken = self.taken();
        let of_address = address.and_then(|address| taken.addresses.get(&address)).copied().unwrap_or_default();
        if of_address.connections >= self.most_by_address {
            if taken.may_warn(Reason::Address) {
                tracing::warn!("{peer} has {} connections open: more of them are refused", of_address.connections);
            }
            return Admission::Refused;
        }
        let open = taken.all.connections;
        if open >= self.most && taken.may_warn(Reason::Files) {
            tracing::warn!("{open} connections are open, as many as the limit of open files allows: raise it (ulimit -n)");
        }
        taken.shares(address, |share| share.connections += 1);
        let place = Place { places: self.clone(), address };
        if open < self.most { Admission::Place(place) } else { Admission::Reserve(place) }
    }

    #[cfg(test)]
    pub fn open(&self) -> usize {
        self.taken().all.connections
    }

    #[cfg(test)]
    pub fn buffered(&self) -> usize {
        self.taken().all.buffered
    }

    /// Accepting a connection failed.
    pub fn failed(&self, err: &std::io::Error) {
        if self.taken().may_warn(Reason::Accept) {
            tracing::warn!(%err, "can't accept connections");
        }
    }

    /// As which address a peer is counted.
    fn counted(&self, peer: IpAddr) -> Option<IpAddr> {
        let peer = peer.to_canonical();
        (!self.proxies.iter().any(|proxy| proxy.contains(&peer))).then(|| networks::network(peer))
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().expect("nothing panics while it holds this")
    }
}

/// How many connections there may be with so many open files.
fn bound(files: usize) -> usize {
    files - OTHER_FILES.min(files / 2) - RESERVE.min(files / 8)
}

impl Taken {
    /// Changes what all have, and what the address has.
    fn shares(&mut self, address: Option<IpAddr>, change: impl Fn(&mut Share)) {
        change(&mut self.all);
        let Some(address) = address else { return };
        let share = self.addresses.entry(address).or_default();
        change(share);
        if share.connections == 0 && share.buffered == 0 {
            self.addresses.remove(&address);
        }
    }

    /// Once a minute for each reason.
    fn may_warn(&mut self, reason: Reason) -> bool {
        let warned = &mut self.warned[reason as usize];
        let may = warned.is_none_or(|warned| warned.elapsed() >= WARN_EVERY);
        if may {
            *warned = Some(Instant::now());
        }
        may
    }
}

/// Why connections are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Address,
    Files,
    Accept,
}

/// One connection's; given back when it is dropped.
pub struct Place {
    places: Arc<Places>,
    address: Option<IpAddr>,
}

impl Place {
    /// For what a request makes the server buffer.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> Client {
        let address = networks::network(client_address::of(&self.places.proxies, peer, headers));
        Client { places: self.places.clone(), address }
    }

    /// Permits this connection to keep its buffers between two requests, if fewer than [`KEPT`] others do.
    pub fn keep_buffers(&self) -> Option<OwnedSemaphorePermit> {
        self.places.kept.clone().try_acquire_owned().ok()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.taken().shares(self.address, |share| share.connections -= 1);
    }
}

/// Who sent a request, by the address that a trusted proxy tells.
pub struct Client {
    places: Arc<Places>,
    address: IpAddr,
}

impl Client {
    /// Whether this address must wait for what it sends or does not read. What others hold never keeps out an address that
    /// holds nothing.
    pub fn is_behind(&self) -> bool {
        let taken = self.places.taken();
        let own = taken.addresses.get(&self.address).map_or(0, |share| share.buffered);
        own > 0 && taken.all.buffered >= BUFFERED
    }

    /// Counts bytes until the guard is dropped.
    pub fn buffer(&self, bytes: usize) -> Buffered {
        self.places.taken().shares(Some(self.address), |share| share.buffered += bytes);
        Buffered { client: Client { places: self.places.clone(), address: self.address }, bytes }
    }
}

/// A request that is arriving, or an answer that was not read yet.
pub struct Buffered {
    client: Client,
    bytes: usize,
}

impl Drop for Buffered {
    fn drop(&mut self) {
        self.client.places.taken().shares(Some(self.client.address), |share| share.buffered -= self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use poem::http::HeaderValue;

    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn place(admission: Admission) -> Place {
        match admission {
            Admission::Place(place) => place,
            Admission::Reserve(_) => panic!("only from the reserve"),
            Admission::Refused => panic!("refused"),
        }
    }

    #[test]
    fn an_address_has_so_many_connections_and_gets_them_back() {
        let places = Places::of(100, 3, &[]);
        let mut held: Vec<_> = (0..3).map(|n| place(places.admit(address(&format!("2001:db8::{n}"))))).collect();
        assert!(matches!(places.admit(address("2001:db8::9")), Admission::Refused), "the same /64");
        place(places.admit(address("2001:db8:0:1::9")));
        held.pop();
        place(places.admit(address("2001:db8::9")));
        drop(held);
        assert!(places.taken().addresses.is_empty() && places.taken().all.connections == 0);
    }

    #[test]
    fn connections_of_a_proxy_are_not_counted_by_its_address() {
        let places = Places::of(100, 3, &["10.0.0.0/8".parse().unwrap()]);
        let held: Vec<_> = (0..50).map(|_| place(places.admit(address("::ffff:10.1.2.3")))).collect();
        assert_eq!(places.taken().all.connections, held.len());
    }

    #[test]
    fn past_the_bound_there_is_a_reserve() {
        let places = Places::of(2, 100, &[]);
        let mut held: Vec<_> = (0..2).map(|_| place(places.admit(address("192.0.2.1")))).collect();
        assert!(matches!(places.admit(address("192.0.2.2")), Admission::Reserve(_)));
        held.pop();
        place(places.admit(address("192.0.2.2")));
    }

    #[test]
    fn whoever_does_not_read_is_answered_nothing_more_and_keeps_nobody_out() {
        let places = Places::of(100, 100, &["10.0.0.0/8".parse().unwrap()]);
        let client = |peer: &str, forwarded: &'static str| {
            let headers = HeaderMap::from_iter([("x-forwarded-for".parse().unwrap(), HeaderValue::from_static(forwarded))]);
            place(places.admit(address(peer))).client(address(peer), &headers)
        };
        let [slow, beside] = ["203.0.113.9", "invented"].map(|forwarded| client("192.0.2.1", forwarded));
        let [other, idle] = ["192.0.2.2", "192.0.2.3"].map(|peer| client(peer, "192.0.2.1"));
        let [behind_proxy, beside_it] = ["203.0.113.1", "203.0.113.2"].map(|forwarded| client("10.0.0.1", forwarded));
        let first = slow.buffer(BUFFERED - 1);
        assert!(!beside.is_behind());
        let second = slow.buffer(1);
        assert!(slow.is_behind() && beside.is_behind() && !other.is_behind());
        drop(second);
        assert!(!slow.is_behind());
        let third = behind_proxy.buffer(BUFFERED);
        let fourth = other.buffer(1);
        assert!(slow.is_behind() && other.is_behind() && behind_proxy.is_behind(), "they hold something");
        assert!(!idle.is_behind() && !beside_it.is_behind());
        drop((first, third, fourth));
        assert!(!other.is_behind() && places.taken().all.buffered == 0);
    }

    #[test]
    fn each_reason_to_warn_has_its_minute() {
        let mut taken = Taken::default();
        let reasons = [Reason::Address, Reason::Address, Reason::Files, Reason::Accept, Reason::Files];
        assert_eq!(reasons.map(|reason| taken.may_warn(reason)), [true, false, true, true, false]);
    }

    #[test]
    fn some_files_are_kept_for_other_things() {
        for (files, connections) in [(150, 59), (1024, 496), (65_536, 65_008)] {
            assert_eq!(bound(files), connections, "{files}");
        }
    }
}
