//! A budget for what clients have asked for, or listen to, and don't read: of all of them together, and of each user. Past it,
//! whoever holds the most is closed as slow, so that others are not.
//!
//! Before that, past half of their budget, a user's commands with long answers are refused, so that sockets that come back as soon as
//! they are closed don't have the server make one answer after the other.
//!
//! It counts memory: an answer in full, and a publication by its receivers. Outboxes report what their sockets have not taken, in
//! steps: sending to a client that reads takes no lock that all share.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;

use crate::id::Share;

/// What an outbox holds is reported in steps of this many bytes. It may hold one step more.
pub const STEP: usize = 16 << 10;
/// The budget is so many times as large as that of each user.
pub const USERS: i64 = 8;

/// What holds unsent data of a user.
pub trait Holder: Send + Sync {
    /// Drops what it holds, and closes its connection as slow.
    fn cut(&self);
}

pub struct Unsent {
    /// Most bytes of all users.
    most: i64,
    held: Mutex<Held>,
}

/// What users hold, without outboxes that are being closed. Reports of one outbox may come in another order than they were made, so
/// that a sum may be below zero for a moment.
#[derive(Default)]
struct Held {
    all: i64,
    users: HashMap<Share, OfUser>,
    /// Holders that were closed for the budget of their user, and for that of all.
    closed: [u64; 2],
}

#[derive(Default)]
struct OfUser {
    bytes: i64,
    /// By the address of the holder.
    parts: HashMap<usize, Part>,
}

struct Part {
    bytes: i64,
    is_closing: bool,
    holder: Weak<dyn Holder>,
}

/// A holder, and the user whose budget it takes from.
pub struct Account {
    unsent: Arc<Unsent>,
    user: Share,
    holder: Weak<dyn Holder>,
}

impl Unsent {
    pub fn new(most: usize) -> Arc<Unsent> {
        Arc::new(Unsent { most: most as i64, held: Mutex::default() })
    }

    pub fn account(self: &Arc<Self>, user: Share, holder: Weak<dyn Holder>) -> Account {
        Account { unsent: self.clone(), user, holder }
    }

    /// What all users hold.
    pub fn bytes(&self) -> i64 {
        self.held.lock().all
    }

    /// How many holders were closed for the budget of their user, and for that of all, since the start.
    pub fn closed(&self) -> [u64; 2] {
        self.held.lock().closed
    }
}

impl Account {
    /// Reports that the holder has more, or less. Returns the holder that has to be cut, if that is too much: the largest of the
    /// user, or of the user who holds the most.
    pub fn report(&self, change: i64) -> Option<Arc<dyn Holder>> {
        let mut held = self.unsent.held.lock();
        let users_bytes = held.change(self, change);
        if change <= 0 {
            None
        } else if users_bytes > self.unsent.most / USERS {
            held.close_largest(self.user, 0)
        } else if held.all > self.unsent.most {
            let largest = held.users.iter().max_by_key(|(_, of)| of.bytes).map(|(user, _)| *user);
            held.close_largest(largest?, 1)
        } else {
            None
        }
    }

    /// Whether the user holds more than half of their budget.
    pub fn is_past_half(&self) -> bool {
        let held = self.unsent.held.lock();
        held.users.get(&self.user).is_some_and(|of_user| of_user.bytes > self.unsent.most / USERS / 2)
    }
}

impl Held {
    /// Changes what a holder has. Returns what its user has.
    fn change(&mut self, account: &Account, change: i64) -> i64 {
        let of_user = self.users.entry(account.user).or_default();
        let key = account.holder.as_ptr().cast::<()>() as usize;
        let new = || Part { bytes: 0, is_closing: false, holder: account.holder.clone() };
        let part = of_user.parts.entry(key).or_insert_with(new);
        part.bytes += change;
        let counted = if part.is_closing { 0 } else { change };
        if part.bytes == 0 {
            of_user.parts.remove(&key);
        }
        of_user.bytes += counted;
        self.all += counted;
        let users_bytes = of_user.bytes;
        if of_user.parts.is_empty() {
            self.users.remove(&account.user);
        }
        users_bytes
    }

    fn close_largest(&mut self, user: Share, reason: usize) -> Option<Arc<dyn Holder>> {
        let of_user = self.users.get_mut(&user)?;
        let largest = of_user.parts.values_mut().filter(|part| !part.is_closing).max_by_key(|part| part.bytes)?;
        largest.is_closing = true;
        of_user.bytes -= largest.bytes;
        self.all -= largest.bytes;
        self.closed[reason] += 1;
        largest.holder.upgrade()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

    use super::*;
    use crate::id::UserId;

    const MOST: i64 = 8 << 20;

    /// Holds bytes until it is cut.
    struct Socket {
        bytes: AtomicI64,
        account: Account,
    }

    impl Holder for Socket {
        fn cut(&self) {
            self.account.report(-self.bytes.swap(0, Relaxed));
        }
    }

    impl Socket {
        fn new(unsent: &Arc<Unsent>, user: Share) -> Arc<Socket> {
            Arc::new_cyclic(|socket: &Weak<Socket>| Socket { bytes: 0.into(), account: unsent.account(user, socket.clone()) })
        }

        fn hold(&self, bytes: i64) {
            self.bytes.fetch_add(bytes, Relaxed);
            if let Some(largest) = self.account.report(bytes) {
                largest.cut();
            }
        }

        fn holds(&self) -> i64 {
            self.bytes.load(Relaxed)
        }
    }

    #[test]
    fn past_the_budget_of_a_user_their_largest_is_cut() {
        let unsent = Unsent::new(MOST as usize);
        let (ada, grace) = (Share::Person(UserId::new()), Share::Person(UserId::new()));
        let [small, large, other] = [ada, ada, grace].map(|user| Socket::new(&unsent, user));
        small.hold(400_000);
        large.hold(MOST / USERS - 400_000);
        other.hold(MOST / USERS);
        assert_eq!(unsent.closed(), [0, 0], "within the budgets");
        assert!(small.account.is_past_half() && other.account.is_past_half());
        small.hold(1);
        assert!(!small.account.is_past_half(), "what is being closed doesn't count");
        assert_eq!([&small, &large, &other].map(|socket| socket.holds()), [400_001, 0, MOST / USERS]);
        assert_eq!((unsent.bytes(), unsent.closed()), (400_001 + MOST / USERS, [1, 0]));
        small.cut();
        other.cut();
        assert!(unsent.bytes() == 0 && unsent.held.lock().users.is_empty());
    }

    #[test]
    fn past_the_budget_of_all_the_largest_of_the_user_who_holds_the_most_is_cut() {
        let unsent = Unsent::new(MOST as usize);
        // Of these the last one holds the most.
        let held: Vec<_> = (0..USERS)
            .map(|n| {
                let user = Share::Person(UserId::new());
                [0, 1].map(|socket| {
                    let made = Socket::new(&unsent, user);
                    made.hold(490_000 + n * 1000 + socket);
                    made
                })
            })
            .collect();
        let reader = Socket::new(&unsent, Share::Person(UserId::new()));
        reader.hold(900_000);
        let cut = held.iter().flatten().filter(|socket| socket.holds() == 0).count();
        assert_eq!((cut, held[USERS as usize - 1][1].holds(), unsent.closed()), (1, 0, [0, 1]));
        assert_eq!(reader.holds(), 900_000, "though no other socket holds as much");
    }

    #[test]
    fn reports_may_overtake_one_another() {
        let unsent = Unsent::new(MOST as usize);
        let socket = Socket::new(&unsent, Share::Person(UserId::new()));
        for _ in 0..100 {
            assert!(socket.account.report(-MOST / USERS).is_none() && socket.account.report(MOST / USERS).is_none());
        }
        assert!(unsent.bytes() == 0 && unsent.held.lock().users.is_empty());
    }
}
