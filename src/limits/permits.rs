//! Permits by key: a fixed number for each user or each network, given in the order of asking.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use tokio::sync::Semaphore;

pub struct Permits<K> {
    at_once: usize,
    /// The semaphores of all keys with a holder or a waiter. Those of other keys are removed before the map grows.
    taken: Mutex<HashMap<K, Weak<Semaphore>>>,
}

impl<K: Eq + Hash> Permits<K> {
    pub fn new(at_once: usize) -> Permits<K> {
        Permits { at_once, taken: Mutex::default() }
    }

    /// The semaphore with the permits of one key.
    pub fn semaphore_for(&self, key: K) -> Arc<Semaphore> {
        let mut taken = self.taken.lock();
        if let Some(permits) = taken.get(&key).and_then(Weak::upgrade) {
            return permits;
        }
        if taken.len() == taken.capacity() {
            taken.retain(|_, permits| permits.strong_count() > 0);
        }
        let permits = Arc::new(Semaphore::new(self.at_once));
        taken.insert(key, Arc::downgrade(&permits));
        permits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_permits_and_is_removed_without_holders() {
        let permits = Permits::new(2);
        let held: Vec<_> = (0..2).map(|_| permits.semaphore_for("a").try_acquire_owned().unwrap()).collect();
        assert!(permits.semaphore_for("a").try_acquire_owned().is_err());
        assert!(permits.semaphore_for("b").try_acquire_owned().is_ok());
        drop(held);
        assert!(permits.semaphore_for("a").try_acquire_owned().is_ok());
        let numbers = Permits::new(1);
        let held = numbers.semaphore_for(0).try_acquire_owned().unwrap();
        (1..10_000).for_each(|n| _ = numbers.semaphore_for(n));
        assert!(numbers.taken.lock().len() < 10, "semaphores that nobody holds are not kept");
        assert!(numbers.semaphore_for(0).try_acquire_owned().is_err());
        drop(held);
    }
}
