//! The newest pages of channels in use, as the text of their answers.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use quick_cache::{Weighter, sync::Cache};

use crate::{
    db::{Db, View},
    error::Result,
    event::Effect,
    id::{ChannelId, MessageId, Share},
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
    /// Returns the kept page if it shows the channel's present state; otherwise reads it with `read`, and keeps it. `last_seq` checks
    /// the right to read the channel, and reads its last seq in the same transaction as the page.
    pub async fn find_or_read(
        &self,
        db: &Db,
        share: Share,
        key: Key,
        last_seq: impl Fn(&View) -> Result<i64> + Send + 'static,
        read: impl FnOnce(&View) -> Result<NewestPage> + Send + 'static,
    ) -> Result<NewestPage> {
        // Loaded before the page is read: one that may show a former profile is kept under a former generation, and never found.
        let before = self.generation.load(Relaxed);
        let kept = db.read_without_position(|conn| {
            let seq = last_seq(conn)?;
            let page = self.find(key, State { seq, generation: self.generation.load(Relaxed) });
            page.map(|page| conn.note_position().map(|()| page)).transpose()
        })?;
        if let Some(page) = kept {
            return Ok(page);
        }
        let (page, seq) = db.read_bounded(share, move |conn| Ok((read(conn)?, last_seq(conn)?))).await?;
        self.keep(key, State { seq, generation: before }, page.clone());
        Ok(page)
    }

    fn find(&self, key: Key, state: State) -> Option<NewestPage> {
        self.texts.get(&key).filter(|(made_from, _)| *made_from == state).map(|(_, page)| page)
    }

    fn keep(&self, key: Key, state: State, page: NewestPage) {
        if page.text.plain.len() <= LONGEST {
            self.texts.insert(key, (state, page));
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
        let now = |seq| State { seq, generation: pages.generation.load(Relaxed) };
        let kept = |state, size| pages.find((channel, size), state).is_some();
        pages.keep((channel, 50), now(7), page(1));
        assert_eq!([kept(now(7), 50), kept(now(8), 50), kept(now(7), 20)], [true, false, false]);
        let early = now(7);
        pages.forget(&[Effect::ProfileChanged]);
        assert!(!kept(now(7), 50));
        pages.keep((channel, 50), early, page(1));
        assert!(!kept(now(7), 50), "it may have been read before the change");
        pages.keep((channel, 50), now(7), page(1));
        assert!(kept(now(7), 50));
    }

    #[test]
    fn the_texts_are_bounded() {
        let pages = NewestPages::default();
        let state = State { seq: 1, generation: 0 };
        let keep = |length| {
            let key = (ChannelId::new(), 50);
            pages.keep(key, state, page(length));
            pages.find(key, state).is_some()
        };
        assert_eq!([keep(LONGEST), keep(LONGEST + 1)], [true, false]);
        assert!((0..10 * MOST / LONGEST).all(|_| keep(LONGEST)), "the latest has room");
        assert!(((MOST / 2) as u64..=MOST as u64).contains(&pages.texts.weight()));
    }
}
