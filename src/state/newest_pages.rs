//! The newest pages of channels in use, as the text of their answers.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use quick_cache::{Weighter, sync::Cache};

use crate::{
    event::Effect,
    id::{ChannelId, MessageId},
    net::encodings::Encodings,
};

/// Bytes of all texts together. One counts twice: its compressed forms, if clients ask for them, are together shorter than it is.
const MOST: usize = 16 << 20;
/// Bytes of an entry beside its text, at most.
const AROUND: usize = 100;
/// A longer text is not kept, so that a few channels with long messages do not drop the others.
const LONGEST: usize = 256 << 10;

/// A channel and the size of the page.
type Key = (ChannelId, u32);

/// The texts. One is good for the state of its channel that it was made from: every change to a message that an answer shows
/// moves the last seq of its channel, which the reader reads with the right to the channel. What an answer shows of profiles
/// moves no seq, so a change of a profile makes all texts old.
pub struct NewestPages {
    texts: Cache<Key, (State, NewestPage), Length>,
    generation: AtomicU64,
}

/// The state that a page was made from.
#[derive(Clone, Copy, PartialEq, Eq)]
struct State {
    /// The last seq of the channel.
    seq: i64,
    generation: u64,
}

#[derive(Clone)]
pub struct NewestPage {
    pub text: Arc<Encodings>,
    /// The oldest message on the page, if the channel has older ones.
    pub rest: Option<MessageId>,
}

/// The right to keep a page that is read after this was taken.
#[derive(Clone, Copy)]
pub struct Generation(u64);

#[derive(Clone)]
struct Length;

impl Weighter<Key, (State, NewestPage)> for Length {
    fn weight(&self, _: &Key, (_, page): &(State, NewestPage)) -> u64 {
        (2 * page.text.plain.len() + AROUND) as u64
    }
}

impl Default for NewestPages {
    fn default() -> NewestPages {
        // For so few pages the cache has one shard, with room for the longest.
        NewestPages { texts: Cache::with_weighter(MOST / LONGEST, MOST as u64, Length), generation: AtomicU64::default() }
    }
}

impl NewestPages {
    /// The page, if it was made from the channel's state at `seq`.
    pub fn find(&self, channel: ChannelId, size: u32, seq: i64) -> Option<NewestPage> {
        let now = State { seq, generation: self.generation().0 };
        self.texts.get(&(channel, size)).filter(|(state, _)| *state == now).map(|(_, page)| page)
    }

    /// To be taken before the transaction that reads a page.
    pub fn generation(&self) -> Generation {
        Generation(self.generation.load(Relaxed))
    }

    /// Keeps a page that was read with the channel's `seq` in one transaction.
    pub fn keep(&self, (channel, size): (ChannelId, u32), seq: i64, Generation(generation): Generation, page: NewestPage) {
        if page.text.plain.len() <= LONGEST {
            self.texts.insert((channel, size), (State { seq, generation }, page));
        }
    }

    /// Makes the texts old that these effects of a commit have changed without moving a seq.
    pub fn forget(&self, effects: &[Effect]) {
        if effects.iter().any(|effect| matches!(effect, Effect::ProfileChanged | Effect::Foreign)) {
            self.generation.fetch_add(1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::encodings::Effort;

    fn page(length: usize) -> NewestPage {
        NewestPage { text: Encodings::new(vec![b'x'; length], Effort::Least), rest: None }
    }

    #[test]
    fn a_page_is_good_for_the_state_that_it_was_made_from() {
        let (pages, channel) = (NewestPages::default(), ChannelId::new());
        let kept = |seq, size| pages.find(channel, size, seq).is_some();
        pages.keep((channel, 50), 7, pages.generation(), page(1));
        assert_eq!([kept(7, 50), kept(8, 50), kept(7, 20)], [true, false, false]);
        let early = pages.generation();
        pages.forget(&[Effect::ProfileChanged]);
        assert!(!kept(7, 50));
        pages.keep((channel, 50), 7, early, page(1));
        assert!(!kept(7, 50), "it may have been read before the change");
        pages.keep((channel, 50), 7, pages.generation(), page(1));
        assert!(kept(7, 50));
    }

    #[test]
    fn the_texts_are_bounded() {
        let pages = NewestPages::default();
        let keep = |length| {
            let channel = ChannelId::new();
            pages.keep((channel, 50), 1, pages.generation(), page(length));
            pages.find(channel, 50, 1).is_some()
        };
        assert_eq!([keep(LONGEST), keep(LONGEST + 1)], [true, false]);
        assert!((0..10 * MOST / LONGEST).all(|_| keep(LONGEST)), "the latest has room");
        assert!(((MOST / 2) as u64..=MOST as u64).contains(&pages.texts.weight()));
    }
}
