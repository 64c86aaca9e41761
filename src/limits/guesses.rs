//! Guesses of passwords (SECURITY.md, *Bounds*). One network is refused after some failures. One account is never locked:
//! after many failures from all networks together its tries wait for their turn, one at a time.

use std::{
    collections::{HashMap, hash_map::RandomState},
    hash::BuildHasher,
    net::IpAddr,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::network;
use crate::{
    error::{Error, Result},
    secret,
};

const MINUTE: Duration = Duration::from_secs(60);
/// Failed log-ins a minute, for one address and account together, and for one address.
const FAILURES_BY_ACCOUNT: u32 = 10;
const FAILURES_BY_ADDRESS: u32 = 60;
/// Networks, and accounts tried by them, that are remembered at once. When there are more they are all forgotten: the
/// counters of accounts go on.
const REMEMBERED: usize = 100_000;

/// Failures of an account in an hour that cost its further tries nothing.
const FREE_FAILURES: u32 = 100;
const HOUR_SECONDS: u64 = 3600;
/// Counters of accounts. A fixed number, so that no flood of addresses takes memory or drives a counter out: accounts
/// that share one are slowed together, which locks nobody out.
const COUNTERS: usize = 1 << 16;

/// For a try's turn to come.
const TURN_WITHIN: Duration = Duration::from_secs(30);
/// Tries that wait for the turn of one account: they are through within a few seconds. As one network has ten failures a
/// minute, it takes ten networks a few seconds long to fill the queue once, and the next try finds room again.
const WAITING: usize = 100;
/// After which a try that found no turn comes again.
const RETRY_SECONDS: u64 = 5;

pub struct Guesses {
    by_network: Mutex<HashMap<[u8; 32], (Instant, u32)>>,
    by_account: Mutex<Vec<Counter>>,
    turns: Mutex<HashMap<usize, Arc<Semaphore>>>,
    turn_within: Duration,
    /// Makes it unknown which accounts share a counter.
    hasher: RandomState,
    began: Instant,
}

#[derive(Clone, Copy, Default)]
struct Counter {
    /// Since the server began.
    hour: u32,
    failures: u32,
}

/// The next try at the account begins when this is dropped.
pub struct Turn(#[expect(dead_code, reason = "held")] OwnedSemaphorePermit);

impl Default for Guesses {
    fn default() -> Self {
        Guesses {
            by_network: Mutex::default(),
            by_account: Mutex::new(vec![Counter::default(); COUNTERS]),
            turns: Mutex::default(),
            turn_within: TURN_WITHIN,
            hasher: RandomState::new(),
            began: Instant::now(),
        }
    }
}

impl Guesses {
    /// Counts a try as failed until [`Guesses::take_back`]: tries that run at the same time count, too. Returns whether
    /// it must wait for its [`Guesses::turn`]. 429 after too many from the network.
    pub fn begin(&self, address: IpAddr, email: &str) -> Result<bool> {
        self.begin_of_network(address, email)?;
        Ok(self.counted(email, |failures| failures.saturating_add(1)) > FREE_FAILURES)
    }

    fn begin_of_network(&self, address: IpAddr, email: &str) -> Result<()> {
        let mut failures = self.by_network.lock().expect("nothing panics while it holds this");
        if failures.len() >= REMEMBERED {
            failures.clear();
        }
        for (key, most) in keys(address, email) {
            let (since, count) = failures.entry(key).or_insert((Instant::now(), 0));
            if since.elapsed() >= MINUTE {
                (*since, *count) = (Instant::now(), 0);
            }
            if *count >= most {
                return Err(Error::TooMany((MINUTE - since.elapsed()).as_secs() + 1));
            }
        }
        for (key, _) in keys(address, email) {
            failures.entry(key).and_modify(|(_, count)| *count += 1);
        }
        Ok(())
    }

    /// The try did not fail, or was not made.
    pub fn take_back(&self, address: IpAddr, email: &str) {
        let mut failures = self.by_network.lock().expect("nothing panics while it holds this");
        for (key, _) in keys(address, email) {
            failures.entry(key).and_modify(|(_, count)| *count = count.saturating_sub(1));
        }
        drop(failures);
        self.counted(email, |failures| failures.saturating_sub(1));
    }

    /// Changes the account's failures of this hour, and returns them.
    fn counted(&self, email: &str, change: impl Fn(u32) -> u32) -> u32 {
        let hour = (self.began.elapsed().as_secs() / HOUR_SECONDS) as u32;
        let mut counters = self.by_account.lock().expect("nothing panics while it holds this");
        let counter = &mut counters[self.counter(email)];
        if counter.hour != hour {
            *counter = Counter { hour, failures: 0 };
        }
        counter.failures = change(counter.failures);
        counter.failures
    }

    /// Waits until no other try at the account is under way; they come in the order in which they asked. 429 when 100
    /// are waiting already, and after 30 seconds.
    pub async fn turn(&self, email: &str) -> Result<Turn> {
        let turn = {
            let mut turns = self.turns.lock().expect("nothing panics while it holds this");
            let turn = turns.entry(self.counter(email)).or_insert_with(|| Arc::new(Semaphore::new(1)));
            // Held by this map, by the try whose turn it is, and by each that waits.
            if Arc::strong_count(turn) >= 2 + WAITING {
                return Err(Error::TooMany(RETRY_SECONDS));
            }
            turn.clone()
        };
        match timeout(self.turn_within, turn.acquire_owned()).await {
            Ok(turn) => Ok(Turn(turn.map_err(Error::internal)?)),
            Err(_) => Err(Error::TooMany(RETRY_SECONDS)),
        }
    }

    /// Forgets what no longer counts.
    pub fn tidy(&self) {
        let mut failures = self.by_network.lock().expect("nothing panics while it holds this");
        failures.retain(|_, (since, _)| since.elapsed() < MINUTE);
        drop(failures);
        let mut turns = self.turns.lock().expect("nothing panics while it holds this");
        turns.retain(|_, turn| Arc::strong_count(turn) > 1);
    }

    fn counter(&self, email: &str) -> usize {
        self.hasher.hash_one(account(email)) as usize % COUNTERS
    }
}

/// How the address is written makes no difference.
fn account(email: &str) -> String {
    email.trim().to_ascii_lowercase()
}

fn keys(address: IpAddr, email: &str) -> [([u8; 32], u32); 2] {
    let address = network(address);
    [
        (secret::sha256(&format!("{address} {}", account(email))), FAILURES_BY_ACCOUNT),
        (secret::sha256(&address.to_string()), FAILURES_BY_ADDRESS),
    ]
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn ten_failures_are_taken_and_others_are_not_locked_out() {
        let guesses = Guesses::default();
        let (here, there): (IpAddr, IpAddr) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        for _ in 0..10 {
            guesses.begin(here, "ada@x.example").unwrap();
        }
        for _ in 0..20 {
            guesses.begin(there, "ada@x.example").unwrap();
            guesses.take_back(there, "ada@x.example");
        }
        assert!(matches!(guesses.begin(here, "Ada@x.example"), Err(Error::TooMany(1..=61))));
        guesses.begin(there, "ada@x.example").unwrap();
        guesses.begin(here, "grace@x.example").unwrap();
    }

    fn nth(n: u32) -> IpAddr {
        IpAddr::V4((0x0a00_0000 + n).into())
    }

    #[test]
    fn after_100_failures_from_all_networks_an_account_waits_its_turn() {
        let guesses = Guesses::default();
        let begin = |n| guesses.begin(nth(n), "ada@x.example").unwrap();
        assert!((0..99).all(|n| !begin(n)));
        assert!(!begin(99), "a hundredth try that is right");
        guesses.take_back(nth(99), "ada@x.example");
        assert!(!begin(100), "the hundredth failure");
        assert!(begin(101), "one more");
        assert!(guesses.begin(nth(102), " ADA@x.example").unwrap());
        assert!(!guesses.begin(nth(101), "grace@x.example").unwrap());
    }

    #[test]
    fn failures_of_an_hour_ago_do_not_count() {
        let ago = Instant::now().checked_sub(Duration::from_secs(3599)).expect("the machine has run for an hour");
        let mut guesses = Guesses { began: ago, ..Guesses::default() };
        (0..200).for_each(|n| _ = guesses.begin(nth(n), "ada@x.example").unwrap());
        guesses.began -= Duration::from_secs(2);
        assert!(!guesses.begin(nth(200), "ada@x.example").unwrap());
    }

    #[tokio::test]
    async fn turns_at_an_account_come_one_at_a_time() {
        let guesses = Guesses { turn_within: Duration::from_millis(20), ..Guesses::default() };
        let first = guesses.turn("ada@x.example").await.unwrap();
        assert!(matches!(guesses.turn("Ada@x.example").await, Err(Error::TooMany(RETRY_SECONDS))));
        guesses.turn("grace@x.example").await.unwrap();
        drop(first);
        guesses.turn("ada@x.example").await.unwrap();
        guesses.tidy();
        assert!(guesses.turns.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn a_hundred_tries_wait_and_one_more_is_sent_away() {
        let guesses = Guesses::default();
        let first = guesses.turn("ada@x.example").await.unwrap();
        let mut waiting: Vec<_> = (0..WAITING).map(|_| Box::pin(guesses.turn("ada@x.example"))).collect();
        assert!(waiting.iter_mut().all(|turn| turn.as_mut().now_or_never().is_none()));
        assert!(matches!(guesses.turn("ada@x.example").now_or_never(), Some(Err(Error::TooMany(_)))));
        drop(first);
        assert!(waiting[0].as_mut().now_or_never().is_some(), "who has waited longest");
        drop(waiting.remove(0));
        assert!(guesses.turn("ada@x.example").now_or_never().is_none(), "there is room again");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let guesses = Guesses::default();
        for n in 0..60_000 {
            guesses.begin(nth(n), &format!("{n}@x.example")).unwrap();
        }
        assert!(guesses.by_network.lock().unwrap().len() <= REMEMBERED + 1);
        assert_eq!(guesses.by_account.lock().unwrap().len(), COUNTERS);
    }
}
