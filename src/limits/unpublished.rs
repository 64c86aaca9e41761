//! Bounds how far a user gets ahead of the deliveries of what they do: a request that may change something counts from its start
//! until the publisher has sent what it has changed, and a user with too many of them waits. So an author is as fast as messages
//! reach their sockets, however many listen, and the deliveries of others don't queue behind a flood. The rate limits alone would
//! let one author be seconds ahead of 10,000 listeners.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, OnceLock},
};

use tokio::sync::Notify;

use crate::id::UserId;

/// Most of one user before further requests wait, if rates are limited. Others hardly ever meet it: 8 posts to a hundred
/// listeners are sent within milliseconds.
const MOST: usize = 8;

#[derive(Default)]
pub struct Unpublished {
    state: Mutex<State>,
    /// Notified when a user has fewer.
    eased: Notify,
}

#[derive(Default)]
struct State {
    of_users: HashMap<UserId, usize>,
    /// Commits that the publisher got, and those of them that it has sent.
    committed: u64,
    published: u64,
    /// Requests that have ended, each with the number of commits that must be sent before it no longer counts.
    ended: VecDeque<(u64, UserId)>,
}

/// A request that counts, and does so until this is dropped and what was committed before is sent.
struct Counted(Arc<Unpublished>, UserId);

impl Drop for Counted {
    fn drop(&mut self) {
        let mut state = self.0.state();
        let committed = state.committed;
        state.ended.push_back((committed, self.1));
        self.0.release(state);
    }
}

/// Where a request keeps that it counts. It lives as long as the request.
#[derive(Clone, Default)]
pub struct Place(Arc<OnceLock<Counted>>);

impl Unpublished {
    /// Waits until the user has few enough, and counts this request.
    pub async fn begin(self: &Arc<Self>, user: UserId, place: &Place) {
        loop {
            let eased = self.eased.notified();
            if self.has_begun(user) {
                // A request that proves its session twice begins twice; the second is dropped here.
                _ = place.0.set(Counted(self.clone(), user));
                return;
            }
            eased.await;
        }
    }

    fn has_begun(&self, user: UserId) -> bool {
        let mut state = self.state();
        let count = state.of_users.entry(user).or_default();
        let has_room = *count < MOST;
        *count += usize::from(has_room);
        has_room
    }

    /// The publisher gets a commit.
    pub fn committed(&self) {
        self.state().committed += 1;
    }

    /// So many commits are sent, or will never be.
    pub fn published(&self, count: u64) {
        let mut state = self.state();
        state.published += count;
        self.release(state);
    }

    /// No longer counts the ended requests whose commits are sent.
    fn release(&self, mut state: MutexGuard<'_, State>) {
        let (mut has_eased, published) = (false, state.published);
        while let Some((_, user)) = state.ended.pop_front_if(|(committed, _)| *committed <= published) {
            let count = state.of_users.get_mut(&user).expect("a request that has ended is counted");
            has_eased |= *count == MOST;
            *count -= 1;
            if *count == 0 {
                state.of_users.remove(&user);
            }
        }
        drop(state);
        if has_eased {
            self.eased.notify_waiters();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds this")
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn eight_requests_of_a_user_begin_and_one_more_waits() {
        let unpublished = Arc::<Unpublished>::default();
        let (user, other) = (UserId::new(), UserId::new());
        let begin = |user| {
            let place = Place::default();
            unpublished.begin(user, &place).now_or_never().map(|()| place)
        };
        let mut places: Vec<Place> = (0..MOST).map(|_| begin(user).unwrap()).collect();
        assert!(begin(user).is_none());
        assert!(begin(other).is_some());
        places.pop();
        assert!(begin(user).is_some());
        drop(places);
        assert!(unpublished.state().of_users.is_empty());
    }

    #[tokio::test]
    async fn a_request_counts_until_what_it_has_changed_is_sent() {
        let unpublished = Arc::<Unpublished>::default();
        let user = UserId::new();
        for _ in 0..MOST {
            let place = Place::default();
            unpublished.begin(user, &place).await;
            unpublished.committed();
        }
        let place = Place::default();
        let mut begins = Box::pin(unpublished.begin(user, &place));
        assert!(futures_util::poll!(&mut begins).is_pending());
        unpublished.published(1);
        begins.await;
        drop(place);
        assert_eq!(unpublished.state().of_users[&user], MOST);
        unpublished.published(MOST as u64 - 1);
        assert!(unpublished.state().of_users.is_empty());
    }
}
