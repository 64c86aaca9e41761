//! The queues of attempts at accounts that are being guessed at. From time to time one attempt is picked: a group of
//! neighbouring networks at random, then one of its attempts. So an attacker gains nothing by many attempts, and little by many
//! addresses of one provider.

use std::{collections::HashMap, net::IpAddr, time::Duration};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::failures::Key;
use crate::{limits::networks::provider_network, secret};

/// Attempts that wait in a queue, and those of one network among them. Each holds a connection, so it takes several addresses
/// to fill a queue.
const WAITING: usize = 1000;
const WAITING_OF_NETWORK: usize = 4;

#[derive(Default)]
pub(super) struct Queues(Mutex<HashMap<Key, Queue>>);

/// The queue of an account.
#[derive(Default)]
struct Queue {
    waiting: Vec<Waiting>,
    /// The time from which the next attempt is picked.
    next_at: Duration,
    /// The number of the attempt that came last.
    last: u64,
}

struct Waiting {
    number: u64,
    network: IpAddr,
    picked: oneshot::Sender<()>,
}

/// An attempt's entry in a queue. Dropping it removes the entry.
pub(super) struct Entry<'a> {
    queues: &'a Queues,
    key: Key,
    number: u64,
    /// Tells that the attempt was picked; ends without a word when another attempt took its place.
    pub(super) picked: oneshot::Receiver<()>,
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        if let Some(queue) = self.queues.0.lock().get_mut(&self.key) {
            queue.waiting.retain(|waiting| waiting.number != self.number);
        }
    }
}

impl Queues {
    /// Adds an attempt to a queue. In a full queue it takes the place of an attempt of the largest group. None if its own group
    /// would be as large, or its network has four attempts there already.
    pub(super) fn enter(&self, key: Key, network: IpAddr) -> Option<Entry<'_>> {
        let mut queues = self.0.lock();
        let queue = queues.entry(key).or_default();
        let of_network = queue.waiting.iter().filter(|waiting| waiting.network == network).count();
        if of_network >= WAITING_OF_NETWORK || (queue.waiting.len() >= WAITING && !queue.make_place(network)) {
            return None;
        }
        queue.last += 1;
        let (sender, picked) = oneshot::channel();
        queue.waiting.push(Waiting { number: queue.last, network, picked: sender });
        Some(Entry { queues: self, key, number: queue.last, picked })
    }

    /// Picks an attempt if it is time, and returns the time of the next one. `begin` is told the network of the attempt, and
    /// returns the time from it to the next.
    pub(super) fn pick(&self, key: Key, now: Duration, begin: impl FnOnce(IpAddr) -> Duration) -> Duration {
        let mut queues = self.0.lock();
        let queue = queues.entry(key).or_default();
        if now >= queue.next_at
            && let Some(waiting) = queue.take_any()
        {
            queue.next_at = now + begin(waiting.network);
            _ = waiting.picked.send(()); // An attempt that was given up a moment ago counts as well.
        }
        queue.next_at
    }

    /// Drops queues that slow nobody.
    pub(super) fn tidy(&self, now: Duration) {
        self.0.lock().retain(|_, queue| !queue.waiting.is_empty() || queue.next_at > now);
    }
}

impl Queue {
    fn take_any(&mut self) -> Option<Waiting> {
        let groups: Vec<_> = self.groups().into_values().collect();
        let group = groups.get(any(groups.len())?)?;
        Some(self.waiting.swap_remove(group[any(group.len())?]))
    }

    /// Removes an attempt of the largest group if that has more attempts than this network's would have.
    fn make_place(&mut self, network: IpAddr) -> bool {
        let groups = self.groups();
        let own = groups.get(&provider_network(network)).map_or(0, Vec::len) + 1;
        let largest = groups.into_values().max_by_key(Vec::len).unwrap_or_default();
        if largest.len() <= own {
            return false;
        }
        any(largest.len()).is_some_and(|one| {
            self.waiting.swap_remove(largest[one]);
            true
        })
    }

    /// The places of the waiting attempts by neighbourhood.
    fn groups(&self) -> HashMap<IpAddr, Vec<usize>> {
        let mut groups: HashMap<_, Vec<_>> = HashMap::new();
        for (place, waiting) in self.waiting.iter().enumerate() {
            groups.entry(provider_network(waiting.network)).or_default().push(place);
        }
        groups
    }
}

/// A random number below `count`; none if that is zero.
fn any(count: usize) -> Option<usize> {
    (u64::from_le_bytes(secret::random()) as usize).checked_rem(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADA: Key = 1;
    const SECOND: Duration = Duration::from_secs(1);
    const OWNER: [u8; 4] = [203, 0, 113, 1];

    /// The nth attempt of the attackers' neighbourhood, four from each network.
    fn nth(n: usize) -> IpAddr {
        IpAddr::V4((0x0a00_0000 + n as u32 / 4).into())
    }

    fn picked(entry: &mut Entry) -> bool {
        entry.picked.try_recv().is_ok()
    }

    fn displaced(entry: &mut Entry) -> bool {
        entry.picked.try_recv() == Err(oneshot::error::TryRecvError::Closed)
    }

    #[test]
    fn one_attempt_is_picked_at_a_time() {
        let queues = Queues::default();
        let mut entries: Vec<_> = (0..3).map(|n| queues.enter(ADA, nth(n)).unwrap()).collect();
        let mut picks = |at: Duration| {
            let next = queues.pick(ADA, at, |_| SECOND);
            (entries.iter_mut().filter_map(|entry| entry.picked.try_recv().ok()).count(), next)
        };
        assert_eq!(picks(9 * SECOND), (1, 10 * SECOND));
        assert_eq!(picks(10 * SECOND - Duration::from_millis(1)), (0, 10 * SECOND));
        assert_eq!(picks(10 * SECOND), (1, 11 * SECOND));
        assert_eq!(picks(20 * SECOND), (1, 21 * SECOND), "what nobody used is not saved up");
        queues.tidy(21 * SECOND - Duration::from_millis(1));
        assert_eq!(queues.pick(ADA, 20 * SECOND, |_| SECOND), 21 * SECOND, "an empty queue keeps its pace");
        queues.tidy(21 * SECOND);
        assert!(queues.0.lock().is_empty());
    }

    /// Each pick is the owner's with probability 1/2, so 99 that are not do not happen. Among all attempts alike it would be the
    /// owner's with probability 1/1000.
    #[test]
    fn many_attempts_of_one_neighbourhood_are_picked_as_often_as_one_of_another() {
        let queues = Queues::default();
        let _flood: Vec<_> = (0..1000 - 1).map(|n| queues.enter(ADA, nth(n)).unwrap()).collect();
        let mut owner = queues.enter(ADA, OWNER.into()).unwrap();
        let picks = (1..100).find(|n| {
            queues.pick(ADA, *n * SECOND, |_| SECOND);
            picked(&mut owner)
        });
        assert!(picks.is_some());
    }

    #[test]
    fn a_full_queue_takes_an_attempt_of_a_small_group_instead_of_one_of_the_largest() {
        let queues = Queues::default();
        let mut flood: Vec<_> = (0..WAITING).map(|n| queues.enter(ADA, nth(n)).unwrap()).collect();
        assert!(queues.enter(ADA, nth(WAITING)).is_none(), "one more of the largest group");
        let mut owner = queues.enter(ADA, OWNER.into()).unwrap();
        assert_eq!(flood.iter_mut().filter_map(|entry| displaced(entry).then_some(())).count(), 1);
        for n in 0..100 {
            assert!(queues.enter(ADA, nth(WAITING + n)).is_none());
        }
        assert!(!displaced(&mut owner));
        assert_eq!(queues.0.lock()[&ADA].waiting.len(), WAITING);
    }

    #[test]
    fn a_queue_full_of_groups_of_one_takes_no_more() {
        let queues = Queues::default();
        let other = |n: usize| IpAddr::V6(((0x2001_0000 + n as u128) << 96).into());
        let mut full: Vec<_> = (0..WAITING).map(|n| queues.enter(ADA, other(n)).unwrap()).collect();
        assert!(queues.enter(ADA, OWNER.into()).is_none());
        drop(full.pop());
        assert!(queues.enter(ADA, OWNER.into()).is_some(), "an attempt that is given up leaves its place");
    }

    #[test]
    fn four_attempts_of_a_network_wait_and_one_more_is_refused() {
        let queues = Queues::default();
        let enter = |key, n| queues.enter(key, nth(n));
        let mut waiting: Vec<_> = (0..4).map(|n| enter(ADA, n).unwrap()).collect();
        assert!(enter(ADA, 3).is_none());
        assert!(enter(ADA, 4).is_some(), "another network");
        assert!(enter(2, 3).is_some(), "another account");
        drop(waiting.pop());
        assert!(enter(ADA, 3).is_some());
    }
}
