//! Bounds on guessing passwords (SECURITY.md, *Bounds*). A network is refused after some failures. An account is never
//! locked: after many failures from all networks together, attempts at it are queued and checked one at a time.

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
/// Failed log-ins per minute, for an address and an account together, and for an address.
const FAILURES_BY_ACCOUNT: u32 = 10;
const FAILURES_BY_ADDRESS: u32 = 60;
/// Entries of `by_network`: networks, and pairs of a network and an account. When the map is full, it is cleared: the
/// counters of accounts still hold.
const REMEMBERED: usize = 100_000;

/// Failures of an account in an hour before its further attempts are queued.
const FREE_FAILURES: u32 = 100;
const HOUR_SECONDS: u64 = 3600;
/// Counters of failures, each for the accounts whose hash selects it. The number is fixed, so that a flood of addresses
/// takes no memory and evicts no counter. Accounts that share a counter are slowed together, which locks nobody out.
const COUNTERS: usize = 1 << 16;

/// How long an attempt waits for its account's permit.
const PERMIT_WITHIN: Duration = Duration::from_secs(30);
/// Attempts that wait for the permit of one account, and those of one network among them: it takes 25 networks to fill the
/// queue. A full queue drains within a few seconds, and a network may fail ten times per minute, so an attacker who keeps
/// the queue full needs new networks all the time.
const WAITING: usize = 100;
const WAITING_OF_NETWORK: usize = 4;
/// `Retry-After` in seconds of an attempt that found the queue full or got no permit in time.
const RETRY_SECONDS: u64 = 5;

pub struct Guesses {
    by_network: Mutex<HashMap<[u8; 32], (Instant, u32)>>,
    by_account: Mutex<Vec<Counter>>,
    queues: Mutex<HashMap<usize, Queue>>,
    permit_within: Duration,
    /// Keyed at random, so that nobody can compute which accounts share a counter.
    hasher: RandomState,
    began: Instant,
}

#[derive(Clone, Copy, Default)]
struct Counter {
    /// Hours since the server started.
    hour: u32,
    failures: u32,
}

/// The queue of attempts at an account.
struct Queue {
    permit: Arc<Semaphore>,
    /// The networks of the waiting attempts.
    waiting: Vec<IpAddr>,
}

/// An attempt's entry in a queue. Dropping it removes the entry: the attempt got its permit, or its request was cancelled.
struct QueueEntry<'a> {
    queues: &'a Mutex<HashMap<usize, Queue>>,
    counter: usize,
    network: IpAddr,
}

impl Drop for QueueEntry<'_> {
    fn drop(&mut self) {
        let mut queues = self.queues.lock().expect("nothing panics while it holds this");
        let Some(queue) = queues.get_mut(&self.counter) else { return };
        if let Some(position) = queue.waiting.iter().position(|network| *network == self.network) {
            queue.waiting.swap_remove(position);
        }
    }
}

/// Held while an attempt is checked. Dropping it lets the next attempt at the account begin.
pub struct Permit(#[expect(dead_code, reason = "held")] OwnedSemaphorePermit);

impl Default for Guesses {
    fn default() -> Self {
        Guesses {
            by_network: Mutex::default(),
            by_account: Mutex::new(vec![Counter::default(); COUNTERS]),
            queues: Mutex::default(),
            permit_within: PERMIT_WITHIN,
            hasher: RandomState::new(),
            began: Instant::now(),
        }
    }
}

impl Guesses {
    /// Counts an attempt as failed until its [`Guesses::end`], so that concurrent attempts count, too. Returns whether it
    /// must wait for a [`Guesses::permit`]. 429 after too many failures of the network.
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

    /// Undoes what [`Guesses::begin`] counted if the password was right. An attempt that ended in an error revealed
    /// nothing about the account, so the account's count is undone. The network's count stays: otherwise an overload would
    /// make attempts free, and one network could sustain the overload.
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

    /// Changes the account's count of failures in this hour, and returns it.
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

    /// Waits for the account's permit, so that one attempt at a time is checked, in the order of asking. 429 if 100 attempts
    /// are waiting already, or four of the same network, and after 30 seconds of waiting.
    pub async fn permit(&self, address: IpAddr, email: &str) -> Result<Permit> {
        let (_entry, permit) = self.enter(network(address), self.counter(email))?;
        match timeout(self.permit_within, permit.acquire_owned()).await {
            Ok(permit) => Ok(Permit(permit.map_err(Error::internal)?)),
            Err(_) => Err(Error::TooMany(RETRY_SECONDS)),
        }
    }

    /// Adds an entry to the queue of the account.
    fn enter(&self, network: IpAddr, counter: usize) -> Result<(QueueEntry<'_>, Arc<Semaphore>)> {
        let mut queues = self.queues.lock().expect("nothing panics while it holds this");
        let queue = queues.entry(counter).or_insert_with(|| Queue { permit: Arc::new(Semaphore::new(1)), waiting: Vec::new() });
        let of_network = queue.waiting.iter().filter(|waiting| **waiting == network).count();
        if queue.waiting.len() >= WAITING || of_network >= WAITING_OF_NETWORK {
            return Err(Error::TooMany(RETRY_SECONDS));
        }
        queue.waiting.push(network);
        Ok((QueueEntry { queues: &self.queues, counter, network }, queue.permit.clone()))
    }

    /// Drops expired counts and empty queues.
    pub fn tidy(&self) {
        let mut failures = self.by_network.lock().expect("nothing panics while it holds this");
        failures.retain(|_, (since, _)| since.elapsed() < MINUTE);
        drop(failures);
        let mut queues = self.queues.lock().expect("nothing panics while it holds this");
        // The map holds one reference, the attempt with the permit another, and each waiting attempt one more.
        queues.retain(|_, queue| Arc::strong_count(&queue.permit) > 1);
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
    fn after_ten_failures_a_network_is_refused_and_others_are_not() {
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
    fn after_100_failures_from_all_networks_attempts_at_an_account_are_queued() {
        let guesses = Guesses::default();
        let begin = |n| guesses.begin(nth(n), "ada@x.example").unwrap();
        assert!((0..99).all(|n| !begin(n)));
        assert!(!begin(99), "a hundredth attempt, with the right password");
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
    async fn attempts_at_an_account_are_checked_one_at_a_time() {
        let guesses = Guesses { permit_within: Duration::from_millis(20), ..Guesses::default() };
        let first = guesses.permit(nth(1), "ada@x.example").await.unwrap();
        assert!(matches!(guesses.permit(nth(1), "Ada@x.example").await, Err(Error::TooMany(RETRY_SECONDS))));
        guesses.permit(nth(1), "grace@x.example").await.unwrap();
        drop(first);
        guesses.permit(nth(1), "ada@x.example").await.unwrap();
        guesses.tidy();
        assert!(guesses.queues.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn a_hundred_attempts_wait_and_one_more_is_refused() {
        let guesses = Guesses::default();
        let first = guesses.permit(nth(0), "ada@x.example").await.unwrap();
        let mut waiting: Vec<_> = (0..WAITING as u32).map(|n| Box::pin(guesses.permit(nth(n / 4), "ada@x.example"))).collect();
        assert!(waiting.iter_mut().all(|permit| permit.as_mut().now_or_never().is_none()));
        assert!(matches!(guesses.permit(nth(25), "ada@x.example").now_or_never(), Some(Err(Error::TooMany(_)))));
        drop(first);
        assert!(waiting[0].as_mut().now_or_never().is_some(), "the one that has waited longest");
        assert!(guesses.permit(nth(25), "ada@x.example").now_or_never().is_none(), "an entry of the queue is free again");
    }

    #[tokio::test]
    async fn four_attempts_of_a_network_wait_and_one_more_is_refused() {
        let guesses = Guesses::default();
        let first = guesses.permit(nth(1), "ada@x.example").await.unwrap();
        let permit = |n| Box::pin(guesses.permit(nth(n), "ada@x.example"));
        let mut waiting: Vec<_> = (0..4).map(|_| permit(1)).collect();
        assert!(waiting.iter_mut().all(|permit| permit.as_mut().now_or_never().is_none()));
        assert!(matches!(permit(1).now_or_never(), Some(Err(Error::TooMany(RETRY_SECONDS)))));
        let mut other = permit(2);
        assert!(other.as_mut().now_or_never().is_none(), "another network has entries of its own");
        assert!(guesses.permit(nth(1), "grace@x.example").now_or_never().is_some(), "and so has another account");
        drop(waiting.pop());
        let mut again = permit(1);
        assert!(again.as_mut().now_or_never().is_none(), "a cancelled attempt leaves the queue");
        drop(first);
        for mut permit in waiting.into_iter().chain([other, again]) {
            assert!(permit.as_mut().now_or_never().is_some(), "each got its permit");
        }
        assert!(guesses.queues.lock().unwrap().values().all(|queue| queue.waiting.is_empty()));
    }

    #[test]
    fn an_attempt_that_was_not_answered_counts_for_its_network_only() {
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
    fn the_memory_of_failures_is_bounded() {
        let guesses = Guesses::default();
        for n in 0..60_000 {
            guesses.begin(nth(n), &format!("{n}@x.example")).unwrap();
        }
        assert!(guesses.by_network.lock().unwrap().len() <= REMEMBERED + 1);
        assert_eq!(guesses.by_account.lock().unwrap().len(), COUNTERS);
    }
}
