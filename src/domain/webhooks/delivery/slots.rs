//! Slots for requests under way, so that no target and no account holds up another.

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
};

use crate::id::UserId;

/// Three bounds on requests under way: in all, for one account, and for one of its targets.
///
/// The account is the one that answers for the address (`access::answerable_person`), wherever it does: one account may found many
/// organisations. No account takes more slots than it leaves free, so that a few with hosts that hang don't hold all.
///
/// A target is proven when its last answer was quick and successful. Any other may hold a slot for the longest time that
/// an attempt may take, so unproven ones get at most half of each bound. The database keeps what each webhook's last attempt was,
/// so that a restart forgets no proof of a webhook's target.
#[derive(Default)]
pub struct DeliverySlots {
    all: SlotCount,
    by_account: HashMap<UserId, SlotCount>,
    by_target: HashMap<Target, SlotCount>,
    proven: HashSet<Target>,
}

/// A host as one account uses it. Programs of many accounts may run on one host, and those of one that hang there must not hold up
/// the others'.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    pub account: UserId,
    /// Host and port.
    pub host: String,
}

/// One slot, to be returned with [`DeliverySlots::release`].
#[derive(Debug)]
pub struct DeliverySlot {
    pub target: Target,
    is_proven: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct SlotCount {
    all: usize,
    /// Slots held by requests to unproven targets.
    unproven: usize,
}

impl SlotCount {
    /// How many of `most` slots another request can still take.
    fn free(self, most: usize, is_proven: bool) -> usize {
        let free = most.saturating_sub(self.all); // a target that has lost its proof may hold more than an unproven one gets
        if is_proven { free } else { free.min(most / 2 - self.unproven) }
    }

    /// How many slots count against another request.
    fn held(self, is_proven: bool) -> usize {
        if is_proven { self.all } else { self.unproven }
    }

    fn add(&mut self, is_proven: bool) {
        self.all += 1;
        self.unproven += usize::from(!is_proven);
    }

    fn subtract(&mut self, is_proven: bool) {
        self.all -= 1;
        self.unproven -= usize::from(!is_proven);
    }
}

impl DeliverySlots {
    pub const ALL: usize = 128;
    pub const OF_AN_ACCOUNT: usize = 32;
    /// A delivery waits for the commits of its claim and of its record, which all that are under way share: 16 slots made a fifth
    /// fewer deliveries a second (bench "deliveries"). The rest of its account's slots are for other targets.
    pub const OF_A_PROVEN_TARGET: usize = 24;
    /// Deliveries get half of them, and tests of the webhook the rest.
    pub const OF_AN_UNPROVEN_TARGET: usize = 4;
    /// Proven targets that are remembered, at most. Beyond that all are forgotten, and prove themselves again with their next
    /// answer.
    pub const PROVEN_MOST: usize = 10_000;

    /// Whether any slot is free.
    pub fn has_free(&self) -> bool {
        self.all.free(DeliverySlots::ALL, true) > 0
    }

    /// How many slots the account holds.
    pub fn held_by(&self, account: UserId) -> usize {
        self.by_account.get(&account).map_or(0, |slots| slots.all)
    }

    /// Takes a slot for a delivery; none where one of the bounds is reached.
    pub fn acquire(&mut self, account: UserId, host: &str) -> Option<DeliverySlot> {
        let target = Target { account, host: host.to_owned() };
        let is_proven = self.proven.contains(&target);
        self.take(target, is_proven)
    }

    /// Takes a slot for a test. It counts as one of a proven target, so that a test does not wait behind deliveries to targets
    /// that hang.
    pub fn acquire_for_test(&mut self, account: UserId, host: &str) -> Option<DeliverySlot> {
        self.take(Target { account, host: host.to_owned() }, true)
    }

    fn take(&mut self, target: Target, is_proven: bool) -> Option<DeliverySlot> {
        let of_account = self.by_account.get(&target.account).copied().unwrap_or_default();
        let of_target = self.by_target.get(&target).copied().unwrap_or_default();
        let most_of_target =
            if self.proven.contains(&target) { DeliverySlots::OF_A_PROVEN_TARGET } else { DeliverySlots::OF_AN_UNPROVEN_TARGET };
        let is_free = of_account.held(is_proven) < self.all.free(DeliverySlots::ALL, is_proven)
            && of_account.free(DeliverySlots::OF_AN_ACCOUNT, is_proven) > 0
            && of_target.free(most_of_target, is_proven) > 0;
        is_free.then(|| {
            self.all.add(is_proven);
            self.by_account.entry(target.account).or_default().add(is_proven);
            self.by_target.entry(target.clone()).or_default().add(is_proven);
            DeliverySlot { target, is_proven }
        })
    }

    pub fn release(&mut self, DeliverySlot { target, is_proven }: &DeliverySlot) {
        self.all.subtract(*is_proven);
        give_back(&mut self.by_account, &target.account, *is_proven);
        give_back(&mut self.by_target, target, *is_proven);
    }

    /// Records whether the target's last answer has proven it.
    pub fn note_proven(&mut self, target: &Target, is_proven: bool) {
        if !is_proven {
            self.proven.remove(target);
        } else if !self.proven.contains(target) {
            if self.proven.len() >= DeliverySlots::PROVEN_MOST {
                self.proven.clear();
            }
            self.proven.insert(target.clone());
        }
    }
}

fn give_back<K: Eq + Hash>(slots: &mut HashMap<K, SlotCount>, of: &K, is_proven: bool) {
    if let Some(taken) = slots.get_mut(of) {
        taken.subtract(is_proven);
        if taken.all == 0 {
            slots.remove(of);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes as many slots as are free, each for a host of its own.
    fn fill(slots: &mut DeliverySlots, account: UserId, kind: &str) -> Vec<DeliverySlot> {
        let hosts = (0..DeliverySlots::ALL).map(|n| format!("{kind} {n}"));
        hosts
            .filter_map(|host| {
                prove(slots, account, &host, kind == "proven");
                slots.acquire(account, &host)
            })
            .collect()
    }

    fn prove(slots: &mut DeliverySlots, account: UserId, host: &str, is_proven: bool) {
        slots.note_proven(&Target { account, host: host.to_owned() }, is_proven);
    }

    #[test]
    fn a_host_has_24_slots_and_two_until_it_is_proven() {
        let (mut slots, of) = (DeliverySlots::default(), UserId::new());
        let first = slots.acquire(of, "a:80").unwrap();
        assert!(slots.acquire(of, "a:80").is_some());
        assert!(slots.acquire(of, "a:80").is_none() && slots.acquire(of, "b:80").is_some());
        slots.release(&first);
        prove(&mut slots, of, "a:80", true);
        let proven: Vec<_> = (0..23).map(|_| slots.acquire(of, "a:80").unwrap()).collect();
        assert!(slots.acquire(of, "a:80").is_none());
        prove(&mut slots, of, "a:80", false);
        proven[..20].iter().for_each(|permit| slots.release(permit));
        assert!(slots.acquire(of, "a:80").is_none(), "four are taken, and it is no longer proven");
        slots.release(&proven[20]);
        assert!(slots.acquire(of, "a:80").is_some(), "one of two is taken by the unproven");
        assert!(slots.acquire(of, "a:80").is_none());
    }

    #[test]
    fn an_account_takes_no_slot_of_a_host_and_no_proof_from_another() {
        let (mut slots, busy, other) = (DeliverySlots::default(), UserId::new(), UserId::new());
        prove(&mut slots, busy, "a:80", true);
        prove(&mut slots, other, "a:80", true);
        assert_eq!(
            (0..DeliverySlots::ALL).filter_map(|_| slots.acquire(busy, "a:80")).count(),
            DeliverySlots::OF_A_PROVEN_TARGET
        );
        prove(&mut slots, busy, "a:80", false);
        assert_eq!(
            (0..DeliverySlots::ALL).filter_map(|_| slots.acquire(other, "a:80")).count(),
            DeliverySlots::OF_A_PROVEN_TARGET
        );
    }

    #[test]
    fn a_test_gets_a_slot_of_a_host_that_hangs() {
        let (mut slots, of) = (DeliverySlots::default(), UserId::new());
        assert!((0..2).all(|_| slots.acquire(of, "a:80").is_some()) && slots.acquire(of, "a:80").is_none());
        let tests: Vec<_> = (0..2).map(|_| slots.acquire_for_test(of, "a:80").unwrap()).collect();
        assert!(slots.acquire_for_test(of, "a:80").is_none());
        slots.release(&tests[0]);
        assert!(slots.acquire_for_test(of, "a:80").is_some());
    }

    #[test]
    fn an_account_has_a_quarter_of_all_slots_half_of_them_for_unproven_hosts() {
        let (mut slots, of) = (DeliverySlots::default(), UserId::new());
        assert_eq!(fill(&mut slots, of, "unproven").len(), 16);
        let proven = fill(&mut slots, of, "proven");
        assert_eq!(proven.len(), 16);
        assert!(slots.acquire(UserId::new(), "another").is_some());
        slots.release(&proven[0]);
        assert!(slots.acquire(of, "another").is_none() && slots.acquire(of, &proven[0].target.host).is_some());
    }

    /// Tests of hosts that hang included, which count as proven.
    #[test]
    fn accounts_that_take_all_they_can_leave_slots_to_another() {
        for many in [4, 20, DeliverySlots::ALL / 2 - 1] {
            let mut slots = DeliverySlots::default();
            let accounts: Vec<_> = (0..many).map(|_| UserId::new()).collect();
            for n in 0..DeliverySlots::ALL {
                for of in &accounts {
                    _ = slots.acquire(*of, &format!("{of} {n}"));
                    _ = slots.acquire_for_test(*of, &format!("{of} {n}"));
                }
            }
            let other = UserId::new();
            let another = slots.acquire(other, "another");
            assert!(another.is_some(), "{many}: an unproven host");
            slots.release(&another.unwrap());
            prove(&mut slots, other, "another", true);
            assert!(slots.acquire(other, "another").is_some(), "{many}: a proven host");
        }
    }

    #[test]
    fn unproven_hosts_have_half_of_all_slots() {
        let mut slots = DeliverySlots::default();
        let taken: usize = (0..20).map(|_| fill(&mut slots, UserId::new(), "unproven").len()).sum();
        assert_eq!(taken, DeliverySlots::ALL / 2);
        let taken: usize = (0..20).map(|_| fill(&mut slots, UserId::new(), "proven").len()).sum();
        assert_eq!(taken, DeliverySlots::ALL / 2);
        assert!(!slots.has_free());
    }

    #[test]
    fn what_is_given_back_leaves_nothing_behind() {
        let mut slots = DeliverySlots::default();
        for permit in fill(&mut slots, UserId::new(), "unproven") {
            slots.release(&permit);
        }
        assert!(slots.by_account.is_empty() && slots.by_target.is_empty());
        assert_eq!((slots.all.all, slots.all.unproven), (0, 0));
    }
}
