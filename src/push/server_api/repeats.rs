//! The outcomes of publications with an `idempotency_key`, so that a repeated request isn't published again. They are kept in
//! memory for five minutes, by channel and key.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::secret::sha256;

const KEPT: Duration = Duration::from_secs(5 * 60);
const MOST: usize = 10_000;

/// `None` while the outcome is unknown; then the seq, or `None` if there is no such channel. If the sender is dropped, the
/// outcome stays unknown.
pub type Outcome = Option<Option<i64>>;

#[derive(Default)]
pub struct Repeats(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    outcomes: HashMap<[u8; 32], watch::Receiver<Outcome>>,
    oldest: VecDeque<(Instant, [u8; 32])>,
}

pub enum Claim {
    /// The first request with this key: it publishes, and sends its outcome.
    First(watch::Sender<Outcome>),
    /// Another request publishes this, or has published it.
    Repeat(watch::Receiver<Outcome>),
}

impl Repeats {
    /// Claims a key on a channel. Without a key, every request is the first.
    pub fn claim(&self, channel: &str, key: &str) -> Claim {
        let (first, outcome) = watch::channel(None);
        if key.is_empty() {
            return Claim::First(first);
        }
        let hash = sha256(format!("{channel}\0{key}"));
        let mut kept = self.0.lock();
        kept.forget();
        if let Some(known) = kept.outcomes.get(&hash)
            && (known.borrow().flatten().is_some() || known.has_changed().is_ok())
        {
            return Claim::Repeat(known.clone());
        }
        kept.oldest.push_back((Instant::now(), hash));
        kept.outcomes.insert(hash, outcome);
        Claim::First(first)
    }
}

impl Kept {
    /// Removes expired outcomes and, at the bound, the oldest.
    fn forget(&mut self) {
        while let Some((since, hash)) = self.oldest.front()
            && (since.elapsed() >= KEPT || self.oldest.len() >= MOST)
        {
            self.outcomes.remove(hash);
            self.oldest.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(claim: Claim) -> Option<watch::Sender<Outcome>> {
        if let Claim::First(sender) = claim { Some(sender) } else { None }
    }

    #[test]
    fn the_second_claim_of_a_key_on_a_channel_is_a_repeat() {
        let repeats = Repeats::default();
        let sender = first(repeats.claim("c", "k")).unwrap();
        assert!(matches!(repeats.claim("c", "k"), Claim::Repeat(outcome) if outcome.borrow().is_none()));
        sender.send_replace(Some(Some(7)));
        drop(sender);
        assert!(matches!(repeats.claim("c", "k"), Claim::Repeat(outcome) if *outcome.borrow() == Some(Some(7))));
        assert!(first(repeats.claim("d", "k")).is_some());
        assert!(first(repeats.claim("c", "")).is_some() && first(repeats.claim("c", "")).is_some());
    }

    #[test]
    fn a_publication_without_an_outcome_may_be_repeated() {
        let repeats = Repeats::default();
        drop(repeats.claim("c", "k"));
        first(repeats.claim("c", "k")).unwrap().send_replace(Some(None));
        assert!(first(repeats.claim("c", "k")).is_some());
    }

    #[test]
    fn memory_is_bounded_and_the_newest_are_kept() {
        let repeats = Repeats::default();
        let senders: Vec<_> = (0..=MOST).map(|n| first(repeats.claim("c", &n.to_string())).unwrap()).collect();
        assert_eq!(repeats.0.lock().outcomes.len(), MOST);
        assert!(matches!(repeats.claim("c", &MOST.to_string()), Claim::Repeat(_)));
        assert!(first(repeats.claim("c", "0")).is_some());
        drop(senders);
    }
}
