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

use super::networks::network;
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
/// Tries that wait for the turn of one account, and those of one network among them: it takes 25 networks to fill the
/// queue. It is through within a few seconds; as one network has ten failures a minute, whoever fills it again and again
/// needs new networks all the time.
const WAITING: usize = 100;
const WAITING_OF_NETWORK: usize = 4;
/// After which a try that found no turn comes again.
const RETRY_SECONDS: u64 = 5;

pub struct Guesses {
    by_network: Mutex<HashMap<[u8; 32], (Instant, u32)>>,
    by_account: Mutex<Vec<Counter>>,
    queues: Mutex<HashMap<usize, Queue>>,
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

/// Of the tries at an account.
struct Queue {
    turn: Arc<Semaphore>,
    /// The network of each that waits.
    waiting: Vec<IpAddr>,
}

/// A place in a queue, left when this is dropped: the turn came, or the request was given up.
struct Place<'a> {
    queues: &'a Mutex<HashMap<usize, Queue>>,
    counter: usize,
    network: IpAddr,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut queues = self.queues.lock().expect("nothing panics while it holds this");
        let Some(queue) = queues.get_mut(&self.counter) else { return };
        if let Some(place) = queue.waiting.iter().position(|network| *network == self.network) {
            queue.waiting.swap_remove(place);
        }
    }
}

/// The next try at the account begins when this is dropped.
pub struct Turn(#[expect(dead_code, reason = "held")] OwnedSemaphorePermit);

impl Default for Guesses {
    fn default() -> Self {
        Guesses {
            by_network: Mutex::default(),
            by_account: Mutex::new(vec![Counter::default(); COUNTERS]),
            queues: Mutex::default(),
            turn_within: TURN_WITHIN,
            hasher: RandomState::new(),
            began: Instant::now(),
        }
    }
}

impl Guesses {
    /// Counts a try as failed until its [`Guesses::end`]: tries that run at the same time count, too. Returns whether
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

    /// Takes back what [`Guesses::begin`] counted when the password was right. A try that was not answered told nothing
    /// about the account and is taken back from it, but not from the network: else an overload would make tries free, and
    /// one network could go on with the overload.
    pub fn end(&self, address: IpAddr, email: &str, checked: &Result<bool>) {
        match checked {
            Ok(true) => self.take_back_of_network(address, email),
            Ok(false) => return,
            Err(_) => {}
        }
        self.counted(email, |failures| failures.saturating_sub(1));
    }

    fn take_back_of_network(&self, address: IpAddr, email: &str) {
        let mut failures = self.by_network.lock().expect("nothing panics while it holds this");
        for (key, _) in keys(address, email) {
            failures.entry(key).and_modify(|(_, count)| *count = count.saturating_sub(1));
        }
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
    /// are waiting already, or four of the same network, and after 30 seconds.
    pub async fn turn(&self, address: IpAddr, email: &str) -> Result<Turn> {
        let (_place, turn) = self.enter(network(address), self.counter(email))?;
        match timeout(self.turn_within, turn.acquire_owned()).await {
            Ok(turn) => Ok(Turn(turn.map_err(Error::internal)?)),
            Err(_) => Err(Error::TooMany(RETRY_SECONDS)),
        }
    }

    /// Takes a place in the queue.
    fn enter(&self, network: IpAddr, counter: usize) -> Result<(Place<'_>, Arc<Semaphore>)> {
        let mut queues = self.queues.lock().expect("nothing panics while it holds this");
        let queue = queues.entry(counter).or_insert_with(|| Queue { turn: Arc::new(Semaphore::new(1)), waiting: Vec::new() });
        let of_network = queue.waiting.iter().filter(|waiting| **waiting == network).count();
        if queue.waiting.len() >= WAITING || of_network >= WAITING_OF_NETWORK {
            return Err(Error::TooMany(RETRY_SECONDS));
        }
        queue.waiting.push(network);
        Ok((Place { queues: &self.queues, counter, network }, queue.turn.clone()))
    }

    /// Forgets what no longer counts.
    pub fn tidy(&self) {
        let mut failures = self.by_network.lock().expect("nothing panics while it holds this");
        failures.retain(|_, (since, _)| since.elapsed() < MINUTE);
        drop(failures);
        let mut queues = self.queues.lock().expect("nothing panics while it holds this");
        // Held by this map, by the try whose turn it is, and by each that waits.
        queues.retain(|_, queue| Arc::strong_count(&queue.turn) > 1);
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
            guesses.end(there, "ada@x.example", &Ok(true));
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
        guesses.end(nth(99), "ada@x.example", &Ok(true));
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
        let first = guesses.turn(nth(1), "ada@x.example").await.unwrap();
        assert!(matches!(guesses.turn(nth(1), "Ada@x.example").await, Err(Error::TooMany(RETRY_SECONDS))));
        guesses.turn(nth(1), "grace@x.example").await.unwrap();
        drop(first);
        guesses.turn(nth(1), "ada@x.example").await.unwrap();
        guesses.tidy();
        assert!(guesses.queues.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn a_hundred_tries_wait_and_one_more_is_sent_away() {
        let guesses = Guesses::default();
        let first = guesses.turn(nth(0), "ada@x.example").await.unwrap();
        let mut waiting: Vec<_> = (0..WAITING as u32).map(|n| Box::pin(guesses.turn(nth(n / 4), "ada@x.example"))).collect();
        assert!(waiting.iter_mut().all(|turn| turn.as_mut().now_or_never().is_none()));
        assert!(matches!(guesses.turn(nth(25), "ada@x.example").now_or_never(), Some(Err(Error::TooMany(_)))));
        drop(first);
        assert!(waiting[0].as_mut().now_or_never().is_some(), "who has waited longest");
        assert!(guesses.turn(nth(25), "ada@x.example").now_or_never().is_none(), "there is room again");
    }

    #[tokio::test]
    async fn four_tries_of_a_network_wait_and_one_more_is_sent_away() {
        let guesses = Guesses::default();
        let first = guesses.turn(nth(1), "ada@x.example").await.unwrap();
        let turn = |n| Box::pin(guesses.turn(nth(n), "ada@x.example"));
        let mut waiting: Vec<_> = (0..4).map(|_| turn(1)).collect();
        assert!(waiting.iter_mut().all(|turn| turn.as_mut().now_or_never().is_none()));
        assert!(matches!(turn(1).now_or_never(), Some(Err(Error::TooMany(RETRY_SECONDS)))));
        let mut other = turn(2);
        assert!(other.as_mut().now_or_never().is_none(), "another network has places of its own");
        assert!(guesses.turn(nth(1), "grace@x.example").now_or_never().is_some(), "and so has another account");
        drop(waiting.pop());
        let mut again = turn(1);
        assert!(again.as_mut().now_or_never().is_none(), "who is given up leaves room");
        drop(first);
        for mut turn in waiting.into_iter().chain([other, again]) {
            assert!(turn.as_mut().now_or_never().is_some(), "each had its turn");
        }
        assert!(guesses.queues.lock().unwrap().values().all(|queue| queue.waiting.is_empty()));
    }

    #[test]
    fn a_try_that_was_not_answered_counts_for_its_network_only() {
        for unanswered in [|| Error::Unavailable("overload"), || Error::TooMany(RETRY_SECONDS)] {
            let guesses = Guesses::default();
            for n in 0..200 {
                assert!(!guesses.begin(nth(n / 10), "ada@x.example").unwrap(), "not for the account");
                guesses.end(nth(n / 10), "ada@x.example", &Err(unanswered()));
            }
            assert!(guesses.begin(nth(0), "ada@x.example").is_err(), "an eleventh of the same network");
            assert!(!guesses.begin(nth(20), "ada@x.example").unwrap());
        }
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
