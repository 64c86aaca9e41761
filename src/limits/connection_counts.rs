//! How many connections count for each address and each user. Every change takes constant time: that of a bounded number of
//! strangers at one address.

use std::{
    collections::{BTreeMap, HashMap},
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::Notify;

use crate::id::UserId;

/// Most connections that count for one user: 100 sockets, and some for requests. Further ones count for their address.
pub const MOST_BY_USER: usize = 128;
const WARN_EVERY: Duration = Duration::from_secs(60);

pub struct ConnectionCounts {
    /// Most strangers at one IPv4 address, or at one IPv6 /64.
    most_by_address: usize,
    /// Open connections of all clients.
    pub all: usize,
    addresses: HashMap<IpAddr, Strangers>,
    users: HashMap<UserId, usize>,
    /// The ticket that was given last.
    last: u64,
    /// Strangers that were closed for newcomers.
    pub closed: u64,
    /// Newcomers that were refused.
    pub refused: u64,
    /// When each [`Reason`] was last logged.
    warned: [Option<Instant>; 4],
}

/// The connections that count for an address.
#[derive(Default)]
struct Strangers {
    all: usize,
    /// Connections that wait for their client, by ticket: the oldest comes first.
    idle: BTreeMap<u64, Arc<Notify>>,
}

/// How many connections are open, by whom they count for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Open {
    pub users: usize,
    pub strangers: usize,
    /// Connections of trusted proxies and on Unix sockets, and those that were just closed for a newcomer.
    pub others: usize,
}

/// Counts that are logged once per minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Closed,
    Refused,
    Files,
    Accept,
}

impl ConnectionCounts {
    pub fn new(most_by_address: usize) -> ConnectionCounts {
        ConnectionCounts {
            most_by_address,
            all: 0,
            addresses: HashMap::new(),
            users: HashMap::new(),
            last: 0,
            closed: 0,
            refused: 0,
            warned: [None; 4],
        }
    }

    pub fn open_counts(&self) -> Open {
        let (users, strangers) = (self.users.values().sum(), self.addresses.values().map(|strangers| strangers.all).sum());
        Open { users, strangers, others: self.all - users - strangers }
    }

    /// Counts one more idle stranger. If the address is full, its oldest idle one is told to close and no longer counts.
    /// `None` if no one is idle.
    pub fn add_idle_stranger(&mut self, address: IpAddr, closing: &Arc<Notify>) -> Option<u64> {
        let most = self.most_by_address;
        let strangers = self.addresses.entry(address).or_default();
        if strangers.all >= most {
            let Some((_, oldest)) = strangers.idle.pop_first() else {
                self.refused += 1;
                self.warn(Reason::Refused, || {
                    format!(
                        "{address} has {most} connections without a live session, as many as --connections-per-address allows, \
                         and all are being answered: more are refused"
                    )
                });
                return None;
            };
            oldest.notify_one();
            strangers.all -= 1;
            self.closed += 1;
            self.warn(Reason::Closed, || {
                format!(
                    "{address} has {most} connections without a live session, as many as --connections-per-address allows: the \
                     oldest idle ones are closed for new ones"
                )
            });
        }
        self.last += 1;
        let strangers = self.addresses.entry(address).or_default();
        strangers.all += 1;
        strangers.idle.insert(self.last, closing.clone());
        Some(self.last)
    }

    /// Keeps a stranger from being closed. `false` if it was closed already.
    pub fn mark_busy(&mut self, address: IpAddr, ticket: u64) -> bool {
        self.addresses.get_mut(&address).is_some_and(|strangers| strangers.idle.remove(&ticket).is_some())
    }

    /// Lets a stranger be closed again, in the order of its first entry.
    pub fn mark_idle(&mut self, address: IpAddr, ticket: u64, closing: &Arc<Notify>) {
        if let Some(strangers) = self.addresses.get_mut(&address) {
            strangers.idle.insert(ticket, closing.clone());
        }
    }

    /// Removes a stranger; `idle` is the ticket of an idle one. `false` if it was closed already.
    pub fn remove_stranger(&mut self, address: IpAddr, idle: Option<u64>) -> bool {
        let Some(strangers) = self.addresses.get_mut(&address) else { return false };
        if idle.is_some_and(|ticket| strangers.idle.remove(&ticket).is_none()) {
            return false;
        }
        strangers.all -= 1;
        if strangers.all == 0 {
            self.addresses.remove(&address);
        }
        true
    }

    /// Counts one more connection for a user, unless they have as many as they may.
    pub fn add_for_user(&mut self, user: UserId) -> bool {
        let held = self.users.entry(user).or_default();
        let may = *held < MOST_BY_USER;
        *held += usize::from(may);
        may
    }

    pub fn remove_for_user(&mut self, user: UserId) {
        let held = self.users.entry(user).or_default();
        *held -= 1;
        if *held == 0 {
            self.users.remove(&user);
        }
    }

    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.all == 0 && self.addresses.is_empty() && self.users.is_empty()
    }

    /// Connections that count for a user.
    #[cfg(test)]
    pub fn count_of_user(&self, user: UserId) -> usize {
        self.users.get(&user).copied().unwrap_or_default()
    }

    /// Whether the strangers of an address have more than half of what they may have.
    pub fn is_crowded(&self, address: IpAddr) -> bool {
        self.addresses.get(&address).is_some_and(|strangers| strangers.all * 2 > self.most_by_address)
    }

    fn warn(&mut self, reason: Reason, message: impl FnOnce() -> String) {
        if self.may_warn(reason) {
            tracing::warn!("{}", message());
        }
    }

    /// Whether a reason may be logged now: once per minute for each.
    pub fn may_warn(&mut self, reason: Reason) -> bool {
        let warned = &mut self.warned[reason as usize];
        let may = warned.is_none_or(|warned| warned.elapsed() >= WARN_EVERY);
        if may {
            *warned = Some(Instant::now());
        }
        may
    }
}
