//! How many connections count for each address and each user. Every change takes constant time: that of a bounded number of
//! strangers at one address.

use std::{
    collections::{BTreeMap, HashMap},
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::Notify;

use crate::id::Share;

/// Most connections of one user for requests, or sockets and requests together. Further ones count for their address.
pub const MOST_BY_USER: usize = 128;
/// Connections of an address that may be on their way in, for each that it may have afterwards. When a server has restarted, a
/// whole office comes back at once: by default 1,024 sockets and browsers behind one address.
pub const COMING_FOR_EACH: usize = 4;
const WARN_EVERY: Duration = Duration::from_secs(60);

pub struct ConnectionCounts {
    /// Most strangers at one IPv4 address, or at one IPv6 /64.
    most_by_address: usize,
    /// Open connections of all clients.
    pub all: usize,
    addresses: HashMap<IpAddr, Strangers>,
    users: HashMap<Share, usize>,
    /// The ticket that was given last.
    last: u64,
    /// Strangers that were closed for newcomers.
    pub closed: u64,
    /// Newcomers that were refused.
    pub refused: u64,
    /// When each [`Reason`] was last logged.
    warned: [Option<Instant>; 4],
}

/// The connections that count for an address, in two classes that are bounded apart.
#[derive(Default)]
struct Strangers {
    coming: Members,
    answered: Members,
}

#[derive(Default)]
struct Members {
    all: usize,
    /// Those that wait for their client, by ticket: the oldest comes first.
    idle: BTreeMap<u64, Arc<Notify>>,
}

/// The class of a stranger's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// On its way in: before its first answer, or as a socket before its connect is answered.
    Coming,
    Answered,
}

impl Strangers {
    fn of(&mut self, class: Class) -> &mut Members {
        match class {
            Class::Coming => &mut self.coming,
            Class::Answered => &mut self.answered,
        }
    }

    fn all(&self) -> usize {
        self.coming.all + self.answered.all
    }
}

/// How many connections are open, by whom they count for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Open {
    pub users: usize,
    pub strangers: usize,
    /// Connections of trusted proxies and on Unix sockets, those that the server has not begun to read, and those that were just
    /// closed for a newcomer.
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
        let (users, strangers) = (self.users.values().sum(), self.addresses.values().map(Strangers::all).sum());
        Open { users, strangers, others: self.all - users - strangers }
    }

    /// Counts one more idle stranger. If the class is full at its address, its oldest idle one is told to close and no longer counts.
    /// `None` if the server is answering all of them.
    pub fn add_idle_stranger(&mut self, address: IpAddr, class: Class, closing: &Arc<Notify>) -> Option<u64> {
        let (most, bound) = match class {
            Class::Coming => {
                let bound = format!("on their way in, {COMING_FOR_EACH} times as many as --connections-per-address");
                (self.most_by_address.saturating_mul(COMING_FOR_EACH), bound)
            }
            Class::Answered => (self.most_by_address, "as many as --connections-per-address allows".to_owned()),
        };
        let members = self.addresses.entry(address).or_default().of(class);
        if members.all >= most {
            let Some((_, oldest)) = members.idle.pop_first() else {
                self.refused += 1;
                self.warn(Reason::Refused, || {
                    format!(
                        "{address} has {most} connections without a live session, {bound}, and all are being answered: more are \
                         refused"
                    )
                });
                return None;
            };
            oldest.notify_one();
            members.all -= 1;
            self.closed += 1;
            self.warn(Reason::Closed, || {
                format!(
                    "{address} has {most} connections without a live session, {bound}: the oldest idle ones are closed for new ones"
                )
            });
        }
        self.last += 1;
        let members = self.addresses.entry(address).or_default().of(class);
        members.all += 1;
        members.idle.insert(self.last, closing.clone());
        Some(self.last)
    }

    /// Keeps a stranger from being closed. `false` if it was closed already.
    pub fn mark_busy(&mut self, address: IpAddr, class: Class, ticket: u64) -> bool {
        self.addresses.get_mut(&address).is_some_and(|strangers| strangers.of(class).idle.remove(&ticket).is_some())
    }

    /// Lets a stranger be closed again, in the order of its first entry.
    pub fn mark_idle(&mut self, address: IpAddr, class: Class, ticket: u64, closing: &Arc<Notify>) {
        if let Some(strangers) = self.addresses.get_mut(&address) {
            strangers.of(class).idle.insert(ticket, closing.clone());
        }
    }

    /// Removes a stranger; `idle` is the ticket of an idle one. `false` if it was closed already.
    pub fn remove_stranger(&mut self, address: IpAddr, class: Class, idle: Option<u64>) -> bool {
        let Some(strangers) = self.addresses.get_mut(&address) else { return false };
        let members = strangers.of(class);
        if idle.is_some_and(|ticket| members.idle.remove(&ticket).is_none()) {
            return false;
        }
        members.all -= 1;
        if strangers.all() == 0 {
            self.addresses.remove(&address);
        }
        true
    }

    /// Counts one more connection for a user, unless they have as many as they may.
    pub fn add_for_user(&mut self, user: Share, most: usize) -> bool {
        let held = self.users.entry(user).or_default();
        let may = *held < most;
        *held += usize::from(may);
        may
    }

    pub fn remove_for_user(&mut self, user: Share) {
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
    pub fn count_of_user(&self, user: Share) -> usize {
        self.users.get(&user).copied().unwrap_or_default()
    }

    /// Whether the strangers of an address, those on their way in included, are more than half of `--connections-per-address`.
    pub fn is_crowded(&self, address: IpAddr) -> bool {
        self.addresses.get(&address).is_some_and(|strangers| strangers.all() * 2 > self.most_by_address)
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
