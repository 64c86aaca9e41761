//! Turns by key: so many at once for each user, or for each network, in the order in which they ask.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, Weak},
};

use tokio::sync::Semaphore;

pub struct Turns<K> {
    at_once: usize,
    /// Of the keys of which somebody has a turn or waits for it; others are forgotten before the map grows.
    taken: Mutex<HashMap<K, Weak<Semaphore>>>,
}

impl<K: Eq + Hash> Turns<K> {
    pub fn new(at_once: usize) -> Turns<K> {
        Turns { at_once, taken: Mutex::default() }
    }

    /// The turns of one key, each a permit.
    pub fn of(&self, key: K) -> Arc<Semaphore> {
        let mut taken = self.taken.lock().expect("nothing panics while it holds this");
        if let Some(turns) = taken.get(&key).and_then(Weak::upgrade) {
            return turns;
        }
        if taken.len() == taken.capacity() {
            taken.retain(|_, turns| turns.strong_count() > 0);
        }
        let turns = Arc::new(Semaphore::new(self.at_once));
        taken.insert(key, Arc::downgrade(&turns));
        turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_turns_and_is_forgotten_without_them() {
        let turns = Turns::new(2);
        let held: Vec<_> = (0..2).map(|_| turns.of("a").try_acquire_owned().unwrap()).collect();
        assert!(turns.of("a").try_acquire_owned().is_err());
        assert!(turns.of("b").try_acquire_owned().is_ok());
        drop(held);
        assert!(turns.of("a").try_acquire_owned().is_ok());
        let numbers = Turns::new(1);
        let held = numbers.of(0).try_acquire_owned().unwrap();
        (1..10_000).for_each(|n| _ = numbers.of(n));
        assert!(numbers.taken.lock().unwrap().len() < 10, "what nobody has is not kept");
        assert!(numbers.of(0).try_acquire_owned().is_err());
        drop(held);
    }
}
