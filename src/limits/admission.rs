//! Bounds on connections, of all clients and of one address.

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

use super::{
    buffering::{Buffering, Client},
    networks,
};
use crate::client_address;

/// Open files that are reserved for everything but clients' connections: the database, deliveries and tests of webhooks,
/// mails.
const OTHER_FILES: usize = 512;
/// Connections past the bound that may still ask for `/health`. A new one closes the oldest of them.
pub const RESERVE: usize = 16;
/// Connections that keep their buffers, some 15 KiB each, between two requests; others free them at once. The number is
/// small because the allocator doesn't return all freed buffers to the system.
const KEPT: usize = 512;
const WARN_EVERY: Duration = Duration::from_secs(60);

pub struct Slots {
    /// Most connections of all clients.
    most: usize,
    /// Most connections of one IPv4 address, or of one IPv6 /64.
    most_by_address: usize,
    /// Trusted proxies. Their connections have no bound by address: one address serves many clients there, and a proxy
    /// has bounds of its own.
    proxies: Vec<IpNet>,
    taken: Mutex<Taken>,
    buffering: Arc<Buffering>,
    kept: Arc<Semaphore>,
}

#[derive(Default)]
struct Taken {
    all: usize,
    addresses: HashMap<IpAddr, usize>,
    /// When each [`Reason`] was last logged.
    warned: [Option<Instant>; 3],
}

/// Whether a new connection is accepted.
pub enum Admission {
    Slot(Slot),
    /// Too many connections are open: this one may ask for `/health`, and nothing else.
    Reserve(Slot),
    /// Too many connections of its address are open.
    Refused,
}

impl Slots {
    /// As many slots as the limit of open files leaves; at most `most_by_address` of them for one address.
    pub fn new(most_by_address: usize, proxies: &[IpNet]) -> Arc<Slots> {
        let files = getrlimit(Resource::Nofile).current.map_or(usize::MAX, |files| files as usize);
        Slots::of(bound(files), most_by_address, proxies)
    }

    fn of(most: usize, most_by_address: usize, proxies: &[IpNet]) -> Arc<Slots> {
        let kept = Arc::new(Semaphore::new(KEPT));
        let (proxies, buffering) = (proxies.to_vec(), Arc::default());
        Arc::new(Slots { most, most_by_address, proxies, taken: Mutex::default(), buffering, kept })
    }

    pub fn admit(self: &Arc<Self>, peer: IpAddr) -> Admission {
        let address = self.counted(peer);
        let mut taken = self.taken();
        let of_address = address.and_then(|address| taken.addresses.get(&address)).copied().unwrap_or_default();
        if of_address >= self.most_by_address {
            if taken.may_warn(Reason::Address) {
                tracing::warn!(
                    "{peer} has {of_address} connections open, as many as --connections-per-address allows: more are refused"
                );
            }
            return Admission::Refused;
        }
        let open = taken.all;
        if open >= self.most && taken.may_warn(Reason::Files) {
            tracing::warn!("{open} connections are open, as many as the limit of open files allows: raise it (ulimit -n)");
        }
        taken.count(address, |connections| *connections += 1);
        let slot = Slot { slots: self.clone(), address };
        if open < self.most { Admission::Slot(slot) } else { Admission::Reserve(slot) }
    }

    #[cfg(test)]
    pub fn open(&self) -> usize {
        self.taken().all
    }

    #[cfg(test)]
    pub fn buffered(&self) -> usize {
        self.buffering.all()
    }

    /// Logs that accepting a connection failed.
    pub fn failed(&self, err: &std::io::Error) {
        if self.taken().may_warn(Reason::Accept) {
            tracing::warn!(%err, "can't accept connections");
        }
    }

    /// The address by which a peer is counted; `None` for a trusted proxy.
    fn counted(&self, peer: IpAddr) -> Option<IpAddr> {
        (!client_address::is_proxy(&self.proxies, peer)).then(|| networks::network(peer))
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().expect("nothing panics while it holds this")
    }
}

/// Most connections under a limit of open files.
fn bound(files: usize) -> usize {
    files - OTHER_FILES.min(files / 2) - RESERVE.min(files / 8)
}

impl Taken {
    /// Changes the number of all connections, and that of the address.
    fn count(&mut self, address: Option<IpAddr>, change: impl Fn(&mut usize)) {
        change(&mut self.all);
        let Some(address) = address else { return };
        let connections = self.addresses.entry(address).or_default();
        change(connections);
        if *connections == 0 {
            self.addresses.remove(&address);
        }
    }

    /// Whether a reason may be logged now: once per minute for each.
    fn may_warn(&mut self, reason: Reason) -> bool {
        let warned = &mut self.warned[reason as usize];
        let may = warned.is_none_or(|warned| warned.elapsed() >= WARN_EVERY);
        if may {
            *warned = Some(Instant::now());
        }
        may
    }
}

/// Why a connection is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Address,
    Files,
    Accept,
}

/// A connection's slot. Dropping it frees the slot.
pub struct Slot {
    slots: Arc<Slots>,
    /// `None` for a trusted proxy.
    address: Option<IpAddr>,
}

impl Slot {
    /// Whether the connection is a trusted proxy's.
    pub fn is_of_proxy(&self) -> bool {
        self.address.is_none()
    }

    /// The client of a request, for counting what the server buffers for it.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> Client {
        self.slots.buffering.client(networks::network(client_address::of(&self.slots.proxies, peer, headers)))
    }

    /// A permit to keep this connection's buffers between two requests, if fewer than [`KEPT`] others have one.
    pub fn keep_buffers(&self) -> Option<OwnedSemaphorePermit> {
        self.slots.kept.clone().try_acquire_owned().ok()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.taken().count(self.address, |connections| *connections -= 1);
    }
}

#[cfg(test)]
mod tests {
    use poem::http::HeaderValue;

    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn slot(admission: Admission) -> Slot {
        match admission {
            Admission::Slot(slot) => slot,
            Admission::Reserve(_) => panic!("only from the reserve"),
            Admission::Refused => panic!("refused"),
        }
    }

    #[test]
    fn an_address_has_a_bound_of_connections_and_frees_them_by_closing() {
        let slots = Slots::of(100, 3, &[]);
        let mut held: Vec<_> = (0..3).map(|n| slot(slots.admit(address(&format!("2001:db8::{n}"))))).collect();
        assert!(matches!(slots.admit(address("2001:db8::9")), Admission::Refused), "the same /64");
        slot(slots.admit(address("2001:db8:0:1::9")));
        held.pop();
        slot(slots.admit(address("2001:db8::9")));
        drop(held);
        assert!(slots.taken().addresses.is_empty() && slots.taken().all == 0);
    }

    #[test]
    fn connections_of_a_proxy_are_not_counted_by_its_address() {
        let slots = Slots::of(100, 3, &["10.0.0.0/8".parse().unwrap()]);
        let held: Vec<_> = (0..50).map(|_| slot(slots.admit(address("::ffff:10.1.2.3")))).collect();
        assert_eq!(slots.taken().all, held.len());
    }

    #[test]
    fn connections_past_the_bound_are_in_the_reserve() {
        let slots = Slots::of(2, 100, &[]);
        let mut held: Vec<_> = (0..2).map(|_| slot(slots.admit(address("192.0.2.1")))).collect();
        assert!(matches!(slots.admit(address("192.0.2.2")), Admission::Reserve(_)));
        held.pop();
        slot(slots.admit(address("192.0.2.2")));
    }

    #[test]
    fn what_is_buffered_counts_by_the_clients_address() {
        let slots = Slots::of(100, 100, &["10.0.0.0/8".parse().unwrap()]);
        let client = |peer: &str, forwarded: &'static str| {
            let headers = HeaderMap::from_iter([("x-forwarded-for".parse().unwrap(), HeaderValue::from_static(forwarded))]);
            slot(slots.admit(address(peer))).client(address(peer), &headers)
        };
        let [slow, beside] = ["203.0.113.9", "invented"].map(|forwarded| client("192.0.2.1", forwarded));
        let [behind_proxy, beside_it] = ["203.0.113.1", "203.0.113.2"].map(|forwarded| client("10.0.0.1", forwarded));
        let _buffered = [slow.buffer(8 << 20), behind_proxy.buffer(1)];
        assert!(slow.is_behind() && beside.is_behind() && behind_proxy.is_behind());
        assert!(!beside_it.is_behind() && !client("192.0.2.3", "192.0.2.1").is_behind());
    }

    #[test]
    fn each_reason_is_logged_once_per_minute() {
        let mut taken = Taken::default();
        let reasons = [Reason::Address, Reason::Address, Reason::Files, Reason::Accept, Reason::Files];
        assert_eq!(reasons.map(|reason| taken.may_warn(reason)), [true, false, true, true, false]);
    }

    #[test]
    fn some_open_files_are_reserved_for_other_uses() {
        for (files, connections) in [(150, 59), (1024, 496), (65_536, 65_008)] {
            assert_eq!(bound(files), connections, "{files}");
        }
    }
}
