//! Counters of failures that are forgotten evenly, in a fixed amount of memory.

use std::{collections::hash_map::RandomState, hash::BuildHasher, net::IpAddr, time::Duration};

use parking_lot::Mutex;

pub(super) struct Failures {
    /// Their number is fixed, so that a flood of names takes no memory and evicts no counter. Names that share a counter are
    /// slowed together, which locks nobody out.
    counters: Mutex<Vec<Counter>>,
    number: usize,
    /// The time after which one failure is forgotten, and then the next.
    forgotten_after: Duration,
    /// Keyed at random, so that nobody can compute which names share a counter.
    hasher: RandomState,
}

/// Failures that a counter holds at most, so that an account is slow for half a day after an attack, and not for weeks.
const MOST: u32 = 1200;

/// The number of a counter: that of the names whose hash selects it.
pub(super) type Key = usize;

#[derive(Clone, Copy, Default)]
struct Counter {
    /// The millisecond in which the last failure is forgotten. Together with the time now, it is the number of failures.
    empty_at: u64,
    /// One bit for each hash of a network with a failure since the counter was last empty.
    networks: u64,
}

impl Failures {
    pub(super) fn new(forgotten_after: Duration, number: usize) -> Failures {
        let counters = Mutex::new(vec![Counter::default(); number]);
        Failures { counters, number, forgotten_after, hasher: RandomState::new() }
    }

    pub(super) fn key(&self, name: &str) -> Key {
        self.hasher.hash_one(name) as usize % self.number
    }

    /// The failures that are not forgotten. A part of one counts as a whole.
    pub(super) fn count(&self, key: Key, now: Duration) -> u32 {
        self.count_of(self.counters.lock()[key], now)
    }

    fn count_of(&self, counter: Counter, now: Duration) -> u32 {
        counter.empty_at.saturating_sub(millis(now)).div_ceil(millis(self.forgotten_after)) as u32
    }

    /// Counts a failure if there are fewer than `most`. Returns whether it did.
    pub(super) fn add_below(&self, most: u32, key: Key, network: IpAddr, now: Duration) -> bool {
        let counter = &mut self.counters.lock()[key];
        if self.count_of(*counter, now) >= most {
            return false;
        }
        if counter.empty_at <= millis(now) {
            *counter = Counter { empty_at: millis(now), networks: 0 };
        }
        counter.empty_at += millis(self.forgotten_after);
        counter.networks |= 1 << (self.hasher.hash_one(network) % 64);
        true
    }

    /// Counts a failure, up to [`MOST`].
    pub(super) fn add(&self, key: Key, network: IpAddr, now: Duration) {
        self.add_below(MOST, key, network, now);
    }

    /// Takes a failure back that was none.
    pub(super) fn take_back(&self, key: Key) {
        let counter = &mut self.counters.lock()[key];
        counter.empty_at = counter.empty_at.saturating_sub(millis(self.forgotten_after));
    }

    /// About how many networks failed since the counter was last empty, by linear counting: exact for a few, some ten percent
    /// off for a hundred, and at most 266.
    pub(super) fn networks(&self, key: Key) -> u32 {
        let unset = self.counters.lock()[key].networks.count_zeros().max(1);
        (64.0 * (64.0 / f64::from(unset)).ln()).round() as u32
    }
}

fn millis(time: Duration) -> u64 {
    time.as_millis() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const EACH: Duration = Duration::from_secs(36);
    const NUMBER: usize = 1 << 10;

    fn nth(n: u32) -> IpAddr {
        IpAddr::V4((0x0a00_0000 + n).into())
    }

    #[test]
    fn failures_are_forgotten_one_by_one() {
        let failures = Failures::new(EACH, NUMBER);
        let (ada, began) = (failures.key("ada"), Duration::from_secs(5000));
        (0..100).for_each(|n| failures.add(ada, nth(n), began));
        let after = |seconds: u64| failures.count(ada, began + Duration::from_secs(seconds));
        assert_eq!([after(0), after(35), after(36), after(37), after(72)], [100, 100, 99, 99, 98]);
        assert_eq!([after(3599), after(3600), after(90_000)], [1, 0, 0], "an hour for a hundred");
    }

    #[test]
    fn a_failure_is_counted_below_the_most_only_and_can_be_taken_back() {
        let failures = Failures::new(EACH, NUMBER);
        let (ada, now) = (failures.key("ada"), Duration::ZERO);
        let add = || failures.add_below(2, ada, nth(1), now);
        assert_eq!([add(), add(), add()], [true, true, false]);
        failures.take_back(ada);
        assert_eq!([add(), add()], [true, false]);
        (0..5).for_each(|_| failures.take_back(ada));
        assert_eq!(failures.count(ada, now), 0);
    }

    #[test]
    fn networks_are_counted_once_each_until_the_counter_is_empty() {
        let failures = Failures::new(EACH, NUMBER);
        let ada = failures.key("ada");
        (0..20).for_each(|_| failures.add(ada, nth(1), Duration::ZERO));
        assert_eq!(failures.networks(ada), 1);
        (0..200).for_each(|n| failures.add(ada, nth(n), Duration::ZERO));
        assert!((100..=266).contains(&failures.networks(ada)), "{}", failures.networks(ada));
        failures.add(ada, nth(2), Duration::from_secs(36 * 220));
        assert_eq!(failures.networks(ada), 1, "a new series of failures");
    }
}
